#include "sys/inputs.h"

#include <string.h>

#include "base/cleanup.h"
#include "model/cpus.h"
#include "model/options.h"
#include "sys/facts.h"
#include "sys/file.h"

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

/* --status, --probe and --install run nothing; what a job is told by twins is no matter to them. */
static bool is_asked(const struct settings *settings)
{
    return settings_text(settings, OPT_STATUS) || settings_text(settings, OPT_PROBE) ||
           settings_text(settings, OPT_INSTALL);
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
    if (verb == OPTIONS_RUN && !is_asked(&ret->settings) &&
        settings_read_twins(&ret->settings, envp, &ret->notices, err) < 0)
        verb = -1;
    if (verb == OPTIONS_RUN && is_asked(&ret->settings))
        verb = OPTIONS_ASK;
    if (verb != OPTIONS_RUN) {
        facts_collect("", envp, false, &ret->facts); /* where to tell it */
        return verb;
    }
    sysroot = settings_text(&ret->settings, OPT_SYSROOT);
    facts_collect(sysroot ? sysroot : "", envp, true, &ret->facts);
    if (read_spec(ret, err) < 0)
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
