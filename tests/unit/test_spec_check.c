#include "model/spec_check.h"
#include "tap.h"

/* A schema of every kind of value, small enough to be seen at once. */
struct sample_item {
    char *name, *text;
};
struct sample_part {
    char *count;
    struct sample_item *items;
    unsigned items_count;
    char **words;
    unsigned words_count;
};
struct sample {
    char *title;
    struct sample_part part;
};

#define OPTIONAL (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)

static const cyaml_schema_value_t word_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED)};
static const cyaml_schema_field_t item_fields[] = {
    CYAML_FIELD_STRING_PTR("name", OPTIONAL, struct sample_item, name, 1, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("text", OPTIONAL, struct sample_item, text, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t item_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct sample_item, item_fields)};
static const cyaml_schema_field_t part_fields[] = {
    CYAML_FIELD_STRING_PTR("count", OPTIONAL, struct sample_part, count, 1, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE("items", OPTIONAL, struct sample_part, items, &item_schema, 0, 3),
    CYAML_FIELD_SEQUENCE("words", OPTIONAL, struct sample_part, words, &word_schema, 0, 3),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t sample_fields[] = {
    CYAML_FIELD_STRING_PTR("title", OPTIONAL, struct sample, title, 1, CYAML_UNLIMITED),
    CYAML_FIELD_MAPPING("part", CYAML_FLAG_OPTIONAL, struct sample, part, part_fields),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct sample, sample_fields)};

static void accepts(const char *text)
{
    struct spec_source source = {text, strlen(text), "s"};
    struct err err = ERR_INIT;

    tap_eq_int(spec_check(&source, &schema, &err), 0);
    tap_eq_str(err.message, "");
}

static void refuses_bytes(const char *bytes, size_t len, const char *message)
{
    struct spec_source source = {bytes, len, "s"};
    struct err err = ERR_INIT;

    tap_eq_int(spec_check(&source, &schema, &err), -1);
    tap_eq_int(err.kind, ERR_SPEC);
    tap_eq_str(err.message, message);
}

static void refuses(const char *text, const char *message)
{
    refuses_bytes(text, strlen(text), message);
}

TEST(accepts_what_fits)
{
    accepts("title: x\npart:\n  count: 3\n  items:\n  - name: a\n    text: b\n  - {name: c}\n"
            "  words: [x, 1, true]\n");
    accepts("{\"title\": \"x\", \"part\": {\"count\": 3, \"items\": [{\"name\": \"a\"}]}}");
    accepts("{}");
    accepts("part: {}");
    accepts("part: {items: [], words: []}");
    accepts("# comment\n---\ntitle: |\n  two\n  lines\n...\n");
    accepts("%YAML 1.1\n---\ntitle: x\n");
    accepts("title: &anchor x\n");
    accepts("\xef\xbb\xbftitle: x\n");
    accepts("title: \"null\"\n");
    accepts("title: gr\xc3\xbc\xc3\x9f\n");
}

TEST(refuses_unknown_keys_with_the_nearest)
{
    refuses("titel: x", "s:1:1: unknown key \"titel\"; did you mean title?");
    refuses("part:\n  word: [x]", "s:2:3: part: unknown key \"word\"; did you mean words?");
    refuses("part: {items: [{name: a}, {nmae: b}]}",
            "s:1:28: part.items[1]: unknown key \"nmae\"; did you mean name?");
    refuses("qwertyuiop: x", "s:1:1: unknown key \"qwertyuiop\"");
    refuses("\"title\\0x\": 1", "s:1:1: unknown key \"title\"; did you mean title?");
    refuses("\xc3\xbc: x", "s:1:1: unknown key \"\xc3\xbc\"");
}

TEST(columns_count_characters)
{
    refuses("{title: \xc3\xbc\xc3\xbc, nix: 1}", "s:1:13: unknown key \"nix\"");
}

TEST(refuses_the_wrong_kind_of_value)
{
    refuses("title: [x]", "s:1:8: title: must be one value, not a list");
    refuses("title: {a: b}", "s:1:8: title: must be one value, not a mapping");
    refuses("part: x", "s:1:7: part: must be a mapping (KEY: VALUE), not one value");
    refuses("part: [x]", "s:1:7: part: must be a mapping (KEY: VALUE), not a list");
    refuses("part: {words: x}", "s:1:15: part.words: must be a list, not one value");
    refuses("part: {words: {a: b}}", "s:1:15: part.words: must be a list, not a mapping");
    refuses("part: {words: [[x]]}", "s:1:16: part.words[0]: must be one value, not a list");
    refuses("part: {items: [x]}",
            "s:1:16: part.items[0]: must be a mapping (KEY: VALUE), not one value");
    refuses("x", "s:1:1: must be a mapping (KEY: VALUE), not one value");
    refuses("- x", "s:1:1: must be a mapping (KEY: VALUE), not a list");
}

TEST(refuses_values_that_say_nothing)
{
    refuses("title:", "s:1:7: title: has no value: leave it out");
    refuses("title: ~", "s:1:8: title: has no value: leave it out");
    refuses("title: null", "s:1:8: title: has no value: leave it out");
    refuses("title: Null", "s:1:8: title: has no value: leave it out");
    refuses("title: NULL\n", "s:1:8: title: has no value: leave it out");
    refuses("title: \"\"", "s:1:8: title: is empty: leave it out");
    refuses("part:\n", "s:1:6: part: has no value: leave it out");
    refuses("part: {words: ~}", "s:1:15: part.words: has no value: leave it out");
    refuses("part: {words: [a, null]}", "s:1:19: part.words[1]: has no value: leave it out, or "
                                        "write \"\" for the empty text");
}

TEST(refuses_empty_documents)
{
    refuses("", "s: the document is empty");
    refuses("# only a comment\n", "s: the document is empty");
    refuses("---\n", "s:2:1: the document is empty");
    refuses("null\n", "s:1:1: the document is empty");
}

TEST(refuses_what_hides_or_repeats)
{
    refuses("title: a\ntitle: b", "s:2:1: key \"title\" is there twice");
    refuses("part: {count: 1, count: 1}", "s:1:18: part: key \"count\" is there twice");
    refuses("title: a\n---\ntitle: b", "s:2:1: a second document begins; one is allowed");
    refuses("title: &t a\npart: {count: *t}", "s:2:15: part.count: aliases (*t) are not supported");
    refuses("*t : a", "s:1:1: aliases (*t) are not supported");
    refuses("title: !!str x", "s:1:8: title: tags (tag:yaml.org,2002:str) are not supported");
    refuses("title: ! x", "s:1:8: title: tags (!) are not supported");
    refuses("part: !x {}", "s:1:7: part: tags (!x) are not supported");
    refuses("part: {words: !x []}", "s:1:15: part.words: tags (!x) are not supported");
    refuses("!!str title: x", "s:1:1: tags (tag:yaml.org,2002:str) are not supported");
    refuses("part: {<<: {count: 1}}", "s:1:8: part: merge keys (<<) are not supported");
    refuses("? [a]\n: b", "s:1:3: a key must be plain text");
    refuses("part: {? {a: b} : c}", "s:1:10: part: a key must be plain text");
    refuses("title: \"a\\0b\"", "s:1:8: title: holds a NUL character");
}

TEST(the_same_key_may_be_in_every_entry_of_a_list)
{
    accepts("part: {items: [{name: a}, {name: a}]}");
}

TEST(refuses_lists_that_are_too_long)
{
    accepts("part: {words: [a, b, c]}");
    refuses("part: {words: [a, b, c, d]}", "s:1:25: part.words[3]: a list of more than 3 entries");
    refuses("part: {items: [{name: a}, {}, {}, {}]}",
            "s:1:35: part.items[3]: a list of more than 3 entries");
}

TEST(refuses_what_is_no_yaml)
{
    refuses("part: {count: 1",
            "s:2:1: no YAML: while parsing a flow mapping, did not find expected ',' or '}'");
    refuses("part:\n\tcount: 1", "s:2:1: no YAML: while scanning for the next token, found "
                                 "character that cannot start any token");
    refuses("title: \"x", "s:1:10: no YAML: while scanning a quoted scalar, found unexpected end "
                          "of stream");
    refuses_bytes("a\0b", 3, "s: no YAML at byte 1: control characters are not allowed");
    refuses_bytes("\xff\xfe"
                  "t\0",
                  4, "s: no YAML at byte 0: invalid leading UTF-8 octet");
    refuses("title: \x01", "s: no YAML at byte 7: control characters are not allowed");
    refuses("title: \xc3", "s: no YAML at byte 7: incomplete UTF-8 octet sequence");
}

TEST(depth_costs_no_time)
{
    static char deep[1 << 20];
    struct spec_source source = {deep, sizeof(deep), "s"};
    struct err err = ERR_INIT;

    memset(deep, '[', sizeof(deep));
    tap_eq_int(spec_check(&source, &schema, &err), -1);
    memcpy(deep, "part: {items: ", 14);
    tap_eq_int(spec_check(&source, &schema, &err), -1);
    tap_eq_str(err.message, "s:1:16: part.items[0]: must be a mapping (KEY: VALUE), not a list");
}

static void finds(const char *path, size_t line, size_t column)
{
    static const char text[] = "title: x\npart:\n  count: 3\n  words:\n  - a\n  - b\n"
                               "  items: [{name: n}, {name: m}]\n";
    struct spec_source source = {text, sizeof(text) - 1, "s"};
    struct spec_mark mark = {0, 0};

    tap_eq_int(spec_check_find(&source, &schema, path, &mark), line > 0);
    tap_eq_uint(mark.line, line);
    tap_eq_uint(mark.column, column);
}

TEST(finds_values_by_path)
{
    finds("title", 1, 8);
    finds("part.count", 3, 10);
    finds("part.words", 5, 3);
    finds("part.words[1]", 6, 5);
    finds("part.items[1].name", 7, 29);
    finds("part.items[1]", 7, 22);
    finds("part.items[2]", 0, 0);
    finds("nothing", 0, 0);
}

TAP_MAIN()
