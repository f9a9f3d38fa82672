/*
 * Directories whose entries are numbers: /proc, /proc/self/fd. Layer: sys.
 * Read without opendir(3), which would allocate.
 */
#ifndef RANKINIT_SYS_NUMBERED_H
#define RANKINIT_SYS_NUMBERED_H

/* Called for one entry: the directory it is in and its number. */
typedef void numbered_visit(void *context, int dir_fd, int number);

/* Calls visit for every entry of dir_fd that is a number from 0 up; -1 if it cannot be read. */
int numbered_each(int dir_fd, numbered_visit *visit, void *context);

#endif
