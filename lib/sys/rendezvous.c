#include "sys/rendezvous.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/scan.h"
#include "sys/file.h"
#include "sys/source.h"

struct span {
    int first, last;
};

/* ---- sockets ---- */

/*
 * A stream socket for all addresses. The IPv6 one is dual-stack, as TCPStore's: held so, the port
 * cannot be bound by either family, while two separate sockets would not keep each other out.
 */
static int open_socket(int family)
{
    CLEANUP_FD int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int off = 0;

    if (fd >= 0 && family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
        return -1;
    return cleanup_take_fd(&fd);
}

static int allow_reuse(int fd)
{
    int on = 1;

    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

static int bind_port(int fd, int family, int port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    if (family == AF_INET6)
        return bind(fd, (const struct sockaddr *)&six, sizeof(six));
    return bind(fd, (const struct sockaddr *)&four, sizeof(four));
}

/* ---- holding ---- */

/* Jobs that start together should not all try the same ports in the same order. */
static unsigned any_number(void)
{
    unsigned number;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
        number = (unsigned)getpid() * 2654435761u ^ (unsigned)source_clock();
    return number;
}

/* Binds a port of span outside avoid; returns it, 0 if all are taken, -1 with errno. */
static int bind_within(int fd, int family, struct span span, struct span avoid)
{
    unsigned count = (unsigned)(span.last - span.first + 1);
    unsigned start = any_number() % count;

    for (unsigned i = 0; i < count; i++) {
        int port = span.first + (int)((start + i) % count);

        if (port >= avoid.first && port <= avoid.last)
            continue;
        if (bind_port(fd, family, port) == 0)
            return port;
        if (errno != EADDRINUSE && errno != EACCES)
            return -1;
    }
    return 0;
}

static int bind_somewhere(int fd, int family, struct span avoid)
{
    /* First below what PyTorch (29400, 29500), Kubeflow (23456) and NodePorts (30000-32767) use. */
    static const struct span places[] = {{10000, 23455}, {1024, 65535}};
    static const struct span nothing = {0, -1};
    int port = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && port == 0; i++)
        port = bind_within(fd, family, places[i], avoid);
    if (port == 0) {
        log_info("no free port outside the ephemeral range %d-%d: taking one inside", avoid.first,
                 avoid.last);
        port = bind_within(fd, family, places[1], nothing);
    }
    return port;
}

int rendezvous_hold(int avoid_min, int avoid_max, int *ret_port, struct err *err)
{
    static const int families[] = {AF_INET6, AF_INET};
    struct span avoid = {avoid_min, avoid_max};
    int errnum = 0;

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        CLEANUP_FD int fd = open_socket(families[i]);
        int port = fd < 0 ? -1 : bind_somewhere(fd, families[i], avoid);

        if (port == 0)
            return err_set(err, ERR_PORT, "no TCP port is free for the rendezvous");
        /* Only now: bound with it, two holders could have the same port. */
        if (port > 0 && allow_reuse(fd) == 0) {
            *ret_port = port;
            return cleanup_take_fd(&fd);
        }
        errnum = errno;
    }
    return err_set_errno(err, ERR_SYSTEM, errnum, "cannot hold a port for the rendezvous");
}

/* ---- who has it ---- */

struct holder {
    uint64_t inode; /* of the socket; 0: not found */
    uint64_t uid;
    bool listens;
};

/* Columns of /proc/net/tcp. */
enum { COLUMN_LOCAL = 1, COLUMN_STATE = 3, COLUMN_UID = 7, COLUMN_INODE = 9, COLUMNS };

/* Takes a line of /proc/net/tcp if it is about this port; a listener beats a mere connection. */
static void take_socket(char *line, int port, struct holder *holder)
{
    char *column[COLUMNS] = {NULL};
    char *rest = line, *colon;
    uint64_t inode, uid;
    bool listens;
    int count = 0;

    while (count < COLUMNS && (column[count] = strtok_r(rest, " \n", &rest)))
        count++;
    if (count < COLUMNS || !(colon = strrchr(column[COLUMN_LOCAL], ':')) ||
        strtol(colon + 1, NULL, 16) != port)
        return;
    listens = strcmp(column[COLUMN_STATE], "0A") == 0;
    if (!scan_u64(column[COLUMN_INODE], &inode) || !scan_u64(column[COLUMN_UID], &uid) ||
        inode == 0 || holder->listens || (holder->inode != 0 && !listens))
        return;
    *holder = (struct holder){.inode = inode, .uid = uid, .listens = listens};
}

static void find_socket(const char *table, int port, struct holder *holder)
{
    char line[512];
    FILE *file = fopen(table, "re");

    if (!file)
        return;
    while (fgets(line, sizeof(line), file))
        take_socket(line, port, holder);
    fclose(file);
}

/* True if the process has a descriptor that links to `target`. */
static bool has_open(const char *pid, const char *target)
{
    char path[64], link[64];
    CLEANUP_DIR DIR *dir = NULL;
    const struct dirent *entry;

    snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

        if (len < 0)
            continue;
        link[len] = '\0';
        if (strcmp(link, target) == 0)
            return true;
    }
    return false;
}

/* Writes "NAME (pid N)" of the first process that has the socket open; false if none is visible. */
static bool name_process(uint64_t inode, struct buf *out)
{
    char target[48], path[64], name[64];
    CLEANUP_DIR DIR *dir = opendir("/proc");
    const struct dirent *entry;
    long pid;

    snprintf(target, sizeof(target), "socket:[%llu]", (unsigned long long)inode);
    while (dir && (entry = readdir(dir))) {
        if (!scan_int(entry->d_name, 1, INT32_MAX, &pid) || !has_open(entry->d_name, target))
            continue;
        /* Not the command line: a password may be in it. */
        snprintf(path, sizeof(path), "%ld/comm", pid);
        if (file_peek(dirfd(dir), path, true, name, sizeof(name)) <= 0)
            snprintf(name, sizeof(name), "a process");
        buf_add_plain(out, name, strcspn(name, "\n"));
        buf_addf(out, " (pid %ld)", pid);
        return true;
    }
    return false;
}

static int report_taken(int port, struct err *err)
{
    struct holder holder = {0};
    char room[128];
    struct buf name = BUF_OVER(room);

    find_socket("/proc/net/tcp6", port, &holder);
    find_socket("/proc/net/tcp", port, &holder);
    if (holder.inode == 0)
        return err_set(err, ERR_PORT, "port %d is taken", port);
    if (name_process(holder.inode, &name))
        return err_set(err, ERR_PORT, "port %d is taken by %s", port, room);
    return err_set(err, ERR_PORT,
                   "port %d is taken by a process of user %llu that is not visible here", port,
                   (unsigned long long)holder.uid);
}

/* Like TCPStore: dual-stack, and plain IPv4 when that cannot be had. Returns 0 or an errno. */
static int try_port(int port)
{
    static const int families[] = {AF_INET6, AF_INET};
    int errnum = 0;

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        CLEANUP_FD int fd = open_socket(families[i]);

        if (fd >= 0 && allow_reuse(fd) == 0 && bind_port(fd, families[i], port) == 0)
            return 0;
        errnum = errno;
    }
    return errnum;
}

int rendezvous_probe(int port, struct err *err)
{
    int errnum = try_port(port);

    if (errnum == 0)
        return 0;
    if (errnum == EADDRINUSE)
        return report_taken(port, err);
    if (errnum == EACCES)
        return err_set_errno(err, ERR_SPEC, errnum, "port %d cannot be used here", port);
    return err_set_errno(err, ERR_SYSTEM, errnum, "cannot try port %d", port);
}
