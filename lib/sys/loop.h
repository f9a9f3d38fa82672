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
#include "model/limits.h"
#include "model/outcome.h"
#include "model/plan.h"
#include "model/restart.h"
#include "sys/descendants.h"
#include "sys/device_check.h"
#include "sys/logs.h"
#include "sys/prepare.h"
#include "sys/publish.h"
#include "sys/relay.h"
#include "sys/sigset.h"
#include "sys/source.h"
#include "sys/status.h"
#include "sys/wait_master.h"

struct loop;

/* What the loop keeps of a rank. */
struct loop_rank {
    struct source status; /* tells a failed start; end of file: the program runs */
    struct loop *loop;
    bool group_told; /* its orphaned group has been told to end */
    bool stopped;    /* it was left stopped when we last saw it stop */
    bool dead;       /* when its leader was last to be told to end: found dead, though not reaped */
};

struct loop {
    struct source signals; /* first: its handler finds the loop by a cast */
    const struct plan *plan;
    struct rlimit nofile; /* as we found it: the ranks' */
    struct prepared prepared;
    struct logs logs; /* of the present attempt */
    struct outcome outcome;
    struct publish publish;
    struct status status;
    struct relay relay;
    struct descendants descendants;
    struct fsm fsm;
    struct wait_master wait;
    bool waiting;   /* for the master */
    uint64_t early; /* signals that came while no rank was there, by number - 1 */
    struct limits limits;
    struct restart_past past;
    struct device_check devices;
    struct source ready_files; /* inotify(7) of the ranks' folders; its handler finds the loop */
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
