/*
 * Between the parts of summary, nobody else's. Layer: report.
 */
#ifndef RANKINIT_REPORT_SUMMARY_PARTS_H
#define RANKINIT_REPORT_SUMMARY_PARTS_H

#include <stdbool.h>

#include "base/json.h"
#include "report/groups.h"
#include "report/hints.h"
#include "report/shrink.h"
#include "report/summary.h"

/* One try to make a document that fits. */
struct summary_writer {
    const struct summary *summary;
    const struct groups *groups;
    const struct hints *hints;
    const struct shrink *limits;
    unsigned int cut; /* which parts were cut, bits of enum shrink_part */
};

/* Notes that a part was cut, unless it is whole. */
void summary_note_cut(struct summary_writer *writer, enum shrink_part part, bool whole);

/* "job": which job this is, and what it has been through (summary_facts.c, as the others). */
void summary_put_job(struct summary_writer *writer, struct json *root);

/* "resources": what it has used. */
void summary_put_resources(struct summary_writer *writer, struct json *root);

/* "stuck": where hanging ranks stood. */
void summary_put_stuck(struct summary_writer *writer, struct json *root);

#endif
