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

TEST(keeps_the_order_of_keys)
{
    struct json *root = begin();
    struct json *list = json_new_array();

    json_put_text(root, "schema", "rankinit.summary.v1");
    json_put_int(root, "zeta", -1);
    json_put_bool(root, "alpha", true);
    json_put_bool(root, "mid", false);
    json_add_text(list, "a");
    json_add(list, json_new_object());
    json_add(list, json_new_array());
    json_put(root, "list", list);
    tap_eq_str(written(root), "{\"schema\":\"rankinit.summary.v1\",\"zeta\":-1,\"alpha\":true,"
                              "\"mid\":false,\"list\":[\"a\",{},[]]}");
    tap_ok(!json_failed(&arena));
}

TEST(many_keys_keep_their_order)
{
    struct json *root = begin();
    char want[ROOM] = "{";
    size_t len = 1;

    for (int i = 0; i < 100; i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%d", i * 7919 % 1000);
        json_put_int(root, key, i);
        len += (size_t)sprintf(want + len, "%s\"%s\":%d", i ? "," : "", key, i);
    }
    want[len] = '}';
    tap_eq_str(written(root), want);
}

TEST(integers)
{
    struct json *root = begin();

    json_put_int(root, "min", INT64_MIN);
    json_put_int(root, "max", INT64_MAX);
    tap_eq_str(written(root), "{\"min\":-9223372036854775808,\"max\":9223372036854775807}");
}

TEST(seconds)
{
    static const struct {
        int64_t ns;
        const char *want;
    } rows[] = {
        {0, "{\"s\":0.0}"},
        {1234000000, "{\"s\":1.234}"},
        {1000000000, "{\"s\":1.0}"},
        {100000000, "{\"s\":0.1}"},
        {300000000, "{\"s\":0.3}"},
        {12345000, "{\"s\":0.012345}"},
        {12345499, "{\"s\":0.012345}"},
        {12345500, "{\"s\":0.012346}"},
        {1000000, "{\"s\":0.001}"},
        {100000, "{\"s\":0.0001}"},
        {99999, "{\"s\":0.0001}"},
        {123456, "{\"s\":0.000123}"},
        {50000, "{\"s\":0.0001}"},
        {49999, "{\"s\":0.0}"},
        {1, "{\"s\":0.0}"},
        {-1, "{\"s\":0.0}"},
        {-50000, "{\"s\":-0.0001}"},
        {-1500000000, "{\"s\":-1.5}"},
        {86400123000000, "{\"s\":86400.123}"},
        {86400123456789, "{\"s\":86400.123457}"},
        {31536000000001000, "{\"s\":31536000.000001}"},
        {INT64_MAX, "{\"s\":9223372036.85478}"},
        {INT64_MIN, "{\"s\":-9223372036.85478}"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json *root = begin();

        json_put_seconds(root, "s", rows[i].ns);
        tap_eq_str(written(root), rows[i].want);
    }
}

TEST(no_exponents)
{
    for (int64_t ns = 1; ns > 0 && ns < INT64_MAX / 3; ns = ns * 3 + 1) {
        struct json *root = begin();

        json_put_seconds(root, "", ns);
        tap_ok(!strpbrk(written(root), "eE"));
    }
}

static const char *text_of(const char *bytes, size_t len)
{
    struct json *root = begin();

    json_put_textn(root, "t", bytes, len);
    return written(root);
}

#define TEXT_OF(literal) text_of(literal, sizeof(literal) - 1)

TEST(texts_are_ascii)
{
    tap_eq_str(TEXT_OF(""), "{\"t\":\"\"}");
    tap_eq_str(TEXT_OF("a\"b\\c/d"), "{\"t\":\"a\\\"b\\\\c/d\"}");
    tap_eq_str(TEXT_OF("\b\f\n\r\t\033\x7F"), "{\"t\":\"\\b\\f\\n\\r\\t\\u001B?\"}");
    tap_eq_str(TEXT_OF("\xC3\xBC\xE2\x82\xAC"), "{\"t\":\"\\u00FC\\u20AC\"}");
    tap_eq_str(TEXT_OF("\xF0\x9F\x94\xA5"), "{\"t\":\"\\uD83D\\uDD25\"}");
}

TEST(bad_bytes_are_replaced)
{
    tap_eq_str(TEXT_OF("a\0b"), "{\"t\":\"a?b\"}");
    tap_eq_str(TEXT_OF("\xFF\xC3\xBC\x80"), "{\"t\":\"?\\u00FC?\"}");
    tap_eq_str(TEXT_OF("\xC0\xAF"), "{\"t\":\"??\"}");
    tap_eq_str(TEXT_OF("\xED\xA0\x80"), "{\"t\":\"???\"}");
    tap_eq_str(TEXT_OF("\xF4\x90\x80\x80"), "{\"t\":\"????\"}");
    tap_eq_str(TEXT_OF("cut \xE2\x82"), "{\"t\":\"cut ??\"}");
    for (int c = 0; c < 256; c++) {
        char bytes[2] = {(char)c, 'x'};

        for (const char *p = text_of(bytes, 2); *p; p++)
            tap_ok((unsigned char)*p < 0x80);
    }
}

TEST(null_is_nothing)
{
    struct json *root = begin();

    json_put_text(root, "a", NULL);
    json_put_textn(root, "b", NULL, 3);
    json_put(root, "c", NULL);
    json_add_text(root, NULL);
    json_put(NULL, "d", json_new_object());
    json_put_text(NULL, "e", "x");
    json_put_int(NULL, "f", 1);
    json_put_bool(NULL, "g", true);
    json_put_seconds(NULL, "h", 1);
    json_add(NULL, json_new_object());
    json_add_text(NULL, "x");
    tap_eq_str(written(root), "{}");
    tap_eq_str(written(NULL), "");
    tap_ok(!json_failed(&arena));
}

TEST(writes_only_what_fits)
{
    struct json *root = begin();
    char out[32];

    json_put_text(root, "key", "value"); /* 15 bytes */
    memset(out, '#', sizeof(out));
    tap_eq_uint(json_write(root, out, 15), 15);
    tap_eq_mem(out, "{\"key\":\"value\"}#", 16);
    memset(out, '#', sizeof(out));
    tap_eq_uint(json_write(root, out, 14), 0);
    tap_eq_int(out[14], '#');
    tap_eq_uint(json_write(root, out, 0), 0);
    tap_ok(!json_failed(&arena));
}

TEST(writing_again_costs_no_memory)
{
    struct json *root = begin();
    size_t used;

    json_put(root, "a", json_new_array());
    used = arena.used;
    for (int i = 0; i < 10000; i++)
        written(root);
    tap_eq_uint(arena.used, used);
    tap_eq_str(written(root), "{\"a\":[]}");
    tap_ok(!json_failed(&arena));
}

/* A document that needs all kinds of nodes. */
static size_t build(char *out, size_t capacity)
{
    struct json *root = json_new_object();
    struct json *list = json_new_array();

    json_put(root, "list", list);
    for (int i = 0; i < 20; i++) {
        struct json *row = json_new_object();

        json_put_int(row, "n", i);
        json_put_textn(row, "bad", "\xFF text", 6);
        json_put_seconds(row, "s", 1500000);
        json_add(list, row);
        json_add_text(list, "text");
    }
    return json_write(root, out, capacity);
}

TEST(a_full_arena_is_told)
{
    static char whole[ROOM];
    static char out[ROOM];
    size_t size;
    size_t need;

    json_setup(&arena, memory, sizeof(memory), sizeof(memory));
    json_begin(&arena);
    size = build(whole, sizeof(whole));
    tap_ok(size > 0 && !json_failed(&arena));
    /* With any memory at all either the whole document is written, or the failure is told. */
    for (need = 0; need <= ROOM; need += 16) {
        json_setup(&arena, memory, need, need);
        json_begin(&arena);
        if (build(out, sizeof(out)) == size && !json_failed(&arena))
            break;
        if (!tap_ok(json_failed(&arena)))
            return;
    }
    tap_ok(need > 1024 && need < ROOM);
    tap_eq_mem(out, whole, size);
}

TEST(begin_forgets_and_mends)
{
    struct json *root;

    json_setup(&arena, memory, 4096, 4096);
    json_begin(&arena);
    root = json_new_object();
    for (int i = 0; i < 100; i++) {
        char key[16];

        snprintf(key, sizeof(key), "%d", i);
        json_put_text(root, key, "a text of some length");
    }
    tap_ok(json_failed(&arena));
    for (int i = 0; i < 1000; i++) {
        json_begin(&arena);
        root = json_new_object();
        json_put_text(root, "k", "v");
        tap_eq_str(written(root), "{\"k\":\"v\"}");
        if (!tap_ok(!json_failed(&arena)))
            return;
    }
}

TEST(memory_stays_within_bounds_and_aligned)
{
    static unsigned char room[4096 + 64];
    size_t changed = 0;

    memset(room, 0xA5, sizeof(room));
    json_setup(&arena, room + 33, 4000, 4000);
    tap_eq_uint((uintptr_t)arena.base % 16, 0);
    json_begin(&arena);
    for (int i = 0; i < 1000; i++)
        json_new_object();
    tap_ok(json_failed(&arena));
    tap_ok(arena.used <= arena.size);
    for (size_t i = 0; i < 33; i++)
        changed += room[i] != 0xA5;
    for (size_t i = 33 + 4000; i < sizeof(room); i++)
        changed += room[i] != 0xA5;
    tap_eq_uint(changed, 0);
    json_setup(&arena, room + 1, 3, 3);
    json_begin(&arena);
    tap_ok(json_new_object() == NULL);
    tap_ok(json_failed(&arena));
}

TAP_MAIN()
