#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

static struct {
    enum log_level level;
    log_sink *sink;
    void *context;
} state = {.level = LOG_NOTICE};

void log_set_level(enum log_level level)
{
    state.level = level;
}

void log_set_sink(log_sink *sink, void *context)
{
    state.sink = sink;
    state.context = context;
}

/* As far as descriptor 2 takes it: there is nowhere to complain. */
static void write_line(const char *line, size_t len)
{
    while (len > 0) {
        ssize_t count = write(2, line, len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return;
        line += count;
        len -= (size_t)count;
    }
}

void log_say(enum log_level level, const char *format, ...)
{
    int saved = errno;
    char text[LOG_LINE_MAX];
    char room[LOG_LINE_MAX]; /* the NUL's byte is the newline's in the end */
    struct buf line = BUF_OVER(room);
    va_list args;

    if (level > state.level)
        return;
    va_start(args, format);
    if (vsnprintf(text, sizeof(text), format, args) < 0)
        text[0] = '\0';
    va_end(args);
    buf_adds(&line, level == LOG_NOTICE ? "rankinit: notice: " : "rankinit: ");
    buf_add_plain(&line, text, strlen(text));
    room[line.len] = '\n';
    if (state.sink)
        state.sink(state.context, room, line.len + 1);
    else
        write_line(room, line.len + 1);
    errno = saved;
}

void log_notices(const struct strvec *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        log_notice("%s", lines->items[i]);
}
