/*
 * Who is below us: a walk of /proc restricted to our own subtree. Children that
 * existed before our exec, and what is below them, are spared. Never kill(-1),
 * never a process that is not ours. Needs no memory: every process is climbed
 * up to us or to the top. Layer: sys.
 */
#ifndef RANKINIT_SYS_DESCENDANTS_H
#define RANKINIT_SYS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DESCENDANTS_SPARED_MAX 64

struct descendants {
    pid_t self;
    pid_t spared[DESCENDANTS_SPARED_MAX];
    uint64_t spared_started[DESCENDANTS_SPARED_MAX]; /* a pid may be given away again */
    int spared_count;
};

struct descendant {
    pid_t pid, parent, group, session;
    char state;    /* of proc(5) stat: R S D Z T ... */
    int threads;   /* num_threads: a zombie leader with live threads has more than one */
    char name[32]; /* comm, plain */
};

/* Notes the children that exist now, before the first rank is started. */
void descendants_init(struct descendants *descendants);

/* Calls visit for each living or zombie descendant; the count, or -1 if there is no /proc of ours. */
int descendants_walk(const struct descendants *descendants,
                     void (*visit)(void *context, const struct descendant *process), void *context);

/*
 * The same for our children only; how many, without /proc: the kernel is asked of one pid after another
 * whether it is a child of ours, as waitid(2) tells. Their state and name are unknown. Enough to
 * find what daemonised itself: it is a child of ours by then.
 */
int descendants_children(const struct descendants *descendants,
                         void (*visit)(void *context, const struct descendant *process),
                         void *context);

/* True if no descendant but spared ones exists. */
bool descendants_none(const struct descendants *descendants);

/*
 * The wait channel of the thread that holds a process up (one in D, else one that lives), "?" if it
 * cannot be read; written to room (size bytes). Returns that thread's state, '?' if there is none.
 */
char descendants_wchan(pid_t pid, char *room, size_t size);

/*
 * True if one of our children is in this process group, and so surely ours. Needs no /proc; a
 * group all of whose members have parents of their own cannot be told from a stranger's.
 */
bool descendants_in_group(pid_t group);

#endif
