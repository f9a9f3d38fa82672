#include "model/traceback.h"

#include <string.h>

/* Lines that may follow the first of a message; the first few do not count as going on. */
#define MESSAGE_LINES      8
#define MESSAGE_LINES_FREE 4
#define JUNK_LINES         8 /* of other writers, between the lines of a traceback */

/* Ordinary lines behind a finding that a rank on its way out may still write. */
#define WENT_ON_MAX 3

static const char header[] = "Traceback (most recent call last):";
static const char fault_header[] = "Fatal Python error: ";

enum state {
    IDLE,
    FRAMES,    /* behind "Traceback" */
    MESSAGE,   /* behind "ValueError: text" */
    BETWEEN,   /* behind the blank line after it: does a chain go on? */
    FAULT,     /* behind "Fatal Python error" */
    TERMINATE, /* behind "terminate called after throwing" */
    STATES
};

/* True if the line ends with the header; a progress bar without newline may stand before it. */
static bool is_header(struct span line)
{
    size_t len = sizeof(header) - 1;

    return line.len >= len && line.text[line.len - 1] == ':' &&
           memcmp(line.text + line.len - len, header, len) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cheap, and true for every line that the reader could start with. */
static bool may_matter(struct span line)
{
    static const char starts[256] = {
        ['\033'] = 1, ['*'] = 1, ['='] = 1, ['-'] = 1, ['A'] = 1, ['B'] = 1,
        ['C'] = 1,    ['E'] = 1, ['F'] = 1, ['I'] = 1, ['M'] = 1, ['N'] = 1,
        ['S'] = 1,    ['c'] = 1, ['d'] = 1, ['f'] = 1, ['t'] = 1,
    };
    size_t i = 0;

    if (line.len > 0 && line.text[0] == '[')
        line = span_without_prefix(line);
    if (line.len == 0)
        return false;
    if (is_header(line))
        return true;
    if (line.text[0] == ' ')
        return span_starts(line, "  File \"");
    if (line.text[0] == '[')
        return patterns_bracketed(line, &line);
    while (i < line.len && line.text[i] > ' ' && line.text[i] != ':' && line.text[i] != '(')
        i++;
    if (i + 1 < line.len && line.text[i] == ':')
        return line.text[i + 1] == ' ' || (is_digit(line.text[i + 1]) && !is_digit(line.text[0]));
    if (i + 1 < line.len && line.text[i] == '(' && line.text[i + 1] == ')')
        return true;
    return starts[(unsigned char)line.text[0]] != 0;
}

bool traceback_is_stale(const struct traceback *reader)
{
    return reader->went_on > WENT_ON_MAX;
}

/* A line that says nothing about a failure: the rank may have gone on working. */
static void note_ordinary(struct traceback *reader, struct span line)
{
    if (reader->best.kind == EVIDENCE_NONE || reader->sealed || traceback_is_stale(reader))
        return;
    if (!patterns_is_noise(span_without_prefix(line)))
        reader->went_on++;
}

static void begin(struct traceback *reader, enum evidence_kind kind, int64_t at_ns)
{
    reader->current.kind = kind;
    reader->current.at_ns = at_ns;
    reader->current.traceback[0] = '\0';
    reader->current.frames = 0;
    reader->chained = false;
    finding_clear_error(&reader->current);
}

static void take_current(struct traceback *reader, bool weak)
{
    reader->best = reader->current;
    reader->best_weak = weak;
    reader->went_on = 0;
    reader->taken = true;
}

static void begin_traceback(struct traceback *reader, struct span line, int64_t at_ns)
{
    if (reader->chained)
        finding_clear_error(&reader->current);
    else
        begin(reader, EVIDENCE_TRACEBACK, at_ns);
    reader->ignored &= reader->chained || reader->state == IDLE;
    finding_add_traceback(&reader->current, line);
    reader->group = span_has(line, "Exception Group");
    reader->user_frame = false;
    reader->taken = false;
    reader->continued = 0;
    reader->state = FRAMES;
}

/* Whether current should be what the rank is judged by. */
static bool outranks(const struct traceback *reader, bool weak)
{
    const struct finding *best = &reader->best;
    const struct finding *current = &reader->current;

    if (reader->ignored)
        return false;
    if (best->kind == EVIDENCE_NONE)
        return true;
    if (reader->sealed)
        return false;
    if (traceback_is_stale(reader))
        return true;
    if (weak)
        return reader->best_weak && best->echo && !current->echo;
    if (reader->best_weak)
        return true;
    if (reader->group && reader->chained)
        return finding_is_group(best) || best->echo;
    if (current->echo && !best->echo)
        return false;
    return current->kind >= best->kind && strcmp(current->type, "KeyboardInterrupt") != 0;
}

/* An error is known: "ValueError" and its text's first line. */
static void conclude(struct traceback *reader, struct span type, struct span message, bool weak)
{
    struct finding *current = &reader->current;
    const struct finding *best = &reader->best;
    bool fresh = best->kind != EVIDENCE_NONE && !traceback_is_stale(reader);

    finding_set_error(current, type, message);
    /* What is raised while a lost peer is being handled is a consequence of that loss. */
    if (reader->chained && !reader->group && fresh && best->echo &&
        finding_echo(best) != ECHO_GENERIC)
        current->echo = true;
    reader->taken = false;
    reader->continued = 0;
    reader->state = MESSAGE;
    if (!outranks(reader, weak))
        return;
    if (fresh && finding_is_same(best, current))
        current->at_ns = best->at_ns;
    take_current(reader, weak);
}

/* Takes a frame's file and line: the innermost one of the user's own code, else the innermost. */
static void take_frame(struct traceback *reader, struct span line)
{
    struct span path;
    bool user;
    int number;

    if (!finding_parse_frame(line, &path, &number))
        return;
    finding_add_frame(&reader->current, line);
    user = patterns_is_user_file(path);
    if (reader->user_frame && !user)
        return;
    reader->user_frame = user;
    finding_set_file(&reader->current, path, number);
}

/* "  | " of a group's box goes; false for its separators, "  +-+---------------- 1 ----------". */
static bool unbox(struct span *line, bool *ret_next)
{
    size_t i = 0;

    *ret_next = false;
    while (i < line->len && line->text[i] == ' ')
        i++;
    if (i < line->len && line->text[i] == '+' && !is_header(*line)) {
        *ret_next = memchr(line->text + i, ' ', line->len - i) != NULL;
        return false;
    }
    if (i < line->len && (line->text[i] == '|' || line->text[i] == '+')) {
        *line = span_after(*line, i + 1);
        if (span_starts(*line, " "))
            *line = span_after(*line, 1);
    }
    return true;
}

/* A new error of a group begins, or the group ends. */
static bool take_separator(struct traceback *reader, struct span line, bool next)
{
    finding_add_traceback(&reader->current, line);
    reader->state = next ? FRAMES : IDLE;
    reader->chained = next;
    reader->group = next;
    reader->continued = 0;
    /* An error that was never raised has no frames of its own: the group's place stays. */
    reader->user_frame = false;
    return true;
}

/* A dump's frames come innermost first: the first of the user's own code counts, else the first. */
static void take_fault_frame(struct traceback *reader, struct span line)
{
    struct span path;
    int number;
    bool user;

    finding_add_frame(&reader->current, line);
    if (reader->user_frame || !finding_parse_frame(line, &path, &number))
        return;
    user = patterns_is_user_file(path);
    if (reader->current.line == 0)
        finding_parse_function(line, reader->stood.function, sizeof(reader->stood.function));
    if (user || reader->current.line == 0) {
        finding_set_file(&reader->current, path, number);
        memcpy(reader->stood.file, reader->current.file, sizeof(reader->stood.file));
        reader->stood.line = reader->current.line;
    }
    reader->user_frame = user;
}

/* Takers: one for each state. False: the line is not theirs, and the reader is idle again. */
static bool take_in_frames(struct traceback *reader, struct span line, int64_t at_ns)
{
    struct span type, message, whole = line;
    bool next;

    if (reader->group && !unbox(&line, &next))
        return take_separator(reader, whole, next);
    if (is_header(line)) {
        bool group = reader->group;

        reader->chained = group && reader->chained;
        begin_traceback(reader, whole, at_ns);
        reader->group |= group;
        return true;
    }
    if (line.len == 0 || line.text[0] == ' ' || line.text[0] == '\t') {
        take_frame(reader, line);
        finding_add_traceback(&reader->current, whole);
        return true;
    }
    if (!patterns_split_exception(line, &type, &message) || !finding_is_likely_type(line, type))
        return ++reader->continued <= JUNK_LINES;
    finding_add_traceback(&reader->current, whole);
    conclude(reader, type, message, false);
    return true;
}

/* A further line of a message; too many of them are no message any more. */
static bool take_continuation(struct traceback *reader, struct span line, struct span whole)
{
    unsigned went_on = reader->went_on;

    if (++reader->continued > MESSAGE_LINES)
        return false;
    if (reader->continued > MESSAGE_LINES_FREE && !reader->sealed)
        went_on++;
    finding_add_message(&reader->current, line);
    finding_add_traceback(&reader->current, whole);
    if (reader->taken) {
        take_current(reader, reader->best_weak);
        reader->went_on = went_on;
    }
    return true;
}

static bool take_in_message(struct traceback *reader, struct span line, int64_t at_ns)
{
    struct span whole = line;
    bool next;

    if (reader->group && !unbox(&line, &next))
        return take_separator(reader, whole, next);
    if (is_header(line)) {
        /* "Original Traceback": a worker's, within the message of its parent's. */
        reader->chained = span_starts(line, "Original ");
        begin_traceback(reader, whole, at_ns);
        return true;
    }
    if (line.len == 0) {
        reader->state = BETWEEN;
        reader->chained = false;
        return true;
    }
    if (span_starts(line, fault_header) || span_starts(line, "terminate called") ||
        patterns_is_harmless_intro(line))
        return false;
    if (line.text[0] != ' ' && patterns_is_noise(line))
        return true;
    return take_continuation(reader, line, whole);
}

static bool take_between(struct traceback *reader, struct span line, int64_t at_ns)
{
    if (line.len == 0)
        return true;
    if (span_starts(line, "The above exception was the direct cause of") ||
        span_starts(line, "During handling of the above exception")) {
        finding_add_traceback(&reader->current, line);
        reader->chained = true;
        return true;
    }
    if (!is_header(line))
        return false;
    begin_traceback(reader, line, at_ns);
    return true;
}

static bool take_in_fault(struct traceback *reader, struct span line, int64_t at_ns)
{
    (void)at_ns;
    if (span_starts(line, "Current thread ") || span_starts(line, "Thread 0x"))
        reader->continued = line.text[0] == 'C';
    else if (line.len > 0 && line.text[0] != ' ' && !span_starts(line, "Python runtime state"))
        return false;
    if (reader->continued == 0)
        return true;
    finding_add_traceback(&reader->current, line);
    take_fault_frame(reader, line);
    if (reader->taken)
        take_current(reader, false);
    return true;
}

static bool take_after_terminate(struct traceback *reader, struct span line, int64_t at_ns)
{
    (void)at_ns;
    if (!span_starts(line, "  what():"))
        return false;
    finding_add_traceback(&reader->current, line);
    line = span_after(line, strlen("  what():"));
    while (span_starts(line, " "))
        line = span_after(line, 1);
    finding_set_message(&reader->current, line);
    reader->state = MESSAGE;
    if (reader->taken)
        take_current(reader, false);
    return true;
}

/* An error that is not taken. One more loss of a peer, or the same again, is no sign of work. */
static void note_another(struct traceback *reader, struct span line)
{
    bool again = (reader->best.echo && reader->current.echo) ||
                 finding_is_same(&reader->best, &reader->current);

    if (!again)
        note_ordinary(reader, line);
    else if (!reader->sealed && !traceback_is_stale(reader))
        reader->went_on = 0;
}

static void start_fatal(struct traceback *reader, struct span line, int64_t at_ns)
{
    struct fatal fatal;

    if (!patterns_fatal(line, &fatal)) {
        note_ordinary(reader, line);
        return;
    }
    begin(reader, EVIDENCE_FATAL_LINE, at_ns);
    conclude(reader, fatal.type, fatal.message, fatal.weak);
    if (!reader->taken)
        note_another(reader, line);
    reader->state = fatal.thrown ? TERMINATE : IDLE;
}

/* A dump after a fatal line ("what(): ...", then "Aborted") adds where it happened. */
static void start_fault(struct traceback *reader, struct span line, int64_t at_ns)
{
    static const struct span name = {"Fatal Python error", sizeof("Fatal Python error") - 1};
    struct finding before = reader->best;
    bool merge = before.kind == EVIDENCE_FATAL_LINE && !reader->best_weak &&
                 !traceback_is_stale(reader) && !reader->sealed;

    begin(reader, EVIDENCE_FAULTHANDLER, at_ns);
    finding_add_traceback(&reader->current, line);
    conclude(reader, name, span_after(line, sizeof(fault_header) - 1), false);
    if (merge) {
        finding_copy_error(&reader->current, &before);
        take_current(reader, false);
    }
    reader->user_frame = false;
    reader->group = false;
    reader->state = FAULT;
}

static void start(struct traceback *reader, struct span line, int64_t at_ns)
{
    bool harmless = patterns_is_harmless_intro(line);

    reader->state = IDLE;
    reader->chained = false;
    reader->group = false;
    if (is_header(line) || span_starts(line, "  File \"")) {
        begin_traceback(reader, line, at_ns);
        take_frame(reader, line);
        return;
    }
    if (!harmless && !span_starts(line, fault_header))
        start_fatal(reader, line, at_ns);
    reader->ignored = harmless;
    if (span_starts(line, fault_header))
        start_fault(reader, line, at_ns);
}

void traceback_line(struct traceback *reader, int stream, struct span line, int64_t at_ns)
{
    static bool (*const takers[STATES])(struct traceback *, struct span, int64_t) = {
        [FRAMES] = take_in_frames, [MESSAGE] = take_in_message,        [BETWEEN] = take_between,
        [FAULT] = take_in_fault,   [TERMINATE] = take_after_terminate,
    };
    bool reading = reader->state != IDLE && reader->stream == stream;
    char room[TRACEBACK_LINE_MAX];

    if (!reading && !may_matter(line)) {
        reader->ignored &= reader->state != IDLE;
        note_ordinary(reader, line);
        return;
    }
    line = span_without_prefix(span_without_colours(line, room));
    if (reading && takers[reader->state](reader, line, at_ns))
        return;
    /* On the other stream, only what is more than a log line interrupts. */
    if (!reading && reader->state != IDLE && !is_header(line) && !span_starts(line, fault_header) &&
        !span_starts(line, "terminate called")) {
        note_ordinary(reader, line);
        return;
    }
    reader->stream = stream;
    start(reader, line, at_ns);
}
