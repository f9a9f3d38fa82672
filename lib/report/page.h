/*
 * The verdict for people: a few lines of plain text, root cause first.
 * Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_PAGE_H
#define RANKINIT_REPORT_PAGE_H

#include "base/buf.h"
#include "model/outcome.h"
#include "model/plan.h"

/*
 * Appends the page: one line on success, the story otherwise (what failed first and why, its last
 * words, who followed, how the stop went, a bar per rank, hints). At most 80 columns; of ranks only
 * plain characters, and escape sequences only where the plan wants colour.
 */
void page_render(const struct plan *plan, const struct outcome *outcome,
                 const struct verdict *verdict, struct buf *out);

/* How ranks of a class relate to the root cause: " lost a peer: ", " failed too: ", ... */
const char *page_relation(enum rank_class class);

#endif
