/*
 * A name to addresses, within an event loop: as the resolver of libc does it,
 * with search domains, ndots and /etc/hosts, but without ever blocking. Layer:
 * sys; the one home of c-ares.
 */
#ifndef RANKINIT_SYS_RESOLVE_H
#define RANKINIT_SYS_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "model/waiting.h"
#include "sys/source.h"

#define RESOLVE_ADDRS_MAX   16
#define RESOLVE_SOCKETS_MAX 16

struct resolve_socket {
    struct source source;
    struct resolve *resolve;
};

struct resolve {
    int epoll_fd;
    void *channel; /* NULL: no lookup is under way */
    int port;
    bool done;
    enum waiting_cause cause; /* when done and count is 0 */
    int count;
    struct sockaddr_storage addrs[RESOLVE_ADDRS_MAX]; /* port included, in the order to be tried */
    struct resolve_socket sockets[RESOLVE_SOCKETS_MAX];
};

/* Nothing is under way. */
void resolve_init(struct resolve *resolve, int epoll_fd);

/* Begins the lookup of a name or numeric address, with what resolv.conf(5) says now. ERR_SYSTEM. */
int resolve_begin(struct resolve *resolve, const char *name, int port, struct err *err);

/* Takes what has timed out; true when the lookup is done, and count and cause are true. */
bool resolve_tick(struct resolve *resolve);

/* Nanoseconds until resolve_tick has something to do; INT64_MAX if only a socket can tell. */
int64_t resolve_wait(const struct resolve *resolve);

/* Ends the lookup, done or not; the addresses stay. */
void resolve_end(struct resolve *resolve);

#endif
