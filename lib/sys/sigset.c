#include "sys/sigset.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SIGSET_BYTES 8
#define LAST_SIGNAL         64

/* struct sigaction as the kernel knows it; with SIG_DFL no field but the zeros matters. */
struct kernel_action {
    uint64_t words[4];
};

static void set_mask(uint64_t mask, uint64_t *ret_old)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, ret_old, KERNEL_SIGSET_BYTES);
}

static void set_default(int signal)
{
    static const struct kernel_action zero;

    syscall(SYS_rt_sigaction, signal, &zero, NULL, KERNEL_SIGSET_BYTES);
}

void sigset_block(struct sigset_inherited *ret)
{
    struct sigaction before;

    set_mask(UINT64_MAX, &ret->mask);
    ret->child_ignored = sigaction(SIGCHLD, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    set_default(SIGCHLD);
}

int sigset_open(struct err *err)
{
    uint64_t mask = UINT64_MAX;
    long fd = syscall(SYS_signalfd4, -1, &mask, KERNEL_SIGSET_BYTES, SFD_NONBLOCK | SFD_CLOEXEC);

    if (fd < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot listen for signals");
    return (int)fd;
}

void sigset_child_defaults(void)
{
    for (int signal = 1; signal <= LAST_SIGNAL; signal++)
        set_default(signal);
}

void sigset_child_keep(const struct sigset_inherited *inherited)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    if (inherited->child_ignored)
        sigaction(SIGCHLD, &ignore, NULL);
}

void sigset_child_unblock(uint64_t mask)
{
    set_mask(mask, NULL);
}
