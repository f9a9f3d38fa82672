/*
 * The option table: every setting of rankinit is one row, and the parser, the
 * help text, the RANKINIT_* twins, the PET_* names, the spec keys and the checks
 * of values all come from it. Layer: model.
 *
 * Adding an option: one id here, one row in option_rows.c, one test.
 */
#ifndef RANKINIT_MODEL_OPTIONS_H
#define RANKINIT_MODEL_OPTIONS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum option_id {
    /* which ranks */
    OPT_NPROC_PER_NODE,
    OPT_NNODES,
    OPT_NODE_RANK,
    OPT_MASTER_ADDR,
    OPT_MASTER_PORT,
    OPT_RDZV_BACKEND,
    OPT_RDZV_ENDPOINT,
    OPT_RDZV_ID,
    OPT_RDZV_CONF,
    OPT_STANDALONE,
    OPT_LOCAL_ADDR,
    OPT_ROLE,
    OPT_RANK_MEANS,
    OPT_INIT_ONLY,
    OPT_SPEC,
    OPT_ACCELERATE_CONFIG,
    /* what runs */
    OPT_MODULE,
    OPT_NO_PYTHON,
    OPT_RUN_PATH,
    OPT_LOCAL_RANK_ARG,
    OPT_USE_ENV,
    OPT_HYDRA,
    OPT_KEEP_ENV,
    OPT_WORKDIR, /* spec only */
    /* devices and CPUs */
    OPT_DEVICE_MODE,
    OPT_GPUS_PER_RANK,
    OPT_DEVICES,
    OPT_VENDOR,
    OPT_DEVICE_SHARE,
    OPT_VIRTUAL_LOCAL_RANK,
    OPT_CPU_BIND,
    OPT_NUMA_BINDING,
    OPT_THREADS,
    /* waiting, stopping, restarting */
    OPT_WAIT_MASTER,
    OPT_WAIT_CHECK,
    OPT_GRACE,
    OPT_SHUTDOWN_TIMEOUT,
    OPT_FAIL_GRACE,
    OPT_ORPHAN_GRACE, /* spec only */
    OPT_SETTLE,
    OPT_STOP_SCOPE,
    OPT_REWRITE,
    OPT_SIGNALS_TO_HANDLE,
    OPT_MAX_RESTARTS,
    OPT_RESTART_BACKOFF, /* spec only, as the next four */
    OPT_RESTART_WINDOW,
    OPT_RESTART_MIN_UPTIME,
    OPT_RESTART_ONLY,
    OPT_RESTART_NEVER,
    OPT_TIMEOUT,
    OPT_IDLE_TIMEOUT,
    OPT_START_TIMEOUT,
    OPT_MONITOR_INTERVAL,
    OPT_START_METHOD,
    OPT_EVENT_LOG_HANDLER,
    /* output */
    OPT_CAPTURE,
    OPT_LOG_PREFIX,
    OPT_LOG_DIR,
    OPT_REDIRECTS,
    OPT_TEE,
    OPT_LOCAL_RANKS_FILTER,
    OPT_DUPLICATE_STDOUT_FILTERS,
    OPT_DUPLICATE_STDERR_FILTERS,
    OPT_LOGS_SPECS,
    OPT_OUTPUT_MAX_BYTES, /* spec only */
    /* verdict */
    OPT_REPORT,
    OPT_SUMMARY,
    OPT_TERMINATION_LOG,
    OPT_TAIL_LINES,
    OPT_MAX_BYTES,
    OPT_EXIT_MAP,
    OPT_EXIT_PRESET,
    OPT_STOP_EXIT,
    OPT_OOM,
    /* privileges */
    OPT_USER,
    OPT_CAP_DROP,
    OPT_CAP_KEEP,
    OPT_NO_NEW_PRIVS,
    OPT_SECCOMP,
    OPT_SECCOMP_ALLOW, /* spec only, as the next one */
    OPT_SECCOMP_DENY,
    OPT_RLIMIT,
    OPT_OOM_SCORE_ADJ, /* spec only, as the next two */
    OPT_UMASK,
    OPT_NICE,
    OPT_INHERIT_SIGNALS,
    /* tini's */
    OPT_SUBREAPER,
    OPT_KILL_GROUP,
    OPT_WARN_REAPED,
    OPT_PARENT_DEATH_SIGNAL,
    OPT_EXIT_ZERO,
    /* asking */
    OPT_PLAN,
    OPT_EXPLAIN,
    OPT_STATUS,
    OPT_PROBE,
    OPT_INSTALL,
    OPT_SYSROOT,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_VERSION,
    OPT_HELP,
    OPT__COUNT
};

/* How a value's text is read and checked. */
enum option_type {
    OPTION_FLAG,        /* no argument on the command line; true/false or 1/0 elsewhere */
    OPTION_COUNT,       /* a flag that counts: -vv; a number elsewhere */
    OPTION_INT,         /* within min..max */
    OPTION_NPROC,       /* auto, gpu, cpu, or 1..4096 */
    OPTION_NNODES,      /* N or MIN:MAX with equal ends */
    OPTION_PORT,        /* 1..65535, or one of `words` */
    OPTION_DECIMAL,     /* 0.1, 5 */
    OPTION_DURATION,    /* scan_duration */
    OPTION_SIZE,        /* scan_size */
    OPTION_SIGNAL,      /* signame_number */
    OPTION_SIGNALS,     /* such, joined by commas; none that cannot be caught */
    OPTION_REWRITE,     /* FROM:TO signals; repeatable, joined by commas */
    OPTION_CODES,       /* 0..255; repeatable, joined by commas */
    OPTION_CODE_MAP,    /* FROM:TO, each 0..255; repeatable, joined by commas */
    OPTION_WORD,        /* one of `words` */
    OPTION_WORD_OR_INT, /* one of `words`, or min..max */
    OPTION_NAMES,       /* letters, digits and _; repeatable, joined by commas */
    OPTION_RLIMITS,     /* NAME=SOFT[:HARD] (model/rlimit.h); repeatable, joined by commas */
    OPTION_UMASK,       /* octal, 0 to 777 */
    OPTION_HOST,        /* a host name or an address */
    OPTION_ENDPOINT,    /* HOST, HOST:PORT or [IPV6]:PORT */
    OPTION_STREAMS,     /* 0..3 for all ranks, or RANK:0..3, joined by commas */
    OPTION_RANKS,       /* local ranks: 0,1 or 0-3,6 */
    OPTION_TEXT         /* anything but the empty text */
};

enum option_status {
    OPTION_BUILT,
    OPTION_NO_EFFECT, /* accepted and noted at -v; `note` says why it has no effect here */
    OPTION_REFUSED    /* cannot exist here; `note` is the reason */
};

enum option_group {
    GROUP_RANKS,
    GROUP_PROGRAM,
    GROUP_DEVICES,
    GROUP_STOPPING,
    GROUP_OUTPUT,
    GROUP_VERDICT,
    GROUP_SECURITY,
    GROUP_TINI,
    GROUP_OTHER,
    GROUP__COUNT
};

struct option_row {
    const char *name;    /* "nproc-per-node"; its twin is RANKINIT_NPROC_PER_NODE */
    char letter;         /* 'm' for -m; 0 if none */
    bool spec_only;      /* a row without flag and twin */
    bool optional_value; /* --plan and --plan=json */
    bool pet;            /* PET_NPROC_PER_NODE is read too (torchrun's own twin) */
    bool shape;          /* stating it asks for fan-out (DESIGN 1) */
    bool identity;       /* the platform beats a shared file (DESIGN 2, precedence) */
    bool auto_unset;     /* "auto" is accepted and states nothing: weaker sources decide */
    enum option_type type;
    enum option_status status;
    enum option_group group;
    long min, max;             /* OPTION_INT, OPTION_WORD_OR_INT */
    const char *words;         /* "auto|shared|isolated" */
    const char *refused_words; /* those of them that are refused; `note` is the reason */
    const char *arg;           /* "N", "FILE", ... in the help text; NULL for flags */
    const char *dflt;          /* default as text; NULL: unset */
    const char *spec_key;      /* "job.nproc_per_node"; NULL if the spec has no such key */
    const char *note;
    const char *help; /* one line */
};

extern const struct option_row option_rows[OPT__COUNT];

struct settings;

/* What the command line asks for; ASK: --status, --probe or --install (sys/ask.h). */
enum options_verb { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_EXPLAIN, OPTIONS_ASK };

/*
 * Reads argv (argv[0] skipped) into settings as flags, up to the first word that is no option or
 * "--"; *ret_program is the rest of argv, possibly empty (it points into argv). Returns an
 * enum options_verb, or -1 with ERR_USAGE: unknown option (with the nearest right name), missing
 * or needless argument, bad value, not built yet.
 */
int options_parse(const char *const *argv, struct settings *settings,
                  const char *const **ret_program, struct err *err);

/* Row with that long name, '-' and '_' alike; -1 if there is none. */
int options_find(const char *name, size_t len);

/* The same for a row that has no flag, only a spec key. */
int options_find_spec_only(const char *name, size_t len);

/* Row that a wrong name was probably meant to be, letter case ignored; -1 if there is none. */
int options_nearest(const char *name, size_t len);

/* Writes the twin of a row, "RANKINIT_NPROC_PER_NODE", to room; returns room. */
const char *options_twin(enum option_id id, const char *prefix, char room[static 64]);

/* The help text, made from the table; only rows that are built or have no effect are shown. */
void options_help(struct buf *out);

#endif
