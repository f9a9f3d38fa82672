#include "report/field.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/calendar.h"

#define SECOND_NS 1000000000LL

static const char dots[] = "...";

/* Bytes that the character at text takes in pure ASCII JSON; *ret_size is what it takes here. */
static size_t escaped(const char *text, size_t len, size_t *ret_size)
{
    size_t size = buf_utf8_size(text, len);

    *ret_size = size > 0 ? size : 1;
    if (size == 0 || text[0] == '\0' || text[0] == '\177')
        return 1; /* becomes '?' */
    if (size > 1)
        return size < 4 ? 6 : 12;
    if (memchr("\"\\\b\f\n\r\t", text[0], 7))
        return 2;
    return (unsigned char)text[0] < 0x20 ? 6 : 1;
}

/* Longest beginning of text that takes at most `limit`. */
static size_t fitting(const char *text, size_t len, size_t limit)
{
    size_t used = 0, size, i = 0;

    while (i < len) {
        used += escaped(text + i, len - i, &size);
        if (used > limit)
            return i;
        i += size;
    }
    return len;
}

size_t field_size(const char *text, size_t len)
{
    size_t used = 0, size;

    for (size_t i = 0; i < len; i += size)
        used += escaped(text + i, len - i, &size);
    return used;
}

bool field_text(struct json *object, const char *key, const char *text, size_t limit)
{
    char room[1024];
    struct buf cut = BUF_OVER(room);
    size_t len = strlen(text);
    size_t fit = fitting(text, len, limit);

    if (len == 0)
        return true;
    if (fit == len) {
        json_put_textn(object, key, text, len);
        return true;
    }
    fit = limit < sizeof(dots) - 1 ? 0 : fitting(text, len, limit - (sizeof(dots) - 1));
    fit = fit < sizeof(room) - sizeof(dots) ? fit : sizeof(room) - sizeof(dots);
    buf_add(&cut, text, fit);
    buf_adds(&cut, dots);
    json_put_textn(object, key, cut.data, cut.len);
    return false;
}

bool field_lines(struct json *object, const char *key, const char *text, size_t limit)
{
    size_t len = strlen(text), start = 0;
    bool cut = false;

    if (len > 0 && text[len - 1] == '\n')
        len--;
    while (start < len && field_size(text + start, len - start) > limit) {
        const char *newline = memchr(text + start, '\n', len - start);

        start = newline ? (size_t)(newline - text) + 1 : len;
        cut = true;
    }
    if (start < len)
        json_put_textn(object, key, text + start, len - start);
    return !cut;
}

const char *field_time_text(int64_t realtime_ns, char room[static FIELD_TIME_MAX])
{
    int64_t rest = realtime_ns % SECOND_NS;
    struct calendar it;

    rest += rest < 0 ? SECOND_NS : 0;
    it = calendar_of((realtime_ns - rest) / SECOND_NS);
    snprintf(room, FIELD_TIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", (int)it.year, it.month,
             it.day, it.hour, it.minute, it.second, (int)rest);
    return room;
}

/* A number of exactly so many digits; -1 if they are not there. */
static int digits(const char *text, int count)
{
    int number = 0;

    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

bool field_time_read(const char *text, int64_t *ret_ns)
{
    static const char form[] = "0000-00-00T00:00:00";
    int64_t unit = SECOND_NS / 10, ns = 0;
    struct calendar it;
    size_t i = 0;

    for (; form[i]; i++) {
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    }
    it = (struct calendar){digits(text, 4),      digits(text + 5, 2),  digits(text + 8, 2),
                           digits(text + 11, 2), digits(text + 14, 2), digits(text + 17, 2)};
    if (it.year < 1970 || it.year > 2200 || it.month < 1 || it.month > 12 || it.day > 31)
        return false;
    for (i += text[i] == '.'; text[i] >= '0' && text[i] <= '9'; i++, unit /= 10)
        ns += (text[i] - '0') * unit;
    if (strcmp(text + i, "Z") != 0)
        return false;
    *ret_ns = calendar_seconds(&it) * SECOND_NS + ns;
    return true;
}

void field_time(struct json *object, const char *key, int64_t realtime_ns)
{
    char room[FIELD_TIME_MAX];

    json_put_text(object, key, field_time_text(realtime_ns, room));
}
