/*
 * What rankinit inherits and must neither fall over nor hold on to: closed
 * standard descriptors, and descriptors meant for the program. Layer: sys.
 */
#ifndef RANKINIT_SYS_INHERIT_H
#define RANKINIT_SYS_INHERIT_H

#define INHERIT_MAX 256

/* Inherited descriptors from 3 up: the ranks', not ours. */
struct inherit {
    int fds[INHERIT_MAX];
    int count;
};

/*
 * Puts /dev/null at every closed standard descriptor: else the next thing we open would become
 * somebody's stdout. Before anything is opened.
 */
void inherit_fill_stdio(void);

/* Notes the descriptors from 3 up that are open now; before we open any of our own. */
void inherit_note(struct inherit *inherit);

/* Closes them in us, once the ranks have theirs: the peer of a pipe must see its end. */
void inherit_close(struct inherit *inherit);

#endif
