/* What the sources of the payload share. */
#ifndef TESTS_PAYLOAD_H
#define TESTS_PAYLOAD_H

/* Says what went wrong, with errno, and ends with 99. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);

int verb_env(int argc, char **argv);
int verb_args(int argc, char **argv);
int verb_state(int argc, char **argv);
int verb_deny(int argc, char **argv);
int verb_calls_denied(int argc, char **argv);
int verb_calls_needed(int argc, char **argv);

#endif
