/*
 * The document as a flat list: Accelerate's files have scalars, sections of
 * scalars, and lists of them, nothing deeper. Scalars are read as PyYAML reads
 * YAML 1.1, since that is who wrote and reads these files: a plain `no` is
 * False, and `~` is null. Layer: model, used by accelerate.c only.
 */
#ifndef RANKINIT_MODEL_ACCELERATE_DOC_H
#define RANKINIT_MODEL_ACCELERATE_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "model/spec.h"

#define ACCELERATE_KEYS_MAX 256

struct accelerate_entry {
    const char *section; /* "fsdp_config"; "" at the top */
    const char *key;
    const char *text; /* "True", "False", or as written; a list with commas; NULL: null */
    size_t line;
};

struct accelerate_doc {
    struct accelerate_entry entries[ACCELERATE_KEYS_MAX];
    size_t count;
    struct strvec texts; /* owns what entries point to */
};

/* Reads a document; ERR_SPEC with name and line. *ret is releasable in any case. */
int accelerate_doc_read(const struct spec_source *source, struct accelerate_doc *ret,
                        struct err *err);

/* Frees what it owns. */
void accelerate_doc_release(struct accelerate_doc *doc);

#endif
