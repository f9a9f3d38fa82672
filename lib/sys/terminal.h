/*
 * Job control for the one leader below us: the terminal is handed over, taken
 * back when the leader stops or ends, and handed over again. All of it is best
 * effort: whatever fails here is no reason for anything (tini#246). Layer: sys.
 *
 * A stop is what the terminal's driver does by default: SIGTSTP, SIGTTIN or
 * SIGTTOU, see setpgid(2) and termios(3). The kernel stops nobody whom no shell
 * could continue: neither PID 1 nor an orphaned process group.
 */
#ifndef RANKINIT_SYS_TERMINAL_H
#define RANKINIT_SYS_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/* True if our process group is the foreground of the terminal on stdin: only then is it ours to give. */
bool terminal_ours(void);

/*
 * Stops us by that signal, sent to target: our pid, or 0 for our whole process group. Returns once
 * continued: true; or at once where the kernel stops nobody: false. SIGCONT is left pending.
 */
bool terminal_stop(pid_t target, int signal);

/*
 * The leader has stopped by that signal. The shell above us sees its job stop, and the leader goes
 * on when it lets the job go on; where there is no such shell it goes on at once, as it would have
 * without us. A leader that wants a terminal which is ours gets it. False if the leader is left as
 * it is: without a terminal, or when somebody has sent it SIGSTOP.
 */
bool terminal_follow(pid_t leader, int signal);

/* The leader goes on: it gets the terminal if that is ours. */
void terminal_give(pid_t leader);

/* The leader has ended: takes the terminal back if its group still has it. */
void terminal_take_back(pid_t leader);

/*
 * For one of several ranks, between fork and exec: without a controlling terminal, reading it from
 * /dev/tty is an error, and not a stop that nobody ends.
 */
void terminal_leave(void);

#endif
