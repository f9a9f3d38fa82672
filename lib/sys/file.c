#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define READ_WAIT_MS 10000 /* signals wait as long as we do */

/* Something that is read to its end. */
struct whole {
    int fd;
    const char *name;
    size_t max;
    int wait_ms; /* for each piece, if fd does not block */
};

/*
 * Reads until the end or until room is full, waiting at most wait_ms for each piece; -1 with errno,
 * *ret_len tells how far it came.
 */
static int read_up_to(int fd, char *room, size_t size, int wait_ms, size_t *ret_len)
{
    *ret_len = 0;
    while (*ret_len < size) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t count = read(fd, room + *ret_len, size - *ret_len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN && wait_ms > 0) {
            if (poll(&ready, 1, wait_ms) != 0)
                continue;
            errno = ETIMEDOUT;
        }
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        *ret_len += (size_t)count;
    }
    return 0;
}

/* The whole of what fd gives; name is for the message. */
static int read_whole(const struct whole *whole, char **ret, size_t *ret_len, struct err *err)
{
    const char *path = whole->name;
    CLEANUP_FREE char *text = NULL;
    size_t max = whole->max, len;

    /* One byte more than allowed shows that there is more; its place is the NUL's in the end. */
    text = malloc(max + 1);
    if (!text)
        return err_set_errno(err, ERR_SYSTEM, ENOMEM, "cannot read %s", path);
    if (read_up_to(whole->fd, text, max + 1, whole->wait_ms, &len) < 0)
        return err_set_errno(err, ERR_SPEC, errno, "cannot read %s", path);
    if (len > max)
        return err_set(err, ERR_SPEC, "%s is larger than %zu bytes", path, max);
    text[len] = '\0';
    *ret = text;
    *ret_len = len;
    text = NULL;
    return 0;
}

int file_read(const char *path, size_t max, char **ret, size_t *ret_len, struct err *err)
{
    CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const struct whole whole = {fd, path, max, READ_WAIT_MS};

    if (fd < 0)
        return err_set_errno(err, ERR_SPEC, errno, "cannot open %s", path);
    return read_whole(&whole, ret, ret_len, err);
}

int file_read_stdin(size_t max, char **ret, size_t *ret_len, struct err *err)
{
    const struct whole whole = {STDIN_FILENO, "standard input", max, INT_MAX};

    return read_whole(&whole, ret, ret_len, err);
}

ssize_t file_peek(int dir_fd, const char *path, bool nofollow, char *room, size_t size)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (nofollow ? O_NOFOLLOW : 0);
    CLEANUP_FD int fd = openat(dir_fd, path, flags);
    size_t len;

    room[0] = '\0';
    if (fd < 0)
        return -1;
    /* What came before an error is a head too. */
    if (read_up_to(fd, room, size - 1, 0, &len) < 0 && len == 0)
        return -1;
    room[len] = '\0';
    return (ssize_t)len;
}

bool file_dir_is_foreign(int dir_fd, const char *path)
{
    struct stat status;

    return fstatat(dir_fd, path, &status, 0) == 0 && status.st_uid != geteuid() &&
           !(status.st_mode & S_IWOTH);
}

bool file_number(const char *path, int64_t *ret)
{
    char text[64];
    char *end;
    int64_t number;

    if (file_peek(AT_FDCWD, path, false, text, sizeof(text)) < 0)
        return false;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (end == text || errno != 0)
        return false;
    *ret = number;
    return true;
}

int file_write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t count = write(fd, bytes, len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        bytes += count;
        len -= (size_t)count;
    }
    return 0;
}
