/*
 * Identical failures, once: ranks that failed in the same way (same end, same
 * error, its message modulo numbers and addresses, from the same frames) are
 * one group. Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_GROUPS_H
#define RANKINIT_REPORT_GROUPS_H

#include <stdint.h>

#include "base/buf.h"
#include "model/outcome.h"
#include "model/plan.h"

#define GROUPS_MAX 128

struct group {
    int first; /* local rank that stands for all: the earliest */
    int count;
    enum rank_class class;
    int64_t at_ns; /* of its evidence or death */
    uint64_t key;
};

struct groups {
    int count;
    int left_out; /* ranks in none, because there were too many kinds of failure */
    struct group list[GROUPS_MAX];
    unsigned char of[PLAN_RANKS_MAX]; /* by local rank: index in list + 1; 0: in none */
};

/*
 * Groups the ranks that failed by themselves, by a lost peer or from outside; not those that we
 * stopped. The root's group comes first, then causes, then the rest, each in order of time.
 */
void groups_make(const struct outcome *outcome, const struct verdict *verdict, struct groups *ret);

/*
 * Appends the global ranks of a group, "0-3,5"; what is longer than `limit` bytes ends with ",...".
 * False if it was cut.
 */
bool groups_ranks(const struct groups *groups, int index, const struct plan *plan, size_t limit,
                  struct buf *out);

#endif
