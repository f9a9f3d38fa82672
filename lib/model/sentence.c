#include "model/sentence.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "base/signame.h"
#include "model/rankenv.h"
#include "model/stuck.h"

#define ERROR_MAX 200 /* bytes of an error's message in the sentence */

void sentence_seconds(int64_t ns, struct buf *out)
{
    int64_t tenths = (ns > 0 ? ns + 50000000 : 0) / 100000000;

    buf_addf(out, "%" PRId64 ".%" PRId64 " s", tenths / 10, tenths % 10);
}

void sentence_rank(const struct plan *plan, int local_rank, struct buf *out)
{
    if (plan->mode == PLAN_INIT)
        buf_adds(out, "the program");
    else
        buf_addf(out, "rank %d (local rank %d on node %d)", plan->job.first_rank + local_rank,
                 local_rank, plan->job.node_rank);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Torch begins many messages with "[/src/torch/csrc/x.cpp:12] ": its own place, not the user's. */
static const char *without_place(const char *message)
{
    const char *end = message[0] == '[' ? strstr(message, "] ") : NULL;
    const char *name = end ? memmem(message, (size_t)(end - message), ".c", 2) : NULL;

    return name && memchr(name, ':', (size_t)(end - name)) ? end + 2 : message;
}

void sentence_error(const struct finding *finding, size_t limit, struct buf *out)
{
    const char *message = without_place(finding->message);
    size_t whole = strcspn(message, "\n");
    size_t len = 0, size = 0;

    buf_add_plain(out, finding->type, strlen(finding->type));
    if (finding->type[0] && whole > 0)
        buf_adds(out, ": ");
    while (len < whole && len + size <= limit) {
        len += size;
        size = buf_utf8_size(message + len, whole - len);
        size = size > 0 ? size : 1;
    }
    buf_add_plain(out, message, len < whole ? len : whole);
    if (len < whole)
        buf_adds(out, "...");
    if (finding->line > 0) {
        const char *name = last_part(finding->file);

        buf_adds(out, " (");
        buf_add_plain(out, name, strlen(name));
        buf_addf(out, ":%d)", finding->line);
    }
}

static void add_start_failure(const struct outcome *outcome, const struct plan *plan,
                              int local_rank, struct buf *out)
{
    const struct outcome_rank *rank = &outcome->ranks[local_rank];
    const struct strvec *argv = rankenv_program(plan, local_rank);
    const char *program = argv->count > 0 ? argv->items[0] : "";
    const char *reason = strerrordesc_np(rank->stage_errno);

    buf_adds(out, "could not be started: ");
    if (rank->stage == STAGE_EXEC)
        buf_add_plain(out, program, strlen(program));
    else
        buf_adds(out, outcome_stage_word(rank->stage));
    if (rank->stage == STAGE_WORKDIR && plan->workdir) {
        buf_addc(out, ' ');
        buf_add_plain(out, plan->workdir, strlen(plan->workdir));
    }
    buf_addf(out, ": %s", reason ? reason : "unknown error");
}

static void add_size(int64_t bytes, struct buf *out)
{
    buf_addf(out, "%" PRId64 " MiB", (bytes + (1 << 20) - 1) >> 20);
}

/* A signal that rankinit was sent and only passed on: whose it was. */
static void add_passed(const struct outcome_passed *passed, const struct plan *plan,
                       struct buf *out)
{
    buf_adds(out, ", which rankinit was sent ");
    if (passed->sender_rank >= 0)
        buf_addf(out, "by rank %d", plan->job.first_rank + passed->sender_rank);
    else if (passed->pid > 0)
        buf_addf(out, "by pid %d (uid %u)", (int)passed->pid, passed->uid);
    else
        buf_adds(out, "from outside");
    buf_adds(out, " and passed on");
}

/* A SIGKILL that was not ours is the kernel's when its counter moved; else somebody's. */
static void add_kill_origin(const struct outcome *outcome, const struct plan *plan,
                            const struct outcome_rank *rank, struct buf *out)
{
    if (rank->oom) {
        buf_adds(out, " (out of memory");
        if (plan->memory_limit_bytes > 0) {
            buf_adds(out, ", limit ");
            add_size(plan->memory_limit_bytes, out);
        }
        if (outcome->memory_peak_bytes > 0) {
            buf_adds(out, ", peak ");
            add_size(outcome->memory_peak_bytes, out);
        }
        buf_addc(out, ')');
    } else if (rank->passed.signal == WTERMSIG(rank->wait_status)) {
        add_passed(&rank->passed, plan, out);
    } else if (outcome_rank_killed_from_outside(rank)) {
        buf_adds(out, " from outside");
        if (WTERMSIG(rank->wait_status) == SIGKILL)
            buf_adds(out, outcome->oom_known ? " (no OOM kill was counted)"
                                             : " (by whom is unknown: perhaps out of memory)");
    }
}

void sentence_end(const struct outcome *outcome, const struct plan *plan, int local_rank,
                  struct buf *out)
{
    const struct outcome_rank *rank = &outcome->ranks[local_rank];
    char name[SIGNAME_MAX];

    if (rank->state == RANK_START_FAILED) {
        add_start_failure(outcome, plan, local_rank, out);
    } else if (rank->state != RANK_ENDED) {
        buf_adds(out, "not ended yet");
    } else if (outcome_rank_killed_by_us(rank)) {
        buf_addf(out, "stopped by rankinit (%s)", signame_text(WTERMSIG(rank->wait_status), name));
    } else if (WIFSIGNALED(rank->wait_status)) {
        buf_addf(out, "killed by %s", signame_text(WTERMSIG(rank->wait_status), name));
        add_kill_origin(outcome, plan, rank, out);
        if (rank->core_dumped)
            buf_adds(out, ", core dumped");
    } else {
        buf_addf(out, "exit code %d", WEXITSTATUS(rank->wait_status));
    }
}

void sentence_stop(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    const struct outcome_stop *stop = &outcome->stop;
    char name[SIGNAME_MAX];

    buf_addf(out, "%s from ", signame_text(stop->signal, name));
    if (stop->sender_rank >= 0)
        buf_addf(out, "rank %d", plan->job.first_rank + stop->sender_rank);
    else if (stop->sender_pid > 0)
        buf_addf(out, "pid %d (uid %u)", (int)stop->sender_pid, (unsigned int)stop->sender_uid);
    else
        buf_adds(out, stop->terminal ? "the terminal" : "outside");
}

/* Where in the kernel it sits, if that could be read. */
static void add_place(const struct outcome_unreaped *process, char state, struct buf *out)
{
    size_t len = strnlen(process->wchan, sizeof(process->wchan));

    buf_addf(out, "state %c", state);
    if (len == 0 || process->wchan[0] == '?')
        return;
    buf_adds(out, " in ");
    buf_add_plain(out, process->wchan, len);
}

void sentence_unreaped(const struct outcome_unreaped *process, const struct plan *plan,
                       struct buf *out)
{
    buf_addf(out, "pid %d (", (int)process->pid);
    buf_add_plain(out, process->name, strnlen(process->name, sizeof(process->name)));
    buf_addc(out, ')');
    if (process->rank >= 0 && plan->mode == PLAN_FANOUT)
        buf_addf(out, " of rank %d", plan->job.first_rank + process->rank);
    buf_adds(out, " is left: ");
    if (process->live_threads > 0) {
        buf_addf(out, "a zombie of which %d %s on, ", process->live_threads,
                 process->live_threads == 1 ? "thread lives" : "threads live");
        add_place(process, process->thread_state, out);
        buf_adds(out, ": the kernel or a driver holds it, not its parent");
    } else if (process->state == 'Z' && process->parent > 0) {
        buf_addf(out, "a zombie whose parent, pid %d, lives and does not wait for it",
                 (int)process->parent);
    } else {
        add_place(process, process->state, out);
        if (process->state == 'D')
            buf_adds(out, ": SIGKILL has no effect while the kernel or a driver holds it");
    }
}

static int count_alive(const struct outcome *outcome)
{
    int alive = 0;

    for (int i = 0; i < outcome->count; i++)
        alive += outcome->ranks[i].state == RANK_ALIVE;
    return alive;
}

static int64_t last_end(const struct outcome *outcome)
{
    int64_t last = 0;

    for (int i = 0; i < outcome->count; i++) {
        if (outcome->ranks[i].ended_ns > last)
            last = outcome->ranks[i].ended_ns;
    }
    return last;
}

static void add_count(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    if (plan->mode == PLAN_INIT)
        buf_adds(out, "the program");
    else if (outcome->count == 1)
        buf_adds(out, "the rank");
    else
        buf_addf(out, "all %d ranks", outcome->count);
}

static void add_success(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    add_count(outcome, plan, out);
    buf_adds(out, " ended with exit code 0 after ");
    sentence_seconds(last_end(outcome), out);
}

/* --oom fail, and no rank has told of it. */
static void add_silent_oom(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    add_success(outcome, plan, out);
    buf_addf(out, ", but the kernel killed %" PRIu64 " %s for lack of memory", outcome->oom_kills,
             outcome->oom_kills == 1 ? "process" : "processes");
}

static void add_stopped(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    int alive = count_alive(outcome);

    buf_adds(out, alive ? "being stopped by " : "stopped by ");
    sentence_stop(outcome, plan, out);
    buf_adds(out, " after ");
    sentence_seconds(outcome->stop.at_ns, out);
    if (plan->mode == PLAN_INIT && !alive) {
        buf_adds(out, "; the program: ");
        sentence_end(outcome, plan, 0, out);
    } else if (alive) {
        buf_addf(out, "; %d of %d ranks still run", alive, outcome->count);
    } else if (last_end(outcome) > 0) {
        buf_adds(out, "; ");
        add_count(outcome, plan, out);
        buf_adds(out, " had ended ");
        sentence_seconds(last_end(outcome) - outcome->stop.at_ns, out);
        buf_adds(out, " later");
    } else {
        buf_adds(out, "; no rank was running");
    }
    if (outcome->killed_ns != OUTCOME_NEVER)
        buf_adds(out, "; SIGKILL was needed");
}

/* How the ranks took it. */
static void add_timed_out(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    int alive = count_alive(outcome);

    buf_adds(out, "time limit: stopped after ");
    sentence_seconds(outcome->limit.at_ns, out);
    buf_adds(out, " (--timeout)");
    if (alive > 0) {
        buf_addf(out, "; %d of %d ranks still run", alive, outcome->count);
    } else if (last_end(outcome) > 0) {
        buf_adds(out, "; ");
        add_count(outcome, plan, out);
        buf_adds(out, " had ended ");
        sentence_seconds(last_end(outcome) - outcome->limit.at_ns, out);
        buf_adds(out, " later");
    }
    if (outcome->killed_ns != OUTCOME_NEVER)
        buf_adds(out, "; SIGKILL was needed");
}

static void add_hung(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    bool idle = outcome->limit.kind == LIMIT_IDLE;

    buf_adds(out, idle ? "hung: no rank has written anything for "
                       : "hung: no rank has written anything or was ready ");
    sentence_seconds(outcome->limit.length_ns, out);
    buf_adds(out, idle ? " (--idle-timeout)" : " after the start (--start-timeout)");
    buf_adds(out, ": ");
    stuck_sentence(outcome, plan, out);
}

static void add_limit(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    if (limits_is_hang(outcome->limit.kind))
        add_hung(outcome, plan, out);
    else
        add_timed_out(outcome, plan, out);
}

static void add_running(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    if (outcome->waiting[0])
        buf_adds(out, outcome->waiting);
    else if (plan->mode == PLAN_INIT)
        buf_adds(out, "the program runs");
    else
        buf_addf(out, "%d of %d ranks run", count_alive(outcome), outcome->count);
    if (outcome->stop.requested) {
        buf_adds(out, "; asked to stop by ");
        sentence_stop(outcome, plan, out);
        buf_adds(out, " after ");
        sentence_seconds(outcome->stop.at_ns, out);
    }
}

/* Nobody here failed by itself: who had left before, or that the answer lies elsewhere. */
static void add_lost_peer(const struct outcome *outcome, const struct plan *plan,
                          const struct verdict *verdict, struct buf *out)
{
    for (int i = 0; i < outcome->count; i++) {
        const struct outcome_rank *rank = &outcome->ranks[i];

        if (rank->state == RANK_ENDED && !outcome_rank_failed(rank) &&
            rank->ended_ns <= verdict->cause_ns) {
            buf_addf(out, "; rank %d had left before it with exit code 0",
                     plan->job.first_rank + i);
            return;
        }
    }
    if (plan->job.nnodes > 1)
        buf_adds(out, "; no rank of this node failed by itself: see the other nodes");
}

static void add_failed(const struct outcome *outcome, const struct plan *plan,
                       const struct verdict *verdict, struct buf *out)
{
    const struct outcome_rank *rank = &outcome->ranks[verdict->root];
    bool words = verdict->cause.kind > EVIDENCE_SIGNAL;
    bool echo = verdict->cause.echo;

    sentence_rank(plan, verdict->root, out);
    if (rank->state == RANK_START_FAILED) {
        buf_addc(out, ' ');
        add_start_failure(outcome, plan, verdict->root, out);
        return;
    }
    if (plan->mode == PLAN_INIT)
        buf_adds(out, " failed: ");
    else
        buf_adds(out, echo ? " lost its peer first: " : " failed first: ");
    if (words) {
        sentence_error(&verdict->cause, ERROR_MAX, out);
        buf_adds(out, ", ");
    }
    sentence_end(outcome, plan, verdict->root, out);
    buf_adds(out, " after ");
    sentence_seconds(verdict->cause_ns, out);
    if (echo)
        add_lost_peer(outcome, plan, verdict, out);
}

void sentence_verdict(const struct outcome *outcome, const struct plan *plan,
                      const struct verdict *verdict, struct buf *out)
{
    const char *own = outcome->own.message;

    if (outcome->own.kind != ERR_NONE)
        buf_add_plain(out, own, strlen(own));
    else if (verdict->root >= 0 && verdict->word != VERDICT_STOPPED)
        add_failed(outcome, plan, verdict, out);
    else if (outcome->limit.kind != LIMIT_NONE && verdict->word == VERDICT_FAILED)
        add_limit(outcome, plan, out);
    else if (verdict->word == VERDICT_SUCCEEDED)
        add_success(outcome, plan, out);
    else if (verdict->word == VERDICT_STOPPED)
        add_stopped(outcome, plan, out);
    else if (verdict->word == VERDICT_RUNNING)
        add_running(outcome, plan, out);
    else if (outcome->oom_kills > 0)
        add_silent_oom(outcome, plan, out);
    else
        buf_adds(out, "nothing runs any more, and no rank has failed by itself");
    if (outcome->restarts > 0)
        buf_addf(out, "; after %d %s", outcome->restarts,
                 outcome->restarts == 1 ? "restart" : "restarts");
}
