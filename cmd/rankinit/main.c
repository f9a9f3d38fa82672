/*
 * rankinit, the story from top to bottom: block signals, read what is asked,
 * look at the machine once, resolve everything into one plan, prepare, run,
 * tell the verdict. Only this file prints errors and exits.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "model/options.h"
#include "model/plan.h"
#include "model/settings.h"
#include "model/spec.h"
#include "sys/facts.h"
#include "sys/file.h"
#include "sys/inherit.h"
#include "sys/loop.h"
#include "sys/sigset.h"

#define HELP_MAX 32768

static int print_help(void)
{
    char room[HELP_MAX];
    struct buf help = BUF_OVER(room);

    options_help(&help);
    return file_write_all(STDOUT_FILENO, help.data, help.len) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_version(void)
{
    static const char text[] = "rankinit " RANKINIT_VERSION "\n";

    return file_write_all(STDOUT_FILENO, text, sizeof(text) - 1) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The spec: --spec or RANKINIT_SPEC, which may be the document itself; else the default, if there. */
static int read_spec(struct settings *settings, const struct facts *facts, struct spec *ret,
                     struct err *err)
{
    const char *path = settings_text(settings, OPT_SPEC);
    CLEANUP_FREE char *bytes = NULL;
    size_t len;

    if (!path && facts->default_spec)
        path = SPEC_DEFAULT_PATH;
    if (!path)
        return 0;
    if (path[0] == '{')
        return spec_read(&(struct spec_source){path, strlen(path), "RANKINIT_SPEC"}, settings, ret,
                         err);
    if (file_read(path, SPEC_BYTES_MAX, &bytes, &len, err) < 0)
        return err_wrap(err, "spec");
    return spec_read(&(struct spec_source){bytes, len, path}, settings, ret, err);
}

/* Everything that is decided, from everything that is said and seen. */
static int make_plan(const char *const *argv, const char *const *envp, struct plan *plan,
                     struct err *err)
{
    CLEANUP(settings_release) struct settings settings;
    CLEANUP(spec_release) struct spec spec = {.command = STRVEC_INIT};
    CLEANUP(strvec_release) struct strvec notices = STRVEC_INIT;
    struct facts facts;
    const char *const *program;
    const char *sysroot;
    int verb;

    settings_init(&settings);
    verb = options_parse(argv, &settings, &program, err);
    if (verb != OPTIONS_RUN)
        return verb;
    if (settings_read_twins(&settings, envp, &notices, err) < 0)
        return -1;
    exit_policy_resolve(&settings, &plan->exit);
    sysroot = settings_text(&settings, OPT_SYSROOT);
    facts_collect(sysroot ? sysroot : "", envp, true, &facts);
    if (read_spec(&settings, &facts, &spec, err) < 0)
        return -1;
    if (plan_resolve(&(struct plan_inputs){.argv0 = argv[0],
                                           .program = program,
                                           .envp = envp,
                                           .settings = &settings,
                                           .spec = &spec,
                                           .facts = &facts},
                     plan, err) < 0)
        return -1;
    strvec_push_all(&plan->notices, strvec_texts(&notices));
    return OPTIONS_RUN;
}

static int fail(const struct plan *plan, const struct err *err)
{
    log_error("%s", err->message);
    return exit_policy_map(&plan->exit, false, exitcode_of_kind(err->kind));
}

static int run(const struct plan *plan, const struct sigset_inherited *signals)
{
    CLEANUP(loop_release) struct loop loop;
    struct err err = ERR_INIT;

    log_set_level(plan->log_level);
    for (size_t i = 0; i < plan->notices.count; i++)
        log_notice("%s", plan->notices.items[i]);
    if (plan->parent_death_signal)
        prctl(PR_SET_PDEATHSIG, plan->parent_death_signal, 0, 0, 0);
    if (loop_init(&loop, plan, signals, &err) < 0)
        return fail(plan, &err);
    return loop_run(&loop);
}

int main(int argc, char **argv, char **envp)
{
    CLEANUP(plan_release) struct plan plan;
    struct sigset_inherited signals;
    struct err err = ERR_INIT;
    int verb;

    (void)argc;
    sigset_block(&signals);
    inherit_fill_stdio();
    memset(&plan, 0, sizeof(plan));
    verb = make_plan((const char *const *)argv, (const char *const *)envp, &plan, &err);
    if (verb == OPTIONS_HELP)
        return print_help();
    if (verb == OPTIONS_VERSION)
        return print_version();
    return verb < 0 ? fail(&plan, &err) : run(&plan, &signals);
}
