/*
 * Whether ranks that failed are started again: a pure decision over what was
 * planned, what has been before, and the judgement of the attempt. Layer: model.
 * Times are nanoseconds since our start.
 */
#ifndef RANKINIT_MODEL_RESTART_H
#define RANKINIT_MODEL_RESTART_H

#include "model/outcome.h"

/* What has been before. */
struct restart_past {
    int count;                        /* restarts until now */
    int64_t times[RESTART_TIMES_MAX]; /* of the last ones, a ring */
    int quick_rank;                   /* that failed too soon in the last attempt; -1: none */
};

/* Why not, in the order in which it is asked. */
enum restart_answer {
    RESTART_YES,
    RESTART_NOT_WANTED,  /* restart.max is 0, or nothing has failed */
    RESTART_STOPPED,     /* somebody asked to stop */
    RESTART_TIMED_OUT,   /* the time of the whole run is over */
    RESTART_OURS,        /* a failure of rankinit, or of the system */
    RESTART_NOT_STARTED, /* a rank could not be started: it never could */
    RESTART_LEFT_OVER,   /* a process is left that cannot be killed, and may hold port or device */
    RESTART_NEVER,       /* its code is in restart.never */
    RESTART_NOT_ONLY,    /* its code is not in restart.only */
    RESTART_TOO_QUICK,   /* the same rank failed before restart.min_uptime twice in a row */
    RESTART_SPENT        /* restart.max, or so many within restart.window */
};

/* Nothing has been before. */
void restart_init(struct restart_past *past);

/* The answer for an attempt that has ended, judged in *verdict. */
enum restart_answer restart_decide(const struct plan *plan, const struct restart_past *past,
                                   const struct outcome *outcome, const struct verdict *verdict);

/* The restart is done at outcome->now_ns, after that attempt. */
void restart_note(const struct plan *plan, struct restart_past *past, const struct outcome *outcome,
                  const struct verdict *verdict);

/* Appends why there is no restart; nothing where none was planned or nobody would wonder. */
void restart_explain(enum restart_answer answer, const struct plan *plan,
                     const struct verdict *verdict, struct buf *out);

#endif
