/*
 * When each rank lived and how it ended: a bar per rank on a time axis, for the
 * page. Layer: report (pure).
 *
 *     rank 0 |=================x-----                  | lost a peer
 *     rank 1 |===========X                             | failed first
 *             0.0 s                              13.0 s
 */
#ifndef RANKINIT_REPORT_BARS_H
#define RANKINIT_REPORT_BARS_H

#include "base/buf.h"
#include "model/outcome.h"
#include "model/plan.h"

#define BARS_WIDTH 40
#define BARS_MAX   16 /* rows at most: of many ranks, those that failed come first */

/*
 * Appends the bars of several ranks, nothing for one. `=` it ran, `-` it ran on though told to
 * end; its end: X failed first, x failed, s stopped by us, o code 0, `>` still runs. Colours are
 * those of terminals.
 */
void bars_render(const struct plan *plan, const struct outcome *outcome,
                 const struct verdict *verdict, struct buf *out);

/* One bar: times from the start of the axis; told_ns may be OUTCOME_NEVER. */
struct bar {
    int64_t from_ns, to_ns, told_ns;
    char mark; /* at its end */
};

/* Writes a bar of BARS_WIDTH characters on an axis of last_ns (more than 0). */
void bars_draw(const struct bar *it, int64_t last_ns, char text[static BARS_WIDTH + 1]);

/* Appends the line below bars that begin at column `indent`. */
void bars_axis(int indent, int64_t last_ns, struct buf *out);

/* The sequence that begins a colour, "" if the plan wants none; bars_plain ends it. */
const char *bars_colour(const struct plan *plan, enum rank_class class, bool root);
const char *bars_plain(const struct plan *plan);

#endif
