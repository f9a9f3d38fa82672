#include "sys/inherit.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PROBE_LIMIT 1024 /* without /proc: how far to look */

/* A record of getdents64(2); opendir(3) would allocate. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

void inherit_fill_stdio(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* The lowest free number is fd. Without /dev/null any harmless thing must do. */
        if (open("/dev/null", O_RDWR) < 0)
            open("/", O_RDONLY | O_DIRECTORY);
    }
}

static void note(struct inherit *inherit, int fd)
{
    int flags = fcntl(fd, F_GETFD);

    if (fd >= 3 && flags >= 0 && !(flags & FD_CLOEXEC) && inherit->count < INHERIT_MAX)
        inherit->fds[inherit->count++] = fd;
}

void inherit_note(struct inherit *inherit)
{
    _Alignas(struct entry) char room[4096];
    CLEANUP_FD int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long len;

    inherit->count = 0;
    if (dir < 0) {
        for (int fd = 3; fd < PROBE_LIMIT; fd++)
            note(inherit, fd);
        return;
    }
    while ((len = syscall(SYS_getdents64, dir, room, sizeof(room))) > 0) {
        for (long at = 0; at < len;) {
            const struct entry *entry = (const struct entry *)(room + at);

            if (entry->name[0] != '.')
                note(inherit, atoi(entry->name));
            at += entry->size;
        }
    }
}

void inherit_close(struct inherit *inherit)
{
    for (int i = 0; i < inherit->count; i++)
        close(inherit->fds[i]);
    inherit->count = 0;
}
