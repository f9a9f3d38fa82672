#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/relay.h"

#define LAST_LOOK (1 << 20) /* how much of a closing pipe evidence is shown */

static struct relay_rank *rank_of(const struct relay_stream *stream)
{
    return &stream->relay->ranks[stream->local_rank];
}

/* The loop wants to hear when a living rank says why it is failing. */
static void look_for_cause(struct relay *relay, struct relay_rank *rank)
{
    const struct finding *found = evidence_finding(rank->evidence, true);

    if (rank->ended || !found || found->echo ||
        (found->kind == rank->seen_kind && found->at_ns == rank->seen_ns))
        return;
    rank->seen_kind = found->kind;
    rank->seen_ns = found->at_ns;
    relay->cause_seen = true;
}

void relay_show(struct relay_stream *stream, const char *bytes, size_t len, int64_t now_ns)
{
    struct relay_rank *rank = rank_of(stream);
    size_t known = stream->judged < len ? stream->judged : len;

    stream->judged -= known;
    if (stream->shown || known == len)
        return;
    evidence_feed(rank->evidence, stream->which, bytes + known, len - known, now_ns);
    look_for_cause(stream->relay, rank);
}

static void note_shown(struct relay_stream *stream, int64_t now_ns)
{
    struct relay_rank *rank = rank_of(stream);
    const struct relay_stream *pair = &stream->relay->streams[2 * stream->local_rank];

    stream->shown = true;
    if (rank->told || !pair[0].shown || !pair[1].shown)
        return;
    rank->told = true;
    evidence_end(rank->evidence, now_ns);
}

size_t relay_unread(const struct relay_stream *stream)
{
    int count = 0;

    if (ioctl(stream->source.fd, FIONREAD, &count) < 0 || count < 0)
        return 0;
    return (size_t)count;
}

/* Notes what the fresh bytes, the last of the ring, mean for its lines. */
static void note_input(struct relay_stream *stream, size_t fresh, int64_t now_ns)
{
    const char *bytes = stream->buffer + stream->start + stream->len - fresh;
    const char *newline = memrchr(bytes, '\n', fresh);
    size_t tail = newline ? (size_t)(bytes + fresh - newline) - 1 : fresh;

    if (newline)
        stream->lines = stream->len - tail;
    if (newline || !stream->midline) {
        stream->line_ns = now_ns;
        stream->redrawn = false;
    }
    stream->midline = tail > 0;
    stream->redrawn = stream->redrawn || memchr(bytes + fresh - tail, '\r', tail);
    stream->last_input_ns = stream->said_ns = now_ns;
}

/* The bulk is for those who can pass on at once what they read. */
static bool may_borrow(const struct relay_stream *stream)
{
    const struct console *console = stream->console;

    return !stream->relay->borrower && console->source.events == 0 && !console->crowded &&
           (!console->line_owner || console->line_owner == stream);
}

/* Moves what waits, mostly half a line, to the front of the buffer; returns where there is room. */
static char *make_room(struct relay_stream *stream)
{
    char *waiting = stream->buffer + stream->start;

    if (may_borrow(stream)) {
        stream->relay->borrower = stream;
        stream->relay->looked = NULL;
        stream->buffer = stream->relay->bulk;
        stream->size = RELAY_BULK;
    }
    if (waiting != stream->buffer && stream->len > 0)
        memmove(stream->buffer, waiting, stream->len);
    stream->start = 0;
    return stream->buffer + stream->len;
}

void relay_give_back(struct relay_stream *stream)
{
    if (stream->relay->borrower != stream || stream->len > RELAY_RING)
        return;
    memcpy(stream->ring, stream->buffer + stream->start, stream->len);
    stream->start = 0;
    stream->buffer = stream->ring;
    stream->size = RELAY_RING;
    stream->relay->borrower = NULL;
}

void relay_note_heard(struct relay_stream *stream, int64_t now_ns)
{
    struct relay *relay = stream->relay;
    struct relay_rank *rank = rank_of(stream);

    relay->heard_ns = now_ns;
    relay->fresh_heard |= !rank->heard;
    rank->heard = true;
}

size_t relay_read(struct relay_stream *stream, int64_t now_ns)
{
    ssize_t count;
    char *fresh;

    if (stream->ended || stream->len == stream->size)
        return 0;
    fresh = make_room(stream);
    do
        count = read(stream->source.fd, fresh, stream->size - stream->len);
    while (count < 0 && errno == EINTR);
    if (count > 0) {
        stream->len += (size_t)count;
        relay_note_taken(stream, (size_t)count);
        relay_note_heard(stream, now_ns);
        note_input(stream, (size_t)count, now_ns);
        relay_show(stream, fresh, (size_t)count, now_ns);
        relay_keep(stream, fresh, (size_t)count, now_ns);
    } else if (count == 0 || errno != EAGAIN) {
        relay_end_stream(stream, now_ns);
    }
    if (rank_of(stream)->ended && !stream->shown && relay_unread(stream) == 0)
        note_shown(stream, now_ns);
    if (count > 0)
        return (size_t)count;
    relay_give_back(stream);
    return 0;
}

void relay_show_unread(struct relay_stream *stream, int64_t now_ns)
{
    const int *scratch = stream->relay->scratch;
    int size = fcntl(stream->source.fd, F_GETPIPE_SZ);
    size_t waiting = relay_unread(stream);
    size_t known = stream->judged;
    char room[4096];
    ssize_t seen, count;

    /* tee(2) always begins at the head: what does not fit at once cannot be seen. */
    if (size > fcntl(scratch[1], F_GETPIPE_SZ))
        (void)fcntl(scratch[1], F_SETPIPE_SZ, size);
    seen = tee(stream->source.fd, scratch[1], INT_MAX, SPLICE_F_NONBLOCK);
    while ((count = read(scratch[0], room, sizeof(room))) > 0)
        relay_show(stream, room, (size_t)count, now_ns);
    if (seen > 0)
        stream->judged = (size_t)seen > known ? (size_t)seen : known;
    if (stream->judged >= waiting)
        note_shown(stream, now_ns);
}

void relay_end_stream(struct relay_stream *stream, int64_t now_ns)
{
    if (stream->ended)
        return;
    stream->ended = true;
    source_watch(stream->relay->epoll_fd, &stream->source, 0);
    close(stream->source.fd);
    stream->source.fd = -1;
    relay_note_taken(stream, SIZE_MAX);
    relay_end_file(stream);
    note_shown(stream, now_ns);
}

void relay_watch_stream(struct relay_stream *stream)
{
    if (!stream->ended)
        source_watch(stream->relay->epoll_fd, &stream->source,
                     stream->len < stream->size ? EPOLLIN : 0);
}

/* What a rank said last counts also when nobody hears it any more. */
static void show_last(struct relay_stream *stream, int64_t now_ns)
{
    size_t looked = 0;
    ssize_t count;

    while (looked < LAST_LOOK && (count = read(stream->source.fd, stream->ring, RELAY_RING)) > 0) {
        relay_show(stream, stream->ring, (size_t)count, now_ns);
        looked += (size_t)count;
    }
}

void relay_end_console(struct relay *relay, struct console *console, int64_t now_ns)
{
    source_watch(relay->epoll_fd, &console->source, 0);
    console->line_owner = NULL;
    console->own_len = 0;
    for (int i = 0; i < relay->count; i++) {
        struct relay_stream *stream = &relay->streams[i];

        if (stream->console != console)
            continue;
        relay_hide(stream);
        relay_choose_console(stream);
        relay_watch_stream(stream);
        if (!stream->ended && stream->console == console) {
            show_last(stream, now_ns);
            relay_end_stream(stream, now_ns);
        }
    }
}
