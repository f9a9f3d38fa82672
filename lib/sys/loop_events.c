#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/signame.h"
#include "sys/facts.h"
#include "sys/loop_parts.h"
#include "sys/reap.h"
#include "sys/spawn.h"
#include "sys/terminal.h"

#define SIGNALS_AT_ONCE 128 /* more than there are ordinary ones */
#define STOP_AGAIN_NS   1000000000LL

static int rank_of_pid(const struct loop *loop, pid_t pid)
{
    for (int i = 0; i < loop->outcome.count; i++) {
        if (loop->outcome.ranks[i].pid == pid && loop->outcome.ranks[i].state != RANK_ENDED)
            return i;
    }
    return -1;
}

static void note_stop(struct loop *loop, const struct signalfd_siginfo *info, int64_t now)
{
    int signal = (int)info->ssi_signo;
    struct outcome_stop stop = {.requested = true,
                                .signal = signal,
                                .at_ns = now,
                                .sender_pid = (pid_t)info->ssi_pid,
                                .sender_uid = info->ssi_uid,
                                .sender_rank = rank_of_pid(loop, (pid_t)info->ssi_pid),
                                .terminal = info->ssi_code > 0};
    const struct outcome_stop *first = &loop->outcome.stop;

    if (!first->requested) {
        outcome_note_stop(&loop->outcome, &stop);
        for (int i = 0; i < loop->outcome.count; i++) {
            if (loop->outcome.ranks[i].state == RANK_ALIVE)
                outcome_note_signalled(&loop->outcome, i, loop->plan->stop.rewrite[signal], now);
        }
        if (loop->fsm.state == FSM_RUNNING)
            loop->stop_signal = loop->plan->stop.rewrite[signal];
        loop_step(loop, FSM_STOP, -1, now);
    } else if ((signal == SIGTERM || signal == SIGINT) && now - first->at_ns > STOP_AGAIN_NS) {
        loop->outcome.stop.again = true;
        loop_step(loop, FSM_STOP_AGAIN, -1, now);
    }
}

/*
 * True for what the kernel sends us for something that we did ourselves: a write to a reader that
 * is gone (epoll has told of it already) or beyond a file's limit, our CPU time, or a memory
 * failure in a page of ours. None of it is meant for the ranks.
 */
static bool is_our_own(const struct loop *loop, const struct signalfd_siginfo *info)
{
    bool from_kernel = info->ssi_code > 0;

    switch ((int)info->ssi_signo) {
    case SIGPIPE:
    case SIGXFSZ: return from_kernel || (pid_t)info->ssi_pid == loop->plan->pid;
    case SIGBUS:
    case SIGSEGV:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
    case SIGXCPU: return from_kernel;
    default: return false;
    }
}

/* Who has sent it, for whoever wonders later why the job did what it did. */
static void log_signal(const struct loop *loop, const struct signalfd_siginfo *info, int send)
{
    int rank = info->ssi_pid > 0 ? rank_of_pid(loop, (pid_t)info->ssi_pid) : -1;
    char name[SIGNAME_MAX], sent[SIGNAME_MAX], from[64];

    if (rank >= 0)
        snprintf(from, sizeof(from), "rank %d", loop->plan->job.first_rank + rank);
    else if (info->ssi_code > 0)
        snprintf(from, sizeof(from), "the kernel");
    else if (info->ssi_pid > 0)
        snprintf(from, sizeof(from), "pid %u, uid %u", info->ssi_pid, info->ssi_uid);
    else
        snprintf(from, sizeof(from), "outside");
    log_info("%s from %s: %s%s", signame_text((int)info->ssi_signo, name), from,
             send ? "passed on as " : "dropped", send ? signame_text(send, sent) : "");
}

static void handle_signal(struct loop *loop, const struct signalfd_siginfo *info, int64_t now)
{
    int signal = (int)info->ssi_signo;
    int send;

    if (signal == SIGCHLD || signal >= PLAN_SIGNALS || is_our_own(loop, info))
        return;
    send = loop->plan->stop.rewrite[signal];
    log_signal(loop, info, send);
    if (!send)
        return;
    outcome_note_passed(&loop->outcome, &(struct outcome_passed){.signal = send,
                                                                 .pid = (pid_t)info->ssi_pid,
                                                                 .uid = info->ssi_uid,
                                                                 .sender_rank = rank_of_pid(
                                                                     loop, (pid_t)info->ssi_pid)});
    loop_signal_leaders(loop, send, loop->plan->stop.group);
    if (send == SIGCONT)
        loop_continue_stopped(loop);
    if (loop->fsm.state == FSM_STARTING || loop->fsm.state == FSM_RESTARTING)
        loop->early |= 1ULL << (send - 1);
    if (loop->plan->stop.stops[signal] || loop->plan->stop.stops[send]) {
        if (loop->plan->stop.group)
            loop_note_groups_told(loop);
        note_stop(loop, info, now);
    }
    /*
     * Ctrl-Z: of several ranks none has the terminal, and we are the job that its shell waits for.
     * Where there is no such shell they go on at once.
     */
    if (send == SIGTSTP && info->ssi_code > 0 && loop->outcome.count > 1) {
        terminal_stop(getpid(), SIGTSTP);
        loop_signal_leaders(loop, SIGCONT, loop->plan->stop.group);
    }
}

/* Real-time signals queue: a flood of them must not keep us from deadlines and the dead. */
void loop_read_signals(struct loop *loop, int64_t now_ns)
{
    struct signalfd_siginfo info;

    for (int i = 0; i < SIGNALS_AT_ONCE; i++) {
        if (read(loop->signals.fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
            return;
        handle_signal(loop, &info, now_ns);
    }
}

static void note_refused(const struct loop *loop, int local_rank,
                         const struct spawn_failure *failure)
{
    static const char *const words[] = {
        [STAGE_LIMIT] = "setting a resource limit", [STAGE_CPUS] = "binding it to its CPUs",
        [STAGE_MEMORY] = "preferring near memory",  [STAGE_OOM_SCORE] = "setting its oom_score_adj",
        [STAGE_NICE] = "setting its nice value",
    };

    log_notice("rank %d: %s refused (%s): it runs without", loop->plan->job.first_rank + local_rank,
               words[failure->stage], strerror(failure->errnum));
}

/*
 * A failed start arrives as one record; end of file means that the program runs. Before either
 * there may be records of what could be done without.
 */
static void read_status(struct loop *loop, int local_rank, int64_t now)
{
    struct loop_rank *rank = &loop->ranks[local_rank];
    struct spawn_failure failure;
    ssize_t len;

    if (rank->status.fd < 0)
        return;
    while ((len = read(rank->status.fd, &failure, sizeof(failure))) == (ssize_t)sizeof(failure) &&
           !spawn_stage_is_fatal((enum spawn_stage)failure.stage))
        note_refused(loop, local_rank, &failure);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    source_watch(loop->epoll_fd, &rank->status, 0);
    cleanup_fd(&rank->status.fd);
    rank->status.fd = -1;
    if (len != (ssize_t)sizeof(failure))
        return;
    outcome_note_start_failed(&loop->outcome, local_rank, (enum spawn_stage)failure.stage,
                              failure.errnum, now);
    loop_step(loop, FSM_START_FAILED, local_rank, now);
}

void loop_status_ready(struct source *source, uint32_t events, int64_t now_ns)
{
    struct loop_rank *rank = (struct loop_rank *)source;

    (void)events;
    read_status(rank->loop, (int)(rank - rank->loop->ranks), now_ns);
}

static void read_error_file(struct loop *loop, int local_rank)
{
    struct outcome_rank *rank = &loop->outcome.ranks[local_rank];
    int fd = loop->prepared.ranks[local_rank].error_fd;
    struct stat info;
    int64_t modified;
    ssize_t len;

    /* Of a rank that is still to be started, the last attempt's may be there. */
    if (fd < 0 || rank->state == RANK_NOT_STARTED || rank->error_file.kind != EVIDENCE_NONE ||
        fstat(fd, &info) < 0 || info.st_size == 0)
        return;
    len = pread(fd, loop->error_text, ERROR_FILE_MAX, 0);
    if (len <= 0)
        return;
    modified = (int64_t)info.st_mtim.tv_sec * 1000000000LL + info.st_mtim.tv_nsec -
               loop->outcome.start_realtime_ns;
    json_begin(&loop->publish.arena);
    evidence_read_error_file(loop->error_text, (size_t)len, modified, &rank->error_file);
}

void loop_read_error_files(struct loop *loop)
{
    for (int i = 0; i < loop->outcome.count; i++)
        read_error_file(loop, i);
}

/* Once a wake-up; again for a rank that was killed, perhaps since. */
static void note_memory(struct loop *loop, int status, int64_t now)
{
    struct outcome *outcome = &loop->outcome;
    int64_t kills;

    if (outcome->oom_at_ns == now && !WIFSIGNALED(status))
        return;
    kills = loop->oom_kills < 0 ? -1 : facts_oom_kills() - loop->oom_kills;
    outcome_note_oom_kills(outcome, kills > 0 ? (uint64_t)kills : 0, now);
    outcome->memory_peak_bytes = facts_memory_peak();
    if (status != 0)
        outcome->shm_free_bytes = facts_shm_free();
}

/* The shell that started us must see its job stop when the one leader does. */
static void follow_stop(struct loop *loop)
{
    const struct outcome_rank *leader = &loop->outcome.ranks[0];
    int signal = loop->outcome.count == 1 && leader->state == RANK_ALIVE ? reap_stopped(leader->pid)
                                                                         : 0;

    if (signal)
        loop->ranks[0].stopped = !terminal_follow(leader->pid, signal);
}

static void leader_ended(struct loop *loop, int local_rank, int status, int64_t now)
{
    struct outcome_rank *rank = &loop->outcome.ranks[local_rank];
    enum fsm_event_kind kind = FSM_RANK_OK;

    if (loop->outcome.count == 1)
        terminal_take_back(rank->pid);
    /* We signalled in this wake-up, and it lived then: its last words and its end are an answer. */
    if (rank->signalled_ns == now)
        now = loop_now(loop);
    relay_rank_ended(&loop->relay, local_rank, now);
    read_status(loop, local_rank, now);
    if (rank->state == RANK_START_FAILED)
        return;
    read_error_file(loop, local_rank);
    note_memory(loop, status, now);
    outcome_note_ended(&loop->outcome, local_rank, status, now);
    if (outcome_rank_failed(rank))
        kind = outcome_rank_echoes(rank) ? FSM_RANK_ECHOED : FSM_RANK_FAILED;
    loop_step(loop, kind, local_rank, now);
}

static void add_usage(struct outcome *outcome, const struct rusage *usage)
{
    int64_t rss = (int64_t)usage->ru_maxrss * 1024;

    if (rss > outcome->max_rss_bytes)
        outcome->max_rss_bytes = rss;
    outcome->user_ns += usage->ru_utime.tv_sec * 1000000000LL + usage->ru_utime.tv_usec * 1000LL;
    outcome->system_ns += usage->ru_stime.tv_sec * 1000000000LL + usage->ru_stime.tv_usec * 1000LL;
}

static void count_orphan(struct loop *loop, pid_t pid, int status)
{
    loop->outcome.orphans_reaped++;
    if (loop->plan->warn_reaped)
        log_notice("reaped pid %d, wait status %d, not one of the ranks", (int)pid, status);
}

void loop_reap(struct loop *loop, int64_t now_ns)
{
    int status;
    pid_t pid;

    follow_stop(loop);
    while ((pid = reap_peek(&status)) > 0) {
        int local_rank = rank_of_pid(loop, pid);
        struct rusage usage;

        if (local_rank >= 0)
            leader_ended(loop, local_rank, status, now_ns);
        if (!reap_take(pid, &usage))
            return;
        add_usage(&loop->outcome, &usage);
        if (local_rank < 0)
            count_orphan(loop, pid, status);
    }
}
