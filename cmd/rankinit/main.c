/*
 * rankinit, the story from top to bottom: block signals, read what is asked,
 * look at the machine once, resolve everything into one plan (--plan prints it
 * and stops), prepare, run, tell the verdict. Only this file prints errors and exits.
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
#include "report/plan_view.h"
#include "sys/ask.h"
#include "sys/explain.h"
#include "sys/file.h"
#include "sys/inherit.h"
#include "sys/inputs.h"
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

static int prepare_and_run(const struct plan *plan, const struct sigset_inherited *signals,
                           struct err *err)
{
    CLEANUP(loop_release) struct loop loop;

    return loop_init(&loop, plan, signals, err) < 0 ? -1 : loop_run(&loop);
}

static int run(const struct plan *plan, const struct sigset_inherited *signals)
{
    struct err err = ERR_INIT;
    int code;

    log_set_level(plan->log_level);
    log_notices(&plan->notices);
    if (plan->parent_death_signal)
        prctl(PR_SET_PDEATHSIG, plan->parent_death_signal, 0, 0, 0);
    code = prepare_and_run(plan, signals, &err);
    return code < 0 ? publish_refusal(plan, &err) : code;
}

/* --plan: shows what run would do, and where it comes from. */
static int print_plan(const struct plan *plan, const struct inputs *inputs)
{
    const struct plan_view view = {plan, &inputs->settings, inputs->plan.envp};
    int format = settings_word(&inputs->settings, OPT_PLAN);
    size_t len;
    CLEANUP_FREE char *text = plan_view_render(&view, (enum plan_view_format)format, &len);

    if (!text)
        return exitcode_of_kind(ERR_SYSTEM);
    return file_write_all(STDOUT_FILENO, text, len) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* What cannot be, after what was noticed on the way: a misspelt variable may be why. */
static int refuse(const struct inputs *inputs, const struct plan *plan, const struct err *err)
{
    CLEANUP(plan_release) struct plan refused;

    plan_refused(&inputs->plan, &refused);
    log_set_level(refused.log_level);
    log_notices(&inputs->notices);
    log_notices(&plan->notices);
    return publish_refusal(&refused, err);
}

/* --explain, --status, ...: nothing runs, so signals may end us as they end any program. */
static int answer(const struct inputs *inputs, int verb)
{
    const struct settings *settings = &inputs->settings;
    struct err err = ERR_INIT;
    int code;

    sigset_child_unblock(0);
    code = verb == OPTIONS_ASK
               ? ask_answer(settings, inputs->plan.program, &err)
               : explain_files(settings_text(settings, OPT_EXPLAIN), inputs->plan.program, &err);
    if (code >= 0)
        return code;
    log_error("%s", err.message);
    return exitcode_of_kind(err.kind);
}

/* Everything that is decided, from everything that is said and seen; -1: *plan is to be run. */
static int decide(const char *const *argv, const char *const *envp, struct plan *plan)
{
    CLEANUP(inputs_release) struct inputs inputs;
    struct err err = ERR_INIT;
    int verb = inputs_read(&inputs, argv, envp, &err);

    if (verb == OPTIONS_HELP)
        return print_help();
    if (verb == OPTIONS_VERSION)
        return print_version();
    if (verb == OPTIONS_EXPLAIN || verb == OPTIONS_ASK)
        return answer(&inputs, verb);
    if (verb < 0 || plan_resolve(&inputs.plan, plan, &err) < 0)
        return refuse(&inputs, plan, &err);
    strvec_push_all(&plan->notices, strvec_texts(&inputs.notices));
    return settings_text(&inputs.settings, OPT_PLAN) ? print_plan(plan, &inputs) : -1;
}

int main(int argc, char **argv, char **envp)
{
    CLEANUP(plan_release) struct plan plan;
    struct sigset_inherited signals;
    int code;

    (void)argc;
    sigset_block(&signals);
    inherit_fill_stdio();
    memset(&plan, 0, sizeof(plan));
    code = decide((const char *const *)argv, (const char *const *)envp, &plan);
    return code < 0 ? run(&plan, &signals) : code;
}
