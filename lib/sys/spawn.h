/*
 * Fork to exec: one rank. All that may fail or allocate was done before; the
 * child only walks its stages with async-signal-safe calls, and if one fails
 * writes {stage, errno} into a close-on-exec pipe, so that a start that failed
 * is never mistaken for an exit code. Layer: sys.
 */
#ifndef RANKINIT_SYS_SPAWN_H
#define RANKINIT_SYS_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "model/outcome.h"
#include "sys/confine.h"
#include "sys/prepare.h"
#include "sys/sigset.h"

struct spawn_request {
    const struct prepared_rank *program;
    const struct confine *confine;          /* what it may do */
    const struct rlimit *nofile;            /* its limit of descriptors */
    const char *workdir;                    /* NULL: stay */
    int stdio[3];                           /* descriptors to become 0, 1, 2; -1: as inherited */
    bool terminal;                          /* take the controlling terminal, best effort */
    bool no_terminal;                       /* have none, best effort */
    const struct sigset_inherited *signals; /* to be kept by the program; NULL: a clean slate */
    bool die_with_parent;                   /* PR_SET_PDEATHSIG SIGKILL; not when we are PID 1 */
};

/*
 * What the child writes when a stage fails: eight bytes, one write. After one that is not fatal it
 * goes on, and more may come.
 */
struct spawn_failure {
    int stage; /* enum spawn_stage */
    int errnum;
};

/* False for a stage whose failure is only worth a notice: limits, CPUs, memory, scores. */
bool spawn_stage_is_fatal(enum spawn_stage stage);

/*
 * Starts the program as leader of its own process group. *ret_pid is its pid; *ret_status_fd (owned
 * by the caller, non-blocking) reads structs spawn_failure, or end of file once the program runs.
 * ERR_SYSTEM if no pipe or process could be made.
 */
int spawn_rank(const struct spawn_request *request, pid_t *ret_pid, int *ret_status_fd,
               struct err *err);

#endif
