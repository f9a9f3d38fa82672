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

/* What is not close-on-exec cannot be ours. */
static void close_inherited(void *context, int dir_fd, int fd)
{
    int flags = fcntl(fd, F_GETFD);

    (void)context;
    (void)dir_fd;
    if (fd >= 3 && flags >= 0 && !(flags & FD_CLOEXEC))
        close(fd);
}

void inherit_close(void)
{
    CLEANUP_FD int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir >= 0 && numbered_each(dir, close_inherited, NULL) == 0)
        return;
    for (int fd = 3; fd < PROBE_LIMIT; fd++)
        close_inherited(NULL, -1, fd);
}
