#include "sys/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sys/file.h"

#define CHECK_NS   1000000000LL
#define FILE_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)
#define DIR_FLAGS  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const char *const names[] = {"stdout.log", "stderr.log"};
static const char *const rotated[] = {"stdout.log.1", "stderr.log.1"};
static const char *const filtered[] = {"filtered_stdout.log", "filtered_stderr.log"};

static void close_file(struct logs_file *file)
{
    cleanup_fd(&file->fd);
    *file = (struct logs_file){.fd = -1};
}

static void close_attempt(struct logs *logs)
{
    for (int i = 0; logs->ranks && i < logs->plan->job.nproc; i++) {
        struct logs_rank *rank = &logs->ranks[i];

        for (int stream = 0; stream < 2; stream++) {
            close_file(&rank->files[stream]);
            rank->pending_len[stream] = 0;
        }
        cleanup_fd(&rank->dir_fd);
        rank->dir_fd = -1;
    }
    for (int stream = 0; stream < 2; stream++)
        close_file(&logs->filtered[stream]);
    cleanup_fd(&logs->attempt_fd);
    logs->attempt_fd = -1;
}

/* Memory for unfinished lines, where some are wanted twice. */
static int reserve_lines(struct logs *logs, struct err *err)
{
    const struct plan_output *output = &logs->plan->output;

    for (int i = 0; i < logs->plan->job.nproc; i++) {
        for (int stream = 0; stream < 2; stream++) {
            if (output->duplicates[stream].count == 0 || !output->sinks[i].file[stream] ||
                !output->sinks[i].console[stream])
                continue;
            logs->ranks[i].pending[stream] = calloc(1, LOGS_LINE_MAX);
            if (!logs->ranks[i].pending[stream])
                return err_set(err, ERR_SYSTEM, "no memory for the ranks' lines");
        }
    }
    return 0;
}

int logs_init(struct logs *logs, const struct plan *plan, const char *run_dir, struct err *err)
{
    size_t count = (size_t)plan->job.nproc;

    memset(logs, 0, sizeof(*logs));
    logs->plan = plan;
    logs->run_fd = logs->attempt_fd = logs->filtered[0].fd = logs->filtered[1].fd = -1;
    if (!plan->output.files || !run_dir[0])
        return 0;
    logs->ranks = calloc(count, sizeof(*logs->ranks));
    if (!logs->ranks)
        return err_set(err, ERR_SYSTEM, "no memory for the files of %zu ranks", count);
    for (size_t i = 0; i < count; i++)
        logs->ranks[i].dir_fd = logs->ranks[i].files[0].fd = logs->ranks[i].files[1].fd = -1;
    logs->run_fd = open(run_dir, DIR_FLAGS);
    if (logs->run_fd < 0)
        return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot open %s", run_dir);
    return reserve_lines(logs, err);
}

/* A directory below dir_fd, made if it is not there; -1 with errno. */
static int enter(int dir_fd, const char *name)
{
    if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
        return -1;
    return openat(dir_fd, name, DIR_FLAGS);
}

static int make_file(int dir_fd, const char *name, struct logs_file *file)
{
    *file = (struct logs_file){.fd = openat(dir_fd, name, FILE_FLAGS, 0666)};
    return file->fd < 0 ? -1 : 0;
}

static int open_rank(struct logs *logs, int local_rank, struct err *err)
{
    const struct plan_sinks *sinks = &logs->plan->output.sinks[local_rank];
    struct logs_rank *rank = &logs->ranks[local_rank];
    char name[16];

    if (!sinks->file[0] && !sinks->file[1])
        return 0;
    snprintf(name, sizeof(name), "%d", local_rank);
    rank->dir_fd = enter(logs->attempt_fd, name);
    if (rank->dir_fd < 0)
        return err_set_errno(err, ERR_SPEC, errno, "--log-dir: no folder for local rank %d",
                             local_rank);
    for (int stream = 0; stream < 2; stream++) {
        if (sinks->file[stream] && make_file(rank->dir_fd, names[stream], &rank->files[stream]) < 0)
            return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot make %d/%s", local_rank,
                                 names[stream]);
    }
    /* Only to rotate it is the folder needed again. */
    if (logs->plan->output.file_max_bytes == 0) {
        cleanup_fd(&rank->dir_fd);
        rank->dir_fd = -1;
    }
    return 0;
}

static int open_all(struct logs *logs, int attempt, struct err *err)
{
    char name[32];

    snprintf(name, sizeof(name), "attempt_%d", attempt);
    logs->attempt_fd = enter(logs->run_fd, name);
    if (logs->attempt_fd < 0)
        return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot make %s", name);
    for (int i = 0; i < logs->plan->job.nproc; i++) {
        if (open_rank(logs, i, err) < 0)
            return -1;
    }
    for (int stream = 0; stream < 2; stream++) {
        if (logs->plan->output.duplicates[stream].count > 0 &&
            make_file(logs->attempt_fd, filtered[stream], &logs->filtered[stream]) < 0)
            return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot make %s",
                                 filtered[stream]);
    }
    return 0;
}

int logs_open(struct logs *logs, int attempt, struct err *err)
{
    close_attempt(logs);
    if (!logs->ranks)
        return 0;
    if (open_all(logs, attempt, err) == 0)
        return 0;
    close_attempt(logs);
    return -1;
}

static struct logs_file *file_of(const struct logs *logs, struct logs_spot spot)
{
    return &logs->ranks[spot.local_rank].files[spot.stream];
}

bool logs_has(const struct logs *logs, struct logs_spot spot)
{
    return logs && logs->ranks && file_of(logs, spot)->fd >= 0;
}

/* Tells that a file is not written any more, and why. */
static void give_up(const struct logs *logs, struct logs_spot spot, const char *why)
{
    log_notice("rank %d: %s is not written any more (%s); the console has the rest",
               logs->plan->job.first_rank + spot.local_rank, names[spot.stream], why);
    close_file(file_of(logs, spot));
}

/* A full file makes way for a new one; false with errno. */
static bool rotate(struct logs_rank *rank, int stream)
{
    struct logs_file *file = &rank->files[stream];
    struct logs_file fresh;

    if (renameat(rank->dir_fd, names[stream], rank->dir_fd, rotated[stream]) < 0 ||
        make_file(rank->dir_fd, names[stream], &fresh) < 0)
        return false;
    fresh.checked_ns = file->checked_ns;
    close_file(file);
    *file = fresh;
    return true;
}

/*
 * All of them if they fit, else whole lines; the next file begins with a line then. Of a line that
 * has begun before, or that alone is longer than the room, what fits.
 */
size_t logs_cut(const char *bytes, size_t len, uint64_t room, bool midline)
{
    const char *newline;

    if (len <= room)
        return len;
    newline = memrchr(bytes, '\n', (size_t)room);
    if (newline)
        return (size_t)(newline - bytes) + 1;
    return midline ? (size_t)room : 0;
}

/* What may be written before the next rotation; 0: rotate first. */
static size_t next_piece(const struct logs_file *file, const char *bytes, size_t len, uint64_t max)
{
    size_t piece;

    if (max == 0)
        return len;
    if (file->size >= max)
        return 0;
    piece = logs_cut(bytes, len, max - file->size, file->midline);
    /* Not even an empty file has room for this line. */
    if (piece == 0 && file->size == 0)
        piece = len < max ? len : (size_t)max;
    return piece;
}

static bool write_pieces(struct logs *logs, struct logs_spot spot, struct iovec bytes)
{
    struct logs_rank *rank = &logs->ranks[spot.local_rank];
    struct logs_file *file = &rank->files[spot.stream];
    const char *at = bytes.iov_base, *end = at + bytes.iov_len;

    while (at < end) {
        size_t piece = next_piece(file, at, (size_t)(end - at), logs->plan->output.file_max_bytes);

        if (piece == 0 && !rotate(rank, spot.stream))
            return false;
        if (piece == 0)
            continue;
        if (file_write_all(file->fd, at, piece) < 0)
            return false;
        at += piece;
        file->size += piece;
        file->midline = at[-1] != '\n';
    }
    return true;
}

/* A file without a name is lost when we end, and writing to it never fails. */
static bool removed(const struct logs_file *file)
{
    struct stat info;

    return fstat(file->fd, &info) == 0 && info.st_nlink == 0;
}

void logs_put(struct logs *logs, struct logs_spot spot, const char *bytes, size_t len,
              int64_t now_ns)
{
    struct logs_file *file;
    struct iovec piece = {.iov_len = len};

    if (!logs_has(logs, spot))
        return;
    file = file_of(logs, spot);
    memcpy(&piece.iov_base, &bytes, sizeof(bytes)); /* an iovec knows no const */
    if (!write_pieces(logs, spot, piece)) {
        give_up(logs, spot, strerror(errno));
    } else if (now_ns - file->checked_ns >= CHECK_NS) {
        file->checked_ns = now_ns;
        if (removed(file))
            give_up(logs, spot, "it was removed");
    }
}

bool logs_wants_lines(const struct logs *logs, struct logs_spot spot)
{
    return logs && logs->ranks && logs->filtered[spot.stream].fd >= 0 &&
           logs->ranks[spot.local_rank].pending[spot.stream];
}

static bool is_wanted(const struct strvec *texts, struct iovec line)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (memmem(line.iov_base, line.iov_len, texts->items[i], strlen(texts->items[i])))
            return true;
    }
    return false;
}

/* One line without its newline. */
static void filter_line(struct logs *logs, int stream, struct logs_prefix prefix, struct iovec line)
{
    struct logs_file *file = &logs->filtered[stream];
    struct iovec pieces[3] = {{.iov_len = prefix.len}, line, {(char[]){'\n'}, 1}};
    size_t len = prefix.len + line.iov_len + 1;

    if (file->fd < 0 || !is_wanted(&logs->plan->output.duplicates[stream], line))
        return;
    memcpy(&pieces[0].iov_base, &prefix.text, sizeof(prefix.text)); /* an iovec knows no const */
    errno = ENOSPC;
    if (writev(file->fd, pieces, 3) == (ssize_t)len)
        return;
    log_notice("%s is not written any more: %s", filtered[stream], strerror(errno));
    close_file(file);
}

void logs_filter(struct logs *logs, struct logs_spot spot, struct logs_prefix prefix,
                 const char *bytes, size_t len)
{
    struct logs_rank *rank = &logs->ranks[spot.local_rank];
    char *pending = rank->pending[spot.stream];
    size_t *used = &rank->pending_len[spot.stream];

    while (len > 0) {
        const char *newline = memchr(bytes, '\n', len);
        size_t piece = newline ? (size_t)(newline - bytes) : len;
        size_t room = LOGS_LINE_MAX - *used;
        bool whole = newline && piece <= room;

        if (piece > room)
            piece = room;
        memcpy(pending + *used, bytes, piece);
        *used += piece;
        if (whole || *used == LOGS_LINE_MAX) {
            filter_line(logs, spot.stream, prefix, (struct iovec){pending, *used});
            *used = 0;
        }
        bytes += piece + whole;
        len -= piece + whole;
    }
}

void logs_end(struct logs *logs, struct logs_spot spot, struct logs_prefix prefix)
{
    struct logs_rank *rank;
    size_t *len;

    if (!logs->ranks)
        return;
    rank = &logs->ranks[spot.local_rank];
    len = &rank->pending_len[spot.stream];
    if (*len > 0)
        filter_line(logs, spot.stream, prefix, (struct iovec){rank->pending[spot.stream], *len});
    *len = 0;
    if (logs_has(logs, spot) && removed(file_of(logs, spot)))
        give_up(logs, spot, "it was removed");
}

void logs_release(struct logs *logs)
{
    if (!logs->plan)
        return;
    close_attempt(logs);
    for (int i = 0; logs->ranks && i < logs->plan->job.nproc; i++) {
        free(logs->ranks[i].pending[0]);
        free(logs->ranks[i].pending[1]);
    }
    free(logs->ranks);
    cleanup_fd(&logs->run_fd);
}
