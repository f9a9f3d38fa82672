#include "sys/inherit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sys/numbered.h"

#define PROBE_LIMIT 1024 /* without /proc: how far to look */

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

static void note(void *context, int dir_fd, int fd)
{
    struct inherit *inherit = context;
    int flags = fcntl(fd, F_GETFD);

    (void)dir_fd;
    /* What is close-on-exec is ours: it could not have been inherited. */
    if (fd >= 3 && flags >= 0 && !(flags & FD_CLOEXEC) && inherit->count < INHERIT_MAX)
        inherit->fds[inherit->count++] = fd;
}

void inherit_note(struct inherit *inherit)
{
    CLEANUP_FD int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    inherit->count = 0;
    if (dir >= 0 && numbered_each(dir, note, inherit) == 0)
        return;
    for (int fd = 3; fd < PROBE_LIMIT; fd++)
        note(inherit, -1, fd);
}

void inherit_close(struct inherit *inherit)
{
    for (int i = 0; i < inherit->count; i++)
        close(inherit->fds[i]);
    inherit->count = 0;
}
