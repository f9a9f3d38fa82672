/*
 * JSON documents: building and reading, over jansson. This is the only place
 * that knows the library. Layer: base.
 *
 * All nodes live in an arena that the caller reserves once at start: building
 * a document later needs no memory from the system, works in a full cgroup,
 * and is released as a whole by the next json_begin. A document that does not
 * fit in the arena is told by json_failed, never by a crash.
 *
 *     json_begin(&arena);
 *     struct json *root = json_new_object();
 *     json_put_text(root, "schema", "rankinit.summary.v1");
 *     size = json_write(root, out, sizeof(out));
 */
#ifndef RANKINIT_BASE_JSON_H
#define RANKINIT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct json; /* a node; owned by the arena */

struct json_arena {
    unsigned char *base; /* memory of the caller, aligned for any type */
    size_t size;
    size_t used;
    bool failed;  /* something did not fit since json_begin */
    void *escape; /* while reading: the way out of the library when memory has run out */
};

/*
 * Makes an arena of size bytes at memory and seeds the library's hashing; once, before the first
 * begin. Its first `touched` bytes are touched now, so that using them later cannot fault in a
 * full cgroup; what lies behind is for rare, large documents.
 */
void json_setup(struct json_arena *arena, void *memory, size_t size, size_t touched);

/* Makes the arena current and empty: every older node is gone. */
void json_begin(struct json_arena *arena);

/* No arena is current any more: its memory may go. */
void json_end(void);

/* True if a node since json_begin did not fit: the document is not to be used. */
bool json_failed(const struct json_arena *arena);

/* New, unattached nodes. NULL when the arena is full; all json_put_* take NULL as a no-op. */
struct json *json_new_object(void);
struct json *json_new_array(void);

/*
 * Members of an object, in the order of the calls; key is a constant of ours. Texts may hold any
 * bytes: what is not UTF-8 is replaced, and the output is pure ASCII. A NULL text puts nothing.
 */
void json_put(struct json *object, const char *key, struct json *value);
void json_put_text(struct json *object, const char *key, const char *text);
void json_put_textn(struct json *object, const char *key, const char *bytes, size_t len);
void json_put_int(struct json *object, const char *key, int64_t value);
void json_put_bool(struct json *object, const char *key, bool value);

/* A number of seconds with three to six decimals, from nanoseconds. */
void json_put_seconds(struct json *object, const char *key, int64_t ns);

/* Appends to an array. */
void json_add(struct json *array, struct json *value);
void json_add_text(struct json *array, const char *text);

/*
 * Writes the document as one line without newline, pure ASCII, stable key order; returns its
 * size, or 0 if it does not fit in `capacity` bytes (nothing useful is in out then). No NUL is added.
 */
size_t json_write(const struct json *root, char *out, size_t capacity);

/* Reads one untrusted document of at most 1 MiB into the current arena; NULL and *err on failure. */
struct json *json_read(const char *bytes, size_t len, struct err *err);

/*
 * Reads the first of several untrusted documents that may follow each other; *ret_used is where it
 * ends. Its size is limited by the arena only.
 */
struct json *json_read_first(const char *bytes, size_t len, size_t *ret_used, struct err *err);

/* Member of an object; NULL if node is NULL, no object, or has no such member. */
const struct json *json_get(const struct json *node, const char *key);

/* Number of elements of an array; 0 if node is NULL or no array. */
size_t json_count(const struct json *node);

/* Element of an array; NULL if there is none of that index. */
const struct json *json_at(const struct json *node, size_t index);

/* Text of a string node; NULL for NULL and other types. */
const char *json_text(const struct json *node);

/* True for the node true. */
bool json_is_truth(const struct json *node);

/* Number of a number node, or of a string holding one; false for anything else. */
bool json_number(const struct json *node, double *ret);

#endif
