#include "base/buf.h"
#include "tap.h"

TEST(starts_as_an_empty_text)
{
    char room[4] = "abc";
    char other[4] = "abc";
    struct buf over = BUF_OVER(room);
    struct buf buf;

    tap_eq_str(over.data, "");
    tap_eq_uint(over.capacity, 4);
    buf_init(&buf, other, sizeof(other));
    tap_eq_str(buf.data, "");
    tap_eq_uint(buf.len, 0);
    tap_ok(!buf.truncated);
}

TEST(appends)
{
    char room[32];
    struct buf buf = BUF_OVER(room);

    buf_adds(&buf, "rank ");
    buf_addf(&buf, "%d of %s", 3, "8");
    buf_addc(&buf, '!');
    buf_add(&buf, "\0x", 2);
    tap_eq_uint(buf.len, 14);
    tap_eq_mem(room, "rank 3 of 8!\0x", 15);
    tap_ok(!buf.truncated);
}

TEST(appends_nothing)
{
    char room[4];
    struct buf buf = BUF_OVER(room);

    buf_add(&buf, NULL, 0);
    buf_adds(&buf, "");
    buf_addf(&buf, "%s", "");
    buf_add_plain(&buf, NULL, 0);
    tap_eq_uint(buf.len, 0);
    tap_ok(!buf.truncated);
}

TEST(fills_to_the_last_byte)
{
    char room[4];
    struct buf buf = BUF_OVER(room);

    buf_adds(&buf, "abc");
    tap_eq_str(room, "abc");
    tap_ok(!buf.truncated);
    buf_addc(&buf, 'd');
    tap_eq_str(room, "abc");
    tap_ok(buf.truncated);
    buf_reset(&buf);
    tap_eq_str(room, "");
    tap_ok(!buf.truncated);
    buf_addf(&buf, "%d", 123);
    tap_ok(!buf.truncated);
    tap_eq_str(room, "123");
}

TEST(cuts_what_does_not_fit)
{
    char room[4];
    struct buf buf = BUF_OVER(room);

    buf_adds(&buf, "abcdef");
    tap_eq_str(room, "abc");
    tap_eq_uint(buf.len, 3);
    tap_ok(buf.truncated);
    buf_reset(&buf);
    buf_addc(&buf, 'x');
    buf_addf(&buf, "%d", 12345);
    tap_eq_str(room, "x12");
    tap_eq_uint(buf.len, 3);
    tap_ok(buf.truncated);
}

TEST(one_byte_holds_the_empty_text)
{
    char room[1];
    struct buf buf;

    buf_init(&buf, room, sizeof(room));
    buf_adds(&buf, "x");
    buf_addf(&buf, "x");
    buf_add_plain(&buf, "x", 1);
    tap_eq_str(room, "");
    tap_eq_uint(buf.len, 0);
    tap_ok(buf.truncated);
}

static const char *plain(const char *bytes, size_t len)
{
    static char room[64];
    struct buf buf;

    buf_init(&buf, room, sizeof(room));
    buf_add_plain(&buf, bytes, len);
    return room;
}

#define PLAIN(literal) plain(literal, sizeof(literal) - 1)

TEST(plain_keeps_text)
{
    tap_eq_str(PLAIN("hello, world ~"), "hello, world ~");
    tap_eq_str(PLAIN("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
    tap_eq_str(PLAIN("\xE2\x82\xAC \xF0\x9F\x94\xA5"), "\xE2\x82\xAC \xF0\x9F\x94\xA5");
    tap_eq_str(PLAIN("\xC2\xA0\xEF\xBF\xBF"), "\xC2\xA0\xEF\xBF\xBF");
    tap_eq_str(PLAIN("\xF4\x8F\xBF\xBF"), "\xF4\x8F\xBF\xBF");
}

TEST(plain_drops_controls)
{
    tap_eq_str(PLAIN("a\033[31mb\r\n\tc\0d\x7F"), "a?[31mb???c?d?");
    tap_eq_str(PLAIN("x\xC2\x9B"
                     "2J\xC2\x80\xC2\x9F"),
               "x?2J??");
    for (int c = 0; c < 0x20; c++) {
        char byte = (char)c;

        tap_eq_str(plain(&byte, 1), "?");
    }
}

TEST(plain_drops_what_is_not_utf8)
{
    tap_eq_str(PLAIN("\x80\xBF"), "??");
    tap_eq_str(PLAIN("\xC0\xAF"), "??");            /* overlong '/' */
    tap_eq_str(PLAIN("\xC1\xBF"), "??");            /* overlong DEL */
    tap_eq_str(PLAIN("\xE0\x9F\xBF"), "???");       /* overlong U+07FF */
    tap_eq_str(PLAIN("\xF0\x8F\xBF\xBF"), "????");  /* overlong U+FFFF */
    tap_eq_str(PLAIN("\xED\xA0\x80"), "???");       /* surrogate */
    tap_eq_str(PLAIN("\xED\xBF\xBF"), "???");       /* surrogate */
    tap_eq_str(PLAIN("\xF4\x90\x80\x80"), "????");  /* above U+10FFFF */
    tap_eq_str(PLAIN("\xF5\xFE\xFF"), "???");       /* in no text */
    tap_eq_str(PLAIN("\xE2\x82"), "??");            /* cut */
    tap_eq_str(PLAIN("\xC3(\xE2\x82z"), "?(??z");   /* broken off */
    tap_eq_str(PLAIN("\xC3\xC3\xBC"), "?\xC3\xBC"); /* starts again */
}

TEST(plain_cuts_between_characters)
{
    char room[4];
    struct buf buf = BUF_OVER(room);

    buf_add_plain(&buf, "ab\xC3\xBC", 4);
    tap_eq_str(room, "ab");
    tap_ok(buf.truncated);
    buf_reset(&buf);
    buf_add_plain(&buf, "a\xC3\xBC", 3);
    tap_eq_str(room, "a\xC3\xBC");
    tap_ok(!buf.truncated);
    buf_reset(&buf);
    buf_add_plain(&buf,
                  "a\xE2\x82\xAC"
                  "b",
                  5);
    tap_eq_str(room, "a");
    tap_ok(buf.truncated);
}

/* Every character there is, and its first bytes without the last. */
TEST(utf8_sizes)
{
    for (unsigned int code = 0; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 97) {
        char out[4];
        size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        unsigned int rest = code;

        for (size_t i = size - 1; i > 0; i--, rest >>= 6)
            out[i] = (char)(0x80 | (rest & 0x3F));
        out[0] = (char)(size == 1 ? rest : (0xF00u >> size & 0xFFu) | rest);
        if (buf_utf8_size(out, size) != (surrogate ? 0 : size) ||
            (size > 1 && buf_utf8_size(out, size - 1) != 0)) {
            tap_eq_uint(code, 0);
            return;
        }
    }
    tap_eq_uint(buf_utf8_size("", 0), 0);
    tap_eq_uint(buf_utf8_size("", 1), 1);
}

TAP_MAIN()
