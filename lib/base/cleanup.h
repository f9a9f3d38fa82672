/*
 * Scope cleanup: a resource is released when its variable leaves the scope.
 * Layer: base.
 *
 * Declare the variable with its release and its empty value
 *     CLEANUP_FD int fd = -1;
 *     CLEANUP_FREE char *text = NULL;
 * and give ownership away by resetting it to the empty value
 *     ret->fd = cleanup_take_fd(&fd);
 */
#ifndef RANKINIT_BASE_CLEANUP_H
#define RANKINIT_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))
#define CLEANUP_FD        CLEANUP(cleanup_fd)
#define CLEANUP_FREE      CLEANUP(cleanup_free)
#define CLEANUP_DIR       CLEANUP(cleanup_dir)

/* Closes *fd unless it is negative; errno survives. */
static inline void cleanup_fd(const int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

/* Frees the memory that the pointer at `slot` points to. */
static inline void cleanup_free(void *slot)
{
    void **pointer = slot;

    free(*pointer);
}

/* Closes *dir unless it is NULL. */
static inline void cleanup_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/* Takes the descriptor out of *fd: the caller owns it now, *fd becomes -1. */
static inline int cleanup_take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#endif
