/*
 * A set of CPU numbers, as the kernel's masks and lists have them. Numbers of
 * CPUSET_MAX and more are left out: such a machine is bound on its first CPUs only.
 * Layer: base.
 */
#ifndef RANKINIT_BASE_CPUSET_H
#define RANKINIT_BASE_CPUSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define CPUSET_MAX 2048

struct cpuset {
    uint64_t words[CPUSET_MAX / 64]; /* bit N % 64 of word N / 64: the kernel's own layout */
};

/* Adds a CPU. */
void cpuset_add(struct cpuset *set, long cpu);

/* Takes the CPUs of other out of the set. */
void cpuset_subtract(struct cpuset *set, const struct cpuset *other);

/* True if it is in the set. */
bool cpuset_has(const struct cpuset *set, long cpu);

/* Number of CPUs in the set. */
int cpuset_count(const struct cpuset *set);

/* Lowest CPU of the set; -1 if it is empty. */
int cpuset_first(const struct cpuset *set);

/* True if both have the same CPUs. */
bool cpuset_equal(const struct cpuset *a, const struct cpuset *b);

/* True if a has no CPU that b has not. */
bool cpuset_within(const struct cpuset *a, const struct cpuset *b);

/* Adds the CPUs of a list, "0-3,8"; false (possibly after some) if the text is none. */
bool cpuset_read(struct cpuset *set, const char *list);

/* Appends the set as a list, "0-3,8"; nothing if it is empty. */
void cpuset_write(const struct cpuset *set, struct buf *out);

#endif
