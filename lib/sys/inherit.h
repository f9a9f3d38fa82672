/*
 * What rankinit inherits and must neither fall over nor hold on to: closed
 * standard descriptors, and descriptors meant for the program. Layer: sys.
 */
#ifndef RANKINIT_SYS_INHERIT_H
#define RANKINIT_SYS_INHERIT_H

/*
 * Puts /dev/null at every closed standard descriptor: else the next thing we open would become
 * somebody's stdout. Before anything is opened.
 */
void inherit_fill_stdio(void);

/*
 * Closes every descriptor from 3 up that is not close-on-exec, which all of ours are: once the ranks
 * have theirs, the peer of a pipe must see its end.
 */
void inherit_close(void);

#endif
