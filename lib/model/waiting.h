/*
 * Waiting for the master: how long between two tries, what kept it, and what
 * that means when the time is over. Layer: model.
 */
#ifndef RANKINIT_MODEL_WAITING_H
#define RANKINIT_MODEL_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/plan.h"

/* What kept the last try from success. */
enum waiting_cause {
    WAITING_UNKNOWN,     /* no try has ended */
    WAITING_NO_NAME,     /* name servers say that there is no such name, or no address for it */
    WAITING_NO_SERVER,   /* no name server could be asked, or none has answered */
    WAITING_SERVER,      /* they answered, but with a failure of theirs */
    WAITING_REFUSED,     /* the host is there, nobody listens */
    WAITING_SILENT,      /* nothing comes back: a packet filter, or a host that is down */
    WAITING_UNREACHABLE, /* the network says that there is no way */
    WAITING_OTHER,
    WAITING__CAUSES
};

/* Nanoseconds until try number `tries` (from 1): growing to 5 s, a fifth more or less by `dice`. */
int64_t waiting_pause(int tries, unsigned dice);

/* The cause of a failed connect(2). */
enum waiting_cause waiting_of_errno(int errnum);

/* "no such name", ... */
const char *waiting_word(enum waiting_cause cause);

/*
 * True if there is no point in waiting: nsswitch.conf (its text; "": there is none) has modules for
 * hosts that only the ranks' own resolver can ask, and so may know the name all the same.
 */
bool waiting_knows_other_modules(const char *nsswitch);

/* Appends "waiting for the master job-0: no such name". */
void waiting_sentence(const struct plan *plan, enum waiting_cause cause, struct buf *out);

/*
 * The time is over. -1 with ERR_MASTER if the master surely cannot be reached; 0 if it only could not
 * be asked for: ranks may know better, and *ret_notice says so.
 */
int waiting_give_up(const struct plan *plan, enum waiting_cause cause, struct buf *ret_notice,
                    struct err *err);

#endif
