#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/exitcode.h"
#include "model/outcome.h"
#include "model/sentence.h"

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

/* The local rank that failed first, and why; -1 if none did. */
static int find_root(const struct outcome *outcome, struct outcome_candidate *ret)
{
    struct outcome_candidate candidate;
    int root = -1;

    for (int i = 0; i < outcome->count; i++) {
        if (outcome_candidate(&outcome->ranks[i], &candidate) &&
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

/*
 * True if the rank had failed when the stop was asked for, though it had not ended: its error file
 * says so, or its words and then an exit code that no stop explains.
 */
static bool failed_before_stop(const struct outcome *outcome, const struct outcome_rank *rank)
{
    struct outcome_candidate candidate;
    int code;

    if (!outcome_candidate(rank, &candidate) || candidate.echo ||
        candidate.at_ns >= outcome->stop.at_ns)
        return false;
    if (candidate.kind == EVIDENCE_ERROR_FILE)
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
        verdict->reason = rank->oom ? "oom_killed" : "rank_signaled";
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
}

static void judge_stopped(const struct outcome *outcome, struct verdict *ret)
{
    ret->word = VERDICT_STOPPED;
    ret->reason = "stop_requested";
    ret->exit_code = EXITCODE_SIGNAL_BASE + outcome->stop.signal;
}

static void judge_succeeded(struct verdict *ret)
{
    ret->word = VERDICT_SUCCEEDED;
    ret->reason = exitcode_reason(ERR_NONE);
    ret->exit_code = 0;
    ret->from_rank = true;
}

/* A failure before a stop request stays one; whatever comes after it is the stop's doing. */
static void judge_fanout(const struct outcome *outcome, struct verdict *ret)
{
    int64_t end_ns;
    bool succeeded = all_succeeded(outcome, &end_ns);

    if (outcome->stop.requested && !any_failed_before_stop(outcome)) {
        if (!succeeded || end_ns >= outcome->stop.at_ns)
            judge_stopped(outcome, ret);
        else if (outcome->done)
            judge_succeeded(ret);
    } else if (any_failed(outcome) || (outcome->done && !succeeded)) {
        judge_failed(outcome, ret);
    } else if (outcome->done) {
        judge_succeeded(ret);
    }
}

/* Init mode returns the program's code, stopped or not. */
static void judge_init(const struct outcome *outcome, struct verdict *ret)
{
    const struct outcome_rank *rank = &outcome->ranks[0];

    if (rank->state == RANK_START_FAILED) {
        judge_failed(outcome, ret);
    } else if (rank->state == RANK_ENDED) {
        if (!outcome_rank_failed(rank)) {
            judge_succeeded(ret);
        } else if (outcome->stop.requested) {
            judge_stopped(outcome, ret);
            ret->exit_code = exitcode_of_wait(rank->wait_status);
            ret->from_rank = true;
        } else {
            judge_failed(outcome, ret);
        }
    } else if (outcome->done) {
        judge_failed(outcome, ret);
    }
}

/* -e CODE: that code is as good as 0; not if it is ours. */
static void map_exit_code(const struct outcome *outcome, const struct plan *plan,
                          struct verdict *ret)
{
    if (ret->exit_code < 0 || ret->exit_code > 255 || !plan->exit_zero[ret->exit_code])
        return;
    if (!ret->from_rank && ret->word != VERDICT_STOPPED)
        return;
    ret->exit_code = 0;
    if (outcome->done && ret->word == VERDICT_FAILED)
        ret->word = VERDICT_SUCCEEDED;
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
        judge_init(outcome, ret);
    } else {
        judge_fanout(outcome, ret);
    }
    map_exit_code(outcome, plan, ret);
    buf_init(&message, ret->message, sizeof(ret->message));
    sentence_verdict(outcome, plan, ret, &message);
}
