/*
 * What a kernel, a container engine and an image may put into /proc, /sys and /etc: each part of the
 * input, up to a byte 0xff, is one of the files below a --sysroot.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/caps.h"
#include "sys/facts.h"
#include "sys/facts_cgroup.h"
#include "sys/users.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = {
    "/proc/self/cgroup",
    "/proc/self/status",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/pids.max",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/fs/cgroup/memory/memory.oom_control",
    "/proc/sys/net/ipv4/ip_local_port_range",
    "/proc/driver/nvidia/gpus/0000:01:00.0/information",
    "/proc/driver/nvidia-caps/mig-minors",
    "/sys/bus/pci/devices/0000:01:00.0/numa_node",
    "/opt/ml/input/config/resourceconfig.json",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "/etc/passwd",
    "/etc/group",
};

#define FILES (sizeof(files) / sizeof(files[0]))

static char root[64];
static int fds[FILES];

static void make_parents(char *path)
{
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0755);
        *at = '/';
    }
}

static void remove_tree(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    if (system(command) != 0)
        fprintf(stderr, "left behind: %s\n", root);
}

/* In memory, where the machine has a place for that. */
static void make_tree(void)
{
    snprintf(root, sizeof(root), "%s/rankinit-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(root))
        abort();
    atexit(remove_tree);
    for (size_t i = 0; i < FILES; i++) {
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s%s", root, files[i]);
        make_parents(path);
        fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    }
    {
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/dev/nvidia0", root);
        make_parents(path);
        close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct facts facts;
    static struct facts_cpu cpus[CPUSET_MAX];
    static const char *const users[] = {"ada", "1000", "ada:video"};
    struct err err = ERR_INIT;

    if (!root[0])
        make_tree();
    for (size_t i = 0; i < FILES; i++) {
        const uint8_t *end = size > 0 ? memchr(data, 0xff, size) : NULL;
        size_t len = end ? (size_t)(end - data) : size;

        if (ftruncate(fds[i], 0) < 0 || pwrite(fds[i], data, len, 0) != (ssize_t)len)
            abort();
        data += len + (end != NULL);
        size -= len + (end != NULL);
    }
    facts_collect(root, NULL, true, &facts);
    facts_collect_topology(root, cpus, &facts);
    facts_cgroup_oom_kills(root);
    facts_cgroup_memory_peak(root);
    caps_collect(root, &facts.caps);
    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
        users_find(root, "--user", users[i], &facts.user, &err);
    return 0;
}
