#include "model/platform.h"

#include <string.h>

#include "model/option_values.h"
#include "model/platform_parts.h"

#define PET_PREFIX "PET_"
#define PET_ALIAS  "PET_N_PROC_PER_NODE" /* as PyTorchJob 1.4 spelt it */
#define SHOWN      80                    /* bytes of a value that a message repeats */

/* One reading of the environment. */
struct reading {
    const char *const *envp;
    struct settings *settings;
    struct strvec *notices;
};

bool platform_nested(const char *const *envp)
{
    return env_get(envp, "RANKINIT_THIS_RANK") != NULL;
}

/* Kubernetes makes NAME_PORT=tcp://... for every Service: MASTER_PORT for one called master. */
static bool is_service_link(const char *value)
{
    return strncmp(value, "tcp://", 6) == 0 || strncmp(value, "udp://", 6) == 0 ||
           strncmp(value, "sctp://", 7) == 0;
}

const char *platform_value(const char *const *envp, const char *name)
{
    const char *value = env_get(envp, name);

    return value && *value != '\0' && !is_service_link(value) ? value : NULL;
}

/* The text of an option's PET_ variable, NULL if absent; *ret_name is room or a constant. */
static const char *pet_text(const char *const *envp, enum option_id id, char room[static 64],
                            const char **ret_name)
{
    const char *text;

    *ret_name = options_twin(id, PET_PREFIX, room);
    text = env_get(envp, *ret_name);
    if (text || id != OPT_NPROC_PER_NODE)
        return text;
    *ret_name = PET_ALIAS;
    return env_get(envp, PET_ALIAS);
}

bool platform_pet_decides(const char *const *envp)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        const struct option_row *row = &option_rows[id];
        char room[64];
        const char *name, *text;

        if (!row->pet || !row->shape)
            continue;
        text = pet_text(envp, (enum option_id)id, room, &name);
        if (!text)
            continue;
        if (id == OPT_STANDALONE ? !option_value_same(row, text, "false")
                                 : platform_value(envp, name) != NULL)
            return true;
    }
    return false;
}

bool platform_states_shape(const char *const *envp)
{
    if (platform_nested(envp))
        return false;
    return platform_pet_decides(envp) ||
           (platform_value(envp, "RANK") && platform_value(envp, "WORLD_SIZE"));
}

/* True if the text says nothing, which is noted. */
static bool note_unset(const struct reading *reading, const char *name, const char *text)
{
    if (*text == '\0')
        strvec_pushf(reading->notices, "%s is empty: taken as unset", name);
    else if (is_service_link(text))
        strvec_pushf(reading->notices, "%s=%.*s is a link to a Kubernetes Service: taken as unset",
                     name, SHOWN, text);
    else
        return false;
    return true;
}

static int read_pet(const struct reading *reading, enum option_id id, struct err *err)
{
    char room[64];
    const char *name;
    const char *text = pet_text(reading->envp, id, room, &name);

    /* A stronger source wins silently, whatever is here: so can a bad value be overruled. */
    if (!text || reading->settings->rows[id].source >= SOURCE_TWIN)
        return 0;
    if (id == OPT_STANDALONE && *text == '\0')
        text = "true"; /* the operator's way to say so */
    if (note_unset(reading, name, text))
        return 0;
    return settings_offer(reading->settings, id, &(struct setting){SOURCE_PLATFORM, text, name},
                          err);
}

static bool is_pet_name(const char *name, size_t len)
{
    static const char *const links[] = {"PET_SERVICE_", "PET_PORT"}; /* a Service called pet */

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (strncmp(name, links[i], strlen(links[i])) == 0)
            return true;
    }
    for (int id = 0; id < OPT__COUNT; id++) {
        char room[64];

        options_twin((enum option_id)id, PET_PREFIX, room);
        if (option_rows[id].pet && strlen(room) == len && memcmp(room, name, len) == 0)
            return true;
    }
    return strlen(PET_ALIAS) == len && memcmp(PET_ALIAS, name, len) == 0;
}

/* A PET_ name that nothing reads, with the one that was probably meant. */
static void note_unknown(const struct reading *reading, const char *name, size_t len)
{
    size_t prefix = strlen(PET_PREFIX);
    int id = options_nearest(name + prefix, len - prefix);
    char room[64];

    if (id >= 0 && option_rows[id].pet)
        strvec_pushf(reading->notices,
                     "%.*s has no effect: no setting of that name is read; did you mean %s?",
                     (int)len, name, options_twin((enum option_id)id, PET_PREFIX, room));
    else
        strvec_pushf(reading->notices, "%.*s has no effect: no setting of that name is read",
                     (int)len, name);
}

static int read_all_pet(const struct reading *reading, struct err *err)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        if (option_rows[id].pet && read_pet(reading, (enum option_id)id, err) < 0)
            return -1;
    }
    for (size_t i = 0; reading->envp[i]; i++) {
        const char *entry = reading->envp[i];
        size_t len = strcspn(entry, "=");

        if (strncmp(entry, PET_PREFIX, strlen(PET_PREFIX)) == 0 && !is_pet_name(entry, len))
            note_unknown(reading, entry, len);
    }
    return 0;
}

static int read_bare(const struct reading *reading, enum option_id id, const char *name,
                     struct err *err)
{
    const char *text = env_get(reading->envp, name);

    if (!text || reading->settings->rows[id].source >= SOURCE_TWIN)
        return 0;
    if (note_unset(reading, name, text))
        return 0;
    return settings_offer(reading->settings, id, &(struct setting){SOURCE_PLATFORM, text, name},
                          err);
}

/* MASTER_ADDR and MASTER_PORT: weaker than the PET_* that say the same. */
static int read_master(const struct reading *reading, struct err *err)
{
    const char *const *envp = reading->envp;
    bool endpoint = platform_value(envp, "PET_RDZV_ENDPOINT") != NULL;

    if (!endpoint && !platform_value(envp, "PET_MASTER_ADDR") &&
        read_bare(reading, OPT_MASTER_ADDR, "MASTER_ADDR", err) < 0)
        return -1;
    if (!endpoint && !platform_value(envp, "PET_MASTER_PORT"))
        return read_bare(reading, OPT_MASTER_PORT, "MASTER_PORT", err);
    return 0;
}

/* Half of a pair says nothing that could be understood. */
static void note_half(const struct reading *reading)
{
    static const char *const pair[] = {"RANK", "WORLD_SIZE"};

    for (int i = 0; i < 2; i++) {
        if (platform_value(reading->envp, pair[i]) && !platform_value(reading->envp, pair[1 - i]) &&
            !platform_pet_decides(reading->envp))
            strvec_pushf(reading->notices, "%s is set without %s: not read", pair[i], pair[1 - i]);
    }
}

/* By what only they set. */
static const char *pet_name(const char *const *envp)
{
    if (platform_value(envp, "MASTER_ADDR") || platform_value(envp, "RANK") ||
        platform_value(envp, "PET_RDZV_ENDPOINT"))
        return "PyTorchJob";
    if (platform_value(envp, "PET_NODE_RANK") && platform_value(envp, "JOB_COMPLETION_INDEX"))
        return "TrainJob";
    return "PET_*";
}

int platform_read(struct platform *platform, struct settings *settings, struct strvec *notices,
                  struct err *err)
{
    const struct reading reading = {
        .envp = platform->envp, .settings = settings, .notices = notices};

    if (platform_settle_ordinal(platform, settings, err) < 0)
        return -1;
    if (platform_nested(platform->envp))
        return 0;
    if (platform_pet_decides(platform->envp))
        platform->name = pet_name(platform->envp);
    if (read_all_pet(&reading, err) < 0 || platform_settle_ordinal(platform, settings, err) < 0)
        return -1;
    if (platform->torchrun)
        return 0;
    note_half(&reading);
    return read_master(&reading, err);
}
