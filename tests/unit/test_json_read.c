#include <stdlib.h>

#include "base/json.h"
#include "tap.h"

#define ROOM (64 * 1024)

static _Alignas(16) unsigned char memory[ROOM];
static struct json_arena arena;

/* The document as a text, in room that lasts until the next call; "" if it was not written. */
static const char *written(const struct json *root)
{
    static char out[ROOM];

    out[json_write(root, out, sizeof(out) - 1)] = '\0';
    return out;
}

static struct json *begin(void)
{
    json_setup(&arena, memory, sizeof(memory), sizeof(memory));
    json_begin(&arena);
    return json_new_object();
}

static struct json *read_text(const char *text, struct err *err)
{
    begin();
    return json_read(text, strlen(text), err);
}

TEST(reads_a_document)
{
    struct err err = ERR_INIT;
    double number = 0;
    const struct json *root = read_text(
        " {\"message\": {\"message\": \"gr\\u00fcn \\ud83d\\udd25\", \"extraInfo\":\n"
        "{\"timestamp\": \"1700000000\", \"n\": -12, \"f\": 1.5e2}}, \"b\": true} ",
        &err);
    const struct json *message = json_get(root, "message");
    const struct json *info = json_get(message, "extraInfo");

    tap_ok(root != NULL);
    tap_eq_int(err.kind, ERR_NONE);
    tap_eq_str(json_text(json_get(message, "message")), "gr\xC3\xBCn \xF0\x9F\x94\xA5");
    tap_ok(json_number(json_get(info, "timestamp"), &number));
    tap_eq_int(number, 1700000000);
    tap_ok(json_number(json_get(info, "n"), &number));
    tap_eq_int(number, -12);
    tap_ok(json_number(json_get(info, "f"), &number));
    tap_eq_int(number, 150);
    tap_eq_str(written(root),
               "{\"message\":{\"message\":\"gr\\u00FCn \\uD83D\\uDD25\",\"extraInfo\":"
               "{\"timestamp\":\"1700000000\",\"n\":-12,\"f\":150.0}},\"b\":true}");
}

TEST(arrays_can_be_walked)
{
    struct err err = ERR_INIT;
    const struct json *root = read_text("{\"hosts\": [\"a\", 2, []], \"n\": 1}", &err);
    const struct json *hosts = json_get(root, "hosts");

    tap_eq_int(json_count(hosts), 3);
    tap_eq_str(json_text(json_at(hosts, 0)), "a");
    tap_eq_str(json_text(json_at(hosts, 1)), NULL);
    tap_eq_int(json_count(json_at(hosts, 2)), 0);
    tap_ok(!json_at(hosts, 3));
    tap_eq_int(json_count(json_get(root, "n")), 0);
    tap_ok(!json_at(json_get(root, "n"), 0));
    tap_eq_int(json_count(NULL), 0);
    tap_ok(!json_at(NULL, 0));
}

TEST(after_the_end_nothing_is_built)
{
    struct err err = ERR_INIT;

    begin();
    json_end();
    tap_ok(!json_new_object());
    tap_ok(!json_read("{}", 2, &err));
    tap_eq_int(err.kind, ERR_INTERNAL);
}

TEST(absent_and_wrong_types_are_null)
{
    struct err err = ERR_INIT;
    double number = 42;
    const struct json *root = read_text("{\"a\":[1],\"n\":null,\"s\":\"x\",\"i\":1}", &err);

    tap_ok(json_get(NULL, "a") == NULL);
    tap_ok(json_get(root, "missing") == NULL);
    tap_ok(json_get(json_get(root, "a"), "x") == NULL);
    tap_ok(json_get(json_get(root, "s"), "x") == NULL);
    tap_eq_str(json_text(NULL), NULL);
    tap_eq_str(json_text(json_get(root, "i")), NULL);
    tap_eq_str(json_text(json_get(root, "n")), NULL);
    tap_ok(!json_number(NULL, &number));
    tap_ok(!json_number(root, &number));
    tap_ok(!json_number(json_get(root, "n"), &number));
    tap_ok(!json_number(json_get(root, "s"), &number));
    tap_eq_int(number, 42);
}

TEST(numbers_in_strings_are_strict)
{
    static const struct {
        const char *document;
        bool good;
    } rows[] = {
        {"{\"v\":\"12\"}", true},        {"{\"v\":\"-0.5e1\"}", true}, {"{\"v\":\"\"}", false},
        {"{\"v\":\" 1\"}", false},       {"{\"v\":\"1 \"}", false},    {"{\"v\":\"0x10\"}", false},
        {"{\"v\":\"nan\"}", false},      {"{\"v\":\"inf\"}", false},   {"{\"v\":\"1e999\"}", false},
        {"{\"v\":\"1\\u0000\"}", false}, {"{\"v\":\"-\"}", false},     {"{\"v\":\"e\"}", false},
        {"{\"v\":\"1e\"}", false},       {"{\"v\":true}", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;
        double number;
        const struct json *root = read_text(rows[i].document, &err);

        if (!tap_ok(json_number(json_get(root, "v"), &number) == rows[i].good))
            printf("# document %s\n", rows[i].document);
    }
}

TEST(refuses_what_is_no_document)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[1,]",
                                      "{\"a\"}",
                                      "{\"a\":1}x",
                                      "12",
                                      "\"text\"",
                                      "null",
                                      "{'a':1}",
                                      "[NaN]",
                                      "[Infinity]",
                                      "[01]",
                                      "[\"\xFF\"]",
                                      "[\"\xED\xA0\x80\"]",
                                      "[\"\\ud800\"]",
                                      "[\"a\nb\"]",
                                      "[1e999]",
                                      "[99999999999999999999]",
                                      "[\"\\x\"]",
                                      "{\"\\u0000\":1}",
                                      "[\"",
                                      "[\"\\"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = ERR_INIT;

        tap_ok(read_text(bad[i], &err) == NULL);
        if (!tap_eq_int(err.kind, ERR_SPEC))
            printf("# document %s\n", bad[i]);
        tap_has_str(err.message, "line ");
        tap_eq_uint(arena.used > 1024, 0);
        tap_ok(!json_failed(&arena));
    }
}

TEST(complaints_are_one_plain_line)
{
    struct err err = ERR_INIT;

    tap_ok(read_text("{\n\n  \"a\": \033[31m }", &err) == NULL);
    tap_has_str(err.message, "line 3, column ");
    for (const char *p = err.message; *p; p++)
        tap_ok((unsigned char)*p >= 0x20);
}

TEST(a_nul_in_a_text_ends_it)
{
    struct err err = ERR_INIT;
    const struct json *root = read_text("{\"a\":\"x\\u0000y\",\"b\":\"z\"}", &err);

    tap_eq_str(json_text(json_get(root, "a")), "x");
    tap_eq_str(json_text(json_get(root, "b")), "z");
}

static void nest(char *out, size_t depth)
{
    memset(out, '[', depth);
    memset(out + depth, ']', depth);
    out[2 * depth] = '\0';
}

TEST(depth_is_bounded)
{
    static char document[200000];
    struct err err = ERR_INIT;

    nest(document, 64);
    tap_ok(read_text(document, &err) != NULL);
    nest(document, 65);
    tap_ok(read_text(document, &err) == NULL);
    tap_eq_str(err.message, "JSON document nests deeper than 64");
    nest(document, 99999);
    tap_ok(read_text(document, &err) == NULL);
    tap_eq_int(err.kind, ERR_SPEC);
    /* Brackets in a text nest nothing, also behind escaped quotes. */
    snprintf(document, sizeof(document), "[\"\\\"%0100d\\\\\"]", 0);
    memset(strchr(document, '0'), '[', 100);
    err = (struct err)ERR_INIT;
    tap_ok(read_text(document, &err) != NULL);
    tap_eq_str(err.message, "");
}

TEST(size_is_bounded)
{
    size_t size = 1u << 20;
    char *document = malloc(size + 1);
    struct err err = ERR_INIT;

    memset(document, ' ', size + 1);
    document[0] = '[';
    document[size - 1] = ']';
    begin();
    tap_ok(json_read(document, size, &err) != NULL);
    tap_ok(json_read(document, size + 1, &err) == NULL);
    tap_eq_int(err.kind, ERR_SPEC);
    tap_eq_str(err.message, "JSON document of 1048577 bytes: more than 1048576");
    free(document);
}

TEST(a_document_too_large_harms_no_other)
{
    static char document[ROOM];
    struct err err = ERR_INIT;
    struct json *root = begin();
    size_t used;

    json_put_text(root, "k", "v");
    used = arena.used;
    memset(document, '0', sizeof(document));
    for (size_t i = 1; i < sizeof(document); i += 2)
        document[i] = ',';
    document[0] = '[';
    document[sizeof(document) - 1] = ']';
    document[1] = ' ';
    tap_ok(json_read(document, sizeof(document), &err) == NULL);
    tap_eq_int(err.kind, ERR_SPEC);
    tap_has_str(err.message, "more memory");
    tap_ok(!json_failed(&arena));
    tap_eq_uint(arena.used, used);
    json_put_text(root, "w", "x");
    tap_eq_str(written(root), "{\"k\":\"v\",\"w\":\"x\"}");
}

TEST(parts_of_a_document_can_be_passed_on)
{
    struct err err = ERR_INIT;
    struct json *root = read_text("{\"a\":1}", &err);

    json_put_int(root, "b", 2);
    tap_eq_str(written(root), "{\"a\":1,\"b\":2}");
}

/* Bytes at random around a document: nothing but refusal, or something that can be written. */
TEST(survives_damage)
{
    static const char whole[] = "{\"a\":[1,2.5,{\"b\":\"c\\u00e4\\n\"},null,true],\"d\":{}}";
    unsigned int seed = 12345;

    for (int i = 0; i < 20000; i++) {
        char document[sizeof(whole)];
        struct err err = ERR_INIT;
        struct json *root;

        memcpy(document, whole, sizeof(whole));
        for (int hits = 0; hits < 3; hits++) {
            seed = seed * 1103515245u + 12345u;
            document[(seed >> 8) % (sizeof(whole) - 1)] = (char)(seed >> 24);
        }
        begin();
        root = json_read(document, sizeof(whole) - 1, &err);
        if ((root == NULL) != (err.kind == ERR_SPEC) || (root && written(root)[0] == '\0'))
            tap_fail(err.message);
    }
}

/* jansson 2.14 crashes when refused memory in the middle of a token: every size of arena is tried. */
TEST(too_little_memory_is_an_error_at_every_size)
{
    static char text[6000];
    struct err err = ERR_INIT;
    size_t len = (size_t)snprintf(text, sizeof(text), "{\"a\": [1, 2.5, \"");

    memset(text + len, 'x', 4000);
    len += 4000;
    len += (size_t)snprintf(text + len, sizeof(text) - len,
                            "\", \"\\u20ac\"], \"b\": {\"c\": null}}");
    for (size_t size = 64; size < sizeof(memory); size += 16) {
        json_setup(&arena, memory, size, size);
        json_begin(&arena);
        if (json_read(text, len, &err))
            return;
        tap_eq_int(err.kind, ERR_SPEC);
    }
    tap_fail("it never fitted");
}

TAP_MAIN()
