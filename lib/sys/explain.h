/*
 * --explain: from files and standard input to the page. Layer: sys.
 */
#ifndef RANKINIT_SYS_EXPLAIN_H
#define RANKINIT_SYS_EXPLAIN_H

#include "base/err.h"

/*
 * Reads the files ("-": standard input) and writes what they say of the job to stdout. ERR_SPEC: a
 * file that cannot be read, or nothing in them of rankinit; ERR_SYSTEM: no memory, or stdout is
 * broken. `more` is NULL-terminated, or NULL.
 */
int explain_files(const char *first, const char *const *more, struct err *err);

#endif
