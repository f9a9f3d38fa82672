#include "base/scan.h"

#include <limits.h>
#include <string.h>

/* Takes decimal digits off *text; false, with nothing taken, unless they are a number below 2^64. */
static bool take_number(const char **text, uint64_t *ret)
{
    const char *at = *text;
    uint64_t value = 0;

    if (at[0] == '0' && at[1] >= '0' && at[1] <= '9')
        return false; /* is 010 eight or ten? */
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    if (at == *text)
        return false;
    *text = at;
    *ret = value;
    return true;
}

bool scan_u64(const char *text, uint64_t *ret)
{
    uint64_t value;

    if (!take_number(&text, &value) || *text != '\0')
        return false;
    *ret = value;
    return true;
}

bool scan_int(const char *text, long min, long max, long *ret)
{
    bool negative = text[0] == '-';
    uint64_t size;
    long value;

    if (!scan_u64(text + negative, &size) || (negative && size == 0))
        return false;
    if (size > (uint64_t)LONG_MAX + negative)
        return false;
    value = negative ? -(long)(size - 1) - 1 : (long)size; /* LONG_MIN has no positive twin */
    if (value < min || value > max)
        return false;
    *ret = value;
    return true;
}

struct unit {
    const char *name;
    uint64_t scale;
};

/* Largest first. */
static const struct unit duration_units[] = {
    {"h", 3600000000000u},
    {"m", 60000000000u},
    {"s", 1000000000u},
    {"ms", 1000000u},
};

#define DURATION_UNITS (sizeof(duration_units) / sizeof(duration_units[0]))
#define BARE_SCALE     1000000000u

/* Takes a unit's letters off *text; returns its index, or DURATION_UNITS if there is none. */
static size_t take_duration_unit(const char **text)
{
    size_t len = strcspn(*text, "0123456789");

    for (size_t i = 0; i < DURATION_UNITS; i++) {
        if (strlen(duration_units[i].name) == len &&
            memcmp(*text, duration_units[i].name, len) == 0) {
            *text += len;
            return i;
        }
    }
    return DURATION_UNITS;
}

/* Adds number * scale to *total; false if nanoseconds cannot hold it. */
static bool add_scaled(uint64_t *total, uint64_t number, uint64_t scale)
{
    return !__builtin_mul_overflow(number, scale, &number) &&
           !__builtin_add_overflow(*total, number, total) && *total <= INT64_MAX;
}

bool scan_duration(const char *text, int64_t *ret_ns)
{
    const char *at = text;
    uint64_t total = 0;
    uint64_t number;

    if (scan_u64(text, &number)) {
        if (!add_scaled(&total, number, BARE_SCALE))
            return false;
        *ret_ns = (int64_t)total;
        return true;
    }
    for (size_t next = 0; *at != '\0'; next++) {
        size_t unit;

        if (!take_number(&at, &number))
            return false;
        unit = take_duration_unit(&at);
        if (unit < next || unit == DURATION_UNITS)
            return false;
        if (!add_scaled(&total, number, duration_units[unit].scale))
            return false;
        next = unit;
    }
    if (at == text)
        return false;
    *ret_ns = (int64_t)total;
    return true;
}

bool scan_size(const char *text, uint64_t *ret)
{
    static const struct unit units[] = {
        {"", 1},
        {"k", 1000u},
        {"M", 1000000u},
        {"G", 1000000000u},
        {"T", 1000000000000u},
        {"Ki", 1ull << 10},
        {"Mi", 1ull << 20},
        {"Gi", 1ull << 30},
        {"Ti", 1ull << 40},
    };
    uint64_t value;

    if (!take_number(&text, &value))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text, units[i].name) != 0)
            continue;
        if (__builtin_mul_overflow(value, units[i].scale, &value))
            return false;
        *ret = value;
        return true;
    }
    return false;
}

bool scan_bool(const char *text, bool *ret)
{
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

    if (!yes && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
        return false;
    *ret = yes;
    return true;
}

int scan_word(const char *text, const char *words)
{
    size_t len = strlen(text);

    if (len == 0)
        return -1;
    for (int index = 0;; index++) {
        size_t size = strcspn(words, "|");

        if (size == len && memcmp(words, text, len) == 0)
            return index;
        if (words[size] == '\0')
            return -1;
        words += size + 1;
    }
}

/* Takes "N" or "N-M" with N <= M <= max off *text. */
static bool take_range(const char **text, uint64_t max, uint64_t *ret_first, uint64_t *ret_last)
{
    if (!take_number(text, ret_first))
        return false;
    *ret_last = *ret_first;
    if (**text == '-') {
        (*text)++;
        if (!take_number(text, ret_last))
            return false;
    }
    return *ret_first <= *ret_last && *ret_last <= max;
}

bool scan_list(const char *text, long max, void (*add)(void *context, long number), void *context)
{
    uint64_t number;
    uint64_t last;

    if (max < 0)
        return false;
    for (;; text++) {
        if (!take_range(&text, (uint64_t)max, &number, &last))
            return false;
        for (; number <= last; number++)
            add(context, (long)number);
        if (*text != ',')
            return *text == '\0';
    }
}

bool scan_item(const char **text, char *room, size_t size)
{
    size_t len = *text ? strcspn(*text, ",") : 0;
    size_t kept = len < size ? len : size - 1;

    if (len == 0)
        return false;
    memcpy(room, *text, kept);
    room[kept] = '\0';
    *text += len + ((*text)[len] == ',');
    return true;
}

#define NEAREST_MAX 64 /* longer texts are no slips of a name */

/* What counts as the same letter for a person. */
static char fold(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '_' ? '-' : c;
}

static bool same(char a, char b)
{
    return fold(a) == fold(b);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, change, swap neighbours) from a to b, each NEAREST_MAX bytes at most. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][NEAREST_MAX + 1]; /* row i % 3: from the first i bytes of a */
    size_t len_a = strlen(a);
    size_t len_b = strlen(b);

    for (size_t j = 0; j <= len_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= len_a; i++) {
        const size_t *above = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];

        row[0] = i;
        for (size_t j = 1; j <= len_b; j++) {
            row[j] = least(above[j], row[j - 1]) + 1;
            row[j] = least(row[j], above[j - 1] + !same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[len_a % 3][len_b];
}

/* True if that many edits still leave most of the longer of two words. */
static bool is_slip(size_t edits, size_t len_a, size_t len_b)
{
    size_t longer = len_a > len_b ? len_a : len_b;
    size_t limit = longer / 3 > 2 ? longer / 3 : 2;

    return edits == 0 || (edits <= limit && edits * 2 < longer);
}

const char *scan_nearest(const char *text, const char *const *names, size_t count)
{
    size_t len = strnlen(text, NEAREST_MAX + 1);
    size_t best = SIZE_MAX;
    const char *nearest = NULL;

    if (len == 0 || len > NEAREST_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t len_name = strnlen(names[i], NEAREST_MAX + 1);
        size_t edits;

        if (len_name > NEAREST_MAX)
            continue;
        edits = distance(text, names[i]);
        if (edits < best && is_slip(edits, len, len_name)) {
            best = edits;
            nearest = names[i];
        }
    }
    return nearest;
}
