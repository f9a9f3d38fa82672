/*
 * Members of documents under a size limit. A limit counts bytes of output, so
 * escapes count as what they become. Layer: report (pure).
 */
#ifndef RANKINIT_REPORT_FIELD_H
#define RANKINIT_REPORT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

#define FIELD_TIME_MAX 64

/* Bytes that text[len] takes in a document, without its quotes. */
size_t field_size(const char *text, size_t len);

/* Puts text, cut with "..." if it takes more than `limit`. False if it was cut; empty: not put. */
bool field_text(struct json *object, const char *key, const char *text, size_t limit);

/* Puts the last whole lines of text that fit in `limit`. False if some did not. */
bool field_lines(struct json *object, const char *key, const char *text, size_t limit);

/* Writes nanoseconds since 1970 as "2026-11-30T21:56:03.591889082Z"; returns room. */
const char *field_time_text(int64_t realtime_ns, char room[static FIELD_TIME_MAX]);

/*
 * Reads such a time, with any number of decimals or none, in UTC: "2026-11-30T21:56:03Z". False if
 * it is something else; *ret_ns is untouched then.
 */
bool field_time_read(const char *text, int64_t *ret_ns);

/* Puts that. */
void field_time(struct json *object, const char *key, int64_t realtime_ns);

#endif
