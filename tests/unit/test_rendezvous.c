#include "sys/rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define HOLDERS 200

enum { ONLY_FOUR, ONLY_SIX, DUAL };

/* A socket bound to all addresses of a kind, as another program would do it; -1 with errno. */
static int bind_as(int kind, bool reuse, int port)
{
    int family = kind == ONLY_FOUR ? AF_INET : AF_INET6;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1, only = kind == ONLY_SIX, saved;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const void *address = kind == ONLY_FOUR ? (const void *)&four : (const void *)&six;
    socklen_t size = kind == ONLY_FOUR ? sizeof(four) : sizeof(six);

    if (kind != ONLY_FOUR)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
    if (reuse)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, address, size) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static bool have_ipv6(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* True if a client on this machine can connect to it over IPv4. */
static bool answers(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool connected = connect(fd, (const struct sockaddr *)&four, sizeof(four)) == 0;

    close(fd);
    return connected;
}

TEST(holds_a_port_outside_the_ephemeral_range)
{
    struct err err = ERR_INIT;
    int port = 0;
    int fd = rendezvous_hold(32768, 60999, &port, &err);

    if (!tap_ok(fd >= 0))
        return;
    tap_ok(port >= 1024 && (port < 32768 || port > 60999));
    tap_ok(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    tap_ok(!answers(port));
    close(fd);
}

TEST(a_range_that_covers_nearly_all)
{
    struct err err = ERR_INIT;
    int port = 0;
    int fd = rendezvous_hold(1024, 65000, &port, &err);

    tap_ok(fd >= 0 && port > 65000);
    close(fd);
    fd = rendezvous_hold(2000, 65535, &port, &err);
    tap_ok(fd >= 0 && port >= 1024 && port < 2000);
    close(fd);
    fd = rendezvous_hold(1, 65535, &port, &err);
    tap_ok(fd >= 0 && port >= 1024);
    close(fd);
    tap_eq_int(err.kind, ERR_NONE);
}

TEST(a_store_with_reuseaddr_can_listen)
{
    struct err err = ERR_INIT;
    int port = 0;
    int holder = rendezvous_hold(32768, 60999, &port, &err);

    for (int kind = have_ipv6() ? DUAL : ONLY_FOUR; kind >= 0; kind--) {
        int store = bind_as(kind, true, port);

        if (!tap_ok(store >= 0))
            continue;
        tap_eq_int(listen(store, 5), 0);
        tap_eq_int(answers(port), kind != ONLY_SIX);
        close(store);
    }
    close(holder);
}

TEST(a_plain_bind_cannot)
{
    struct err err = ERR_INIT;
    int port = 0;
    int holder = rendezvous_hold(32768, 60999, &port, &err);

    for (int kind = have_ipv6() ? DUAL : ONLY_FOUR; kind >= 0; kind--) {
        errno = 0;
        tap_eq_int(bind_as(kind, false, port), -1);
        tap_eq_int(errno, EADDRINUSE);
    }
    close(holder);
}

/* PyTorch's TCPStore binds so; Python is here for the tests anyway. */
TEST(python_listens_and_answers)
{
    static const char script[] =
        "import socket, sys\n"
        "port = int(sys.argv[1])\n"
        "six = socket.has_ipv6\n"
        "s = socket.socket(socket.AF_INET6 if six else socket.AF_INET)\n"
        "if six: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)\n"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "s.bind(('::' if six else '', port)); s.listen()\n"
        "c = socket.create_connection(('127.0.0.1', port))\n"
        "s.accept()[0].sendall(b'x'); sys.exit(c.recv(1) != b'x')\n";
    struct err err = ERR_INIT;
    char port_text[8];
    int port = 0, status = -1;
    int holder = rendezvous_hold(32768, 60999, &port, &err);
    pid_t child;

    snprintf(port_text, sizeof(port_text), "%d", port);
    child = fork();
    if (child == 0) {
        execl("/usr/bin/python3", "python3", "-c", script, port_text, (char *)NULL);
        _exit(127);
    }
    tap_eq_int(waitpid(child, &status, 0), child);
    tap_eq_int(status, 0);
    close(holder);
}

/* Holds a port, tells it, and stays until told to end by the closing of `stay`. */
static void hold_and_tell(int tell, int stay)
{
    struct err err = ERR_INIT;
    int port = 0;
    char end;

    if (rendezvous_hold(32768, 60999, &port, &err) < 0)
        port = 0;
    (void)!write(tell, &port, sizeof(port));
    (void)!read(stay, &end, 1);
    _exit(0);
}

TEST(two_hundred_holders_never_share_a_port)
{
    static bool seen[65536];
    int tell[2], stay[2], port, held = 0;

    if (!tap_ok(pipe2(tell, O_CLOEXEC) == 0 && pipe2(stay, O_CLOEXEC) == 0))
        return;
    for (int i = 0; i < HOLDERS; i++) {
        if (fork() == 0) {
            close(stay[1]);
            hold_and_tell(tell[1], stay[0]);
        }
    }
    close(tell[1]);
    while (held < HOLDERS && read(tell[0], &port, sizeof(port)) == (ssize_t)sizeof(port)) {
        tap_ok(port > 0 && !seen[port]);
        seen[port] = true;
        held++;
    }
    tap_eq_int(held, HOLDERS);
    close(tell[0]);
    close(stay[0]);
    close(stay[1]);
    while (wait(NULL) > 0)
        continue;
}

TEST(probe_of_a_free_port)
{
    struct err err = ERR_INIT;
    int port = 0;
    int holder = rendezvous_hold(32768, 60999, &port, &err);

    /* Also while a job holds it for its own store, and, of course, afterwards. */
    tap_eq_int(rendezvous_probe(port, &err), 0);
    close(holder);
    tap_eq_int(rendezvous_probe(port, &err), 0);
    tap_eq_int(err.kind, ERR_NONE);
}

TEST(probe_names_who_has_it)
{
    struct err err = ERR_INIT;
    char want[64];
    int port = 0;
    int holder = rendezvous_hold(32768, 60999, &port, &err);
    int store = bind_as(ONLY_FOUR, true, port);

    tap_eq_int(listen(store, 5), 0);
    tap_eq_int(rendezvous_probe(port, &err), -1);
    tap_eq_int(err.kind, ERR_PORT);
    snprintf(want, sizeof(want), "port %d is taken by test_rendezvous (pid %d)", port, getpid());
    tap_eq_str(err.message, want);
    close(store);
    close(holder);
}

TEST(probe_is_not_stricter_than_a_store)
{
    struct err err = ERR_INIT;
    int port = 0;
    int holder, other;

    if (!have_ipv6())
        return;
    /* A store that cannot have both families takes IPv4 alone. */
    holder = rendezvous_hold(32768, 60999, &port, &err);
    close(holder);
    other = bind_as(ONLY_SIX, true, port);
    tap_eq_int(listen(other, 5), 0);
    tap_eq_int(rendezvous_probe(port, &err), 0);
    close(other);
}

TEST(probe_does_not_mind_time_wait)
{
    struct err err = ERR_INIT;
    int port = 0;
    int holder = rendezvous_hold(32768, 60999, &port, &err);
    int store = bind_as(ONLY_FOUR, true, port);
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), server;

    tap_eq_int(listen(store, 5), 0);
    tap_eq_int(connect(client, (const struct sockaddr *)&four, sizeof(four)), 0);
    server = accept4(store, NULL, NULL, SOCK_CLOEXEC);
    /* The side that closes first keeps the port in TIME_WAIT. */
    close(server);
    close(store);
    close(holder);
    close(client);
    tap_eq_int(bind_as(ONLY_FOUR, false, port), -1);
    tap_eq_int(rendezvous_probe(port, &err), 0);
}

TAP_MAIN()
