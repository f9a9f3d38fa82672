#include "sys/install.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "sys/file.h"

#define MODE 0755

/* Without /proc there is still the path that the kernel was given. */
static int open_self(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const char *path = (const char *)getauxval(AT_EXECFN); // NOLINT(performance-no-int-to-ptr)

    return fd < 0 && path ? open(path, O_RDONLY | O_CLOEXEC) : fd;
}

/* What is there already must be a plain file: nobody means to have a link or a device replaced. */
static int check_target(const char *path, struct err *err)
{
    size_t len = strlen(path);
    struct stat info;

    if (path[len - 1] == '/' || (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return err_set(err, ERR_SPEC,
                       "--install: %s is a directory: give the file's own name, %s%s", path, path,
                       path[len - 1] == '/' ? "rankinit" : "/rankinit");
    if (lstat(path, &info) < 0)
        return 0;
    if (S_ISLNK(info.st_mode))
        return err_set(err, ERR_SPEC, "--install: %s is a link: give the path it stands for", path);
    if (!S_ISREG(info.st_mode))
        return err_set(err, ERR_SPEC, "--install: %s is no regular file", path);
    return 0;
}

static int copy(int from, int to)
{
    char room[65536];
    ssize_t len;

    while ((len = read(from, room, sizeof(room))) != 0) {
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 || file_write_all(to, room, (size_t)len) < 0)
            return -1;
    }
    /* The mode whatever the umask; on the disk before it has the name. */
    return fchmod(to, MODE) < 0 || fsync(to) < 0 ? -1 : 0;
}

/* A name that no other pod has which writes to the same volume: all of us are PID 1. */
static void temporary_name(const char *path, struct buf *out)
{
    const char *slash = strrchr(path, '/');
    uint64_t random = 0;

    if (getrandom(&random, sizeof(random), 0) < 0)
        random = (uint64_t)getpid();
    if (slash)
        buf_add(out, path, (size_t)(slash - path) + 1);
    buf_addf(out, ".rankinit.%016llx.tmp", (unsigned long long)random);
}

int install_self(const char *path, struct err *err)
{
    char room[PATH_MAX];
    struct buf name = BUF_OVER(room);
    CLEANUP_FD int self = open_self();
    CLEANUP_FD int fd = -1;

    if (check_target(path, err) < 0)
        return -1;
    if (self < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "--install: cannot read this program");
    temporary_name(path, &name);
    if (name.truncated)
        return err_set_errno(err, ERR_SPEC, ENAMETOOLONG, "--install: %.64s...", path);
    fd = open(room, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
    if (fd < 0)
        return err_set_errno(err, ERR_SPEC, errno, "--install: cannot write beside %s", path);
    /* A network file system may tell only at the close that there is no room. */
    if (copy(self, fd) < 0 || close(cleanup_take_fd(&fd)) < 0 || rename(room, path) < 0) {
        err_set_errno(err, ERR_SYSTEM, errno, "--install: cannot write %s", path);
        unlink(room);
        return -1;
    }
    return 0;
}
