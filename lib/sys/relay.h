/*
 * Ranks' output through us: one pipe and one fixed ring per rank and stream,
 * whole lines to the console, every byte kept, and every line shown to the
 * rank's evidence on the way. Layer: sys.
 *
 * Back-pressure: when the console stalls, rings fill and pipes are no longer
 * read; signals, deadlines and the verdict never wait for it. While it does not
 * stall, one large buffer goes from stream to stream, so that much output needs
 * few system calls. A line longer
 * than the ring goes out in pieces that no other rank's line interrupts. An
 * unfinished line is passed on after RELAY_PARTIAL_NS of silence (a prompt must
 * be seen) and closed with a newline before another rank's line. A line that is
 * redrawn ('\r': a progress bar) never falls silent: it is passed on just as
 * soon, and may be closed before another's line after RELAY_REDRAWN_NS.
 *
 * A rank's output is complete when it has been reaped and its pipes read empty,
 * never by waiting for EOF (a daemon may hold them): evidence is closed then,
 * and relay_finish waits for nothing else. What it left behind (a program whose
 * shell died first) can write until then. When the console's reader has gone,
 * that stream's pipes are closed, so that ranks get SIGPIPE or EPIPE as they
 * would without us.
 *
 * All times are nanoseconds since our start (outcome.h).
 *
 *     relay.c         opening, ending, deadlines
 *     relay_read.c    pipe -> evidence and ring
 *     relay_write.c   ring -> console: turns, prefixes, short writes
 *     relay_prefix.c  the template
 */
#ifndef RANKINIT_SYS_RELAY_H
#define RANKINIT_SYS_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/evidence.h"
#include "model/outcome.h"
#include "model/plan.h"
#include "sys/console.h"
#include "sys/relay_prefix.h"
#include "sys/source.h"

#define RELAY_RING       8192
#define RELAY_BULK       65536
#define RELAY_PARTIAL_NS 200000000LL
#define RELAY_REDRAWN_NS 1000000000LL

struct relay;

struct relay_stream {
    struct source source; /* read end; non-blocking */
    struct relay *relay;
    struct console *console;
    enum evidence_stream which;
    int local_rank;
    char *ring;         /* [RELAY_RING]; NULL: not captured */
    char *buffer;       /* the ring, or the relay's bulk while it is lent to this stream */
    size_t size;        /* of buffer */
    size_t start, len;  /* of what waits for the console in buffer */
    size_t lines;       /* of it, up to the last newline */
    size_t seam;        /* of it, what an earlier attempt has left: ends its line */
    size_t prefix_done; /* of the prefix of the line that is being written */
    int64_t prefix_ms;  /* the time in that prefix */
    size_t judged;      /* bytes in the pipe that evidence has seen already (by tee(2)) */
    int64_t last_input_ns;
    int64_t said_ns;  /* when the rank last wrote here; 0: never */
    int64_t line_ns;  /* when the unfinished line began */
    int64_t owned_ns; /* since when the cursor is in a line of ours */
    bool midline;     /* the last byte read was no newline */
    bool redrawn;     /* there is a '\r' in the unfinished line */
    bool shown;       /* evidence has seen all that the rank wrote here */
    bool ended;       /* no more input will be read */
};

struct relay_rank {
    struct relay_prefix prefix;
    struct evidence *evidence;
    enum evidence_kind seen_kind; /* of the finding that last set cause_seen */
    int64_t seen_ns;
    bool ended; /* reaped */
    bool told;  /* evidence_end has been called */
};

struct relay {
    int epoll_fd;
    int64_t epoch_ns;    /* source_clock() of our start; set by relay_init */
    int64_t now_ns;      /* of the last call that came with a time */
    int64_t deadline_ns; /* no unfinished line's time comes before this */
    const struct plan *plan;
    struct console consoles[2]; /* stdout, stderr */
    struct console *out, *err;  /* the same one if both go to the same place */
    struct relay_rank *ranks;
    struct relay_stream *streams; /* [count]: two per rank, stdout first */
    int count;
    char *rings; /* memory of all rings and of the bulk */
    size_t rings_size;
    char *bulk;                          /* [RELAY_BULK] */
    const struct relay_stream *borrower; /* who has the bulk now; NULL: nobody */
    int scratch[2];                      /* pipe for looking at unread bytes */
    int next;                            /* whose turn it is: fairness */
    bool cause_seen; /* a living rank's evidence has changed; the loop resets it */
};

/*
 * Opens the consoles, reserves and touches rings for the plan's captured streams, and makes the
 * log's lines go through the stderr console. ERR_SYSTEM on lack of memory or descriptors; relay
 * can be released then.
 */
int relay_init(struct relay *relay, const struct plan *plan, struct outcome *outcome, int epoll_fd,
               struct err *err);

/*
 * Makes the pipes of a rank. ret_write_ends[0], [1] are for its stdout and stderr (close-on-exec;
 * owned by the caller, who closes them after the fork), or -1 where the stream is not captured.
 */
int relay_open_rank(struct relay *relay, int local_rank, int ret_write_ends[2], struct err *err);

/*
 * The rank has been reaped: shows evidence all that its pipes hold, also where a stalled console
 * keeps it from being relayed now. What comes later is relayed, but is not the rank's word.
 */
void relay_rank_ended(struct relay *relay, int local_rank, int64_t now_ns);

/* When relay_tick has something to do without input; INT64_MAX if never. */
int64_t relay_deadline(const struct relay *relay);

/* Passes on unfinished lines whose time has come and whatever the consoles take. */
void relay_tick(struct relay *relay, int64_t now_ns);

/*
 * The last act for the ranks: writes what is pending, waiting for stalled consoles at most until
 * deadline_ns, and closes their pipes. An unfinished line stays as it is unless a line of ours
 * follows. What cannot be written is lost.
 */
void relay_finish(struct relay *relay, int64_t deadline_ns);

/* Writes text of ours as the last of stderr, waiting at most until deadline_ns; more may follow. */
void relay_last_line(struct relay *relay, const char *line, size_t len, int64_t deadline_ns);

/* Closes and frees everything, and hands the log back to descriptor 2. */
void relay_release(struct relay *relay);

/*
 * Between the parts of the relay; nobody else's.
 */

/*
 * Reads once what there is room for, the bulk's if that is free (relay_read.c); returns the bytes
 * read. Ends at end of file.
 */
size_t relay_read(struct relay_stream *stream, int64_t now_ns);

/* Shows evidence what the pipe holds without taking it out (relay_read.c). */
void relay_show_unread(struct relay_stream *stream, int64_t now_ns);

/* Stops reading and closes the pipe; what is in the ring still goes out (relay_read.c). */
void relay_end_stream(struct relay_stream *stream, int64_t now_ns);

/* Watches for input if there is room for it (relay_read.c). */
void relay_watch_stream(struct relay_stream *stream);

/* The console's reader has left: ends its streams and forgets what waits (relay_read.c). */
void relay_end_console(struct relay *relay, struct console *console, int64_t now_ns);

/* Gives the bulk back if what waits fits in the ring (relay_read.c). */
void relay_give_back(struct relay_stream *stream);

/* Writes what this stream may write now: at most its buffer (relay_write.c). */
void relay_turn(struct relay_stream *stream, int64_t now_ns);

/* Gives turns to all streams of a console, as long as it takes anything (relay_write.c). */
void relay_round(struct relay *relay, struct console *console, int64_t now_ns);

/* Writes the console's queued lines of ours, if a line of ours may begin (relay_write.c). */
void relay_flush_own(struct relay *relay, struct console *console, int64_t now_ns);

/* Makes relay_deadline at most this (relay_write.c). */
void relay_note_deadline(struct relay *relay, int64_t deadline_ns);

/* Notes when this stream's unfinished line is to be passed on (relay_write.c). */
void relay_note_partial(struct relay_stream *stream);

/* Notes when the unfinished line under the cursor may be closed for those who wait (relay_write.c). */
void relay_note_owner(struct relay *relay, const struct console *console);

#endif
