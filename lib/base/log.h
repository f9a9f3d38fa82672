/*
 * rankinit's own messages: one line each, "rankinit: text", or "rankinit: notice: text".
 * Holds the only mutable file-scope state of the project: the level and the sink.
 * Layer: base.
 *
 * Lines go to the sink. Until one is set they are written to descriptor 2; the
 * event loop sets one that can never block. Control characters in what is
 * logged become '?', so a rank's name or text cannot drive a terminal.
 */
#ifndef RANKINIT_BASE_LOG_H
#define RANKINIT_BASE_LOG_H

#include <stddef.h>

#include "base/strvec.h"

#define LOG_LINE_MAX 1024

enum log_level {
    LOG_ERROR,  /* always shown */
    LOG_NOTICE, /* shown unless -q: something a user may want to know or mend */
    LOG_INFO,   /* -v */
    LOG_DEBUG   /* -vv */
};

typedef void log_sink(void *context, const char *line, size_t len);

/* Sets the most talkative level that is shown (LOG_NOTICE at start). */
void log_set_level(enum log_level level);

/* Sends lines (each with its newline) to sink from now on; NULL: back to descriptor 2. */
void log_set_sink(log_sink *sink, void *context);

/* Says one line, if its level is shown; cut at LOG_LINE_MAX. Keeps errno. */
void log_say(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says each of the lines as a notice. */
void log_notices(const struct strvec *lines);

#define log_error(...)  log_say(LOG_ERROR, __VA_ARGS__)
#define log_notice(...) log_say(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)   log_say(LOG_INFO, __VA_ARGS__)
#define log_debug(...)  log_say(LOG_DEBUG, __VA_ARGS__)

#endif
