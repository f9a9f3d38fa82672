#include "sys/console.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define MAJOR_MEM     1 /* /dev/null, /dev/full: never make a writer wait */
#define MAJOR_TTY_AUX 5
#define MINOR_PTMX    2
/* A terminal that only can be polled promises room for something, not for how much. */
#define TERMINAL_CHUNK 256

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_rdev == b->st_rdev;
}

/* A description of our own of what fd is; -1 where there is none (permissions, no /proc). */
static int reopen(int fd, const struct stat *info)
{
    char path[32];
    struct stat opened;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CLEANUP_FD int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (own < 0 || fstat(own, &opened) < 0 || !same_file(&opened, info))
        return -1;
    return cleanup_take_fd(&own);
}

/* The master side of terminals is a new terminal each time it is opened. */
static bool is_ptmx(const struct stat *info)
{
    return major(info->st_rdev) == MAJOR_TTY_AUX && minor(info->st_rdev) == MINOR_PTMX;
}

/* How fd is to be written; *own is a fresh descriptor for OWN_OPEN. */
static enum console_kind find_kind(int fd, bool terminal, int *own)
{
    int flags = fcntl(fd, F_GETFL);
    struct stat info;

    if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &info) < 0)
        return CONSOLE_CLOSED;
    if (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode))
        return CONSOLE_FILE;
    if (S_ISSOCK(info.st_mode))
        return CONSOLE_SOCKET;
    if (S_ISCHR(info.st_mode) && major(info.st_rdev) == MAJOR_MEM)
        return CONSOLE_FILE;
    if (S_ISFIFO(info.st_mode) || (terminal && !is_ptmx(&info)))
        *own = reopen(fd, &info);
    return *own >= 0 ? CONSOLE_OWN_OPEN : CONSOLE_POLLED;
}

void console_open(struct console *console, int fd)
{
    int own = -1;

    memset(console, 0, sizeof(*console));
    console->terminal = isatty(fd) == 1;
    console->kind = find_kind(fd, console->terminal, &own);
    console->source.fd = fd;
    if (console->kind == CONSOLE_OWN_OPEN)
        console->source.fd = own;
    else if (console->kind == CONSOLE_CLOSED)
        console->source.fd = -1;
    console->pipe = console->kind == CONSOLE_OWN_OPEN && !console->terminal;
    /* Waking its reader costs more than all else that is done for much output. */
    if (console->pipe && fcntl(own, F_GETPIPE_SZ) < CONSOLE_PIPE)
        (void)fcntl(own, F_SETPIPE_SZ, CONSOLE_PIPE);
}

bool console_same(const struct console *a, const struct console *b)
{
    struct stat one, other;

    return a->kind != CONSOLE_CLOSED && b->kind != CONSOLE_CLOSED &&
           fstat(a->source.fd, &one) == 0 && fstat(b->source.fd, &other) == 0 &&
           same_file(&one, &other);
}

static ssize_t write_polled(const struct console *console, const char *bytes, size_t len)
{
    size_t limit = console->terminal ? TERMINAL_CHUNK : PIPE_BUF;

    if (!console_wait(console, 0)) {
        errno = EAGAIN;
        return -1;
    }
    return write(console->source.fd, bytes, len < limit ? len : limit);
}

static ssize_t write_once(const struct console *console, const char *bytes, size_t len)
{
    if (console->kind == CONSOLE_POLLED)
        return write_polled(console, bytes, len);
    if (console->kind == CONSOLE_SOCKET)
        return send(console->source.fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(console->source.fd, bytes, len);
}

static bool reader_left(const struct console *console, int errnum)
{
    switch (errnum) {
    case EPIPE:
    case ENXIO:
    case ECONNRESET:
    case ENOTCONN:
    case ESHUTDOWN: return true;
    case EIO: /* a terminal that was hung up; on a file it is the disk */
        return console->kind != CONSOLE_FILE;
    default: return false;
    }
}

size_t console_chunk(const struct console *console)
{
    return console->terminal || console->kind == CONSOLE_POLLED ? PIPE_BUF : SIZE_MAX;
}

ssize_t console_write(struct console *console, const char *bytes, size_t len)
{
    ssize_t taken;

    if (console->kind == CONSOLE_CLOSED || console->gone)
        return (ssize_t)len;
    do
        taken = write_once(console, bytes, len);
    while (taken < 0 && errno == EINTR);
    if (taken >= 0)
        return taken;
    if (errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS)
        return 0;
    if (reader_left(console, errno)) {
        console->gone = true;
        return -1;
    }
    /* A full disk must not hold up the ranks for ever: what does not fit is lost, and told. */
    console->failed = errno;
    return (ssize_t)len;
}

/* Queues a line as it is; false if there is no room. */
static bool queue(struct console *console, const char *line, size_t len)
{
    size_t room = CONSOLE_OWN_MAX - console->own_len;
    bool closed = len > 0 && line[len - 1] == '\n';

    if (len > room || (!closed && len == room))
        return false;
    memcpy(console->own + console->own_len, line, len);
    console->own_len += len;
    if (!closed)
        console->own[console->own_len++] = '\n';
    return true;
}

static void tell_lost(struct console *console)
{
    char room[80];
    struct buf line = BUF_OVER(room);

    if (console->own_lost == 0)
        return;
    buf_addf(&line, "rankinit: notice: %u messages were lost: nobody read them\n",
             console->own_lost);
    console->own_lost = 0;
    queue(console, line.data, line.len);
}

void console_say(struct console *console, const char *line, size_t len)
{
    if (!queue(console, line, len))
        console->own_lost++;
    console_flush_own(console);
}

bool console_flush_own(struct console *console)
{
    while (console->own_len > 0) {
        ssize_t taken;

        if (console->line_owner && console->line_owner != console)
            return false;
        taken = console_write(console, console->own, console->own_len);
        if (taken == 0)
            return false;
        if (taken < 0)
            taken = (ssize_t)console->own_len;
        /* Half a line of ours: the cursor is ours until the rest is out. */
        console->line_owner = console->own[taken - 1] == '\n' ? NULL : console;
        console->own_len -= (size_t)taken;
        memmove(console->own, console->own + taken, console->own_len);
        if (console->own_len == 0)
            tell_lost(console);
    }
    return true;
}

bool console_wait(const struct console *console, int timeout_ms)
{
    struct pollfd entry = {.fd = console->source.fd, .events = POLLOUT};

    if (console->kind == CONSOLE_CLOSED || console->kind == CONSOLE_FILE || console->gone)
        return true;
    return poll(&entry, 1, timeout_ms) > 0;
}

void console_close(struct console *console)
{
    if (console->kind == CONSOLE_OWN_OPEN)
        close(console->source.fd);
    console->source.fd = -1;
    console->kind = CONSOLE_CLOSED;
}
