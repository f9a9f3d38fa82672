/*
 * The verdict as one JSON document (rankinit.summary.v1, described by
 * summary.schema.json beside this file): one line, pure ASCII, stable key
 * order, always valid, never over its budget. Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_SUMMARY_H
#define RANKINIT_REPORT_SUMMARY_H

#include <stddef.h>

#include "base/json.h"
#include "model/outcome.h"
#include "model/plan.h"

#define SUMMARY_FULL_MAX  (64u << 10) /* the document of --summary */
#define SUMMARY_LINE_MAX  2000        /* the last line on stderr */
#define SUMMARY_BYTES_MIN 700         /* no budget is smaller: the story always fits */

/* Bytes of arena that rendering needs for a plan; to be reserved at start. */
size_t summary_arena_size(const struct plan *plan);

/* What a document is made from; nothing is owned. */
struct summary {
    const struct plan *plan;
    const struct outcome *outcome;
    const struct verdict *verdict;
    struct json_arena *arena;
};

/*
 * Renders into out, at most `budget` bytes (SUMMARY_BYTES_MIN or more), no newline; returns the
 * size, never 0. What does not fit goes by rule (tails, tracebacks, rows, ...) and is named in
 * `truncated`; schema, verdict, reason, exit_code and message always stay, in the first 700 bytes.
 */
size_t summary_render(const struct summary *summary, char *out, size_t budget);

#endif
