/*
 * The one table of exit codes: error kind -> code -> word in the documents
 * (DESIGN: exit codes; sysexits.h for 64-78, the shell for 126, 127, 128+N,
 * timeout(1) for 124). Layer: base.
 */
#ifndef RANKINIT_BASE_EXITCODE_H
#define RANKINIT_BASE_EXITCODE_H

#include "base/err.h"

#define EXITCODE_SIGNAL_BASE 128

/* The exit code of an error of this kind: 64 for ERR_USAGE and so on; 0 for ERR_NONE. */
int exitcode_of_kind(enum err_kind kind);

/* The word that names this kind in documents, e.g. "bad_usage"; a constant text. */
const char *exitcode_reason(enum err_kind kind);

/* The exit code of a wait status (wait(2)): its own code, or 128+N if signal N ended it. */
int exitcode_of_wait(int status);

#endif
