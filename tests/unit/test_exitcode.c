#include <signal.h>

#include "base/exitcode.h"
#include "tap.h"

static const struct {
    enum err_kind kind;
    int code;
    const char *reason;
} expected[] = {
    {ERR_NONE, 0, "completed"},           {ERR_USAGE, 64, "bad_usage"},
    {ERR_SPEC, 78, "bad_spec"},           {ERR_DEVICES, 69, "device_shortage"},
    {ERR_DEVICE_LOST, 69, "device_lost"}, {ERR_MASTER, 75, "master_unreachable"},
    {ERR_PORT, 75, "port_in_use"},        {ERR_HUNG, 76, "hung"},
    {ERR_TIMEOUT, 124, "timed_out"},      {ERR_SYSTEM, 71, "system"},
    {ERR_INTERNAL, 70, "internal"},       {ERR_NOT_EXECUTABLE, 126, "exec_failed"},
    {ERR_NOT_FOUND, 127, "exec_failed"},
};

TEST(every_kind_has_code_and_word)
{
    tap_eq_uint(sizeof(expected) / sizeof(expected[0]), ERR__COUNT);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        tap_eq_uint(expected[i].kind, i);
        tap_eq_int(exitcode_of_kind(expected[i].kind), expected[i].code);
        tap_eq_str(exitcode_reason(expected[i].kind), expected[i].reason);
    }
}

TEST(an_unknown_kind_is_internal)
{
    tap_eq_int(exitcode_of_kind(ERR__COUNT), 70);
    tap_eq_str(exitcode_reason((enum err_kind)9999), "internal");
    tap_eq_int(exitcode_of_kind((enum err_kind) - 1), 70);
}

TEST(exits_pass_through)
{
    for (int code = 0; code <= 255; code++)
        tap_eq_int(exitcode_of_wait(code << 8), code);
}

TEST(signals_are_128_plus_n)
{
    for (int number = 1; number <= 64; number++) {
        tap_eq_int(exitcode_of_wait(number), 128 + number);
        tap_eq_int(exitcode_of_wait(number | 0x80), 128 + number); /* core dumped */
    }
}

TEST(a_stop_is_no_end)
{
    tap_eq_int(exitcode_of_wait(SIGSTOP << 8 | 0x7F), 70);
    tap_eq_int(exitcode_of_wait(0xFFFF), 70);
}

TAP_MAIN()
