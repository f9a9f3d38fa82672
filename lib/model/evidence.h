/*
 * What a rank's own words say about why it failed. Streams are classified as
 * they pass, line by line, in fixed memory: Python tracebacks, fatal lines, and
 * the messages of a rank that only lost its peer (an echo). Also keeps the last
 * lines of stderr. Layer: model. Everything read here is untrusted.
 */
#ifndef RANKINIT_MODEL_EVIDENCE_H
#define RANKINIT_MODEL_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/collective.h"
#include "model/finding.h"
#include "model/traceback.h"

#define EVIDENCE_LINE_MAX TRACEBACK_LINE_MAX /* what is kept of a line */
#define EVIDENCE_TAIL_MAX 4096

enum evidence_stream { EVIDENCE_STDOUT, EVIDENCE_STDERR, EVIDENCE_STREAMS };

/* The unfinished line of one stream: what stands behind its last '\r'. */
struct evidence_line {
    char text[EVIDENCE_LINE_MAX];
    size_t len;
    bool returned; /* the last byte was a '\r' */
    int64_t began_ns;
};

struct evidence {
    struct evidence_line lines[EVIDENCE_STREAMS];
    struct traceback reader;
    struct collective collective;
    char tail[EVIDENCE_TAIL_MAX]; /* ring of the last lines of stderr */
    size_t tail_end;              /* bytes ever put into it */
};

/* Starts empty; touches the memory, so that later use cannot fault in a full cgroup. */
void evidence_init(struct evidence *evidence);

/* Takes the next bytes of a stream, read at now_ns. Any bytes, any splitting. */
void evidence_feed(struct evidence *evidence, enum evidence_stream stream, const char *bytes,
                   size_t len, int64_t now_ns);

/* The streams have ended: an unfinished last line counts as a line. */
void evidence_end(struct evidence *evidence, int64_t now_ns);

/*
 * From now on the rank's words are about its being stopped: a failure that it has told already
 * stays its finding, whatever it says on the way out.
 */
void evidence_seal(struct evidence *evidence);

/* True if the rank went on working after its finding: a logged, handled traceback is no failure. */
bool evidence_is_stale(const struct evidence *evidence);

/*
 * What the words say so far: NULL if nothing. `alive`: for a rank that has not failed by itself, a
 * finding counts only if it is not stale, and more than a bare line.
 */
const struct finding *evidence_finding(const struct evidence *evidence, bool alive);

/* Appends at most `lines` last whole lines of stderr as plain text (buf_add_plain), '\n' between. */
void evidence_tail(const struct evidence *evidence, int lines, struct buf *out);

/*
 * Reads a torch error file (nested {"message":{"message","extraInfo":{"py_callstack","timestamp"}}}
 * or flat {"message","timestamp"}), bounded; at_ns is the file's mtime. Uses the current JSON arena.
 * False if there is nothing usable; *ret is untouched then. A timestamp in the file is in whole
 * seconds and is not used when the mtime is known.
 */
bool evidence_read_error_file(const char *bytes, size_t len, int64_t at_ns, struct finding *ret);

/* True if this text plainly tells the loss of a peer (gloo, NCCL, TCPStore, broken pipe). */
bool evidence_is_echo(const char *text);

/* True if this echo tells that others were silent too long, rather than that they had gone. */
bool evidence_is_timeout(const char *text);

/* The same, of a collective; not of the store. */
bool evidence_is_collective_timeout(const char *text);

/* The word of a kind in documents: "traceback", "exit_code", ... */
const char *evidence_word(enum evidence_kind kind);

#endif
