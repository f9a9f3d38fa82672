#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/scan.h"
#include "sys/facts.h"
#include "sys/file.h"

#define CPU_DIR   "/sys/devices/system/cpu"
#define NODE_DIR  "/sys/devices/system/node"
#define LIST_ROOM 8192

bool facts_read_cpulist(const char *path, struct cpuset *ret)
{
    char text[LIST_ROOM];

    if (file_peek(AT_FDCWD, path, false, text, sizeof(text)) < 0)
        return false;
    text[strcspn(text, "\n")] = '\0';
    return cpuset_read(ret, text);
}

enum field { FIELD_NODE, FIELD_SOCKET, FIELD_CORE, FIELD_CACHE };

static short *field_of(struct facts_cpu *cpu, enum field field)
{
    switch (field) {
    case FIELD_NODE: return &cpu->node;
    case FIELD_SOCKET: return &cpu->socket;
    case FIELD_CORE: return &cpu->core;
    default: return &cpu->cache;
    }
}

/* Writes a value to all CPUs of a set. */
static void mark(struct facts_cpu *cpus, const struct cpuset *set, enum field field, int value)
{
    for (int cpu = 0; cpu < CPUSET_MAX; cpu++) {
        if (cpuset_has(set, cpu))
            *field_of(&cpus[cpu], field) = (short)value;
    }
}

/* Calls visit for every NUMA node that has CPUs; a visit that returns true is the last. */
typedef bool node_visit(void *context, int node, const struct cpuset *cpus);

static void each_node(const char *sysroot, node_visit *visit, void *context)
{
    static const char prefix[] = "node";
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    CLEANUP_DIR DIR *dir = NULL;
    const struct dirent *entry;

    buf_addf(&path, "%s" NODE_DIR, sysroot);
    dir = path.truncated ? NULL : opendir(room);
    while (dir && (entry = readdir(dir))) {
        struct cpuset cpus = {0};
        long node;

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            !scan_int(entry->d_name + strlen(prefix), 0, SHRT_MAX, &node))
            continue;
        buf_reset(&path);
        buf_addf(&path, "%s" NODE_DIR "/node%ld/cpulist", sysroot, node);
        if (!path.truncated && facts_read_cpulist(room, &cpus) && visit(context, (int)node, &cpus))
            return;
    }
}

struct search {
    const struct cpuset *wanted;
    int found; /* -1: none, -2: several */
};

static bool match_node(void *context, int node, const struct cpuset *cpus)
{
    struct search *search = context;

    if (cpuset_within(search->wanted, cpus))
        search->found = search->found == -1 ? node : -2;
    return search->found == -2;
}

int facts_node_of(const char *sysroot, const struct cpuset *cpus)
{
    struct search search = {.wanted = cpus, .found = -1};

    if (cpuset_first(cpus) >= 0)
        each_node(sysroot, match_node, &search);
    return search.found < 0 ? -1 : search.found;
}

static bool mark_node(void *context, int node, const struct cpuset *cpus)
{
    mark(context, cpus, FIELD_NODE, node);
    return false;
}

/* Reads a list of CPUs that share something with this one, and writes its lowest to them all. */
static void read_shared(const char *sysroot, int cpu, const char *file, struct facts_cpu *cpus,
                        enum field field)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    struct cpuset shared = {0};

    if (*field_of(&cpus[cpu], field) >= 0)
        return;
    buf_addf(&path, "%s" CPU_DIR "/cpu%d/%s", sysroot, cpu, file);
    if (!path.truncated && facts_read_cpulist(room, &shared) && cpuset_has(&shared, cpu))
        mark(cpus, &shared, field, cpuset_first(&shared));
}

void facts_collect_topology(const char *sysroot, struct facts_cpu cpus[static CPUSET_MAX],
                            struct facts *facts)
{
    for (int cpu = 0; cpu < CPUSET_MAX; cpu++)
        cpus[cpu] = (struct facts_cpu){.node = -1, .socket = -1, .core = -1, .cache = -1};
    each_node(sysroot, mark_node, cpus);
    for (int cpu = 0; cpu < CPUSET_MAX; cpu++) {
        if (!cpuset_has(&facts->cpus, cpu))
            continue;
        read_shared(sysroot, cpu, "topology/thread_siblings_list", cpus, FIELD_CORE);
        read_shared(sysroot, cpu, "topology/core_siblings_list", cpus, FIELD_SOCKET);
        read_shared(sysroot, cpu, "cache/index3/shared_cpu_list", cpus, FIELD_CACHE);
    }
    facts->topology = cpus;
}
