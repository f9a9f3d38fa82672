/*
 * What the tables say of the spec's keys, for the comparison with lib/model/spec.schema.json in
 * tests/documents.bats: RANKINIT_SPEC_KEYS names a file that gets a line for each value,
 *
 *     PATH <tab> text|list|later|fixed <tab> SAMPLE <tab> SAMPLE ...
 *
 * with those of the samples (the first line has them all) that are accepted.
 */
#include <stdlib.h>

#include "model/option_values.h"
#include "model/spec_keys.h"
#include "tap.h"

static const char *const samples[] = {
    "true",        "false",
    "0",           "1",
    "2",           "7",
    "200",         "3000",
    "70000",       "2000000",
    "-1",          "auto",
    "gpu",         "cpu",
    "shared",      "isolated",
    "none",        "numa",
    "cpus",        "cores",
    "budget",      "keep",
    "leader",      "group",
    "signal",      "rank",
    "note",        "fail",
    "10:2",        "4:1",
    "0:3,",        "11",
    "dns",         "tcp",
    "both",        "default",
    "off",         "process",
    "node",        "torchrun",
    "300ms",       "25s",
    "1h30m",       "5m",
    "1m1h",        "1Ki",
    "1Gi",         "3:3",
    "1:4",         "TERM:USR1",
    "1.5",         "a b",
    "stderr",      "static",
    "on",          "no",
    "kubeflow-v1", "rw",
    "0-3,6",       "INT:0",
    "job-7",       "isolated-keep-rank",
    "from-job-id", "from-hostname",
};

#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

struct walk {
    FILE *out; /* NULL: nobody wants it */
    size_t values;
};

static const struct option_row *row_of(const char *path)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        if (option_rows[id].spec_key && strcmp(option_rows[id].spec_key, path) == 0)
            return &option_rows[id];
    }
    return NULL;
}

/* A flag is 1 or 0 in the environment only. */
static bool accepted(const struct option_row *row, const char *sample)
{
    return !(row->type == OPTION_FLAG && strlen(sample) == 1) && option_value_ok(row, sample);
}

static void add_value(struct walk *walk, const char *path, bool list)
{
    const struct option_row *row = row_of(path);

    walk->values++;
    if (!walk->out)
        return;
    fprintf(walk->out, "%s\t%s", path, row ? list ? "list" : "text" : "fixed");
    for (size_t i = 0; row && i < SAMPLES; i++) {
        if (accepted(row, samples[i]))
            fprintf(walk->out, "\t%s", samples[i]);
    }
    fprintf(walk->out, "\n");
}

static void walk_value(struct walk *walk, const cyaml_schema_value_t *schema, const char *path);

static void walk_mapping(struct walk *walk, const cyaml_schema_value_t *schema, const char *path)
{
    for (const cyaml_schema_field_t *field = schema->mapping.fields; field->key; field++) {
        char below[128];

        snprintf(below, sizeof(below), "%s%s%s", path, path[0] != '\0' ? "." : "", field->key);
        walk_value(walk, &field->value, below);
    }
}

static void walk_value(struct walk *walk, const cyaml_schema_value_t *schema, const char *path)
{
    char below[128];

    if (schema->type == CYAML_MAPPING) {
        walk_mapping(walk, schema, path);
    } else if (schema->type == CYAML_IGNORE) {
        if (walk->out)
            fprintf(walk->out, "%s\tlater\n", path);
    } else if (schema->type == CYAML_SEQUENCE && schema->sequence.entry->type == CYAML_MAPPING) {
        snprintf(below, sizeof(below), "%s[]", path);
        walk_value(walk, schema->sequence.entry, below);
    } else {
        add_value(walk, path, schema->type == CYAML_SEQUENCE);
    }
}

TEST(the_tables_tell_every_key)
{
    const char *path = getenv("RANKINIT_SPEC_KEYS");
    struct walk walk = {.out = path ? fopen(path, "w") : NULL};
    size_t keys = 0;

    tap_ok(!path || walk.out);
    if (walk.out) {
        for (size_t i = 0; i < SAMPLES; i++)
            fprintf(walk.out, i > 0 ? "\t%s" : "%s", samples[i]);
        fprintf(walk.out, "\n");
    }
    walk_value(&walk, &spec_file_schema, "");
    for (int id = 0; id < OPT__COUNT; id++)
        keys += option_rows[id].spec_key != NULL;
    tap_ok(walk.values > keys);
    if (walk.out)
        tap_eq_int(fclose(walk.out), 0);
}

TAP_MAIN()
