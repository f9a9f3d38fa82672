#include "base/secret.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define NAME_CHARS               \
    "abcdefghijklmnopqrstuvwxyz" \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
    "0123456789_-.[]"
#define BLANKS    " \t\r\n"
#define WORD_ENDS " \t\r\n;&|)}," /* of a shell's word, or of a member of an object */

bool secret_named(const char *name, size_t len)
{
    static const char *const parts[] = {"TOKEN",      "SECRET",     "PASSWORD", "PASSWD",
                                        "PASSPHRASE", "CREDENTIAL", "KEY"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t size = strlen(parts[i]);

        for (size_t at = 0; at + size <= len; at++) {
            if (strncasecmp(name + at, parts[i], size) == 0)
                return true;
        }
    }
    return false;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Bytes between a name that ends at `end` and its value, 0 if no value follows. */
static size_t separator(const char *text, const char *name, const char *end)
{
    bool quoted = is_quote(*end) && name > text && name[-1] == *end;
    const char *at = end + quoted;

    if (*at == '=')
        return (size_t)(at + 1 - end);
    if (quoted && at[strspn(at, BLANKS)] == ':') {
        at += strspn(at, BLANKS) + 1;
        return (size_t)(at + strspn(at, BLANKS) - end);
    }
    at += strspn(at, BLANKS);
    return !quoted && name[0] == '-' && at > end && *at != '-' ? (size_t)(at - end) : 0;
}

/* Length of a value up to the end of its word; what is quoted belongs to it, blanks and all. */
static size_t value_size(const char *value)
{
    const char *at = value;

    while (*at != '\0' && !strchr(WORD_ENDS, *at)) {
        const char *closing = is_quote(*at) ? strchr(at + 1, *at) : NULL;

        if (is_quote(*at) && !closing && at > value)
            break; /* it closes what was opened in front of the name */
        if (is_quote(*at) && !closing)
            return strlen(value);
        at = closing ? closing + 1 : at + 1 + (*at == '\\' && at[1] != '\0');
    }
    return (size_t)(at - value);
}

static void mask(const char *text, struct buf *out)
{
    for (const char *at = text; *at != '\0';) {
        size_t len = strspn(at, NAME_CHARS), gap;

        if (len == 0) {
            buf_addc(out, *at++);
            continue;
        }
        gap = separator(text, at, at + len);
        gap = gap > 0 && secret_named(at, len) ? gap : 0;
        buf_add(out, at, len + gap);
        if (gap > 0 && at[len + gap] != '\0') {
            bool whole = at == text && gap == 1 && at[len] == '=';

            at += whole ? strlen(at) - len - gap : value_size(at + len + gap);
            buf_adds(out, SECRET_MASK);
        }
        at += len + gap;
    }
}

/* Room for text when every name in it hides a value: a name, its separator and three stars. */
static size_t room_for(const char *text)
{
    return (strlen(text) + 1) * (1 + sizeof(SECRET_MASK));
}

const char *secret_mask(const char *text, struct strvec *shown)
{
    CLEANUP_FREE char *room = malloc(room_for(text));
    struct buf out;

    if (!room)
        return strvec_push(shown, SECRET_MASK);
    buf_init(&out, room, room_for(text));
    mask(text, &out);
    return strvec_push(shown, out.data);
}

void secret_mask_words(const char *const *words, struct strvec *shown)
{
    bool hidden = false;

    for (size_t i = 0; words[i]; i++) {
        const char *word = words[i];

        if (hidden && word[0] != '-')
            strvec_push(shown, SECRET_MASK);
        else
            secret_mask(word, shown);
        hidden = word[0] == '-' && !strpbrk(word, "=" BLANKS) && secret_named(word, strlen(word));
    }
}
