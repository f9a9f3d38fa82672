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

#define BARS_MAX 16 /* rows at most: of many ranks, those that failed come first */

/*
 * Appends the bars of several ranks, nothing for one. `=` it ran, `-` it ran on though told to
 * end; its end: X failed first, x failed, s stopped by us, o code 0, `>` still runs. Colours are
 * those of terminals.
 */
void bars_render(const struct plan *plan, const struct outcome *outcome,
                 const struct verdict *verdict, struct buf *out);

/* The sequence that begins a colour, "" if the plan wants none; bars_plain ends it. */
const char *bars_colour(const struct plan *plan, enum rank_class class, bool root);
const char *bars_plain(const struct plan *plan);

#endif
