/*
 * What to do about it: from what is known of a failure to sentences with the
 * remedy. One table, a row per kind of evidence; hints say "likely" where the
 * evidence is only that. Layer: report (pure).
 *
 * A list of hints can also be added to by others who know more of their
 * subject: hints_make first, then hints_add; readers show the list in order.
 */
#ifndef RANKINIT_REPORT_HINTS_H
#define RANKINIT_REPORT_HINTS_H

#include "model/outcome.h"
#include "model/plan.h"

#define HINTS_MAX 8
#define HINT_MAX  384 /* bytes of one, its NUL included */

struct hints {
    int count;
    char texts[HINTS_MAX][HINT_MAX]; /* plain text of ours, one line each */
};

/* Fills *ret with what the table knows about this judgement, the most telling first. */
void hints_make(const struct plan *plan, const struct outcome *outcome,
                const struct verdict *verdict, struct hints *ret);

/* Adds a hint; not one that is there already, and none when the list is full. */
void hints_add(struct hints *hints, const char *text);

#endif
