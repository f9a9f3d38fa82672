/* Documents cut at any byte. */
#include "report/salvage.h"

#include <stdlib.h>

#include "base/json.h"
#include "dice.h"
#include "tap.h"

static unsigned char memory[1 << 20];
static struct json_arena arena;

static const struct json *parse(const char *text, size_t len)
{
    struct err err = ERR_INIT;

    json_setup(&arena, memory, sizeof(memory), sizeof(memory));
    json_begin(&arena);
    return json_read(text, len, &err);
}

static const char *saved(const char *text)
{
    static char out[512];

    out[salvage_cut(text, strlen(text), out)] = '\0';
    return out;
}

TEST(what_is_whole_stays)
{
    tap_eq_str(saved("{\"a\":1,\"b\":{\"c\":[1,2"), "{\"a\":1,\"b\":{\"c\":[1]}}");
    tap_eq_str(saved("{\"a\":\"x\",\"b\":\"half of a te"), "{\"a\":\"x\"}");
    tap_eq_str(saved("{\"a\":\"{[,\\\"\",\"b\":tr"), "{\"a\":\"{[,\\\"\"}");
    tap_eq_str(saved("{\"a\":1"), "{}");
    tap_eq_str(saved("{"), "{}");
    tap_eq_str(saved("[{\"a\":[]},"), "[{\"a\":[]}]");
    tap_eq_str(saved("{\"a\":1}{\"b\":2}"), "{\"a\":1}");
    tap_eq_str(saved(""), "");
    tap_eq_str(saved("\"text"), "");
    tap_eq_str(saved("}"), "");
    tap_eq_str(saved("{\"a\":[1,2}"), "{\"a\":[1]}");
}

TEST(every_cut_of_a_document_is_a_document)
{
    static const char whole[] =
        "{\"schema\":\"x\",\"n\":-1.5e3,\"t\":\"a\\\\\\\"b\\u00e9,{\",\"list\":[{\"a\":[true,null]},[],{}],"
        "\"o\":{\"p\":{\"q\":\"r\"}}}";
    char out[sizeof(whole) + SALVAGE_EXTRA];

    for (size_t len = 1; len < sizeof(whole); len++) {
        size_t size = salvage_cut(whole, len, out);

        tap_ok(size > 0 && parse(out, size) != NULL);
        if (len > 14)
            tap_eq_str(json_text(json_get(parse(out, size), "schema")), "x");
    }
}

TEST(no_bytes_do_harm)
{
    static const char pieces[] = "{}[],:\"\\ax0";

    dice_start(3);
    for (int round = 0; round < 3000; round++) {
        size_t len = (size_t)dice(200);
        char *text = malloc(len + 1), *out = malloc(len + SALVAGE_EXTRA);

        for (size_t i = 0; text && i < len; i++)
            text[i] = dice(20) ? pieces[dice((int)sizeof(pieces) - 1)] : (char)dice(256);
        if (text && out)
            tap_ok(salvage_cut(text, len, out) <= len + SALVAGE_EXTRA);
        free(text);
        free(out);
    }
}

TEST(too_deep_is_cut_there)
{
    char text[200], out[sizeof(text) + SALVAGE_EXTRA];

    memset(text, '[', sizeof(text));
    tap_eq_uint(salvage_cut(text, sizeof(text), out), 2 * SALVAGE_DEPTH_MAX);
}

TAP_MAIN()
