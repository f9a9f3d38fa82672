/*
 * The plan for whoever asks what would happen (--plan): which ranks would run
 * with which devices, threads, environment and command, and where the value of
 * every setting came from. Layer: report (pure, but it allocates: nothing runs).
 *
 * As text in 80 columns where names and paths allow it, or as one JSON document
 * (rankinit.plan.v1, described by plan.schema.json beside this file). What only
 * a start can know, a free port or an error file, is said to be so. Values of
 * secrets (base/secret.h) appear in neither.
 */
#ifndef RANKINIT_REPORT_PLAN_VIEW_H
#define RANKINIT_REPORT_PLAN_VIEW_H

#include <stddef.h>

#include "model/plan.h"
#include "model/settings.h"

#define PLAN_VIEW_PORT "auto (a free one)" /* a port that is chosen at the start */

/* In the order of the words of --plan. */
enum plan_view_format { PLAN_VIEW_TEXT, PLAN_VIEW_JSON };

struct plan_view {
    const struct plan *plan;
    const struct settings *settings; /* what the plan was made from */
    const char *const *envp;         /* inherited: ranks' environments are told as differences */
};

/*
 * The whole document, lines with their ends, in fresh memory that the caller frees; *ret_len without
 * the NUL. NULL: no memory.
 */
char *plan_view_render(const struct plan_view *view, enum plan_view_format format, size_t *ret_len);

#endif
