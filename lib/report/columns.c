#include "report/columns.h"

#include <string.h>

#define QUOTE       "    | "
#define QUOTE_WIDTH 6

static const char dots[] = "...";

size_t columns_bytes(const char *text, size_t len, size_t columns)
{
    size_t i = 0, size;

    while (i < len && columns-- > 0) {
        size = buf_utf8_size(text + i, len - i);
        i += size > 0 ? size : 1;
    }
    return i;
}

static size_t width_of(const char *text, size_t len)
{
    size_t width = 0;

    for (size_t i = 0; i < len; width++)
        i += columns_bytes(text + i, len - i, 1);
    return width;
}

/* The bytes of text that go on one line: broken at a blank if there is one. */
static size_t line_size(const char *text, size_t len, size_t columns)
{
    size_t fit = columns_bytes(text, len, columns);
    const char *blank;

    if (fit == len)
        return len;
    blank = memrchr(text, ' ', fit + 1);
    return blank && blank > text ? (size_t)(blank - text) : fit;
}

void columns_paragraph(const char *first, const char *text, size_t len, struct buf *out)
{
    size_t indent = strlen(first), at = 0, size;

    while (at < len) {
        size = line_size(text + at, len - at, COLUMNS - indent);
        if (at == 0)
            buf_adds(out, first);
        else
            buf_addf(out, "%*s", (int)indent, "");
        buf_add_plain(out, text + at, size);
        buf_addc(out, '\n');
        at += size;
        while (at < len && text[at] == ' ')
            at++;
    }
}

void columns_field(const char *text, size_t width, struct buf *out)
{
    size_t len = strlen(text);
    size_t fit = columns_bytes(text, len, width), used;

    if (fit < len && width > sizeof(dots) - 1) {
        buf_add_plain(out, text, columns_bytes(text, len, width - (sizeof(dots) - 1)));
        buf_adds(out, dots);
        return;
    }
    buf_add_plain(out, text, fit);
    used = width_of(text, fit);
    if (used < width)
        buf_addf(out, "%*s", (int)(width - used), "");
}

void columns_quote(const char *text, int lines, struct buf *out)
{
    size_t len = strlen(text), at;

    if (len > 0 && text[len - 1] == '\n')
        len--;
    for (at = len; at > 0 && lines > 0; at -= at > 0) {
        const char *newline = memrchr(text, '\n', at);

        at = newline ? (size_t)(newline - text) : 0;
        lines--;
    }
    at += at > 0;
    at += at > 0;
    while (at < len) {
        size_t size = strcspn(text + at, "\n");

        size = size < len - at ? size : len - at;
        buf_adds(out, QUOTE);
        buf_add_plain(out, text + at, columns_bytes(text + at, size, COLUMNS - QUOTE_WIDTH));
        buf_addc(out, '\n');
        at += size + 1;
    }
}
