#include "model/restart.h"

#include <string.h>

#include "base/exitcode.h"

#define NS_PER_S 1e9

void restart_init(struct restart_past *past)
{
    memset(past, 0, sizeof(*past));
    past->quick_rank = -1;
}

/* Restarts that still count: all, or those within the window. */
static int count_recent(const struct restart_config *config, const struct restart_past *past,
                        int64_t now_ns)
{
    int known = past->count < RESTART_TIMES_MAX ? past->count : RESTART_TIMES_MAX;
    int recent = 0;

    if (config->window_ns == 0)
        return past->count;
    for (int i = 0; i < known; i++)
        recent += past->times[i] > now_ns - config->window_ns;
    return recent;
}

/* The rank that failed first, if it did so before restart.min_uptime; -1. */
static int quick_rank(const struct restart_config *config, const struct outcome *outcome,
                      const struct verdict *verdict)
{
    const struct outcome_rank *rank;

    if (config->min_uptime_ns == 0 || verdict->root < 0)
        return -1;
    rank = &outcome->ranks[verdict->root];
    return rank->started_ns != OUTCOME_NEVER &&
                   verdict->cause_ns - rank->started_ns < config->min_uptime_ns
               ? verdict->root
               : -1;
}

static bool was_not_started(const struct outcome *outcome)
{
    for (int i = 0; i < outcome->count; i++) {
        if (outcome->ranks[i].state == RANK_START_FAILED)
            return true;
    }
    return false;
}

/* What has nothing to do with how the job failed. */
static enum restart_answer look_around(const struct outcome *outcome, const struct verdict *verdict)
{
    if (verdict->word == VERDICT_SUCCEEDED)
        return RESTART_NOT_WANTED;
    if (outcome->stop.requested || verdict->word != VERDICT_FAILED)
        return RESTART_STOPPED;
    if (outcome->limit.kind == LIMIT_TIMEOUT)
        return RESTART_TIMED_OUT;
    if (was_not_started(outcome))
        return RESTART_NOT_STARTED;
    if (outcome->own.kind != ERR_NONE ||
        (verdict->root < 0 && !limits_is_hang(outcome->limit.kind)))
        return RESTART_OURS;
    if (outcome->unreaped_count + outcome->unreaped_more > 0)
        return RESTART_LEFT_OVER;
    return RESTART_YES;
}

enum restart_answer restart_decide(const struct plan *plan, const struct restart_past *past,
                                   const struct outcome *outcome, const struct verdict *verdict)
{
    const struct restart_config *config = &plan->restart;
    int code = verdict->code_before & (EXIT_CODES - 1);
    enum restart_answer answer;
    int quick;

    if (config->max == 0)
        return RESTART_NOT_WANTED;
    answer = look_around(outcome, verdict);
    if (answer != RESTART_YES)
        return answer;
    if (config->never[code])
        return RESTART_NEVER;
    if (config->only_stated && !config->only[code])
        return RESTART_NOT_ONLY;
    quick = quick_rank(config, outcome, verdict);
    if (quick >= 0 && quick == past->quick_rank)
        return RESTART_TOO_QUICK;
    return count_recent(config, past, outcome->now_ns) < config->max ? RESTART_YES : RESTART_SPENT;
}

void restart_note(const struct plan *plan, struct restart_past *past, const struct outcome *outcome,
                  const struct verdict *verdict)
{
    past->times[past->count % RESTART_TIMES_MAX] = outcome->now_ns;
    past->count++;
    past->quick_rank = quick_rank(&plan->restart, outcome, verdict);
}

void restart_explain(enum restart_answer answer, const struct plan *plan,
                     const struct verdict *verdict, struct buf *out)
{
    const struct restart_config *config = &plan->restart;

    if (config->max == 0)
        return;
    switch (answer) {
    case RESTART_YES:
    case RESTART_NOT_WANTED:
    case RESTART_STOPPED:
    case RESTART_TIMED_OUT:
    case RESTART_OURS: break;
    case RESTART_NOT_STARTED:
        buf_adds(out, "not restarted: what could not be started once cannot be started again");
        break;
    case RESTART_LEFT_OVER:
        buf_adds(out, "not restarted: a process of the last attempt is left, which may hold its "
                      "port or its devices");
        break;
    case RESTART_NEVER:
        buf_addf(out, "not restarted: exit code %d is in restart.never", verdict->code_before);
        break;
    case RESTART_NOT_ONLY:
        buf_addf(out, "not restarted: exit code %d is not in restart.only", verdict->code_before);
        break;
    case RESTART_TOO_QUICK:
        buf_addf(out,
                 "not restarted: the same rank failed twice in a row within restart.min_uptime "
                 "(%g s) of its start",
                 (double)config->min_uptime_ns / NS_PER_S);
        break;
    case RESTART_SPENT:
        buf_addf(out, "not restarted again: %d %s allowed (--max-restarts)", config->max,
                 config->max == 1 ? "restart is" : "restarts are");
        if (config->window_ns > 0)
            buf_addf(out, " within %g s (restart.window)", (double)config->window_ns / NS_PER_S);
        break;
    }
}
