#include "sys/facts_cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sys/facts.h"
#include "sys/file.h"

#define MOUNT             "/sys/fs/cgroup"
#define MEMBERSHIP_MAX    16384
#define DEFAULT_PERIOD_US 100000
/* v1 writes "no limit" as LONG_MAX rounded down to a page. */
#define NO_LIMIT (INT64_MAX / 2)

/* Looks at one cgroup directory; true ends the climb. */
typedef bool cgroup_look(void *context, const char *dir);

struct climb {
    const char *sysroot;
    const char *membership; /* text of /proc/self/cgroup */
    cgroup_look *look;
    void *context;
};

/* Reads dir/name; false if there is no such file. */
static bool read_in(const char *dir, const char *name, char *room, size_t size)
{
    char path_room[PATH_MAX];
    struct buf path = BUF_OVER(path_room);

    buf_addf(&path, "%s/%s", dir, name);
    return !path.truncated && file_peek(AT_FDCWD, path.data, false, room, size) >= 0;
}

/* Looks at base/path and at each directory above it up to base, deepest first; true: ended. */
static bool climb_from(const struct climb *climb, const char *base, const char *path)
{
    char room[PATH_MAX];
    struct buf dir = BUF_OVER(room);
    size_t top;

    buf_addf(&dir, "%s" MOUNT "%s", climb->sysroot, base);
    top = dir.len;
    buf_adds(&dir, path);
    if (dir.truncated)
        return false;
    for (size_t end = dir.len;; end--) {
        if (end > top && room[end] != '/' && room[end] != '\0')
            continue;
        room[end] = '\0';
        if (climb->look(climb->context, room))
            return true;
        if (end <= top)
            return false;
    }
}

/* True if the comma-separated list[len] has this word. */
static bool list_has(const char *list, size_t len, const char *word)
{
    size_t size = strlen(word);

    for (size_t at = 0; at + size <= len; at++) {
        bool starts = at == 0 || list[at - 1] == ',';
        bool ends = at + size == len || list[at + size] == ',';

        if (starts && ends && memcmp(list + at, word, size) == 0)
            return true;
    }
    return false;
}

/*
 * Finds the line "N:CONTROLLERS:PATH" of a v1 controller, or of v2 (""). Without one PATH is "":
 * the root of the mount. So it is for a PATH outside the cgroup namespace ("/../x").
 */
static void find_membership(const char *membership, const char *controller, struct buf *list,
                            struct buf *path)
{
    for (const char *line = membership; *line;) {
        size_t size = strcspn(line, "\n");
        const char *first = memchr(line, ':', size);
        const char *second = first ? memchr(first + 1, ':', size - (size_t)(first + 1 - line))
                                   : NULL;
        size_t list_len = second ? (size_t)(second - first - 1) : 0;

        if (second && list_has(first + 1, list_len, controller)) {
            buf_add(list, first + 1, list_len);
            buf_add(path, second + 1, size - (size_t)(second + 1 - line));
            break;
        }
        line += size + (line[size] != '\0');
    }
    while (path->len > 0 && path->data[path->len - 1] == '/')
        path->data[--path->len] = '\0';
    if (path->truncated || strstr(path->data, "/.."))
        buf_reset(path);
}

static bool climb_v2(const struct climb *climb)
{
    char list_room[8], path_room[PATH_MAX];
    struct buf list = BUF_OVER(list_room), path = BUF_OVER(path_room);

    find_membership(climb->membership, "", &list, &path);
    return climb_from(climb, "", path.data) || climb_from(climb, "/unified", path.data);
}

/* A v1 controller is mounted under its own name, or under that of all that share its hierarchy. */
static bool climb_v1(const struct climb *climb, const char *controller)
{
    char list_room[256], path_room[PATH_MAX], base_room[300];
    struct buf list = BUF_OVER(list_room), path = BUF_OVER(path_room), base = BUF_OVER(base_room);

    find_membership(climb->membership, controller, &list, &path);
    buf_addf(&base, "/%s", controller);
    if (climb_from(climb, base.data, path.data))
        return true;
    if (strcmp(list.data, controller) == 0 || list.len == 0)
        return false;
    buf_reset(&base);
    buf_addf(&base, "/%s", list.data);
    return climb_from(climb, base.data, path.data);
}

static void read_membership(const char *sysroot, char *room, size_t size)
{
    char path_room[PATH_MAX];
    struct buf path = BUF_OVER(path_room);

    room[0] = '\0';
    buf_addf(&path, "%s/proc/self/cgroup", sysroot);
    if (!path.truncated)
        (void)file_peek(AT_FDCWD, path.data, false, room, size);
}

static void note_quota(struct facts *facts, int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0)
        return;
    if (facts->cpu_quota_us > 0 && (double)quota / (double)period >=
                                       (double)facts->cpu_quota_us / (double)facts->cpu_period_us)
        return;
    facts->cpu_quota_us = quota;
    facts->cpu_period_us = period;
}

static void note_limit(struct facts *facts, int64_t bytes)
{
    if (bytes <= 0 || bytes >= NO_LIMIT)
        return;
    if (facts->memory_limit_bytes < 0 || bytes < facts->memory_limit_bytes)
        facts->memory_limit_bytes = bytes;
}

/* Number at *text, which moves behind it; -1 for a word ("max"). */
static int64_t next_number(char **text)
{
    char *end;
    int64_t number = strtoll(*text, &end, 10);

    if (end == *text)
        return -1;
    *text = end;
    return number;
}

static bool look_limits_v2(void *context, const char *dir)
{
    struct facts *facts = context;
    char text[64];
    char *at = text;

    if (read_in(dir, "cpu.max", text, sizeof(text))) {
        int64_t quota = next_number(&at);
        int64_t period = next_number(&at);

        note_quota(facts, quota, period > 0 ? period : DEFAULT_PERIOD_US);
    }
    at = text;
    if (read_in(dir, "memory.max", text, sizeof(text)))
        note_limit(facts, next_number(&at));
    return false;
}

static bool look_quota_v1(void *context, const char *dir)
{
    struct facts *facts = context;
    char quota_text[64], period_text[64];
    char *quota = quota_text, *period = period_text;

    if (read_in(dir, "cpu.cfs_quota_us", quota_text, sizeof(quota_text)) &&
        read_in(dir, "cpu.cfs_period_us", period_text, sizeof(period_text)))
        note_quota(facts, next_number(&quota), next_number(&period));
    return false;
}

static bool look_limit_v1(void *context, const char *dir)
{
    char text[64];
    char *at = text;

    if (read_in(dir, "memory.limit_in_bytes", text, sizeof(text)))
        note_limit(context, next_number(&at));
    return false;
}

void facts_cgroup_collect(const char *sysroot, struct facts *facts)
{
    char membership[MEMBERSHIP_MAX];
    struct climb climb = {.sysroot = sysroot, .membership = membership, .context = facts};

    read_membership(sysroot, membership, sizeof(membership));
    climb.look = look_limits_v2;
    climb_v2(&climb);
    climb.look = look_quota_v1;
    climb_v1(&climb, "cpu");
    climb.look = look_limit_v1;
    climb_v1(&climb, "memory");
}

/* Takes the line "oom_kill N"; true if there is one. */
static bool take_oom_kills(const char *text, int64_t *ret)
{
    static const char key[] = "oom_kill ";

    for (const char *line = text; *line;) {
        if (strncmp(line, key, strlen(key)) == 0) {
            *ret = strtoll(line + strlen(key), NULL, 10);
            return true;
        }
        line += strcspn(line, "\n");
        line += *line != '\0';
    }
    return false;
}

static bool look_oom_v2(void *context, const char *dir)
{
    char text[512];

    return read_in(dir, "memory.events", text, sizeof(text)) && take_oom_kills(text, context);
}

static bool look_oom_v1(void *context, const char *dir)
{
    char text[512];

    return read_in(dir, "memory.oom_control", text, sizeof(text)) && take_oom_kills(text, context);
}

int64_t facts_cgroup_oom_kills(const char *sysroot)
{
    char membership[MEMBERSHIP_MAX];
    int64_t kills = -1;
    struct climb climb = {.sysroot = sysroot, .membership = membership, .context = &kills};

    read_membership(sysroot, membership, sizeof(membership));
    climb.look = look_oom_v2;
    if (climb_v2(&climb))
        return kills;
    climb.look = look_oom_v1;
    climb_v1(&climb, "memory");
    return kills;
}

static bool look_peak(const char *dir, const char *name, int64_t *ret)
{
    char text[64];
    char *at = text;

    if (!read_in(dir, name, text, sizeof(text)))
        return false;
    *ret = next_number(&at);
    return *ret > 0;
}

static bool look_peak_v2(void *context, const char *dir)
{
    return look_peak(dir, "memory.peak", context);
}

static bool look_peak_v1(void *context, const char *dir)
{
    return look_peak(dir, "memory.max_usage_in_bytes", context);
}

int64_t facts_cgroup_memory_peak(const char *sysroot)
{
    char membership[MEMBERSHIP_MAX];
    int64_t peak = 0;
    struct climb climb = {.sysroot = sysroot, .membership = membership, .context = &peak};

    read_membership(sysroot, membership, sizeof(membership));
    climb.look = look_peak_v2;
    if (climb_v2(&climb))
        return peak;
    climb.look = look_peak_v1;
    climb_v1(&climb, "memory");
    return peak > 0 ? peak : 0;
}

int64_t facts_oom_kills(void)
{
    return facts_cgroup_oom_kills("");
}

int64_t facts_memory_peak(void)
{
    return facts_cgroup_memory_peak("");
}
