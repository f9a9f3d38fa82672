/*
 * A text buffer over memory that the caller owns: it never allocates, never
 * overflows, is always NUL-terminated, and remembers that something did not
 * fit. Layer: base.
 *
 *     char room[256];
 *     struct buf out = BUF_OVER(room);
 *     buf_addf(&out, "rank %d", rank);
 */
#ifndef RANKINIT_BASE_BUF_H
#define RANKINIT_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t len;      /* bytes in use, without the NUL */
    size_t capacity; /* bytes at data, the NUL's included; at least 1 */
    bool truncated;  /* something was cut because it did not fit */
};

#define BUF_OVER(array)                                                            \
    {                                                                              \
        .data = ((array)[0] = '\0', (array)), .len = 0, .capacity = sizeof(array), \
        .truncated = false                                                         \
    }

/* Starts buf empty over `capacity` bytes at data (capacity >= 1). */
void buf_init(struct buf *buf, char *data, size_t capacity);

/* Empties buf; its memory stays. */
void buf_reset(struct buf *buf);

/* Appends len bytes as they are; what does not fit is cut. */
void buf_add(struct buf *buf, const void *bytes, size_t len);

/* Appends a text. */
void buf_adds(struct buf *buf, const char *text);

/* Appends one character. */
void buf_addc(struct buf *buf, char c);

/* Appends a formatted text. */
void buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Appends len bytes of untrusted text as one harmless line: control characters
 * (ESC, CR, NUL, newline, ...) and bytes that are not UTF-8 become '?'.
 */
void buf_add_plain(struct buf *buf, const char *bytes, size_t len);

/* Size (1 to 4) of the well-formed UTF-8 character at the start of bytes[len]; 0: there is none. */
size_t buf_utf8_size(const char *bytes, size_t len);

#endif
