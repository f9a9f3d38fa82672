#include "model/fsm.h"

static void act(struct fsm_actions *actions, enum fsm_action_kind kind, int rank)
{
    actions->list[actions->count].kind = kind;
    actions->list[actions->count].rank = rank;
    actions->count++;
}

static void enter(struct fsm *fsm, enum fsm_state state, int64_t deadline)
{
    fsm->state = state;
    fsm->deadline = deadline;
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/*
 * All leaders are gone, or will not go. What remains gets its SIGTERM now, and
 * what is left of the drain's grace: a shell that died at once may have left a
 * trainer that is saving its checkpoint.
 */
static void begin_sweep(struct fsm *fsm, int64_t now, struct fsm_actions *actions)
{
    int64_t deadline = now + fsm->config.orphan_grace_ns;

    if (fsm->alive == 0 && !fsm->config.sweep && !fsm->stop_asked) {
        enter(fsm, FSM_DONE, FSM_NEVER);
        return;
    }
    if (fsm->state == FSM_DRAINING)
        deadline = later_of(deadline, fsm->deadline);
    enter(fsm, FSM_SWEEPING, deadline);
    act(actions, FSM_TERM_REST, -1);
}

static void begin_failure_drain(struct fsm *fsm, int64_t now, struct fsm_actions *actions)
{
    enter(fsm, FSM_DRAINING, now + fsm->config.fail_grace_ns);
    act(actions, FSM_TERM_LEADERS, -1);
    act(actions, FSM_PUBLISH, -1);
}

/* Notes the end of a leader; true if it was the last one. */
static bool rank_gone(struct fsm *fsm, const struct fsm_event *event)
{
    struct fsm_rank *rank = &fsm->ranks[event->rank];

    if (rank->alive) {
        rank->alive = false;
        fsm->alive--;
    }
    return fsm->alive == 0;
}

static void end_group(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    fsm->ranks[event->rank].group_deadline = event->now_ns + fsm->config.orphan_grace_ns;
    act(actions, FSM_TERM_GROUP, event->rank);
}

static void ignore(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    (void)fsm;
    (void)event;
    (void)actions;
}

static void start(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    (void)event;
    enter(fsm, FSM_RUNNING, FSM_NEVER);
    for (int i = 0; i < fsm->count; i++)
        fsm->ranks[i].alive = true;
    fsm->alive = fsm->count;
    act(actions, FSM_PUBLISH, -1); /* before a rank can write to the same place */
    act(actions, FSM_SPAWN_ALL, -1);
}

static void restart(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    fsm->stop_asked = false;
    enter(fsm, FSM_RESTARTING, event->now_ns + fsm->config.backoff_ns);
    act(actions, FSM_PUBLISH, -1);
}

static void renew(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    (void)event;
    fsm->deadline = FSM_NEVER;
    act(actions, FSM_RENEW, -1);
}

/* Nothing runs yet: there is nothing to drain. */
static void start_stopped(struct fsm *fsm, const struct fsm_event *event,
                          struct fsm_actions *actions)
{
    (void)event;
    (void)actions;
    fsm->stop_asked = true;
    if (fsm->config.escalate)
        enter(fsm, FSM_DONE, FSM_NEVER);
}

static void run_ok(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    if (rank_gone(fsm, event))
        begin_sweep(fsm, event->now_ns, actions);
}

static void run_failed(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    bool last = rank_gone(fsm, event);

    if (last) {
        begin_sweep(fsm, event->now_ns, actions);
        return;
    }
    end_group(fsm, event, actions);
    begin_failure_drain(fsm, event->now_ns, actions);
}

static void run_start_failed(struct fsm *fsm, const struct fsm_event *event,
                             struct fsm_actions *actions)
{
    if (rank_gone(fsm, event))
        begin_sweep(fsm, event->now_ns, actions);
    else
        begin_failure_drain(fsm, event->now_ns, actions);
}

/* The culprit may still be writing its traceback: our own SIGTERM must not cut it short. */
static void run_echoed(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    if (fsm->config.settle_ns == 0 || fsm->alive <= 1) {
        run_failed(fsm, event, actions);
        return;
    }
    rank_gone(fsm, event);
    end_group(fsm, event, actions);
    if (fsm->deadline == FSM_NEVER)
        fsm->deadline = event->now_ns + fsm->config.settle_ns;
}

static void run_cause_seen(struct fsm *fsm, const struct fsm_event *event,
                           struct fsm_actions *actions)
{
    if (fsm->deadline != FSM_NEVER)
        begin_failure_drain(fsm, event->now_ns, actions);
}

static void run_deadline(struct fsm *fsm, const struct fsm_event *event,
                         struct fsm_actions *actions)
{
    begin_failure_drain(fsm, event->now_ns, actions);
}

static void run_stop(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    fsm->stop_asked = true;
    if (!fsm->config.escalate)
        return;
    enter(fsm, FSM_DRAINING, event->now_ns + fsm->config.grace_ns);
    act(actions, FSM_PUBLISH, -1);
}

/* Ranks that still run have their checkpoint to save, as when somebody asks for it. */
static void run_timeout(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    fsm->stop_asked = true;
    enter(fsm, FSM_DRAINING, event->now_ns + fsm->config.grace_ns);
    act(actions, FSM_STOP_LEADERS, -1);
    act(actions, FSM_PUBLISH, -1);
}

static void run_hung(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    fsm->stop_asked = true;
    enter(fsm, FSM_DUMPING, event->now_ns + FSM_DUMP_WAIT_NS);
    act(actions, FSM_ABORT_LEADERS, -1);
    act(actions, FSM_PUBLISH, -1);
}

static void note_stop(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    (void)event;
    (void)actions;
    fsm->stop_asked = true;
}

static void drain_ended(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    bool last = rank_gone(fsm, event);

    act(actions, FSM_STOP_GROUP, event->rank);
    if (last)
        begin_sweep(fsm, event->now_ns, actions);
}

static void drain_start_failed(struct fsm *fsm, const struct fsm_event *event,
                               struct fsm_actions *actions)
{
    if (rank_gone(fsm, event))
        begin_sweep(fsm, event->now_ns, actions);
}

static void begin_kill(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    enter(fsm, FSM_KILLING, event->now_ns + FSM_KILL_WAIT_NS);
    act(actions, FSM_KILL_LEADERS, -1);
    act(actions, FSM_PUBLISH, -1);
}

static void kill_over(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    begin_sweep(fsm, event->now_ns, actions);
}

static void sweep_ended(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    (void)actions;
    rank_gone(fsm, event);
}

static void begin_reap(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    enter(fsm, FSM_REAPING, event->now_ns + FSM_REAP_WAIT_NS);
    act(actions, FSM_KILL_REST, -1);
    act(actions, FSM_PUBLISH, -1);
}

static void finish(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions)
{
    (void)event;
    (void)actions;
    enter(fsm, FSM_DONE, FSM_NEVER);
}

typedef void fsm_cell(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *actions);

/* clang-format off */
static fsm_cell *const table[FSM__STATES][FSM__EVENTS] = {
    /*                   GO      START_FAILED        RANK_OK      RANK_FAILED  RANK_ECHOED
                         CAUSE_SEEN      STOP           STOP_AGAIN  TIMEOUT     HUNG
                         RESTART  GIVE_UP  EMPTY   DEADLINE */
    [FSM_STARTING]   = { start,  ignore,             ignore,      ignore,      ignore,
                         ignore,         start_stopped, ignore,     finish,      ignore,
                         ignore,  finish,  ignore, ignore },
    [FSM_RESTARTING] = { start,  ignore,             ignore,      ignore,      ignore,
                         ignore,         start_stopped, ignore,     finish,      ignore,
                         ignore,  finish,  ignore, renew },
    [FSM_RUNNING]    = { ignore, run_start_failed,   run_ok,      run_failed,  run_echoed,
                         run_cause_seen, run_stop,      note_stop,  run_timeout, run_hung,
                         ignore,  ignore,  ignore, run_deadline },
    [FSM_DUMPING]    = { ignore, drain_start_failed, drain_ended, drain_ended, drain_ended,
                         ignore,         note_stop,     begin_kill, ignore,      ignore,
                         ignore,  ignore,  ignore, run_deadline },
    [FSM_DRAINING]   = { ignore, drain_start_failed, drain_ended, drain_ended, drain_ended,
                         ignore,         note_stop,     begin_kill, ignore,      ignore,
                         ignore,  ignore,  ignore, begin_kill },
    [FSM_KILLING]    = { ignore, drain_start_failed, drain_start_failed, drain_start_failed, drain_start_failed,
                         ignore,         note_stop,     kill_over,  ignore,      ignore,
                         ignore,  ignore,  ignore, kill_over },
    [FSM_SWEEPING]   = { ignore, sweep_ended,        sweep_ended, sweep_ended, sweep_ended,
                         ignore,         note_stop,     begin_reap, ignore,      ignore,
                         ignore,  ignore,  finish, begin_reap },
    [FSM_REAPING]    = { ignore, sweep_ended,        sweep_ended, sweep_ended, sweep_ended,
                         ignore,         note_stop,     note_stop,  ignore,      ignore,
                         ignore,  ignore,  finish, finish },
    [FSM_DONE]       = { ignore, ignore,             ignore,      ignore,      ignore,
                         ignore,         ignore,        ignore,     ignore,      ignore,
                         restart, ignore,  ignore, ignore },
};
/* clang-format on */

void fsm_init(struct fsm *fsm, const struct fsm_config *config, struct fsm_rank *ranks, int count)
{
    *fsm = (struct fsm){.state = FSM_STARTING,
                        .config = *config,
                        .deadline = FSM_NEVER,
                        .count = count,
                        .ranks = ranks};
    for (int i = 0; i < count; i++)
        ranks[i] = (struct fsm_rank){.alive = false, .group_deadline = FSM_NEVER};
}

/* Index of a rank whose orphaned group has had its time by `now`; -1 if there is none. */
static int group_due(const struct fsm *fsm, int64_t now)
{
    for (int i = 0; i < fsm->count; i++) {
        if (fsm->ranks[i].group_deadline <= now)
            return i;
    }
    return -1;
}

void fsm_step(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *ret)
{
    int due = event->kind == FSM_DEADLINE ? group_due(fsm, event->now_ns) : -1;

    ret->count = 0;
    if (due >= 0) {
        fsm->ranks[due].group_deadline = FSM_NEVER;
        act(ret, FSM_KILL_GROUP, due);
    } else if (event->kind != FSM_DEADLINE || fsm->deadline <= event->now_ns) {
        table[fsm->state][event->kind](fsm, event, ret);
    }
    if (fsm->state == FSM_REAPING || fsm->state == FSM_DONE) {
        for (int i = 0; i < fsm->count; i++)
            fsm->ranks[i].group_deadline = FSM_NEVER;
    }
}

/* While a loss of a peer waits for its reason, a failure is known already. */
bool fsm_takes_limits(const struct fsm *fsm)
{
    return fsm->state == FSM_STARTING || fsm->state == FSM_RESTARTING ||
           (fsm->state == FSM_RUNNING && fsm->deadline == FSM_NEVER);
}

int64_t fsm_deadline(const struct fsm *fsm)
{
    int64_t earliest = fsm->deadline;

    for (int i = 0; i < fsm->count; i++) {
        if (fsm->ranks[i].group_deadline < earliest)
            earliest = fsm->ranks[i].group_deadline;
    }
    return earliest;
}

const char *fsm_state_name(enum fsm_state state)
{
    static const char *const names[FSM__STATES] = {"STARTING", "RESTARTING", "RUNNING",
                                                   "DUMPING",  "DRAINING",   "KILLING",
                                                   "SWEEPING", "SWEEPING",   "DONE"};

    return names[state];
}
