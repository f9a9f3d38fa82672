/*
 * Capabilities: names to sets, the sets that we have, and putting sets on. The
 * only user of libcap. Layer: sys.
 *
 * What a child does are raw system calls, so that nothing between fork and exec
 * takes a lock or memory.
 */
#ifndef RANKINIT_SYS_CAPS_H
#define RANKINIT_SYS_CAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strvec.h"
#include "model/facts.h"
#include "model/security.h"
#include "model/settings.h"

/*
 * What this process holds: really, or, where sysroot is not empty and has one, by its
 * /proc/self/status. Never fails: what cannot be told is not held.
 */
void caps_collect(const char *sysroot, struct facts_caps *ret);

/*
 * Reads a stated list such as "NET_RAW,cap_sys_admin" or "ALL" (all that this kernel knows, up to
 * `last`). A capability that libcap knows and this kernel does not is put on notices, naming the
 * list's origin, and left out; any other name is ERR_SPEC, *ret untouched.
 */
int caps_read(const struct setting *list, int last, uint64_t *ret, struct strvec *notices,
              struct err *err);

/*
 * In the child, before the change of user: takes from the bounding set, and lets the sets outlive
 * the change. 0, or an errno. Async-signal-safe, as the next one.
 */
int caps_child_before(const struct security *security);

/* In the child, after it: puts on the sets, ambient ones last. */
int caps_child_after(const struct security *security);

/* Gives up, for good, what this process holds beyond `keep`. */
void caps_reduce(uint64_t keep);

#endif
