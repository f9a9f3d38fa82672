#include "sys/inputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "model/cpus.h"
#include "model/options.h"
#include "sys/caps.h"
#include "sys/facts.h"
#include "sys/file.h"
#include "sys/seccomp.h"
#include "sys/users.h"

/* A tree that is not there would look like a machine without devices. */
static int check_sysroot(const struct setting *sysroot, struct err *err)
{
    enum err_kind kind = sysroot->source == SOURCE_FLAG ? ERR_USAGE : ERR_SPEC;
    struct stat status;

    if (!sysroot->text)
        return 0;
    if (stat(sysroot->text, &status) < 0)
        return err_set(err, kind, "%s: %.200s: %s", sysroot->origin, sysroot->text,
                       strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return err_set(err, kind, "%s: %.200s: is no directory", sysroot->origin, sysroot->text);
    return 0;
}

/* The spec: --spec or RANKINIT_SPEC, which may be the document itself; else the default, if there. */
static int read_spec(struct inputs *inputs, const char *sysroot, struct err *err)
{
    CLEANUP(strvec_release) struct strvec below = STRVEC_INIT;
    const char *path = settings_text(&inputs->settings, OPT_SPEC);
    CLEANUP_FREE char *bytes = NULL;
    size_t len;

    if (!path && inputs->facts.default_spec)
        path = strvec_pushf(&below, "%s" SPEC_DEFAULT_PATH, sysroot);
    if (!path)
        return 0;
    if (spec_is_document(path))
        return spec_read(
            &(struct spec_source){path, strlen(path), inputs->settings.rows[OPT_SPEC].origin},
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

/* --accelerate-config: that file, or the one that accelerate itself would find. */
static int read_accelerate(struct inputs *inputs, struct err *err)
{
    const char *path = settings_text(&inputs->settings, OPT_ACCELERATE_CONFIG);
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;
    CLEANUP_FREE char *bytes = NULL;
    size_t len;

    if (!path)
        return 0;
    if (strcmp(path, "auto") == 0)
        path = accelerate_default_path(inputs->plan.envp, &texts);
    if (!path)
        return err_set(err, ERR_SPEC,
                       "%s: auto: neither HF_HOME nor XDG_CACHE_HOME nor HOME is set",
                       inputs->settings.rows[OPT_ACCELERATE_CONFIG].origin);
    if (file_read(path, SPEC_BYTES_MAX, &bytes, &len, err) < 0)
        return err_wrap(err, "%s", inputs->settings.rows[OPT_ACCELERATE_CONFIG].origin);
    inputs->plan.accelerate = &inputs->accelerate;
    return accelerate_read(&(struct accelerate_source){.document = {bytes, len, path},
                                                       .envp = inputs->plan.envp,
                                                       .cwd = inputs->facts.cwd},
                           &inputs->settings, &inputs->accelerate, err);
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
    if (verb == OPTIONS_RUN && settings_text(&ret->settings, OPT_EXPLAIN))
        return OPTIONS_EXPLAIN;
    if (verb == OPTIONS_RUN && is_asked(&ret->settings))
        verb = OPTIONS_ASK;
    if (verb != OPTIONS_RUN) {
        facts_collect("", envp, false, &ret->facts); /* where to tell it */
        return verb;
    }
    sysroot = settings_text(&ret->settings, OPT_SYSROOT);
    sysroot = sysroot ? sysroot : "";
    facts_collect(sysroot, envp, true, &ret->facts);
    if (check_sysroot(&ret->settings.rows[OPT_SYSROOT], err) < 0 ||
        read_spec(ret, sysroot, err) < 0 || read_accelerate(ret, err) < 0 ||
        read_names(sysroot, ret, err) < 0)
        return -1;
    strvec_push_all(&ret->notices, strvec_texts(&ret->accelerate.notices));
    if (cpus_bind_wanted(&ret->settings, &ret->spec))
        facts_collect_topology(sysroot, ret->topology, &ret->facts);
    return OPTIONS_RUN;
}

void inputs_release(struct inputs *inputs)
{
    settings_release(&inputs->settings);
    spec_release(&inputs->spec);
    accelerate_release(&inputs->accelerate);
    strvec_release(&inputs->notices);
}
