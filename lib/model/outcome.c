#include "model/outcome.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* All ranks are still to be started. */
static void begin(struct outcome *outcome)
{
    outcome->first_failure_ns = OUTCOME_NEVER;
    outcome->drained_ns = OUTCOME_NEVER;
    outcome->killed_ns = OUTCOME_NEVER;
    outcome->shm_free_bytes = -1;
    for (int i = 0; i < outcome->count; i++) {
        struct outcome_rank *rank = &outcome->ranks[i];

        /* Written to, so that the pages are ours before a cgroup can be full. */
        memset(rank, 0, sizeof(*rank));
        rank->started_ns = rank->ended_ns = OUTCOME_NEVER;
        rank->ready_ns = rank->signalled_ns = OUTCOME_NEVER;
        rank->evidence = &outcome->evidences[i];
        evidence_init(rank->evidence);
    }
}

int outcome_init(struct outcome *outcome, const struct plan *plan, struct err *err)
{
    size_t count = plan->mode == PLAN_INIT ? 1 : (size_t)plan->job.nproc;

    memset(outcome, 0, sizeof(*outcome));
    outcome->ranks = calloc(count, sizeof(*outcome->ranks));
    outcome->evidences = calloc(count, sizeof(*outcome->evidences));
    if (!outcome->ranks || !outcome->evidences) {
        outcome_release(outcome);
        return err_set(err, ERR_SYSTEM, "no memory for the outcome of %zu ranks", count);
    }
    outcome->count = (int)count;
    outcome->stop.sender_rank = -1;
    begin(outcome);
    return 0;
}

/* Makes room for one more by forgetting the second one: the first often says most. */
static struct outcome_attempt *new_attempt(struct outcome *outcome)
{
    struct outcome_attempt *list = outcome->attempts;

    if (outcome->attempt_count == OUTCOME_ATTEMPTS_MAX) {
        memmove(&list[1], &list[2], (OUTCOME_ATTEMPTS_MAX - 2) * sizeof(list[0]));
        outcome->attempt_count--;
    }
    return &list[outcome->attempt_count++];
}

void outcome_renew(struct outcome *outcome, const struct verdict *verdict)
{
    struct outcome_attempt *attempt = new_attempt(outcome);
    struct buf message = BUF_OVER(attempt->message);

    attempt->number = outcome->restarts++;
    attempt->reason = verdict->reason;
    attempt->exit_code = verdict->code_before;
    attempt->root = verdict->root;
    attempt->ended_ns = outcome->now_ns;
    buf_adds(&message, verdict->message);
    outcome->limit = (struct outcome_limit){.kind = LIMIT_NONE};
    outcome->unreaped_count = outcome->unreaped_more = 0;
    outcome->done = false;
    begin(outcome);
}

void outcome_release(struct outcome *outcome)
{
    free(outcome->ranks);
    free(outcome->evidences);
    memset(outcome, 0, sizeof(*outcome));
}

void outcome_note_started(struct outcome *outcome, int local_rank, pid_t pid, int64_t now_ns)
{
    struct outcome_rank *rank = &outcome->ranks[local_rank];

    rank->state = RANK_ALIVE;
    rank->pid = pid;
    rank->started_ns = now_ns;
    outcome->now_ns = now_ns;
}

static void note_failure(struct outcome *outcome, int64_t now_ns)
{
    if (!outcome->stop.requested && outcome->limit.kind == LIMIT_NONE &&
        outcome->first_failure_ns == OUTCOME_NEVER)
        outcome->first_failure_ns = now_ns;
}

void outcome_note_start_failed(struct outcome *outcome, int local_rank, enum spawn_stage stage,
                               int errnum, int64_t now_ns)
{
    struct outcome_rank *rank = &outcome->ranks[local_rank];

    rank->state = RANK_START_FAILED;
    rank->stage = stage;
    rank->stage_errno = errnum;
    rank->ended_ns = now_ns;
    outcome->now_ns = now_ns;
    note_failure(outcome, now_ns);
}

void outcome_note_ended(struct outcome *outcome, int local_rank, int wait_status, int64_t now_ns)
{
    struct outcome_rank *rank = &outcome->ranks[local_rank];
    struct outcome_candidate candidate;

    rank->state = RANK_ENDED;
    rank->wait_status = wait_status;
    rank->ended_ns = now_ns;
    rank->core_dumped = WIFSIGNALED(wait_status) && WCOREDUMP(wait_status);
    if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL && !rank->killed_by_us &&
        outcome->oom_fresh > 0 && outcome->oom_at_ns == now_ns) {
        rank->oom = true;
        outcome->oom_fresh--;
    }
    outcome->now_ns = now_ns;
    if (outcome_candidate(rank, &candidate))
        note_failure(outcome, now_ns);
}

void outcome_note_oom_kills(struct outcome *outcome, uint64_t kills, int64_t now_ns)
{
    if (outcome->oom_at_ns != now_ns)
        outcome->oom_fresh = 0;
    outcome->oom_at_ns = now_ns;
    if (kills <= outcome->oom_kills)
        return;
    outcome->oom_fresh += kills - outcome->oom_kills;
    outcome->oom_kills = kills;
}

void outcome_note_signalled(struct outcome *outcome, int local_rank, int signal, int64_t now_ns)
{
    struct outcome_rank *rank = &outcome->ranks[local_rank];

    if (signal == SIGKILL)
        rank->killed_by_us = true;
    outcome->now_ns = now_ns;
    if (rank->signalled_ns != OUTCOME_NEVER)
        return;
    rank->signalled_ns = now_ns;
    rank->first_signal = signal;
    evidence_seal(rank->evidence);
}

void outcome_note_passed(struct outcome *outcome, const struct outcome_passed *passed)
{
    for (int i = 0; i < outcome->count; i++) {
        if (outcome->ranks[i].state == RANK_ALIVE)
            outcome->ranks[i].passed = *passed;
    }
}

void outcome_note_stop(struct outcome *outcome, const struct outcome_stop *stop)
{
    outcome->stop = *stop;
    outcome->now_ns = stop->at_ns;
}

void outcome_note_limit(struct outcome *outcome, const struct outcome_limit *limit)
{
    outcome->limit = *limit;
    outcome->now_ns = limit->at_ns;
}

void outcome_note_ready(struct outcome *outcome, int local_rank, int64_t now_ns)
{
    struct outcome_rank *rank = &outcome->ranks[local_rank];

    if (rank->ready_ns == OUTCOME_NEVER)
        rank->ready_ns = now_ns;
}

bool outcome_rank_failed(const struct outcome_rank *rank)
{
    if (rank->state == RANK_START_FAILED)
        return true;
    return rank->state == RANK_ENDED &&
           !(WIFEXITED(rank->wait_status) && WEXITSTATUS(rank->wait_status) == 0);
}

bool outcome_rank_killed_by_us(const struct outcome_rank *rank)
{
    if (rank->state != RANK_ENDED || !WIFSIGNALED(rank->wait_status))
        return false;
    if (WTERMSIG(rank->wait_status) == SIGKILL)
        return rank->killed_by_us;
    return rank->signalled_ns != OUTCOME_NEVER && WTERMSIG(rank->wait_status) == rank->first_signal;
}

/*
 * True if it failed without a signal of ours. One that was found dead in the very wake-up in which
 * we signalled it had died before, unless it died of just that signal.
 */
static bool failed_by_itself(const struct outcome_rank *rank)
{
    if (rank->state != RANK_ENDED || !outcome_rank_failed(rank))
        return false;
    return rank->signalled_ns == OUTCOME_NEVER ||
           (rank->ended_ns <= rank->signalled_ns && !outcome_rank_killed_by_us(rank));
}

/* True if the rank has worked on since, as far as lines and time tell. */
static bool went_on(const struct outcome_rank *rank, bool by_itself, const struct finding *finding)
{
    return evidence_is_stale(rank->evidence) ||
           (by_itself && rank->ended_ns - finding->at_ns > OUTCOME_HANDLED_NS);
}

/* An exception or a dump leads to an exit code or to an abort, not much later to another signal. */
static bool may_have_ended_by(const struct outcome_rank *rank, const struct finding *finding)
{
    bool signaled = rank->state == RANK_ENDED && WIFSIGNALED(rank->wait_status) &&
                    WTERMSIG(rank->wait_status) != SIGABRT;

    return finding->kind == EVIDENCE_FAULTHANDLER ||
           (finding->kind != EVIDENCE_FATAL_LINE && !signaled);
}

/* Words said by a rank that worked on are no reason; a traceback may still be what it ended with. */
static const struct finding *said(const struct outcome_rank *rank, bool by_itself, int64_t *ret_ns)
{
    const struct finding *finding = evidence_finding(rank->evidence, !by_itself);

    if (!finding)
        return NULL;
    *ret_ns = finding->at_ns;
    if (went_on(rank, by_itself, finding)) {
        if (!may_have_ended_by(rank, finding))
            return NULL;
        *ret_ns = rank->ended_ns;
    }
    return finding;
}

/* A file's time is that of another clock: it is held within the rank's life. */
static const struct finding *wrote(const struct outcome_rank *rank, int64_t *ret_ns)
{
    const struct finding *finding = &rank->error_file;

    if (finding->kind == EVIDENCE_NONE)
        return NULL;
    *ret_ns = finding->at_ns;
    if (*ret_ns < rank->started_ns)
        *ret_ns = rank->started_ns;
    if (rank->ended_ns != OUTCOME_NEVER && *ret_ns > rank->ended_ns)
        *ret_ns = rank->ended_ns;
    return finding;
}

/* The rank's best words; *ret_ns is their time. NULL if there are none that count. */
static const struct finding *words_of(const struct outcome_rank *rank, bool by_itself,
                                      int64_t *ret_ns)
{
    int64_t said_ns = 0, wrote_ns = 0;
    const struct finding *line = said(rank, by_itself, &said_ns);
    const struct finding *file = wrote(rank, &wrote_ns);

    if (!by_itself && rank->signalled_ns != OUTCOME_NEVER) {
        if (line && said_ns > rank->signalled_ns)
            line = NULL;
        if (file && wrote_ns > rank->signalled_ns)
            file = NULL;
    }
    if (file && !(file->echo && line && !line->echo)) {
        *ret_ns = wrote_ns;
        return file;
    }
    *ret_ns = said_ns;
    return line;
}

/* Words of a lost peer do not explain a kill or a crash; an abort is how C++ ends after them. */
static bool explains_end(const struct outcome_rank *rank, const struct finding *words)
{
    return !words->echo || rank->state != RANK_ENDED || !WIFSIGNALED(rank->wait_status) ||
           WTERMSIG(rank->wait_status) == SIGABRT;
}

bool outcome_candidate(const struct outcome_rank *rank, struct outcome_candidate *ret)
{
    bool by_itself = failed_by_itself(rank);
    const struct finding *words = NULL;
    int64_t at_ns = 0;

    *ret = (struct outcome_candidate){.kind = EVIDENCE_NONE, .at_ns = rank->ended_ns};
    if (rank->state == RANK_START_FAILED)
        return true;
    if (rank->state == RANK_ALIVE || outcome_rank_failed(rank))
        words = words_of(rank, by_itself, &at_ns);
    if (words && explains_end(rank, words)) {
        *ret = (struct outcome_candidate){words, words->kind, words->echo, !by_itself, at_ns};
        return true;
    }
    if (by_itself)
        ret->kind = WIFSIGNALED(rank->wait_status) ? EVIDENCE_SIGNAL : EVIDENCE_EXIT_CODE;
    return by_itself;
}

bool outcome_was_handled(const struct outcome_candidate *candidate, int64_t end_ns)
{
    /* What @record has written was not caught by anybody. */
    return candidate->lives && candidate->kind != EVIDENCE_ERROR_FILE && end_ns != OUTCOME_NEVER &&
           end_ns - candidate->at_ns > OUTCOME_HANDLED_NS;
}

bool outcome_account(const struct outcome_rank *rank, struct outcome_candidate *ret)
{
    const struct finding *words = evidence_finding(rank->evidence, false);

    if (outcome_candidate(rank, ret))
        return true;
    if (!outcome_rank_failed(rank) || !WIFEXITED(rank->wait_status) || !words || !words->echo ||
        evidence_is_stale(rank->evidence))
        return false;
    *ret = (struct outcome_candidate){words, words->kind, true, true, words->at_ns};
    return true;
}

bool outcome_rank_echoes(const struct outcome_rank *rank)
{
    struct outcome_candidate candidate;

    return outcome_candidate(rank, &candidate) && candidate.echo;
}

bool outcome_rank_has_cause(const struct outcome_rank *rank)
{
    struct outcome_candidate candidate;

    return outcome_candidate(rank, &candidate) && !candidate.echo;
}

/* Signals by which the kernel answers what a program does. */
static bool is_own_fault(int signal)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE,  SIGABRT,
                                 SIGTRAP, SIGSYS, SIGPIPE, SIGXCPU, SIGXFSZ};

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (faults[i] == signal)
            return true;
    }
    return false;
}

bool outcome_rank_killed_from_outside(const struct outcome_rank *rank)
{
    return failed_by_itself(rank) && WIFSIGNALED(rank->wait_status) && !rank->oom &&
           !outcome_rank_killed_by_us(rank) &&
           (!is_own_fault(WTERMSIG(rank->wait_status)) ||
            rank->passed.signal == WTERMSIG(rank->wait_status));
}

static bool was_silence(const struct finding *words)
{
    return evidence_is_timeout(words->message);
}

enum rank_class outcome_class(const struct outcome *outcome, const struct verdict *verdict,
                              int local_rank)
{
    const struct outcome_rank *rank = &outcome->ranks[local_rank];
    struct outcome_candidate candidate;

    if (!outcome_rank_failed(rank) && local_rank != verdict->root)
        return CLASS_NONE;
    if (verdict->word == VERDICT_STOPPED && rank->signalled_ns != OUTCOME_NEVER)
        return CLASS_STOPPED_BY_US;
    if (!outcome_account(rank, &candidate))
        return CLASS_STOPPED_BY_US;
    if (local_rank != verdict->root && !candidate.echo &&
        outcome_was_handled(&candidate, verdict->cause_ns))
        return CLASS_STOPPED_BY_US;
    if (candidate.echo)
        return was_silence(candidate.words) ? CLASS_VICTIM : CLASS_CONSEQUENCE;
    if (candidate.kind == EVIDENCE_SIGNAL && outcome_rank_killed_from_outside(rank))
        return CLASS_FROM_OUTSIDE;
    return CLASS_CAUSE;
}

const char *outcome_class_word(enum rank_class class)
{
    static const char *const words[] = {
        [CLASS_NONE] = "none",
        [CLASS_CAUSE] = "cause",
        [CLASS_CONSEQUENCE] = "consequence",
        [CLASS_VICTIM] = "victim",
        [CLASS_STOPPED_BY_US] = "stopped_by_us",
        [CLASS_FROM_OUTSIDE] = "killed_from_outside",
    };

    return words[class];
}

const char *outcome_stage_word(enum spawn_stage stage)
{
    static const char *const words[] = {
        [STAGE_NONE] = "none",
        [STAGE_FORK] = "fork",
        [STAGE_GROUP] = "group",
        [STAGE_TERMINAL] = "terminal",
        [STAGE_SIGNALS] = "signals",
        [STAGE_STDIO] = "stdio",
        [STAGE_WORKDIR] = "workdir",
        [STAGE_LIMIT] = "limit",
        [STAGE_CPUS] = "cpus",
        [STAGE_MEMORY] = "memory",
        [STAGE_OOM_SCORE] = "oom_score",
        [STAGE_NICE] = "nice",
        [STAGE_USER] = "user",
        [STAGE_CAPABILITIES] = "capabilities",
        [STAGE_NO_NEW_PRIVS] = "no_new_privs",
        [STAGE_SECCOMP] = "seccomp",
        [STAGE_EXEC] = "exec",
    };

    return words[stage];
}

const char *outcome_verdict_word(enum verdict_word word)
{
    static const char *const words[] = {
        [VERDICT_RUNNING] = "running",
        [VERDICT_SUCCEEDED] = "succeeded",
        [VERDICT_FAILED] = "failed",
        [VERDICT_STOPPED] = "stopped",
    };

    return words[word];
}
