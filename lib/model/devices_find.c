/*
 * The pool: whose devices, named by which variable, and which of them exist.
 */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/scan.h"
#include "model/devices_parts.h"

#define LIST_MAX 4096
#define BLANKS   " \t"

/* The forms that mean "no devices" in practice; Slurm writes NoDevFiles. */
static bool hides_all(const struct vendor *vendor, const char *text)
{
    text += strspn(text, BLANKS);
    return (*text == '\0' && !vendor->empty_is_all) ||
           scan_word(text, "-1|none|void|NoDevFiles") >= 0;
}

/* Distinct names of one kind that the container runtime was asked for; how often they come again. */
struct granted {
    struct strvec names;
    int again;
};

static void read_granted(const char *text, const char *kind, struct granted *granted)
{
    while (text && *text != '\0') {
        bool again = false;
        char room[DEVICE_TOKEN_MAX];
        struct buf entry = BUF_OVER(room);

        text += strspn(text, BLANKS);
        buf_add(&entry, text, strcspn(text, "," BLANKS));
        text += strcspn(text, ",");
        text += *text == ',';
        if (strncmp(room, kind, strlen(kind)) != 0)
            continue;
        for (size_t i = 0; i < granted->names.count; i++)
            again = again || strcasecmp(granted->names.items[i], room) == 0;
        if (again)
            granted->again++;
        else
            strvec_push(&granted->names, room);
    }
}

/* True if a token of the pool is the wanted device; a discovered pool may have only numbers. */
static bool is_wanted(const struct devices *devices, const struct facts *facts,
                      const struct token *token, const struct token *wanted)
{
    const struct facts_device *device;

    if (!devices->discovered || token->kind != TOKEN_INDEX || wanted->kind != TOKEN_GPU)
        return device_same(devices, facts, token, wanted);
    device = devices_node(devices, facts, wanted->text);
    return device && device == devices_node(devices, facts, token->text);
}

/* Place in the pool of what an entry of --devices selects; -1 if it is not in the pool. */
static int select_token(const struct devices *devices, const struct facts *facts,
                        const struct token *wanted)
{
    int found = -1;

    for (size_t i = 0; i < devices->pool.count; i++) {
        struct token token = device_token(devices->vendor, devices->pool.items[i]);
        bool prefix = token.kind == wanted->kind && token.kind != TOKEN_INDEX &&
                      token.kind != TOKEN_TILE &&
                      strncasecmp(token.text, wanted->text, strlen(wanted->text)) == 0;

        if (is_wanted(devices, facts, &token, wanted))
            return (int)i;
        if (prefix && found >= 0)
            return -1;
        if (prefix)
            found = (int)i;
    }
    /* What was discovered may be told by its place too, whatever it is called. */
    if (found < 0 && devices->discovered && wanted->kind == TOKEN_INDEX &&
        wanted->index < (long)devices->pool.count &&
        device_token(devices->vendor, devices->pool.items[0]).kind != TOKEN_INDEX)
        found = (int)wanted->index;
    return found;
}

int devices_position(const struct devices *devices, const struct facts *facts, const char *text)
{
    struct token token = device_token(devices->vendor, text);

    return select_token(devices, facts, &token);
}

static void add_number(void *context, long number)
{
    struct buf *out = context;

    buf_addf(out, out->len > 0 ? ",%ld" : "%ld", number);
}

/* Reads a list in our own words. */
static int read_own_list(const struct devices *devices, const struct facts *facts,
                         const struct setting *setting, struct strvec *ret, struct err *err)
{
    char room[LIST_MAX];
    struct buf numbers = BUF_OVER(room);
    struct device_list list = {.name = setting->origin,
                               .text = setting->text,
                               .facts = facts,
                               .devices = devices,
                               .pool = ret,
                               .strict = true,
                               .limit = devices->nested ? 0 : devices->nodes};

    if (devices->discovered) /* but once narrowed, the pool says nothing of what there is */
        list.limit = strcmp(devices->origin, "--devices") == 0 ? 0 : (int)devices->pool.count;
    if (scan_list(setting->text, DEVICE_INDEX_MAX, add_number, &numbers) && !numbers.truncated)
        list.text = room; /* ranges written out */
    return device_list_read(&list, err);
}

int devices_select(const struct devices *devices, const struct facts *facts,
                   const struct setting *list, struct strvec *ret, struct err *err)
{
    CLEANUP(strvec_release) struct strvec wanted = STRVEC_INIT;

    if (read_own_list(devices, facts, list, &wanted, err) < 0)
        return -1;
    for (size_t i = 0; i < wanted.count; i++) {
        struct token token = device_token(devices->vendor, wanted.items[i]);
        int found = select_token(devices, facts, &token);
        const char *text = found < 0 ? "" : devices->pool.items[found];
        bool number = device_token(devices->vendor, text).kind == TOKEN_INDEX;

        if (found < 0)
            return err_set(err, ERR_SPEC, "%s=%s: \"%s\" is not among the devices of %s",
                           list->origin, list->text, token.text, devices->origin);
        /* A UUID stays what it is where the pool has only numbers. */
        strvec_push(ret, token.kind == TOKEN_GPU && number ? wanted.items[i] : text);
    }
    return 0;
}

/* --devices: within the pool; of devices that cannot be counted it is the pool. */
static int apply_list(struct devices *devices, const struct facts *facts,
                      const struct setting *setting, struct err *err)
{
    CLEANUP(strvec_release) struct strvec chosen = STRVEC_INIT;
    int rc = devices->pool.count > 0 ? devices_select(devices, facts, setting, &chosen, err)
                                     : read_own_list(devices, facts, setting, &chosen, err);

    if (rc < 0)
        return -1;
    strvec_release(&devices->pool);
    devices->pool = chosen;
    chosen = (struct strvec)STRVEC_INIT;
    devices->origin = "--devices";
    return 0;
}

static void count_nodes(struct devices *devices, const struct facts *facts)
{
    for (int i = 0; i < facts->device_count; i++) {
        const struct facts_device *device = &facts->devices[i];

        if (device_usable(device, devices->vendor)) {
            devices->nodes++;
        } else if (device->vendor == devices->vendor->id && !device->accessible) {
            if (devices->denied++ == 0)
                devices->denied_errno = device->denied;
        }
    }
}

/*
 * MIG instances: by the names that the runtime was given, if it was given just these; else by the
 * older form that tells where they are. A single one is what number 0 means.
 */
static int discover_migs(struct devices *devices, const struct facts *facts,
                         const struct strvec *granted, struct err *err)
{
    devices->origin = "/dev/nvidia-caps";
    if ((int)granted->count == facts->mig_count) {
        strvec_push_all(&devices->pool, strvec_texts(granted));
        return 0;
    }
    for (int i = 0; i < facts->mig_count; i++) {
        const struct facts_mig *mig = &facts->migs[i];
        const struct facts_device *gpu = facts->devices;

        while (gpu->vendor != VENDOR_NVIDIA || gpu->minor != mig->minor)
            gpu++;
        if (gpu->uuid[0])
            strvec_pushf(&devices->pool, "MIG-%s/%d/%d", gpu->uuid, mig->gpu_instance,
                         mig->compute_instance);
        else if (facts->mig_count == 1)
            strvec_push(&devices->pool, "0");
        else
            return err_set(err, ERR_SPEC,
                           "there are %d MIG instances, but nothing tells their names: name them "
                           "in CUDA_VISIBLE_DEVICES (nvidia-smi -L lists them)",
                           facts->mig_count);
    }
    return 0;
}

/* CUDA renumbers what it finds in a container: indices count from 0, whatever the minors are. */
static void discover_nodes(struct devices *devices, const struct facts *facts)
{
    const struct facts_device *device;
    bool uuids = devices->mps;

    for (int i = 0; (device = device_at(facts, devices->vendor, i)); i++)
        uuids = uuids && device->uuid[0];
    for (int i = 0; (device = device_at(facts, devices->vendor, i)); i++) {
        if (uuids)
            strvec_push(&devices->pool, device->uuid);
        else
            strvec_pushf(&devices->pool, "%d", device->numbered ? device->index : i);
    }
    devices->origin = devices->vendor->nodes;
}

/* Without nodes there may still be devices: a sign of another kind, or --vendor, says so. */
static void find_uncounted(struct devices *devices, const struct settings *settings,
                           const struct facts *facts)
{
    if (devices->denied > 0)
        return;
    if (facts->other_accelerator && facts->other_vendor == devices->vendor->id)
        devices->foreign = facts->other_accelerator;
    else if (settings_word(settings, OPT_VENDOR) > 0 && devices->vendor->id != VENDOR_NVIDIA)
        devices->foreign = devices->vendor->name;
}

/* Entries of an outer variable, which the inner one's indices count in; 0 if it is not set. */
static int count_outer(const struct devices *devices, const char *const *envp)
{
    const char *const *names = devices->vendor->variables;
    const char *text = NULL;
    int count = 1;

    for (int i = 1; i < VENDOR_VARIABLES && names[i]; i++) {
        bool outermost = i + 1 == VENDOR_VARIABLES || !names[i + 1];

        if (outermost && strcmp(names[i], devices->variable) != 0)
            text = env_get(envp, names[i]);
    }
    for (const char *at = text ? text : ""; *at; at++)
        count += *at == ',';
    return text && *text ? count : 0;
}

static int read_pool(struct devices *devices, const struct facts *facts, const char *inherited,
                     const char *const *envp, struct err *err)
{
    struct device_list list = {.name = devices->variable,
                               .text = inherited,
                               .facts = facts,
                               .devices = devices,
                               .pool = &devices->pool,
                               .limit = count_outer(devices, envp)};

    devices->nested = list.limit > 0;
    if (!devices->nested)
        list.limit = devices->nodes;
    devices->origin = devices->variable;
    devices->hidden = hides_all(devices->vendor, inherited);
    return devices->hidden ? 0 : device_list_read(&list, err);
}

static int find_pool(struct devices *devices, const struct settings *settings,
                     const struct facts *facts, const char *const *envp, struct err *err)
{
    const char *inherited = env_get(envp, devices->variable);
    struct granted migs = {.names = STRVEC_INIT};
    int rc = 0;

    if (inherited && (inherited[0] || !devices->vendor->empty_is_all))
        return read_pool(devices, facts, inherited, envp, err);
    devices->discovered = true;
    if (devices->vendor->mig && facts->mig_count > 0) {
        read_granted(env_get(envp, "NVIDIA_VISIBLE_DEVICES"), "MIG-", &migs);
        rc = discover_migs(devices, facts, &migs.names, err);
        strvec_release(&migs.names);
    } else if (devices->nodes > 0) {
        discover_nodes(devices, facts);
    } else {
        find_uncounted(devices, settings, facts);
    }
    return rc;
}

/* torchrun's --virtual-local-rank is a mode of ours. */
static int find_mode(const struct settings *settings, enum device_mode *ret, struct err *err)
{
    enum device_mode mode = (enum device_mode)settings_word(settings, OPT_DEVICE_MODE);

    if (settings_flag(settings, OPT_VIRTUAL_LOCAL_RANK)) {
        if (mode != DEVICE_AUTO && mode != DEVICE_ISOLATED)
            return err_set(err, ERR_SPEC, "%s asks for the mode isolated, %s for %s: state one",
                           settings->rows[OPT_VIRTUAL_LOCAL_RANK].origin,
                           settings->rows[OPT_DEVICE_MODE].origin,
                           settings_text(settings, OPT_DEVICE_MODE));
        mode = DEVICE_ISOLATED;
    }
    *ret = mode;
    return 0;
}

static const char *set_variable(const struct vendor *vendor, const char *const *envp)
{
    for (int i = 0; i < VENDOR_VARIABLES && vendor->variables[i]; i++) {
        if (env_get(envp, vendor->variables[i]))
            return vendor->variables[i];
    }
    return NULL;
}

/* --vendor; else whose nodes are here, in the order of the table; else whose variable is set. */
static const struct vendor *find_vendor(const struct settings *settings, const struct facts *facts,
                                        const char *const *envp)
{
    int word = settings_word(settings, OPT_VENDOR);

    if (word > 0)
        return &vendors[word - 1];
    for (int id = 0; id < VENDOR__COUNT; id++) {
        for (int i = 0; i < facts->device_count; i++) {
            if (vendors[id].by_nodes && facts->devices[i].vendor == vendors[id].id)
                return &vendors[id];
        }
    }
    if (facts->other_accelerator)
        return &vendors[facts->other_vendor];
    for (int id = 0; id < VENDOR__COUNT; id++) {
        if (set_variable(&vendors[id], envp))
            return &vendors[id];
    }
    return &vendors[VENDOR_NVIDIA];
}

/* What NVIDIA's container runtime was asked for, as far as it is told by UUID. */
static void find_evidence(struct devices *devices, const char *const *envp)
{
    struct granted gpus = {.names = STRVEC_INIT};

    if (devices->vendor->id != VENDOR_NVIDIA)
        return;
    read_granted(env_get(envp, "NVIDIA_VISIBLE_DEVICES"), "GPU-", &gpus);
    devices->evidence = (int)gpus.names.count;
    devices->replicas = gpus.again > 0 ? devices->evidence + gpus.again : 0;
    devices->mps = env_get(envp, "CUDA_MPS_PIPE_DIRECTORY") != NULL;
    devices->set_order = !env_get(envp, "CUDA_DEVICE_ORDER");
    strvec_release(&gpus.names);
}

int devices_find(const struct settings *settings, const struct facts *facts,
                 const char *const *envp, struct devices *ret, struct err *err)
{
    const struct setting *list = &settings->rows[OPT_DEVICES];

    *ret = (struct devices){.origin = "none", .mode = DEVICE_AUTO};
    ret->per_rank = (int)settings_int(settings, OPT_GPUS_PER_RANK);
    ret->vendor = find_vendor(settings, facts, envp);
    ret->variable = set_variable(ret->vendor, envp);
    if (!ret->variable)
        ret->variable = ret->vendor->own;
    find_evidence(ret, envp);
    count_nodes(ret, facts);
    if (find_mode(settings, &ret->mode, err) < 0 ||
        find_pool(ret, settings, facts, envp, err) < 0 ||
        (list->text && (ret->pool.count > 0 || ret->foreign) &&
         apply_list(ret, facts, list, err) < 0)) {
        devices_release(ret);
        return -1;
    }
    return 0;
}
