#include "base/json.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define READ_SIZE_MAX  (1u << 20)
#define READ_DEPTH_MAX 64 /* the library would recurse 2048 deep: too much for our stack */
#define ALIGNMENT      16u

/*
 * The arena that the library's allocator takes from. Its hooks get no context,
 * so this one pointer cannot be a parameter; nothing but json_begin sets it.
 */
static struct json_arena *current;

static void *arena_alloc(size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    void *memory;

    if (!current)
        return NULL;
    if (rounded < size || rounded > current->size - current->used) {
        current->failed = true;
        if (current->escape)
            longjmp(*(jmp_buf *)current->escape, 1); /* NOLINT(cert-err52-cpp): see load */
        return NULL;
    }
    memory = current->base + current->used;
    current->used += rounded;
    return memory;
}

/* Everything goes at once, with the next json_begin. */
static void arena_free(void *memory)
{
    (void)memory;
}

void json_setup(struct json_arena *arena, void *memory, size_t size, size_t touched)
{
    size_t skip = (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT;

    memset(memory, 0, touched);
    skip = skip < size ? skip : size;
    arena->base = (unsigned char *)memory + skip;
    arena->size = (size - skip) & ~(size_t)(ALIGNMENT - 1);
    arena->used = 0;
    arena->failed = false;
    arena->escape = NULL;
    json_set_alloc_funcs(arena_alloc, arena_free);
    /*
     * Unseeded, the library would open /dev/urandom. The address is random enough against made-up
     * keys that collide: what we read is bounded, so the worst is a second lost.
     */
    json_object_seed((size_t)((uintptr_t)memory >> 12 ^ 0x9E3779B9u) | 1u);
}

void json_begin(struct json_arena *arena)
{
    arena->used = 0;
    arena->failed = false;
    current = arena;
}

void json_end(void)
{
    current = NULL;
}

bool json_failed(const struct json_arena *arena)
{
    return arena->failed;
}

struct json *json_new_object(void)
{
    return (struct json *)json_object();
}

struct json *json_new_array(void)
{
    return (struct json *)json_array();
}

/* The library takes NULL for the object, the array or the value, and then does nothing. */
void json_put(struct json *object, const char *key, struct json *value)
{
    json_object_set_new_nocheck((json_t *)object, key, (json_t *)value);
}

void json_add(struct json *array, struct json *value)
{
    json_array_append_new((json_t *)array, (json_t *)value);
}

/* Size of the character at bytes if it can stand in a text of ours as it is, else 0. */
static size_t clean_size(const char *bytes, size_t len)
{
    return bytes[0] == '\0' || bytes[0] == '\177' ? 0 : buf_utf8_size(bytes, len);
}

static bool is_clean(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t size = clean_size(bytes + i, len - i);

        if (size == 0)
            return false;
        i += size;
    }
    return true;
}

/*
 * A copy in the arena where NUL and every byte that is not UTF-8 is '?'; NULL if it does not fit.
 * U+FFFD would make each such byte six in the output, and documents have a size limit.
 */
static char *clean_copy(const char *bytes, size_t len)
{
    char *copy = arena_alloc(len);

    for (size_t i = 0; copy && i < len;) {
        size_t size = clean_size(bytes + i, len - i);

        if (size > 0) {
            memcpy(copy + i, bytes + i, size);
            i += size;
        } else {
            copy[i++] = '?';
        }
    }
    return copy;
}

static struct json *new_text(const char *bytes, size_t len)
{
    if (!is_clean(bytes, len))
        bytes = clean_copy(bytes, len);
    return (struct json *)json_stringn_nocheck(bytes, len);
}

void json_put_textn(struct json *object, const char *key, const char *bytes, size_t len)
{
    if (object && bytes)
        json_put(object, key, new_text(bytes, len));
}

void json_put_text(struct json *object, const char *key, const char *text)
{
    if (text)
        json_put_textn(object, key, text, strlen(text));
}

void json_add_text(struct json *array, const char *text)
{
    if (array && text)
        json_add(array, new_text(text, strlen(text)));
}

void json_put_int(struct json *object, const char *key, int64_t value)
{
    if (object)
        json_put(object, key, (struct json *)json_integer(value));
}

void json_put_bool(struct json *object, const char *key, bool value)
{
    json_put(object, key, (struct json *)json_boolean(value));
}

/* n in units of `step`, rounded, halves away from zero. */
static int64_t divide_rounded(int64_t n, int64_t step)
{
    int64_t rest = n % step;

    return n / step + (rest >= step / 2) - (rest <= -step / 2);
}

/* Below 0.0001 the library writes an exponent: such times are told in tenths of milliseconds. */
void json_put_seconds(struct json *object, const char *key, int64_t ns)
{
    int64_t microseconds = divide_rounded(ns, 1000);

    if (microseconds > -100 && microseconds < 100)
        microseconds = divide_rounded(ns, 100000) * 100;
    if (object)
        json_put(object, key, (struct json *)json_real((double)microseconds / 1e6));
}

size_t json_write(const struct json *root, char *out, size_t capacity)
{
    /* 15 digits are what a double keeps of a decimal number: 0.1 stays 0.1. */
    const size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
    size_t used = current ? current->used : 0;
    size_t size;

    if (!root)
        return 0;
    size = json_dumpb((const json_t *)root, out, capacity, flags);
    /* Nothing of what the library needed meanwhile lives on: writing twice costs no more. */
    if (current)
        current->used = used;
    return size <= capacity ? size : 0;
}

/* True if brackets outside strings nest deeper than READ_DEPTH_MAX in the first document. */
static bool is_too_deep(const char *bytes, size_t len)
{
    bool in_string = false, closed = false;
    int depth = 0;

    for (size_t i = 0; i < len && depth <= READ_DEPTH_MAX && !closed; i++) {
        char c = bytes[i];

        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            i += c == '\\';
        else if (c == '[' || c == '{')
            depth++;
        else if (c == ']' || c == '}')
            closed = --depth <= 0;
    }
    return depth > READ_DEPTH_MAX;
}

/* The library's message quotes the document. */
static void fail_syntax(struct err *err, const json_error_t *error)
{
    char room[JSON_ERROR_TEXT_LENGTH];
    struct buf reason = BUF_OVER(room);

    buf_add_plain(&reason, error->text, strlen(error->text));
    err_set(err, ERR_SPEC, "no valid JSON: line %d, column %d: %s", error->line, error->column,
            room);
}

/*
 * The library's reader crashes when it is refused memory in the middle of a token (jansson 2.14):
 * so it never sees a refusal. The allocator jumps back here instead; all that the reader holds is
 * in the arena, and nothing else is left behind.
 */
static json_t *load_or_escape(const char *bytes, size_t len, size_t flags, json_error_t *error)
{
    jmp_buf escape;
    json_t *root = NULL;

    current->escape = &escape;
    if (setjmp(escape) == 0) { /* NOLINT(cert-err52-cpp) */
        /* A \u0000 in somebody's message must not hide the rest of the document. */
        root = json_loadb(bytes, len, JSON_ALLOW_NUL | flags, error);
    }
    current->escape = NULL;
    return current->failed ? NULL : root;
}

/* *ret_used: bytes of the document, where others may follow it; NULL: none may. */
static json_t *load(const char *bytes, size_t len, size_t *ret_used, struct err *err)
{
    struct json_arena before = *current;
    json_error_t error = {.line = 0};
    json_t *root;

    current->failed = false;
    root = load_or_escape(bytes, len, ret_used ? JSON_DISABLE_EOF_CHECK : 0, &error);
    if (root) {
        if (ret_used)
            *ret_used = (size_t)error.position;
        current->failed = before.failed;
        return root;
    }
    if (current->failed)
        err_set(err, ERR_SPEC, "JSON document needs more memory than is set aside for it");
    else
        fail_syntax(err, &error);
    /* The attempt leaves no node: a document being built in this arena is as good as before. */
    *current = before;
    return NULL;
}

static struct json *read_checked(const char *bytes, size_t len, size_t *ret_used, struct err *err)
{
    if (!current) {
        err_set(err, ERR_INTERNAL, "json_read before json_begin");
    } else if (is_too_deep(bytes, len)) {
        err_set(err, ERR_SPEC, "JSON document nests deeper than %d", READ_DEPTH_MAX);
    } else {
        return (struct json *)load(bytes, len, ret_used, err);
    }
    return NULL;
}

struct json *json_read(const char *bytes, size_t len, struct err *err)
{
    if (len <= READ_SIZE_MAX)
        return read_checked(bytes, len, NULL, err);
    err_set(err, ERR_SPEC, "JSON document of %zu bytes: more than %u", len, READ_SIZE_MAX);
    return NULL;
}

struct json *json_read_first(const char *bytes, size_t len, size_t *ret_used, struct err *err)
{
    if (len <= INT_MAX)
        return read_checked(bytes, len, ret_used, err);
    err_set(err, ERR_SPEC, "JSON documents of %zu bytes: more than %d", len, INT_MAX);
    return NULL;
}

const struct json *json_get(const struct json *node, const char *key)
{
    return (const struct json *)json_object_get((const json_t *)node, key);
}

size_t json_count(const struct json *node)
{
    return json_array_size((const json_t *)node);
}

const struct json *json_at(const struct json *node, size_t index)
{
    return (const struct json *)json_array_get((const json_t *)node, index);
}

const char *json_text(const struct json *node)
{
    return json_string_value((const json_t *)node);
}

bool json_is_truth(const struct json *node)
{
    return json_is_true((const json_t *)node);
}

/* A decimal number, and nothing else that strtod takes: no blanks, hex, inf or nan. */
static bool number_of_text(const char *text, size_t len, double *ret)
{
    char *end;
    double value;

    if (len == 0 || strspn(text, "0123456789+-.eE") != len)
        return false;
    value = strtod(text, &end);
    if (*end != '\0' || !isfinite(value))
        return false;
    *ret = value;
    return true;
}

bool json_number(const struct json *node, double *ret)
{
    const json_t *value = (const json_t *)node;

    if (json_is_string(value))
        return number_of_text(json_string_value(value), json_string_length(value), ret);
    if (!json_is_number(value))
        return false;
    *ret = json_number_value(value);
    return true;
}
