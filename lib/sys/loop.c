#include "sys/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sys/facts.h"
#include "sys/loop_parts.h"
#include "sys/sigset.h"

#define EVENTS_AT_ONCE 64

/*
 * How long the end waits for readers of our output. Without us the ranks would have waited for them
 * for ever; but who asks us to stop will not wait long.
 */
#define SECOND 1000000000LL
static const struct relay_wait patient = {.patience_ns = 10 * SECOND, .deadline_ns = 30 * SECOND};
static const struct relay_wait hurried = {.patience_ns = SECOND, .deadline_ns = SECOND};

int64_t loop_now(const struct loop *loop)
{
    return source_clock() - loop->relay.epoch_ns;
}

void loop_step(struct loop *loop, enum fsm_event_kind kind, int rank, int64_t now_ns)
{
    struct fsm_event event = {.kind = kind, .rank = rank, .now_ns = now_ns};
    enum fsm_state before = loop->fsm.state;
    struct fsm_actions actions;

    fsm_step(&loop->fsm, &event, &actions);
    if (loop->fsm.state == FSM_DRAINING && before != FSM_DRAINING)
        loop->outcome.drained_ns = now_ns;
    if (loop->fsm.state != before)
        log_debug("%s -> %s", fsm_state_name(before), fsm_state_name(loop->fsm.state));
    for (int i = 0; i < actions.count; i++)
        loop_act(loop, &actions.list[i], now_ns);
    if (loop->fsm.state == FSM_DRAINING && before != FSM_DRAINING)
        loop_continue_stopped(loop);
}

static void signals_ready(struct source *source, uint32_t events, int64_t now_ns)
{
    struct loop *loop = (struct loop *)source;

    (void)events;
    loop_read_signals(loop, now_ns);
}

/* Milliseconds until the earliest deadline, rounded up; -1 if there is none. */
static int wait_ms(const struct loop *loop)
{
    int64_t deadline = fsm_deadline(&loop->fsm);
    int64_t relay = relay_deadline(&loop->relay);
    int64_t left;

    if (relay < deadline)
        deadline = relay;
    if (loop_wait_deadline(loop) < deadline)
        deadline = loop_wait_deadline(loop);
    if (loop_limits_deadline(loop) < deadline)
        deadline = loop_limits_deadline(loop);
    if (deadline == INT64_MAX)
        return -1;
    left = deadline - loop_now(loop);
    if (left <= 0)
        return 0;
    return left > 3600000000000LL ? 3600000 : (int)((left + 999999) / 1000000);
}

static void show_status(struct loop *loop)
{
    status_publish(&loop->status, &loop->outcome, &loop->relay, &loop->fsm);
}

static void end_if_empty(struct loop *loop, int64_t now)
{
    if (loop->fsm.state != FSM_SWEEPING && loop->fsm.state != FSM_REAPING)
        return;
    if (descendants_none(&loop->descendants))
        loop_step(loop, FSM_EMPTY, -1, now);
    else if (loop->fsm.state == FSM_REAPING)
        loop_kill_rest(loop); /* one that forks may have got away from the walk */
}

/*
 * One wake-up: signals and output first, then the dead. What arrives together is noted with one
 * time: the order in which the kernel hands it over is not the order in which it happened.
 */
static void wait_once(struct loop *loop)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(loop->epoll_fd, events, EVENTS_AT_ONCE, wait_ms(loop));
    int64_t now = loop_now(loop);

    for (int i = 0; i < count; i++) {
        struct source *source = events[i].data.ptr;

        source->ready(source, events[i].events, now);
    }
    loop->outcome.now_ns = now;
    loop_check_wait(loop, now);
    loop_reap(loop, now);
    relay_tick(&loop->relay, now);
    if (loop->relay.cause_seen) {
        loop->relay.cause_seen = false;
        loop_step(loop, FSM_CAUSE_SEEN, -1, now);
    }
    loop_check_limits(loop, now);
    while (fsm_deadline(&loop->fsm) <= now)
        loop_step(loop, FSM_DEADLINE, -1, now);
    end_if_empty(loop, now);
    show_status(loop);
}

static void note_left(void *context, const struct descendant *process)
{
    struct loop *loop = context;
    struct outcome *outcome = &loop->outcome;
    struct outcome_unreaped *entry;

    if (outcome->unreaped_count == OUTCOME_UNREAPED_MAX) {
        outcome->unreaped_more++;
        return;
    }
    entry = &outcome->unreaped[outcome->unreaped_count++];
    *entry = (struct outcome_unreaped){
        .pid = process->pid,
        .parent = process->parent == loop->descendants.self ? 0 : process->parent,
        .rank = -1,
        .state = process->state,
        .live_threads = process->state == 'Z' ? process->threads - 1 : 0};
    memcpy(entry->name, process->name, sizeof(entry->name));
    entry->thread_state = descendants_wchan(process->pid, entry->wchan, sizeof(entry->wchan));
    for (int i = 0; i < outcome->count; i++) {
        if (outcome->ranks[i].pid == process->group)
            entry->rank = i;
    }
}

void loop_note_left(struct loop *loop)
{
    loop->outcome.unreaped_count = loop->outcome.unreaped_more = 0;
    descendants_walk(&loop->descendants, note_left, loop);
}

/* To the end of one attempt: all its ranks, and all that they left, are gone or named. */
static void run_attempt(struct loop *loop)
{
    /* When not one rank could be started, nobody's end will ever wake us. */
    end_if_empty(loop, loop_now(loop));
    show_status(loop);
    while (loop->fsm.state != FSM_DONE)
        wait_once(loop);
    loop->outcome.now_ns = loop_now(loop);
    if (loop->fsm.stop_asked || loop->fsm.config.sweep)
        loop_note_left(loop);
    loop->outcome.done = true;
    loop_read_error_files(loop);
}

int loop_run(struct loop *loop)
{
    struct relay_wait wait;
    struct verdict verdict;

    loop_start(loop, loop_now(loop));
    do {
        run_attempt(loop);
    } while (loop_restart(loop, loop_now(loop)));
    wait = loop->fsm.stop_asked ? hurried : patient;
    wait.deadline_ns += loop_now(loop);
    publish_final(&loop->publish, &loop->relay, wait, &verdict);
    return verdict.exit_code;
}

static int init_ranks(struct loop *loop, struct err *err)
{
    size_t count = (size_t)loop->plan->job.nproc;

    loop->fsm_ranks = calloc(count, sizeof(*loop->fsm_ranks));
    loop->ranks = calloc(count, sizeof(*loop->ranks));
    loop->error_text = calloc(1, ERROR_FILE_MAX);
    if (!loop->fsm_ranks || !loop->ranks || !loop->error_text)
        return err_set(err, ERR_SYSTEM, "no memory for %zu ranks", count);
    for (size_t i = 0; i < count; i++)
        loop->ranks[i] = (struct loop_rank){.status = {.fd = -1, .ready = loop_status_ready},
                                            .loop = loop};
    return 0;
}

static int init_events(struct loop *loop, struct err *err)
{
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot make an event queue");
    loop->signals = (struct source){.fd = sigset_open(err), .ready = signals_ready};
    if (loop->signals.fd < 0)
        return -1;
    if (source_watch(loop->epoll_fd, &loop->signals, EPOLLIN) < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot wait for signals");
    return 0;
}

/* The first attempt's files; where they are is said if the user has not. */
static int init_files(struct loop *loop, struct err *err)
{
    if (logs_init(&loop->logs, loop->plan, loop->prepared.run_dir, err) < 0 ||
        logs_open(&loop->logs, 0, err) < 0)
        return -1;
    relay_use_files(&loop->relay, &loop->logs);
    if (loop->plan->output.files && !loop->plan->log_dir_stated)
        log_notice("the ranks' output is kept in %s", loop->prepared.run_dir);
    else if (loop->plan->output.files)
        log_info("the ranks' output is in %s", loop->prepared.run_dir);
    return 0;
}

int loop_init(struct loop *loop, const struct plan *plan, const struct sigset_inherited *signals,
              struct err *err)
{
    struct fsm_config config = {.escalate = plan->stop.escalate,
                                .sweep = plan->stop.sweep,
                                .grace_ns = plan->stop.grace_ns,
                                .fail_grace_ns = plan->stop.fail_grace_ns,
                                .orphan_grace_ns = plan->stop.orphan_grace_ns,
                                .settle_ns = plan->stop.settle_ns,
                                .backoff_ns = plan->restart.backoff_ns};

    memset(loop, 0, sizeof(*loop));
    loop->plan = plan;
    loop->inherited_signals = signals;
    loop->stop_signal = SIGTERM;
    loop->signals.fd = -1;
    loop->ready_files.fd = -1;
    loop->epoll_fd = -1;
    loop->prepared.port_fd = loop->prepared.null_fd = -1;
    loop->status.fd = -1;
    loop->publish.deliver.log_fd = loop->publish.deliver.summary_dir = -1;
    prepare_limits(&loop->nofile);
    loop->oom_kills = facts_oom_kills();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    descendants_init(&loop->descendants);
    if (outcome_init(&loop->outcome, plan, err) < 0 || init_events(loop, err) < 0 ||
        init_ranks(loop, err) < 0)
        return -1;
    loop->outcome.start_realtime_ns = source_realtime();
    loop->outcome.oom_known = loop->oom_kills >= 0;
    if (relay_init(&loop->relay, plan, &loop->outcome, loop->epoll_fd, err) < 0 ||
        publish_init(&loop->publish, plan, &loop->outcome, err) < 0 ||
        prepare_all(plan, &loop->prepared, err) < 0 || init_files(loop, err) < 0 ||
        device_check_init(&loop->devices, plan, err) < 0)
        return -1;
    restart_init(&loop->past);
    loop_watch_ready(loop);
    limits_init(&loop->limits, &plan->limits);
    loop->outcome.master_port = loop->prepared.port;
    fsm_init(&loop->fsm, &config, loop->fsm_ranks, plan->job.nproc);
    status_open(&loop->status, plan, loop->relay.epoch_ns);
    show_status(loop);
    return 0;
}

void loop_release(struct loop *loop)
{
    prepare_clean(&loop->prepared);
    prepare_release(&loop->prepared);
    relay_release(&loop->relay);
    logs_release(&loop->logs);
    publish_release(&loop->publish);
    status_close(&loop->status);
    outcome_release(&loop->outcome);
    for (int i = 0; loop->ranks && i < loop->plan->job.nproc; i++)
        cleanup_fd(&loop->ranks[i].status.fd);
    if (loop->waiting)
        wait_master_end(&loop->wait);
    device_check_release(&loop->devices);
    free(loop->fsm_ranks);
    free(loop->ranks);
    free(loop->error_text);
    cleanup_fd(&loop->ready_files.fd);
    cleanup_fd(&loop->signals.fd);
    cleanup_fd(&loop->epoll_fd);
}
