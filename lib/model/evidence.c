#include "model/evidence.h"

#include <string.h>

#include "model/patterns.h"

void evidence_init(struct evidence *evidence)
{
    memset(evidence, 0, sizeof(*evidence));
}

/* Puts a line into the ring of the tail; blank ones are no use there. */
static void put_tail(struct evidence *evidence, struct span line)
{
    size_t at = evidence->tail_end % EVIDENCE_TAIL_MAX;
    size_t first = EVIDENCE_TAIL_MAX - at;

    if (line.len == 0)
        return;
    if (first > line.len)
        first = line.len;
    memcpy(evidence->tail + at, line.text, first);
    memcpy(evidence->tail, line.text + first, line.len - first);
    evidence->tail_end += line.len;
    evidence->tail[evidence->tail_end++ % EVIDENCE_TAIL_MAX] = '\n';
}

/* What is true of all lines of a piece of output, so that it need not be asked of each. */
struct piece {
    enum evidence_stream stream;
    bool returns;    /* there may be a '\r' */
    bool collective; /* there may be a word of a collective's watchdog */
};

/* Behind the last '\r' of a line, which a progress bar writes to begin it anew. */
static struct span returned(struct span line)
{
    const char *last;

    while (line.len > 0 && line.text[line.len - 1] == '\r')
        line.len--;
    last = memrchr(line.text, '\r', line.len);
    return last ? span_after(line, (size_t)(last - line.text) + 1) : line;
}

static void take_line(struct evidence *evidence, const struct piece *piece, struct span line,
                      int64_t at_ns)
{
    if (piece->returns)
        line = returned(line);
    if (line.len > EVIDENCE_LINE_MAX)
        line.len = EVIDENCE_LINE_MAX;
    if (piece->stream == EVIDENCE_STDERR)
        put_tail(evidence, line);
    if (piece->collective)
        collective_line(&evidence->collective, line, at_ns);
    traceback_line(&evidence->reader, (int)piece->stream, line, at_ns);
}

/* Keeps a piece of a line that is not whole yet. */
static void keep(struct evidence_line *line, struct span piece, int64_t now_ns)
{
    size_t len = piece.len;
    const char *returned;

    while (piece.len > 0 && piece.text[piece.len - 1] == '\r')
        piece.len--;
    if (piece.len == 0) {
        line->returned |= len > 0;
        return;
    }
    len -= piece.len;
    returned = memrchr(piece.text, '\r', piece.len);
    if (returned)
        piece = span_after(piece, (size_t)(returned - piece.text) + 1);
    if (returned || line->returned)
        line->len = 0;
    line->returned = len > 0;
    if (line->len == 0)
        line->began_ns = now_ns;
    if (piece.len > EVIDENCE_LINE_MAX - line->len)
        piece.len = EVIDENCE_LINE_MAX - line->len;
    memcpy(line->text + line->len, piece.text, piece.len);
    line->len += piece.len;
}

static void end_line(struct evidence *evidence, enum evidence_stream stream, int64_t now_ns)
{
    struct evidence_line *line = &evidence->lines[stream];

    take_line(evidence, &(struct piece){stream, true, true}, (struct span){line->text, line->len},
              line->len > 0 ? line->began_ns : now_ns);
    line->len = 0;
    line->returned = false;
}

void evidence_feed(struct evidence *evidence, enum evidence_stream stream, const char *bytes,
                   size_t len, int64_t now_ns)
{
    struct evidence_line *line = &evidence->lines[stream];
    const struct piece whole = {.stream = stream,
                                .returns = memchr(bytes, '\r', len) != NULL,
                                .collective = collective_may_be_in((struct span){bytes, len})};

    while (len > 0) {
        const char *newline = memchr(bytes, '\n', len);
        struct span piece = {bytes, newline ? (size_t)(newline - bytes) : len};

        if (newline && line->len == 0 && !line->returned) {
            take_line(evidence, &whole, piece, now_ns);
        } else {
            keep(line, piece, now_ns);
            if (newline)
                end_line(evidence, stream, now_ns);
        }
        bytes += piece.len + (newline != NULL);
        len -= piece.len + (newline != NULL);
    }
}

void evidence_end(struct evidence *evidence, int64_t now_ns)
{
    for (int stream = 0; stream < EVIDENCE_STREAMS; stream++) {
        if (evidence->lines[stream].len > 0)
            end_line(evidence, (enum evidence_stream)stream, now_ns);
    }
}

bool evidence_is_stale(const struct evidence *evidence)
{
    return traceback_is_stale(&evidence->reader);
}

const struct finding *evidence_finding(const struct evidence *evidence, bool alive)
{
    if (evidence->reader.best.kind == EVIDENCE_NONE)
        return NULL;
    if (alive && (evidence_is_stale(evidence) || evidence->reader.best_weak))
        return NULL;
    return &evidence->reader.best;
}

void evidence_seal(struct evidence *evidence)
{
    const struct finding *told = evidence_finding(evidence, true);

    evidence->reader.sealed = told && !told->echo;
}

/* Where the last `lines` whole lines of text[len], which ends with a newline, begin. */
static size_t last_lines(const char *text, size_t len, int lines)
{
    size_t start = len;

    while (lines > 0 && start > 0) {
        const char *newline = memrchr(text, '\n', start - 1);

        start = newline ? (size_t)(newline - text) + 1 : 0;
        lines--;
    }
    return start;
}

void evidence_tail(const struct evidence *evidence, int lines, struct buf *out)
{
    char text[EVIDENCE_TAIL_MAX], room[EVIDENCE_LINE_MAX];
    size_t len = evidence->tail_end < EVIDENCE_TAIL_MAX ? evidence->tail_end : EVIDENCE_TAIL_MAX;
    size_t from = evidence->tail_end - len, start;

    for (size_t i = 0; i < len; i++)
        text[i] = evidence->tail[(from + i) % EVIDENCE_TAIL_MAX];
    start = last_lines(text, len, lines);
    /* Of the oldest line in a full ring only the end may be left. */
    if (start == 0 && from > 0) {
        const char *newline = memchr(text, '\n', len);

        start = newline ? (size_t)(newline - text) + 1 : len;
    }
    while (start < len) {
        struct span line = {text + start, 0};

        line.len = (size_t)((const char *)memchr(line.text, '\n', len - start) - line.text);
        finding_add_plain(out, span_without_colours(line, room));
        start += line.len + 1;
        if (start < len)
            buf_addc(out, '\n');
    }
}

bool evidence_is_echo(const char *text)
{
    return patterns_echo((struct span){text, strlen(text)}) != ECHO_NONE;
}

bool evidence_is_timeout(const char *text)
{
    enum echo echo = patterns_echo((struct span){text, strlen(text)});

    return echo == ECHO_SILENT || echo == ECHO_WAITED;
}

bool evidence_is_collective_timeout(const char *text)
{
    return patterns_echo((struct span){text, strlen(text)}) == ECHO_SILENT;
}

const char *evidence_word(enum evidence_kind kind)
{
    static const char *const words[] = {
        [EVIDENCE_NONE] = "none",
        [EVIDENCE_EXIT_CODE] = "exit_code",
        [EVIDENCE_SIGNAL] = "signal",
        [EVIDENCE_FATAL_LINE] = "fatal_line",
        [EVIDENCE_FAULTHANDLER] = "faulthandler",
        [EVIDENCE_TRACEBACK] = "traceback",
        [EVIDENCE_ERROR_FILE] = "error_file",
    };

    return words[kind];
}
