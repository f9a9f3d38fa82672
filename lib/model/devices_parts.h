/*
 * Reading lists of devices, for devices_find.c only. What a list means is for the
 * vendor's driver to say: it is read as the driver does (strtol for indices, unique
 * prefixes for UUIDs), and refused where the driver would quietly drop something.
 * Layer: model.
 */
#ifndef RANKINIT_MODEL_DEVICES_PARTS_H
#define RANKINIT_MODEL_DEVICES_PARTS_H

#include "model/devices.h"

#define DEVICE_TOKEN_MAX 128 /* bytes; the longest form, MIG-GPU-uuid/gi/ci, has about 60 */
#define DEVICE_INDEX_MAX 4095

/* TOKEN_CUT: an index, but what follows it is plainly meant to be read too: "0-3", "0 1", "0;1" */
enum token_kind { TOKEN_BAD, TOKEN_CUT, TOKEN_INDEX, TOKEN_GPU, TOKEN_MIG, TOKEN_TILE };

struct token {
    enum token_kind kind;
    long index; /* of TOKEN_INDEX, and the device of TOKEN_TILE */
    char text[DEVICE_TOKEN_MAX];
};

/* A list that is being read. */
struct device_list {
    const char *name; /* the variable or option, for messages */
    const char *text;
    const struct facts *facts;
    const struct devices *devices;
    struct strvec *pool; /* what it is read into */
    bool strict;         /* a list in our own words: "1gpu" is no index there */
    int limit;           /* indices are below; 0: unknown */
};

/* One entry, as the vendor's driver takes it. */
struct token device_token(const struct vendor *vendor, const char *text);

/* True if two tokens are the same device, as far as facts tell. */
bool device_same(const struct devices *devices, const struct facts *facts, const struct token *a,
                 const struct token *b);

/* Reads a comma list; the driver takes blanks around an entry and a comma at the very end. */
int device_list_read(const struct device_list *list, struct err *err);

/* True if a device of facts is one that ranks can use, of this vendor. */
bool device_usable(const struct facts_device *device, const struct vendor *vendor);

/* The number-th usable device of the vendor; NULL if there are fewer. */
const struct facts_device *device_at(const struct facts *facts, const struct vendor *vendor,
                                     int number);

#endif
