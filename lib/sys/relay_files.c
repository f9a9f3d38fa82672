#include "sys/logs.h"
#include "sys/relay.h"

void relay_use_files(struct relay *relay, struct logs *logs)
{
    relay->logs = logs;
}

static struct logs_spot spot_of(const struct relay_stream *stream)
{
    return (struct logs_spot){stream->local_rank, (int)stream->which};
}

static struct logs_prefix prefix_of(const struct relay_stream *stream)
{
    struct relay_prefix *prefix = &stream->relay->ranks[stream->local_rank].prefix;

    if (prefix->times > 0)
        relay_prefix_stamp(prefix, relay_prefix_clock());
    return (struct logs_prefix){prefix->text, prefix->len};
}

/* What was to go to a file that could not be made, or is no more, is shown instead of lost. */
static bool hidden(const struct relay_stream *stream)
{
    const struct relay *relay = stream->relay;
    const struct plan_sinks *sinks = relay->plan->output.sinks;
    bool filed = logs_has(relay->logs, spot_of(stream));

    if (stream->outlet->gone)
        return filed;
    if (!sinks || sinks[stream->local_rank].console[stream->which])
        return false;
    return filed || !sinks[stream->local_rank].file[stream->which];
}

void relay_choose_console(struct relay_stream *stream)
{
    stream->console = hidden(stream) ? &stream->relay->nowhere : stream->outlet;
}

bool relay_is_filed(const struct relay_stream *stream)
{
    return logs_has(stream->relay->logs, spot_of(stream));
}

void relay_hide(struct relay_stream *stream)
{
    stream->console = &stream->relay->nowhere;
    stream->start = stream->len = stream->lines = stream->seam = 0;
    relay_give_back(stream);
}

void relay_keep(struct relay_stream *stream, const char *bytes, size_t len, int64_t now_ns)
{
    struct relay *relay = stream->relay;
    struct logs_spot spot = spot_of(stream);
    bool filed = logs_has(relay->logs, spot);

    if (logs_wants_lines(relay->logs, spot))
        logs_filter(relay->logs, spot, prefix_of(stream), bytes, len);
    if (filed)
        logs_put(relay->logs, spot, bytes, len, now_ns);
    if (filed && !logs_has(relay->logs, spot))
        relay_choose_console(stream);
    if (stream->console == &relay->nowhere)
        stream->start = stream->len = stream->lines = 0;
}

void relay_end_file(struct relay_stream *stream)
{
    if (stream->relay->logs)
        logs_end(stream->relay->logs, spot_of(stream), prefix_of(stream));
}
