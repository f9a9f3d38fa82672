/*
 * Our own stdout and stderr as seen by the relay: written without ever blocking
 * and without changing the nature of what we inherited (siblings share it).
 * Layer: sys.
 *
 * O_NONBLOCK is never set on an inherited description: a pipe or terminal is
 * reopened through /proc/self/fd/N with its own description; where that fails
 * we poll and write at most PIPE_BUF; a socket is sent to with MSG_DONTWAIT; a
 * file is written plainly.
 */
#ifndef RANKINIT_SYS_CONSOLE_H
#define RANKINIT_SYS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sys/source.h"

#define CONSOLE_OWN_MAX 8192
#define CONSOLE_PIPE    262144 /* bytes that a pipe of ours should hold */

enum console_kind {
    CONSOLE_CLOSED,
    CONSOLE_OWN_OPEN,
    CONSOLE_POLLED,
    CONSOLE_SOCKET,
    CONSOLE_FILE
};

struct console {
    struct source source; /* ready when it can be written again */
    enum console_kind kind;
    bool gone; /* the reader has left (EPIPE, EIO): nothing is written any more */
    bool terminal;
    bool pipe;                 /* written through a description of our own */
    int failed;                /* errno of a write that lost bytes (a full disk); 0: none */
    bool failed_told;          /* the relay has said so */
    bool crowded;              /* the relay's: a stream waits for its turn */
    const void *line_owner;    /* whose unfinished line the cursor is in; NULL: at a line start */
    char own[CONSOLE_OWN_MAX]; /* rankinit's own lines that wait for room */
    size_t own_len;
    unsigned own_lost; /* lines that found no room */
};

/* Opens *console over descriptor fd (1 or 2), which stays as it is. A closed fd gives CLOSED. */
void console_open(struct console *console, int fd);

/* True if both write to the same file, pipe or terminal. */
bool console_same(const struct console *a, const struct console *b);

/*
 * Writes what can be written now; returns the bytes taken, 0 if it would block, -1 if nobody reads
 * any more (gone is set then). CLOSED and gone consoles take everything and drop it, and so does a
 * file that cannot be written (failed is set then).
 */
ssize_t console_write(struct console *console, const char *bytes, size_t len);

/*
 * Queues one line of rankinit's own; it goes out at the next line start (now, if this is one), or
 * is counted as lost. Never blocks.
 */
void console_say(struct console *console, const char *line, size_t len);

/* Writes queued own lines as far as possible; true if none waits any more. */
bool console_flush_own(struct console *console);

/* How many bytes are worth offering to console_write at once. */
size_t console_chunk(const struct console *console);

/* Waits at most timeout_ms until it can be written. */
bool console_wait(const struct console *console, int timeout_ms);

/* Closes what we opened. */
void console_close(struct console *console);

#endif
