#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/exitcode.h"
#include "model/lag.h"
#include "model/outcome.h"
#include "model/sentence.h"

#define REASON_OOM    "oom_killed"
#define EXIT_UNCAUGHT 1 /* what Python ends with after a traceback */

/* True if a is the better candidate: its own failure, then the earlier one, then better words. */
static bool precedes(const struct outcome_candidate *a, const struct outcome_candidate *b)
{
    if (a->echo != b->echo)
        return b->echo;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns;
    return a->kind > b->kind;
}

/* When the first rank failed by itself and for a reason of its own; INT64_MAX: none has. */
static int64_t first_own_end(const struct outcome *outcome)
{
    struct outcome_candidate candidate;
    int64_t first_ns = INT64_MAX;

    for (int i = 0; i < outcome->count; i++) {
        if (outcome_candidate(&outcome->ranks[i], &candidate) && !candidate.lives &&
            !candidate.echo && candidate.at_ns < first_ns)
            first_ns = candidate.at_ns;
    }
    return first_ns;
}

/* The local rank that failed first, and why; -1 if none did. */
static int find_root(const struct outcome *outcome, struct outcome_candidate *ret)
{
    int64_t first_end_ns = first_own_end(outcome);
    struct outcome_candidate candidate;
    int root = -1;

    for (int i = 0; i < outcome->count; i++) {
        if (outcome_candidate(&outcome->ranks[i], &candidate) &&
            (first_end_ns == INT64_MAX || !outcome_was_handled(&candidate, first_end_ns)) &&
            (root < 0 || precedes(&candidate, ret))) {
            *ret = candidate;
            root = i;
        }
    }
    return root;
}

/* True if a rank has ended, or could not start, and not because we stopped it. */
static bool any_failed(const struct outcome *outcome)
{
    struct outcome_candidate candidate;

    for (int i = 0; i < outcome->count; i++) {
        const struct outcome_rank *rank = &outcome->ranks[i];

        if (outcome_rank_failed(rank) && outcome_candidate(rank, &candidate))
            return true;
    }
    return false;
}

/* True if every rank has ended with 0; *ret_ns is when the last one did. */
static bool all_succeeded(const struct outcome *outcome, int64_t *ret_ns)
{
    *ret_ns = 0;
    for (int i = 0; i < outcome->count; i++) {
        const struct outcome_rank *rank = &outcome->ranks[i];

        if (rank->state != RANK_ENDED || outcome_rank_failed(rank))
            return false;
        if (rank->ended_ns > *ret_ns)
            *ret_ns = rank->ended_ns;
    }
    return true;
}

/* When somebody asked to stop, or a limit was over. */
static int64_t asked_at(const struct outcome *outcome)
{
    return outcome->limit.kind != LIMIT_NONE ? outcome->limit.at_ns : outcome->stop.at_ns;
}

/*
 * True if the rank had failed when the stop was asked for, though it had not ended: its error file
 * says so, or its words and then an exit code that no stop explains. What hangs after a traceback
 * hangs because of it.
 */
static bool failed_before_stop(const struct outcome *outcome, const struct outcome_rank *rank)
{
    struct outcome_candidate candidate;
    int code;

    if (!outcome_candidate(rank, &candidate) || candidate.echo ||
        candidate.at_ns >= asked_at(outcome))
        return false;
    if (candidate.kind == EVIDENCE_ERROR_FILE ||
        (candidate.kind == EVIDENCE_TRACEBACK && limits_is_hang(outcome->limit.kind)))
        return true;
    if (!candidate.words || rank->state != RANK_ENDED || !WIFEXITED(rank->wait_status))
        return false;
    code = WEXITSTATUS(rank->wait_status);
    return code != EXITCODE_SIGNAL_BASE + outcome->stop.signal &&
           code != EXITCODE_SIGNAL_BASE + rank->first_signal;
}

static bool any_failed_before_stop(const struct outcome *outcome)
{
    if (outcome->first_failure_ns != OUTCOME_NEVER)
        return true;
    for (int i = 0; i < outcome->count; i++) {
        if (failed_before_stop(outcome, &outcome->ranks[i]))
            return true;
    }
    return false;
}

static void conclude_kind(struct verdict *verdict, enum err_kind kind)
{
    verdict->exit_code = exitcode_of_kind(kind);
    verdict->reason = exitcode_reason(kind);
    verdict->from_rank = false;
}

static void conclude_start_failure(const struct outcome_rank *rank, struct verdict *verdict)
{
    int errnum = rank->stage_errno;

    if (rank->stage == STAGE_EXEC)
        conclude_kind(verdict,
                      errnum == ENOENT || errnum == ENOTDIR ? ERR_NOT_FOUND : ERR_NOT_EXECUTABLE);
    else
        conclude_kind(verdict, rank->stage == STAGE_WORKDIR ? ERR_SPEC : ERR_SYSTEM);
}

/* The code is the rank's own, unless our signal hid it or it lives on. */
static void conclude_rank(const struct outcome_rank *rank, struct verdict *verdict)
{
    verdict->from_rank = true;
    verdict->reason = "rank_exited";
    if (rank->state != RANK_ENDED || outcome_rank_killed_by_us(rank)) {
        verdict->exit_code = EXIT_UNCAUGHT;
        return;
    }
    verdict->exit_code = exitcode_of_wait(rank->wait_status);
    if (WIFSIGNALED(rank->wait_status))
        verdict->reason = rank->oom ? REASON_OOM : "rank_signaled";
}

static void judge_failed(const struct outcome *outcome, struct verdict *ret)
{
    struct outcome_candidate candidate = {.kind = EVIDENCE_NONE};

    ret->word = VERDICT_FAILED;
    ret->root = find_root(outcome, &candidate);
    if (ret->root < 0) {
        conclude_kind(ret, ERR_INTERNAL);
        return;
    }
    if (candidate.words)
        ret->cause = *candidate.words;
    ret->cause.kind = candidate.kind;
    ret->cause.echo = candidate.echo;
    ret->cause.at_ns = ret->cause_ns = candidate.at_ns;
    if (outcome->ranks[ret->root].state == RANK_START_FAILED)
        conclude_start_failure(&outcome->ranks[ret->root], ret);
    else
        conclude_rank(&outcome->ranks[ret->root], ret);
    if (lag_is_timeout(ret))
        ret->reason = "collective_timeout";
}

/*
 * The code of the rank that first ended with another than 0, else 0; of several that ended in one
 * wake-up the greatest. False if one still runs.
 */
static bool code_of_ranks(const struct outcome *outcome, int *ret)
{
    int64_t first_ns = INT64_MAX;

    *ret = 0;
    for (int i = 0; i < outcome->count; i++) {
        const struct outcome_rank *rank = &outcome->ranks[i];
        int code;

        if (rank->state != RANK_ENDED)
            return false;
        code = exitcode_of_wait(rank->wait_status);
        if (code == 0 || rank->ended_ns > first_ns || (rank->ended_ns == first_ns && code < *ret))
            continue;
        first_ns = rank->ended_ns;
        *ret = code;
    }
    return true;
}

static void judge_stopped(const struct outcome *outcome, const struct plan *plan,
                          struct verdict *ret)
{
    ret->word = VERDICT_STOPPED;
    ret->reason = "stop_requested";
    if (plan->exit.stop_rank)
        ret->from_rank = code_of_ranks(outcome, &ret->exit_code);
    if (!ret->from_rank)
        ret->exit_code = EXITCODE_SIGNAL_BASE + outcome->stop.signal;
}

/* Whatever the ranks returned after it: they were cut short. */
static void judge_limit(const struct outcome *outcome, struct verdict *ret)
{
    ret->word = VERDICT_FAILED;
    conclude_kind(ret, limits_is_hang(outcome->limit.kind) ? ERR_HUNG : ERR_TIMEOUT);
}

/* A process that the kernel killed may have been one that mattered: that is for the user to say. */
static void judge_succeeded(const struct outcome *outcome, const struct plan *plan,
                            struct verdict *ret)
{
    if (plan->exit.oom_fails && outcome->oom_kills > 0) {
        ret->word = VERDICT_FAILED;
        ret->reason = REASON_OOM;
        ret->exit_code = EXITCODE_SIGNAL_BASE + SIGKILL;
        return;
    }
    ret->word = VERDICT_SUCCEEDED;
    ret->reason = exitcode_reason(ERR_NONE);
    ret->exit_code = 0;
    ret->from_rank = true;
}

/* A failure before a stop request stays one; whatever comes after it is the stop's doing. */
static void judge_fanout(const struct outcome *outcome, const struct plan *plan,
                         struct verdict *ret)
{
    int64_t end_ns;
    bool succeeded = all_succeeded(outcome, &end_ns);

    if (outcome->limit.kind != LIMIT_NONE && !any_failed_before_stop(outcome))
        judge_limit(outcome, ret);
    else if (outcome->stop.requested && !any_failed_before_stop(outcome)) {
        if (!succeeded || end_ns >= outcome->stop.at_ns)
            judge_stopped(outcome, plan, ret);
        else if (outcome->done)
            judge_succeeded(outcome, plan, ret);
    } else if (any_failed(outcome) || (outcome->done && !succeeded)) {
        judge_failed(outcome, ret);
    } else if (outcome->done) {
        judge_succeeded(outcome, plan, ret);
    }
}

/* Init mode returns the program's code, stopped or not. */
static void judge_init(const struct outcome *outcome, const struct plan *plan, struct verdict *ret)
{
    const struct outcome_rank *rank = &outcome->ranks[0];

    if (rank->state == RANK_START_FAILED) {
        judge_failed(outcome, ret);
    } else if (rank->state == RANK_ENDED) {
        if (outcome->limit.kind != LIMIT_NONE) {
            judge_limit(outcome, ret);
        } else if (!outcome_rank_failed(rank)) {
            judge_succeeded(outcome, plan, ret);
        } else if (outcome->stop.requested) {
            judge_stopped(outcome, plan, ret);
            ret->exit_code = exitcode_of_wait(rank->wait_status);
            ret->from_rank = true;
        } else {
            judge_failed(outcome, ret);
        }
    } else if (outcome->done) {
        /* It did not end, and we leave: SIGKILL did not reach it. */
        if (outcome->stop.requested)
            judge_stopped(outcome, plan, ret);
        else
            judge_failed(outcome, ret);
    }
}

/* -e CODE: that code is as good as 0; not if it is ours. The map only renames what is returned. */
static void apply_policy(const struct outcome *outcome, const struct plan *plan,
                         struct verdict *ret)
{
    int code = ret->exit_code;

    if (code >= 0 && code < EXIT_CODES && plan->exit.zero[code] &&
        (ret->from_rank || ret->word == VERDICT_STOPPED)) {
        code = 0;
        if (outcome->done && ret->word == VERDICT_FAILED)
            ret->word = VERDICT_SUCCEEDED;
    }
    ret->code_before = ret->exit_code;
    ret->exit_code = exit_policy_map(&plan->exit, ret->from_rank, code);
}

void outcome_judge(const struct outcome *outcome, const struct plan *plan, struct verdict *ret)
{
    struct buf message;

    memset(ret, 0, sizeof(*ret));
    ret->word = VERDICT_RUNNING;
    ret->exit_code = -1;
    ret->root = -1;
    ret->cause_ns = OUTCOME_NEVER;
    if (outcome->own.kind != ERR_NONE) {
        ret->word = VERDICT_FAILED;
        conclude_kind(ret, outcome->own.kind);
    } else if (plan->mode == PLAN_INIT) {
        judge_init(outcome, plan, ret);
    } else {
        judge_fanout(outcome, plan, ret);
    }
    apply_policy(outcome, plan, ret);
    buf_init(&message, ret->message, sizeof(ret->message));
    if (lag_is_timeout(ret))
        lag_sentence(outcome, plan, ret, &message);
    else
        sentence_verdict(outcome, plan, ret, &message);
}
