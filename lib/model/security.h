/*
 * What ranks may do: user, capabilities, system calls, limits. Decided once, from
 * what is asked and what we hold ourselves; nothing is ever raised that nobody
 * asked for, and what cannot be had is said. Layer: model.
 *
 * Sets of capabilities are bits, as in /proc/PID/status.
 */
#ifndef RANKINIT_MODEL_SECURITY_H
#define RANKINIT_MODEL_SECURITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strvec.h"
#include "model/facts.h"
#include "model/rlimit.h"

#define SECURITY_LIMITS_MAX  16
#define SECURITY_CAP(number) (UINT64_C(1) << (number))

/* The sets of a rank just before its exec. */
struct security_caps {
    bool change;            /* false: nobody asked, they stay as they are */
    uint64_t bounding_drop; /* what goes from the bounding set */
    uint64_t inheritable, permitted, ambient;
};

struct security_user {
    bool change;      /* ids are to be set; else they are so already */
    bool stated;      /* HOME, USER and LOGNAME are this user's */
    const char *name; /* NULL: the number has no name */
    const char *home;
    uid_t uid;
    gid_t gid;
    int group_count;
    gid_t groups[FACTS_GROUPS_MAX];
};

struct security {
    struct security_user user;
    struct security_caps caps;
    bool no_new_privs;
    bool seccomp;             /* the default filter */
    const char *allow, *deny; /* names of system calls with commas; NULL: none */
    int limit_count;
    struct rlimit_value limits[SECURITY_LIMITS_MAX];
    bool oom_score_stated, umask_stated, nice_stated;
    int oom_score_adj, nice;
    mode_t umask;
    uint64_t own_caps; /* what rankinit itself still needs once nothing more is to be started */
};

/* HOME, USER and LOGNAME of a stated user into an environment; nothing if none is stated. */
void security_set_names(const struct security_user *user, struct strvec *env);

#endif
