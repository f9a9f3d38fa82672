/* The verb that takes system calls away, as a container's filter may. */
#include "payload.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct call {
    const char *name;
    unsigned number;
} calls[] = {
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"set_mempolicy", SYS_set_mempolicy},
};

static void deny_one(unsigned number)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        die("seccomp");
}

/* deny NAME... -- PROGRAM ARG...: runs PROGRAM, to which these calls answer EPERM. */
int verb_deny(int argc, char **argv)
{
    int at = 0;

    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        size_t i = 0;

        while (i < sizeof calls / sizeof *calls && strcmp(calls[i].name, argv[at]) != 0)
            i++;
        errno = EINVAL;
        if (i == sizeof calls / sizeof *calls)
            die("no such call here: %s", argv[at]);
        deny_one(calls[i].number);
    }
    if (at + 1 < argc)
        execv(argv[at + 1], argv + at + 1);
    die("deny");
}
