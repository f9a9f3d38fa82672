/*
 * What NCCL's watchdog says about a collective that did not end: which
 * operation, its number in its group, and how far the rank itself had come. A
 * part of evidence; `lag` compares ranks by it. Layer: model. Every word of it
 * is untrusted: bounded, and only compared.
 */
#ifndef RANKINIT_MODEL_COLLECTIVE_H
#define RANKINIT_MODEL_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/span.h"

#define COLLECTIVE_UNKNOWN (-1)

/* Zeroed: nothing was said. Of several timeouts the first counts. */
struct collective {
    bool timed_out;
    bool told;     /* enqueued and completed are true */
    int64_t at_ns; /* of the timeout */
    int64_t seq;   /* SeqNum of the operation that was waited for */
    int64_t waited_ms;
    int64_t enqueued; /* last one that the rank put in line */
    int64_t completed;
    char op[32];    /* "ALLREDUCE" */
    char group[48]; /* "default_pg", or a number; empty if unknown */
};

/* Takes one whole line, which began at at_ns. */
void collective_line(struct collective *collective, struct span line, int64_t at_ns);

/* Cheap for much text: false if no line that is wholly in it can mean anything to collective_line. */
bool collective_may_be_in(struct span text);

/* True if the line tells that a collective timed out; *ret is the part that says so. */
bool collective_is_timeout(struct span line, struct span *ret);

#endif
