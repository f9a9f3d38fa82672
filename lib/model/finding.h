/*
 * One finding: what a rank's words say about why it failed; and how its fields
 * are filled from untrusted lines, in fixed memory. A part of evidence, which
 * see. Layer: model.
 */
#ifndef RANKINIT_MODEL_FINDING_H
#define RANKINIT_MODEL_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/patterns.h"

#define FINDING_TRACEBACK_MAX 2048 /* head and tail are kept, the middle goes */

/* Which evidence; the words of `kind` in the summary, weakest first. */
enum evidence_kind {
    EVIDENCE_NONE,
    EVIDENCE_EXIT_CODE,
    EVIDENCE_SIGNAL,
    EVIDENCE_FATAL_LINE,
    EVIDENCE_FAULTHANDLER,
    EVIDENCE_TRACEBACK,
    EVIDENCE_ERROR_FILE
};

struct finding {
    enum evidence_kind kind;
    bool echo;     /* plainly the loss of a peer, not a failure of its own */
    int64_t at_ns; /* when it began to be said; for error files, when the file was written */
    char type[64]; /* "ValueError" */
    char message[384];
    char file[160];
    int line;        /* 0 if unknown */
    uint64_t frames; /* digest of where it came from, frame by frame; 0: unknown */
    char traceback[FINDING_TRACEBACK_MAX];
};

/* Appends untrusted text as one plain line (buf_add_plain); tabs become blanks. */
void finding_add_plain(struct buf *out, struct span text);

/* Type, message, place and echo go; kind, time and traceback stay. */
void finding_clear_error(struct finding *finding);

/* Sets type and message as plain text, and judges whether they are an echo. */
void finding_set_error(struct finding *finding, struct span type, struct span message);

/* Sets the message alone, and judges anew. */
void finding_set_message(struct finding *finding, struct span message);

/* Appends a line to the message, and judges anew: NCCL says what it lost on its second line. */
void finding_add_message(struct finding *finding, struct span line);

/* Appends a line to the traceback; when it is full, lines in its middle go. */
void finding_add_traceback(struct finding *finding, struct span line);

/* Sets file (of a long path its end) and line. */
void finding_set_file(struct finding *finding, struct span path, int line);

/* Reads `  File "train.py", line 42, in f` and its kin. */
bool finding_parse_frame(struct span line, struct span *ret_path, int *ret_line);

/* Adds a frame to the digest, which torch's @record begins anew: its error file has no frames before. */
void finding_add_frame(struct finding *finding, struct span line);

/* Writes "f" of `  File "train.py", line 42 in f` to room; what has no function leaves it empty. */
void finding_parse_function(struct span line, char *room, size_t size);

/* Type, message, echo and time of another finding. */
void finding_copy_error(struct finding *finding, const struct finding *other);

/* Which loss of a peer it tells. */
enum echo finding_echo(const struct finding *finding);

/* True if both tell the same error. */
bool finding_is_same(const struct finding *a, const struct finding *b);

/* True if it is an ExceptionGroup: its first member says more. */
bool finding_is_group(const struct finding *finding);

/* True if `type`, the last part of the name at the start of line, may name an exception. */
bool finding_is_likely_type(struct span line, struct span type);

#endif
