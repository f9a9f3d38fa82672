/*
 * The order in which a document gives things up when its budget is short: one
 * table of steps, each a complete set of limits. Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_SHRINK_H
#define RANKINIT_REPORT_SHRINK_H

#include <stdbool.h>
#include <stddef.h>

#define SHRINK_RANKS_MAX 4096 /* longest list of ranks in a row */
#define SHRINK_HOST_MIN  32   /* what always stays of the host's name */

/* Limits in bytes of output unless they count something. */
struct shrink {
    size_t words;      /* traceback; stderr_tail when there is no traceback */
    size_t tail;       /* stderr_tail beside a traceback */
    size_t ranks_text; /* a row's list of ranks */
    size_t error;      /* message of an error */
    size_t message;
    size_t names; /* job id and master address; 0: they go, and the host is cut */
    int rows;     /* of failures */
    int hints;    /* how many */
    bool resources;
    bool counts; /* ranks, stop, ended, ... */
    bool root;   /* root_cause, collective */
};

/* What `truncated` can name. */
enum shrink_part {
    SHRINK_MESSAGE,
    SHRINK_ROOT,
    SHRINK_ERROR,
    SHRINK_TRACEBACK,
    SHRINK_TAIL,
    SHRINK_FAILURES,
    SHRINK_COLLECTIVE,
    SHRINK_COUNTS,
    SHRINK_HINTS,
    SHRINK_RESOURCES,
    SHRINK_JOB,
    SHRINK_FOREIGN,
    SHRINK__PARTS
};

/* Limits of a step, from 0 = everything; NULL behind the last. */
const struct shrink *shrink_step(int step);

/* The word of a part in `truncated`. */
const char *shrink_part_word(enum shrink_part part);

#endif
