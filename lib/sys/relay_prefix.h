/*
 * What stands before each line of a rank (--log-prefix). A template is rendered
 * once for each rank; only its times are written anew, in place, so that a
 * prefix never changes its length. Layer: sys.
 */
#ifndef RANKINIT_SYS_RELAY_PREFIX_H
#define RANKINIT_SYS_RELAY_PREFIX_H

#include <stddef.h>
#include <stdint.h>

#include "model/plan.h"

#define RELAY_PREFIX_MAX   256
#define RELAY_PREFIX_TIMES 8  /* further ${time} stay as text */
#define RELAY_TIME_SIZE    24 /* "2026-07-31T23:59:59.999Z" */

struct relay_prefix {
    char text[RELAY_PREFIX_MAX];               /* no NUL */
    size_t len;                                /* 0: no prefix */
    unsigned char time_at[RELAY_PREFIX_TIMES]; /* where in text a time stands */
    int times;
};

/*
 * Renders the plan's template for a rank: $$ is a dollar sign, ${rank} or $rank a value; names that
 * do not exist stay as they are (as in torchrun's template). Cut at RELAY_PREFIX_MAX.
 */
void relay_prefix_render(const struct plan *plan, int local_rank, int attempt,
                         struct relay_prefix *ret);

/* Writes a time (milliseconds since 1970) wherever the template asks for it. */
void relay_prefix_stamp(struct relay_prefix *prefix, int64_t unix_ms);

/* Milliseconds since 1970 by the wall clock. */
int64_t relay_prefix_clock(void);

#endif
