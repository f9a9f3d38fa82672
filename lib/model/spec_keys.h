/*
 * The keys of the rank spec as tables: the structs that libcyaml fills, its
 * schema, and the options that the values belong to. Layer: model, for spec*.c
 * and the test that compares spec.schema.json.
 *
 * Adding a key: one V or L row here and a member in spec.schema.json.
 */
#ifndef RANKINIT_MODEL_SPEC_KEYS_H
#define RANKINIT_MODEL_SPEC_KEYS_H

#include <cyaml/cyaml.h>
#include <stdbool.h>
#include <stddef.h>

#include "model/options.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names of members. */

/*
 * The keys, once: V is one value, L a list of values. From these rows come the members of the
 * structs that libcyaml fills, its schema (which is also the key tree of spec_check), and the
 * options that the values belong to.
 */
#define SPEC_KEYS_job(V, L)                    \
    V(job, id, OPT_RDZV_ID)                    \
    V(job, nnodes, OPT_NNODES)                 \
    V(job, node_rank, OPT_NODE_RANK)           \
    V(job, nproc_per_node, OPT_NPROC_PER_NODE) \
    V(job, rank_means, OPT_RANK_MEANS)         \
    V(job, role, OPT_ROLE)
#define SPEC_KEYS_rendezvous(V, L)              \
    V(rendezvous, master_addr, OPT_MASTER_ADDR) \
    V(rendezvous, master_port, OPT_MASTER_PORT) \
    V(rendezvous, wait, OPT_WAIT_MASTER)        \
    V(rendezvous, check, OPT_WAIT_CHECK)
#define SPEC_KEYS_devices(V, L)             \
    V(devices, mode, OPT_DEVICE_MODE)       \
    V(devices, per_rank, OPT_GPUS_PER_RANK) \
    V(devices, list, OPT_DEVICES)           \
    V(devices, vendor, OPT_VENDOR)          \
    V(devices, share, OPT_DEVICE_SHARE)
#define SPEC_KEYS_cpu(V, L)    \
    V(cpu, bind, OPT_CPU_BIND) \
    V(cpu, threads, OPT_THREADS)
#define SPEC_KEYS_output(V, L)            \
    V(output, capture, OPT_CAPTURE)       \
    V(output, prefix, OPT_LOG_PREFIX)     \
    V(output, log_dir, OPT_LOG_DIR)       \
    V(output, tee, OPT_TEE)               \
    V(output, redirects, OPT_REDIRECTS)   \
    V(output, tail_lines, OPT_TAIL_LINES) \
    V(output, max_bytes, OPT_OUTPUT_MAX_BYTES)
#define SPEC_KEYS_stop(V, L)            \
    V(stop, grace, OPT_GRACE)           \
    V(stop, fail_grace, OPT_FAIL_GRACE) \
    V(stop, scope, OPT_STOP_SCOPE)      \
    L(stop, rewrite, OPT_REWRITE)       \
    V(stop, exit, OPT_STOP_EXIT)        \
    V(stop, settle, OPT_SETTLE)         \
    V(stop, orphan_grace, OPT_ORPHAN_GRACE)
#define SPEC_KEYS_limits(V, L)        \
    V(limits, timeout, OPT_TIMEOUT)   \
    V(limits, idle, OPT_IDLE_TIMEOUT) \
    V(limits, start, OPT_START_TIMEOUT)
#define SPEC_KEYS_restart(V, L)                    \
    V(restart, max, OPT_MAX_RESTARTS)              \
    V(restart, backoff, OPT_RESTART_BACKOFF)       \
    V(restart, window, OPT_RESTART_WINDOW)         \
    V(restart, min_uptime, OPT_RESTART_MIN_UPTIME) \
    L(restart, only, OPT_RESTART_ONLY)             \
    L(restart, never, OPT_RESTART_NEVER)
#define SPEC_KEYS_summary(V, L)                      \
    V(summary, file, OPT_SUMMARY)                    \
    V(summary, termination_log, OPT_TERMINATION_LOG) \
    V(summary, max_bytes, OPT_MAX_BYTES)
#define SPEC_KEYS_exit(V, L)         \
    V(exit, preset, OPT_EXIT_PRESET) \
    L(exit, map, OPT_EXIT_MAP)       \
    V(exit, oom, OPT_OOM)
#define SPEC_KEYS_security(V, L)                  \
    V(security, user, OPT_USER)                   \
    V(security, no_new_privs, OPT_NO_NEW_PRIVS)   \
    L(security, drop, OPT_CAP_DROP)               \
    L(security, keep, OPT_CAP_KEEP)               \
    V(security, seccomp, OPT_SECCOMP)             \
    L(security, allow, OPT_SECCOMP_ALLOW)         \
    L(security, deny, OPT_SECCOMP_DENY)           \
    L(security, rlimits, OPT_RLIMIT)              \
    V(security, oom_score_adj, OPT_OOM_SCORE_ADJ) \
    V(security, umask, OPT_UMASK)                 \
    V(security, nice, OPT_NICE)
#define SPEC_KEYS_hydra(V, L) V(hydra, pin, OPT_HYDRA)

#define SPEC_SECTIONS(S) \
    S(job)               \
    S(rendezvous)        \
    S(devices)           \
    S(cpu)               \
    S(output)            \
    S(stop)              \
    S(limits)            \
    S(restart)           \
    S(summary)           \
    S(exit)              \
    S(security)          \
    S(hydra)

/* A list of texts, as libcyaml fills it. */
struct spec_texts {
    char **items;
    unsigned count;
};

/* The structs: one per section, and the document. NULL: the key is absent. */
#define SPEC_MEMBER_VALUE(section, key, id) char *key;
#define SPEC_MEMBER_LIST(section, key, id)  struct spec_texts key;
#define SPEC_SECTION_STRUCT(section)                             \
    struct spec_##section {                                      \
        SPEC_KEYS_##section(SPEC_MEMBER_VALUE, SPEC_MEMBER_LIST) \
    };
SPEC_SECTIONS(SPEC_SECTION_STRUCT)

struct spec_env {
    char *name, *value, *unset;
};

/* A row of ranks:. */
struct spec_row {
    char *local, *devices, *cpus;
    struct spec_env *env;
    unsigned env_count;
    struct spec_texts command;
};

struct spec_file {
    char *api_version, *workdir;
    struct spec_texts command;
    struct spec_env *env;
    unsigned env_count;
    struct spec_row *ranks;
    unsigned ranks_count;
#define SPEC_SECTION_MEMBER(section) struct spec_##section section;
    SPEC_SECTIONS(SPEC_SECTION_MEMBER)
};

/* NOLINTEND(bugprone-macro-parentheses) */

/* The document: a mapping of struct spec_file. Also the key tree of spec_check. */
extern const cyaml_schema_value_t spec_file_schema;

/* Which option a value belongs to; its name for people is the option's spec_key. */
struct spec_target {
    enum option_id id;
    bool is_list;
    size_t offset; /* in struct spec_file */
};

/* Ends with a row whose id is OPT__COUNT. */
extern const struct spec_target spec_targets[];

#endif
