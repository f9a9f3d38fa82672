/*
 * Job control for the one leader that has the terminal: it is handed over, taken
 * back when the leader stops or ends, and handed over again. All of it is best
 * effort: whatever fails here is no reason for anything (tini#246). Layer: sys.
 */
#ifndef RANKINIT_SYS_TERMINAL_H
#define RANKINIT_SYS_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/* True if our process group is the terminal's foreground: only then is it ours to give. */
bool terminal_ours(void);

/* The leader has stopped: takes the terminal back, stops us too, and gives it again once continued. */
void terminal_suspend(pid_t leader);

/* The leader has ended: takes the terminal back if its group still has it. */
void terminal_take_back(pid_t leader);

#endif
