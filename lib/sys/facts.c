#include "sys/facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/scan.h"
#include "sys/facts_cgroup.h"
#include "sys/file.h"

/* As sys/prepare has it: what is found here is started from there. */
#define DEFAULT_PATH     "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define STATUS_MAX       16384
#define CPUS_MAX         65536
#define RESOURCE_CONFIG  "/opt/ml/input/config/resourceconfig.json"
#define DEFAULT_PORT_MIN 32768
#define DEFAULT_PORT_MAX 60999

static const char *find_env(const char *const *envp, const char *name)
{
    size_t len = strlen(name);

    for (; envp && *envp; envp++)
        if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
            return *envp + len + 1;
    return NULL;
}

/* lstat of sysroot + path. */
static bool look_at(const char *sysroot, const char *path, struct stat *ret)
{
    char room[PATH_MAX];
    struct buf whole = BUF_OVER(room);

    buf_addf(&whole, "%s%s", sysroot, path);
    return !whole.truncated && lstat(room, ret) == 0;
}

static ssize_t peek_below(const char *sysroot, const char *path, char *room, size_t size)
{
    char whole_room[PATH_MAX];
    struct buf whole = BUF_OVER(whole_room);

    room[0] = '\0';
    buf_addf(&whole, "%s%s", sysroot, path);
    return whole.truncated ? -1 : file_peek(AT_FDCWD, whole_room, false, room, size);
}

/* True if dir[len]/name is a program; an empty dir is the current one, as in execvp(3). */
static bool is_program(const char *dir, size_t len, const char *name)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    struct stat status;

    buf_add(&path, dir, len);
    buf_addf(&path, len > 0 ? "/%s" : "%s", name);
    return !path.truncated && stat(room, &status) == 0 && S_ISREG(status.st_mode) &&
           access(room, X_OK) == 0;
}

static bool on_path(const char *path, const char *name)
{
    for (;;) {
        size_t len = strcspn(path, ":");

        if (is_program(path, len, name))
            return true;
        if (path[len] == '\0')
            return false;
        path += len + 1;
    }
}

static const char *find_python(const char *const *envp)
{
    const char *path = find_env(envp, "PATH");

    if (!path)
        path = DEFAULT_PATH;
    if (on_path(path, "python"))
        return "python";
    return on_path(path, "python3") ? "python3" : NULL;
}

/* Absolute, because ranks may start elsewhere and we leave for "/". */
static bool is_writable_dir(const char *path)
{
    struct stat status;

    return path && path[0] == '/' && stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
           access(path, W_OK | X_OK) == 0;
}

static const char *find_scratch(const char *const *envp)
{
    const char *places[] = {find_env(envp, "TMPDIR"), "/tmp", "/dev/shm"};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (is_writable_dir(places[i]))
            return places[i];
    return NULL;
}

static void collect_process(struct facts *facts)
{
    facts->pid = getpid();
    facts->now_s = time(NULL);
    facts->uid = getuid();
    facts->gid = getgid();
    facts->is_init = facts->pid == 1;
    if (gethostname(facts->hostname, sizeof(facts->hostname) - 1) < 0)
        facts->hostname[0] = '\0';
    if (!getcwd(facts->cwd, sizeof(facts->cwd)))
        facts->cwd[0] = '\0';
    facts->tty_in = isatty(STDIN_FILENO);
    facts->tty_out = isatty(STDOUT_FILENO);
    facts->tty_err = isatty(STDERR_FILENO);
    facts->stdin_open = fcntl(STDIN_FILENO, F_GETFD) >= 0;
}

static void collect_files(const char *sysroot, struct facts *facts)
{
    struct stat status;

    facts->default_spec = look_at(sysroot, "/etc/rankinit/spec.yaml", &status);
    facts->termination_log = look_at(sysroot, "/dev/termination-log", &status) &&
                             S_ISREG(status.st_mode);
    if (peek_below(sysroot, RESOURCE_CONFIG, facts->resource_config,
                   sizeof(facts->resource_config)) < 0)
        facts->resource_config[0] = '\0';
}

static void collect_shm(const char *sysroot, struct facts *facts)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    struct statvfs shm;

    buf_addf(&path, "%s/dev/shm", sysroot);
    if (!path.truncated && statvfs(room, &shm) == 0)
        facts->shm_bytes = (int64_t)(shm.f_blocks * shm.f_frsize);
}

int64_t facts_shm_free(void)
{
    struct statvfs shm;

    return statvfs("/dev/shm", &shm) == 0 ? (int64_t)(shm.f_bavail * shm.f_frsize) : -1;
}

static void collect_ports(const char *sysroot, struct facts *facts)
{
    char text[64];
    char *end;
    long first, last;

    if (peek_below(sysroot, "/proc/sys/net/ipv4/ip_local_port_range", text, sizeof(text)) < 0)
        return;
    first = strtol(text, &end, 10);
    last = strtol(end, NULL, 10);
    if (first < 1 || last < first || last > 65535)
        return;
    facts->ephemeral_port_min = (int)first;
    facts->ephemeral_port_max = (int)last;
}

static void take_cpu(void *context, long number)
{
    struct facts *facts = context;

    facts->cpus_allowed++;
    cpuset_add(&facts->cpus, number);
}

/* The line KEY of a text of /proc/self/status, without blanks in front; NULL if it has none. */
static char *status_line(char *text, const char *key)
{
    char *line = strstr(text, key);

    if (!line)
        return NULL;
    line += strlen(key);
    line += strspn(line, " \t");
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* CPUs of the line "Cpus_allowed_list:" of a fixture's /proc/self/status. */
static void take_listed_cpus(const char *sysroot, struct facts *facts)
{
    char text[STATUS_MAX];
    char *list;

    if (peek_below(sysroot, "/proc/self/status", text, sizeof(text)) < 0)
        return;
    list = status_line(text, "\nCpus_allowed_list:");
    if (list && !scan_list(list, CPUS_MAX, take_cpu, facts)) {
        facts->cpus_allowed = 0;
        memset(&facts->cpus, 0, sizeof(facts->cpus));
    }
}

/* The raw call: glibc's cpu_set_t ends at 1024, and the kernel refuses a mask shorter than its own. */
static void take_own_cpus(struct facts *facts)
{
    unsigned long mask[CPUS_MAX / (8 * sizeof(unsigned long))];
    long size = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
    const long bits = 8 * sizeof(mask[0]);

    for (long cpu = 0; cpu < 8 * size; cpu++) {
        if (mask[cpu / bits] >> (cpu % bits) & 1)
            take_cpu(facts, cpu);
    }
}

static void collect_cpus(const char *sysroot, struct facts *facts)
{
    if (sysroot[0])
        take_listed_cpus(sysroot, facts);
    if (facts->cpus_allowed == 0)
        take_own_cpus(facts);
    if (facts->cpus_allowed == 0)
        facts->cpus_allowed = 1;
}

/* Memory that may be pinned, which InfiniBand needs. */
static void collect_memlock(const char *sysroot, struct facts *facts)
{
    char text[STATUS_MAX];
    const char *effective;
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur <= INT64_MAX)
        facts->memlock_bytes = (int64_t)limit.rlim_cur;
    if (peek_below(sysroot, "/proc/self/status", text, sizeof(text)) < 0)
        return;
    effective = status_line(text, "\nCapEff:");
    facts->ipc_lock = effective && strtoull(effective, NULL, 16) >> CAP_IPC_LOCK & 1;
}

static void collect_infiniband(const char *sysroot, struct facts *facts)
{
    char room[PATH_MAX];
    struct buf path = BUF_OVER(room);
    CLEANUP_DIR DIR *dir = NULL;
    const struct dirent *entry;

    buf_addf(&path, "%s/dev/infiniband", sysroot);
    dir = path.truncated ? NULL : opendir(room);
    while (dir && (entry = readdir(dir)))
        facts->infiniband = facts->infiniband || strncmp(entry->d_name, "uverbs", 6) == 0;
}

void facts_collect(const char *sysroot, const char *const *envp, bool fanout_possible,
                   struct facts *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->cpus_allowed = 0;
    ret->cpu_quota_us = ret->cpu_period_us = -1;
    ret->shm_bytes = ret->memory_limit_bytes = -1;
    ret->pids_room = ret->memlock_bytes = -1;
    ret->ephemeral_port_min = DEFAULT_PORT_MIN;
    ret->ephemeral_port_max = DEFAULT_PORT_MAX;
    collect_process(ret);
    collect_files(sysroot, ret);
    ret->python = find_python(envp);
    ret->scratch_dir = find_scratch(envp);
    if (!fanout_possible)
        return;
    facts_collect_devices(sysroot, ret);
    collect_cpus(sysroot, ret);
    facts_cgroup_collect(sysroot, ret);
    collect_shm(sysroot, ret);
    collect_ports(sysroot, ret);
    collect_memlock(sysroot, ret);
    collect_infiniband(sysroot, ret);
}
