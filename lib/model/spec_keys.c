#include "model/spec_keys.h"

#define ENV_MAX  4096 /* entries of env: */
#define ROWS_MAX 4096 /* of ranks:, as many as ranks */

/* NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names of members. */

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

static const cyaml_schema_field_t row_fields[] = {
    TEXT_FIELD("local", struct spec_row, local, 1),
    TEXT_FIELD("devices", struct spec_row, devices, 1),
    TEXT_FIELD("cpus", struct spec_row, cpus, 1),
    CYAML_FIELD_SEQUENCE("env", CYAML_FLAG_POINTER | OPTIONAL, struct spec_row, env, &env_schema, 0,
                         ENV_MAX),
    TEXTS_FIELD("command", struct spec_row, command, &argument_schema),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t row_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct spec_row, row_fields)};

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
    CYAML_FIELD_SEQUENCE("ranks", CYAML_FLAG_POINTER | OPTIONAL, struct spec_file, ranks,
                         &row_schema, 0, ROWS_MAX),
    SPEC_SECTIONS(SECTION_FIELD) CYAML_FIELD_END,
};

const cyaml_schema_value_t spec_file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct spec_file, file_fields)};

#define TARGET_VALUE(section, key, id) {id, false, offsetof(struct spec_file, section.key)},
#define TARGET_LIST(section, key, id)  {id, true, offsetof(struct spec_file, section.key)},
#define SECTION_TARGETS(section)       SPEC_KEYS_##section(TARGET_VALUE, TARGET_LIST)

/* clang-format off */
const struct spec_target spec_targets[] = {
    {OPT_WORKDIR, false, offsetof(struct spec_file, workdir)},
    SPEC_SECTIONS(SECTION_TARGETS)
    {OPT__COUNT, false, 0},
};
/* clang-format on */

/* NOLINTEND(bugprone-macro-parentheses) */
