/*
 * What we publish about ourselves while we run, for --status and --probe: a page
 * (report/status.h) in a memfd that is sealed against shrinking, growing and,
 * where the kernel can, writing by others. No socket and no file: it works on a
 * read-only root, and the kernel lets only our own user (or root) open it, through
 * /proc/PID/fd. Layer: sys.
 */
#ifndef RANKINIT_SYS_STATUS_H
#define RANKINIT_SYS_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "model/fsm.h"
#include "model/outcome.h"
#include "model/plan.h"
#include "report/status.h"
#include "sys/relay.h"

#define STATUS_MEMFD "rankinit-status"

struct status {
    int fd;                   /* close-on-exec: ranks do not get it; -1: nothing is published */
    struct status_page *page; /* shared memory; NULL likewise */
    size_t size;
};

/*
 * Makes the page for a plan's ranks and touches it; start_ns is the CLOCK_MONOTONIC of our start.
 * Where the kernel refuses, nothing is published: told at -v, never a failure.
 */
void status_open(struct status *status, const struct plan *plan, int64_t start_ns);

/* Writes the page anew. No system call, no memory; nothing if there is no page. */
void status_publish(const struct status *status, const struct outcome *outcome,
                    const struct relay *relay, const struct fsm *fsm);

/* Unmaps and closes it. */
void status_close(struct status *status);

#endif
