/*
 * Signals as data: all blocked first thing, read from a descriptor later, and a
 * clean slate for children. Raw system calls, since glibc hides 32 and 33 from
 * its own sets. Layer: sys.
 */
#ifndef RANKINIT_SYS_SIGSET_H
#define RANKINIT_SYS_SIGSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What we inherited, for ranks that are to inherit it too. */
struct sigset_inherited {
    uint64_t mask;
    bool child_ignored; /* SIGCHLD was ignored */
};

/*
 * Blocks every signal and sets SIGCHLD to its default: inherited as ignored, it would make children
 * vanish without a status. The first thing main does: from here on a TERM is data, never a race.
 */
void sigset_block(struct sigset_inherited *ret);

/* A non-blocking close-on-exec signalfd(2) for every signal; -1 and ERR_SYSTEM on failure. */
int sigset_open(struct err *err);

/*
 * In a child: every disposition becomes the default. Async-signal-safe; signals stay blocked.
 */
void sigset_child_defaults(void);

/* In a child that keeps what we inherited: only SIGCHLD was changed by us. */
void sigset_child_keep(const struct sigset_inherited *inherited);

/* In a child, last before exec: the mask becomes `mask`; what is pending and not in it strikes now. */
void sigset_child_unblock(uint64_t mask);

#endif
