/*
 * A thing the event loop waits for: a descriptor and what to do when it is
 * ready. Layer: sys. Embedded as first member of whatever owns the descriptor,
 * so that the handler finds its owner by a cast.
 */
#ifndef RANKINIT_SYS_SOURCE_H
#define RANKINIT_SYS_SOURCE_H

#include <stdint.h>

struct source {
    int fd;          /* -1: not open */
    uint32_t events; /* what epoll watches now; 0: not watched */
    void (*ready)(struct source *source, uint32_t events, int64_t now_ns);
};

/*
 * Watches source->fd for `events` (EPOLLIN, EPOLLOUT; level-triggered) from now on; 0 stops
 * watching. A descriptor that epoll cannot watch (a regular file) is -1 with errno EPERM.
 */
int source_watch(int epoll_fd, struct source *source, uint32_t events);

/* Nanoseconds of CLOCK_MONOTONIC, the clock of every deadline here. */
int64_t source_clock(void);

/* Nanoseconds of CLOCK_REALTIME since 1970: for what people read, never for a deadline. */
int64_t source_realtime(void);

#endif
