#include "model/span.h"

#include <string.h>

bool span_starts(struct span line, const char *prefix)
{
    size_t len = strlen(prefix);

    return line.len >= len && memcmp(line.text, prefix, len) == 0;
}

bool span_has(struct span line, const char *part)
{
    return memmem(line.text, line.len, part, strlen(part)) != NULL;
}

struct span span_after(struct span line, size_t count)
{
    return (struct span){line.text + count, line.len - count};
}

struct span span_without_prefix(struct span line)
{
    size_t letters = 1, end;

    if (line.len == 0 || line.text[0] != '[')
        return line;
    while (letters < line.len && line.text[letters] >= 'a' && line.text[letters] <= 'z')
        letters++;
    end = letters;
    while (end < line.len && line.text[end] >= '0' && line.text[end] <= '9')
        end++;
    if (letters == 1 || end == letters || !span_starts(span_after(line, end), "]:"))
        return line;
    line = span_after(line, end + 2);
    return span_starts(line, " ") ? span_after(line, 1) : line;
}

struct span span_without_colours(struct span line, char *room)
{
    size_t used = 0;

    if (line.len == 0 || !memchr(line.text, '\033', line.len))
        return line;
    for (size_t i = 0; i < line.len; i++) {
        if (line.text[i] != '\033') {
            room[used++] = line.text[i];
        } else if (i + 1 < line.len && line.text[i + 1] == '[') {
            i += 2;
            while (i < line.len && (line.text[i] < '@' || line.text[i] > '~'))
                i++;
        }
    }
    return (struct span){room, used};
}
