#include "sys/source.h"

#include <sys/epoll.h>
#include <time.h>

int source_watch(int epoll_fd, struct source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    int operation = EPOLL_CTL_MOD;

    if (events == source->events)
        return 0;
    if (events == 0)
        operation = EPOLL_CTL_DEL;
    else if (source->events == 0)
        operation = EPOLL_CTL_ADD;
    if (epoll_ctl(epoll_fd, operation, source->fd, &event) < 0)
        return -1;
    source->events = events;
    return 0;
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t source_clock(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t source_realtime(void)
{
    return read_clock(CLOCK_REALTIME);
}
