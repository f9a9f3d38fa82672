/*
 * The pool. What CUDA_VISIBLE_DEVICES means is for the driver to say: this reads a list as it does
 * (strtol for indices, unique prefixes for UUIDs), and refuses where the driver would quietly
 * drop something.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/scan.h"
#include "model/devices.h"

#define TOKEN_MAX 128 /* bytes of a token; the longest form, MIG-GPU-uuid/gi/ci, has about 60 */
#define INDEX_MAX 4095
#define LIST_MAX  4096
#define BLANKS    " \t"
#define UNKNOWN   (-1)
#define AMBIGUOUS (-2)
#define UNTOLD    (-3)

enum kind { KIND_BAD, KIND_INDEX, KIND_GPU, KIND_MIG };

struct token {
    enum kind kind;
    long index; /* of KIND_INDEX */
    char text[TOKEN_MAX];
};

/* A list that is being read. */
struct reader {
    const char *name; /* the variable or option, for messages */
    const char *text;
    const struct facts *facts;
    const struct devices *devices;
    struct strvec *pool; /* what it is read into */
    bool strict;         /* a list in our own words: "1gpu" is no index there */
};

static struct token token_of(const char *text)
{
    struct token token = {.kind = KIND_BAD};
    struct buf out = BUF_OVER(token.text);
    char *end;

    buf_adds(&out, text);
    if (strncmp(text, "GPU-", 4) == 0) {
        token.kind = KIND_GPU;
    } else if (strncmp(text, "MIG-", 4) == 0) {
        token.kind = KIND_MIG;
    } else {
        token.index = strtol(text, &end, 10);
        if (end != text && token.index >= 0 && token.index <= INDEX_MAX)
            token.kind = KIND_INDEX;
    }
    return token;
}

/* The accessible node with that UUID prefix: its number among them, or why there is none. */
static int node_of_uuid(const struct facts *facts, const char *prefix)
{
    int number = 0, found = UNKNOWN;

    for (int i = 0; i < facts->device_count; i++) {
        const struct facts_device *device = &facts->devices[i];

        if (!device->accessible)
            continue;
        if (device->uuid[0] == '\0')
            return UNTOLD;
        if (strncasecmp(device->uuid, prefix, strlen(prefix)) == 0)
            found = found == UNKNOWN ? number : AMBIGUOUS;
        number++;
    }
    return number == 0 ? UNTOLD : found;
}

static bool same_device(const struct facts *facts, const struct token *a, const struct token *b)
{
    int node;

    if (a->kind != b->kind)
        return false;
    if (a->kind == KIND_INDEX)
        return a->index == b->index;
    if (strcasecmp(a->text, b->text) == 0)
        return true;
    node = a->kind == KIND_GPU ? node_of_uuid(facts, a->text) : UNTOLD;
    return node >= 0 && node == node_of_uuid(facts, b->text);
}

/* A device that is named but not here: missing, if the runtime says that it was granted. */
static enum err_kind absent(const struct devices *devices)
{
    return devices->evidence > devices->nodes ? ERR_DEVICES : ERR_SPEC;
}

static int check_present(const struct reader *reader, const struct token *token, struct err *err)
{
    const struct devices *devices = reader->devices;
    int node;

    if (token->kind == KIND_INDEX && devices->nodes > 0 && token->index >= devices->nodes)
        return err_set(err, absent(devices),
                       "%s=%s: there is no device \"%s\", only %d of /dev/nvidia* can be used here",
                       reader->name, reader->text, token->text, devices->nodes);
    node = token->kind == KIND_GPU ? node_of_uuid(reader->facts, token->text) : UNTOLD;
    if (node == UNKNOWN)
        return err_set(err, absent(devices), "%s=%s: no device here has the UUID \"%s\"",
                       reader->name, reader->text, token->text);
    if (node == AMBIGUOUS)
        return err_set(err, ERR_SPEC, "%s=%s: \"%s\" fits several devices: give more of the UUID",
                       reader->name, reader->text, token->text);
    return 0;
}

static int check_token(const struct reader *reader, const struct token *token, struct err *err)
{
    const struct strvec *pool = reader->pool;

    if (token->kind == KIND_BAD)
        return err_set(err, ERR_SPEC,
                       "%s=%s: the driver stops at \"%s\", which is no index and no UUID: take it "
                       "out",
                       reader->name, reader->text, token->text);
    for (size_t i = 0; i < pool->count; i++) {
        struct token other = token_of(pool->items[i]);

        if (other.kind != token->kind)
            return err_set(err, ERR_SPEC,
                           "%s=%s: the driver stops at \"%s\": indices, GPU- and MIG- names cannot "
                           "be mixed",
                           reader->name, reader->text, token->text);
        if (same_device(reader->facts, &other, token))
            return err_set(err, ERR_SPEC,
                           "%s=%s: \"%s\" is a device that is named before: the driver would show "
                           "none at all",
                           reader->name, reader->text, token->text);
    }
    return check_present(reader, token, err);
}

static bool is_strict(const struct token *token)
{
    long index;

    return token->kind != KIND_INDEX || scan_int(token->text, 0, INDEX_MAX, &index);
}

/* Reads a comma list; the driver takes blanks around an entry and a comma at the very end. */
static int read_list(const struct reader *reader, struct err *err)
{
    const char *at = reader->text;

    for (;;) {
        size_t size = strcspn(at, ",");
        const char *first = at + strspn(at, BLANKS);
        const char *end = at + size;
        char room[TOKEN_MAX];
        struct buf entry = BUF_OVER(room);
        struct token token;

        while (end > first && strchr(BLANKS, end[-1]))
            end--;
        if (first < end)
            buf_add(&entry, first, (size_t)(end - first));
        if (at[size] == '\0' && entry.len == 0 && reader->pool->count > 0)
            return 0;
        token = token_of(room);
        if (entry.truncated || (reader->strict && !is_strict(&token)))
            token.kind = KIND_BAD;
        if (check_token(reader, &token, err) < 0)
            return -1;
        strvec_push(reader->pool, room);
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
}

/* The forms that mean "no devices" in practice; Slurm writes NoDevFiles. */
static bool hides_all(const char *text)
{
    text += strspn(text, BLANKS);
    return *text == '\0' || scan_word(text, "-1|none|void|NoDevFiles") >= 0;
}

/* Distinct GPU UUIDs that the container runtime was asked for. MIG parts share their GPU's node. */
static int count_granted(const char *text)
{
    CLEANUP(strvec_release) struct strvec seen = STRVEC_INIT;

    while (text && *text != '\0') {
        bool again = false;
        char room[TOKEN_MAX];
        struct buf entry = BUF_OVER(room);

        text += strspn(text, BLANKS);
        buf_add(&entry, text, strcspn(text, "," BLANKS));
        for (size_t i = 0; i < seen.count; i++)
            again = again || strcasecmp(seen.items[i], room) == 0;
        if (strncmp(room, "GPU-", 4) == 0 && !again)
            strvec_push(&seen, room);
        text += strcspn(text, ",");
        text += *text == ',';
    }
    return (int)seen.count;
}

/* True if a token of the pool is the wanted device; a discovered pool has no UUID tokens. */
static bool is_wanted(const struct devices *devices, const struct facts *facts,
                      const struct token *token, const struct token *wanted)
{
    if (devices->discovered && token->kind == KIND_INDEX && wanted->kind == KIND_GPU)
        return node_of_uuid(facts, wanted->text) == token->index;
    return same_device(facts, token, wanted);
}

/* Place in the pool of what an entry of --devices selects; -1 if it is not in the pool. */
static int select_token(const struct devices *devices, const struct facts *facts,
                        const struct token *wanted)
{
    int found = -1;

    for (size_t i = 0; i < devices->pool.count; i++) {
        struct token token = token_of(devices->pool.items[i]);
        bool prefix = token.kind == wanted->kind && token.kind != KIND_INDEX &&
                      strncasecmp(token.text, wanted->text, strlen(wanted->text)) == 0;

        if (is_wanted(devices, facts, &token, wanted))
            return (int)i;
        if (prefix && found >= 0)
            return -1;
        if (prefix)
            found = (int)i;
    }
    return found;
}

int devices_position(const struct devices *devices, const struct facts *facts, const char *text)
{
    struct token token = token_of(text);

    return select_token(devices, facts, &token);
}

static void add_number(void *context, long number)
{
    struct buf *out = context;

    buf_addf(out, out->len > 0 ? ",%ld" : "%ld", number);
}

int devices_select(const struct devices *devices, const struct facts *facts,
                   const struct setting *list, struct strvec *ret, struct err *err)
{
    CLEANUP(strvec_release) struct strvec wanted = STRVEC_INIT;
    char room[LIST_MAX];
    struct buf numbers = BUF_OVER(room);
    struct reader reader = {.name = list->origin,
                            .text = list->text,
                            .facts = facts,
                            .devices = devices,
                            .pool = &wanted,
                            .strict = true};

    if (scan_list(list->text, INDEX_MAX, add_number, &numbers) && !numbers.truncated)
        reader.text = room; /* ranges written out */
    if (read_list(&reader, err) < 0)
        return -1;
    for (size_t i = 0; i < wanted.count; i++) {
        struct token token = token_of(wanted.items[i]);
        int found = select_token(devices, facts, &token);
        const char *text = found < 0 ? "" : devices->pool.items[found];

        if (found < 0)
            return err_set(err, ERR_SPEC, "%s=%s: \"%s\" is not among the devices of %s",
                           list->origin, list->text, token.text, devices->origin);
        /* A UUID stays what it is where the pool has only numbers. */
        strvec_push(ret, token_of(text).kind == token.kind ? text : wanted.items[i]);
    }
    return 0;
}

/* Narrows the pool to --devices. */
static int narrow(struct devices *devices, const struct facts *facts, const struct setting *list,
                  struct err *err)
{
    CLEANUP(strvec_release) struct strvec chosen = STRVEC_INIT;

    if (devices_select(devices, facts, list, &chosen, err) < 0)
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
        if (facts->devices[i].accessible)
            devices->nodes++;
        else
            devices->denied++;
    }
}

/* CUDA renumbers what it finds in a container: indices count from 0, whatever the minors are. */
static void discover(struct devices *devices, const struct facts *facts)
{
    devices->discovered = true;
    for (int i = 0; i < devices->nodes; i++)
        strvec_pushf(&devices->pool, "%d", i);
    if (devices->nodes > 0)
        devices->origin = "/dev/nvidia*";
    else
        devices->foreign = facts->other_accelerator;
}

static int find_pool(struct devices *devices, const struct facts *facts, const char *inherited,
                     struct err *err)
{
    struct reader reader = {.name = "CUDA_VISIBLE_DEVICES",
                            .text = inherited,
                            .facts = facts,
                            .devices = devices,
                            .pool = &devices->pool};

    if (!inherited) {
        discover(devices, facts);
        return 0;
    }
    devices->origin = "CUDA_VISIBLE_DEVICES";
    devices->hidden = hides_all(inherited);
    return devices->hidden ? 0 : read_list(&reader, err);
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

int devices_find(const struct settings *settings, const struct facts *facts,
                 const char *const *envp, struct devices *ret, struct err *err)
{
    const struct setting *list = &settings->rows[OPT_DEVICES];

    *ret = (struct devices){.origin = "none", .mode = DEVICE_AUTO};
    ret->per_rank = (int)settings_int(settings, OPT_GPUS_PER_RANK);
    ret->set_order = !env_get(envp, "CUDA_DEVICE_ORDER");
    ret->evidence = count_granted(env_get(envp, "NVIDIA_VISIBLE_DEVICES"));
    count_nodes(ret, facts);
    if (find_mode(settings, &ret->mode, err) < 0 ||
        find_pool(ret, facts, env_get(envp, "CUDA_VISIBLE_DEVICES"), err) < 0) {
        devices_release(ret);
        return -1;
    }
    if (list->text && ret->pool.count > 0 && narrow(ret, facts, list, err) < 0) {
        devices_release(ret);
        return -1;
    }
    return 0;
}
