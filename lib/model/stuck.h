/*
 * Where hanging ranks stood, by the stack that Python prints at our SIGABRT:
 * those that stood at the same place are told together. Layer: model. What was
 * printed is untrusted.
 */
#ifndef RANKINIT_MODEL_STUCK_H
#define RANKINIT_MODEL_STUCK_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/outcome.h"

#define STUCK_MAX 16

/* Ranks that stood at one place. */
struct stuck_group {
    int first; /* local; the lowest */
    int count;
};

struct stuck {
    int count;    /* groups, by their first rank */
    int left_out; /* ranks at places for which there was no room */
    int silent;   /* ranks that we told to end and that printed no stack */
    struct stuck_group list[STUCK_MAX];
};

/* Groups the ranks; all is 0 unless they were found hanging. */
void stuck_make(const struct outcome *outcome, struct stuck *ret);

/* Where that rank stood; NULL if it told nothing. */
const struct traceback_place *stuck_place(const struct outcome *outcome, int local_rank);

/*
 * Appends the global ranks of a group, "0-2,4-7"; after `limit` bytes ",...". False if it was cut.
 */
bool stuck_ranks(const struct outcome *outcome, const struct plan *plan,
                 const struct stuck_group *group, size_t limit, struct buf *out);

/* Appends "ranks 0-2,4-7 in all_reduce at train.py:88, rank 3 in read at loader.py:12". */
void stuck_sentence(const struct outcome *outcome, const struct plan *plan, struct buf *out);

#endif
