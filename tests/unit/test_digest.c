/* Numbers for texts. */
#include "base/digest.h"

#include "tap.h"

static uint64_t wording(const char *text)
{
    return digest_wording(DIGEST_START, text, strlen(text));
}

TEST(equal_texts_and_others)
{
    tap_ok(digest_text(DIGEST_START, "ValueError") == digest_text(DIGEST_START, "ValueError"));
    tap_ok(digest_text(DIGEST_START, "ValueError") != digest_text(DIGEST_START, "KeyError"));
    /* Where a text ends counts. */
    tap_ok(digest_text(digest_text(DIGEST_START, "ab"), "c") !=
           digest_text(digest_text(DIGEST_START, "a"), "bc"));
    tap_ok(digest_number(DIGEST_START, 256) != digest_number(DIGEST_START, 1));
    tap_ok(digest_number(DIGEST_START, -1) != digest_number(DIGEST_START, 1));
    tap_ok(digest_number(DIGEST_START, 0) != DIGEST_START);
}

TEST(wording_is_blind_to_numbers)
{
    tap_ok(wording("batch 7 at 0x7f01") == wording("batch 1234 at 0XaBc"));
    tap_ok(wording("batch 7") != wording("batch x"));
    tap_ok(wording("batch 7") != wording("batch "));
    tap_ok(wording("7 7") != wording("7"));
    tap_ok(wording("0x") == wording("0x1"));
    tap_ok(wording("") != wording("0"));
    tap_ok(digest_wording(DIGEST_START, "12", 1) == wording("9"));
}

TAP_MAIN()
