#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

static void start(struct buf *out, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/*
 * Messages are put together in room of their own: an argument may point into
 * err->message, as in err_set(err, kind, "...%s", err->message).
 */
static void start(struct buf *out, const char *format, va_list args)
{
    if (vsnprintf(out->data, out->capacity, format, args) < 0)
        out->data[0] = '\0';
    out->len = strlen(out->data);
}

static void fill(struct err *err, enum err_kind kind, int errnum, const struct buf *message)
{
    err->kind = kind;
    err->errnum = errnum;
    memcpy(err->message, message->data, message->len + 1);
}

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
    char room[ERR_MESSAGE_MAX];
    struct buf out = BUF_OVER(room);
    va_list args;

    va_start(args, format);
    start(&out, format, args);
    va_end(args);
    fill(err, kind, 0, &out);
    return -1;
}

static void describe(struct buf *out, int errnum)
{
    /* Unlike strerror(3) it neither translates nor allocates. */
    const char *text = strerrordesc_np(errnum);

    if (text)
        buf_addf(out, ": %s", text);
    else
        buf_addf(out, ": errno %d", errnum);
}

int err_set_errno(struct err *err, enum err_kind kind, int errnum, const char *format, ...)
{
    char room[ERR_MESSAGE_MAX];
    char reason_room[128];
    struct buf out = BUF_OVER(room);
    struct buf reason = BUF_OVER(reason_room);
    va_list args;

    describe(&reason, errnum);
    /* The reason matters most: a message that is too long is cut before it. */
    out.capacity -= reason.len;
    va_start(args, format);
    start(&out, format, args);
    va_end(args);
    out.capacity += reason.len;
    buf_adds(&out, reason.data);
    fill(err, kind, errnum, &out);
    return -1;
}

int err_wrap(struct err *err, const char *format, ...)
{
    char room[ERR_MESSAGE_MAX];
    struct buf out = BUF_OVER(room);
    va_list args;

    va_start(args, format);
    start(&out, format, args);
    va_end(args);
    buf_addf(&out, ": %s", err->message);
    fill(err, err->kind, err->errnum, &out);
    return -1;
}
