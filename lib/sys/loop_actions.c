#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "sys/caps.h"
#include "sys/file.h"
#include "sys/inherit.h"
#include "sys/loop_parts.h"
#include "sys/reap.h"
#include "sys/spawn.h"
#include "sys/terminal.h"

static bool alive(const struct loop *loop, int local_rank)
{
    return loop->outcome.ranks[local_rank].state == RANK_ALIVE;
}

void loop_signal_leaders(struct loop *loop, int signal, bool groups)
{
    for (int i = 0; i < loop->outcome.count; i++) {
        pid_t pid = loop->outcome.ranks[i].pid;

        if (!alive(loop, i))
            continue;
        if (groups)
            kill(-pid, signal);
        /* A leader that has moved to another group must hear it all the same. */
        if (!groups || getpgid(pid) != pid)
            kill(pid, signal);
    }
}

void loop_continue_stopped(struct loop *loop)
{
    for (int i = 0; i < loop->outcome.count; i++) {
        pid_t pid = loop->outcome.ranks[i].pid;

        if (!alive(loop, i) || !(reap_stopped(pid) || loop->ranks[i].stopped))
            continue;
        loop->ranks[i].stopped = false;
        if (loop->terminal)
            terminal_give(pid);
        kill(-pid, SIGCONT); /* a terminal stops whole groups */
        kill(pid, SIGCONT);
    }
}

void loop_note_groups_told(struct loop *loop)
{
    for (int i = 0; i < loop->outcome.count; i++) {
        if (alive(loop, i))
            loop->ranks[i].group_told = true;
    }
}

/*
 * The leaders are told to end: from here on what they do is answer, not cause. Those that are dead
 * already, and will be found so in this same wake-up, had nothing to answer.
 */
static void end_leaders(struct loop *loop, int signal, bool groups, int64_t now)
{
    for (int i = 0; i < loop->outcome.count; i++)
        loop->ranks[i].dead = alive(loop, i) && reap_is_dead(loop->outcome.ranks[i].pid);
    loop_signal_leaders(loop, signal, groups);
    for (int i = 0; i < loop->outcome.count; i++) {
        if (alive(loop, i) && !loop->ranks[i].dead)
            outcome_note_signalled(&loop->outcome, i, signal, now);
    }
}

/*
 * Python prints where it stands and dies; its core would be of no use and may be huge. Of a handler
 * that cores are piped to, a limit of one byte alone says no (core(5)).
 */
static void abort_leaders(struct loop *loop, int64_t now)
{
    static const struct rlimit none = {.rlim_cur = 1, .rlim_max = 1}, zero = {0};

    for (int i = 0; i < loop->outcome.count; i++) {
        pid_t pid = loop->outcome.ranks[i].pid;

        if (alive(loop, i) && prlimit(pid, RLIMIT_CORE, &none, NULL) < 0)
            prlimit(pid, RLIMIT_CORE, &zero, NULL);
    }
    end_leaders(loop, SIGABRT, false, now);
}

static void stop_leaders(struct loop *loop, int64_t now)
{
    int rewritten = loop->plan->stop.rewrite[SIGTERM];

    loop->stop_signal = rewritten ? rewritten : SIGTERM;
    end_leaders(loop, loop->stop_signal, loop->plan->stop.group, now);
    if (loop->plan->stop.group)
        loop_note_groups_told(loop);
}

/* Signals one orphaned group, process by process: its leader's pid may be somebody else's by now. */
struct group_visit {
    pid_t group;
    int signal;
};

static void signal_member(void *context, const struct descendant *process)
{
    const struct group_visit *visit = context;

    if (process->group == visit->group)
        kill(process->pid, visit->signal);
}

/*
 * Called while the dead leader is still a zombie (see reap.h): the group's number is surely its
 * own. Only a later SIGKILL has to look for the members one by one.
 */
static void tell_group(struct loop *loop, int local_rank, int signal)
{
    /* A second TERM means "at once" to many programs: what was told has the time it was given. */
    if (!loop->ranks[local_rank].group_told)
        kill(-loop->outcome.ranks[local_rank].pid, signal);
    loop->ranks[local_rank].group_told = true;
}

/*
 * Without /proc only groups are known. The dead leader's number may be a stranger's by now, unless
 * a child of ours is still in its group.
 */
static void signal_group_blindly(const struct loop *loop, int local_rank, int signal)
{
    pid_t group = loop->outcome.ranks[local_rank].pid;

    if (group > 0 && descendants_in_group(group))
        kill(-group, signal);
}

static void kill_group(struct loop *loop, int local_rank)
{
    struct group_visit visit = {.group = loop->outcome.ranks[local_rank].pid, .signal = SIGKILL};

    if (descendants_walk(&loop->descendants, signal_member, &visit) < 0)
        signal_group_blindly(loop, local_rank, SIGKILL);
}

/* Index of the rank in whose group this process is; -1 if none. */
static int rank_of(const struct loop *loop, const struct descendant *process)
{
    for (int i = 0; i < loop->outcome.count; i++) {
        if (loop->outcome.ranks[i].pid > 0 && process->group == loop->outcome.ranks[i].pid)
            return i;
    }
    return -1;
}

static void kill_told(void *context, const struct descendant *process)
{
    const struct loop *loop = context;
    int rank = rank_of(loop, process);

    if (rank >= 0 && loop->ranks[rank].group_told)
        kill(process->pid, SIGKILL);
}

static void kill_leaders(struct loop *loop, int64_t now)
{
    loop->outcome.killed_ns = now;
    end_leaders(loop, SIGKILL, false, now);
    if (descendants_walk(&loop->descendants, kill_told, loop) >= 0)
        return;
    for (int i = 0; i < loop->outcome.count; i++) {
        if (loop->ranks[i].group_told)
            signal_group_blindly(loop, i, SIGKILL);
    }
}

struct rest_visit {
    const struct loop *loop;
    int signal;
};

static void signal_rest(void *context, const struct descendant *process)
{
    const struct rest_visit *visit = context;
    int rank = rank_of(visit->loop, process);

    /* Those that were told have time left; see tell_group. */
    if (visit->signal == SIGTERM && rank >= 0 &&
        (visit->loop->ranks[rank].group_told || process->pid == process->group))
        return;
    kill(process->pid, visit->signal);
    if (process->state == 'T')
        kill(process->pid, SIGCONT);
}

static void signal_rest_all(struct loop *loop, int signal)
{
    struct rest_visit visit = {.loop = loop, .signal = signal};

    if (descendants_walk(&loop->descendants, signal_rest, &visit) >= 0)
        return;
    for (int i = 0; i < loop->outcome.count; i++) {
        if (signal == SIGKILL || !loop->ranks[i].group_told)
            signal_group_blindly(loop, i, signal);
        loop->ranks[i].group_told = true;
    }
    descendants_children(&loop->descendants, signal_rest, &visit);
}

void loop_kill_rest(struct loop *loop)
{
    signal_rest_all(loop, SIGKILL);
}

static void spawn_one(struct loop *loop, int local_rank, int64_t now)
{
    const struct prepared_rank *program = &loop->prepared.ranks[local_rank];
    struct spawn_request request = {.program = program,
                                    .confine = &loop->prepared.confine,
                                    .nofile = &loop->nofile,
                                    .workdir = loop->plan->workdir,
                                    .stdio = {-1, -1, -1},
                                    .terminal = loop->terminal,
                                    .no_terminal = loop->outcome.count > 1,
                                    .signals = loop->plan->inherit_signals ? loop->inherited_signals
                                                                           : NULL,
                                    .die_with_parent = !loop->plan->is_init};
    struct loop_rank *rank = &loop->ranks[local_rank];
    struct err err = ERR_INIT;
    pid_t pid = -1;
    int ends[2] = {-1, -1};

    if (local_rank != loop->plan->output.stdin_local_rank)
        request.stdio[0] = loop->prepared.null_fd;
    if (relay_open_rank(&loop->relay, local_rank, ends, &err) == 0) {
        request.stdio[1] = ends[0];
        request.stdio[2] = ends[1];
        if (spawn_rank(&request, &pid, &rank->status.fd, &err) < 0)
            pid = -1;
    }
    cleanup_fd(&ends[0]);
    cleanup_fd(&ends[1]);
    if (pid < 0) {
        log_error("rank %d: %s", loop->plan->job.first_rank + local_rank, err.message);
        outcome_note_start_failed(&loop->outcome, local_rank, STAGE_FORK, err.errnum, now);
        loop_step(loop, FSM_START_FAILED, local_rank, now);
        return;
    }
    outcome_note_started(&loop->outcome, local_rank, pid, now);
    source_watch(loop->epoll_fd, &rank->status, EPOLLIN);
}

/* What came while no rank was there is theirs all the same; a stop has ended all before this. */
static void pass_early(struct loop *loop)
{
    for (int signal = 1; loop->early; signal++, loop->early >>= 1) {
        if (loop->early & 1)
            loop_signal_leaders(loop, signal, false);
    }
}

/*
 * Nothing more is to be started: what is left to do is to signal, to read what is open, and to put
 * the verdict into a directory that may be another user's.
 */
static void give_up_capabilities(const struct loop *loop)
{
    const struct prepared *prepared = &loop->prepared;
    uint64_t keep = loop->plan->security.own_caps;
    int summary = loop->publish.deliver.summary_dir;
    char room[PATH_MAX + 4];
    struct buf parent = BUF_OVER(room);

    buf_addf(&parent, "%s/..", prepared->run_dir);
    if ((summary >= 0 && file_dir_is_foreign(summary, ".")) ||
        (prepared->run_dir[0] && !prepared->keep_run_dir && file_dir_is_foreign(AT_FDCWD, room)))
        keep |= SECURITY_CAP(CAP_DAC_OVERRIDE);
    caps_reduce(keep);
}

/*
 * All ranks, one after another, without waiting for any. When one cannot be started the others are
 * not started either: a drain has begun, and after that nothing is spawned.
 */
static void spawn_all(struct loop *loop)
{
    loop->terminal = loop->plan->output.terminal && terminal_ours();
    for (int i = 0; i < loop->outcome.count; i++) {
        if (loop->fsm.state == FSM_RUNNING) {
            spawn_one(loop, i, loop_now(loop));
        } else {
            loop_step(loop, FSM_START_FAILED, i, loop_now(loop));
        }
    }
    limits_begin(&loop->limits, loop_now(loop));
    pass_early(loop);
    /* What the next attempt needs too is kept, as long as there may be one. */
    if (loop->plan->restart.max > 0)
        return;
    inherit_close();
    give_up_capabilities(loop);
    /* Our own working directory must not pin a mount. */
    if (chdir("/") < 0)
        log_debug("cannot change to /: %s", strerror(errno));
}

void loop_act(struct loop *loop, const struct fsm_action *action, int64_t now_ns)
{
    switch (action->kind) {
    case FSM_SPAWN_ALL: spawn_all(loop); break;
    case FSM_RENEW: loop_renew(loop, now_ns); break;
    case FSM_STOP_LEADERS: stop_leaders(loop, now_ns); break;
    case FSM_ABORT_LEADERS: abort_leaders(loop, now_ns); break;
    case FSM_TERM_LEADERS:
        loop->stop_signal = SIGTERM;
        end_leaders(loop, SIGTERM, loop->plan->stop.group, now_ns);
        if (loop->plan->stop.group)
            loop_note_groups_told(loop);
        break;
    case FSM_KILL_LEADERS: kill_leaders(loop, now_ns); break;
    case FSM_STOP_GROUP: tell_group(loop, action->rank, loop->stop_signal); break;
    case FSM_TERM_GROUP: tell_group(loop, action->rank, SIGTERM); break;
    case FSM_KILL_GROUP: kill_group(loop, action->rank); break;
    case FSM_TERM_REST: signal_rest_all(loop, SIGTERM); break;
    case FSM_KILL_REST:
        /* Named before the last wait, which a kill from outside may cut short. */
        loop_note_left(loop);
        end_leaders(loop, SIGKILL, false, now_ns);
        loop_kill_rest(loop);
        break;
    case FSM_PUBLISH:
        loop_read_error_files(loop);
        publish_now(&loop->publish);
        break;
    }
}
