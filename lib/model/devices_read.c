#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/scan.h"
#include "model/devices_parts.h"

#define BLANKS    " \t"
#define UNKNOWN   (-1)
#define AMBIGUOUS (-2)
#define UNTOLD    (-3)

bool device_usable(const struct facts_device *device, const struct vendor *vendor)
{
    return device->vendor == vendor->id && device->accessible && !device->excluded;
}

const struct facts_device *device_at(const struct facts *facts, const struct vendor *vendor,
                                     int number)
{
    for (int i = 0; i < facts->device_count; i++) {
        if (device_usable(&facts->devices[i], vendor) && number-- == 0)
            return &facts->devices[i];
    }
    return NULL;
}

/* Level Zero's "0", "0.1": a device, or a part of one. */
static bool is_tile(const char *text)
{
    return text[0] && text[0] != '.' && strspn(text, "0123456789.") == strlen(text) &&
           !strstr(text, "..") && text[strlen(text) - 1] != '.';
}

struct token device_token(const struct vendor *vendor, const char *text)
{
    struct token token = {.kind = TOKEN_BAD};
    struct buf out = BUF_OVER(token.text);
    char *end;

    buf_adds(&out, text);
    if (vendor->uuids && strncmp(text, "GPU-", 4) == 0) {
        token.kind = TOKEN_GPU;
    } else if (vendor->mig && strncmp(text, "MIG-", 4) == 0) {
        token.kind = TOKEN_MIG;
    } else if (vendor->tiles && is_tile(text)) {
        token.kind = TOKEN_TILE;
        token.index = strtol(text, NULL, 10);
    } else if (vendor->loose) {
        token.index = strtol(text, &end, 10);
        if (end != text && token.index >= 0 && token.index <= DEVICE_INDEX_MAX)
            token.kind = *end == '\0' || isalpha((unsigned char)*end) ? TOKEN_INDEX : TOKEN_CUT;
    } else if (scan_int(text, 0, DEVICE_INDEX_MAX, &token.index)) {
        token.kind = TOKEN_INDEX;
    }
    return token;
}

/* The usable node with that UUID prefix: its number among them, or why there is none. */
static int node_of_uuid(const struct facts *facts, const struct vendor *vendor, const char *prefix)
{
    const struct facts_device *device;
    int number, found = UNKNOWN;

    for (number = 0; (device = device_at(facts, vendor, number)); number++) {
        if (device->uuid[0] == '\0')
            return UNTOLD;
        if (strncasecmp(device->uuid, prefix, strlen(prefix)) == 0)
            found = found == UNKNOWN ? number : AMBIGUOUS;
    }
    return number == 0 ? UNTOLD : found;
}

/* The same for an index, which is a place in order unless the vendor has numbers of its own. */
static int node_of_index(const struct facts *facts, const struct vendor *vendor, long index)
{
    const struct facts_device *device;

    for (int number = 0; (device = device_at(facts, vendor, number)); number++) {
        if (index == (device->numbered ? device->index : number))
            return number;
    }
    return UNKNOWN;
}

const struct facts_device *devices_node(const struct devices *devices, const struct facts *facts,
                                        const char *token_text)
{
    struct token token = device_token(devices->vendor, token_text);
    int number = UNTOLD;

    if ((token.kind == TOKEN_INDEX || token.kind == TOKEN_TILE) && !devices->nested)
        number = node_of_index(facts, devices->vendor, token.index);
    else if (token.kind == TOKEN_GPU)
        number = node_of_uuid(facts, devices->vendor, token.text);
    else if (token.kind == TOKEN_MIG && strncmp(token.text, "MIG-GPU-", 8) == 0) {
        token.text[strcspn(token.text, "/")] = '\0';
        number = node_of_uuid(facts, devices->vendor, token.text + strlen("MIG-"));
    }
    return number < 0 ? NULL : device_at(facts, devices->vendor, number);
}

bool device_same(const struct devices *devices, const struct facts *facts, const struct token *a,
                 const struct token *b)
{
    int node;

    if (a->kind != b->kind)
        return false;
    if (a->kind == TOKEN_INDEX)
        return a->index == b->index;
    if (strcasecmp(a->text, b->text) == 0)
        return true;
    node = a->kind == TOKEN_GPU ? node_of_uuid(facts, devices->vendor, a->text) : UNTOLD;
    return node >= 0 && node == node_of_uuid(facts, devices->vendor, b->text);
}

/* A device that is named but not here: missing, if the runtime says that it was granted. */
static enum err_kind absent(const struct devices *devices)
{
    return devices->evidence > devices->nodes ? ERR_DEVICES : ERR_SPEC;
}

static bool index_exists(const struct device_list *list, long index)
{
    const struct facts_device *first = device_at(list->facts, list->devices->vendor, 0);

    if (list->limit == 0)
        return true;
    if (first && first->numbered)
        return node_of_index(list->facts, list->devices->vendor, index) >= 0;
    return index < list->limit;
}

static int check_present(const struct device_list *list, const struct token *token, struct err *err)
{
    const struct devices *devices = list->devices;
    int node;

    if ((token->kind == TOKEN_INDEX || token->kind == TOKEN_TILE) &&
        !index_exists(list, token->index))
        return err_set(err, absent(devices),
                       "%s=%s: there is no device \"%s\", only %d of %s can be used here",
                       list->name, list->text, token->text, list->limit,
                       devices->nested ? "those that the outer variable leaves"
                                       : devices->vendor->nodes);
    node = token->kind == TOKEN_GPU ? node_of_uuid(list->facts, devices->vendor, token->text)
                                    : UNTOLD;
    if (node == UNKNOWN)
        return err_set(err, absent(devices), "%s=%s: no device here has the UUID \"%s\"",
                       list->name, list->text, token->text);
    if (node == AMBIGUOUS)
        return err_set(err, ERR_SPEC, "%s=%s: \"%s\" fits several devices: give more of the UUID",
                       list->name, list->text, token->text);
    return 0;
}

/* One entry against one before it. */
static int check_pair(const struct device_list *list, const struct token *other,
                      const struct token *token, struct err *err)
{
    const struct vendor *vendor = list->devices->vendor;

    if (other->kind != token->kind)
        return err_set(err, ERR_SPEC,
                       "%s=%s: %s stops at \"%s\": indices, GPU- and MIG- names cannot be mixed",
                       list->name, list->text, vendor->reader, token->text);
    if (device_same(list->devices, list->facts, other, token))
        return err_set(err, ERR_SPEC,
                       "%s=%s: \"%s\" is a device that is named before: %s would show none at all",
                       list->name, list->text, token->text, vendor->reader);
    if (vendor->ascending && token->index < other->index)
        return err_set(err, ERR_SPEC, "%s=%s: %s stops at \"%s\": its numbers have to ascend",
                       list->name, list->text, vendor->reader, token->text);
    return 0;
}

static int check_token(const struct device_list *list, const struct token *token, struct err *err)
{
    const struct vendor *vendor = list->devices->vendor;

    if (token->kind == TOKEN_BAD)
        return err_set(err, ERR_SPEC, "%s=%s: %s stops at \"%s\", which is no index%s: take it out",
                       list->name, list->text, vendor->reader, token->text,
                       vendor->uuids ? " and no UUID" : "");
    if (token->kind == TOKEN_CUT)
        return err_set(err, ERR_SPEC,
                       "%s=%s: of \"%s\" %s reads only the number that it begins with: name "
                       "devices one by one, with commas",
                       list->name, list->text, token->text, vendor->reader);
    for (size_t i = 0; i < list->pool->count; i++) {
        struct token other = device_token(vendor, list->pool->items[i]);

        if (check_pair(list, &other, token, err) < 0)
            return -1;
    }
    return check_present(list, token, err);
}

static bool is_strict(const struct token *token)
{
    long index;

    return token->kind != TOKEN_INDEX || scan_int(token->text, 0, DEVICE_INDEX_MAX, &index);
}

/* Copies the entry at text[size]; blanks around it are the driver's to pass over, or not. */
static void take_entry(const struct device_list *list, const char *text, size_t size,
                       struct buf *entry)
{
    const char *end = text + size;

    if (!list->devices->vendor->ascending || list->strict) {
        while (text < end && strchr(BLANKS, *text))
            text++;
        while (end > text && strchr(BLANKS, end[-1]))
            end--;
    }
    if (text < end)
        buf_add(entry, text, (size_t)(end - text));
}

int device_list_read(const struct device_list *list, struct err *err)
{
    const char *at = list->text;

    for (;;) {
        size_t size = strcspn(at, ",");
        char room[DEVICE_TOKEN_MAX];
        struct buf entry = BUF_OVER(room);
        struct token token;

        take_entry(list, at, size, &entry);
        if (at[size] == '\0' && entry.len == 0 && list->pool->count > 0)
            return 0;
        token = device_token(list->devices->vendor, room);
        if (entry.truncated || (list->strict && !is_strict(&token)))
            token.kind = TOKEN_BAD;
        if (check_token(list, &token, err) < 0)
            return -1;
        strvec_push(list->pool, room);
        if (at[size] == '\0')
            return 0;
        at += size + 1;
    }
}
