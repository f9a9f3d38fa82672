/* The verbs that show what the program was given: environment, arguments, process state. */
#include "payload.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE *output(int argc, char **argv)
{
    FILE *f = argc > 0 ? fopen(argv[0], "we") : stdout;

    if (!f)
        die("%s", argv[0]);
    return f;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int verb_env(int argc, char **argv)
{
    FILE *f = output(argc, argv);
    size_t n = 0;

    while (environ[n])
        n++;
    qsort(environ, n, sizeof *environ, by_text);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s\n", environ[i]);
    return fclose(f) != 0;
}

int verb_args(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        printf("%s\n", argv[i]);
    return 0;
}

static void show_status(FILE *f)
{
    static const char *const wanted[] = {
        "Uid:",    "Gid:",    "Groups:", "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:",
        "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNew",   "Seccomp:"};
    FILE *status = fopen("/proc/self/status", "re");
    char line[4096];

    if (!status)
        return;
    while (fgets(line, sizeof line, status))
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                fputs(line, f);
    fclose(status);
}

static void show_fds(FILE *f)
{
    DIR *dir = opendir("/proc/self/fd");

    for (struct dirent *e; dir && (e = readdir(dir));) {
        char target[512];
        ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof target - 1);

        if (n < 0 || atoi(e->d_name) == dirfd(dir) || (f != stdout && atoi(e->d_name) == fileno(f)))
            continue;
        target[n] = '\0';
        fprintf(f, "fd %s: %s\n", e->d_name, target);
    }
    if (dir)
        closedir(dir);
}

static void show_affinity(FILE *f)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    fputs("cpus:", f);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            fprintf(f, " %d", cpu);
    fputc('\n', f);
}

/* "memory: preferred 0"; the policies are the kernel's: 0 default, 1 preferred, 2 bind, ... */
static void show_memory(FILE *f)
{
    static const char *const words[] = {"default", "preferred", "bind", "interleave", "local"};
    unsigned long nodes[16] = {0};
    int policy = 0;

    if (syscall(SYS_get_mempolicy, &policy, nodes, 8 * sizeof nodes, NULL, 0L) != 0)
        return;
    fprintf(f, "memory: %s", policy >= 0 && policy < 5 ? words[policy] : "other");
    for (size_t node = 0; node < 8 * sizeof nodes; node++)
        if (nodes[node / 64] >> (node % 64) & 1)
            fprintf(f, " %zu", node);
    fputc('\n', f);
}

/* state [FILE]: one "name: value" a line; FILE itself is not among the descriptors. */
int verb_state(int argc, char **argv)
{
    FILE *f = output(argc, argv);
    char cwd[4096];
    int death = 0;
    mode_t mask = umask(0);

    prctl(PR_GET_PDEATHSIG, &death);
    fprintf(f, "pid: %d\nppid: %d\npgid: %d\nsid: %d\n", (int)getpid(), (int)getppid(),
            (int)getpgid(0), (int)getsid(0));
    fprintf(f, "cwd: %s\n", getcwd(cwd, sizeof cwd) ? cwd : "(none)");
    fprintf(f, "umask: %03o\nnice: %d\ndeath signal: %d\n", (unsigned)mask,
            getpriority(PRIO_PROCESS, 0), death);
    show_affinity(f);
    show_memory(f);
    show_status(f);
    fflush(f);
    show_fds(f);
    return fclose(f) != 0;
}
