#include "sys/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sys/file.h" /* NOLINT(readability-duplicate-include): <sys/file.h> is the system's */

/* How every document of ours begins: one that an earlier run left is nobody's message. */
#define OWN_HEAD   "{\"schema\":\"rankinit."
#define PEEK_EXTRA 512

/* ---- termination log ---- */

/* Write-only is enough to deliver, though then nobody else's words can be seen. */
static int open_log(const char *path, bool create)
{
    int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, O_RDWR | flags);

    if (fd < 0 && errno == EACCES)
        fd = open(path, O_WRONLY | flags);
    if (fd < 0 && errno == ENOENT && create)
        fd = open(path, O_RDWR | O_CREAT | flags, 0644);
    return fd;
}

/* True if the log is ours to write: a regular file that no other rankinit has locked. */
static bool claim_log(int fd, const char *path)
{
    struct stat status;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        log_notice("termination log %s is not a regular file: not used", path);
        return false;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno == EWOULDBLOCK) {
        log_info("termination log %s belongs to another rankinit: left alone", path);
        return false;
    }
    log_notice("termination log %s cannot be locked: %m", path);
    return true;
}

static void start_log(struct deliver *deliver, const struct plan_report *report)
{
    const char *path = report->termination_log;
    CLEANUP_FD int fd = open_log(path, report->termination_log_stated);

    if (fd >= 0) {
        if (claim_log(fd, path))
            deliver->log_fd = cleanup_take_fd(&fd);
    } else if (errno == ELOOP) {
        log_notice("termination log %s is a symbolic link: not used", path);
    } else if (errno != ENOENT || report->termination_log_stated) {
        log_notice("termination log %s cannot be used: %m", path);
    }
}

static ssize_t read_log(int fd, char *room, size_t size)
{
    ssize_t len;

    do
        len = pread(fd, room, size, 0);
    while (len < 0 && errno == EINTR);
    return len;
}

/* True for a document of ours, also one from an earlier run or one that could only be begun. */
static bool is_ours(const struct deliver *deliver, const char *text, size_t len)
{
    if (len <= deliver->written_len && memcmp(text, deliver->written, len) == 0)
        return true;
    return len >= strlen(OWN_HEAD) && memcmp(text, OWN_HEAD, strlen(OWN_HEAD)) == 0;
}

/* NULs too: a writer that kept its place while the file shrank leaves a hole before its words. */
static bool is_blank(char c)
{
    return c == '\0' || strchr(" \t\r\n", c);
}

void deliver_foreign(const struct deliver *deliver, struct buf *foreign)
{
    char room[DELIVER_LOG_MAX + PEEK_EXTRA];
    const char *text = room;
    ssize_t count = deliver->log_fd < 0 ? -1 : read_log(deliver->log_fd, room, sizeof(room));
    size_t len = count > 0 ? (size_t)count : 0, own = deliver->written_len;

    buf_reset(foreign);
    if (own > 0 && len >= own && memcmp(room, deliver->written, own) == 0) {
        text += own; /* appended to what we wrote */
        len -= own;
    } else if (is_ours(deliver, room, len)) {
        return;
    }
    while (len > 0 && is_blank(*text)) {
        text++;
        len--;
    }
    while (len > 0 && is_blank(text[len - 1]))
        len--;
    buf_add_plain(foreign, text, len);
}

static int write_at_start(int fd, const char *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t count = pwrite(fd, bytes + done, len - done, (off_t)done);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        done += (size_t)count;
    }
    return 0;
}

void deliver_log(struct deliver *deliver, const char *bytes, size_t len)
{
    struct stat status;
    size_t size = len;

    if (deliver->log_fd < 0 || len == 0)
        return;
    if (len > sizeof(deliver->written)) {
        log_notice("document of %zu bytes is too large for the termination log", len);
        return;
    }
    memcpy(deliver->written, bytes, len);
    deliver->written_len = len;
    /* Blanks over the rest of a longer old document keep the file valid JSON, should the kill come
       between the two calls. */
    if (fstat(deliver->log_fd, &status) == 0 && status.st_size > (off_t)len)
        size = status.st_size < (off_t)sizeof(deliver->written) ? (size_t)status.st_size
                                                                : sizeof(deliver->written);
    memset(deliver->written + len, ' ', size - len);
    if (write_at_start(deliver->log_fd, deliver->written, size) < 0 ||
        ftruncate(deliver->log_fd, (off_t)len) < 0)
        log_notice("cannot write the termination log: %m");
}

/* ---- summary file ---- */

static int open_summary_dir(struct deliver *deliver, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    char room[PATH_MAX];
    struct buf dir = BUF_OVER(room);

    deliver->summary_name = slash ? slash + 1 : path;
    if (slash)
        buf_add(&dir, path, slash == path ? 1 : (size_t)(slash - path));
    else
        buf_addc(&dir, '.');
    if (dir.truncated)
        return err_set_errno(err, ERR_SPEC, ENAMETOOLONG, "--summary %s", path);
    /* O_PATH asks for no right to list it. */
    deliver->summary_dir = open(room, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (deliver->summary_dir < 0)
        return err_set_errno(err, ERR_SPEC, errno, "--summary %s: cannot open directory %s", path,
                             room);
    return 0;
}

/* The rename would replace what is there: a file is meant to be, /dev/stderr or /dev/null is not. */
static void check_summary_target(struct deliver *deliver, const char *path)
{
    struct stat status;
    int found = fstatat(deliver->summary_dir, deliver->summary_name, &status, AT_SYMLINK_NOFOLLOW);

    if (deliver->summary_name[0] && (found < 0 || S_ISREG(status.st_mode)))
        return;
    log_notice("--summary %s is not a regular file: no summary will be written", path);
    cleanup_fd(&deliver->summary_dir);
    deliver->summary_dir = -1;
}

int deliver_open(struct deliver *deliver, const struct plan *plan, struct err *err)
{
    const struct plan_report *report = &plan->report;

    memset(deliver, 0, sizeof(*deliver));
    deliver->log_fd = deliver->summary_dir = -1;
    if (report->summary) {
        if (open_summary_dir(deliver, report->summary, err) < 0)
            return -1;
        check_summary_target(deliver, report->summary);
    }
    if (report->termination_log)
        start_log(deliver, report);
    return 0;
}

/* Writes a new file `name` in the directory; -1 with errno, and possibly a part of it there. */
static int write_new(int dir_fd, const char *name, const char *bytes, size_t len)
{
    CLEANUP_FD int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               0644);

    if (fd < 0 || file_write_all(fd, bytes, len) < 0)
        return -1;
    /* A network file system may tell only now that there is no room. */
    return close(cleanup_take_fd(&fd));
}

/* Writes `name` and renames it to what it is to be called; -1 with errno, and nothing left. */
static int replace_summary(const struct deliver *deliver, const char *name, const char *bytes,
                           size_t len)
{
    int dir = deliver->summary_dir;
    int saved;

    /* PID 1 of the container before us may have been killed in the middle of this. */
    unlinkat(dir, name, 0);
    if (write_new(dir, name, bytes, len) == 0 &&
        renameat(dir, name, dir, deliver->summary_name) == 0)
        return 0;
    saved = errno;
    unlinkat(dir, name, 0);
    errno = saved;
    return -1;
}

void deliver_summary(const struct deliver *deliver, const char *bytes, size_t len)
{
    char room[NAME_MAX + 1];
    struct buf name = BUF_OVER(room);
    uint64_t unforeseen = 0;

    if (deliver->summary_dir < 0 || len == 0)
        return;
    buf_addf(&name, ".%.200s.%d.tmp", deliver->summary_name, getpid());
    if (replace_summary(deliver, room, bytes, len) == 0)
        return;
    /* Whoever may write there can have put something in the way of a name that he can foresee. */
    if (errno == EEXIST && getrandom(&unforeseen, sizeof(unforeseen), GRND_NONBLOCK) > 0) {
        buf_reset(&name);
        buf_addf(&name, ".%.200s.%" PRIx64 ".tmp", deliver->summary_name, unforeseen);
        if (replace_summary(deliver, room, bytes, len) == 0)
            return;
    }
    log_notice("cannot write summary file %s: %m", deliver->summary_name);
}

void deliver_close(struct deliver *deliver)
{
    cleanup_fd(&deliver->log_fd);
    cleanup_fd(&deliver->summary_dir);
    deliver->log_fd = deliver->summary_dir = -1;
}
