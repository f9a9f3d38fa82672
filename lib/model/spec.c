#include "model/spec.h"

#include <cyaml/cyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/scan.h"
#include "model/spec_check.h"
#include "model/spec_keys.h"

#define API_VERSION "rankinit/v1"
#define UTF8_MARK   "\xef\xbb\xbf" /* editors of other systems begin UTF-8 with it */

/* What is at hand while a document is turned into settings. */
struct reading {
    struct spec_source source;
    struct settings *settings;
    struct spec *spec;
    struct err *err;
};

/* Keeps the first complaint: what follows it in libcyaml's log is a trace of its own stack. */
static void log_first(cyaml_log_t level, void *context, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void log_first(cyaml_log_t level, void *context, const char *format, va_list args)
{
    struct buf *first = context;
    char line[256];

    if (level != CYAML_LOG_ERROR || first->len > 0)
        return;
    vsnprintf(line, sizeof(line), format, args);
    buf_add(first, line, strcspn(line, "\n"));
}

/* Frees a loaded document; nothing that was refused halfway is left behind by libcyaml. */
static void free_file(struct spec_file **file)
{
    const cyaml_config_t config = {.mem_fn = cyaml_mem, .flags = CYAML_CFG_NO_ALIAS};

    cyaml_free(&config, &spec_file_schema, *file, 0);
}

/* Loads a document that spec_check has let pass; NULL with *err filled if that fails. */
static struct spec_file *load(const struct spec_source *source, struct err *err)
{
    char room[256];
    struct buf complaint = BUF_OVER(room);
    const cyaml_config_t config = {
        .log_fn = log_first,
        .log_ctx = &complaint,
        .log_level = CYAML_LOG_ERROR,
        .mem_fn = cyaml_mem,
        .flags = CYAML_CFG_NO_ALIAS,
    };
    cyaml_data_t *data = NULL;
    cyaml_err_t result = cyaml_load_data((const uint8_t *)source->bytes, source->len, &config,
                                         &spec_file_schema, &data, NULL);

    if (result == CYAML_ERR_OOM)
        err_set(err, ERR_SYSTEM, "%s: out of memory", source->name);
    else if (result != CYAML_OK)
        err_set(err, ERR_SPEC, "%s: %s: %s", source->name, cyaml_strerror(result), room);
    else if (!data)
        err_set(err, ERR_SPEC, "%s: the document is empty", source->name);
    return data;
}

/* Refuses the value at this path, with its place in the document. */
static int refuse(const struct reading *reading, const char *path, const char *what)
{
    struct spec_mark mark;

    if (!spec_check_find(&reading->source, &spec_file_schema, path, &mark))
        return err_set(reading->err, ERR_SPEC, "%s: %s: %s", reading->source.name, path, what);
    return err_set(reading->err, ERR_SPEC, "%s:%zu:%zu: %s: %s", reading->source.name, mark.line,
                   mark.column, path, what);
}

static int check_version(const struct reading *reading, const struct spec_file *file)
{
    if (!file->api_version)
        return err_set(reading->err, ERR_SPEC,
                       "%s: apiVersion is missing: begin with apiVersion: %s", reading->source.name,
                       API_VERSION);
    if (strcmp(file->api_version, API_VERSION) != 0)
        return refuse(reading, "apiVersion", "is not " API_VERSION);
    return 0;
}

/* Offers one value to its option; a refusal gets the value's place. */
static int offer_text(const struct reading *reading, enum option_id id, const char *text)
{
    const char *key = option_rows[id].spec_key;
    struct err why = ERR_INIT;
    CLEANUP(strvec_release) struct strvec scratch = STRVEC_INIT;
    const char *origin = strvec_pushf(&scratch, "%s: %s", reading->source.name, key);
    size_t len = strlen(origin) + strlen(": ");

    if (settings_offer(reading->settings, id, &(struct setting){SOURCE_SPEC, text, origin}, &why) ==
        0)
        return 0;
    if (strncmp(why.message, origin, strlen(origin)) == 0 && strlen(why.message) > len &&
        why.message[len - 2] == ':')
        return refuse(reading, key, why.message + len);
    *reading->err = why;
    return -1;
}

/* An empty list states nothing. */
static int offer_list(const struct reading *reading, enum option_id id,
                      const struct spec_texts *list)
{
    CLEANUP_FREE char *joined = NULL;
    size_t size = 1;
    struct buf out;

    if (list->count == 0)
        return 0;
    for (unsigned i = 0; i < list->count; i++)
        size += strlen(list->items[i]) + 1;
    joined = malloc(size);
    if (!joined)
        return err_set(reading->err, ERR_SYSTEM, "%s: out of memory", reading->source.name);
    buf_init(&out, joined, size);
    for (unsigned i = 0; i < list->count; i++)
        buf_addf(&out, "%s%s", i > 0 ? "," : "", list->items[i]);
    return offer_text(reading, id, joined);
}

static int offer_all(const struct reading *reading, const struct spec_file *file)
{
    for (const struct spec_target *target = spec_targets; target->id != OPT__COUNT; target++) {
        const char *member = (const char *)file + target->offset;
        int result = 0;

        if (target->is_list) {
            result = offer_list(reading, target->id,
                                (const struct spec_texts *)(const void *)member);
        } else {
            const char *text = *(char *const *)(const void *)member;

            result = text ? offer_text(reading, target->id, text) : 0;
        }
        if (result < 0)
            return -1;
    }
    return 0;
}

bool spec_is_document(const char *text)
{
    return text[strspn(text, " \t")] == '{' || strchr(text, '\n');
}

/* Where a list of env: stands and what it is read into. */
struct env_reading {
    const char *path; /* "env", "ranks[2].env" */
    struct strvec *set, *unset;
};

static int refuse_env(const struct reading *reading, const struct env_reading *into, unsigned index,
                      const char *what)
{
    char path[64];

    snprintf(path, sizeof(path), "%s[%u]", into->path, index);
    return refuse(reading, path, what);
}

static int read_env(const struct reading *reading, const struct env_reading *into,
                    const struct spec_env *env, unsigned index)
{
    const struct spec_env *entry = &env[index];

    if (!entry->name || strchr(entry->name, '='))
        return refuse_env(reading, into, index, "needs a name, without =");
    if (!entry->value == !entry->unset)
        return refuse_env(reading, into, index, "needs either value: or unset: true");
    if (entry->unset && strcmp(entry->unset, "true") != 0)
        return refuse_env(reading, into, index, "unset can only be true");
    for (unsigned i = 0; i < index; i++) {
        if (strcmp(env[i].name, entry->name) == 0)
            return refuse_env(reading, into, index, "this name is in the list twice");
    }
    if (entry->unset)
        strvec_push(into->unset, entry->name);
    else
        strvec_pushf(into->set, "%s=%s", entry->name, entry->value);
    return 0;
}

static int read_command(const struct reading *reading, const struct spec_texts *command,
                        const char *path, struct strvec *ret)
{
    for (unsigned i = 0; i < command->count; i++)
        strvec_push(ret, command->items[i]);
    if (command->count > 0 && command->items[0][0] == '\0')
        return refuse(reading, path, "begins with an empty text");
    return 0;
}

static void take_number(void *context, long number)
{
    (void)context;
    (void)number;
}

/* Keys that say something; `local` only says of whom. */
static bool states_something(const struct spec_row *row)
{
    return row->devices || row->cpus || row->env_count > 0 || row->command.count > 0;
}

/* Who a row is about, and with which CPUs. */
static int check_lists(const struct reading *reading, const struct spec_row *row, const char *path)
{
    struct cpuset cpus = {0};
    char key[48];

    if (!row->local)
        return refuse(reading, path, "needs local: local ranks such as \"0\" or \"0-3,6\"");
    snprintf(key, sizeof(key), "%s.local", path);
    if (!scan_list(row->local, SPEC_LOCAL_MAX, take_number, NULL))
        return refuse(reading, key, "is no list of local ranks such as \"0\" or \"0-3,6\"");
    snprintf(key, sizeof(key), "%s.cpus", path);
    if (row->cpus && (!cpuset_read(&cpus, row->cpus) || cpuset_first(&cpus) < 0))
        return refuse(reading, key, "is no list of CPUs such as \"0-7\" or \"0-3,16-19\"");
    return 0;
}

static int read_row(const struct reading *reading, const struct spec_row *row, size_t index)
{
    struct spec_rank *rank = &reading->spec->ranks[index];
    char path[32], env_path[40], command_path[48];
    const struct env_reading into = {env_path, &rank->env_set, &rank->env_unset};

    snprintf(path, sizeof(path), "ranks[%zu]", index);
    snprintf(env_path, sizeof(env_path), "%s.env", path);
    snprintf(command_path, sizeof(command_path), "%s.command", path);
    if (check_lists(reading, row, path) < 0)
        return -1;
    if (!states_something(row))
        return refuse(reading, path, "states nothing: give devices, cpus, env or command");
    rank->origin = strvec_pushf(&rank->texts, "%s: %s", reading->source.name, path);
    rank->local = strvec_push(&rank->texts, row->local);
    rank->devices = row->devices ? strvec_push(&rank->texts, row->devices) : NULL;
    rank->cpus = row->cpus ? strvec_push(&rank->texts, row->cpus) : NULL;
    for (unsigned i = 0; i < row->env_count; i++) {
        if (read_env(reading, &into, row->env, i) < 0)
            return -1;
    }
    return read_command(reading, &row->command, command_path, &rank->command);
}

static int read_rows(const struct reading *reading, const struct spec_file *file)
{
    struct spec *spec = reading->spec;

    if (file->ranks_count == 0)
        return 0;
    spec->ranks = calloc(file->ranks_count, sizeof(*spec->ranks));
    if (!spec->ranks)
        return err_set(reading->err, ERR_SYSTEM, "%s: out of memory", reading->source.name);
    spec->rank_count = file->ranks_count;
    for (size_t i = 0; i < spec->rank_count; i++) {
        if (read_row(reading, &file->ranks[i], i) < 0)
            return -1;
    }
    return 0;
}

static int read_rest(const struct reading *reading, const struct spec_file *file)
{
    struct spec *spec = reading->spec;
    const struct env_reading into = {"env", &spec->env_set, &spec->env_unset};

    for (unsigned i = 0; i < file->env_count; i++) {
        if (read_env(reading, &into, file->env, i) < 0)
            return -1;
    }
    if (read_command(reading, &file->command, "command", &spec->command) < 0)
        return -1;
    return read_rows(reading, file);
}

static int read_all(const struct reading *reading)
{
    CLEANUP(free_file) struct spec_file *file = NULL;

    if (reading->source.len > SPEC_BYTES_MAX)
        return err_set(reading->err, ERR_SPEC, "%s: is larger than 1 MiB", reading->source.name);
    if (spec_check(&reading->source, &spec_file_schema, reading->err) < 0)
        return -1;
    file = load(&reading->source, reading->err);
    if (!file || check_version(reading, file) < 0)
        return -1;
    if (offer_all(reading, file) < 0)
        return -1;
    return read_rest(reading, file);
}

int spec_read(const struct spec_source *source, struct settings *settings, struct spec *ret,
              struct err *err)
{
    struct reading reading = {
        .source = *source,
        .settings = settings,
        .spec = ret,
        .err = err,
    };

    *ret = (struct spec){.command = STRVEC_INIT};
    if (source->len >= strlen(UTF8_MARK) &&
        memcmp(source->bytes, UTF8_MARK, strlen(UTF8_MARK)) == 0) {
        reading.source.bytes += strlen(UTF8_MARK);
        reading.source.len -= strlen(UTF8_MARK);
    }
    if (read_all(&reading) == 0)
        return 0;
    spec_release(ret);
    return -1;
}

void spec_release(struct spec *spec)
{
    for (size_t i = 0; i < spec->rank_count; i++) {
        struct spec_rank *rank = &spec->ranks[i];

        strvec_release(&rank->command);
        strvec_release(&rank->env_set);
        strvec_release(&rank->env_unset);
        strvec_release(&rank->texts);
    }
    free(spec->ranks);
    strvec_release(&spec->command);
    strvec_release(&spec->env_set);
    strvec_release(&spec->env_unset);
    *spec = (struct spec){.command = STRVEC_INIT};
}
