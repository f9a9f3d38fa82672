/*
 * What passes through us, and where the verdict goes.
 */
#include <string.h>

#include "model/plan.h"
#include "model/plan_parts.h"
#include "model/platform.h"

#define DEFAULT_TEMPLATE "[rank ${rank}] "
#define TERMINATION_LOG  "/dev/termination-log"
#define NOWHERE          "/dev/null"
#define TORCH_TEMPLATE   "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"

/* In the order of the options' words. */
enum capture { CAPTURE_AUTO, CAPTURE_NONE, CAPTURE_STDERR, CAPTURE_BOTH };
enum report { REPORT_AUTO, REPORT_ALWAYS, REPORT_NEVER };

static bool on_terminal(const struct facts *facts)
{
    return facts->tty_out || facts->tty_err;
}

/* Without a word about it: torchrun's variable, and its habit to mark what it tees. */
static const char *default_template(const struct plan_inputs *inputs, const struct plan *plan)
{
    const char *torch = env_get(inputs->envp, TORCH_TEMPLATE);

    if (plan->mode == PLAN_FANOUT && torch && torch[0])
        return torch;
    if (plan->job.nproc == 1)
        return NULL;
    return on_terminal(inputs->facts) || plan->output.tee ? DEFAULT_TEMPLATE : NULL;
}

/* --log-prefix: NULL for none. */
static const char *prefix_template(const struct plan_inputs *inputs, const struct plan *plan)
{
    const char *text = settings_text(inputs->settings, OPT_LOG_PREFIX);

    if (strcmp(text, "auto") == 0)
        return default_template(inputs, plan);
    if (strcmp(text, "never") == 0)
        return NULL;
    return strcmp(text, "always") == 0 ? DEFAULT_TEMPLATE : text;
}

static void set_prefix(struct plan *plan, const char *template)
{
    plan->output.prefix = template ? PLAN_PREFIX_TEMPLATE : PLAN_PREFIX_NEVER;
    plan->output.prefix_template = template ? strvec_push(&plan->texts, template) : NULL;
}

/* Whether ranks are silent can only be told of what is heard. */
static bool must_hear(const struct settings *settings)
{
    return settings_ns(settings, OPT_IDLE_TIMEOUT) > 0 ||
           settings_ns(settings, OPT_START_TIMEOUT) > 0;
}

/* ERR_SPEC if what is asked for a stream (0: stdout) needs it to pass through and it must not. */
static int check_sinks(const struct plan_inputs *inputs, const struct plan *plan, int stream,
                       struct err *err)
{
    static const enum option_id ids[] = {OPT_REDIRECTS, OPT_TEE, OPT_LOCAL_RANKS_FILTER};
    const struct setting *rows = inputs->settings->rows;
    bool captured = stream == 0 ? plan->output.capture_out : plan->output.capture_err;

    if (captured || !plan_sinks_matter(plan, stream))
        return 0;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        if (settings_stated(inputs->settings, ids[i]))
            return err_set(err, ERR_SPEC, "%s needs %s to pass through, %s says %s",
                           rows[ids[i]].origin, stream == 0 ? "stdout" : "stderr",
                           rows[OPT_CAPTURE].origin, rows[OPT_CAPTURE].text);
    }
    return 0;
}

/*
 * One program on a terminal, or in init mode, keeps what it has; unless a prefix, files or a
 * limit on silence are asked for.
 */
static int resolve_capture(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct settings *settings = inputs->settings;
    int word = settings_word(settings, OPT_CAPTURE);
    const char *template = prefix_template(inputs, plan);
    bool prefix = template && strcmp(settings_text(settings, OPT_LOG_PREFIX), "auto") != 0;
    bool alone = plan->mode == PLAN_INIT || (plan->job.nproc == 1 && on_terminal(inputs->facts));
    bool needed = prefix || must_hear(settings) || plan_sinks_matter(plan, 0) ||
                  plan_sinks_matter(plan, 1);

    if (word == CAPTURE_NONE && prefix)
        return err_set(err, ERR_SPEC, "%s needs the output to pass through, %s says none",
                       settings->rows[OPT_LOG_PREFIX].origin, settings->rows[OPT_CAPTURE].origin);
    if (word == CAPTURE_AUTO)
        word = alone && !needed ? CAPTURE_NONE : CAPTURE_BOTH;
    plan->output.capture_out = word == CAPTURE_BOTH;
    plan->output.capture_err = word != CAPTURE_NONE;
    set_prefix(plan, word == CAPTURE_NONE ? NULL : template);
    if (check_sinks(inputs, plan, 0, err) < 0)
        return -1;
    return check_sinks(inputs, plan, 1, err);
}

/* Several readers of one input would steal from each other; a terminal would stop them (SIGTTIN). */
static int stdin_rank(const struct plan *plan, const struct facts *facts)
{
    return plan->job.nproc > 1 && facts->tty_in ? -1 : 0;
}

/* NO_COLOR of any value but the empty one: no-color.org. */
static bool wants_colour(const struct plan_inputs *inputs)
{
    const char *no = env_get(inputs->envp, "NO_COLOR");
    const char *terminal = env_get(inputs->envp, "TERM");

    return inputs->facts->tty_err && !(no && no[0]) && !(terminal && strcmp(terminal, "dumb") == 0);
}

void plan_resolve_report(const struct plan_inputs *inputs, struct plan *plan)
{
    const struct settings *settings = inputs->settings;
    struct plan_report *report = &plan->report;
    bool fanout = plan->mode == PLAN_FANOUT;
    int word = settings_word(settings, OPT_REPORT);

    report->page = word == REPORT_ALWAYS || (word == REPORT_AUTO && fanout);
    report->json_line = word == REPORT_ALWAYS || (report->page && !inputs->facts->tty_err);
    report->quiet = plan->log_level == LOG_ERROR && word != REPORT_ALWAYS;
    report->colour = wants_colour(inputs);
    report->max_bytes = (int)settings_int(settings, OPT_MAX_BYTES);
    if (settings_text(settings, OPT_SUMMARY))
        report->summary = strvec_push(&plan->texts, settings_text(settings, OPT_SUMMARY));
    if (settings_stated(settings, OPT_TERMINATION_LOG)) {
        report->termination_log_stated = true;
        report->termination_log = strvec_push(&plan->texts,
                                              settings_text(settings, OPT_TERMINATION_LOG));
    } else if (fanout && inputs->facts->termination_log && !platform_nested(inputs->envp)) {
        report->termination_log = TERMINATION_LOG;
    }
}

/* torchrun's way to switch error files off is the null device. */
static void resolve_error_dir(const struct plan_inputs *inputs, struct plan *plan)
{
    const char *stated = settings_text(inputs->settings, OPT_LOG_DIR);
    const char *dir = stated ? stated : inputs->facts->scratch_dir;

    if (!dir || strcmp(dir, NOWHERE) == 0)
        return;
    plan->error_dir = strvec_push(&plan->texts, dir);
    plan->log_dir_stated = plan->keep_run_dir = stated != NULL;
}

int plan_resolve_output(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    plan->output.tail_lines = (int)settings_int(inputs->settings, OPT_TAIL_LINES);
    plan->output.stdin_local_rank = stdin_rank(plan, inputs->facts);
    plan->output.terminal = plan->job.nproc == 1 && inputs->facts->tty_in;
    plan_resolve_report(inputs, plan);
    resolve_error_dir(inputs, plan);
    if (plan_resolve_files(inputs, plan, err) < 0)
        return -1;
    /* One program's environment is left alone: without output to keep there is nothing to make. */
    if (plan->mode == PLAN_INIT && !plan->output.files)
        plan->error_dir = NULL;
    return resolve_capture(inputs, plan, err);
}
