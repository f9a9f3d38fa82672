#include <errno.h>

#include "base/err.h"
#include "tap.h"

TEST(starts_empty)
{
    struct err err = ERR_INIT;

    tap_eq_int(err.kind, ERR_NONE);
    tap_eq_int(err.errnum, 0);
    tap_eq_str(err.message, "");
}

TEST(set_fills_and_returns_minus_one)
{
    struct err err = {.kind = ERR_NONE, .errnum = ENOENT};

    tap_eq_int(err_set(&err, ERR_SPEC, "limits.%s: %d", "nofile", -3), -1);
    tap_eq_int(err.kind, ERR_SPEC);
    tap_eq_int(err.errnum, 0);
    tap_eq_str(err.message, "limits.nofile: -3");
}

TEST(set_may_quote_itself)
{
    struct err err = ERR_INIT;

    err_set(&err, ERR_USAGE, "inner");
    err_set(&err, ERR_SPEC, "outer (%s)", err.message);
    tap_eq_str(err.message, "outer (inner)");
    err_wrap(&err, "again %s", err.message);
    tap_eq_str(err.message, "again outer (inner): outer (inner)");
}

TEST(set_cuts_at_the_limit)
{
    struct err err = ERR_INIT;
    char text[2 * ERR_MESSAGE_MAX];

    memset(text, 'x', sizeof(text));
    text[ERR_MESSAGE_MAX - 1] = '\0';
    err_set(&err, ERR_SPEC, "%s", text);
    tap_eq_str(err.message, text);
    text[ERR_MESSAGE_MAX - 1] = 'x';
    text[sizeof(text) - 1] = '\0';
    err_set(&err, ERR_SPEC, "%s", text);
    tap_eq_uint(strlen(err.message), ERR_MESSAGE_MAX - 1);
}

TEST(errno_is_told)
{
    struct err err = ERR_INIT;

    tap_eq_int(err_set_errno(&err, ERR_SYSTEM, ENOENT, "cannot open %s", "/x"), -1);
    tap_eq_int(err.kind, ERR_SYSTEM);
    tap_eq_int(err.errnum, ENOENT);
    tap_eq_str(err.message, "cannot open /x: No such file or directory");
}

TEST(unknown_errno_is_told_as_a_number)
{
    struct err err = ERR_INIT;

    err_set_errno(&err, ERR_SYSTEM, 4711, "odd");
    tap_eq_int(err.errnum, 4711);
    tap_eq_str(err.message, "odd: errno 4711");
    err_set_errno(&err, ERR_SYSTEM, -1, "odd");
    tap_eq_str(err.message, "odd: errno -1");
}

TEST(errno_survives_a_long_message)
{
    struct err err = ERR_INIT;
    const char reason[] = ": Permission denied";
    char text[2 * ERR_MESSAGE_MAX];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    err_set_errno(&err, ERR_SYSTEM, EACCES, "%s", text);
    tap_eq_uint(strlen(err.message), ERR_MESSAGE_MAX - 1);
    tap_eq_str(err.message + ERR_MESSAGE_MAX - sizeof(reason), reason);
    tap_eq_int(err.message[ERR_MESSAGE_MAX - sizeof(reason) - 1], 'x');
}

TEST(wrap_puts_context_in_front)
{
    struct err err = ERR_INIT;

    err_set_errno(&err, ERR_PORT, EADDRINUSE, "bind");
    tap_eq_int(err_wrap(&err, "port %d", 29500), -1);
    tap_eq_int(err.kind, ERR_PORT);
    tap_eq_int(err.errnum, EADDRINUSE);
    tap_eq_str(err.message, "port 29500: bind: Address already in use");
}

TEST(wrap_cuts_the_end)
{
    struct err err = ERR_INIT;
    char text[ERR_MESSAGE_MAX];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    err_set(&err, ERR_SPEC, "%s", text);
    err_wrap(&err, "spec");
    tap_eq_uint(strlen(err.message), ERR_MESSAGE_MAX - 1);
    tap_eq_mem(err.message, "spec: xxx", 9);
    err_wrap(&err, "%s", text);
    tap_eq_str(err.message, text);
}

TAP_MAIN()
