/*
 * --explain: what saved documents say of the whole job. Documents and pods are
 * taken in any order, from files of any kind; who was first is judged over all
 * nodes, and told on a page for people. Nothing that is read is trusted.
 * Layer: report (pure, but it allocates: nothing runs).
 *
 *     struct explain *explain = explain_new();
 *     explain_take(explain, &(struct explain_input){"a.json", bytes, len}, &err);
 *     ...
 *     explain_page(explain, &out);
 *     explain_free(explain);
 */
#ifndef RANKINIT_REPORT_EXPLAIN_H
#define RANKINIT_REPORT_EXPLAIN_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define EXPLAIN_INPUT_MAX (64u << 20) /* bytes of one input */
#define EXPLAIN_PAGE_MAX  (64u << 10)

struct explain; /* what is known of the job */

struct explain_input {
    const char *name; /* of the file, for notes; lives as long as the explain */
    const char *bytes;
    size_t len;
};

/* A new one that knows nothing; NULL: no memory. */
struct explain *explain_new(void);

/* Frees it; NULL is fine. */
void explain_free(struct explain *explain);

/*
 * Takes what one input holds: documents (one, several, cut ones, the last line of a log), a pod, a
 * list of pods. What is none of these is noted. ERR_SYSTEM: no memory.
 */
int explain_take(struct explain *explain, const struct explain_input *input, struct err *err);

/* True if there is anything to tell: a document, or a pod. */
bool explain_knows(const struct explain *explain);

/* Appends the page: at most 80 columns, plain characters; the same for every order of inputs. */
void explain_page(struct explain *explain, struct buf *out);

#endif
