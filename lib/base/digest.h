/*
 * One number for a text, to tell equal ones from others without keeping them
 * (FNV-1a, 64 bits). Not for secrets, and not against people who want two
 * texts to look alike: the worst is that they are shown together. Layer: base.
 *
 *     uint64_t key = digest_text(DIGEST_START, "ValueError");
 */
#ifndef RANKINIT_BASE_DIGEST_H
#define RANKINIT_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_START 14695981039346656037ULL

/* Goes on with len bytes. */
uint64_t digest_bytes(uint64_t key, const char *bytes, size_t len);

/* Goes on with a number, or with a text and its end. */
uint64_t digest_number(uint64_t key, int64_t number);
uint64_t digest_text(uint64_t key, const char *text);

/*
 * Goes on with a text in which every number, decimal or 0x..., counts as the same one: ports, pids,
 * steps and addresses differ between ranks that fail alike.
 */
uint64_t digest_wording(uint64_t key, const char *bytes, size_t len);

#endif
