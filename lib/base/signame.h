/*
 * Signal numbers and their names, real-time ones included. Layer: base.
 */
#ifndef RANKINIT_BASE_SIGNAME_H
#define RANKINIT_BASE_SIGNAME_H

#define SIGNAME_MAX 16 /* bytes that any name needs, the NUL included */

/* Number of a name ("TERM", "SIGTERM", "sigterm", "RTMIN+3", "15"); -1 if there is none. */
int signame_number(const char *text);

/*
 * Name of a number, written to room: "SIGTERM", "SIGRTMIN+3", or "SIG99"; returns room.
 * Numbers 32 and 33, which glibc hides, are "SIG32" and "SIG33".
 */
const char *signame_text(int number, char room[static SIGNAME_MAX]);

#endif
