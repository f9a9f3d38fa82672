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
 *     relay.c         opening, input, deadlines
 *     relay_end.c     what happens when all ranks have ended
 *     relay_read.c    pipe -> evidence and ring
 *     relay_write.c   ring -> console: turns, prefixes, short writes
 *     relay_splice.c  pipe -> console, where nothing stands before lines
 *     relay_files.c   what also, or only, goes to files (logs.h)
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
#define RELAY_BULK       262144
#define RELAY_BLOCK      65536 /* lines with their prefixes, to be written at once */
#define RELAY_WIDE_MAX   64    /* streams up to which their pipes are made as large as the bulk */
#define RELAY_MOVE_MIN   32768 /* below, reading and writing is cheaper than splicing */
#define RELAY_PARTIAL_NS 200000000LL
#define RELAY_REDRAWN_NS 1000000000LL

struct logs;
struct relay;

struct relay_stream {
    struct source source; /* read end; non-blocking */
    struct relay *relay;
    struct console *outlet;  /* our stdout or stderr */
    struct console *console; /* the same, or nowhere: not shown, to a file at most */
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
    size_t due;         /* at our end: bytes that were in the pipe then and are not read yet */
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
    bool heard; /* it has written something */
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
    struct console nowhere;     /* of streams that are not shown */
    struct logs *logs;          /* files of the ranks; NULL: none */
    struct relay_rank *ranks;
    struct relay_stream *streams; /* [count]: two per rank, stdout first */
    int count;
    char *rings; /* memory of all rings and of the bulk */
    size_t rings_size;
    char *bulk;                          /* [RELAY_BULK] */
    char *block;                         /* [RELAY_BLOCK]; NULL: no prefixes */
    const struct relay_stream *borrower; /* who has the bulk now; NULL: nobody */
    const struct relay_stream *looked;   /* whose pipe's head is in the bulk; NULL: nobody's */
    size_t looked_at, looked_len;        /* where in the bulk */
    int scratch[2];                      /* pipe for looking at unread bytes */
    int next;                            /* whose turn it is: fairness */
    uint64_t taken;                      /* bytes that have left for a console or a file */
    int64_t heard_ns;                    /* the last output of any rank */
    bool fresh_heard; /* a rank has written its first output; the loop resets it */
    bool cause_seen;  /* a living rank's evidence has changed; the loop resets it */
};

/*
 * Opens the consoles, reserves and touches rings for the plan's captured streams, and makes the
 * log's lines go through the stderr console. ERR_SYSTEM on lack of memory or descriptors; relay
 * can be released then.
 */
int relay_init(struct relay *relay, const struct plan *plan, struct outcome *outcome, int epoll_fd,
               struct err *err);

/*
 * From now on what the plan sends to files is put into these (not owned). Whose file is given up,
 * or was not made, is shown on the console instead.
 */
void relay_use_files(struct relay *relay, struct logs *logs);

/*
 * Makes the pipes of a rank. ret_write_ends[0], [1] are for its stdout and stderr (close-on-exec;
 * owned by the caller, who closes them after the fork), or -1 where the stream is not captured.
 */
int relay_open_rank(struct relay *relay, int local_rank, int ret_write_ends[2], struct err *err);

/* Another attempt begins, after all streams of the last one: prefixes say so. */
void relay_renew(struct relay *relay, int attempt);

/*
 * The rank has been reaped: shows evidence all that its pipes hold, also where a stalled console
 * keeps it from being relayed now. What comes later is relayed, but is not the rank's word.
 */
void relay_rank_ended(struct relay *relay, int local_rank, int64_t now_ns);

/* True if a rank waits for us to read, as our own reader does not: its silence is ours. */
bool relay_is_blocked(const struct relay *relay);

/* When relay_tick has something to do without input; INT64_MAX if never. */
int64_t relay_deadline(const struct relay *relay);

/* Passes on unfinished lines whose time has come and whatever the consoles take. */
void relay_tick(struct relay *relay, int64_t now_ns);

/* How long the end waits for readers. */
struct relay_wait {
    int64_t patience_ns; /* for one that takes nothing */
    int64_t deadline_ns; /* in all */
};

/*
 * The last act for the ranks: writes what is pending, waiting for slow readers as told, and closes
 * their pipes. An unfinished line stays as it is unless a line of ours follows. What cannot be
 * written is lost; false then. relay->now_ns is the present time afterwards.
 */
bool relay_finish(struct relay *relay, struct relay_wait wait);

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

/* Shows evidence these bytes, the next of the pipe, but those that it has seen already. */
void relay_show(struct relay_stream *stream, const char *bytes, size_t len, int64_t now_ns);

/*
 * Moves much of the pipe straight to the console, if it can be moved (relay_splice.c). Returns the
 * bytes moved, 0 if the plain way is to be taken.
 */
size_t relay_move(struct relay_stream *stream, int64_t now_ns);

/* Bytes were taken from the head of the pipe (relay_splice.c). */
void relay_note_taken(struct relay_stream *stream, size_t len);

/* Nothing is tried until the console can be written again (relay_write.c). */
void relay_stall(struct relay *relay, struct console *console);

/* These bytes have gone from the pipe to the console (relay_write.c). */
void relay_note_moved(struct relay_stream *stream, const char *bytes, size_t len, int64_t now_ns);

/* The console can be written again (relay.c). */
void relay_end_stall(struct relay *relay, struct console *console, int64_t now_ns);

/* The rank has written something (relay_read.c). */
void relay_note_heard(struct relay_stream *stream, int64_t now_ns);

/* Bytes in the stream's pipe (relay_read.c). */
size_t relay_unread(const struct relay_stream *stream);

/* Shows evidence what the pipe holds without taking it out (relay_read.c). */
void relay_show_unread(struct relay_stream *stream, int64_t now_ns);

/* Stops reading and closes the pipe; what is in the ring still goes out (relay_read.c). */
void relay_end_stream(struct relay_stream *stream, int64_t now_ns);

/* Watches for input if there is room for it (relay_read.c). */
void relay_watch_stream(struct relay_stream *stream);

/* The console's reader has left: ends its streams and forgets what waits (relay_read.c). */
void relay_end_console(struct relay *relay, struct console *console, int64_t now_ns);

/* Puts fresh bytes, the last of the buffer, into files; forgets them if not shown (relay_files.c). */
void relay_keep(struct relay_stream *stream, const char *bytes, size_t len, int64_t now_ns);

/* Decides whether the stream is shown, by the plan and by what has become of its file and console. */
void relay_choose_console(struct relay_stream *stream);

/* True if what the stream brings goes to a file now (relay_files.c). */
bool relay_is_filed(const struct relay_stream *stream);

/* Forgets what waits for the console and shows nothing more of the stream (relay_files.c). */
void relay_hide(struct relay_stream *stream);

/* The stream has ended: nothing more comes for its file (relay_files.c). */
void relay_end_file(struct relay_stream *stream);

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
