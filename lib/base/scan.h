/*
 * Strict reading of numbers, durations, sizes, words and lists: the whole text
 * must match or nothing is taken. Layer: base. No function here reports; the
 * caller knows the name of what it reads and writes the message.
 */
#ifndef RANKINIT_BASE_SCAN_H
#define RANKINIT_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal integer within [min, max] (an optional '-', no '+', no blanks, no leading zeros but "0"). */
bool scan_int(const char *text, long min, long max, long *ret);

/* The same for a 64-bit number without sign. */
bool scan_u64(const char *text, uint64_t *ret);

/*
 * A duration in nanoseconds: an integer with ms, s, m or h ("300ms", "25s"),
 * several of them largest first ("1h30m"), or a bare integer meaning seconds.
 */
bool scan_duration(const char *text, int64_t *ret_ns);

/* A size in bytes: an integer with an optional Ki, Mi, Gi, Ti or k, M, G, T. */
bool scan_size(const char *text, uint64_t *ret);

/* Exactly "true" or "false" (spec) or "1" or "0" (environment twins). */
bool scan_bool(const char *text, bool *ret);

/* The index of text in "one|two|three"; -1 if it is none of them. */
int scan_word(const char *text, const char *words);

/*
 * A list of numbers and ranges, "0-3,6", each within [0, max]; calls add(context, number)
 * for each in order; false (possibly after some calls) if the text is not such a list.
 */
bool scan_list(const char *text, long max, void (*add)(void *context, long number), void *context);

/*
 * Takes the first item of a list with commas off *text into room, cut to fit; false at the end of
 * the list, at an empty item and if *text is NULL.
 */
bool scan_item(const char **text, char *room, size_t size);

/*
 * The entry of names[count] nearest to text by edit distance (case-insensitive, '-' equals '_'),
 * for "did you mean"; NULL if none is near enough to be a likely slip.
 */
const char *scan_nearest(const char *text, const char *const *names, size_t count);

#endif
