#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/explain_parts.h"
#include "report/salvage.h"

#define ARENA_BASE   (4u << 20)
#define ARENA_FACTOR 24 /* bytes of nodes for each byte read */

static const char marker[] = "{\"schema\":\"" SAVED_SCHEMA "\"";

/* What is being read. */
struct taking {
    struct explain *explain;
    char *room;        /* for what is salvaged; as long as the input and SALVAGE_EXTRA */
    struct node *node; /* whose message it is; NULL: documents stand for themselves */
    bool found;
};

struct explain *explain_new(void)
{
    return calloc(1, sizeof(struct explain));
}

void explain_free(struct explain *explain)
{
    if (!explain)
        return;
    free(explain->nodes);
    free(explain);
}

bool explain_knows(const struct explain *explain)
{
    return explain->count > 0;
}

/* A new, empty node; NULL if there is no room for it. */
static struct node *add_node(struct explain *explain)
{
    int capacity = explain->capacity > 0 ? explain->capacity * 2 : 16;
    struct node *more;

    if (explain->count == explain->capacity && explain->count < EXPLAIN_NODES_MAX) {
        more = reallocarray(explain->nodes, (size_t)capacity, sizeof(*more));
        if (more) {
            explain->nodes = more;
            explain->capacity = capacity;
        }
    }
    if (explain->count == explain->capacity || explain->count == EXPLAIN_NODES_MAX) {
        explain->left_out++;
        return NULL;
    }
    more = &explain->nodes[explain->count++];
    memset(more, 0, sizeof(*more));
    more->pod.index = SAVED_UNKNOWN;
    return more;
}

static void take_document(struct taking *taking, const struct json *document, bool whole)
{
    struct node *node = taking->node;
    struct saved saved;

    taking->found = true;
    if (!saved_read(document, whole, &saved)) {
        taking->explain->other_versions++;
        return;
    }
    if (!node)
        node = add_node(taking->explain);
    if (!node)
        return;
    node->documented = true;
    node->saved = saved;
}

static void take_text(struct taking *taking, const char *text, size_t len);

static void take_pod(struct taking *taking, const struct json *object)
{
    struct node *node = add_node(taking->explain);
    const char *message;
    struct buf head;

    taking->found = true;
    if (!node)
        return;
    pods_read(object, &node->pod, &message);
    if (!message || !message[0])
        return;
    taking->node = node;
    take_text(taking, message, strlen(message));
    taking->node = NULL;
    buf_init(&head, node->foreign, sizeof(node->foreign));
    if (!node->documented)
        buf_add_plain(&head, message, strlen(message));
}

/* One value: a document, a pod, or a list of such. Within a message only documents are looked for. */
static void take_value(struct taking *taking, const struct json *value, bool whole)
{
    const struct json *items = json_get(value, "items");

    if (!items && json_count(value) > 0)
        items = value;
    if (saved_is_ours(value)) {
        take_document(taking, value, whole);
        return;
    }
    if (taking->node)
        return;
    if (pods_is_pod(value))
        take_pod(taking, value);
    for (size_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);

        if (saved_is_ours(item))
            take_document(taking, item, whole);
        else if (pods_is_pod(item))
            take_pod(taking, item);
    }
}

/* Reads values that follow each other; returns where that ended. */
static size_t take_values(struct taking *taking, const char *text, size_t len)
{
    struct err unheard = ERR_INIT;
    size_t at = 0, used;

    for (;;) {
        const struct json *value;

        while (at < len && strchr(" \t\r\n,", text[at]) && text[at])
            at++;
        if (at == len || (text[at] != '{' && text[at] != '['))
            return at;
        value = json_read_first(text + at, len - at, &used, &unheard);
        if (!value)
            return at;
        take_value(taking, value, true);
        at += used;
    }
}

/* What is left of a value that does not end. */
static void take_cut(struct taking *taking, const char *text, size_t len)
{
    struct err unheard = ERR_INIT;
    size_t size = salvage_cut(text, len, taking->room);
    const struct json *value = size > 0 ? json_read_first(taking->room, size, &size, &unheard)
                                        : NULL;

    if (value)
        take_value(taking, value, false);
}

/*
 * Documents among other lines: of a log, or behind something broken. Each ends where the line or the
 * next one begins: within a document the quotes of such a beginning are escaped.
 */
static void take_lines(struct taking *taking, const char *text, size_t len)
{
    const char *end = text + len;
    const char *at = memmem(text, len, marker, sizeof(marker) - 1);

    while (at) {
        const char *next = memmem(at + 1, (size_t)(end - at) - 1, marker, sizeof(marker) - 1);
        size_t size = (size_t)((next ? next : end) - at);
        const char *newline = memchr(at, '\n', size);

        size = newline ? (size_t)(newline - at) : size;
        if (take_values(taking, at, size) == 0)
            take_cut(taking, at, size);
        at = next;
    }
}

static bool has_found(const struct taking *taking)
{
    return taking->node ? taking->node->documented : taking->found;
}

static void take_text(struct taking *taking, const char *text, size_t len)
{
    size_t bom = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    size_t used = bom + take_values(taking, text + bom, len - bom);
    const char *rest = text + used;
    bool before = has_found(taking);

    len -= used;
    if (len > 0 && rest[0] == '{' &&
        (len < sizeof(marker) || memcmp(rest, marker, sizeof(marker) - 1) != 0))
        take_cut(taking, rest, len);
    if (before || !has_found(taking))
        take_lines(taking, rest, len);
}

int explain_take(struct explain *explain, const struct explain_input *input, struct err *err)
{
    size_t size = ARENA_BASE + input->len * ARENA_FACTOR;
    void *memory = malloc(size);
    struct taking taking = {.explain = explain, .room = malloc(input->len + SALVAGE_EXTRA)};
    struct json_arena arena;

    if (memory && taking.room) {
        json_setup(&arena, memory, size, 0);
        json_begin(&arena);
        take_text(&taking, input->bytes, input->len);
        json_end();
    } else {
        err_set(err, ERR_SYSTEM, "no memory to read %s", input->name);
    }
    if (!taking.found && explain->foreign_count++ < EXPLAIN_FOREIGN_MAX)
        explain->foreign[explain->foreign_count - 1] = input->name;
    free(taking.room);
    free(memory);
    return err->kind == ERR_NONE ? 0 : -1;
}
