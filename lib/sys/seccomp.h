/*
 * The filter of system calls: compiled before the first fork, put on last of all
 * before the exec. The only user of libseccomp. Layer: sys.
 *
 * What is denied answers EPERM; clone3, whose flags a filter cannot see, ENOSYS,
 * so that libraries fall back to clone; calls by another ABI of the same machine
 * (i386, x32) EPERM.
 */
#ifndef RANKINIT_SYS_SECCOMP_H
#define RANKINIT_SYS_SECCOMP_H

#include <linux/filter.h>

#include "base/err.h"
#include "model/security.h"

/* Room for a program; BPF allows no more than this many steps. */
struct seccomp_filter {
    struct sock_filter *steps; /* owned; NULL: no filter */
    unsigned short count;
};

/*
 * Checks a list of names of system calls: ERR_SPEC, naming origin, for one that libseccomp does not
 * know, or that the start itself needs.
 */
int seccomp_check(const char *origin, const char *list, bool denied, struct err *err);

/*
 * Compiles what security asks for into *ret, which the caller releases; nothing if no filter is
 * asked for. ERR_SYSTEM: no memory, no memfd. Names must have been checked.
 */
int seccomp_compile(const struct security *security, struct seccomp_filter *ret, struct err *err);

/* In the child: puts it on. 0 or an errno. Async-signal-safe. */
int seccomp_child(const struct seccomp_filter *filter);

/* Frees a filter. */
void seccomp_release_filter(struct seccomp_filter *filter);

#endif
