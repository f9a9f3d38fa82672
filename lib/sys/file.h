/*
 * Small reads and safe opens. Layer: sys.
 */
#ifndef RANKINIT_SYS_FILE_H
#define RANKINIT_SYS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Reads a file that a user named, at most max bytes, whole, into fresh memory at *ret (NUL-terminated,
 * freed by the caller; *ret_len without the NUL). Regular files, pipes and /dev/stdin alike.
 * Never waits longer than ten seconds for a pipe: signals are blocked meanwhile.
 * ERR_SPEC: missing, unreadable, too large, a directory, a pipe that stays silent.
 */
int file_read(const char *path, size_t max, char **ret, size_t *ret_len, struct err *err);

/* The same from standard input, for as long as it lasts: signals must be able to end the wait. */
int file_read_stdin(size_t max, char **ret, size_t *ret_len, struct err *err);

/*
 * Reads the head of a kernel or untrusted file into room (size bytes, NUL-terminated), without
 * blocking and without following a final symbolic link if `nofollow`. Returns the length, or -1
 * with errno.
 */
ssize_t file_peek(int dir_fd, const char *path, bool nofollow, char *room, size_t size);

/*
 * True if making or removing files in the directory at path takes CAP_DAC_OVERRIDE: it belongs to
 * another user, and not everybody may write to it.
 */
bool file_dir_is_foreign(int dir_fd, const char *path);

/* Decimal number at the start of a small file; false if there is none. */
bool file_number(const char *path, int64_t *ret);

/* Writes all bytes, retrying on EINTR; -1 with errno. For regular files only: it may block. */
int file_write_all(int fd, const char *bytes, size_t len);

#endif
