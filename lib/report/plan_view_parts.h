/*
 * The two forms of a plan. Layer: report, used by plan_view*.c only.
 */
#ifndef RANKINIT_REPORT_PLAN_VIEW_PARTS_H
#define RANKINIT_REPORT_PLAN_VIEW_PARTS_H

#include <stddef.h>

#include "base/buf.h"
#include "report/plan_view.h"

/* The document as text. */
void view_text(const struct plan_view *view, struct buf *out);

/* The document as JSON into out; its size, 0 if the arena or out is too small. */
size_t view_json(const struct plan_view *view, void *arena, size_t arena_size, struct buf *out);

#endif
