#include "sys/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

bool terminal_ours(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Our controlling terminal, also where stdin is another file; without /dev/tty stdin has to do. */
static int open_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    return fd >= 0 ? fd : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
}

bool terminal_stop(pid_t target, int signal)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t only, pending;

    sigemptyset(&only);
    sigaddset(&only, signal);
    sigaction(signal, &by_default, &before);
    kill(target, signal);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    /* Here we are stopped, and go on. */
    sigprocmask(SIG_BLOCK, &only, NULL);
    sigaction(signal, &before, NULL);
    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

void terminal_give(pid_t leader)
{
    CLEANUP_FD int fd = open_terminal();

    /* In the background (`bg`) it is not ours to give. */
    if (tcgetpgrp(fd) == getpgrp())
        tcsetpgrp(fd, leader);
}

bool terminal_follow(pid_t leader, int signal)
{
    CLEANUP_FD int fd = open_terminal();
    pid_t front = tcgetpgrp(fd);
    bool had = front == leader;
    bool wants = signal == SIGTTIN || signal == SIGTTOU;
    bool continued;

    if (front < 0 || (signal == SIGSTOP && !had))
        return false;
    if (had)
        tcsetpgrp(fd, getpgrp());
    if (!wants || front != getpgrp()) {
        /* All of our job, as the terminal would have done it, had there been no group of its own. */
        continued = terminal_stop(had || wants ? 0 : getpid(), wants ? signal : SIGTSTP);
        /* A session from outside our PID namespace may have a shell, which is at the terminal now. */
        if (!continued && (signal != SIGTSTP || getsid(0) == 0))
            return false;
    }
    terminal_give(leader);
    kill(-leader, SIGCONT);
    return true;
}

void terminal_take_back(pid_t leader)
{
    CLEANUP_FD int fd = open_terminal();

    /* SIGTTOU is blocked, as every signal is: nothing stops us here. */
    if (tcgetpgrp(fd) == leader)
        tcsetpgrp(fd, getpgrp());
}

void terminal_leave(void)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    ioctl(fd, TIOCNOTTY);
    close(fd);
}
