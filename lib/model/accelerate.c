#include "model/accelerate.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/scan.h"
#include "model/accelerate_doc.h"
#include "model/accelerate_rows.h"

#define MULTI      "MULTI_GPU|MULTI_NPU|MULTI_MLU|MULTI_SDAA|MULTI_MUSA|MULTI_XPU|MULTI_HPU|MULTI_NEURON"
#define NAMES_MAX  64
#define TEXT_SHOWN 80

struct judging {
    const struct accelerate_source *source;
    struct accelerate_doc doc;
    struct settings *settings;
    struct accelerate *out;
    struct err *err;
    bool active[ACCELERATE__COUNT];
    const char *type;
    long processes; /* of all machines; 0: not stated */
    long machines;
};

static struct accelerate_entry *find(struct judging *judging, const char *section, const char *key)
{
    for (size_t i = 0; i < judging->doc.count; i++) {
        struct accelerate_entry *entry = &judging->doc.entries[i];

        if (strcmp(entry->section, section) == 0 && strcmp(entry->key, key) == 0)
            return entry;
    }
    return NULL;
}

static bool is_key_of(const struct accelerate_row *row, const struct accelerate_entry *entry)
{
    const struct accelerate_section *section = &accelerate_sections[row->block];
    size_t prefix = section->prefix ? strlen(section->prefix) : 0;

    if (!row->key || strcmp(section->name, entry->section) != 0)
        return false;
    return strcmp(row->key, entry->key) == 0 ||
           (prefix > 0 && strcmp(row->key + prefix, entry->key) == 0);
}

static const struct accelerate_entry *entry_of(const struct judging *judging,
                                               const struct accelerate_row *row)
{
    for (size_t i = 0; i < judging->doc.count; i++) {
        if (is_key_of(row, &judging->doc.entries[i]))
            return &judging->doc.entries[i];
    }
    return NULL;
}

/* What the file says of a row; NULL: nothing, or null. */
static const char *stated(const struct judging *judging, const struct accelerate_row *row)
{
    const struct accelerate_entry *entry = entry_of(judging, row);

    return entry ? entry->text : NULL;
}

static const char *top(struct judging *judging, const char *key)
{
    const struct accelerate_entry *entry = find(judging, "", key);

    return entry ? entry->text : NULL;
}

static int refuse(const struct judging *judging, const struct accelerate_entry *entry,
                  const char *why)
{
    return err_set(judging->err, ERR_SPEC, "%s:%zu: %.*s: %s", judging->source->document.name,
                   entry ? entry->line : 1, TEXT_SHOWN, entry ? entry->key : "distributed_type",
                   why);
}

/* The keys that a section may have, and at the top the sections. */
static size_t list_names(const char *section, const char *names[static NAMES_MAX])
{
    size_t count = 0;

    for (const struct accelerate_row *row = accelerate_rows; row->block < ACCELERATE__COUNT;
         row++) {
        if (row->key && strcmp(accelerate_sections[row->block].name, section) == 0 &&
            count < NAMES_MAX)
            names[count++] = row->key;
    }
    for (int i = 0; *section == '\0' && i < ACCELERATE__COUNT && count < NAMES_MAX; i++)
        names[count++] = accelerate_sections[i].name;
    return count;
}

static int refuse_unknown(const struct judging *judging, const struct accelerate_entry *entry)
{
    const char *names[NAMES_MAX];
    const char *nearest = scan_nearest(entry->key, names, list_names(entry->section, names));

    return err_set(judging->err, ERR_SPEC, "%s:%zu: unknown key \"%.*s\"%s%s%s%s%s",
                   judging->source->document.name, entry->line, TEXT_SHOWN, entry->key,
                   *entry->section ? " in " : "", entry->section, nearest ? "; did you mean " : "",
                   nearest ? nearest : "", nearest ? "?" : "");
}

static bool is_section(const char *name)
{
    for (int i = 0; i < ACCELERATE__COUNT; i++) {
        if (*accelerate_sections[i].name && strcmp(accelerate_sections[i].name, name) == 0)
            return true;
    }
    return false;
}

static int check_key(const struct judging *judging, const struct accelerate_entry *entry)
{
    const struct accelerate_row *row = accelerate_rows;

    if (*entry->section == '\0' && is_section(entry->key))
        return entry->text ? refuse(judging, entry, "must be a mapping") : 0;
    while (row->block < ACCELERATE__COUNT && !is_key_of(row, entry))
        row++;
    if (row->block == ACCELERATE__COUNT)
        return refuse_unknown(judging, entry);
    if (row->how == ACCELERATE_UNUSED && entry->text &&
        !(row->dflt && scan_word(entry->text, row->dflt) >= 0))
        strvec_pushf(&judging->out->notices, "%s:%zu: %s has no effect here",
                     judging->source->document.name, entry->line, row->key);
    return 0;
}

/* What older files say in other words, and a plain `no` that became False. */
static void modernize(struct judging *judging)
{
    static const char *const words[] = {"mixed_precision", "distributed_type", "dynamo_backend",
                                        "backend"};
    struct accelerate_entry *legacy = find(judging, "", "fp16");
    struct accelerate_entry *backend = find(judging, "", "dynamo_backend");

    if (legacy && !find(judging, "", "mixed_precision")) {
        legacy->key = "mixed_precision";
        legacy->text = legacy->text && strcmp(legacy->text, "True") == 0 ? "fp16" : "no";
    }
    if (backend)
        backend->section = "dynamo_config";
    for (size_t i = 0; i < judging->doc.count; i++) {
        struct accelerate_entry *entry = &judging->doc.entries[i];

        for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++) {
            if (entry->text && strcmp(words[j], entry->key) == 0 &&
                strcmp(entry->text, "False") == 0)
                entry->text = "NO";
        }
    }
}

static bool is_true(const char *text)
{
    return text && scan_word(text, "True|true|TRUE|1|yes|y|on|t") >= 0;
}

/* The size of one kind of parallelism. */
static long parallel_size(const struct judging *judging, const char *key)
{
    const struct accelerate_row row = {.block = ACCELERATE_PARALLEL, .key = key};
    const char *text = stated(judging, &row);
    long size;

    return text && scan_int(text, 0, INT32_MAX, &size) ? size : 1;
}

static void activate(struct judging *judging)
{
    bool *active = judging->active;
    bool cpu = is_true(top(judging, "use_cpu")) || strcmp(judging->type, "MULTI_CPU") == 0;
    const char *precision = top(judging, "mixed_precision");

    active[ACCELERATE_TOP] = true;
    active[ACCELERATE_CPU] = cpu;
    active[ACCELERATE_PLAIN] = !cpu && strcmp(judging->type, "NO") == 0;
    active[ACCELERATE_FSDP] = strcmp(judging->type, "FSDP") == 0;
    active[ACCELERATE_DEEPSPEED] = strcmp(judging->type, "DEEPSPEED") == 0;
    active[ACCELERATE_MEGATRON] = strcmp(judging->type, "MEGATRON_LM") == 0;
    active[ACCELERATE_DYNAMO] = !active[ACCELERATE_DEEPSPEED];
    active[ACCELERATE_FP8] = precision && strcasecmp(precision, "fp8") == 0;
    for (size_t i = 0; i < judging->doc.count; i++) {
        if (strcmp(judging->doc.entries[i].section, "parallelism_config") == 0)
            active[ACCELERATE_PARALLEL] = !cpu && !active[ACCELERATE_PLAIN];
    }
    active[ACCELERATE_PARALLEL_CP] = active[ACCELERATE_PARALLEL] &&
                                     parallel_size(judging, "parallelism_config_cp_size") > 1;
    active[ACCELERATE_PARALLEL_SP] = active[ACCELERATE_PARALLEL] &&
                                     parallel_size(judging, "parallelism_config_sp_size") > 1;
}

static int check_type(struct judging *judging)
{
    const struct accelerate_entry *place = find(judging, "", "compute_environment");
    const struct accelerate_entry *type = find(judging, "", "distributed_type");
    const struct accelerate_entry *precision = find(judging, "", "mixed_precision");

    if (place && place->text && strcmp(place->text, "LOCAL_MACHINE") != 0)
        return refuse(judging, place, "only LOCAL_MACHINE can be started here");
    if (!type || !type->text)
        return refuse(judging, type, "must be stated");
    if (scan_word(type->text, "XLA|TPU") >= 0)
        return refuse(judging, type, "TPUs are not supported");
    if (scan_word(type->text, "NO|MULTI_CPU|DEEPSPEED|FSDP|MEGATRON_LM|" MULTI) < 0)
        return refuse(judging, type,
                      "is none of NO, MULTI_CPU, MULTI_GPU (NPU, MLU, SDAA, MUSA, XPU, HPU, "
                      "NEURON), DEEPSPEED, FSDP, MEGATRON_LM");
    judging->type = type->text;
    if (precision && precision->text &&
        scan_word(precision->text, "NO|no|fp16|FP16|bf16|BF16|fp8|FP8") < 0)
        return refuse(judging, precision, "is none of no, fp16, bf16, fp8");
    return 0;
}

/* What accelerate refuses too, or lets pass and then fails late. */
static int check_together(struct judging *judging)
{
    const struct accelerate_entry *cpu = find(judging, "", "use_cpu");
    const struct accelerate_entry *ids = find(judging, "", "gpu_ids");
    const struct accelerate_row load = {.block = ACCELERATE_FSDP,
                                        .key = "fsdp_cpu_ram_efficient_loading"};
    const struct accelerate_row sync = {.block = ACCELERATE_FSDP, .key = "fsdp_sync_module_states"};
    bool multi = scan_word(judging->type, MULTI) >= 0;

    if (cpu && is_true(cpu->text) && scan_word(judging->type, "NO|MULTI_CPU") < 0)
        return refuse(judging, cpu, "true contradicts a distributed_type for accelerators");
    if (multi && judging->processes == 1)
        return refuse(judging, find(judging, "", "num_processes"),
                      "1 is too few for this distributed_type, which needs at least 2");
    if (multi && judging->machines == 1 && ids && ids->text && strcmp(ids->text, "all") != 0 &&
        !strchr(ids->text, ','))
        return refuse(judging, ids, "names one device for a distributed_type that needs two");
    if (judging->active[ACCELERATE_FSDP] &&
        (!stated(judging, &load) || is_true(stated(judging, &load))) && stated(judging, &sync) &&
        !is_true(stated(judging, &sync)))
        return refuse(judging, entry_of(judging, &sync),
                      "must be true with fsdp_cpu_ram_efficient_loading");
    return 0;
}

static int read_count(struct judging *judging, const char *key, long *ret)
{
    const struct accelerate_entry *entry = find(judging, "", key);

    if (!entry || !entry->text)
        return 0;
    if (!scan_int(entry->text, -1, 1000000, ret) || *ret == 0)
        return refuse(judging, entry, "is no number of processes or machines");
    return 0;
}

static int offer(const struct judging *judging, const struct accelerate_entry *entry,
                 enum option_id id, const char *text)
{
    CLEANUP(strvec_release) struct strvec scratch = STRVEC_INIT;
    const char *origin = strvec_pushf(&scratch, "%s:%zu: %s", judging->source->document.name,
                                      entry->line, entry->key);

    return settings_offer(judging->settings, id, &(struct setting){SOURCE_ACCELERATE, text, origin},
                          judging->err);
}

/* num_processes counts those of all machines, however many those are said to be. */
static int offer_processes(struct judging *judging)
{
    const struct accelerate_entry *entry = find(judging, "", "num_processes");
    bool told = settings_stated(judging->settings, OPT_NNODES);
    long machines = told ? settings_int(judging->settings, OPT_NNODES) : judging->machines;
    char text[24];

    if (!entry && strcmp(judging->type, "NO") == 0)
        return offer(judging, find(judging, "", "distributed_type"), OPT_NPROC_PER_NODE, "1");
    if (!entry || judging->processes <= 0)
        return 0;
    if (machines > 0 && judging->processes % machines != 0)
        return err_set(judging->err, ERR_SPEC,
                       "%s:%zu: num_processes: %ld counts the processes of all machines, and "
                       "cannot be divided by %ld machines (%s)",
                       judging->source->document.name, entry->line, judging->processes, machines,
                       told ? judging->settings->rows[OPT_NNODES].origin : "num_machines");
    snprintf(text, sizeof(text), "%ld", judging->processes / (machines > 0 ? machines : 1));
    return offer(judging, entry, OPT_NPROC_PER_NODE, text);
}

/* Keys that are settings of ours. */
static int offer_all(struct judging *judging)
{
    static const struct {
        const char *key, *unset; /* words that state nothing */
        enum option_id id;
        bool several; /* only with several machines: else accelerate does not read it */
    } rows[] = {
        {"num_machines", "1", OPT_NNODES, false},
        {"machine_rank", "-1", OPT_NODE_RANK, true},
        {"main_process_ip", "", OPT_MASTER_ADDR, true},
        {"main_process_port", "0", OPT_MASTER_PORT, false},
        {"gpu_ids", "all", OPT_DEVICES, false},
    };
    const struct accelerate_entry *affinity = find(judging, "", "enable_cpu_affinity");

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct accelerate_entry *entry = find(judging, "", rows[i].key);

        if (!entry || !entry->text || strcmp(entry->text, rows[i].unset) == 0 ||
            (rows[i].several && judging->machines <= 1))
            continue;
        if (offer(judging, entry, rows[i].id, entry->text) < 0)
            return -1;
    }
    if (affinity && is_true(affinity->text) && offer(judging, affinity, OPT_CPU_BIND, "numa") < 0)
        return -1;
    return offer_processes(judging);
}

/* Entry `index` of a list with commas, to room. */
static const char *part_of(const char *list, int index, char room[static 64])
{
    for (; index > 0 && list; index--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    snprintf(room, 64, "%.*s", list ? (int)strcspn(list, ",") : 0, list ? list : "");
    return room;
}

static void push_variable(struct judging *judging, const struct accelerate_row *row)
{
    const char *text = row->key ? stated(judging, row) : NULL;
    struct strvec *env = &judging->out->env;
    char room[64];

    if (row->how == ACCELERATE_IF_TRUE)
        text = is_true(text) ? "true" : NULL;
    else if (!text)
        text = row->dflt;
    if (!text)
        return;
    if (row->how >= ACCELERATE_FIRST && row->how <= ACCELERATE_THIRD)
        text = part_of(text, (int)row->how - ACCELERATE_FIRST, room);
    env_set(env, row->variable, text);
    if (row->how == ACCELERATE_LOWER || row->how == ACCELERATE_UPPER) {
        char *at = strchr(env->items[env->count - 1], '=');

        for (; at && *at != '\0'; at++)
            *at = (char)(row->how == ACCELERATE_LOWER ? tolower((unsigned char)*at)
                                                      : toupper((unsigned char)*at));
    }
}

/* What of DeepSpeed's own configuration comes from here, and the way to modules beside the script. */
static void push_deepspeed(struct judging *judging)
{
    struct strvec *texts = &judging->doc.texts;
    const char *path = env_get(judging->source->envp, "PYTHONPATH");
    const char *fields = "";

    for (size_t i = 0; i < judging->doc.count; i++) {
        const struct accelerate_entry *entry = &judging->doc.entries[i];

        if (strcmp(entry->section, "deepspeed_config") == 0)
            fields = strvec_pushf(texts, "%s%s%s", fields, *fields ? "," : "", entry->key);
    }
    if (top(judging, "mixed_precision"))
        fields = strvec_pushf(texts, "%s%smixed_precision", fields, *fields ? "," : "");
    env_set(&judging->out->env, "ACCELERATE_CONFIG_DS_FIELDS", fields);
    env_setf(&judging->out->env, "PYTHONPATH", "%s%s%s", path ? path : "", path && *path ? ":" : "",
             judging->source->cwd);
}

static void push_env(struct judging *judging)
{
    for (const struct accelerate_row *row = accelerate_rows; row->block < ACCELERATE__COUNT;
         row++) {
        if (row->variable && judging->active[row->block])
            push_variable(judging, row);
    }
    if (judging->active[ACCELERATE_DEEPSPEED])
        push_deepspeed(judging);
}

static void note_file(struct judging *judging)
{
    const struct spec_source *document = &judging->source->document;

    strvec_pushf(&judging->out->notices, "Accelerate's configuration: %s (cksum %u %zu), %s",
                 document->name, accelerate_checksum(document->bytes, document->len), document->len,
                 judging->type);
    if (strcmp(judging->type, "NO") == 0 && judging->processes > 1)
        strvec_pushf(&judging->out->notices,
                     "%s: num_processes: %ld ranks are started; accelerate launch starts one "
                     "process with distributed_type NO",
                     document->name, judging->processes);
}

static int judge(struct judging *judging)
{
    if (accelerate_doc_read(&judging->source->document, &judging->doc, judging->err) < 0)
        return -1;
    for (size_t i = 0; i < judging->doc.count; i++) {
        if (check_key(judging, &judging->doc.entries[i]) < 0)
            return -1;
    }
    modernize(judging);
    judging->machines = 1;
    if (check_type(judging) < 0 || read_count(judging, "num_processes", &judging->processes) < 0 ||
        read_count(judging, "num_machines", &judging->machines) < 0)
        return -1;
    activate(judging);
    if (check_together(judging) < 0 || offer_all(judging) < 0)
        return -1;
    push_env(judging);
    note_file(judging);
    return 0;
}

int accelerate_read(const struct accelerate_source *source, struct settings *settings,
                    struct accelerate *ret, struct err *err)
{
    struct judging judging = {.source = source, .settings = settings, .out = ret, .err = err};
    int result;

    *ret = (struct accelerate){.env = STRVEC_INIT, .notices = STRVEC_INIT};
    result = judge(&judging);
    accelerate_doc_release(&judging.doc);
    return result;
}

void accelerate_release(struct accelerate *accelerate)
{
    strvec_release(&accelerate->env);
    strvec_release(&accelerate->notices);
}
