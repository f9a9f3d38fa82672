/*
 * How far the ranks of this node had come in a collective that timed out, for
 * whoever compares nodes (--explain): member `collective` of the document.
 * Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_LAG_VIEW_H
#define RANKINIT_REPORT_LAG_VIEW_H

#include <stdbool.h>

#include "base/json.h"
#include "model/outcome.h"
#include "model/plan.h"

/* What it is made from; nothing is owned. */
struct lag_view {
    const struct plan *plan;
    const struct outcome *outcome;
    const struct verdict *verdict;
    size_t limit; /* bytes of a list of ranks */
};

/* A new object; NULL if no collective timed out. False in *ret_whole if a list was cut. */
struct json *lag_view_make(const struct lag_view *view, bool *ret_whole);

#endif
