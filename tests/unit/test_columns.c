#include "report/columns.h"
#include "tap.h"

TEST(counts_characters_not_bytes)
{
    tap_eq_uint(columns_bytes("abc", 3, 2), 2);
    tap_eq_uint(columns_bytes("abc", 3, 9), 3);
    tap_eq_uint(columns_bytes("\xc3\xa4\xc3\xb6x", 5, 2), 4);
    tap_eq_uint(columns_bytes("\xff\xffx", 3, 2), 2);
    tap_eq_uint(columns_bytes("", 0, 5), 0);
}

TEST(breaks_paragraphs_at_blanks)
{
    char room[512], text[200];
    struct buf out = BUF_OVER(room);

    memset(text, 'x', sizeof(text));
    text[70] = ' ';
    columns_paragraph("first: ", text, 100, &out);
    tap_eq_uint(strcspn(room, "\n"), 7 + 70);
    tap_eq_mem(room + 7 + 70, "\n       x", 9);
    buf_reset(&out);
    columns_paragraph("", text + 71, 120, &out);
    tap_eq_uint(strcspn(room, "\n"), 80);
    buf_reset(&out);
    columns_paragraph("> ", "\x1b[31m", 5, &out);
    tap_eq_str(room, "> ?[31m\n");
    buf_reset(&out);
    columns_paragraph("> ", "", 0, &out);
    tap_eq_str(room, "");
}

TEST(fields_have_their_width)
{
    char room[128];
    struct buf out = BUF_OVER(room);

    columns_field("ab", 4, &out);
    buf_addc(&out, '|');
    columns_field("abcd", 4, &out);
    buf_addc(&out, '|');
    columns_field("abcde", 4, &out);
    buf_addc(&out, '|');
    columns_field("abcde", 3, &out);
    buf_addc(&out, '|');
    columns_field("\xc3\xa4\n", 4, &out);
    buf_addc(&out, '|');
    columns_field("", 2, &out);
    tap_eq_str(room, "ab  |abcd|a...|abc|\xc3\xa4?  |  ");
}

TAP_MAIN()
