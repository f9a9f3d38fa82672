/*
 * What happened, and whose fault it was. The loop notes facts as they come; the
 * judgement is a pure function of them and can be asked at any moment (a kill
 * may come at any moment). Evidence counts, not the order of deaths.
 * Layer: model. Times are nanoseconds since our start.
 */
#ifndef RANKINIT_MODEL_OUTCOME_H
#define RANKINIT_MODEL_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "model/evidence.h"
#include "model/limits.h"
#include "model/plan.h"

#define OUTCOME_NEVER INT64_MIN /* a time that has not come */

/*
 * A rank that has told a failure and lives on for longer than this has handled it, if then somebody
 * fails by himself: of many ranks only one writes about its work, so silence is no sign of death.
 */
#define OUTCOME_HANDLED_NS 60000000000LL

/* Where the start of a rank failed; the words are in outcome.c. */
enum spawn_stage {
    STAGE_NONE,
    STAGE_FORK,
    STAGE_GROUP,
    STAGE_TERMINAL,
    STAGE_SIGNALS,
    STAGE_STDIO,
    STAGE_WORKDIR,
    STAGE_LIMIT, /* from here to STAGE_NICE they only tell: the rank starts all the same */
    STAGE_CPUS,
    STAGE_MEMORY,
    STAGE_OOM_SCORE,
    STAGE_NICE,
    STAGE_USER,
    STAGE_CAPABILITIES,
    STAGE_NO_NEW_PRIVS,
    STAGE_SECCOMP,
    STAGE_EXEC
};

enum rank_state {
    RANK_NOT_STARTED,
    RANK_ALIVE,
    RANK_ENDED,       /* wait_status is true */
    RANK_START_FAILED /* stage and stage_errno are true; never ran PROGRAM */
};

enum rank_class {
    CLASS_NONE,        /* succeeded, or still alive */
    CLASS_CAUSE,       /* failed by itself */
    CLASS_CONSEQUENCE, /* failed because a peer had gone */
    CLASS_VICTIM,      /* aborted because others were silent */
    CLASS_STOPPED_BY_US,
    CLASS_FROM_OUTSIDE /* killed by a signal that was not ours, without an OOM */
};

/* A signal that somebody sent to rankinit and rankinit passed on. */
struct outcome_passed {
    int signal; /* as passed on; 0: none yet */
    pid_t pid;  /* of the sender; 0: outside our PID namespace, or the kernel */
    uid_t uid;
    int sender_rank; /* local; -1: no rank of ours */
};

struct outcome_rank {
    struct outcome_passed passed; /* the last one before its end */
    enum rank_state state;
    pid_t pid;
    int wait_status;
    int64_t started_ns, ended_ns;
    int64_t ready_ns;     /* it wrote its first output or its ready file; OUTCOME_NEVER */
    int64_t signalled_ns; /* first signal of ours that asks it to end; OUTCOME_NEVER */
    int first_signal;     /* that signal */
    bool killed_by_us;    /* SIGKILL sent by us */
    bool core_dumped;
    enum spawn_stage stage;
    int stage_errno;
    bool oom;                  /* the cgroup's OOM counter moved at its SIGKILL */
    struct evidence *evidence; /* never NULL; memory of the outcome */
    struct finding error_file; /* kind EVIDENCE_NONE if none */
};

/* A request to stop from outside. */
struct outcome_stop {
    bool requested;
    int signal;
    int64_t at_ns;
    pid_t sender_pid; /* 0: outside our PID namespace, or the terminal */
    uid_t sender_uid;
    int sender_rank; /* local; -1: no rank of ours */
    bool terminal;   /* a key of it, or its hang-up */
    bool again;      /* asked a second time */
};

/* A time limit that was over before anything else ended the run. */
struct outcome_limit {
    enum limit kind; /* LIMIT_NONE: none was */
    int64_t at_ns;
    int64_t length_ns; /* as planned */
};

/*
 * A process that could not be reaped. Three kinds are told apart: a zombie leader whose threads
 * live on, a zombie whose living parent does not wait for it, and one that SIGKILL does not reach.
 */
struct outcome_unreaped {
    pid_t pid;
    pid_t parent; /* 0 if that is us */
    int rank;     /* local, whose group it is in; -1 unknown */
    char name[32];
    char state;        /* 'Z', 'D', ...; '?' unknown */
    int live_threads;  /* of a zombie leader: how many live on; else 0 */
    char thread_state; /* of the one that holds it up; where live_threads is not 0 */
    char wchan[32];    /* where that thread, or else the process, sits in the kernel; "?" unknown */
};

#define OUTCOME_UNREAPED_MAX 16
#define OUTCOME_ATTEMPTS_MAX 8 /* that are told: the first one and the last ones */

/* An attempt that was followed by another. */
struct outcome_attempt {
    int number; /* from 0 */
    const char *reason;
    int exit_code;     /* before the exit policy */
    int root;          /* local; -1: none */
    int64_t ended_ns;  /* its last process was gone */
    char message[240]; /* of its verdict; may be cut */
};

struct outcome {
    int count;                  /* ranks of this node */
    struct outcome_rank *ranks; /* [count], reserved at outcome_init */
    struct evidence *evidences; /* [count], likewise */
    struct outcome_stop stop;
    struct outcome_limit limit;
    int64_t first_failure_ns; /* a rank failed before any stop request; OUTCOME_NEVER */
    int64_t drained_ns;       /* a drain began */
    int64_t killed_ns;        /* SIGKILL began */
    struct err own;           /* a failure of rankinit itself (fork refused, ...); ERR_NONE */
    int master_port;          /* the one ranks were given; 0: none */
    uint64_t orphans_reaped;
    int unreaped_count; /* in the list */
    int unreaped_more;  /* for which it had no room */
    struct outcome_unreaped unreaped[OUTCOME_UNREAPED_MAX];
    int64_t max_rss_bytes, user_ns, system_ns; /* of all reaped descendants */
    uint64_t oom_kills;                        /* counter's movement since our start */
    bool oom_known;                            /* there is a counter */
    uint64_t oom_fresh;                        /* movement seen at oom_at_ns, not a rank's yet */
    int64_t oom_at_ns;
    int64_t memory_peak_bytes; /* of the cgroup; 0 if unknown */
    int64_t shm_free_bytes;    /* of /dev/shm when a rank had failed; -1 if unknown */
    char foreign_message[256]; /* what somebody else had put into the termination log */
    int restarts;              /* until now */
    int attempt_count;
    struct outcome_attempt attempts[OUTCOME_ATTEMPTS_MAX];
    char waiting[160];         /* what the start waits for; empty: nothing */
    char not_restarted[160];   /* why a failure was not followed by a restart; mostly empty */
    bool done;                 /* nothing runs any more; else the judgement is provisional */
    int64_t start_realtime_ns; /* CLOCK_REALTIME at our start */
    int64_t now_ns;            /* of the last note: "ended" of a final document */
};

enum verdict_word { VERDICT_RUNNING, VERDICT_SUCCEEDED, VERDICT_FAILED, VERDICT_STOPPED };

/* The judgement. Texts are constants or inside; nothing is owned. */
struct verdict {
    enum verdict_word word;
    const char *reason;   /* "rank_exited", ...; "running" has "completed" absent: NULL */
    int exit_code;        /* -1 while running and nothing has failed yet */
    int code_before;      /* the same before the exit policy */
    bool from_rank;       /* exit_origin: whose code it was before the policy */
    int root;             /* local rank of the root cause; -1: none */
    struct finding cause; /* its best evidence; kind says which was used */
    int64_t cause_ns;     /* when */
    char message[512];    /* one sentence for people */
};

/* Reserves and touches memory for the plan's ranks. ERR_SYSTEM if there is none. */
int outcome_init(struct outcome *outcome, const struct plan *plan, struct err *err);

/*
 * The attempt that was judged so is over and another begins: what it was is kept in short, the
 * ranks are as new, and what was counted goes on. Needs no memory.
 */
void outcome_renew(struct outcome *outcome, const struct verdict *verdict);

/* Frees it. */
void outcome_release(struct outcome *outcome);

/* Notes, in the order in which things become known. */
void outcome_note_started(struct outcome *outcome, int local_rank, pid_t pid, int64_t now_ns);
void outcome_note_start_failed(struct outcome *outcome, int local_rank, enum spawn_stage stage,
                               int errnum, int64_t now_ns);
void outcome_note_ended(struct outcome *outcome, int local_rank, int wait_status, int64_t now_ns);

/*
 * The OOM counter has moved by `kills` in all. A rank that is then found dead of a SIGKILL that was
 * not ours, in the same wake-up, has one of those that are new: noted before its end.
 */
void outcome_note_oom_kills(struct outcome *outcome, uint64_t kills, int64_t now_ns);
void outcome_note_signalled(struct outcome *outcome, int local_rank, int signal, int64_t now_ns);
void outcome_note_passed(struct outcome *outcome, const struct outcome_passed *passed);
void outcome_note_stop(struct outcome *outcome, const struct outcome_stop *stop);
void outcome_note_limit(struct outcome *outcome, const struct outcome_limit *limit);

/* It has written something, or its ready file is there; only the first time counts. */
void outcome_note_ready(struct outcome *outcome, int local_rank, int64_t now_ns);

/* True if this rank has ended or could not start, and not with 0. */
bool outcome_rank_failed(const struct outcome_rank *rank);

/* Why a rank failed, as far as it can be the cause of everything. */
struct outcome_candidate {
    const struct finding *words; /* the rank's own; NULL: it said nothing */
    enum evidence_kind kind;     /* EVIDENCE_NONE: it could not be started */
    bool echo;
    bool lives;    /* it has not ended by itself: not at all, or because we told it to */
    int64_t at_ns; /* of the evidence; of the death if there is no better */
};

/*
 * True if this rank failed by itself, or (also one still alive, or stopped by us since) has
 * evidence dated before our first signal to it. *ret is filled then.
 */
bool outcome_candidate(const struct outcome_rank *rank, struct outcome_candidate *ret);

/*
 * True if the rank had told this and lived with it until, at end_ns, another one failed by itself
 * (OUTCOME_NEVER: none did).
 */
bool outcome_was_handled(const struct outcome_candidate *candidate, int64_t end_ns);

/*
 * The same for documents: also true if a rank that we told to end came to say that it had lost its
 * peer and ended with a code of its own. It cannot be the cause of anything, but it was not
 * stopped by us either.
 */
bool outcome_account(const struct outcome_rank *rank, struct outcome_candidate *ret);

/*
 * True if the failure of this rank is plainly an echo of a lost peer: its best evidence is one and
 * it was not killed by a signal of its own (an abort after such words is one).
 */
bool outcome_rank_echoes(const struct outcome_rank *rank);

/* True if this rank is a candidate and no echo. */
bool outcome_rank_has_cause(const struct outcome_rank *rank);

/* True if a signal that was neither ours nor of its own making ended this rank, without an OOM. */
bool outcome_rank_killed_from_outside(const struct outcome_rank *rank);

/* True if the signal that ended this rank was ours. */
bool outcome_rank_killed_by_us(const struct outcome_rank *rank);

/* Judges what is known (DESIGN 6 exit codes, DESIGN 7 root cause). Never fails. */
void outcome_judge(const struct outcome *outcome, const struct plan *plan, struct verdict *ret);

/* Class of a rank under a judgement. */
enum rank_class outcome_class(const struct outcome *outcome, const struct verdict *verdict,
                              int local_rank);

/* The words in documents. */
const char *outcome_class_word(enum rank_class class);
const char *outcome_stage_word(enum spawn_stage stage);
const char *outcome_verdict_word(enum verdict_word word);

#endif
