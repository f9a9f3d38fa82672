#include <string.h>

#include "base/json.h"
#include "model/evidence.h"

/* The callstack is what Python would print: the same reader knows its chains. */
static void read_callstack(const char *text, struct evidence *reader)
{
    evidence_init(reader);
    evidence_feed(reader, EVIDENCE_STDOUT, text, strlen(text), 0);
    evidence_end(reader, 0);
}

/* "ValueError: text" of several lines. */
static void read_message(const char *text, struct finding *ret)
{
    size_t len = strcspn(text, "\n");
    struct span line = {text, len}, type = {text, 0}, message = line;

    if (!patterns_split_exception(line, &type, &message) || !finding_is_likely_type(line, type)) {
        type.len = 0;
        message = line;
    }
    finding_set_error(ret, type, message);
    while (text[len] == '\n') {
        text += len + 1;
        len = strcspn(text, "\n");
        finding_add_message(ret, (struct span){text, len});
    }
}

/* The file's message is whole; of a chain or a group, the callstack knows which error is the real one. */
static void read_nested(const struct json *nested, const char *message, struct finding *ret)
{
    const char *callstack = json_text(json_get(json_get(nested, "extraInfo"), "py_callstack"));
    struct evidence reader;
    const struct finding *read = &reader.reader.best;

    read_message(message, ret);
    if (!callstack)
        return;
    read_callstack(callstack, &reader);
    if (read->kind == EVIDENCE_NONE)
        return;
    memcpy(ret->file, read->file, sizeof(ret->file));
    ret->line = read->line;
    ret->frames = read->frames;
    memcpy(ret->traceback, read->traceback, sizeof(ret->traceback));
    if (strcmp(ret->type, read->type) != 0 ||
        strncmp(ret->message, read->message, strcspn(read->message, "\n")) != 0)
        finding_copy_error(ret, read);
    else
        ret->echo = read->echo;
}

bool evidence_read_error_file(const char *bytes, size_t len, int64_t at_ns, struct finding *ret)
{
    struct err err = ERR_INIT;
    const struct json *root = json_read(bytes, len, &err);
    const struct json *nested = json_get(root, "message");
    const char *flat = json_text(nested);
    const char *message = json_text(json_get(nested, "message"));

    if (!flat && !message)
        return false;
    memset(ret, 0, sizeof(*ret));
    if (flat)
        read_message(flat, ret);
    else
        read_nested(nested, message, ret);
    ret->kind = EVIDENCE_ERROR_FILE;
    ret->at_ns = at_ns;
    return true;
}
