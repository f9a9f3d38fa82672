/*
 * Stopping: who is told what, when, and what tini's options ask for.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "base/signame.h"
#include "model/plan.h"
#include "model/plan_parts.h"

#define NS_PER_S     1000000000LL
#define TIMEOUT_NAME "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
#define TIMEOUT_MAX  31536000 /* a year, as for --shutdown-timeout */
#define SCOPE_GROUP  1        /* in the words of --stop-scope */
#define ITEM_ROOM    32

/* --grace or torchrun's name for it, whoever is stronger; torchrun reads a variable of its own. */
static int64_t resolve_grace(const struct plan_inputs *inputs, struct plan *plan)
{
    const struct settings *settings = inputs->settings;
    const struct setting *ours = &settings->rows[OPT_GRACE];
    const struct setting *theirs = &settings->rows[OPT_SHUTDOWN_TIMEOUT];
    const char *variable = env_get(inputs->envp, TIMEOUT_NAME);
    long seconds;

    if (theirs->source > ours->source)
        return settings_int(settings, OPT_SHUTDOWN_TIMEOUT) * NS_PER_S;
    if (!plan->torchrun || !variable || settings_stated(settings, OPT_GRACE))
        return settings_ns(settings, OPT_GRACE);
    if (scan_int(variable, 0, TIMEOUT_MAX, &seconds))
        return seconds * NS_PER_S;
    strvec_pushf(&plan->notices, TIMEOUT_NAME "=%.40s is no number of seconds: not read", variable);
    return settings_ns(settings, OPT_GRACE);
}

/* Init mode never kills unless somebody has said how long it is to wait. */
static bool states_grace(const struct settings *settings)
{
    static const char section[] = "stop.";

    if (settings_stated(settings, OPT_GRACE) || settings_stated(settings, OPT_SHUTDOWN_TIMEOUT))
        return true;
    for (int id = 0; id < OPT__COUNT; id++) {
        const char *key = option_rows[id].spec_key;

        if (settings->rows[id].source == SOURCE_SPEC && key &&
            strncmp(key, section, sizeof(section) - 1) == 0)
            return true;
    }
    return false;
}

static void resolve_rewrite(const char *text, unsigned char rewrite[PLAN_SIGNALS])
{
    char item[ITEM_ROOM];

    for (int i = 0; i < PLAN_SIGNALS; i++)
        rewrite[i] = (unsigned char)i;
    while (scan_item(&text, item, sizeof(item))) {
        char *colon = strchr(item, ':');
        int from, to;

        if (!colon)
            continue;
        *colon = '\0';
        from = signame_number(item);
        to = strcmp(colon + 1, "0") == 0 ? 0 : signame_number(colon + 1);
        if (from > 0 && from < PLAN_SIGNALS && to >= 0 && to < PLAN_SIGNALS)
            rewrite[from] = (unsigned char)to;
    }
}

/*
 * On a terminal the one program decides what Ctrl-C means to it, however often. torchrun's users may
 * name further signals; one that they leave out would kill torchrun itself, so that it stops too.
 */
static void resolve_stops(const struct settings *settings, const struct plan *plan, bool tty_in,
                          bool stops[PLAN_SIGNALS])
{
    const char *named = settings_stated(settings, OPT_SIGNALS_TO_HANDLE)
                            ? settings_text(settings, OPT_SIGNALS_TO_HANDLE)
                            : "";
    char item[ITEM_ROOM];

    stops[SIGTERM] = true;
    if (plan->mode == PLAN_FANOUT && !(plan->job.nproc == 1 && tty_in))
        stops[SIGINT] = stops[SIGQUIT] = stops[SIGHUP] = true;
    while (scan_item(&named, item, sizeof(item)))
        stops[signame_number(item)] = true;
}

void plan_resolve_stop(const struct plan_inputs *inputs, struct plan *plan)
{
    const struct settings *settings = inputs->settings;
    struct plan_stop *stop = &plan->stop;

    stop->escalate = plan->mode == PLAN_FANOUT || states_grace(settings);
    stop->sweep = plan->mode == PLAN_FANOUT || inputs->facts->is_init;
    stop->group = settings_flag(settings, OPT_KILL_GROUP) ||
                  settings_word(settings, OPT_STOP_SCOPE) == SCOPE_GROUP;
    stop->grace_ns = resolve_grace(inputs, plan);
    stop->fail_grace_ns = settings_ns(settings, OPT_FAIL_GRACE);
    stop->orphan_grace_ns = settings_ns(settings, OPT_ORPHAN_GRACE);
    stop->settle_ns = settings_ns(settings, OPT_SETTLE);
    resolve_rewrite(settings_text(settings, OPT_REWRITE), stop->rewrite);
    resolve_stops(settings, plan, inputs->facts->tty_in, stop->stops);
    plan->parent_death_signal = (int)settings_int(settings, OPT_PARENT_DEATH_SIGNAL);
    plan->inherit_signals = settings_flag(settings, OPT_INHERIT_SIGNALS);
    plan->warn_reaped = settings_flag(settings, OPT_WARN_REAPED);
}
