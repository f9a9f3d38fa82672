/*
 * Pieces of lines that ranks have written: pointer and length, no NUL, nothing
 * copied. Layer: model.
 */
#ifndef RANKINIT_MODEL_SPAN_H
#define RANKINIT_MODEL_SPAN_H

#include <stdbool.h>
#include <stddef.h>

struct span {
    const char *text; /* never NULL */
    size_t len;
};

/* True if `line` begins with `prefix`, or holds `part`. */
bool span_starts(struct span line, const char *prefix);
bool span_has(struct span line, const char *part);

/* What is left behind the first `count` bytes; count <= line.len. */
struct span span_after(struct span line, size_t count);

/* What is left behind "[rank1]: " of torch or "[default0]:" of torchrun, if the line has it. */
struct span span_without_prefix(struct span line);

/* The line without escape sequences: itself, or written to room, which has line.len bytes. */
struct span span_without_colours(struct span line, char *room);

#endif
