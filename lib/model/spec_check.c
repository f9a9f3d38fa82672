#include "model/spec_check.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/scan.h"

#define DEPTH_MAX  8
#define FIELDS_MAX 64 /* of one mapping: bits of `seen` */
#define PATH_ROOM  256
#define TEXT_SHOWN 80 /* bytes of the document that a message repeats */

/* A mapping or sequence whose end has not come. */
struct frame {
    const cyaml_schema_value_t *schema;
    const cyaml_schema_field_t *field; /* mapping: its key was read, the value comes; else NULL */
    uint64_t seen;                     /* mapping: fields read so far */
    size_t entries;                    /* sequence: entries begun so far */
};

struct check {
    const struct spec_source *source;
    const cyaml_schema_value_t *schema;
    const char *wanted; /* spec_check_find's path; NULL when checking */
    struct spec_mark found;
    struct frame frames[DEPTH_MAX];
    size_t depth;
    unsigned documents;
    struct err *err;
};

static struct frame *top_of(struct check *check)
{
    return check->depth > 0 ? &check->frames[check->depth - 1] : NULL;
}

/* Writes the path of the value that comes now: "env[2].name"; empty for the document itself. */
static const char *path_of(const struct check *check, char *room, size_t size)
{
    struct buf path;

    buf_init(&path, room, size);
    for (size_t i = 0; i < check->depth; i++) {
        const struct frame *frame = &check->frames[i];

        if (frame->schema->type == CYAML_SEQUENCE)
            buf_addf(&path, "[%zu]", frame->entries - (frame->entries > 0));
        else if (frame->field)
            buf_addf(&path, "%s%s", path.len > 0 ? "." : "", frame->field->key);
    }
    return room;
}

static int fail(struct check *check, const yaml_mark_t *mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses with "NAME:LINE:COLUMN: PATH: ..."; the path is left out for the document itself. */
static int fail(struct check *check, const yaml_mark_t *mark, const char *format, ...)
{
    char path_room[PATH_ROOM], room[ERR_MESSAGE_MAX];
    const char *path = path_of(check, path_room, sizeof(path_room));
    va_list args;

    va_start(args, format);
    vsnprintf(room, sizeof(room), format, args);
    va_end(args);
    return err_set(check->err, ERR_SPEC, "%s:%zu:%zu: %s%s%s", check->source->name, mark->line + 1,
                   mark->column + 1, path, path[0] != '\0' ? ": " : "", room);
}

/* Schema of the value that comes now; NULL if a key has to come. */
static const cyaml_schema_value_t *expected(struct check *check)
{
    const struct frame *top = top_of(check);

    if (!top)
        return check->schema;
    if (top->schema->type == CYAML_SEQUENCE)
        return top->schema->sequence.entry;
    return top->field ? &top->field->value : NULL;
}

static int fail_unknown_key(struct check *check, const yaml_event_t *event)
{
    const cyaml_schema_field_t *fields = top_of(check)->schema->mapping.fields;
    const char *key = (const char *)event->data.scalar.value;
    const char *names[FIELDS_MAX];
    const char *nearest;
    size_t count = 0;

    for (; count < FIELDS_MAX && fields[count].key; count++)
        names[count] = fields[count].key;
    nearest = scan_nearest(key, names, count);
    return fail(check, &event->start_mark, "unknown key \"%.*s\"%s%s%s", TEXT_SHOWN, key,
                nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* True if a scalar holds a NUL, where a C text would end. */
static bool is_cut(const yaml_event_t *event)
{
    return strlen((const char *)event->data.scalar.value) != event->data.scalar.length;
}

static int read_key(struct check *check, const yaml_event_t *event)
{
    struct frame *top = top_of(check);
    const cyaml_schema_field_t *fields = top->schema->mapping.fields;
    const char *key = (const char *)event->data.scalar.value;
    size_t i = 0;

    if (strcmp(key, "<<") == 0)
        return fail(check, &event->start_mark, "merge keys (<<) are not supported");
    while (fields[i].key && strcmp(fields[i].key, key) != 0)
        i++;
    if (!fields[i].key || is_cut(event))
        return fail_unknown_key(check, event);
    if (top->seen & (UINT64_C(1) << i))
        return fail(check, &event->start_mark, "key \"%s\" is there twice", key);
    top->seen |= UINT64_C(1) << i;
    top->field = &fields[i];
    return 0;
}

/* Counts a value that begins, so that its path is right; notes the place if it is wanted. */
static int begin_value(struct check *check, const yaml_event_t *event)
{
    const yaml_mark_t *mark = &event->start_mark;
    struct frame *top = top_of(check);
    char room[PATH_ROOM];

    if (top && top->schema->type == CYAML_SEQUENCE && ++top->entries > top->schema->sequence.max)
        return fail(check, mark, "a list of more than %u entries", top->schema->sequence.max);
    if (check->wanted && strcmp(path_of(check, room, sizeof(room)), check->wanted) == 0)
        check->found = (struct spec_mark){mark->line + 1, mark->column + 1};
    return 0;
}

static void end_value(struct check *check)
{
    struct frame *top = top_of(check);

    if (top)
        top->field = NULL;
}

static bool is_null(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (scan_word(text, "~|null|Null|NULL") >= 0 || text[0] == '\0');
}

static const char *wanted_words(const cyaml_schema_value_t *schema)
{
    if (schema->type == CYAML_MAPPING)
        return "a mapping (KEY: VALUE)";
    return schema->type == CYAML_SEQUENCE ? "a list" : "one value";
}

static int read_text(struct check *check, const cyaml_schema_value_t *schema,
                     const yaml_event_t *event)
{
    if (check->depth == 0 && is_null(event))
        return fail(check, &event->start_mark, "the document is empty");
    if (is_null(event))
        return fail(check, &event->start_mark, "has no value: leave it out%s",
                    schema->type == CYAML_STRING && schema->string.min == 0
                        ? ", or write \"\" for the empty text"
                        : "");
    if (schema->type != CYAML_STRING)
        return fail(check, &event->start_mark, "must be %s, not one value", wanted_words(schema));
    if (is_cut(event))
        return fail(check, &event->start_mark, "holds a NUL character");
    if (event->data.scalar.length < schema->string.min)
        return fail(check, &event->start_mark, "is empty: leave it out");
    return 0;
}

static int read_scalar(struct check *check, const yaml_event_t *event)
{
    const cyaml_schema_value_t *schema = expected(check);

    if (event->data.scalar.tag)
        return fail(check, &event->start_mark, "tags (%.*s) are not supported", TEXT_SHOWN,
                    (const char *)event->data.scalar.tag);
    if (!schema)
        return read_key(check, event);
    if (begin_value(check, event) < 0 || read_text(check, schema, event) < 0)
        return -1;
    end_value(check);
    return 0;
}

/* A mapping or a sequence begins. */
static int open_frame(struct check *check, cyaml_type_e type, const yaml_event_t *event)
{
    const cyaml_schema_value_t *schema = expected(check);

    if (!schema)
        return fail(check, &event->start_mark, "a key must be plain text");
    if (begin_value(check, event) < 0)
        return -1;
    if (schema->type != type)
        return fail(check, &event->start_mark, "must be %s, not a %s", wanted_words(schema),
                    type == CYAML_MAPPING ? "mapping" : "list");
    if (check->depth == DEPTH_MAX)
        return fail(check, &event->start_mark, "is nested too deeply");
    check->frames[check->depth++] = (struct frame){.schema = schema};
    return 0;
}

static int open_collection(struct check *check, const yaml_event_t *event)
{
    bool mapping = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag = mapping ? event->data.mapping_start.tag
                                     : event->data.sequence_start.tag;

    if (tag)
        return fail(check, &event->start_mark, "tags (%.*s) are not supported", TEXT_SHOWN,
                    (const char *)tag);
    return open_frame(check, mapping ? CYAML_MAPPING : CYAML_SEQUENCE, event);
}

static int read_event(struct check *check, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++check->documents > 1)
            return fail(check, &event->start_mark, "a second document begins; one is allowed");
        return 0;
    case YAML_ALIAS_EVENT:
        return fail(check, &event->start_mark, "aliases (*%.*s) are not supported", TEXT_SHOWN,
                    (const char *)event->data.alias.anchor);
    case YAML_SCALAR_EVENT: return read_scalar(check, event);
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT: return open_collection(check, event);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        check->depth--;
        end_value(check);
        return 0;
    default: return 0;
    }
}

static int fail_parser(struct check *check, const yaml_parser_t *parser)
{
    const char *problem = parser->problem ? parser->problem : "it cannot be read";

    if (parser->error == YAML_MEMORY_ERROR)
        return err_set(check->err, ERR_SYSTEM, "%s: out of memory", check->source->name);
    if (parser->error == YAML_READER_ERROR)
        return err_set(check->err, ERR_SPEC, "%s: no YAML at byte %zu: %s", check->source->name,
                       parser->problem_offset, problem);
    return err_set(check->err, ERR_SPEC, "%s:%zu:%zu: no YAML: %s%s%s", check->source->name,
                   parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                   parser->context ? parser->context : "", parser->context ? ", " : "", problem);
}

static int run(struct check *check, yaml_parser_t *parser)
{
    bool ended = false;

    while (!ended) {
        CLEANUP(yaml_event_delete) yaml_event_t event = {.type = YAML_NO_EVENT};

        if (!yaml_parser_parse(parser, &event))
            return fail_parser(check, parser);
        if (read_event(check, &event) < 0)
            return -1;
        ended = event.type == YAML_STREAM_END_EVENT;
    }
    if (check->documents == 0)
        return err_set(check->err, ERR_SPEC, "%s: the document is empty", check->source->name);
    return 0;
}

static int check_all(struct check *check)
{
    CLEANUP(yaml_parser_delete) yaml_parser_t parser = {.error = YAML_NO_ERROR};

    if (!yaml_parser_initialize(&parser))
        return err_set(check->err, ERR_SYSTEM, "%s: out of memory", check->source->name);
    /* Stated, so that a document cannot choose UTF-16 by its first bytes. */
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)check->source->bytes,
                                 check->source->len);
    return run(check, &parser);
}

int spec_check(const struct spec_source *source, const cyaml_schema_value_t *schema,
               struct err *err)
{
    struct check check = {.source = source, .schema = schema, .err = err};

    return check_all(&check);
}

bool spec_check_find(const struct spec_source *source, const cyaml_schema_value_t *schema,
                     const char *path, struct spec_mark *ret)
{
    struct err ignored = ERR_INIT;
    struct check check = {.source = source, .schema = schema, .wanted = path, .err = &ignored};

    if (check_all(&check) < 0 || check.found.line == 0)
        return false;
    *ret = check.found;
    return true;
}
