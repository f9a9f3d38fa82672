/*
 * Everything that may still simply fail, before the first fork: argument lists,
 * environments, where the programs are, error files, the held port, limits.
 * Layer: sys.
 */
#ifndef RANKINIT_SYS_PREPARE_H
#define RANKINIT_SYS_PREPARE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "base/strvec.h"
#include "model/plan.h"
#include "sys/confine.h"

#define PREPARE_PID_DIGITS 10

/* --cpu-bind, as the kernel wants it. */
struct prepared_bind {
    const struct cpuset *cpus; /* the plan's; NULL: not bound */
    bool prefer_memory;
    unsigned long memory_nodes[16]; /* 1024, as many as the kernel can have */
};

/* Where in env stands what the next attempt changes; NULL: nothing will, or it is not ours to say. */
struct prepared_slots {
    char *port, *restarts, *attempt, *error_file, *ready_file;
};

struct prepared_rank {
    struct strvec argv;
    struct strvec env;
    struct strvec paths;  /* what to try to execute, in order */
    struct strvec script; /* argv for a shell that runs a script without "#!"; empty: none */
    char *listen_pid;     /* in env: where the child writes its own pid (sd_listen_fds(3)); NULL */
    struct prepared_bind bind;
    struct prepared_slots slots;
    int error_fd;              /* our own view of its error file; -1: none */
    char dir[PATH_MAX];        /* its own, for these two; empty: none */
    char error_path[PATH_MAX]; /* empty: none */
    char ready_path[PATH_MAX]; /* RANKINIT_THIS_READY_FILE, which it may make; empty: none */
};

struct prepared {
    int count;
    struct prepared_rank *ranks;
    int port;    /* the rendezvous port of this run */
    int port_fd; /* holds it; -1 if a stated one is used */
    struct confine confine;
    int null_fd;            /* /dev/null for ranks without stdin; -1 if there is none */
    char run_dir[PATH_MAX]; /* where the error files are; empty: none */
    bool keep_run_dir;      /* --log-dir: it is the user's */
    int attempt;            /* whose folder is there; -1: none yet */
};

/*
 * Raises our own soft limit of descriptors as far as we may, for each rank costs us a few; first of
 * all, since a small one would stop us before. *ret_inherited is what ranks get back.
 */
void prepare_limits(struct rlimit *ret_inherited);

/*
 * Prepares for plan into *ret, which is releasable also on failure. ERR_PORT, ERR_SPEC (a --log-dir
 * that cannot be used), ERR_SYSTEM. An unwritable scratch directory only means no error files.
 */
int prepare_all(const struct plan *plan, struct prepared *ret, struct err *err);

/*
 * Prepares the next attempt, once nothing of the last one runs: needs no memory. ERR_PORT,
 * ERR_SYSTEM.
 */
int prepare_again(const struct plan *plan, struct prepared *prepared, int attempt, struct err *err);

/* Removes the run directory unless it is to be kept. Never follows a link out of it. */
void prepare_clean(struct prepared *prepared);

/* Frees and closes everything. */
void prepare_release(struct prepared *prepared);

#endif
