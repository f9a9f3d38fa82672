/*
 * machine.h - builds a tree for --sysroot from a line of words, so that a table can list machines.
 *
 * Layer: tests only. Recipe:
 *
 *     machine_build(&tree, "gpu:0-7 info:0-7 numa:4 cores:16 smt v2:150000/100000");
 *     facts_collect(tree.root, envp, true, &facts);
 *
 * Words, separated by blanks; N is a list such as 0-3,6:
 *
 *     gpu:N        /dev/nvidiaN                  info:N      their /proc/driver/nvidia entries
 *     unused:N     likewise, UUID still "?"      excluded:N  likewise, GPU Excluded: Yes
 *     driver       /proc/driver/nvidia alone     numa:K      K GPUs for each NUMA node (before info)
 *     nonuma       numa_node -1 (before info)    mig:K       K instances of GPU 0, gi 1..K
 *     kfd:N        AMD render nodes 128 + N      render:N    Intel's likewise
 *     davinci:N    accel:N (module 7 - N)        dxg         WSL
 *     cpus:N       allowed CPUs (0-7)            cores:K     K cores, half at each of 2 NUMA nodes
 *     smt          core C has CPUs C and C + K   l3:K        K cores share a last-level cache
 *     v2:Q/P v1:Q/P hybrid:Q/P                   CPU quota of our cgroup, in us; "max" in v2
 *     parent:Q/P   of the cgroup above it (v2)   pids:MAX/NOW  pids limit (v2)
 */
#ifndef TESTS_UNIT_MACHINE_H
#define TESTS_UNIT_MACHINE_H

#include "base/scan.h"
#include "tree.h"

struct machine {
    struct tree *tree;
    int gpus_per_node; /* 0: no numa_node files; -1: they say -1 */
    int cores, cache;
    bool smt;
    const char *word; /* what a visitor makes one of */
};

static void machine_put(struct machine *machine, const char *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void machine_put(struct machine *machine, const char *text, const char *format, ...)
{
    char path[192];
    va_list args;

    va_start(args, format);
    vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    tree_write(machine->tree, path, text);
}

static void machine_info(struct machine *machine, int minor)
{
    char text[512], uuid[64], node[16];
    bool unused = strcmp(machine->word, "unused") == 0;

    snprintf(uuid, sizeof(uuid), unused ? "GPU-????????" : "GPU-%08d-0000", minor);
    snprintf(text, sizeof(text),
             "Model: \t\t NVIDIA H200\nGPU UUID: \t %s\nBus Location: \t 0000:%02x:00.0\n"
             "Device Minor: \t %d\nGPU Excluded:\t %s\n",
             uuid, 0x10u + (unsigned)minor, minor,
             strcmp(machine->word, "excluded") == 0 ? "Yes" : "No");
    machine_put(machine, text, "/proc/driver/nvidia/gpus/0000:%02x:00.0/information",
                0x10u + (unsigned)minor);
    if (machine->gpus_per_node == 0)
        return;
    snprintf(node, sizeof(node), "%d\n",
             machine->gpus_per_node < 0 ? -1 : minor / machine->gpus_per_node);
    machine_put(machine, node, "/sys/bus/pci/devices/0000:%02x:00.0/numa_node",
                0x10u + (unsigned)minor);
}

static void machine_one(void *context, long number)
{
    struct machine *machine = context;
    const char *word = machine->word;
    int n = (int)number;
    char text[16];

    if (strcmp(word, "gpu") == 0) {
        machine_put(machine, "", "/dev/nvidia%d", n);
    } else if (strcmp(word, "kfd") == 0 || strcmp(word, "render") == 0) {
        bool amd = word[0] == 'k';

        machine_put(machine, "", "/dev/dri/renderD%d", 128 + n);
        machine_put(machine, amd ? "0x1002\n" : "0x8086\n",
                    "/sys/class/drm/renderD%d/device/vendor", 128 + n);
        if (amd)
            machine_put(machine, "", "/dev/kfd");
    } else if (strcmp(word, "davinci") == 0) {
        machine_put(machine, "", "/dev/davinci%d", n);
    } else if (strcmp(word, "accel") == 0) {
        machine_put(machine, "", "/dev/accel/accel%d", n);
        snprintf(text, sizeof(text), "%d\n", 7 - n);
        machine_put(machine, text, "/sys/class/accel/accel%d/device/module_id", n);
    } else {
        machine_info(machine, n);
    }
}

static void machine_migs(struct machine *machine, int count)
{
    char text[1024] = "config 1\n";

    for (int gi = 1; gi <= count; gi++) {
        size_t len = strlen(text);

        snprintf(text + len, sizeof(text) - len, "gpu0/gi%d/access %d\ngpu0/gi%d/ci0/access %d\n",
                 gi, 10 * gi, gi, 10 * gi + 1);
        machine_put(machine, "", "/dev/nvidia-caps/nvidia-cap%d", 10 * gi + 1);
    }
    machine_put(machine, text, "/proc/driver/nvidia-caps/mig-minors");
}

/* Two NUMA nodes, each its own socket, with half of the cores. */
static void machine_cores(struct machine *machine)
{
    int cores = machine->cores, half = cores / 2;
    char text[64];

    for (int node = 0; node < 2; node++) {
        int first = node * half, last = first + half - 1;

        snprintf(text, sizeof(text), machine->smt ? "%d-%d,%d-%d\n" : "%d-%d\n", first, last,
                 cores + first, cores + last);
        machine_put(machine, text, "/sys/devices/system/node/node%d/cpulist", node);
        for (int cpu = first; cpu <= last; cpu++)
            machine_put(machine, text, "/sys/devices/system/cpu/cpu%d/topology/core_siblings_list",
                        cpu);
    }
    for (int cpu = 0; machine->smt && cpu < cores; cpu++) {
        snprintf(text, sizeof(text), "%d,%d\n", cpu, cores + cpu);
        machine_put(machine, text, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                    cpu);
    }
    for (int cpu = 0; machine->cache > 0 && cpu < cores; cpu += machine->cache) {
        snprintf(text, sizeof(text), "%d-%d\n", cpu, cpu + machine->cache - 1);
        machine_put(machine, text, "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list",
                    cpu);
    }
}

/* "v2:150000/100000" and the like. */
static void machine_quota(struct machine *machine, const char *kind, const char *value)
{
    char quota[32], text[64];
    const char *slash = strchr(value, '/');

    snprintf(quota, sizeof(quota), "%.*s\n", (int)(slash - value), value);
    if (strcmp(kind, "v1") == 0 || strcmp(kind, "hybrid") == 0) {
        machine_put(machine, quota, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
        machine_put(machine, slash + 1, "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
        machine_put(machine, kind[0] == 'v' ? "4:cpu,cpuacct:/x\n" : "4:cpu,cpuacct:/x\n0::/x\n",
                    "/proc/self/cgroup");
        if (kind[0] == 'h')
            machine_put(machine, "1\n", "/sys/fs/cgroup/unified/x/cgroup.procs");
        return;
    }
    machine_put(machine, "0::/pod/box\n", "/proc/self/cgroup");
    snprintf(text, sizeof(text), "%.*s %s\n", (int)(slash - value), value, slash + 1);
    if (strcmp(kind, "pids") == 0) {
        machine_put(machine, quota, "/sys/fs/cgroup/pod/box/pids.max");
        machine_put(machine, slash + 1, "/sys/fs/cgroup/pod/box/pids.current");
    } else {
        machine_put(machine, text, "/sys/fs/cgroup/pod%s/cpu.max",
                    strcmp(kind, "parent") == 0 ? "" : "/box");
    }
}

static void machine_word(struct machine *machine, const char *word, const char *value)
{
    machine->word = word;
    if (strcmp(word, "driver") == 0)
        machine_put(machine, "", "/proc/driver/nvidia/version");
    else if (strcmp(word, "dxg") == 0)
        machine_put(machine, "", "/dev/dxg");
    else if (strcmp(word, "numa") == 0)
        machine->gpus_per_node = atoi(value);
    else if (strcmp(word, "nonuma") == 0)
        machine->gpus_per_node = -1;
    else if (strcmp(word, "smt") == 0)
        machine->smt = true;
    else if (strcmp(word, "l3") == 0)
        machine->cache = atoi(value);
    else if (strcmp(word, "cores") == 0)
        machine->cores = atoi(value);
    else if (strcmp(word, "mig") == 0)
        machine_migs(machine, atoi(value));
    else if (strchr(value, '/'))
        machine_quota(machine, word, value);
    else
        tap_ok(scan_list(value, 255, machine_one, machine));
}

/* Builds it below a fresh tree. */
TAP_UNUSED static void machine_build(struct tree *tree, const char *line)
{
    struct machine machine = {.tree = tree};
    char words[512], status[128], *rest = words, *word;
    const char *cpus = "0-7";

    snprintf(words, sizeof(words), "%s", line);
    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, ':');

        if (value)
            *value++ = '\0';
        if (strcmp(word, "cpus") == 0)
            cpus = value;
        else if (word[0])
            machine_word(&machine, word, value ? value : "");
    }
    if (machine.cores > 0)
        machine_cores(&machine);
    snprintf(status, sizeof(status), "Name:\tx\nCpus_allowed_list:\t%s\n", cpus);
    machine_put(&machine, status, "/proc/self/status");
}

#endif
