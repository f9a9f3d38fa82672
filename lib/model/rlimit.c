#include "model/rlimit.h"

#include <string.h>
#include <sys/resource.h>

#include "base/scan.h"

#define NUMBER_MAX 32

static const struct {
    const char *name;
    int resource;
} rows[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},     {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},   {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"nice", RLIMIT_NICE},     {"msgqueue", RLIMIT_MSGQUEUE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},   {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME}, {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static bool read_number(const char *text, size_t len, uint64_t *ret)
{
    char room[NUMBER_MAX];

    if (len == 0 || len >= sizeof(room))
        return false;
    memcpy(room, text, len);
    room[len] = '\0';
    if (strcmp(room, "unlimited") != 0)
        return scan_size(room, ret);
    *ret = RLIMIT_UNLIMITED;
    return true;
}

bool rlimit_read(const char *text, struct rlimit_value *ret)
{
    size_t len = strcspn(text, "=");
    const char *soft = text + len + 1;
    size_t soft_len;
    struct rlimit_value limit = {.resource = -1};

    if (text[len] != '=')
        return false;
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, text, len) == 0)
            limit.resource = rows[i].resource;
    }
    soft_len = strcspn(soft, ":");
    if (limit.resource < 0 || !read_number(soft, soft_len, &limit.soft))
        return false;
    limit.hard = limit.soft;
    if (soft[soft_len] == ':' &&
        !read_number(soft + soft_len + 1, strlen(soft + soft_len + 1), &limit.hard))
        return false;
    if (limit.soft > limit.hard)
        return false;
    *ret = limit;
    return true;
}

bool rlimit_is_one(char *text)
{
    struct rlimit_value limit;

    return rlimit_read(text, &limit);
}

const char *rlimit_name(int resource)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].resource == resource)
            return rows[i].name;
    }
    return "?";
}
