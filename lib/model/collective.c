#include "model/collective.h"

#include <string.h>

#include "base/buf.h"

#define LINE_MIN   80 /* of a line of the watchdog; most lines of others are shorter */
#define NUMBER_MAX 1000000000000000LL

static const char timeout_words[] = "Watchdog caught collective operation timeout";

/* What is behind the first `words`; false if they are not there. */
static bool behind(struct span line, const char *words, struct span *ret)
{
    size_t len = strlen(words);
    const char *at = memmem(line.text, line.len, words, len);

    if (!at)
        return false;
    *ret = span_after(line, (size_t)(at - line.text) + len);
    return true;
}

/* The number behind the first `words`. */
static bool number_behind(struct span line, const char *words, int64_t *ret)
{
    int64_t number = 0;
    struct span rest;
    size_t i = 0;

    if (!behind(line, words, &rest))
        return false;
    for (; i < rest.len && rest.text[i] >= '0' && rest.text[i] <= '9'; i++) {
        if (number > NUMBER_MAX)
            return false;
        number = number * 10 + (rest.text[i] - '0');
    }
    *ret = number;
    return i > 0;
}

/* Copies what is behind `words` up to one of the characters of `ends`. */
static void copy_behind(struct span line, const char *words, const char *ends, struct buf *out)
{
    struct span rest;
    size_t len = 0;

    if (!behind(line, words, &rest))
        return;
    while (len < rest.len && !strchr(ends, rest.text[len]))
        len++;
    buf_add_plain(out, rest.text, len);
}

/* "[PG ID 0 PG GUID 0(default_pg) Rank 1]", "[PG 1 Rank 0]": the name, else the number for all. */
static void read_group(struct collective *collective, struct span line)
{
    struct buf out = BUF_OVER(collective->group);
    const char *end;
    struct span rest;

    if (!behind(line, "[PG ", &rest))
        return;
    end = memmem(rest.text, rest.len, " Rank ", 6);
    if (!end)
        return;
    rest.len = (size_t)(end - rest.text);
    copy_behind(rest, "(", ")", &out);
    if (out.len == 0)
        copy_behind(rest, "GUID ", " (", &out);
    if (out.len == 0)
        buf_add_plain(&out, rest.text, rest.len);
}

bool collective_is_timeout(struct span line, struct span *ret)
{
    const char *at = memmem(line.text, line.len, timeout_words, sizeof(timeout_words) - 1);

    if (!at)
        return false;
    *ret = span_after(line, (size_t)(at - line.text));
    return true;
}

/* "... timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, ..., Timeout(ms)=600000) ran for 600031 mi..." */
static void read_timeout(struct collective *collective, struct span line, int64_t at_ns)
{
    struct buf op = BUF_OVER(collective->op);

    collective->timed_out = true;
    collective->at_ns = at_ns;
    if (!number_behind(line, "SeqNum=", &collective->seq))
        collective->seq = COLLECTIVE_UNKNOWN;
    if (!number_behind(line, "ran for ", &collective->waited_ms) &&
        !number_behind(line, "Timeout(ms)=", &collective->waited_ms))
        collective->waited_ms = COLLECTIVE_UNKNOWN;
    copy_behind(line, "OpType=", ",)", &op);
}

/* "last enqueued NCCL work: 4, last completed NCCL work: 3"; newer ones without "NCCL". */
static bool read_progress(struct collective *collective, struct span line)
{
    return (number_behind(line, "ast enqueued NCCL work: ", &collective->enqueued) ||
            number_behind(line, "ast enqueued work: ", &collective->enqueued)) &&
           (number_behind(line, "ast completed NCCL work: ", &collective->completed) ||
            number_behind(line, "ast completed work: ", &collective->completed));
}

bool collective_may_be_in(struct span text)
{
    const char *at;

    /* Hardly anything has an N, and looking for one byte is what the machine does best. */
    while ((at = memchr(text.text, 'N', text.len))) {
        text = span_after(text, (size_t)(at - text.text));
        if (span_starts(text, "NCCL"))
            return true;
        text = span_after(text, 1);
    }
    return false;
}

void collective_line(struct collective *collective, struct span line, int64_t at_ns)
{
    struct span rest;

    if (line.len < LINE_MIN || (collective->timed_out && collective->told) ||
        !collective_may_be_in(line))
        return;
    if (!collective->timed_out && collective_is_timeout(line, &rest))
        read_timeout(collective, rest, at_ns);
    if (!collective->told && read_progress(collective, line)) {
        collective->told = true;
        read_group(collective, line);
    }
}
