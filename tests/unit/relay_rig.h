/*
 * A relay on a bench: real pipes for the ranks and for our own stdout and
 * stderr, an event loop of its own, and a clock that only moves when told to.
 * Layer: tests only.
 */
#ifndef TESTS_UNIT_RELAY_RIG_H
#define TESTS_UNIT_RELAY_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/relay.h"
#include "tap.h"

#define RIG_RANKS 8
#define MS        1000000LL

/* What a console's reader got. */
struct rig_text {
    char *bytes; /* NUL-terminated */
    size_t len, room;
};

struct rig {
    struct plan plan;
    struct outcome outcome;
    struct outcome_rank ranks[RIG_RANKS];
    struct relay relay;
    int epoll_fd;
    int reader[2]; /* of our stdout and stderr; -1: left */
    struct rig_text text[2];
    int ends[RIG_RANKS][2]; /* write ends of the ranks */
    int64_t now;
};

TAP_UNUSED static void rig_open_rank(struct rig *rig, int rank)
{
    struct err err = ERR_INIT;

    if (!tap_ok(relay_open_rank(&rig->relay, rank, rig->ends[rank], &err) == 0))
        tap_fail(err.message);
}

/* Starts with fd 1 and 2 being `consoles`, which then are closed here; see rig_init. */
TAP_UNUSED static void rig_init_over(struct rig *rig, const int consoles[2])
{
    struct err err = ERR_INIT;
    int saved[2];

    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        saved[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        dup2(consoles[i], i + 1);
    }
    if (relay_init(&rig->relay, &rig->plan, &rig->outcome, rig->epoll_fd, &err) < 0)
        tap_fail(err.message);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    close(consoles[0]);
    if (consoles[1] != consoles[0])
        close(consoles[1]);
    rig->relay.epoch_ns = source_clock();
    for (int i = 0; i < rig->plan.job.nproc; i++)
        rig_open_rank(rig, i);
}

/* The plan, the outcome and the event queue for nproc captured ranks. */
TAP_UNUSED static void rig_prepare(struct rig *rig, int nproc, const char *prefix)
{
    signal(SIGPIPE, SIG_IGN);
    memset(rig, 0, sizeof(*rig));
    rig->plan.job.nproc = nproc;
    rig->plan.job.role = "default";
    rig->plan.output.capture_out = rig->plan.output.capture_err = true;
    rig->plan.output.prefix = prefix ? PLAN_PREFIX_TEMPLATE : PLAN_PREFIX_NEVER;
    rig->plan.output.prefix_template = prefix;
    rig->outcome.count = nproc;
    rig->outcome.ranks = rig->ranks;
    for (int i = 0; i < nproc; i++) {
        rig->ranks[i].evidence = malloc(sizeof(struct evidence));
        evidence_init(rig->ranks[i].evidence);
    }
    rig->reader[0] = rig->reader[1] = -1;
    rig->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
}

/* Two pipes as stdout and stderr; `merged`: one for both. */
TAP_UNUSED static void rig_init(struct rig *rig, int nproc, const char *prefix, bool merged)
{
    int consoles[2];

    rig_prepare(rig, nproc, prefix);
    for (int i = 0; i < (merged ? 1 : 2); i++) {
        int ends[2];

        tap_ok(pipe2(ends, O_CLOEXEC) == 0);
        rig->reader[i] = ends[0];
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        consoles[i] = ends[1];
    }
    if (merged)
        consoles[1] = consoles[0];
    rig_init_over(rig, consoles);
}

/* Handles what is ready now; true if there was anything. */
TAP_UNUSED static bool rig_step(struct rig *rig, int timeout_ms)
{
    struct epoll_event events[16];
    int count = epoll_wait(rig->epoll_fd, events, 16, timeout_ms);

    for (int i = 0; i < count; i++) {
        struct source *source = events[i].data.ptr;

        source->ready(source, events[i].events, rig->now);
    }
    relay_tick(&rig->relay, rig->now);
    return count > 0;
}

/* Takes at most `most` bytes from a console; true if there were any. */
TAP_UNUSED static bool rig_read(struct rig *rig, int which, size_t most)
{
    struct rig_text *text = &rig->text[which];
    ssize_t count;

    if (text->room - text->len < most + 1) {
        text->room = 2 * (text->len + most + 1);
        text->bytes = realloc(text->bytes, text->room);
    }
    count = rig->reader[which] < 0 ? 0 : read(rig->reader[which], text->bytes + text->len, most);
    if (count > 0)
        text->len += (size_t)count;
    text->bytes[text->len] = '\0';
    return count > 0;
}

/* Until nothing moves any more, the readers reading along. */
TAP_UNUSED static void rig_run(struct rig *rig)
{
    bool moved;

    do {
        moved = false;
        for (int i = 0; i < 100 && rig_step(rig, 0); i++)
            moved = true;
        moved |= rig_read(rig, 0, 65536);
        moved |= rig_read(rig, 1, 65536);
    } while (moved);
}

/* What was read since the last call, as a text that lives until the next one. */
TAP_UNUSED static const char *rig_take(struct rig *rig, int which)
{
    rig_run(rig);
    rig->text[which].len = 0;
    return rig->text[which].bytes;
}

TAP_UNUSED static void rig_write(struct rig *rig, int rank, int which, const char *text)
{
    tap_eq_int(write(rig->ends[rank][which], text, strlen(text)), strlen(text));
}

/* Sets the clock and lets the relay do what is due. */
TAP_UNUSED static void rig_at(struct rig *rig, int64_t ms)
{
    rig->now = ms * MS;
    rig_step(rig, 0);
}

/* The rank closes its ends; as if it had ended. */
TAP_UNUSED static void rig_close_rank(struct rig *rig, int rank)
{
    for (int i = 0; i < 2; i++) {
        if (rig->ends[rank][i] >= 0)
            close(rig->ends[rank][i]);
        rig->ends[rank][i] = -1;
    }
}

TAP_UNUSED static struct relay_stream *rig_stream(struct rig *rig, int rank, int which)
{
    return &rig->relay.streams[2 * rank + which];
}

/*
 * Fills the pipe of a console (0: stdout) so that nothing more can be written, and lets the relay
 * find that out by the line "stalled" of rank 0; returns the bytes that filled it.
 */
TAP_UNUSED static size_t rig_stall(struct rig *rig, int which)
{
    static const char dots[4096] = {0};
    static const char line[] = "stalled\n";
    const struct console *console = which == 0 ? rig->relay.out : rig->relay.err;
    size_t filled = 0;
    ssize_t count;

    fcntl(console->source.fd, F_SETPIPE_SZ, 4096);
    while ((count = write(console->source.fd, dots, sizeof(dots))) > 0)
        filled += (size_t)count;
    tap_eq_int(errno, EAGAIN);
    rig_write(rig, 0, which, line);
    rig_step(rig, 0);
    tap_eq_uint(console->source.events, EPOLLOUT);
    return filled;
}

/* The end, with as much patience as there is time. */
TAP_UNUSED static bool rig_finish(struct rig *rig, int64_t deadline_ns)
{
    return relay_finish(&rig->relay, (struct relay_wait){INT64_MAX / 2, deadline_ns});
}

TAP_UNUSED static void rig_release(struct rig *rig)
{
    relay_release(&rig->relay);
    for (int i = 0; i < rig->plan.job.nproc; i++) {
        rig_close_rank(rig, i);
        free(rig->ranks[i].evidence);
    }
    for (int i = 0; i < 2; i++) {
        if (rig->reader[i] >= 0)
            close(rig->reader[i]);
        free(rig->text[i].bytes);
    }
    close(rig->epoll_fd);
}

#endif
