#include "base/signame.h"

#include <signal.h>
#include <stddef.h>
#include <strings.h>

#include "base/buf.h"
#include "base/scan.h"

/* As a program sees them under glibc, which keeps 32 and 33; SIGRTMIN there is a call. */
#define REALTIME_MIN 34
#define REALTIME_MAX 64

static const char *const names[] = {
    [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
    [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
    [SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
    [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
    [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
    [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
    [SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
    [SIGIO] = "IO",     [SIGPWR] = "PWR",       [SIGSYS] = "SYS",
};

#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

static const struct {
    const char *name;
    int number;
} aliases[] = {
    {"IOT", SIGABRT},        {"CLD", SIGCHLD},        {"POLL", SIGIO},
    {"RTMIN", REALTIME_MIN}, {"RTMAX", REALTIME_MAX},
};

/* "+3" behind RTMIN or "-3" behind RTMAX: the number reached from `start`, or -1. */
static int realtime(const char *text, char sign, int start)
{
    long steps;

    if (text[0] != sign || !scan_int(text + 1, 0, REALTIME_MAX - REALTIME_MIN, &steps))
        return -1;
    return sign == '+' ? start + (int)steps : start - (int)steps;
}

int signame_number(const char *text)
{
    long number;

    if (strncasecmp(text, "SIG", 3) == 0)
        text += 3;
    if (scan_int(text, 1, REALTIME_MAX, &number))
        return (int)number;
    for (int i = 1; i < NAMES; i++) {
        if (names[i] && strcasecmp(text, names[i]) == 0)
            return i;
    }
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcasecmp(text, aliases[i].name) == 0)
            return aliases[i].number;
    }
    if (strncasecmp(text, "RTMIN", 5) == 0)
        return realtime(text + 5, '+', REALTIME_MIN);
    if (strncasecmp(text, "RTMAX", 5) == 0)
        return realtime(text + 5, '-', REALTIME_MAX);
    return -1;
}

const char *signame_text(int number, char room[static SIGNAME_MAX])
{
    struct buf out;

    buf_init(&out, room, SIGNAME_MAX);
    if (number >= 1 && number < NAMES && names[number])
        buf_addf(&out, "SIG%s", names[number]);
    else if (number == REALTIME_MIN)
        buf_adds(&out, "SIGRTMIN");
    else if (number > REALTIME_MIN && number <= REALTIME_MAX)
        buf_addf(&out, "SIGRTMIN+%d", number - REALTIME_MIN);
    else
        buf_addf(&out, "SIG%d", number);
    return room;
}
