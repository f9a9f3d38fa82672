/*
 * What the parts of the loop call of each other. Layer: sys, private to loop*.c.
 */
#ifndef RANKINIT_SYS_LOOP_PARTS_H
#define RANKINIT_SYS_LOOP_PARTS_H

#include "sys/loop.h"

#define ERROR_FILE_MAX 65536 /* what is read of one; the size of loop->error_text */

/* Now, in nanoseconds since our start. */
int64_t loop_now(const struct loop *loop);

/* Steps the state table with an event and carries out what it answers (loop.c). */
void loop_step(struct loop *loop, enum fsm_event_kind kind, int rank, int64_t now_ns);

/* Carries out one action (loop_actions.c). */
void loop_act(struct loop *loop, const struct fsm_action *action, int64_t now_ns);

/* Sends signal to all living leaders, or their groups, in one burst (loop_actions.c). */
void loop_signal_leaders(struct loop *loop, int signal, bool groups);

/* SIGKILL to all descendants that can be found (loop_actions.c). */
void loop_kill_rest(struct loop *loop);

/* Lets leaders that are stopped go on, with their groups: else what they have been told would never reach them. */
void loop_continue_stopped(struct loop *loop);

/* The groups of living leaders have been told to end: they are not told again when those end. */
void loop_note_groups_told(struct loop *loop);

/* Reads and handles all pending signals (loop_events.c). */
void loop_read_signals(struct loop *loop, int64_t now_ns);

/* Reaps all that have ended: ranks become events, others are counted (loop_events.c). */
void loop_reap(struct loop *loop, int64_t now_ns);

/* Notes in the outcome, anew, which descendants there are and what holds them (loop.c). */
void loop_note_left(struct loop *loop);

/* Handler of a rank's status pipe (loop_events.c). */
void loop_status_ready(struct source *source, uint32_t events, int64_t now_ns);

/* Starts the ranks, or waits for the master first (loop_wait.c). */
void loop_start(struct loop *loop, int64_t now_ns);

/* Goes on waiting, if that is what we do; starts the ranks or gives up when it is over. */
void loop_check_wait(struct loop *loop, int64_t now_ns);

/* When it has something to do without input; INT64_MAX if not at all. */
int64_t loop_wait_deadline(const struct loop *loop);

/*
 * After the end of an attempt: true if another one follows, which has been begun; else why not is
 * noted in the outcome (loop_restart.c).
 */
bool loop_restart(struct loop *loop, int64_t now_ns);

/* Prepares that attempt, and starts it or gives up (loop_restart.c). */
void loop_renew(struct loop *loop, int64_t now_ns);

/* Before the ranks of an attempt: watches for ready files, as far as the kernel lets us (loop_limits.c). */
void loop_watch_ready(struct loop *loop);

/* Notes what was written and who is ready; when a limit is over, says so to the table. */
void loop_check_limits(struct loop *loop, int64_t now_ns);

/* The earliest moment at which a limit can be over; INT64_MAX if none can. */
int64_t loop_limits_deadline(const struct loop *loop);

/* Reads error files of ranks that have none yet (loop_events.c). */
void loop_read_error_files(struct loop *loop);

#endif
