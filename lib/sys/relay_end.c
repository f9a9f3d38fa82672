/*
 * The last act: what is pending goes out, then what we have to say ourselves.
 */
#include <limits.h>
#include <string.h>

#include "sys/relay.h"

#define FILE_TURNS 256        /* a pipe holds up to 1 MiB */
#define SLICE_NS   20000000LL /* of waiting for one console while the other has work too */

static bool stalled(const struct console *console)
{
    return console->source.events != 0;
}

static int64_t relay_clock(const struct relay *relay)
{
    return source_clock() - relay->epoch_ns;
}

static int milliseconds(int64_t ns)
{
    int64_t rounded = ns / 1000000 + 1;

    return rounded > INT_MAX ? INT_MAX : (int)rounded;
}

/* Reads on, but not what a daemon writes after our end has begun. */
static void read_due(struct relay_stream *stream)
{
    size_t got = stream->due > 0 ? relay_read(stream, stream->relay->now_ns) : 0;

    stream->due -= got < stream->due ? got : stream->due;
    if (got == 0)
        relay_end_stream(stream, stream->relay->now_ns);
}

/* Relays what there is now without waiting for more; true if something is left to do. */
static bool drain(struct relay *relay, struct console *console)
{
    bool left = false;

    for (int i = 0; i < relay->count; i++) {
        struct relay_stream *stream = &relay->streams[i];

        if (stream->console == console && stream->len < stream->size)
            read_due(stream);
    }
    relay_round(relay, console, relay->now_ns);
    for (int i = 0; i < relay->count; i++) {
        const struct relay_stream *stream = &relay->streams[i];

        left |= stream->console == console && (stream->len > 0 || !stream->ended);
    }
    return left || console->own_len > 0;
}

static void wait_for_room(struct relay *relay, struct console *console, int64_t time_ns)
{
    if (!stalled(console) || !console_wait(console, milliseconds(time_ns)))
        return;
    relay->now_ns = relay_clock(relay);
    relay_end_stall(relay, console, relay->now_ns);
}

/* What nobody has read from the console in time can still go to files. */
static void drain_to_files(struct relay *relay)
{
    for (int i = 0; i < relay->count; i++) {
        struct relay_stream *stream = &relay->streams[i];

        if (!stream->ended && relay_is_filed(stream))
            relay_hide(stream);
    }
    for (int i = 0; i < FILE_TURNS && drain(relay, &relay->nowhere); i++)
        continue;
}

/* Waits a while for whichever console is behind. */
static void wait_for_rooms(struct relay *relay, bool out, bool err, int64_t left)
{
    if (out && err && left > SLICE_NS)
        left = SLICE_NS;
    if (out)
        wait_for_room(relay, relay->out, left);
    if (err)
        wait_for_room(relay, relay->err, left);
}

/* As long as there is something to write, readers take it, and it is not too late. */
static bool drain_all(struct relay *relay, struct relay_wait wait)
{
    int64_t taken_ns = relay_clock(relay);

    for (int i = 0; i < relay->count; i++)
        relay->streams[i].due = relay_unread(&relay->streams[i]);
    for (;;) {
        uint64_t before = relay->taken;
        bool out = drain(relay, relay->out);
        bool err = relay->err != relay->out && drain(relay, relay->err);
        bool more = drain(relay, &relay->nowhere);
        int64_t left;

        relay->now_ns = relay_clock(relay);
        if (!out && !err && !more)
            return true;
        if (relay->taken != before)
            taken_ns = relay->now_ns;
        left = wait.deadline_ns - relay->now_ns;
        if (left > taken_ns + wait.patience_ns - relay->now_ns)
            left = taken_ns + wait.patience_ns - relay->now_ns;
        if (left <= 0)
            return false;
        wait_for_rooms(relay, out, err, left);
    }
}

bool relay_finish(struct relay *relay, struct relay_wait wait)
{
    bool all = drain_all(relay, wait);

    drain_to_files(relay);
    for (int i = 0; i < relay->count; i++) {
        relay_end_stream(&relay->streams[i], relay->now_ns);
        relay->streams[i].len = 0;
    }
    relay->deadline_ns = INT64_MAX;
    return all;
}

/* Waits for room until deadline_ns; false if it is over. */
static bool wait_until(const struct relay *relay, const struct console *console,
                       int64_t deadline_ns)
{
    int64_t left = deadline_ns - relay_clock(relay);

    return left > 0 && console_wait(console, milliseconds(left));
}

/* Writes all of text; false if the time is over or nobody reads. */
static bool push(struct relay *relay, struct console *console, const char *text, size_t len,
                 int64_t deadline_ns)
{
    while (len > 0) {
        ssize_t taken = console_write(console, text, len);

        if (taken < 0 || (taken == 0 && !wait_until(relay, console, deadline_ns)))
            return false;
        text += taken;
        len -= (size_t)taken;
    }
    return true;
}

void relay_last_line(struct relay *relay, const char *line, size_t len, int64_t deadline_ns)
{
    struct console *console = relay->err;

    if (len == 0)
        return;
    if (console->line_owner && console->line_owner != console) {
        if (!push(relay, console, "\n", 1, deadline_ns))
            return;
        console->line_owner = NULL;
    }
    while (!console_flush_own(console)) {
        if (!wait_until(relay, console, deadline_ns))
            return;
    }
    if (push(relay, console, line, len, deadline_ns) && line[len - 1] != '\n')
        push(relay, console, "\n", 1, deadline_ns);
}
