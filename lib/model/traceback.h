/*
 * Reads failures out of lines as they pass: Python tracebacks (chains, groups,
 * torch's line prefix, colours), faulthandler dumps, C++ terminate, fatal
 * lines. A part of evidence, which see. Layer: model.
 */
#ifndef RANKINIT_MODEL_TRACEBACK_H
#define RANKINIT_MODEL_TRACEBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/finding.h"
#include "model/span.h"

#define TRACEBACK_LINE_MAX 512 /* no line given here is longer */

/* Where a dump of all stacks found a rank's thread. */
struct traceback_place {
    char function[64]; /* the innermost, the user's or a library's */
    char file[160];    /* the innermost of the user's own code, else the innermost */
    int line;          /* in file; 0: no dump was seen */
};

struct traceback {
    struct finding best;    /* what the rank would be judged by if it died now */
    struct finding current; /* what is being read */
    struct traceback_place
        stood;        /* by the last faulthandler dump, whatever the rank is judged by */
    bool best_weak;   /* best is a bare line: counts only for a rank that died by itself */
    bool sealed;      /* best stays, whatever comes */
    unsigned went_on; /* ordinary lines since best: it was handled, the rank worked on */

    /* where the reader is */
    int state;
    int stream;      /* whose lines it reads */
    bool group;      /* inside an ExceptionGroup's box */
    bool chained;    /* current continues a chain that began in best */
    bool user_frame; /* current's file is the user's own, not a library's */
    bool taken;      /* current is in best, and what is read further of it goes there too */
    bool ignored;    /* Python said "Exception ignored in" before it */
    int continued;   /* lines of its message behind the first */
};

/* Takes one whole line of a stream, which began at at_ns. A zeroed reader is a new one. */
void traceback_line(struct traceback *reader, int stream, struct span line, int64_t at_ns);

/* True if the rank went on working after its finding: a logged, handled traceback is no failure. */
bool traceback_is_stale(const struct traceback *reader);

#endif
