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

#define FACTS_DEVICES_MAX 256
#define FACTS_CONFIG_MAX  16384

/* One NVIDIA device node. */
struct facts_device {
    int minor;       /* of /dev/nvidia<minor>, character device 195:<minor> */
    bool accessible; /* access(2) for reading and writing */
    char uuid[48];   /* "GPU-..."; empty if unknown */
    char bus_id[20]; /* "0000:3b:00.0"; empty if unknown */
    int numa_node;   /* -1 if unknown */
};

struct facts {
    pid_t pid;
    uid_t uid;
    bool is_init; /* pid 1 of its PID namespace */
    char hostname[256];
    char cwd[4096]; /* empty if it cannot be told */
    bool tty_in, tty_out, tty_err;
    bool stdin_open;

    /* programs found on PATH */
    const char *python; /* "python", else "python3", else NULL: what a *.py runs under */

    /* devices, below sysroot, sorted by bus id where known, else by minor */
    int device_count;
    struct facts_device devices[FACTS_DEVICES_MAX];
    bool nvidia_driver;            /* /proc/driver/nvidia exists */
    const char *other_accelerator; /* "/dev/kfd" or the like without NVIDIA nodes; NULL if none */

    /* CPUs and memory, below sysroot */
    int cpus_allowed;     /* sched_getaffinity(2) */
    int64_t cpu_quota_us; /* tightest visible cgroup v1/v2 quota; -1: none */
    int64_t cpu_period_us;
    int64_t shm_bytes;                          /* size of /dev/shm; -1 if unknown */
    int64_t memory_limit_bytes;                 /* of the cgroup; -1: none */
    int ephemeral_port_min, ephemeral_port_max; /* ip_local_port_range */

    /* the head of SageMaker's /opt/ml/input/config/resourceconfig.json, below sysroot; else empty */
    char resource_config[FACTS_CONFIG_MAX];

    bool default_spec;       /* /etc/rankinit/spec.yaml exists */
    bool termination_log;    /* /dev/termination-log exists and is a regular file */
    const char *scratch_dir; /* first writable of TMPDIR, /tmp, /dev/shm; NULL if none */
};

#endif
