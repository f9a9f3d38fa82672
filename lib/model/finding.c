#include "model/finding.h"

#include <string.h>

#include "base/digest.h"

#define TRACEBACK_HEAD 512 /* what is kept of a long traceback's beginning */
#define TRACEBACK_STEP 256 /* what goes at least when room is made */

static const char record_path[] = "/torch/distributed/elastic/multiprocessing/errors/";
static const char gap[] = "  ...\n";

void finding_add_plain(struct buf *out, struct span text)
{
    while (text.len > 0) {
        const char *tab = memchr(text.text, '\t', text.len);
        size_t size = tab ? (size_t)(tab - text.text) : text.len;

        buf_add_plain(out, text.text, size);
        if (tab)
            buf_addc(out, ' ');
        text = span_after(text, tab ? size + 1 : size);
    }
}

/* A buffer that goes on behind the text that is in room. */
static struct buf append_to(char *room, size_t capacity)
{
    return (struct buf){.data = room, .len = strlen(room), .capacity = capacity};
}

void finding_clear_error(struct finding *finding)
{
    finding->echo = false;
    finding->type[0] = '\0';
    finding->message[0] = '\0';
    finding->file[0] = '\0';
    finding->line = 0;
}

enum echo finding_echo(const struct finding *finding)
{
    enum echo echo = patterns_echo((struct span){finding->message, strlen(finding->message)});

    if (echo != ECHO_NONE)
        return echo;
    return patterns_echo((struct span){finding->type, strlen(finding->type)});
}

void finding_set_error(struct finding *finding, struct span type, struct span message)
{
    struct buf out;

    buf_init(&out, finding->type, sizeof(finding->type));
    finding_add_plain(&out, type);
    finding_set_message(finding, message);
}

void finding_set_message(struct finding *finding, struct span message)
{
    struct buf out;

    buf_init(&out, finding->message, sizeof(finding->message));
    finding_add_plain(&out, message);
    finding->echo = finding_echo(finding) != ECHO_NONE;
}

void finding_add_message(struct finding *finding, struct span line)
{
    struct buf out = append_to(finding->message, sizeof(finding->message));

    if (out.len + 1 < out.capacity) {
        buf_addc(&out, '\n');
        finding_add_plain(&out, line);
    }
    /* The whole line is looked at: what matters may not have fitted. */
    if (!finding->echo)
        finding->echo = patterns_echo(line) != ECHO_NONE;
}

/* Takes whole lines behind the head away; returns the length that is left. */
static size_t cut_middle(char *text, size_t len)
{
    size_t gap_len = sizeof(gap) - 1;
    char *head = memchr(text + TRACEBACK_HEAD, '\n', len - TRACEBACK_HEAD);
    char *end = text + len;
    char *rest;

    if (!head || (size_t)(end - head) <= TRACEBACK_STEP + gap_len)
        return len;
    head++;
    rest = memchr(head + TRACEBACK_STEP, '\n', (size_t)(end - head) - TRACEBACK_STEP);
    rest = rest ? rest + 1 : end;
    memcpy(head, gap, gap_len);
    memmove(head + gap_len, rest, (size_t)(end - rest) + 1);
    return gap_len + (size_t)(head - text) + (size_t)(end - rest);
}

void finding_add_traceback(struct finding *finding, struct span line)
{
    struct buf out = append_to(finding->traceback, sizeof(finding->traceback));
    size_t before;

    while (out.len + line.len + 2 > out.capacity) {
        before = out.len;
        out.len = cut_middle(out.data, out.len);
        if (out.len >= before)
            return;
    }
    finding_add_plain(&out, line);
    buf_addc(&out, '\n');
}

void finding_set_file(struct finding *finding, struct span path, int line)
{
    size_t room = sizeof(finding->file) - 1;
    struct buf out;

    if (path.len > room)
        path = span_after(path, path.len - room);
    buf_init(&out, finding->file, sizeof(finding->file));
    finding_add_plain(&out, path);
    finding->line = line;
}

bool finding_parse_frame(struct span line, struct span *ret_path, int *ret_line)
{
    static const char start[] = "  File \"", middle[] = "\", line ";
    const char *quote;
    struct span rest;
    int number = 0;

    if (!span_starts(line, start))
        return false;
    rest = span_after(line, sizeof(start) - 1);
    quote = memmem(rest.text, rest.len, middle, sizeof(middle) - 1);
    if (!quote)
        return false;
    *ret_path = (struct span){rest.text, (size_t)(quote - rest.text)};
    rest = span_after(rest, ret_path->len + sizeof(middle) - 1);
    for (size_t i = 0; i < rest.len && rest.text[i] >= '0' && rest.text[i] <= '9'; i++) {
        if (number > 99999999)
            return false;
        number = number * 10 + (rest.text[i] - '0');
    }
    *ret_line = number;
    return number > 0;
}

void finding_add_frame(struct finding *finding, struct span line)
{
    struct span path;
    int number;

    if (!finding_parse_frame(line, &path, &number))
        return;
    if (finding->frames == 0 || span_has(path, record_path))
        finding->frames = DIGEST_START;
    finding->frames = digest_wording(finding->frames, path.text, path.len);
    finding->frames = digest_number(finding->frames, number);
}

void finding_parse_function(struct span line, char *room, size_t size)
{
    static const char in[] = " in ";
    const char *found = NULL, *at = line.text;
    struct buf out;

    buf_init(&out, room, size);
    while ((at = memmem(at, line.len - (size_t)(at - line.text), in, sizeof(in) - 1)))
        found = at += sizeof(in) - 1;
    if (found)
        finding_add_plain(&out, span_after(line, (size_t)(found - line.text)));
}

void finding_copy_error(struct finding *finding, const struct finding *other)
{
    memcpy(finding->type, other->type, sizeof(finding->type));
    memcpy(finding->message, other->message, sizeof(finding->message));
    finding->echo = other->echo;
    finding->at_ns = other->at_ns;
}

bool finding_is_same(const struct finding *a, const struct finding *b)
{
    return strcmp(a->type, b->type) == 0 && strcmp(a->message, b->message) == 0;
}

bool finding_is_group(const struct finding *finding)
{
    size_t len = strlen(finding->type);

    return len >= 14 && strcmp(finding->type + len - 14, "ExceptionGroup") == 0;
}

bool finding_is_likely_type(struct span line, struct span type)
{
    bool dotted = type.text != line.text;
    bool lower = false;

    /* "INFO: ..." and "wandb: ..." are other writers' lines, not names of classes. */
    for (size_t i = 0; i < type.len; i++)
        lower |= (type.text[i] >= 'a' && type.text[i] <= 'z') ||
                 (unsigned char)type.text[i] >= 0x80;
    return type.len > 0 && (dotted || (lower && !(type.text[0] >= 'a' && type.text[0] <= 'z')));
}
