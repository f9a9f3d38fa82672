#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "sys/relay.h"

static bool stalled(const struct console *console)
{
    return console->source.events != 0;
}

void relay_stall(struct relay *relay, struct console *console)
{
    /* What cannot be watched hardly ever stalls; if it does, it is tried again in a while. */
    if (source_watch(relay->epoll_fd, &console->source, EPOLLOUT) < 0)
        relay_note_deadline(relay, relay->now_ns + RELAY_PARTIAL_NS);
}

void relay_note_deadline(struct relay *relay, int64_t deadline_ns)
{
    if (deadline_ns < relay->deadline_ns)
        relay->deadline_ns = deadline_ns;
}

/* When the unfinished line in the buffer is passed on. */
static int64_t partial_due(const struct relay_stream *stream)
{
    int64_t since = stream->redrawn ? stream->line_ns : stream->last_input_ns;

    return since + RELAY_PARTIAL_NS;
}

/* When the line under the cursor may be closed; INT64_MAX: not before its owner has gone on. */
static int64_t owner_until(const struct relay *relay, const struct console *console)
{
    const struct relay_stream *owner = console->line_owner;
    int64_t until;

    if (console->line_owner == relay)
        return INT64_MIN;
    if (console->line_owner == console || owner->len > 0)
        return INT64_MAX;
    if (owner->ended)
        return INT64_MIN;
    until = owner->last_input_ns + RELAY_PARTIAL_NS;
    if (owner->redrawn && owner->owned_ns + RELAY_REDRAWN_NS < until)
        until = owner->owned_ns + RELAY_REDRAWN_NS;
    return until;
}

void relay_note_partial(struct relay_stream *stream)
{
    int64_t due = partial_due(stream);

    /* One that is due and still here waits for another's line to end. */
    if (stream->len > 0 && stream->lines == 0 && due > stream->relay->now_ns &&
        stream->console->line_owner != stream)
        relay_note_deadline(stream->relay, due);
}

void relay_note_owner(struct relay *relay, const struct console *console)
{
    if (console->line_owner && (console->crowded || console->own_len > 0))
        relay_note_deadline(relay, owner_until(relay, console));
}

/* Takes the cursor to a line start, if whoever is in a line may be interrupted now. */
static bool begin_line(struct relay *relay, struct console *console, int64_t now_ns)
{
    if (!console->line_owner)
        return true;
    if (owner_until(relay, console) > now_ns)
        return false;
    if (console_write(console, "\n", 1) == 0) {
        relay_stall(relay, console);
        return false;
    }
    console->line_owner = NULL;
    return true;
}

void relay_flush_own(struct relay *relay, struct console *console, int64_t now_ns)
{
    if (console->own_len == 0 || stalled(console))
        return;
    if (console->line_owner != console && !begin_line(relay, console, now_ns))
        relay_note_owner(relay, console);
    else if (!console_flush_own(console))
        relay_stall(relay, console);
}

/* True if this stream may write now. */
static bool take_turn(struct relay_stream *stream, int64_t now_ns)
{
    struct console *console = stream->console;

    if (stalled(console))
        return false;
    if (console->line_owner == stream)
        return true;
    relay_flush_own(stream->relay, console, now_ns);
    return !stalled(console) && begin_line(stream->relay, console, now_ns);
}

static size_t line_length(const char *bytes, size_t len)
{
    const char *newline = memchr(bytes, '\n', len);

    return newline ? (size_t)(newline - bytes) + 1 : len;
}

/* How much of the buffer may go out: whole lines, and the rest when there is a reason. */
static size_t ready_bytes(const struct relay_stream *stream, int64_t now_ns)
{
    if (stream->seam > 0)
        return stream->seam;
    if (stream->ended)
        return stream->len;
    /* Whoever was cut short in a line only ends that line while others wait. */
    if (stream->lines > 0 && stream->console->line_owner == stream && stream->console->crowded)
        return line_length(stream->buffer + stream->start, stream->lines);
    if (stream->lines > 0)
        return stream->lines;
    if (stream->len == stream->size || stream->console->line_owner == stream ||
        now_ns >= partial_due(stream))
        return stream->len;
    return 0;
}

/* The prefix as it is to be written now: the rest of one keeps its time. */
static struct relay_prefix *prefix_now(struct relay_stream *stream)
{
    struct relay_prefix *prefix = &stream->relay->ranks[stream->local_rank].prefix;

    if (stream->console->line_owner != stream)
        stream->prefix_done = 0;
    if (prefix->times > 0) {
        if (stream->prefix_done == 0 || stream->prefix_done == prefix->len)
            stream->prefix_ms = relay_prefix_clock();
        relay_prefix_stamp(prefix, stream->prefix_ms);
    }
    return prefix;
}

/* What is written at once, and how many bytes of the buffer are in it. */
struct load {
    const char *bytes;
    size_t len, taken;
};

/*
 * At most `left` bytes of the buffer, each line after its prefix, as one block: two pieces a line
 * would cost the kernel more than the copy costs us. No prefix is cut.
 */
static struct load gather(const struct relay_stream *stream, const struct relay_prefix *prefix,
                          size_t left)
{
    const char *at = stream->buffer + stream->start;
    char *block = stream->relay->block;
    size_t room = console_chunk(stream->console);
    size_t done = stream->prefix_done, used = 0, taken = 0;

    if (prefix->len == 0)
        return (struct load){at, left, left};
    if (room > RELAY_BLOCK)
        room = RELAY_BLOCK;
    while (taken < left && room - used > prefix->len) {
        size_t len = line_length(at + taken, left - taken);

        memcpy(block + used, prefix->text + done, prefix->len - done);
        used += prefix->len - done;
        if (len > room - used)
            len = room - used;
        memcpy(block + used, at + taken, len);
        used += len;
        taken += len;
        done = 0;
    }
    return (struct load){block, used, taken};
}

static size_t less(size_t value, size_t by)
{
    return value > by ? value - by : 0;
}

/* Takes bytes that are out from the buffer: one line or a part of it, or anything without prefix. */
static void drop(struct relay_stream *stream, size_t len)
{
    struct console *console = stream->console;
    bool in_seam = stream->seam > 0;
    bool closed = stream->buffer[stream->start + len - 1] == '\n';

    stream->start += len;
    stream->len -= len;
    stream->lines = less(stream->lines, len);
    stream->seam = less(stream->seam, len);
    if (closed) {
        console->line_owner = NULL;
        stream->prefix_done = 0;
    } else if (in_seam && stream->seam == 0) {
        /* Half a line of an earlier attempt: nobody will end it. */
        console->line_owner = stream->relay;
    }
}

static void take_cursor(struct relay_stream *stream, int64_t now_ns)
{
    if (stream->console->line_owner == stream)
        return;
    stream->console->line_owner = stream;
    stream->owned_ns = now_ns;
}

/*
 * Notes that `written` bytes of the load are out, if not all of them; returns how many came from the
 * buffer.
 */
static size_t consume_part(struct relay_stream *stream, size_t prefix_len, size_t written,
                           int64_t now_ns)
{
    size_t before = stream->len;

    while (written > 0) {
        size_t len;

        take_cursor(stream, now_ns);
        if (stream->prefix_done < prefix_len) {
            len = prefix_len - stream->prefix_done;
            len = len < written ? len : written;
            stream->prefix_done += len;
        } else {
            len = written;
            if (prefix_len > 0)
                len = line_length(stream->buffer + stream->start, written);
            drop(stream, len);
        }
        written -= len;
    }
    return before - stream->len;
}

/* The same of all of it, or of a part. */
static size_t consume(struct relay_stream *stream, const struct load *load, size_t prefix_len,
                      size_t written, int64_t now_ns)
{
    if (written < load->len)
        return consume_part(stream, prefix_len, written, now_ns);
    take_cursor(stream, now_ns);
    if (memrchr(stream->buffer + stream->start, '\n', load->taken))
        stream->owned_ns = now_ns;
    stream->prefix_done = prefix_len;
    drop(stream, load->taken);
    return load->taken;
}

void relay_note_moved(struct relay_stream *stream, const char *bytes, size_t len, int64_t now_ns)
{
    struct console *console = stream->console;
    const char *newline = memrchr(bytes, '\n', len);
    size_t tail = newline ? (size_t)(bytes + len - newline) - 1 : len;

    if (newline || !stream->midline) {
        stream->line_ns = stream->owned_ns = now_ns;
        stream->redrawn = false;
    }
    stream->midline = tail > 0;
    stream->redrawn = stream->redrawn || memchr(bytes + len - tail, '\r', tail);
    stream->last_input_ns = now_ns;
    stream->relay->taken += len;
    console->line_owner = tail > 0 ? stream : NULL;
    stream->relay->next = (int)(stream - stream->relay->streams + 1) % stream->relay->count;
}

static void tell_failed(struct console *console)
{
    if (!console->failed || console->failed_told)
        return;
    console->failed_told = true;
    log_notice("output cannot be written and is lost: %s", strerror(console->failed));
}

/* Writes `left` bytes of the buffer or as much of them as the console takes. */
static void write_out(struct relay_stream *stream, size_t left, int64_t now_ns)
{
    struct relay *relay = stream->relay;
    struct console *console = stream->console;
    struct relay_prefix *prefix = prefix_now(stream);

    while (left > 0) {
        struct load load = gather(stream, prefix, left);
        ssize_t taken = console_write(console, load.bytes, load.len);

        if (taken < 0) {
            relay_end_console(relay, console, now_ns);
            return;
        }
        if (taken == 0) {
            relay_stall(relay, console);
            return;
        }
        left -= consume(stream, &load, prefix->len, (size_t)taken, now_ns);
        relay->taken += (size_t)taken;
        relay->next = (int)(stream - relay->streams + 1) % relay->count;
    }
}

void relay_turn(struct relay_stream *stream, int64_t now_ns)
{
    struct console *console = stream->console;
    size_t left = stream->len > 0 ? ready_bytes(stream, now_ns) : 0;

    if (left == 0)
        return;
    if (!take_turn(stream, now_ns)) {
        console->crowded |= console->line_owner != stream;
        return;
    }
    /* Found out by a line of ours. */
    if (console->gone) {
        relay_end_console(stream->relay, console, now_ns);
        return;
    }
    write_out(stream, left, now_ns);
    relay_watch_stream(stream);
    relay_note_partial(stream);
    relay_flush_own(stream->relay, console, now_ns);
    /* What it was not given this time goes to the end of the queue. */
    console->crowded |= stream->len > 0 && ready_bytes(stream, now_ns) > 0;
    tell_failed(console);
}

/* One turn for each stream that has something; true if any got on. */
static bool give_turns(struct relay *relay, struct console *console, int64_t now_ns)
{
    int first = relay->next;
    bool any = false;

    for (int i = 0; i < relay->count && !stalled(console); i++) {
        struct relay_stream *stream = &relay->streams[(first + i) % relay->count];
        size_t before = stream->len;

        if (stream->console != console || before == 0)
            continue;
        relay_turn(stream, now_ns);
        relay_give_back(stream);
        any |= stream->len != before;
    }
    return any;
}

void relay_round(struct relay *relay, struct console *console, int64_t now_ns)
{
    bool any;

    relay_flush_own(relay, console, now_ns);
    /* Whose turn was refused because of another's line can go on when that one has ended. */
    do {
        if (stalled(console))
            return;
        console->crowded = false;
        any = give_turns(relay, console, now_ns);
    } while (any && console->crowded);
    relay_note_owner(relay, console);
}
