/*
 * The plan: everything that is decided before anything starts. It is made once
 * from argv, environment, spec and facts, and nothing after it reads any of
 * them. Layer: model. This header is the vocabulary of the project.
 */
#ifndef RANKINIT_MODEL_PLAN_H
#define RANKINIT_MODEL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "base/log.h"
#include "base/strvec.h"
#include "model/accelerate.h"
#include "model/devices.h"
#include "model/exit_policy.h"
#include "model/facts.h"
#include "model/limits.h"
#include "model/platform.h"
#include "model/security.h"
#include "model/settings.h"
#include "model/spec.h"

#define PLAN_SIGNALS   65 /* 1..64, indexed by number */
#define PLAN_RANKS_MAX 4096

#define RESTART_TIMES_MAX 256 /* restarts that restart.window can tell apart */

enum plan_mode {
    PLAN_INIT,  /* one process, its environment untouched: a better tini */
    PLAN_FANOUT /* the ranks of this node */
};

enum plan_prefix { PLAN_PREFIX_NEVER, PLAN_PREFIX_TEMPLATE };

/* Which job this is and which part of it runs here. */
struct plan_job {
    const char *id; /* TORCHELASTIC_RUN_ID; "none" unless stated */
    int nnodes;
    int node_rank;
    int nproc;               /* ranks here */
    int world_size;          /* nnodes * nproc */
    int first_rank;          /* node_rank * nproc */
    const char *master_addr; /* NULL in init mode, or where one of many processes does not know */
    int master_port;         /* 0: a free one is chosen, held and given to the ranks late */
    const char *role;
    const char *platform;      /* row that told who we are; "none" */
    const char *platform_told; /* one line: what it gave, what was not used; NULL: nothing */
    struct platform_task task; /* one rank per process: what is there stays, gaps are filled */
};

/* --hydra: see hydra.h. */
struct plan_hydra {
    bool pinned;
    const char *dir; /* hydra.run.dir; NULL: the script's arguments state it */
};

struct plan_stop {
    bool escalate; /* false: init mode without a stated grace; signals only pass */
    bool sweep;    /* what is left when the last leader has ended is told to end too */
    bool group;    /* signals go to process groups instead of leaders */
    int64_t grace_ns;
    int64_t fail_grace_ns;
    int64_t orphan_grace_ns;
    int64_t settle_ns;
    unsigned char rewrite[PLAN_SIGNALS]; /* what to send instead of N; 0: drop */
    bool stops[PLAN_SIGNALS];            /* N starts a drain */
};

/* Until the master is there, on a node other than the first. */
struct plan_wait {
    int64_t length_ns; /* 0: no wait */
    bool tcp;          /* until its port accepts, not only until it has an address */
};

/* When ranks that failed are started again, on one node. */
struct restart_config {
    int max; /* 0: never */
    int64_t backoff_ns;
    int64_t window_ns;     /* older restarts are forgotten; 0: none is */
    int64_t min_uptime_ns; /* a rank that fails sooner, twice in a row, ends it; 0: no such rule */
    bool only_stated;
    bool only[EXIT_CODES], never[EXIT_CODES]; /* by exit code, before it is mapped */
};

/* Where a rank's output goes, stdout first. */
struct plan_sinks {
    bool file[2];    /* to stdout.log, stderr.log */
    bool console[2]; /* false: not shown */
};

struct plan_output {
    bool capture_out, capture_err; /* through pipes of ours */
    struct plan_sinks *sinks;      /* [job.nproc]; NULL: all to the console alone */
    struct strvec duplicates[2];   /* lines with such a text also go to filtered_stdout.log, ... */
    uint64_t file_max_bytes;       /* of a file, then it is rotated once; 0: no limit */
    bool files;                    /* any sink is a file */
    bool tee;                      /* any output was to be tee'd */
    enum plan_prefix prefix;
    const char *prefix_template; /* "[rank ${rank}] " */
    int tail_lines;
    int stdin_local_rank; /* the rank that has our stdin; -1: none */
    bool terminal;        /* hand the controlling terminal to the (one) leader */
};

struct plan_report {
    bool json_line;              /* last line on stderr when the verdict is not succeeded */
    bool page;                   /* text for people on stderr */
    bool quiet;                  /* not on success (-q) */
    bool colour;                 /* of the page: stderr is a terminal that wants it */
    const char *summary;         /* path; NULL: none */
    const char *termination_log; /* path; NULL: none */
    bool termination_log_stated; /* given by the user: failing to open it is worth a notice */
    int max_bytes;               /* of the termination log */
};

/* Where one rank is: what is known of its devices, and the CPUs it is bound to. */
struct plan_place {
    const char *uuids, *bus_ids; /* of its devices, with commas; "": not known of all */
    int numa_node;               /* of its first device, else of its CPUs; -1: unknown */
    bool bound;
    bool own;           /* to CPUs that the spec names for it */
    struct cpuset cpus; /* if bound */
    int memory_node;    /* whose memory it prefers, if bound; -1: any */
    int threads;        /* OMP_NUM_THREADS instead of the plan's; 0: the same */
};

/* What is different for one rank here, by the spec's ranks: (devices.own has its devices). */
struct plan_rank {
    struct strvec argv;      /* instead of the plan's; empty: the same */
    int script_index;        /* as below, in this argv */
    struct strvec env_set;   /* "NAME=value", after the plan's env */
    struct strvec env_unset; /* names */
};

struct plan {
    enum plan_mode mode;
    bool torchrun; /* called under that name */
    struct plan_job job;
    struct strvec argv;  /* of every leader but exceptions: "python", "-u", "train.py", ... */
    struct strvec env;   /* what every leader's environment starts from: inherited, scrubbed,
                              with the spec's env; rankenv adds what differs by rank */
    const char *workdir; /* NULL: stay */
    bool local_rank_arg; /* add --local-rank=N right after the script */
    int script_index;    /* index in argv of the script or module; -1 if unknown */
    struct plan_hydra hydra;
    struct plan_rank *ranks; /* job.nproc of them where ranks differ; NULL: all are the same */
    struct devices devices;
    struct plan_place *places; /* [job.nproc] in fan-out; NULL in init mode */
    int omp_threads;           /* OMP_NUM_THREADS to set when unset; 0: leave alone */
    const char *error_dir;     /* where error files are made; NULL: nowhere, or not wanted */
    bool log_dir_stated;       /* error_dir is the user's --log-dir: must be usable */
    bool keep_run_dir;         /* the folder made there stays: it is the user's, or has output */
    struct plan_stop stop;
    struct plan_wait wait;
    struct limits_config limits;
    struct restart_config restart;
    const char *sysroot; /* where devices are looked at again; "" mostly */
    struct plan_output output;
    struct plan_report report;
    struct security security;
    bool inherit_signals;    /* ranks keep the mask and the ignored set that we were given */
    int parent_death_signal; /* of rankinit itself (-p); 0: none */
    struct exit_policy exit; /* what becomes of the exit code; also set when plan_resolve fails */
    bool warn_reaped;        /* -w */
    enum log_level log_level;
    char host[256];
    pid_t pid;
    bool is_init;
    int64_t memory_limit_bytes;
    int64_t shm_bytes;
    int ephemeral_port_min, ephemeral_port_max;
    struct strvec notices; /* to be said before the start, in order */
    struct strvec texts;   /* owns what the plan points to */
};

struct plan_inputs {
    const char *argv0;
    const char *const *program; /* what argv left over; may be empty */
    const char *const *envp;
    struct settings *settings; /* flags, twins and spec read; the platform's part is added */
    const struct spec *spec;
    const struct accelerate *accelerate; /* NULL: no such file */
    const struct facts *facts;
};

/* True if argv[0] is a path to something called torchrun. */
bool plan_called_torchrun(const char *argv0);

/*
 * Resolves everything. *ret is complete on success and owns copies of all it needs; on failure it
 * is releasable. ERR_USAGE: no PROGRAM. ERR_SPEC, ERR_DEVICES: see platform.h, devices.h.
 */
int plan_resolve(const struct plan_inputs *inputs, struct plan *ret, struct err *err);

/*
 * The least of a plan, when there can be none: who we are and where a refusal is to be told. *ret
 * is releasable.
 */
void plan_refused(const struct plan_inputs *inputs, struct plan *ret);

/* Frees what a plan owns. */
void plan_release(struct plan *plan);

#endif
