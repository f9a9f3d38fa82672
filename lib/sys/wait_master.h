/*
 * A node other than the first waits until the master's name is there, and, if
 * asked for, until its port accepts: before any rank exists, within the event
 * loop, so that signals and limits are honoured at once. Layer: sys.
 * Times are nanoseconds since our start.
 */
#ifndef RANKINIT_SYS_WAIT_MASTER_H
#define RANKINIT_SYS_WAIT_MASTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/plan.h"
#include "model/waiting.h"
#include "sys/resolve.h"
#include "sys/source.h"

enum wait_state {
    WAIT_PENDING,
    WAIT_READY, /* it is there, or ranks are better off to look for it themselves */
    WAIT_FAILED /* err is filled */
};

enum wait_phase { WAIT_REST, WAIT_LOOK, WAIT_CONNECT };

struct wait_master {
    struct source connection; /* first: its handler finds the rest by a cast */
    const struct plan *plan;
    struct resolve resolve;
    int64_t deadline_ns; /* of all of it */
    int64_t told_ns;     /* when the next progress line is due */
    int64_t next_ns;     /* of the next try, or when this connection has had its time */
    int tries;
    int at; /* the address that is being connected */
    enum wait_phase phase;
    bool connected;
    enum waiting_cause cause; /* of the last try that ended */
};

/* True if this node is to wait at all. */
bool wait_master_wanted(const struct plan *plan);

/* Begins to wait at now_ns. */
void wait_master_begin(struct wait_master *wait, const struct plan *plan, int epoll_fd,
                       int64_t now_ns);

/*
 * Goes on; to be called after every wake-up. A progress line that is due is appended to *progress.
 * WAIT_FAILED with ERR_MASTER or ERR_SYSTEM.
 */
enum wait_state wait_master_tick(struct wait_master *wait, int64_t now_ns, struct buf *progress,
                                 struct err *err);

/* When tick has something to do without input; INT64_MAX if not at all. */
int64_t wait_master_deadline(const struct wait_master *wait, int64_t now_ns);

/* Ends it, done or not. */
void wait_master_end(struct wait_master *wait);

#endif
