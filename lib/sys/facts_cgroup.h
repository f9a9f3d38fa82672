/*
 * What our cgroups allow and count: v2, v1, or both side by side (hybrid).
 * Which of them a host has is never asked: the files that exist decide.
 * Layer: sys, behind sys/facts.h.
 *
 * A limit is the tightest of our own cgroup and all above it that can be seen
 * at SYSROOT/sys/fs/cgroup. Where the mount shows only our own cgroup (a
 * container of v1 without cgroup namespace) its path in /proc/self/cgroup does
 * not exist there, and the mount's root is the one.
 */
#ifndef RANKINIT_SYS_FACTS_CGROUP_H
#define RANKINIT_SYS_FACTS_CGROUP_H

#include <stdint.h>

#include "model/facts.h"

/* Fills CPU quota and memory limit of *facts; what is not limited stays as it is. */
void facts_cgroup_collect(const char *sysroot, struct facts *facts);

/* The OOM-kill counter of our cgroup below sysroot; -1 if there is none. Needs no memory. */
int64_t facts_cgroup_oom_kills(const char *sysroot);

/* The most memory our cgroup below sysroot ever used, in bytes; 0 if unknown. Needs no memory. */
int64_t facts_cgroup_memory_peak(const char *sysroot);

#endif
