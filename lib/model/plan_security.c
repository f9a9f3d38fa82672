/*
 * What ranks may do, from what is asked and what we hold ourselves.
 */
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "model/plan.h"
#include "model/plan_parts.h"

static bool holds(const struct facts *facts, int capability)
{
    return facts->caps.effective & SECURITY_CAP(capability);
}

static const char *origin_of(const struct plan_inputs *inputs, enum option_id id)
{
    return inputs->settings->rows[id].origin;
}

/* ---- user ---- */

void security_set_names(const struct security_user *user, struct strvec *env)
{
    static const char *const names[] = {"USER", "LOGNAME"};

    if (!user->stated)
        return;
    env_set(env, "HOME", user->home);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (user->name)
            env_set(env, names[i], user->name);
        else
            env_unset(env, names[i]);
    }
}

/* Whoever cannot become another user is told so before anything starts. */
static int check_change(const struct plan_inputs *inputs, const struct security_user *user,
                        struct err *err)
{
    const struct facts *facts = inputs->facts;
    const char *origin = origin_of(inputs, OPT_USER);

    if ((user->uid != facts->uid && !holds(facts, CAP_SETUID)) ||
        (user->gid != facts->gid && !holds(facts, CAP_SETGID)))
        return err_set(err, ERR_SPEC,
                       "%s: user %u, group %u may not become user %u, group %u here (no CAP_SETUID "
                       "or CAP_SETGID): start the container as that user",
                       origin, facts->uid, facts->gid, user->uid, user->gid);
    if (user->uid != facts->uid && !holds(facts, CAP_KILL))
        return err_set(err, ERR_SPEC,
                       "%s: without CAP_KILL rankinit could not stop ranks of user %u: give it "
                       "back, or start the container as that user",
                       origin, user->uid);
    return 0;
}

static int resolve_user(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct facts_user *found = &inputs->facts->user;
    struct security_user *user = &plan->security.user;

    user->uid = inputs->facts->uid;
    user->gid = inputs->facts->gid;
    if (!settings_stated(inputs->settings, OPT_USER))
        return 0;
    user->stated = true;
    user->uid = found->uid;
    user->gid = found->gid;
    user->name = found->name[0] ? strvec_push(&plan->texts, found->name) : NULL;
    user->home = strvec_push(&plan->texts, found->home[0] ? found->home : "/");
    user->group_count = found->group_count;
    memcpy(user->groups, found->groups, sizeof(user->groups));
    if (check_change(inputs, user, err) < 0)
        return -1;
    /* Who may not change anything keeps the groups that the container was given, too. */
    user->change = holds(inputs->facts, CAP_SETUID) && holds(inputs->facts, CAP_SETGID);
    if (!found->group_known)
        strvec_pushf(&plan->notices,
                     "%s: user %u has no entry in /etc/passwd and no group is stated: group %u, as "
                     "container engines do; state %u:GROUP for another",
                     origin_of(inputs, OPT_USER), user->uid, user->gid, user->uid);
    return 0;
}

/* ---- capabilities ---- */

/* The sets of a rank that is or stays root; exec gives it what the bounding set leaves. */
static void caps_of_root(const struct facts_caps *own, uint64_t drop, struct security_caps *caps)
{
    caps->permitted = own->permitted & ~drop;
    caps->inheritable = own->inheritable & ~drop;
    caps->ambient = own->ambient & ~drop;
}

/* Of any other: only the ambient ones outlive the exec. */
static void caps_of_other(const struct facts_caps *own, bool was_root, uint64_t drop, uint64_t keep,
                          struct security_caps *caps)
{
    uint64_t ambient = was_root ? 0 : own->ambient & ~drop;

    caps->ambient = ambient | (keep & own->permitted);
    caps->permitted = caps->ambient | (was_root ? 0 : own->permitted & ~drop);
    caps->inheritable = caps->ambient | (was_root ? 0 : own->inheritable & ~drop);
}

/*
 * Only CAP_SETPCAP takes from the bounding set. Without it, a rank that stays root would get all of
 * that back at its exec, and any other by a setuid program, unless no_new_privs forbids both.
 */
static int drop_bounding(const struct plan_inputs *inputs, struct plan *plan, uint64_t drop,
                         struct err *err)
{
    struct security *security = &plan->security;
    uint64_t bounding = inputs->facts->caps.bounding & drop;

    if (holds(inputs->facts, CAP_SETPCAP) || !bounding) {
        security->caps.bounding_drop = bounding;
        return 0;
    }
    if (security->no_new_privs || inputs->facts->caps.no_new_privs)
        return 0;
    if (security->user.uid == 0)
        return err_set(err, ERR_SPEC,
                       "%s: without CAP_SETPCAP ranks that run as root would get them back: add "
                       "--no-new-privs, or --user",
                       origin_of(inputs, OPT_CAP_DROP));
    strvec_pushf(&plan->notices,
                 "%s: without CAP_SETPCAP a setuid program could get them back: --no-new-privs "
                 "prevents that",
                 origin_of(inputs, OPT_CAP_DROP));
    return 0;
}

static int resolve_caps(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct facts *facts = inputs->facts;
    struct security *security = &plan->security;
    uint64_t keep = facts->cap_keep, drop = facts->cap_drop & ~keep;
    bool was_root = facts->uid == 0;

    security->caps.change = settings_stated(inputs->settings, OPT_CAP_DROP) ||
                            settings_stated(inputs->settings, OPT_CAP_KEEP) ||
                            (security->user.change && security->user.uid != 0);
    if (!security->caps.change) {
        security->caps.permitted = facts->caps.permitted;
        return 0;
    }
    if (security->user.uid == 0)
        caps_of_root(&facts->caps, drop, &security->caps);
    else
        caps_of_other(&facts->caps, was_root, drop, keep, &security->caps);
    /* ALL means those that there are, and asks for none in particular. */
    if (keep & ~facts->caps.permitted && ~keep & (SECURITY_CAP(facts->caps.last + 1) - 1))
        strvec_pushf(&plan->notices,
                     "%s: not all of them are held here: ranks run without those that are missing "
                     "(held: %016llx)",
                     origin_of(inputs, OPT_CAP_KEEP), (unsigned long long)facts->caps.permitted);
    return drop_bounding(inputs, plan, drop, err);
}

/* ---- the rest ---- */

/* An unprivileged process may only install a filter with no_new_privs, so one brings the other. */
static int resolve_seccomp(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct settings *settings = inputs->settings;
    static const enum option_id lists[] = {OPT_SECCOMP_ALLOW, OPT_SECCOMP_DENY};
    const struct setting *privs = &settings->rows[OPT_NO_NEW_PRIVS];
    struct security *security = &plan->security;

    security->no_new_privs = settings_flag(settings, OPT_NO_NEW_PRIVS);
    security->seccomp = settings_word(settings, OPT_SECCOMP) > 0;
    for (size_t i = 0; i < 2 && !security->seccomp; i++) {
        if (!settings_stated(settings, lists[i]))
            continue;
        if (!settings_stated(settings, OPT_SECCOMP))
            return err_set(err, ERR_SPEC, "%s needs seccomp: default", origin_of(inputs, lists[i]));
        strvec_pushf(&plan->notices, "%s has no effect: %s says off", origin_of(inputs, lists[i]),
                     origin_of(inputs, OPT_SECCOMP));
    }
    if (!security->seccomp)
        return 0;
    if (settings_stated(settings, OPT_NO_NEW_PRIVS) && !security->no_new_privs)
        return err_set(err, ERR_SPEC, "%s needs no_new_privs, %s says false",
                       origin_of(inputs, OPT_SECCOMP), privs->origin);
    security->no_new_privs = true;
    if (settings_text(settings, OPT_SECCOMP_ALLOW))
        security->allow = strvec_push(&plan->texts, settings_text(settings, OPT_SECCOMP_ALLOW));
    if (settings_text(settings, OPT_SECCOMP_DENY))
        security->deny = strvec_push(&plan->texts, settings_text(settings, OPT_SECCOMP_DENY));
    return 0;
}

/* A later one replaces an earlier one of the same resource. */
static void add_limit(const struct rlimit_value *limit, struct security *security)
{
    int i = 0;

    while (i < security->limit_count && security->limits[i].resource != limit->resource)
        i++;
    if (i == SECURITY_LIMITS_MAX)
        return;
    security->limits[i] = *limit;
    if (i == security->limit_count)
        security->limit_count++;
}

static void resolve_limits(const struct settings *settings, struct security *security)
{
    const char *text = settings_text(settings, OPT_RLIMIT);
    struct rlimit_value limit;
    char item[128];

    while (scan_item(&text, item, sizeof(item))) {
        if (rlimit_read(item, &limit))
            add_limit(&limit, security);
    }
    security->oom_score_stated = settings_stated(settings, OPT_OOM_SCORE_ADJ);
    security->oom_score_adj = (int)settings_int(settings, OPT_OOM_SCORE_ADJ);
    security->nice_stated = settings_stated(settings, OPT_NICE);
    security->nice = (int)settings_int(settings, OPT_NICE);
    security->umask_stated = settings_stated(settings, OPT_UMASK);
    if (security->umask_stated)
        security->umask = (mode_t)strtoul(settings_text(settings, OPT_UMASK), NULL, 8);
}

int plan_resolve_security(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    struct security *security = &plan->security;

    if (resolve_seccomp(inputs, plan, err) < 0 || resolve_user(inputs, plan, err) < 0 ||
        resolve_caps(inputs, plan, err) < 0)
        return -1;
    resolve_limits(inputs->settings, security);
    /*
     * To signal ranks of another user; a program in init mode may change its user by itself. What
     * the ranks hold is no secret from them, and lets us see where they hang in the kernel.
     */
    security->own_caps = SECURITY_CAP(CAP_KILL) | security->caps.permitted;
    /* A rank that hangs is made to end without a core. */
    if (security->user.change && (settings_stated(inputs->settings, OPT_IDLE_TIMEOUT) ||
                                  settings_stated(inputs->settings, OPT_START_TIMEOUT)))
        security->own_caps |= SECURITY_CAP(CAP_SYS_RESOURCE);
    return 0;
}
