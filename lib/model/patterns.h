/*
 * The tables behind evidence: which lines tell a failure without a traceback,
 * which errors are only the loss of a peer, and which lines say nothing about
 * whether a rank works on. Layer: model.
 */
#ifndef RANKINIT_MODEL_PATTERNS_H
#define RANKINIT_MODEL_PATTERNS_H

#include <stdbool.h>

#include "model/span.h"

/* How plainly a text tells the loss of a peer. */
enum echo {
    ECHO_NONE,
    ECHO_GENERIC, /* any connection or pipe: perhaps a peer's */
    ECHO_WAITED,  /* the store waited too long for others */
    ECHO_SILENT,  /* a collective did */
    ECHO_PEER     /* gloo, NCCL or the store lost a peer */
};

/* A line that tells a failure by itself. */
struct fatal {
    bool weak;        /* may well be a log line: an error's name and a message, nothing more */
    struct span type; /* "RuntimeError"; empty if it names none */
    struct span message;
    bool thrown; /* by C++: what() follows on the next line */
};

/* Which loss of a peer the text tells. */
enum echo patterns_echo(struct span text);

/* True if the line is a fatal one; *ret points into it. */
bool patterns_fatal(struct span line, struct fatal *ret);

/*
 * True for fatal lines that begin with a bracket: NCCL's watchdog, a last line of torch's C++ side
 * ("[F1130 ... x.cpp:7] text"), Open MPI ("[host:7] *** ..."); *ret is the part that says so.
 */
bool patterns_bracketed(struct span line, struct span *ret);

/* True if the line is written by a runtime around a failure: no sign that the rank works on. */
bool patterns_is_noise(struct span line);

/* True if a traceback that follows this line is not why the program ends. */
bool patterns_is_harmless_intro(struct span line);

/* True if a frame in this file is the user's own code, not a library's. */
bool patterns_is_user_file(struct span path);

/*
 * Splits "pkg.mod.ValueError: text" or "ValueError" into the last part of the name and the text.
 * False if the line does not look so. (Any dotted name will do: only within a traceback is it
 * certain that it names an exception.)
 */
bool patterns_split_exception(struct span line, struct span *ret_type, struct span *ret_message);

#endif
