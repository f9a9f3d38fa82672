/*
 * Time limits, whether they can be told, and restarts.
 */
#include "model/plan.h"
#include "model/plan_parts.h"

static int resolve_limits(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct settings *settings = inputs->settings;
    struct limits_config *limits = &plan->limits;
    bool hears = plan->output.capture_out || plan->output.capture_err;

    limits->timeout_ns = settings_ns(settings, OPT_TIMEOUT);
    limits->idle_ns = settings_ns(settings, OPT_IDLE_TIMEOUT);
    limits->start_ns = settings_ns(settings, OPT_START_TIMEOUT);
    if (limits->idle_ns > 0 && !hears)
        return err_set(err, ERR_SPEC,
                       "%s: whether ranks are silent can only be told when their output passes "
                       "through rankinit: state --capture both",
                       settings->rows[OPT_IDLE_TIMEOUT].origin);
    if (limits->start_ns > 0 && !hears && !plan->error_dir)
        return err_set(err, ERR_SPEC,
                       "%s: whether ranks have started can only be told when their output passes "
                       "through rankinit (--capture both) or they can write a ready file (a "
                       "writable TMPDIR, /tmp or --log-dir, and no init mode)",
                       settings->rows[OPT_START_TIMEOUT].origin);
    return 0;
}

/* A rank that is started again alone would wait for peers that other launchers still run. */
static int refuse_restarts(const struct setting *stated, struct plan *plan, struct err *err)
{
    static const char pointer[] = "let the cluster's engine restart the pods (see k8s/)";

    if (stated->source != SOURCE_PLATFORM)
        return err_set(err, ERR_SPEC,
                       "%s=%s: only a job of one node is restarted here, this one has %d %s: %s",
                       stated->origin, stated->text, plan->job.nnodes,
                       plan->job.task.one ? "processes of other launchers" : "nodes", pointer);
    strvec_pushf(&plan->notices, "%s=%s has no effect on a job of %d nodes: %s", stated->origin,
                 stated->text, plan->job.nnodes, pointer);
    plan->restart.max = 0;
    return 0;
}

static int resolve_restart(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct settings *settings = inputs->settings;
    const struct setting *max = &settings->rows[OPT_MAX_RESTARTS];
    const char *sysroot = settings_text(settings, OPT_SYSROOT);
    struct restart_config *restart = &plan->restart;

    if (plan->mode != PLAN_FANOUT)
        return 0;
    restart->max = (int)settings_int(settings, OPT_MAX_RESTARTS);
    restart->backoff_ns = settings_ns(settings, OPT_RESTART_BACKOFF);
    restart->window_ns = settings_ns(settings, OPT_RESTART_WINDOW);
    restart->min_uptime_ns = settings_ns(settings, OPT_RESTART_MIN_UPTIME);
    restart->only_stated = settings_stated(settings, OPT_RESTART_ONLY);
    exit_policy_codes(settings_text(settings, OPT_RESTART_ONLY), restart->only);
    exit_policy_codes(settings_text(settings, OPT_RESTART_NEVER), restart->never);
    if (sysroot)
        plan->sysroot = strvec_push(&plan->texts, sysroot);
    if (restart->max > 0 && (plan->job.nnodes > 1 || plan->job.task.one))
        return refuse_restarts(max, plan, err);
    if (restart->window_ns > 0 && restart->max > RESTART_TIMES_MAX)
        return err_set(err, ERR_SPEC, "%s=%s: with restart.window at most %d", max->origin,
                       max->text, RESTART_TIMES_MAX);
    return 0;
}

int plan_resolve_limits(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    if (resolve_limits(inputs, plan, err) < 0)
        return -1;
    return resolve_restart(inputs, plan, err);
}
