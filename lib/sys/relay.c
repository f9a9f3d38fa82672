#include "sys/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

#define TURNS      8   /* of one stream in one wake-up, while nobody else waits */
#define LAST_TURNS 256 /* when its rank has ended: a pipe holds up to 1 MiB */

static bool stalled(const struct console *console)
{
    return console->source.events != 0;
}

/* Reads and writes by turns as long as there is something to read and it can be written. */
static void pump(struct relay_stream *stream, int turns, int64_t now_ns)
{
    struct console *console = stream->console;

    for (int i = 0; i < turns && !stream->ended; i++) {
        size_t got = relay_move(stream, now_ns);
        bool filled;

        if (got > 0)
            continue;
        got = relay_read(stream, now_ns);
        filled = stream->len == stream->size || console == &stream->relay->nowhere;

        relay_turn(stream, now_ns);
        relay_give_back(stream);
        if (got == 0 || !filled || console->crowded)
            break;
    }
    if (console->crowded && !stalled(console))
        relay_round(stream->relay, console, now_ns);
    relay_watch_stream(stream);
    relay_note_partial(stream);
}

static void stream_ready(struct source *source, uint32_t events, int64_t now_ns)
{
    struct relay_stream *stream = (struct relay_stream *)source;

    (void)events;
    stream->relay->now_ns = now_ns;
    pump(stream, TURNS, now_ns);
}

/* Looks anew when relay_tick will have something to do. */
static void find_deadline(struct relay *relay)
{
    relay->deadline_ns = INT64_MAX;
    for (int i = 0; i < 2; i++) {
        if (!stalled(&relay->consoles[i]))
            relay_note_owner(relay, &relay->consoles[i]);
    }
    for (int i = 0; i < relay->count; i++) {
        if (!stalled(relay->streams[i].console))
            relay_note_partial(&relay->streams[i]);
    }
}

void relay_end_stall(struct relay *relay, struct console *console, int64_t now_ns)
{
    /* We did not read: that was our silence, not the ranks'. */
    for (int i = 0; i < relay->count; i++) {
        if (relay->streams[i].console == console)
            relay->streams[i].last_input_ns = relay->streams[i].line_ns = now_ns;
    }
    source_watch(relay->epoll_fd, &console->source, 0);
}

static void console_ready(struct relay *relay, struct console *console, int64_t now_ns)
{
    relay->now_ns = now_ns;
    relay_end_stall(relay, console, now_ns);
    relay_round(relay, console, now_ns);
    find_deadline(relay);
}

static void out_ready(struct source *source, uint32_t events, int64_t now_ns)
{
    void *relay = (char *)source - offsetof(struct relay, consoles[0].source);

    (void)events;
    console_ready(relay, (struct console *)source, now_ns);
}

static void err_ready(struct source *source, uint32_t events, int64_t now_ns)
{
    void *relay = (char *)source - offsetof(struct relay, consoles[1].source);

    (void)events;
    console_ready(relay, (struct console *)source, now_ns);
}

/* Sink of the log: a line that cannot go out now waits in the console. */
static void log_line(void *context, const char *line, size_t len)
{
    struct relay *relay = context;

    console_say(relay->err, line, len);
    relay_flush_own(relay, relay->err, relay->now_ns);
}

static void open_consoles(struct relay *relay)
{
    console_open(&relay->consoles[0], STDOUT_FILENO);
    console_open(&relay->consoles[1], STDERR_FILENO);
    relay->consoles[0].source.ready = out_ready;
    relay->consoles[1].source.ready = err_ready;
    relay->out = &relay->consoles[0];
    relay->err = &relay->consoles[1];
    if (console_same(relay->out, relay->err)) {
        console_close(relay->err);
        relay->err = relay->out;
    }
}

/* Rings for what is captured, touched now: in a full cgroup the first touch could kill us. */
static int reserve_rings(struct relay *relay, const struct plan_output *output, struct err *err)
{
    size_t per_rank = (size_t)output->capture_out + (size_t)output->capture_err;
    size_t block = output->prefix == PLAN_PREFIX_NEVER ? 0 : RELAY_BLOCK;
    char *ring;

    if (per_rank == 0)
        return 0;
    relay->rings_size = (size_t)relay->count / 2 * per_rank * RELAY_RING + RELAY_BULK + block;
    ring = mmap(NULL, relay->rings_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0);
    if (ring == MAP_FAILED)
        return err_set_errno(err, ERR_SYSTEM, errno, "no memory for the ranks' output");
    relay->rings = ring;
    memset(ring, 0, relay->rings_size);
    for (int i = 0; i < relay->count; i++) {
        if (!(i % 2 == 0 ? output->capture_out : output->capture_err))
            continue;
        relay->streams[i].ring = relay->streams[i].buffer = ring;
        relay->streams[i].size = RELAY_RING;
        ring += RELAY_RING;
    }
    relay->bulk = ring;
    relay->block = ring + RELAY_BULK;
    if (pipe2(relay->scratch, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot make a pipe");
    (void)fcntl(relay->scratch[1], F_SETPIPE_SZ, RELAY_BULK);
    return 0;
}

static void init_rank(struct relay *relay, int local_rank, struct outcome *outcome)
{
    relay_prefix_render(relay->plan, local_rank, 0, &relay->ranks[local_rank].prefix);
    relay->ranks[local_rank].evidence = outcome->ranks[local_rank].evidence;
    for (int which = 0; which < 2; which++) {
        relay->streams[2 * local_rank + which] = (struct relay_stream){
            .source = {.fd = -1, .ready = stream_ready},
            .relay = relay,
            .outlet = which == 0 ? relay->out : relay->err,
            .console = which == 0 ? relay->out : relay->err,
            .which = which == 0 ? EVIDENCE_STDOUT : EVIDENCE_STDERR,
            .local_rank = local_rank,
            .shown = true,
            .ended = true,
        };
    }
}

int relay_init(struct relay *relay, const struct plan *plan, struct outcome *outcome, int epoll_fd,
               struct err *err)
{
    size_t ranks = (size_t)plan->job.nproc;

    memset(relay, 0, sizeof(*relay));
    relay->epoll_fd = epoll_fd;
    relay->epoch_ns = source_clock();
    relay->deadline_ns = INT64_MAX;
    relay->plan = plan;
    relay->scratch[0] = relay->scratch[1] = relay->nowhere.source.fd = -1;
    open_consoles(relay);
    relay->ranks = calloc(ranks, sizeof(*relay->ranks));
    relay->streams = calloc(2 * ranks, sizeof(*relay->streams));
    if (!relay->ranks || !relay->streams)
        return err_set(err, ERR_SYSTEM, "no memory for the output of %zu ranks", ranks);
    relay->count = 2 * plan->job.nproc;
    for (int i = 0; i < plan->job.nproc; i++)
        init_rank(relay, i, outcome);
    if (reserve_rings(relay, &plan->output, err) < 0)
        return -1;
    log_set_sink(log_line, relay);
    return 0;
}

/* Makes a stream ready for a new attempt; what the last one has left still goes out. */
static void renew(struct relay_stream *stream)
{
    struct console *console = stream->console;
    bool unfinished = stream->len > 0 && stream->buffer[stream->start + stream->len - 1] != '\n';

    if (stream->len == 0 && console->line_owner == stream)
        console->line_owner = stream->relay;
    stream->seam = unfinished ? stream->len : 0;
    stream->judged = 0;
    stream->midline = stream->redrawn = stream->shown = stream->ended = false;
}

static int open_stream(struct relay_stream *stream, int *ret_write_end, struct err *err)
{
    int ends[2];

    relay_end_stream(stream, stream->relay->now_ns);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot make a pipe for rank output");
    CLEANUP_FD int read_end = ends[0];
    CLEANUP_FD int write_end = ends[1];

    /* Fewer, longer turns; with many ranks the kernel's memory counts more. */
    if (stream->relay->count <= RELAY_WIDE_MAX)
        (void)fcntl(read_end, F_SETPIPE_SZ, RELAY_BULK);
    if (fcntl(read_end, F_SETFL, O_NONBLOCK) < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot make a pipe for rank output");
    stream->source.fd = read_end;
    if (source_watch(stream->relay->epoll_fd, &stream->source, EPOLLIN) < 0) {
        stream->source.fd = -1;
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot wait for rank output");
    }
    cleanup_take_fd(&read_end);
    *ret_write_end = cleanup_take_fd(&write_end);
    renew(stream);
    return 0;
}

int relay_open_rank(struct relay *relay, int local_rank, int ret_write_ends[2], struct err *err)
{
    struct relay_rank *rank = &relay->ranks[local_rank];
    struct relay_stream *pair = &relay->streams[2 * local_rank];

    ret_write_ends[0] = ret_write_ends[1] = -1;
    rank->seen_kind = EVIDENCE_NONE;
    rank->heard = rank->ended = rank->told = false;
    for (int i = 0; i < 2; i++) {
        relay_choose_console(&pair[i]);
        if (!pair[i].ring || pair[i].console->gone)
            continue;
        if (open_stream(&pair[i], &ret_write_ends[i], err) == 0)
            continue;
        cleanup_fd(&ret_write_ends[0]);
        ret_write_ends[0] = -1;
        relay_end_stream(&pair[0], relay->now_ns);
        return -1;
    }
    return 0;
}

void relay_rank_ended(struct relay *relay, int local_rank, int64_t now_ns)
{
    relay->now_ns = now_ns;
    relay->ranks[local_rank].ended = true;
    for (int i = 0; i < 2; i++) {
        struct relay_stream *stream = &relay->streams[2 * local_rank + i];

        if (!stream->shown)
            pump(stream, LAST_TURNS, now_ns);
        if (!stream->shown)
            relay_show_unread(stream, now_ns);
    }
}

void relay_renew(struct relay *relay, int attempt)
{
    for (int i = 0; i < relay->plan->job.nproc; i++)
        relay_prefix_render(relay->plan, i, attempt, &relay->ranks[i].prefix);
    relay->cause_seen = relay->fresh_heard = false;
}

bool relay_is_blocked(const struct relay *relay)
{
    for (int i = 0; i < relay->count; i++) {
        if (!relay->streams[i].ended && relay->streams[i].source.events == 0)
            return true;
    }
    return false;
}

int64_t relay_deadline(const struct relay *relay)
{
    return relay->deadline_ns;
}

void relay_tick(struct relay *relay, int64_t now_ns)
{
    relay->now_ns = now_ns;
    if (now_ns < relay->deadline_ns)
        return;
    for (int i = 0; i < 2; i++)
        relay_round(relay, &relay->consoles[i], now_ns);
    find_deadline(relay);
}

void relay_release(struct relay *relay)
{
    /* Zeroed, but never initialised. */
    if (!relay->err)
        return;
    log_set_sink(NULL, NULL);
    console_flush_own(relay->err);
    for (int i = 0; i < relay->count; i++)
        relay_end_stream(&relay->streams[i], relay->now_ns);
    for (int i = 0; i < 2; i++) {
        source_watch(relay->epoll_fd, &relay->consoles[i].source, 0);
        console_close(&relay->consoles[i]);
        cleanup_fd(&relay->scratch[i]);
    }
    if (relay->rings)
        munmap(relay->rings, relay->rings_size);
    free(relay->ranks);
    free(relay->streams);
}
