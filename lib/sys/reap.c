#include "sys/reap.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

pid_t reap_peek(int *ret_status)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
        if (errno != EINTR)
            return -1;
    }
    *ret_status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
                                             : W_EXITCODE(0, info.si_status);
    if (info.si_code == CLD_DUMPED)
        *ret_status |= WCOREFLAG;
    return info.si_pid;
}

bool reap_is_dead(pid_t pid)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
           info.si_pid == pid;
}

int reap_stopped(pid_t pid)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) < 0 || info.si_pid != pid)
        return 0;
    return info.si_status;
}

bool reap_take(pid_t pid, struct rusage *ret_usage)
{
    pid_t taken;

    do {
        taken = wait4(pid, NULL, WNOHANG | __WALL, ret_usage);
    } while (taken < 0 && errno == EINTR);
    return taken == pid;
}
