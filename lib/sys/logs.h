/*
 * The files that ranks' output goes to (-r, -t), in torchrun's layout below the
 * folder of the run: attempt_<n>/<local_rank>/stdout.log and stderr.log, and
 * attempt_<n>/filtered_stdout.log and filtered_stderr.log for lines that are
 * wanted twice. Layer: sys.
 *
 * Bytes are written as they came, without prefixes. Everything is opened by
 * directory descriptors, new, and through no link: ranks may write here. A file
 * that cannot be written any more is told once and given up; nobody waits for it.
 * (A file system that hangs does hold us up: the kernel has no other way.)
 */
#ifndef RANKINIT_SYS_LOGS_H
#define RANKINIT_SYS_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/plan.h"

#define LOGS_LINE_MAX 4096 /* of a line that is looked at for texts; longer ones in pieces */

/* One file of a rank. */
struct logs_file {
    int fd;             /* -1: none, or given up */
    uint64_t size;      /* written since it was opened or rotated */
    bool midline;       /* the last byte was no newline */
    int64_t checked_ns; /* when it was last seen to be there still */
};

struct logs_rank {
    int dir_fd;
    struct logs_file files[2]; /* stdout, stderr */
    char *pending[2];          /* [LOGS_LINE_MAX] unfinished line; NULL: no line is wanted twice */
    size_t pending_len[2];
};

struct logs {
    const struct plan *plan;
    int run_fd;              /* the folder of the run; -1: nothing goes to files */
    int attempt_fd;          /* attempt_<n> */
    struct logs_rank *ranks; /* [plan->job.nproc]; NULL: nothing goes to files */
    struct logs_file filtered[2];
};

/* One stream of one rank. */
struct logs_spot {
    int local_rank;
    int stream; /* 0: stdout, 1: stderr */
};

/*
 * Reserves what is needed for plan's files in run_dir (made before, not inspected again); nothing
 * if the plan has none. Releasable also on failure. ERR_SYSTEM: memory; ERR_SPEC: run_dir cannot be
 * opened.
 */
int logs_init(struct logs *logs, const struct plan *plan, const char *run_dir, struct err *err);

/*
 * Opens a fresh set of files for an attempt (from 0); those of the attempt before are closed. On
 * failure (ERR_SPEC, naming the file) there are none: a first attempt can be refused, a later one
 * can go on with the console alone.
 */
int logs_open(struct logs *logs, int attempt, struct err *err);

/* True if what is written to this stream goes to a file now; logs may be NULL: no. */
bool logs_has(const struct logs *logs, struct logs_spot spot);

/*
 * Appends bytes to the stream's file, if there is one, rotating it where the plan says so; now_ns is
 * any clock's. A write that fails is told and gives the file up.
 */
void logs_put(struct logs *logs, struct logs_spot spot, const char *bytes, size_t len,
              int64_t now_ns);

/* A text that stands before a line. */
struct logs_prefix {
    const char *text;
    size_t len;
};

/* True if lines of this stream are wanted twice; logs may be NULL: no. */
bool logs_wants_lines(const struct logs *logs, struct logs_spot spot);

/* Looks for wanted lines in the next bytes; those that are complete are written behind prefix. */
void logs_filter(struct logs *logs, struct logs_spot spot, struct logs_prefix prefix,
                 const char *bytes, size_t len);

/* The stream has ended: what is left of its last line is a line; says if its file was removed. */
void logs_end(struct logs *logs, struct logs_spot spot, struct logs_prefix prefix);

/* How many of these bytes still go to a file with this room left; see logs.c. Pure. */
size_t logs_cut(const char *bytes, size_t len, uint64_t room, bool midline);

/* Closes and frees everything; the files stay. */
void logs_release(struct logs *logs);

#endif
