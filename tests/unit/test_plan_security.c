#include <linux/capability.h>
#include <stdlib.h>

#include "fixture.h"

#define CAP(name) SECURITY_CAP(CAP_##name)
#define ALL       ((UINT64_C(1) << 41) - 1)
/* What Docker gives a container. */
#define DOCKER                                                                                \
    (CAP(CHOWN) | CAP(DAC_OVERRIDE) | CAP(FSETID) | CAP(FOWNER) | CAP(MKNOD) | CAP(NET_RAW) | \
     CAP(SETGID) | CAP(SETUID) | CAP(SETFCAP) | CAP(SETPCAP) | CAP(NET_BIND_SERVICE) |        \
     CAP(SYS_CHROOT) | CAP(KILL) | CAP(AUDIT_WRITE))

/* A machine on which we are this user and hold this. */
static struct fixture machine(uid_t uid, uint64_t permitted, uint64_t bounding)
{
    struct fixture f = fixture_new();

    f.facts.uid = f.facts.gid = uid;
    f.facts.caps = (struct facts_caps){
        .bounding = bounding, .permitted = permitted, .effective = permitted, .last = 40};
    return f;
}

static void ask_user(struct fixture *f, uid_t uid, gid_t gid)
{
    f->facts.user = (struct facts_user){.group_known = true, .uid = uid, .gid = gid};
}

static void ask_caps(struct fixture *f, uint64_t drop, uint64_t keep)
{
    f->facts.cap_drop = drop;
    f->facts.cap_keep = keep;
}

TEST(nothing_asked_nothing_changed)
{
    struct fixture f = machine(0, DOCKER, DOCKER);

    tap_eq_int(fixture_plan(&f, "HOME=/root USER=root", "sh"), 0);
    tap_ok(!f.plan.security.user.change);
    tap_ok(!f.plan.security.caps.change);
    tap_ok(!f.plan.security.no_new_privs);
    tap_ok(!f.plan.security.seccomp);
    tap_eq_int(f.plan.security.limit_count, 0);
    tap_eq_str(env_get(strvec_texts(&f.plan.env), "HOME"), "/root");
    /* A program in init mode may change its user by itself: we must still be able to signal it. */
    tap_eq_uint(f.plan.security.own_caps, CAP(KILL));
    fixture_again(&f);
    f.facts.caps = (struct facts_caps){.permitted = DOCKER, .last = 40};
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 sh"), 0);
    tap_eq_uint(f.plan.security.own_caps, DOCKER | CAP(KILL));
    fixture_free(&f);
}

TEST(another_user_has_no_capability_but_those_kept)
{
    struct fixture f = machine(0, DOCKER, DOCKER);

    ask_user(&f, 1000, 100);
    tap_eq_int(fixture_plan(&f, "HOME=/root USER=root", "--user 1000:100 --nproc-per-node 1 sh"),
               0);
    tap_ok(f.plan.security.user.change);
    tap_eq_uint(f.plan.security.user.gid, 100);
    tap_ok(f.plan.security.caps.change);
    tap_eq_uint(f.plan.security.caps.permitted, 0);
    tap_eq_uint(f.plan.security.caps.bounding_drop, 0);
    tap_eq_uint(f.plan.security.own_caps, CAP(KILL));
    tap_eq_str(env_get(strvec_texts(&f.plan.env), "HOME"), "/");
    tap_eq_str(env_get(strvec_texts(&f.plan.env), "USER"), NULL);
    fixture_free(&f);

    f = machine(0, DOCKER, DOCKER);
    ask_user(&f, 1000, 100);
    ask_caps(&f, ALL, CAP(CHOWN) | CAP(SYS_NICE));
    tap_eq_int(fixture_plan(&f, "", "--user 1000:100 --cap-drop ALL --cap-keep CHOWN,SYS_NICE sh"),
               0);
    /* SYS_NICE is not ours to give: that is said. */
    tap_eq_uint(f.plan.security.caps.permitted, CAP(CHOWN));
    tap_eq_uint(f.plan.security.caps.ambient, CAP(CHOWN));
    tap_eq_uint(f.plan.security.caps.inheritable, CAP(CHOWN));
    tap_eq_uint(f.plan.security.caps.bounding_drop, DOCKER & ~CAP(CHOWN));
    tap_ok(fixture_noticed(&f, "--cap-keep: not all of them are held here"));
    fixture_free(&f);
}

TEST(a_users_names_yield_to_the_specs)
{
    struct fixture f = machine(0, ALL, ALL);

    ask_user(&f, 5, 6);
    snprintf(f.facts.user.name, sizeof(f.facts.user.name), "ada");
    snprintf(f.facts.user.home, sizeof(f.facts.user.home), "/home/ada");
    strvec_push(&f.spec.env_set, "HOME=/scratch");
    tap_eq_int(fixture_plan(&f, "HOME=/root LOGNAME=root", "--user ada sh"), 0);
    tap_eq_str(env_get(strvec_texts(&f.plan.env), "HOME"), "/scratch");
    tap_eq_str(env_get(strvec_texts(&f.plan.env), "USER"), "ada");
    tap_eq_str(env_get(strvec_texts(&f.plan.env), "LOGNAME"), "ada");
    fixture_free(&f);
}

TEST(what_cannot_be_is_refused)
{
    static const struct {
        uid_t uid;
        uint64_t held;
        const char *line, *message;
    } cases[] = {
        {1000, 0, "--user 7:7 sh", "--user: user 1000, group 1000 may not become user 7, group 7"},
        {0, CAP(SETUID) | CAP(SETGID), "--user 7:7 sh", "--user: without CAP_KILL rankinit could"},
        {0, CAP(SETUID) | CAP(KILL), "--user 7:7 sh", "--user: user 0, group 0 may not become"},
        {0, CAP(CHOWN), "--cap-drop ALL sh",
         "--cap-drop: without CAP_SETPCAP ranks that run as root"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f = machine(cases[i].uid, cases[i].held, DOCKER);

        ask_user(&f, 7, 7);
        ask_caps(&f, ALL, 0);
        tap_eq_int(fixture_plan(&f, "", cases[i].line), -1);
        tap_eq_int(f.err.kind, ERR_SPEC);
        tap_has_str(f.err.message, cases[i].message);
        fixture_free(&f);
    }
}

/* As Kubernetes runs them: everything dropped, and user and no_new_privs set from outside. */
TEST(what_holds_already_is_no_error)
{
    struct fixture f = machine(1000, 0, 0);

    f.facts.caps.no_new_privs = true;
    ask_user(&f, 1000, 1000);
    ask_caps(&f, ALL, 0);
    tap_eq_int(
        fixture_plan(&f, "", "--user 1000 --cap-drop ALL --no-new-privs --seccomp default sh"), 0);
    tap_ok(!f.plan.security.user.change);
    tap_eq_uint(f.plan.security.caps.bounding_drop, 0);
    tap_eq_uint(f.plan.notices.count, 0);
    fixture_free(&f);
    /* Root without SETPCAP: no_new_privs keeps what is dropped from coming back. */
    f = machine(0, CAP(CHOWN), DOCKER);
    ask_caps(&f, ALL, 0);
    tap_eq_int(fixture_plan(&f, "", "--cap-drop ALL --no-new-privs sh"), 0);
    tap_eq_uint(f.plan.security.caps.permitted, 0);
    tap_eq_uint(f.plan.notices.count, 0);
    fixture_free(&f);
    f = machine(1000, 0, DOCKER);
    ask_caps(&f, ALL, 0);
    tap_eq_int(fixture_plan(&f, "", "--cap-drop ALL sh"), 0);
    tap_ok(fixture_noticed(&f, "a setuid program could get them back"));
    fixture_free(&f);
}

TEST(a_number_without_an_entry_is_in_group_0_and_says_so)
{
    struct fixture f = machine(0, ALL, ALL);

    f.facts.user = (struct facts_user){.uid = 1234};
    tap_eq_int(fixture_plan(&f, "", "--user 1234 sh"), 0);
    tap_eq_uint(f.plan.security.user.gid, 0);
    tap_ok(fixture_noticed(&f, "group 0, as container engines do"));
    fixture_free(&f);
}

TEST(a_filter_brings_no_new_privs)
{
    struct fixture f = machine(0, ALL, ALL);

    tap_eq_int(
        fixture_yaml(&f, "security: {seccomp: default, allow: [mount], deny: [ptrace, bpf]}"), 0);
    tap_eq_int(fixture_plan(&f, "", "sh"), 0);
    tap_ok(f.plan.security.seccomp);
    tap_ok(f.plan.security.no_new_privs);
    tap_eq_str(f.plan.security.allow, "mount");
    tap_eq_str(f.plan.security.deny, "ptrace,bpf");
    fixture_free(&f);
    f = machine(0, ALL, ALL);
    tap_eq_int(fixture_yaml(&f, "security: {seccomp: default, no_new_privs: false}"), 0);
    tap_eq_int(fixture_plan(&f, "", "sh"), -1);
    tap_has_str(f.err.message, "security.seccomp needs no_new_privs");
    fixture_free(&f);
    f = machine(0, ALL, ALL);
    tap_eq_int(fixture_yaml(&f, "security: {deny: [ptrace]}"), 0);
    tap_eq_int(fixture_plan(&f, "", "sh"), -1);
    tap_has_str(f.err.message, "security.deny needs seccomp: default");
    fixture_free(&f);
    f = machine(0, ALL, ALL);
    tap_eq_int(fixture_yaml(&f, "security: {deny: [ptrace]}"), 0);
    tap_eq_int(fixture_plan(&f, "", "--seccomp off sh"), 0);
    tap_ok(fixture_noticed(&f, "security.deny has no effect: --seccomp says off"));
    fixture_free(&f);
}

TEST(limits_scores_and_masks)
{
    struct fixture f = machine(0, ALL, ALL);
    const struct security *security = &f.plan.security;

    tap_eq_int(fixture_yaml(&f, "security: {rlimits: [\"core=0\", \"nofile=64:128\"], "
                                "oom_score_adj: -5, umask: 027, nice: 7}"),
               0);
    tap_eq_int(fixture_plan(&f, "", "sh"), 0);
    tap_eq_int(security->limit_count, 2);
    tap_eq_uint(security->limits[1].hard, 128);
    tap_ok(security->oom_score_stated && security->nice_stated && security->umask_stated);
    tap_eq_int(security->oom_score_adj, -5);
    tap_eq_int(security->nice, 7);
    tap_eq_uint(security->umask, 027);
    fixture_free(&f);
    f = machine(0, ALL, ALL);
    tap_eq_int(fixture_plan(&f, "", "--rlimit core=1 --rlimit cpu=9 --rlimit core=2 sh"), 0);
    tap_eq_int(f.plan.security.limit_count, 2);
    tap_eq_uint(f.plan.security.limits[0].soft, 2);
    fixture_free(&f);
}

/* Whatever is held and asked: a rank never has what we did not hold, nor what was dropped. */
TEST(no_combination_raises)
{
    static const uint64_t sets[] = {0, CAP(CHOWN), DOCKER, ALL};

    for (unsigned i = 0; i < 4 * 4 * 4 * 4 * 2 * 3; i++) {
        unsigned n = i;
        uint64_t held = sets[n % 4], bounding, drop, keep;
        bool was_root, user;
        struct fixture f;

        n /= 4;
        bounding = sets[n % 4] | held;
        n /= 4;
        drop = sets[n % 4];
        n /= 4;
        keep = sets[n % 4];
        n /= 4;
        was_root = n % 2;
        user = n / 2 > 0;
        f = machine(was_root ? 0 : 1000, held, bounding);
        ask_user(&f, n / 2 == 2 ? 0 : 500, 500);
        ask_caps(&f, drop, keep);
        if (fixture_plan(&f, "",
                         user ? "--user u --cap-drop X --cap-keep Y --no-new-privs sh"
                              : "--cap-drop X --cap-keep Y --no-new-privs sh") == 0) {
            const struct security_caps *caps = &f.plan.security.caps;

            tap_ok(!(caps->permitted & ~held));
            tap_ok(!(caps->permitted & drop & ~keep));
            tap_ok(!(caps->ambient & ~caps->permitted));
            tap_ok(!(caps->ambient & ~caps->inheritable));
            tap_ok(!(caps->bounding_drop & keep));
        }
        fixture_free(&f);
    }
}

TAP_MAIN()
