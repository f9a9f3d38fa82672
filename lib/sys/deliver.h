/*
 * Brings documents to where they are read: the termination log in place, the
 * summary file by rename. Failures are notices, never a changed verdict.
 * Everything is opened at start. Layer: sys.
 */
#ifndef RANKINIT_SYS_DELIVER_H
#define RANKINIT_SYS_DELIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "model/plan.h"

#define DELIVER_LOG_MAX 4096

struct deliver {
    int log_fd;                    /* termination log; -1: none */
    char written[DELIVER_LOG_MAX]; /* what we last wrote there: anything else is somebody else's */
    size_t written_len;
    int summary_dir;          /* directory of the summary file; -1: none */
    const char *summary_name; /* last part of its path; the plan's memory */
};

/*
 * Opens what the plan names: the termination log (O_NOFOLLOW, O_CLOEXEC, regular file, flock'd: a
 * nested or exec'd run finds it locked and leaves it alone; no lock support is a notice), the
 * directory of the summary file. ERR_SPEC only for a --summary directory that does not exist or
 * cannot be opened; all else is a notice.
 */
int deliver_open(struct deliver *deliver, const struct plan *plan, struct err *err);

/*
 * Copies what somebody else has put into the termination log since our last write into *foreign
 * (plain text, its head), empty if nobody has.
 */
void deliver_foreign(const struct deliver *deliver, struct buf *foreign);

/* Writes a document in place: pwrite, then ftruncate (bind mount: no rename). */
void deliver_log(struct deliver *deliver, const char *bytes, size_t len);

/* Writes the summary file: temporary file in its directory, then rename. */
void deliver_summary(const struct deliver *deliver, const char *bytes, size_t len);

/* Closes everything. */
void deliver_close(struct deliver *deliver);

#endif
