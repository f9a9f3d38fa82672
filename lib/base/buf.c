#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void buf_init(struct buf *buf, char *data, size_t capacity)
{
    buf->data = data;
    buf->capacity = capacity;
    buf_reset(buf);
}

void buf_reset(struct buf *buf)
{
    buf->len = 0;
    buf->truncated = false;
    buf->data[0] = '\0';
}

static size_t left(const struct buf *buf)
{
    return buf->capacity - buf->len - 1;
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
    if (len > left(buf)) {
        len = left(buf);
        buf->truncated = true;
    }
    if (len > 0)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_adds(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_addc(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void buf_addf(struct buf *buf, const char *format, ...)
{
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(buf->data + buf->len, left(buf) + 1, format, args);
    va_end(args);
    if (size < 0) {
        buf->data[buf->len] = '\0';
        buf->truncated = true;
    } else if ((size_t)size > left(buf)) {
        buf->len = buf->capacity - 1;
        buf->truncated = true;
    } else {
        buf->len += (size_t)size;
    }
}

/* Size that a first byte announces; 0 for continuation bytes and those that no text may hold. */
static size_t announced(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xC2) /* C0 and C1 could only start an overlong form */
        return 0;
    if (first < 0xE0)
        return 2;
    if (first < 0xF0)
        return 3;
    return first < 0xF5 ? 4 : 0;
}

size_t buf_utf8_size(const char *bytes, size_t len)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const unsigned char *in = (const unsigned char *)bytes;
    size_t size = len > 0 ? announced(in[0]) : 0;
    uint32_t code;

    if (size == 0 || size > len)
        return 0;
    code = in[0] & first_bits[size];
    for (size_t i = 1; i < size; i++) {
        if ((in[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (in[i] & 0x3Fu);
    }
    if (code < smallest[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    return size;
}

/* C0, DEL and, as two bytes, C1: a terminal may obey any of them. */
static bool is_control(const char *bytes, size_t size)
{
    const unsigned char *in = (const unsigned char *)bytes;

    if (size == 1)
        return in[0] < 0x20 || in[0] == 0x7F;
    return size == 2 && in[0] == 0xC2 && in[1] < 0xA0;
}

void buf_add_plain(struct buf *buf, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t whole = buf_utf8_size(bytes + i, len - i);
        size_t size = whole > 0 ? whole : 1;

        if (size > left(buf)) {
            /* Half a character would be a byte that is not UTF-8. */
            buf->truncated = true;
            return;
        }
        if (whole == 0 || is_control(bytes + i, size))
            buf_addc(buf, '?');
        else
            buf_add(buf, bytes + i, size);
        i += size;
    }
}
