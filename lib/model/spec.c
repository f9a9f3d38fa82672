#include "model/spec.h"

#include <cyaml/cyaml.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "model/spec_check.h"

#define API_VERSION "rankinit/v1"
#define ENV_MAX     4096 /* entries of env: */

/* NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names of members. */

/*
 * The keys, once: V is one value, L a list of values. From these rows come the members of the
 * structs that libcyaml fills, its schema (which is also the key tree of spec_check), and the
 * options that the values belong to.
 */
#define SPEC_KEYS_job(V, L)                    \
    V(job, id, OPT_RDZV_ID)                    \
    V(job, nnodes, OPT_NNODES)                 \
    V(job, node_rank, OPT_NODE_RANK)           \
    V(job, nproc_per_node, OPT_NPROC_PER_NODE) \
    V(job, rank_means, OPT_RANK_MEANS)         \
    V(job, role, OPT_ROLE)
#define SPEC_KEYS_rendezvous(V, L)              \
    V(rendezvous, master_addr, OPT_MASTER_ADDR) \
    V(rendezvous, master_port, OPT_MASTER_PORT) \
    V(rendezvous, wait, OPT_WAIT_MASTER)        \
    V(rendezvous, check, OPT_WAIT_CHECK)
#define SPEC_KEYS_devices(V, L)             \
    V(devices, mode, OPT_DEVICE_MODE)       \
    V(devices, per_rank, OPT_GPUS_PER_RANK) \
    V(devices, list, OPT_DEVICES)           \
    V(devices, vendor, OPT_VENDOR)          \
    V(devices, share, OPT_DEVICE_SHARE)
#define SPEC_KEYS_cpu(V, L)    \
    V(cpu, bind, OPT_CPU_BIND) \
    V(cpu, threads, OPT_THREADS)
#define SPEC_KEYS_output(V, L)            \
    V(output, capture, OPT_CAPTURE)       \
    V(output, prefix, OPT_LOG_PREFIX)     \
    V(output, log_dir, OPT_LOG_DIR)       \
    V(output, tee, OPT_TEE)               \
    V(output, redirects, OPT_REDIRECTS)   \
    V(output, tail_lines, OPT_TAIL_LINES) \
    V(output, max_bytes, OPT_OUTPUT_MAX_BYTES)
#define SPEC_KEYS_stop(V, L)            \
    V(stop, grace, OPT_GRACE)           \
    V(stop, fail_grace, OPT_FAIL_GRACE) \
    V(stop, scope, OPT_STOP_SCOPE)      \
    L(stop, rewrite, OPT_REWRITE)       \
    V(stop, exit, OPT_STOP_EXIT)        \
    V(stop, settle, OPT_SETTLE)         \
    V(stop, orphan_grace, OPT_ORPHAN_GRACE)
#define SPEC_KEYS_limits(V, L)        \
    V(limits, timeout, OPT_TIMEOUT)   \
    V(limits, idle, OPT_IDLE_TIMEOUT) \
    V(limits, start, OPT_START_TIMEOUT)
#define SPEC_KEYS_restart(V, L)                    \
    V(restart, max, OPT_MAX_RESTARTS)              \
    V(restart, backoff, OPT_RESTART_BACKOFF)       \
    V(restart, window, OPT_RESTART_WINDOW)         \
    V(restart, min_uptime, OPT_RESTART_MIN_UPTIME) \
    L(restart, only, OPT_RESTART_ONLY)             \
    L(restart, never, OPT_RESTART_NEVER)
#define SPEC_KEYS_summary(V, L)                      \
    V(summary, file, OPT_SUMMARY)                    \
    V(summary, termination_log, OPT_TERMINATION_LOG) \
    V(summary, max_bytes, OPT_MAX_BYTES)
#define SPEC_KEYS_exit(V, L)         \
    V(exit, preset, OPT_EXIT_PRESET) \
    L(exit, map, OPT_EXIT_MAP)       \
    V(exit, oom, OPT_OOM)
#define SPEC_KEYS_security(V, L)                \
    V(security, user, OPT_USER)                 \
    V(security, no_new_privs, OPT_NO_NEW_PRIVS) \
    L(security, drop, OPT_CAP_DROP)             \
    L(security, keep, OPT_CAP_KEEP)             \
    V(security, seccomp, OPT_SECCOMP)           \
    L(security, allow, OPT_SECCOMP_ALLOW)       \
    L(security, deny, OPT_SECCOMP_DENY)         \
    L(security, rlimits, OPT_RLIMIT)            \
    V(security, oom_score_adj, OPT_OOM_SCORE_ADJ)
#define SPEC_KEYS_hydra(V, L) V(hydra, pin, OPT_HYDRA)

#define SPEC_SECTIONS(S) \
    S(job)               \
    S(rendezvous)        \
    S(devices)           \
    S(cpu)               \
    S(output)            \
    S(stop)              \
    S(limits)            \
    S(restart)           \
    S(summary)           \
    S(exit)              \
    S(security)          \
    S(hydra)

struct texts {
    char **items;
    unsigned count;
};

/* The structs: one per section, and the document. NULL: the key is absent. */
#define MEMBER_VALUE(section, key, id) char *key;
#define MEMBER_LIST(section, key, id)  struct texts key;
#define SECTION_STRUCT(section)                        \
    struct spec_##section {                            \
        SPEC_KEYS_##section(MEMBER_VALUE, MEMBER_LIST) \
    };
SPEC_SECTIONS(SECTION_STRUCT)

struct spec_env {
    char *name, *value, *unset;
};

struct spec_file {
    char *api_version, *workdir;
    struct texts command;
    struct spec_env *env;
    unsigned env_count;
#define SECTION_MEMBER(section) struct spec_##section section;
    SPEC_SECTIONS(SECTION_MEMBER)
};

/* The schema. Every scalar is a text: libcyaml would read "maybe" as true and 010 as 8. */
#define OPTIONAL CYAML_FLAG_OPTIONAL
#define TEXT_FIELD(key, type, member, min) \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | OPTIONAL, type, member, min, CYAML_UNLIMITED)
#define TEXTS_FIELD(key, type, member, entry)                                          \
    CYAML_FIELD_SEQUENCE_COUNT(key, CYAML_FLAG_POINTER | OPTIONAL, type, member.items, \
                               member.count, entry, 0, CYAML_UNLIMITED)

static const cyaml_schema_value_t word_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 1, CYAML_UNLIMITED)};

static const cyaml_schema_value_t argument_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED)};

static const cyaml_schema_field_t env_fields[] = {
    TEXT_FIELD("name", struct spec_env, name, 1),
    TEXT_FIELD("value", struct spec_env, value, 0),
    TEXT_FIELD("unset", struct spec_env, unset, 1),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t env_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct spec_env, env_fields)};

#define FIELD_VALUE(section, key, id) TEXT_FIELD(#key, struct spec_##section, key, 1),
#define FIELD_LIST(section, key, id)  TEXTS_FIELD(#key, struct spec_##section, key, &word_schema),
#define SECTION_FIELDS(section)                                       \
    static const cyaml_schema_field_t section##_fields[] = {          \
        SPEC_KEYS_##section(FIELD_VALUE, FIELD_LIST) CYAML_FIELD_END, \
    };
SPEC_SECTIONS(SECTION_FIELDS)

#define SECTION_FIELD(section) \
    CYAML_FIELD_MAPPING(#section, OPTIONAL, struct spec_file, section, section##_fields),

static const cyaml_schema_field_t file_fields[] = {
    TEXT_FIELD("apiVersion", struct spec_file, api_version, 1),
    TEXT_FIELD("workdir", struct spec_file, workdir, 1),
    TEXTS_FIELD("command", struct spec_file, command, &argument_schema),
    CYAML_FIELD_SEQUENCE("env", CYAML_FLAG_POINTER | OPTIONAL, struct spec_file, env, &env_schema,
                         0, ENV_MAX),
    SPEC_SECTIONS(SECTION_FIELD) CYAML_FIELD_IGNORE("ranks", OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct spec_file, file_fields)};

/* Which option a value belongs to; its name for people is the option's spec_key. */
struct target {
    enum option_id id;
    bool is_list;
    size_t offset; /* in struct spec_file */
};

#define TARGET_VALUE(section, key, id) {id, false, offsetof(struct spec_file, section.key)},
#define TARGET_LIST(section, key, id)  {id, true, offsetof(struct spec_file, section.key)},
#define SECTION_TARGETS(section)       SPEC_KEYS_##section(TARGET_VALUE, TARGET_LIST)

/* clang-format off */
static const struct target targets[] = {
    {OPT_WORKDIR, false, offsetof(struct spec_file, workdir)},
    SPEC_SECTIONS(SECTION_TARGETS)
};
/* clang-format on */

/* NOLINTEND(bugprone-macro-parentheses) */

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

    cyaml_free(&config, &file_schema, *file, 0);
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
                                         &file_schema, &data, NULL);

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

    if (!spec_check_find(&reading->source, &file_schema, path, &mark))
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
static int offer_list(const struct reading *reading, enum option_id id, const struct texts *list)
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
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        const char *member = (const char *)file + targets[i].offset;
        int result = 0;

        if (targets[i].is_list) {
            result = offer_list(reading, targets[i].id, (const struct texts *)(const void *)member);
        } else {
            const char *text = *(char *const *)(const void *)member;

            result = text ? offer_text(reading, targets[i].id, text) : 0;
        }
        if (result < 0)
            return -1;
    }
    return 0;
}

static int refuse_env(const struct reading *reading, unsigned index, const char *what)
{
    char path[32];

    snprintf(path, sizeof(path), "env[%u]", index);
    return refuse(reading, path, what);
}

static int read_env(const struct reading *reading, const struct spec_file *file, unsigned index)
{
    const struct spec_env *entry = &file->env[index];

    if (!entry->name || strchr(entry->name, '='))
        return refuse_env(reading, index, "needs a name, without =");
    if (!entry->value == !entry->unset)
        return refuse_env(reading, index, "needs either value: or unset: true");
    if (entry->unset && strcmp(entry->unset, "true") != 0)
        return refuse_env(reading, index, "unset can only be true");
    for (unsigned i = 0; i < index; i++) {
        if (strcmp(file->env[i].name, entry->name) == 0)
            return refuse_env(reading, index, "this name is in the list twice");
    }
    if (entry->unset)
        strvec_push(&reading->spec->env_unset, entry->name);
    else
        strvec_pushf(&reading->spec->env_set, "%s=%s", entry->name, entry->value);
    return 0;
}

static int read_rest(const struct reading *reading, const struct spec_file *file)
{
    for (unsigned i = 0; i < file->env_count; i++) {
        if (read_env(reading, file, i) < 0)
            return -1;
    }
    for (unsigned i = 0; i < file->command.count; i++)
        strvec_push(&reading->spec->command, file->command.items[i]);
    if (file->command.count > 0 && file->command.items[0][0] == '\0')
        return refuse(reading, "command", "begins with an empty text");
    return 0;
}

static int read_all(const struct reading *reading)
{
    CLEANUP(free_file) struct spec_file *file = NULL;

    if (reading->source.len > SPEC_BYTES_MAX)
        return err_set(reading->err, ERR_SPEC, "%s: is larger than 1 MiB", reading->source.name);
    if (spec_check(&reading->source, &file_schema, reading->err) < 0)
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
    const struct reading reading = {
        .source = *source,
        .settings = settings,
        .spec = ret,
        .err = err,
    };

    *ret = (struct spec){.command = STRVEC_INIT, .env_set = STRVEC_INIT, .env_unset = STRVEC_INIT};
    if (read_all(&reading) == 0)
        return 0;
    spec_release(ret);
    return -1;
}

void spec_release(struct spec *spec)
{
    strvec_release(&spec->command);
    strvec_release(&spec->env_set);
    strvec_release(&spec->env_unset);
}
