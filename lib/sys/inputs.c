#include "sys/inputs.h"

#include <string.h>

#include "base/cleanup.h"
#include "model/cpus.h"
#include "model/options.h"
#include "sys/caps.h"
#include "sys/facts.h"
#include "sys/file.h"
#include "sys/seccomp.h"
#include "sys/users.h"

/* The spec: --spec or RANKINIT_SPEC, which may be the document itself; else the default, if there. */
static int read_spec(struct inputs *inputs, struct err *err)
{
    const char *path = settings_text(&inputs->settings, OPT_SPEC);
    CLEANUP_FREE char *bytes = NULL;
    size_t len;

    if (!path && inputs->facts.default_spec)
        path = SPEC_DEFAULT_PATH;
    if (!path)
        return 0;
    if (path[0] == '{')
        return spec_read(&(struct spec_source){path, strlen(path), "RANKINIT_SPEC"},
                         &inputs->settings, &inputs->spec, err);
    if (file_read(path, SPEC_BYTES_MAX, &bytes, &len, err) < 0)
        return err_wrap(err, "spec");
    return spec_read(&(struct spec_source){bytes, len, path}, &inputs->settings, &inputs->spec,
                     err);
}

/* Which numbers the names of users, capabilities and system calls stand for. */
static int read_names(const char *sysroot, struct inputs *inputs, struct err *err)
{
    const struct setting *rows = inputs->settings.rows;
    struct facts *facts = &inputs->facts;
    const struct {
        const struct setting *row;
        uint64_t *set;
    } lists[] = {{&rows[OPT_CAP_DROP], &facts->cap_drop}, {&rows[OPT_CAP_KEEP], &facts->cap_keep}};

    caps_collect(sysroot, &facts->caps);
    for (size_t i = 0; i < 2; i++) {
        if (lists[i].row->text &&
            caps_read(lists[i].row, facts->caps.last, lists[i].set, &inputs->notices, err) < 0)
            return -1;
    }
    if (rows[OPT_USER].text &&
        users_find(sysroot, rows[OPT_USER].origin, rows[OPT_USER].text, &facts->user, err) < 0)
        return -1;
    if (seccomp_check(rows[OPT_SECCOMP_ALLOW].origin, rows[OPT_SECCOMP_ALLOW].text, false, err) < 0)
        return -1;
    return seccomp_check(rows[OPT_SECCOMP_DENY].origin, rows[OPT_SECCOMP_DENY].text, true, err);
}

int inputs_read(struct inputs *ret, const char *const *argv, const char *const *envp,
                struct err *err)
{
    const char *sysroot;
    int verb;

    memset(ret, 0, sizeof(*ret));
    settings_init(&ret->settings);
    ret->plan = (struct plan_inputs){.argv0 = argv[0],
                                     .envp = envp,
                                     .settings = &ret->settings,
                                     .spec = &ret->spec,
                                     .facts = &ret->facts};
    verb = options_parse(argv, &ret->settings, &ret->plan.program, err);
    if (verb == OPTIONS_RUN && settings_read_twins(&ret->settings, envp, &ret->notices, err) < 0)
        verb = -1;
    if (verb != OPTIONS_RUN) {
        facts_collect("", envp, false, &ret->facts); /* where to tell it */
        return verb;
    }
    sysroot = settings_text(&ret->settings, OPT_SYSROOT);
    facts_collect(sysroot ? sysroot : "", envp, true, &ret->facts);
    if (read_spec(ret, err) < 0 || read_names(sysroot ? sysroot : "", ret, err) < 0)
        return -1;
    if (cpus_bind_wanted(&ret->settings))
        facts_collect_topology(sysroot ? sysroot : "", ret->topology, &ret->facts);
    return OPTIONS_RUN;
}

void inputs_release(struct inputs *inputs)
{
    settings_release(&inputs->settings);
    spec_release(&inputs->spec);
    strvec_release(&inputs->notices);
}
