/*
 * Collecting the dead in two steps: first look, then bury. Between the two a
 * dead leader is a zombie that still holds its pid, so its process group can be
 * signalled without any chance of hitting a stranger. Layer: sys.
 */
#ifndef RANKINIT_SYS_REAP_H
#define RANKINIT_SYS_REAP_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/*
 * Pid of a child that has ended and was not reaped yet, and its wait status; 0 if there is none
 * now, -1 if no child is left.
 */
pid_t reap_peek(int *ret_status);

/* True if this child has ended and was not reaped yet. */
bool reap_is_dead(pid_t pid);

/* The signal (SIGTSTP, SIGTTIN, SIGSTOP, ...) by which this child has stopped since the last look; 0. */
int reap_stopped(pid_t pid);

/* Reaps that child; its use of resources is written. False if it was not there. */
bool reap_take(pid_t pid, struct rusage *ret_usage);

#endif
