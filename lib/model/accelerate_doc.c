#include "model/accelerate_doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/scan.h"

#define TRUE_WORDS  "true|True|TRUE|yes|Yes|YES|on|On|ON"
#define FALSE_WORDS "false|False|FALSE|no|No|NO|off|Off|OFF"
#define NULL_WORDS  "~|null|Null|NULL"
#define TEXT_SHOWN  80

struct reader {
    const struct spec_source *source;
    struct accelerate_doc *doc;
    struct err *err;
    const char *section;
    struct accelerate_entry entry; /* key NULL: a key has to come */
    int depth;                     /* of mappings */
    bool in_list;
    unsigned documents;
};

static int fail(const struct reader *reader, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(const struct reader *reader, size_t line, const char *format, ...)
{
    char room[ERR_MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(room, sizeof(room), format, args);
    va_end(args);
    return err_set(reader->err, ERR_SPEC, "%s:%zu: %s", reader->source->name, line, room);
}

/* As Python's str() of what PyYAML makes of it; NULL for null. */
static const char *value_of(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;

    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return text;
    if (*text == '\0' || scan_word(text, NULL_WORDS) >= 0)
        return NULL;
    if (scan_word(text, TRUE_WORDS) >= 0)
        return "True";
    return scan_word(text, FALSE_WORDS) >= 0 ? "False" : text;
}

/* The value of the key that came before is complete. */
static int add_entry(struct reader *reader, const char *text)
{
    struct accelerate_doc *doc = reader->doc;

    if (!reader->entry.key)
        return fail(reader, 1, "a list cannot stand here");
    for (size_t i = 0; i < doc->count; i++) {
        if (strcmp(doc->entries[i].key, reader->entry.key) == 0 &&
            strcmp(doc->entries[i].section, reader->section) == 0)
            return fail(reader, reader->entry.line, "key \"%.*s\" is there twice", TEXT_SHOWN,
                        reader->entry.key);
    }
    if (doc->count == ACCELERATE_KEYS_MAX)
        return fail(reader, reader->entry.line, "more than %d keys", ACCELERATE_KEYS_MAX);
    reader->entry.section = reader->section;
    reader->entry.text = text ? strvec_push(&doc->texts, text) : NULL;
    doc->entries[doc->count++] = reader->entry;
    reader->entry.key = NULL;
    return 0;
}

static int read_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t line = event->start_mark.line + 1;
    const char *value = value_of(event);

    if (event->data.scalar.tag || strlen(text) != event->data.scalar.length)
        return fail(reader, line, "tags and NUL characters are not supported");
    if (reader->depth == 0)
        return fail(reader, line, "must be a mapping (KEY: VALUE)");
    if (reader->in_list) {
        const char *before = reader->entry.text;

        reader->entry.text = strvec_pushf(&reader->doc->texts, "%s%s%s", before ? before : "",
                                          before ? "," : "", value ? value : "None");
        return 0;
    }
    if (reader->entry.key)
        return add_entry(reader, value);
    reader->entry = (struct accelerate_entry){.key = strvec_push(&reader->doc->texts, text),
                                              .line = line};
    return 0;
}

static int open_mapping(struct reader *reader, const yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1;

    if (reader->depth > 0 && (!reader->entry.key || reader->depth > 1 || reader->in_list))
        return fail(reader, line, "a mapping cannot stand here");
    if (reader->depth++ == 1) {
        reader->section = reader->entry.key;
        reader->entry.key = NULL;
    }
    return 0;
}

static int open_list(struct reader *reader, const yaml_event_t *event)
{
    if (!reader->entry.key || reader->in_list)
        return fail(reader, event->start_mark.line + 1, "a list cannot stand here");
    reader->in_list = true;
    return 0;
}

static int close_list(struct reader *reader)
{
    reader->in_list = false;
    return add_entry(reader, reader->entry.text);
}

static int read_event(struct reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++reader->documents > 1)
            return fail(reader, event->start_mark.line + 1, "a second document begins");
        return 0;
    case YAML_ALIAS_EVENT:
        return fail(reader, event->start_mark.line + 1, "aliases are not supported");
    case YAML_SCALAR_EVENT: return read_scalar(reader, event);
    case YAML_MAPPING_START_EVENT: return open_mapping(reader, event);
    case YAML_SEQUENCE_START_EVENT: return open_list(reader, event);
    case YAML_SEQUENCE_END_EVENT: return close_list(reader);
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        reader->section = "";
        return 0;
    default: return 0;
    }
}

static int run(struct reader *reader, yaml_parser_t *parser)
{
    for (bool ended = false; !ended;) {
        CLEANUP(yaml_event_delete) yaml_event_t event = {.type = YAML_NO_EVENT};

        if (!yaml_parser_parse(parser, &event))
            return fail(reader, parser->problem_mark.line + 1, "neither YAML nor JSON: %s",
                        parser->problem ? parser->problem : "it cannot be read");
        if (read_event(reader, &event) < 0)
            return -1;
        ended = event.type == YAML_STREAM_END_EVENT;
    }
    if (reader->doc->count == 0)
        return fail(reader, 1, "the document is empty");
    return 0;
}

int accelerate_doc_read(const struct spec_source *source, struct accelerate_doc *ret,
                        struct err *err)
{
    struct reader reader = {.source = source, .doc = ret, .err = err, .section = ""};
    CLEANUP(yaml_parser_delete) yaml_parser_t parser = {.error = YAML_NO_ERROR};

    ret->count = 0;
    ret->texts = (struct strvec)STRVEC_INIT;
    if (source->len > SPEC_BYTES_MAX)
        return err_set(err, ERR_SPEC, "%s: is larger than 1 MiB", source->name);
    if (!yaml_parser_initialize(&parser))
        return err_set(err, ERR_SYSTEM, "%s: out of memory", source->name);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)source->bytes, source->len);
    return run(&reader, &parser);
}

void accelerate_doc_release(struct accelerate_doc *doc)
{
    strvec_release(&doc->texts);
    doc->count = 0;
}
