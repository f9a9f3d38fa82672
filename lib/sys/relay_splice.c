/*
 * Much output from a pipe to a pipe, with nothing to put before its lines: evidence looks at a copy
 * (tee(2)), and the pages themselves move on (splice(2)). That saves half of what a read and a write
 * cost; for little output they are cheaper.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/relay.h"

/* Fills the relay's bulk with the head of the pipe, which keeps it, and shows it to evidence. */
static bool look(struct relay_stream *stream, int64_t now_ns)
{
    struct relay *relay = stream->relay;
    ssize_t seen = tee(stream->source.fd, relay->scratch[1], RELAY_BULK, SPLICE_F_NONBLOCK);
    size_t have = 0;

    while (seen > 0 && have < (size_t)seen) {
        ssize_t count = read(relay->scratch[0], relay->bulk + have, (size_t)seen - have);

        if (count <= 0)
            return false;
        have += (size_t)count;
    }
    if (have == 0)
        return false;
    relay_note_heard(stream, now_ns);
    relay_show(stream, relay->bulk, have, now_ns);
    stream->judged += have;
    relay->looked = stream;
    relay->looked_at = 0;
    relay->looked_len = have;
    return true;
}

static bool can_move(const struct relay_stream *stream)
{
    const struct relay *relay = stream->relay;
    const struct console *console = stream->console;
    int waiting = 0;

    return console->pipe && !console->gone && stream->len == 0 && !stream->ended &&
           relay->ranks[stream->local_rank].prefix.len == 0 && !relay->borrower &&
           !relay_is_filed(stream) && console->source.events == 0 && !console->crowded &&
           console->own_len == 0 && (!console->line_owner || console->line_owner == stream) &&
           ioctl(stream->source.fd, FIONREAD, &waiting) == 0 && waiting >= RELAY_MOVE_MIN;
}

/* Whole lines; of a line that has no end in sight, all there is. */
static size_t movable(const char *bytes, size_t len)
{
    const char *newline = memrchr(bytes, '\n', len);

    return newline ? (size_t)(newline - bytes) + 1 : len;
}

/* What is at the head of the pipe may be known from before: the console did not take all of it. */
size_t relay_move(struct relay_stream *stream, int64_t now_ns)
{
    struct relay *relay = stream->relay;
    struct console *console = stream->console;
    const char *bytes;
    ssize_t moved;
    size_t len;

    if (!can_move(stream) || (relay->looked != stream && !look(stream, now_ns)))
        return 0;
    bytes = relay->bulk + relay->looked_at;
    len = movable(bytes, relay->looked_len);
    moved = splice(stream->source.fd, NULL, console->source.fd, NULL, len,
                   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    /* Why it cannot be, the plain way finds out. */
    if (moved <= 0)
        return 0;
    stream->judged -= (size_t)moved;
    relay_note_moved(stream, bytes, (size_t)moved, now_ns);
    relay_note_taken(stream, (size_t)moved);
    if ((size_t)moved < len)
        relay_stall(relay, console);
    else
        relay->looked = NULL;
    return (size_t)moved;
}

void relay_note_taken(struct relay_stream *stream, size_t len)
{
    struct relay *relay = stream->relay;

    if (relay->looked != stream)
        return;
    if (len >= relay->looked_len)
        relay->looked = NULL;
    relay->looked_at += len;
    relay->looked_len -= len;
}
