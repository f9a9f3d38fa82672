/*
 * The event pass over a YAML document, before libcyaml sees it: refuses what
 * libcyaml would take or read badly, with line, column and the nearest right
 * key. The key tree is libcyaml's own schema, so that both always agree.
 * Layer: model, for spec.c and other readers of YAML.
 *
 * Refused: anything that does not fit the schema (unknown keys, a list for a
 * value, ...), keys given twice, aliases, tags, merge keys, keys that are no
 * plain text, values that are empty or null, NUL in texts, no or several
 * documents. The schema also bounds the depth, in which libyaml is quadratic.
 *
 * In the schema a string of minimum 0 may be empty if it is quoted.
 */
#ifndef RANKINIT_MODEL_SPEC_CHECK_H
#define RANKINIT_MODEL_SPEC_CHECK_H

#include <cyaml/cyaml.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/spec.h"

/* A place in a document, counted from 1; columns count characters. */
struct spec_mark {
    size_t line, column;
};

/*
 * Checks a document against a schema of mappings, sequences and strings, at most 8 deep, at most 64
 * fields in a mapping. ERR_SPEC with "NAME:LINE:COLUMN: ..."; ERR_SYSTEM without memory.
 */
int spec_check(const struct spec_source *source, const cyaml_schema_value_t *schema,
               struct err *err);

/* Finds where the value with this path ("job.nnodes", "env[2].name") begins; false if nowhere. */
bool spec_check_find(const struct spec_source *source, const cyaml_schema_value_t *schema,
                     const char *path, struct spec_mark *ret);

#endif
