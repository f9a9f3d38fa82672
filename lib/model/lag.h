/*
 * Who kept the others waiting in a collective. The rank that gives up first is
 * a victim: to blame are those that never came to the operation, or came to
 * another one. Told from what each rank of this node has said, by the numbers
 * of operations, never by the order of deaths. Layer: model.
 */
#ifndef RANKINIT_MODEL_LAG_H
#define RANKINIT_MODEL_LAG_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/outcome.h"

/* True if the verdict's root gave up waiting in a collective (NCCL, gloo). */
bool lag_is_timeout(const struct verdict *verdict);

/* What a rank did while the root of a verdict waited. */
enum lag {
    LAG_NONE,      /* has another part in the story */
    LAG_WAITED,    /* waited too, at the front */
    LAG_BEHIND,    /* had not come to the operation */
    LAG_ELSEWHERE, /* waited in another operation of the same number */
    LAG_SILENT,    /* said nothing at all */
    LAG__KINDS
};

/* Who does what, and where. Texts are those of the outcome. */
struct lags {
    unsigned char of[PLAN_RANKS_MAX]; /* enum lag, by local rank */
    int count[LAG__KINDS];
    int64_t seq;       /* of the front: the furthest operation that a rank waited for */
    const char *op;    /* of the front; "": unknown */
    const char *group; /* that the root waited in; "": unknown */
    int64_t enqueued;  /* by the hindmost of those behind */
};

/* Looks at the ranks of a verdict that lag_is_timeout; numbers may be COLLECTIVE_UNKNOWN. */
void lag_look(const struct outcome *outcome, const struct verdict *verdict, struct lags *ret);

/*
 * Appends the verdict's sentence: who lags, who gave up first, in what, and how far it had come: "rank 5 was silent in a
 * collective; rank 0 (...) gave up first after waiting 600.0 s in ALLREDUCE, SeqNum 118 ...".
 */
void lag_sentence(const struct outcome *outcome, const struct plan *plan,
                  const struct verdict *verdict, struct buf *out);

#endif
