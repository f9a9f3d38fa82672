/*
 * What the values of an option may be, by the type of its row: checking,
 * comparing and describing texts. Layer: model. Used by settings; everybody
 * else reads checked values through settings.h.
 */
#ifndef RANKINIT_MODEL_OPTION_VALUES_H
#define RANKINIT_MODEL_OPTION_VALUES_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/options.h"

/* True if text is a value of the row's type and within its bounds. */
bool option_value_ok(const struct option_row *row, const char *text);

/* True if two texts mean the same value ("60s" and "1m"); NULL of a flag means "false". */
bool option_value_same(const struct option_row *row, const char *a, const char *b);

/* Appends what a value has to be: "a number from 1 to 256", "one of auto, shared". */
void option_value_wanted(const struct option_row *row, struct buf *out);

/*
 * Reads an OPTION_STREAMS text and calls add(context, rank, streams) for each part of it: rank -1 is
 * all ranks, streams is 1 for stdout, 2 for stderr, 3 for both. False, possibly after some calls, if
 * the text is none.
 */
bool option_value_streams(const char *text,
                          void (*add)(void *context, long local_rank, int streams), void *context);

/* Number of nodes in "N" or "N:N"; 0 if text is neither, -1 if it is a range of unequal ends. */
long option_value_nnodes(const char *text);

#endif
