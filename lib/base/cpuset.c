#include "base/cpuset.h"

#include <string.h>

#include "base/scan.h"

#define LIST_MAX 65535 /* CPUs that a list may name; the kernel has fewer */

void cpuset_add(struct cpuset *set, long cpu)
{
    if (cpu >= 0 && cpu < CPUSET_MAX)
        set->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

void cpuset_subtract(struct cpuset *set, const struct cpuset *other)
{
    for (int i = 0; i < CPUSET_MAX / 64; i++)
        set->words[i] &= ~other->words[i];
}

bool cpuset_has(const struct cpuset *set, long cpu)
{
    return cpu >= 0 && cpu < CPUSET_MAX && (set->words[cpu / 64] >> (cpu % 64) & 1);
}

int cpuset_count(const struct cpuset *set)
{
    int count = 0;

    for (int i = 0; i < CPUSET_MAX / 64; i++)
        count += __builtin_popcountll(set->words[i]);
    return count;
}

int cpuset_first(const struct cpuset *set)
{
    for (int i = 0; i < CPUSET_MAX / 64; i++) {
        if (set->words[i])
            return i * 64 + __builtin_ctzll(set->words[i]);
    }
    return -1;
}

bool cpuset_equal(const struct cpuset *a, const struct cpuset *b)
{
    return memcmp(a->words, b->words, sizeof(a->words)) == 0;
}

bool cpuset_within(const struct cpuset *a, const struct cpuset *b)
{
    for (int i = 0; i < CPUSET_MAX / 64; i++) {
        if (a->words[i] & ~b->words[i])
            return false;
    }
    return true;
}

static void add_one(void *context, long cpu)
{
    cpuset_add(context, cpu);
}

bool cpuset_read(struct cpuset *set, const char *list)
{
    return scan_list(list, LIST_MAX, add_one, set);
}

void cpuset_write(const struct cpuset *set, struct buf *out)
{
    const char *separator = "";

    for (int cpu = 0; cpu < CPUSET_MAX; cpu++) {
        int last = cpu;

        if (!cpuset_has(set, cpu))
            continue;
        while (cpuset_has(set, last + 1))
            last++;
        buf_addf(out, last > cpu ? "%s%d-%d" : "%s%d", separator, cpu, last);
        separator = ",";
        cpu = last;
    }
}
