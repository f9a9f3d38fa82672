#include "sys/wait_master.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "model/sentence.h"
#include "sys/file.h"

#define PROGRESS_NS  10000000000LL
#define CONNECT_NS   3000000000LL
#define NSSWITCH     "/etc/nsswitch.conf"
#define NSSWITCH_MAX 8192

bool wait_master_wanted(const struct plan *plan)
{
    return plan->wait.length_ns > 0;
}

static socklen_t size_of(const struct sockaddr_storage *addr)
{
    return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* ---- connecting ---- */

static void end_connection(struct wait_master *wait)
{
    if (wait->connection.fd < 0)
        return;
    source_watch(wait->resolve.epoll_fd, &wait->connection, 0);
    close(wait->connection.fd);
    wait->connection.fd = -1;
}

static void connection_ready(struct source *source, uint32_t events, int64_t now_ns)
{
    struct wait_master *wait = (struct wait_master *)source;
    int errnum = 0;
    socklen_t size = sizeof(errnum);

    (void)events;
    (void)now_ns;
    if (source->fd < 0)
        return;
    if (getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0)
        errnum = errno;
    end_connection(wait);
    wait->connected = errnum == 0;
    wait->cause = errnum ? waiting_of_errno(errnum) : wait->cause;
}

/* Begins to connect; what cannot even begin is over at once. */
static void begin_connection(struct wait_master *wait, int64_t now)
{
    const struct sockaddr_storage *addr = &wait->resolve.addrs[wait->at];
    int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    wait->next_ns = now + CONNECT_NS;
    wait->connection.fd = fd;
    if (fd >= 0 && connect(fd, (const struct sockaddr *)addr, size_of(addr)) == 0) {
        wait->connected = true;
        end_connection(wait);
    } else if (fd < 0 || errno != EINPROGRESS ||
               source_watch(wait->resolve.epoll_fd, &wait->connection, EPOLLOUT) < 0) {
        wait->cause = waiting_of_errno(errno);
        end_connection(wait);
    }
}

/* Each address in turn; false when all have been tried. */
static bool connect_on(struct wait_master *wait, int64_t now)
{
    if (wait->connection.fd >= 0) {
        if (now < wait->next_ns)
            return true;
        wait->cause = WAITING_SILENT;
        end_connection(wait);
    }
    while (!wait->connected && ++wait->at < wait->resolve.count) {
        begin_connection(wait, now);
        if (wait->connection.fd >= 0)
            return true;
    }
    return false;
}

/* ---- looking up ---- */

/*
 * An address that we can bind is ours. Then the master's name means this host, though rank 0 is
 * elsewhere; a loopback address is that of several nodes on one host.
 */
static bool is_ours(const struct sockaddr_storage *addr)
{
    struct sockaddr_storage any_port = *addr;
    const struct sockaddr_in *four = (const struct sockaddr_in *)addr;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)addr;
    CLEANUP_FD int fd = socket(addr->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (addr->ss_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 == 127
                                   : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr))
        return false;
    ((struct sockaddr_in *)&any_port)->sin_port = 0; /* at the same place in both */
    return fd >= 0 && bind(fd, (const struct sockaddr *)&any_port, size_of(addr)) == 0;
}

static void note_ours(const struct wait_master *wait)
{
    for (int i = 0; i < wait->resolve.count; i++) {
        if (!is_ours(&wait->resolve.addrs[i]))
            continue;
        log_notice("the master's name %s means this host, but this is node %d and rank 0 is on "
                   "node 0",
                   wait->plan->job.master_addr, wait->plan->job.node_rank);
        return;
    }
}

/* Ranks ask through libc, whose modules may know a name that no name server has. */
static bool ranks_may_know(void)
{
    char text[NSSWITCH_MAX];

    return file_peek(AT_FDCWD, NSSWITCH, false, text, sizeof(text)) >= 0 &&
           waiting_knows_other_modules(text);
}

static void rest(struct wait_master *wait, int64_t now)
{
    unsigned dice = 0;

    if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != (ssize_t)sizeof(dice))
        dice = (unsigned)now;
    wait->phase = WAIT_REST;
    wait->next_ns = now + waiting_pause(++wait->tries, dice);
}

/* The lookup has ended; true if an address is all that is waited for. */
static bool looked_up(struct wait_master *wait, int64_t now)
{
    resolve_end(&wait->resolve);
    if (wait->resolve.count == 0) {
        wait->cause = wait->resolve.cause;
        rest(wait, now);
        return false;
    }
    wait->phase = WAIT_CONNECT;
    wait->at = -1;
    wait->connected = false;
    return !wait->plan->wait.tcp;
}

/* As far as it goes now; true if the master is there. */
static bool step(struct wait_master *wait, int64_t now, struct err *err)
{
    const struct plan_job *job = &wait->plan->job;

    if (wait->phase == WAIT_REST && now >= wait->next_ns) {
        if (resolve_begin(&wait->resolve, job->master_addr, job->master_port, err) < 0)
            return false;
        wait->phase = WAIT_LOOK;
    }
    if (wait->phase == WAIT_LOOK && resolve_tick(&wait->resolve) && looked_up(wait, now))
        return true;
    if (wait->phase == WAIT_CONNECT && !connect_on(wait, now) && !wait->connected)
        rest(wait, now);
    return wait->connected;
}

static void tell_progress(struct wait_master *wait, int64_t now, struct buf *progress)
{
    if (now < wait->told_ns)
        return;
    waiting_sentence(wait->plan, wait->cause, progress);
    buf_adds(progress, "; ");
    sentence_seconds(now - (wait->deadline_ns - wait->plan->wait.length_ns), progress);
    buf_adds(progress, " of ");
    sentence_seconds(wait->plan->wait.length_ns, progress);
    wait->told_ns = now + PROGRESS_NS;
}

static enum wait_state give_up(struct wait_master *wait, struct err *err)
{
    char room[ERR_MESSAGE_MAX];
    struct buf notice = BUF_OVER(room);

    if (wait->cause == WAITING_UNKNOWN && wait->phase == WAIT_CONNECT)
        wait->cause = WAITING_SILENT;
    if (waiting_give_up(wait->plan, wait->cause, &notice, err) < 0)
        return WAIT_FAILED;
    log_notice("%s", room);
    return WAIT_READY;
}

enum wait_state wait_master_tick(struct wait_master *wait, int64_t now_ns, struct buf *progress,
                                 struct err *err)
{
    if (step(wait, now_ns, err)) {
        note_ours(wait);
        return WAIT_READY;
    }
    if (err->kind != ERR_NONE)
        return WAIT_FAILED;
    if (wait->tries == 1 && wait->cause == WAITING_NO_NAME && ranks_may_know()) {
        log_notice("no wait for the master %s: %s names modules that may know it, which only the "
                   "ranks can ask",
                   wait->plan->job.master_addr, NSSWITCH);
        return WAIT_READY;
    }
    if (now_ns >= wait->deadline_ns)
        return give_up(wait, err);
    tell_progress(wait, now_ns, progress);
    return WAIT_PENDING;
}

int64_t wait_master_deadline(const struct wait_master *wait, int64_t now_ns)
{
    int64_t deadline = wait->deadline_ns < wait->told_ns ? wait->deadline_ns : wait->told_ns;
    int64_t resolve = resolve_wait(&wait->resolve);

    if (wait->phase != WAIT_LOOK && wait->next_ns < deadline)
        deadline = wait->next_ns;
    if (resolve != INT64_MAX && now_ns + resolve < deadline)
        deadline = now_ns + resolve;
    return deadline;
}

void wait_master_begin(struct wait_master *wait, const struct plan *plan, int epoll_fd,
                       int64_t now_ns)
{
    memset(wait, 0, sizeof(*wait));
    wait->connection = (struct source){.fd = -1, .ready = connection_ready};
    wait->plan = plan;
    wait->deadline_ns = now_ns + plan->wait.length_ns;
    wait->told_ns = now_ns + PROGRESS_NS;
    wait->next_ns = now_ns;
    resolve_init(&wait->resolve, epoll_fd);
}

void wait_master_end(struct wait_master *wait)
{
    resolve_end(&wait->resolve);
    end_connection(wait);
}
