/*
 * What a child puts on between fork and exec so that a rank can do no more than it
 * may: limits, user, capabilities, filter. Everything was decided and compiled
 * before (model/security.h, sys/caps.h, sys/seccomp.h). Layer: sys.
 */
#ifndef RANKINIT_SYS_CONFINE_H
#define RANKINIT_SYS_CONFINE_H

#include "model/outcome.h"
#include "model/security.h"
#include "sys/seccomp.h"

struct confine {
    const struct security *security; /* the plan's */
    struct seccomp_filter filter;
};

/* Tells that a stage did not succeed; returns if the child can do without. */
typedef void confine_tell(void *context, enum spawn_stage stage, int errnum);

/*
 * The two halves, with async-signal-safe calls only; between them the child binds itself to its
 * CPUs. The first has what may need privileges and can be done without (`tell` returns). The
 * second is user, capabilities and no_new_privs; the filter is left to seccomp_child, last of all.
 */
void confine_child_limits(const struct confine *confine, confine_tell *tell, void *context);
void confine_child_user(const struct confine *confine, confine_tell *tell, void *context);

#endif
