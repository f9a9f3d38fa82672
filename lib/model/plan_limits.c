/*
 * Time limits, and whether they can be told.
 */
#include "model/plan.h"
#include "model/plan_parts.h"

int plan_resolve_limits(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
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
