/*
 * One resource limit as people write it: NAME=SOFT[:HARD], each a number, a size
 * or "unlimited"; without HARD it is SOFT. Layer: model.
 */
#ifndef RANKINIT_MODEL_RLIMIT_H
#define RANKINIT_MODEL_RLIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define RLIMIT_UNLIMITED UINT64_MAX

struct rlimit_value {
    int resource;        /* RLIMIT_CORE, ... */
    uint64_t soft, hard; /* RLIMIT_UNLIMITED is RLIM_INFINITY */
};

/* Reads one; false, *ret untouched, if the name is unknown, a number bad, or soft above hard. */
bool rlimit_read(const char *text, struct rlimit_value *ret);

/* True if rlimit_read could read it. */
bool rlimit_is_one(char *text);

/* The name of a resource, "core"; "?" if there is none. */
const char *rlimit_name(int resource);

#endif
