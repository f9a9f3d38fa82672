#include "base/exitcode.h"

#include <sys/wait.h>

static const struct {
    int code;
    const char *reason;
} table[ERR__COUNT] = {
    [ERR_NONE] = {0, "completed"},           [ERR_USAGE] = {64, "bad_usage"},
    [ERR_SPEC] = {78, "bad_spec"},           [ERR_DEVICES] = {69, "device_shortage"},
    [ERR_DEVICE_LOST] = {69, "device_lost"}, [ERR_MASTER] = {75, "master_unreachable"},
    [ERR_PORT] = {75, "port_in_use"},        [ERR_HUNG] = {76, "hung"},
    [ERR_TIMEOUT] = {124, "timed_out"},      [ERR_SYSTEM] = {71, "system"},
    [ERR_INTERNAL] = {70, "internal"},       [ERR_NOT_EXECUTABLE] = {126, "exec_failed"},
    [ERR_NOT_FOUND] = {127, "exec_failed"},
};

/* A kind outside the enum is a fault of ours, and told as one. */
static enum err_kind known(enum err_kind kind)
{
    return (unsigned int)kind < ERR__COUNT ? kind : ERR_INTERNAL;
}

int exitcode_of_kind(enum err_kind kind)
{
    return table[known(kind)].code;
}

const char *exitcode_reason(enum err_kind kind)
{
    return table[known(kind)].reason;
}

int exitcode_of_wait(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        return EXITCODE_SIGNAL_BASE + WTERMSIG(status);
    /* Stopped or continued: nobody should ask. */
    return table[ERR_INTERNAL].code;
}
