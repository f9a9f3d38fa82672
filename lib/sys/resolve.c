#include "sys/resolve.h"

#include <ares.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"

#define TIMEOUT_MS 2000
#define TRIES      2

/*
 * c-ares can look up names of services, which nobody here has. Those calls of libc would pull its
 * whole name service switch into a static program, and need its shared libraries: these take their
 * place. Whatever is asked, there is none.
 */
const void *resolve_no_service(void) __asm__("getservbyname");
int resolve_no_service_r(void) __asm__("getservbyport_r");

const void *resolve_no_service(void)
{
    return NULL;
}

int resolve_no_service_r(void)
{
    return ENOENT;
}

static enum waiting_cause cause_of(int status)
{
    switch (status) {
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
    case ARES_EBADNAME: return WAITING_NO_NAME;
    case ARES_ECONNREFUSED:
    case ARES_ETIMEOUT: return WAITING_NO_SERVER;
    default: return WAITING_SERVER;
    }
}

/* The port stands at the same place for both families. */
static void take_addr(struct resolve *resolve, const struct ares_addrinfo_node *node)
{
    struct sockaddr_storage *addr = &resolve->addrs[resolve->count++];

    memcpy(addr, node->ai_addr, (size_t)node->ai_addrlen);
    ((struct sockaddr_in *)addr)->sin_port = htons((uint16_t)resolve->port);
}

static void take_addrs(struct resolve *resolve, const struct ares_addrinfo *info)
{
    for (const struct ares_addrinfo_node *node = info->nodes; node; node = node->ai_next) {
        if (resolve->count < RESOLVE_ADDRS_MAX && node->ai_addrlen > 0 &&
            (size_t)node->ai_addrlen <= sizeof(resolve->addrs[0]))
            take_addr(resolve, node);
    }
}

static void looked_up(void *context, int status, int timeouts, struct ares_addrinfo *info)
{
    struct resolve *resolve = context;

    (void)timeouts;
    if (status == ARES_SUCCESS && info)
        take_addrs(resolve, info);
    if (info)
        ares_freeaddrinfo(info);
    if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED)
        return;
    resolve->cause = status == ARES_SUCCESS ? WAITING_NO_NAME : cause_of(status);
    resolve->done = true;
}

static void socket_ready(struct source *source, uint32_t events, int64_t now_ns)
{
    struct resolve *resolve = ((struct resolve_socket *)source)->resolve;
    int fd = source->fd;
    bool input = events & (EPOLLIN | EPOLLERR | EPOLLHUP);

    (void)now_ns;
    if (resolve->channel && fd >= 0)
        ares_process_fd(resolve->channel, input ? fd : ARES_SOCKET_BAD,
                        events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
}

/* c-ares tells what it wants of a socket; nothing, before it closes it. */
static void socket_state(void *context, ares_socket_t fd, int readable, int writable)
{
    struct resolve *resolve = context;
    struct source *source = NULL;

    for (int i = 0; i < RESOLVE_SOCKETS_MAX; i++) {
        struct source *candidate = &resolve->sockets[i].source;

        if (candidate->fd == fd || (candidate->fd < 0 && !source))
            source = candidate;
        if (candidate->fd == fd)
            break;
    }
    if (!source)
        return; /* what it asks there times out */
    source->fd = fd;
    source_watch(resolve->epoll_fd, source, (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u));
    if (!readable && !writable)
        source->fd = -1;
}

void resolve_init(struct resolve *resolve, int epoll_fd)
{
    memset(resolve, 0, sizeof(*resolve));
    resolve->epoll_fd = epoll_fd;
    for (int i = 0; i < RESOLVE_SOCKETS_MAX; i++)
        resolve->sockets[i] = (struct resolve_socket){.source = {.fd = -1, .ready = socket_ready},
                                                      .resolve = resolve};
}

int resolve_begin(struct resolve *resolve, const char *name, int port, struct err *err)
{
    struct ares_options options = {.timeout = TIMEOUT_MS,
                                   .tries = TRIES,
                                   .sock_state_cb = socket_state,
                                   .sock_state_cb_data = resolve};
    struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    ares_channel channel;
    int status;

    resolve_end(resolve);
    status = ares_init_options(&channel, &options,
                               ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (status != ARES_SUCCESS)
        return err_set(err, ERR_SYSTEM, "cannot look up names: %s", ares_strerror(status));
    resolve->channel = channel;
    resolve->done = false;
    resolve->count = 0;
    resolve->port = port;
    ares_getaddrinfo(channel, name, NULL, &hints, looked_up, resolve);
    return 0;
}

bool resolve_tick(struct resolve *resolve)
{
    if (resolve->channel && !resolve->done)
        ares_process_fd(resolve->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    return resolve->done;
}

int64_t resolve_wait(const struct resolve *resolve)
{
    struct timeval room, *left;

    if (!resolve->channel || resolve->done)
        return INT64_MAX;
    left = ares_timeout(resolve->channel, NULL, &room);
    return left ? left->tv_sec * 1000000000LL + left->tv_usec * 1000LL : INT64_MAX;
}

void resolve_end(struct resolve *resolve)
{
    if (!resolve->channel)
        return;
    ares_destroy(resolve->channel);
    resolve->channel = NULL;
}
