#include "base/digest.h"

#include <stdbool.h>
#include <string.h>

#define STEP 1099511628211ULL

static uint64_t add_byte(uint64_t key, unsigned char byte)
{
    return (key ^ byte) * STEP;
}

uint64_t digest_bytes(uint64_t key, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        key = add_byte(key, (unsigned char)bytes[i]);
    return key;
}

uint64_t digest_number(uint64_t key, int64_t number)
{
    for (uint64_t left = (uint64_t)number; left; left >>= 8)
        key = add_byte(key, (unsigned char)left);
    return add_byte(key, 0);
}

uint64_t digest_text(uint64_t key, const char *text)
{
    return digest_bytes(key, text, strlen(text) + 1);
}

static bool is_digit(char c, bool hex)
{
    return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

uint64_t digest_wording(uint64_t key, const char *bytes, size_t len)
{
    size_t i = 0;

    while (i < len) {
        bool hex = bytes[i] == '0' && i + 1 < len && (bytes[i + 1] | 0x20) == 'x';

        if (!is_digit(bytes[i], false)) {
            key = add_byte(key, (unsigned char)bytes[i++]);
            continue;
        }
        key = add_byte(key, '0');
        i += hex ? 2 : 1;
        while (i < len && is_digit(bytes[i], hex))
            i++;
    }
    return add_byte(key, 0);
}
