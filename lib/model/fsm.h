/*
 * Supervision as a pure table: state x event -> next state and actions. The
 * loop turns kernel events into these events and these actions into system
 * calls; nothing here knows a clock, a pid or a signal. Layer: model.
 *
 * The ladder (DESIGN 6), every rung with an absolute deadline:
 *
 *     STARTING -> RUNNING -> DRAINING -> KILLING -> SWEEPING -> DONE (-> RESTARTING -> RUNNING)
 *                 leaders    leaders     leaders    all others: SIGTERM,
 *                 work       told to     SIGKILLed  then SIGKILL (REAPING,
 *                            stop                   shown as SWEEPING)
 *
 * Rungs are skipped as soon as nobody is left on them. Ranks that hang are first made to say where
 * they stand (DUMPING); those that live on are drained as after a failure. Times are nanoseconds of
 * one monotonic clock of the caller's choice.
 */
#ifndef RANKINIT_MODEL_FSM_H
#define RANKINIT_MODEL_FSM_H

#include <stdbool.h>
#include <stdint.h>

#define FSM_NEVER        INT64_MAX
#define FSM_KILL_WAIT_NS 1000000000LL /* SIGKILLed leaders have this long to be reaped */
#define FSM_DUMP_WAIT_NS 3000000000LL /* so long may it take to print a stack */
#define FSM_REAP_WAIT_NS 2000000000LL /* the last wait of all */

enum fsm_state {
    FSM_STARTING,
    FSM_RESTARTING, /* between two attempts: nothing runs */
    FSM_RUNNING,    /* with a deadline: settling, an echo waits for the real failure */
    FSM_DUMPING,    /* leaders told to print their stacks, and to end */
    FSM_DRAINING,
    FSM_KILLING,
    FSM_SWEEPING,
    FSM_REAPING,
    FSM_DONE,
    FSM__STATES
};

enum fsm_event_kind {
    FSM_GO,           /* all is prepared: start the ranks */
    FSM_START_FAILED, /* a rank could not be started, or its program not be executed */
    FSM_RANK_OK,      /* a leader ended with 0 */
    FSM_RANK_FAILED,  /* a leader ended otherwise */
    FSM_RANK_ECHOED,  /* a leader failed, plainly because it lost a peer */
    FSM_CAUSE_SEEN,   /* a living rank has said why it is failing */
    FSM_STOP,         /* a person or the platform asks us to stop; already forwarded */
    FSM_STOP_AGAIN,   /* and asks again, more than a second later */
    FSM_TIMEOUT,      /* the time of the whole run is over */
    FSM_HUNG,         /* the ranks hang */
    FSM_RESTART,      /* after the end: wait for the backoff, and start all ranks again */
    FSM_GIVE_UP,      /* what has to be there before the start is not */
    FSM_EMPTY,        /* no descendant is left */
    FSM_DEADLINE,     /* the time of fsm_deadline has come */
    FSM__EVENTS
};

struct fsm_event {
    enum fsm_event_kind kind;
    int rank; /* local; START_FAILED and RANK_* */
    int64_t now_ns;
};

enum fsm_action_kind {
    FSM_SPAWN_ALL,
    FSM_RENEW,         /* prepare the next attempt, then GO or GIVE_UP */
    FSM_STOP_LEADERS,  /* what stands for SIGTERM here to living leaders (or their groups) */
    FSM_ABORT_LEADERS, /* SIGABRT to them, with no core dump */
    FSM_TERM_LEADERS,  /* SIGTERM to living leaders (or their groups) */
    FSM_KILL_LEADERS,  /* SIGKILL to living leaders and to groups already told to end */
    FSM_STOP_GROUP,    /* the drain's signal to what a dead leader left in its group */
    FSM_TERM_GROUP,    /* SIGTERM to it */
    FSM_KILL_GROUP,    /* SIGKILL to it */
    FSM_TERM_REST,     /* SIGTERM to every descendant that was not told yet */
    FSM_KILL_REST,     /* SIGKILL to every descendant */
    FSM_PUBLISH        /* write the documents anew */
};

struct fsm_action {
    enum fsm_action_kind kind;
    int rank; /* *_GROUP */
};

#define FSM_ACTIONS_MAX 4

struct fsm_actions {
    int count;
    struct fsm_action list[FSM_ACTIONS_MAX];
};

struct fsm_config {
    bool escalate; /* a stop request starts a drain */
    bool sweep;    /* what is left when all leaders have ended is ended too */
    int64_t grace_ns, fail_grace_ns, orphan_grace_ns, settle_ns, backoff_ns;
};

/* Per rank; the caller owns the array. */
struct fsm_rank {
    bool alive;
    int64_t group_deadline; /* when its orphaned group is SIGKILLed; FSM_NEVER */
};

struct fsm {
    enum fsm_state state;
    struct fsm_config config;
    int64_t deadline; /* of the state; FSM_NEVER if none is armed */
    bool stop_asked;  /* by somebody, or by a limit: what is left is ended too */
    int count, alive;
    struct fsm_rank *ranks;
};

/* Starts in STARTING for count ranks; `ranks` has room for them and outlives the fsm. */
void fsm_init(struct fsm *fsm, const struct fsm_config *config, struct fsm_rank *ranks, int count);

/* Takes one event; *ret is what is to be done now, in order. Any event is allowed in any state. */
void fsm_step(struct fsm *fsm, const struct fsm_event *event, struct fsm_actions *ret);

/* The earliest armed deadline; FSM_NEVER if none. When it comes, step with FSM_DEADLINE. */
int64_t fsm_deadline(const struct fsm *fsm);

/* True while a limit can end something: nobody has asked to stop, and no rank has failed. */
bool fsm_takes_limits(const struct fsm *fsm);

/* "RUNNING" and so on, as status and documents show it. */
const char *fsm_state_name(enum fsm_state state);

#endif
