/*
 * Looks once at the machine and fills model/facts.h. Layer: sys.
 */
#ifndef RANKINIT_SYS_FACTS_H
#define RANKINIT_SYS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/facts.h"

/*
 * Collects facts; what decides the plan is read below sysroot ("" for the real root). Nothing here
 * fails: what cannot be told is unknown. For init mode `fanout_possible` false skips devices,
 * cgroups and CPUs (a PROGRAM that can never fan out needs none of them).
 */
void facts_collect(const char *sysroot, const char *const *envp, bool fanout_possible,
                   struct facts *ret);

/* Devices part of it (facts_devices.c): nodes, /proc/driver/nvidia, sysfs NUMA nodes. */
void facts_collect_devices(const char *sysroot, struct facts *facts);

/* The OOM-kill counter of our cgroup (v2 memory.events or v1 memory.oom_control); -1 if unknown. */
int64_t facts_oom_kills(void);

/* The most memory our cgroup ever used (v2 memory.peak or v1 memory.max_usage_in_bytes); 0: unknown. */
int64_t facts_memory_peak(void);

/* What is free of /dev/shm; -1 if unknown. */
int64_t facts_shm_free(void);

#endif
