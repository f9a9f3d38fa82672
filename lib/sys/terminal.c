#include "sys/terminal.h"

#include <signal.h>
#include <unistd.h>

bool terminal_ours(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void terminal_suspend(pid_t leader)
{
    terminal_take_back(leader);
    kill(getpid(), SIGSTOP);
    /* Continued; in the background (`bg`) the terminal is not ours to give. */
    if (terminal_ours())
        tcsetpgrp(STDIN_FILENO, leader);
    kill(-leader, SIGCONT);
}

void terminal_take_back(pid_t leader)
{
    /* SIGTTOU is blocked, as every signal is: nothing stops us here. */
    if (tcgetpgrp(STDIN_FILENO) == leader)
        tcsetpgrp(STDIN_FILENO, getpgrp());
}
