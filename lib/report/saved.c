#include "report/saved.h"

#include <string.h>

#include "report/field.h"

#define SCHEMA_STEM  "rankinit.summary."
#define SECONDS_MAX  1e9 /* 30 years: no sum of times overflows */
#define NS_PER_S     1e9
#define RANKS_LIMIT  (1 << 24)
#define NUMBER_LIMIT (1LL << 50)

void saved_text(const struct json *object, const char *key, char *room, size_t size)
{
    const char *text = json_text(json_get(object, key));
    size_t len = text ? strlen(text) : 0, fit = 0;

    while (fit < len) {
        size_t step = buf_utf8_size(text + fit, len - fit);

        step = step > 0 ? step : 1;
        if (fit + step >= size)
            break;
        fit += step;
    }
    memcpy(room, text ? text : "", fit);
    room[fit] = '\0';
}

#define READ_TEXT(object, key, array) saved_text(object, key, array, sizeof(array))

int64_t saved_number(const struct json *object, const char *key, int64_t max)
{
    double number;

    if (!json_number(json_get(object, key), &number) || number < 0 || number > (double)max)
        return SAVED_UNKNOWN;
    return (int64_t)number;
}

int64_t saved_time(const struct json *object, const char *key)
{
    const char *text = json_text(json_get(object, key));
    int64_t ns;

    return text && field_time_read(text, &ns) ? ns : SAVED_NEVER;
}

/* Seconds since the start; the moment, if it is known when that was. */
static int64_t moment(const struct json *object, int64_t started_ns)
{
    double seconds;

    if (started_ns == SAVED_NEVER || !json_number(json_get(object, "seconds"), &seconds) ||
        seconds < 0 || seconds > SECONDS_MAX)
        return SAVED_NEVER;
    return started_ns + (int64_t)(seconds * NS_PER_S);
}

static void read_error(const struct json *object, struct saved_error *ret)
{
    const struct json *error = json_get(object, "error");
    int64_t line = saved_number(error, "line", RANKS_LIMIT);

    READ_TEXT(error, "type", ret->type);
    READ_TEXT(error, "message", ret->message);
    READ_TEXT(error, "file", ret->file);
    ret->line = line > 0 ? (int)line : 0;
}

static void read_root(const struct json *document, struct saved *ret)
{
    const struct json *object = json_get(document, "root_cause");
    struct saved_root *root = &ret->root;

    root->there = object != NULL;
    root->at_ns = saved_time(object, "time");
    read_error(object, &root->error);
    READ_TEXT(object, "traceback", root->words);
    root->traceback = root->words[0] != '\0';
    if (!root->traceback)
        READ_TEXT(object, "stderr_tail", root->words);
}

static enum rank_class read_class(const struct json *row)
{
    const char *word = json_text(json_get(row, "class"));

    for (int class = CLASS_CAUSE; word && class <= CLASS_FROM_OUTSIDE; class ++) {
        if (strcmp(word, outcome_class_word((enum rank_class) class)) == 0)
            return (enum rank_class) class;
    }
    return CLASS_NONE;
}

static void read_rows(const struct json *document, struct saved *ret)
{
    const struct json *list = json_get(document, "failures");

    for (size_t i = 0; i < json_count(list) && ret->row_count < SAVED_ROWS_MAX; i++) {
        const struct json *object = json_at(list, i);
        struct saved_row *row = &ret->rows[ret->row_count];
        int64_t count = saved_number(object, "count", RANKS_LIMIT);

        row->class = read_class(object);
        if (row->class == CLASS_NONE || count < 1)
            continue;
        row->count = (int)count;
        READ_TEXT(object, "ranks", row->ranks);
        row->exit_code = (int)saved_number(object, "exit_code", 255);
        READ_TEXT(object, "signal", row->signal);
        row->at_ns = moment(object, ret->started_ns);
        read_error(object, &row->error);
        ret->row_count++;
    }
}

static void read_lag(const struct json *document, struct saved_lag *ret)
{
    const struct json *object = json_get(document, "collective");

    ret->there = object != NULL;
    ret->seq = saved_number(object, "seq", NUMBER_LIMIT);
    ret->enqueued = saved_number(object, "enqueued", NUMBER_LIMIT);
    READ_TEXT(object, "op", ret->op);
    READ_TEXT(object, "group", ret->group);
    READ_TEXT(object, "waited", ret->waited);
    READ_TEXT(object, "behind", ret->behind);
    READ_TEXT(object, "elsewhere", ret->elsewhere);
    READ_TEXT(object, "silent", ret->silent);
}

static void read_stop(const struct json *document, struct saved *ret)
{
    const struct json *object = json_get(document, "stop");

    READ_TEXT(object, "signal", ret->stop_signal);
    ret->stop_ns = moment(object, ret->started_ns);
    ret->escalated = json_is_truth(json_get(object, "escalated"));
}

static void read_hints(const struct json *document, struct saved *ret)
{
    const struct json *list = json_get(document, "hints");

    for (size_t i = 0; i < json_count(list) && ret->hint_count < SAVED_HINTS_MAX; i++) {
        const char *text = json_text(json_at(list, i));
        struct buf out;

        if (!text || !text[0])
            continue;
        buf_init(&out, ret->hints[ret->hint_count++], HINT_MAX);
        buf_add_plain(&out, text, strlen(text));
    }
}

static int read_word(const struct json *document)
{
    const char *word = json_text(json_get(document, "verdict"));

    for (int i = VERDICT_RUNNING; word && i <= VERDICT_STOPPED; i++) {
        if (strcmp(word, outcome_verdict_word((enum verdict_word)i)) == 0)
            return i;
    }
    return SAVED_UNKNOWN;
}

bool saved_is_ours(const struct json *document)
{
    const char *schema = json_text(json_get(document, "schema"));

    return schema && strncmp(schema, SCHEMA_STEM, sizeof(SCHEMA_STEM) - 1) == 0;
}

bool saved_read(const struct json *document, bool whole, struct saved *ret)
{
    const struct json *job = json_get(document, "job");
    const char *schema = json_text(json_get(document, "schema"));

    memset(ret, 0, sizeof(*ret));
    if (!schema || strcmp(schema, SAVED_SCHEMA) != 0)
        return false;
    ret->whole = whole;
    ret->word = read_word(document);
    ret->exit_code = (int)saved_number(document, "exit_code", 255);
    READ_TEXT(document, "reason", ret->reason);
    READ_TEXT(document, "message", ret->message);
    READ_TEXT(document, "host", ret->host);
    READ_TEXT(document, "version", ret->version);
    READ_TEXT(job, "id", ret->job);
    ret->nnodes = (int)saved_number(job, "nnodes", RANKS_LIMIT);
    ret->node_rank = (int)saved_number(job, "node_rank", RANKS_LIMIT);
    ret->nproc = (int)saved_number(job, "nproc_per_node", RANKS_LIMIT);
    ret->started_ns = saved_time(document, "started");
    ret->ended_ns = saved_time(document, "ended");
    read_root(document, ret);
    read_rows(document, ret);
    read_lag(document, &ret->lag);
    read_stop(document, ret);
    read_hints(document, ret);
    return true;
}
