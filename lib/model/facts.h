/*
 * What sys/facts saw of the machine, once, before the plan: plain data, so that
 * every decision can be tested without the machine. Layer: model (types only).
 *
 * "Below sysroot" marks facts that are read under --sysroot.
 */
#ifndef RANKINIT_MODEL_FACTS_H
#define RANKINIT_MODEL_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpuset.h"
#include "model/vendor.h"

#define FACTS_DEVICES_MAX 256
#define FACTS_MIGS_MAX    64
#define FACTS_CONFIG_MAX  16384
#define FACTS_GROUPS_MAX  128

/* One device node. */
struct facts_device {
    enum vendor_id vendor;
    int minor;     /* N of /dev/nvidiaN, /dev/davinciN, ...: the host's number */
    bool numbered; /* its runtime calls it `index`, whatever else is there; else by its place */
    int index;
    bool accessible; /* access(2) for reading and writing */
    int denied;      /* errno of that: EPERM is the device cgroup, EACCES the mode */
    uid_t uid;       /* the node's owner, group and mode: for ranks of another user */
    gid_t gid;
    mode_t mode;
    bool excluded;   /* the driver was told not to use it: CUDA never shows it */
    char uuid[48];   /* "GPU-..."; empty if unknown */
    char bus_id[20]; /* "0000:3b:00.0"; empty if unknown */
    int numa_node;   /* -1 if unknown */
};

/* One MIG compute instance whose capability we may open. */
struct facts_mig {
    int minor; /* of its GPU */
    int gpu_instance, compute_instance;
};

/* One CPU; -1: unknown. */
struct facts_cpu {
    short node;   /* NUMA node */
    short socket; /* package */
    short core;   /* lowest CPU of those that share its core */
    short cache;  /* lowest CPU of those that share its last-level cache */
};

/* Capability sets, a bit per capability as in /proc/PID/status, and what bears on them. */
struct facts_caps {
    uint64_t bounding, inheritable, permitted, effective, ambient;
    int last;          /* the highest that this kernel knows */
    bool no_new_privs; /* on already */
};

/* The account that --user names. */
struct facts_user {
    bool known;       /* it has an entry in /etc/passwd */
    bool group_known; /* gid was stated or is the entry's */
    uid_t uid;
    gid_t gid;
    int group_count; /* supplementary groups, by /etc/group */
    gid_t groups[FACTS_GROUPS_MAX];
    char name[64]; /* of the entry, else empty */
    char home[1024];
};

struct facts {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    struct facts_caps caps;
    struct facts_user user;      /* if --user is stated; below sysroot */
    uint64_t cap_drop, cap_keep; /* --cap-drop and --cap-keep, as sets */
    int64_t now_s;               /* Unix time */
    bool is_init;                /* pid 1 of its PID namespace */
    char hostname[256];
    char cwd[4096]; /* empty if it cannot be told */
    bool tty_in, tty_out, tty_err;
    bool stdin_open;

    /* programs found on PATH */
    const char *python; /* "python", else "python3", else NULL: what a *.py runs under */

    /* devices, below sysroot, by vendor, then by bus id where known, else by minor */
    int device_count;
    struct facts_device devices[FACTS_DEVICES_MAX];
    int mig_count;
    struct facts_mig migs[FACTS_MIGS_MAX];
    bool nvidia_driver;            /* /proc/driver/nvidia exists */
    const char *other_accelerator; /* "/dev/dxg" or the like, whose devices cannot be counted */
    enum vendor_id other_vendor;   /* whose it is */
    bool infiniband;               /* /dev/infiniband/uverbs* */

    /* CPUs and memory, below sysroot */
    int cpus_allowed;                 /* sched_getaffinity(2) */
    struct cpuset cpus;               /* the same, by number */
    const struct facts_cpu *topology; /* [CPUSET_MAX]; NULL: not asked for (sys/facts.h) */
    int64_t cpu_quota_us;             /* tightest visible cgroup v1/v2 quota; -1: none */
    int64_t cpu_period_us;
    int64_t shm_bytes;                          /* size of /dev/shm; -1 if unknown */
    int64_t memory_limit_bytes;                 /* of the cgroup; -1: none */
    int64_t pids_room;                          /* processes that pids limits leave; -1: none */
    int64_t memlock_bytes;                      /* RLIMIT_MEMLOCK; -1: none */
    bool ipc_lock;                              /* CAP_IPC_LOCK is effective: no such limit */
    int ephemeral_port_min, ephemeral_port_max; /* ip_local_port_range */

    /* the head of SageMaker's /opt/ml/input/config/resourceconfig.json, below sysroot; else empty */
    char resource_config[FACTS_CONFIG_MAX];

    bool default_spec;       /* /etc/rankinit/spec.yaml exists */
    bool termination_log;    /* /dev/termination-log exists and is a regular file */
    const char *scratch_dir; /* first writable of TMPDIR, /tmp, /dev/shm; NULL if none */
};

#endif
