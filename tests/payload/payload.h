/* What the sources of the payload share. */
#ifndef TESTS_PAYLOAD_H
#define TESTS_PAYLOAD_H

#include <stddef.h>

/* Says what went wrong, with errno, and ends with 99. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);

/* A number within bounds; ends with 99 if it is none. */
long number(const char *text, long min, long max);

/* Writes all bytes; ends with 99 if that fails. */
void write_all(int fd, const char *bytes, size_t len);

int verb_env(int argc, char **argv);
int verb_args(int argc, char **argv);
int verb_state(int argc, char **argv);
int verb_lines(int argc, char **argv);
int verb_check_lines(int argc, char **argv);
int verb_flood(int argc, char **argv);
int verb_drain(int argc, char **argv);
int verb_deny(int argc, char **argv);
int verb_calls_denied(int argc, char **argv);
int verb_calls_needed(int argc, char **argv);

#endif
