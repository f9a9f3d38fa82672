/*
 * The event loop: kernel events in, state table, actions out. One thread, one
 * epoll, every deadline absolute. Layer: sys.
 *
 * All times here are nanoseconds since our start (outcome.h), so that what is
 * noted is what is told.
 */
#ifndef RANKINIT_SYS_LOOP_H
#define RANKINIT_SYS_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "model/fsm.h"
#include "model/outcome.h"
#include "model/plan.h"
#include "sys/descendants.h"
#include "sys/prepare.h"
#include "sys/publish.h"
#include "sys/relay.h"
#include "sys/sigset.h"
#include "sys/source.h"
#include "sys/status.h"

struct loop;

/* What the loop keeps of a rank. */
struct loop_rank {
    struct source status; /* tells a failed start; end of file: the program runs */
    struct loop *loop;
    bool group_told; /* its orphaned group has been told to end */
};

struct loop {
    struct source signals; /* first: its handler finds the loop by a cast */
    const struct plan *plan;
    struct rlimit nofile; /* as we found it: the ranks' */
    struct prepared prepared;
    struct outcome outcome;
    struct publish publish;
    struct status status;
    struct relay relay;
    struct descendants descendants;
    struct fsm fsm;
    struct fsm_rank *fsm_ranks;
    struct loop_rank *ranks;
    const struct sigset_inherited *inherited_signals;
    int epoll_fd;
    bool terminal;     /* the one leader has been given our terminal */
    int stop_signal;   /* what the drain tells ranks: the signal that came, or SIGTERM */
    int64_t oom_kills; /* of the cgroup when we started; -1: no counter */
    char *error_text;  /* room for one error file */
};

/*
 * Opens, reserves and prepares all that a run of plan needs; the last place that may simply fail.
 * *loop can be released also on failure. Errors: see prepare.h, relay.h, publish.h.
 */
int loop_init(struct loop *loop, const struct plan *plan, const struct sigset_inherited *signals,
              struct err *err);

/* Runs to the end and delivers the verdict; returns the exit code. Never fails. */
int loop_run(struct loop *loop);

/* Removes what we made and frees everything. */
void loop_release(struct loop *loop);

#endif
