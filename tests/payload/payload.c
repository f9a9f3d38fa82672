/*
 * payload - one small program that misbehaves on request.
 *
 * Layer: tests only; it uses nothing of lib/, so that it cannot share a mistake with it. The verbs
 * are the rows of `verbs` at the end, `payload help` prints them. READY is a file or fifo that gets
 * one line, the pid, once the verb has set up what it is for; `-` is none.
 */
#include "payload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct verb {
    const char *name;
    int least; /* arguments it must have */
    int (*run)(int argc, char **argv);
    const char *help;
};

static int run_verb(int argc, char **argv);

void die(const char *fmt, ...)
{
    int saved = errno;
    va_list ap;

    fputs("payload: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, " (%s)\n", strerror(saved));
    exit(99);
}

long number(const char *text, long least, long most)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < least || n > most)
        die("not a number from %ld to %ld: %s", least, most, text);
    return n;
}

/* "TERM", "SIGTERM", "15", "RTMIN+3". */
static int signal_number(const char *text)
{
    if (strncmp(text, "SIG", 3) == 0)
        text += 3;
    if (strncmp(text, "RTMIN+", 6) == 0)
        return SIGRTMIN + (int)number(text + 6, 0, 30);
    for (int sig = 1; sig < SIGRTMIN; sig++) {
        const char *name = sigabbrev_np(sig);
        if (name && strcmp(name, text) == 0)
            return sig;
    }
    return (int)number(text, 1, 64);
}

static const char *signal_text(int sig, char text[16])
{
    const char *name = sigabbrev_np(sig);

    if (name)
        snprintf(text, 16, "SIG%s", name);
    else
        snprintf(text, 16, "RTMIN+%d", sig - SIGRTMIN);
    return text;
}

void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR)
            die("write to %d", fd);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
}

static void tell_ready(const char *path)
{
    char line[32];
    int fd;

    if (!path || strcmp(path, "-") == 0)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        die("%s", path);
    write_all(fd, line, (size_t)snprintf(line, sizeof line, "%d\n", (int)getpid()));
    close(fd);
}

__attribute__((noreturn)) static void hold(void)
{
    for (;;)
        pause();
}

static pid_t fork_or_die(void)
{
    pid_t pid = fork();

    if (pid < 0)
        die("fork");
    return pid;
}

/* ---- ends ------------------------------------------------------------------------------ */

static int verb_exit(int argc, char **argv)
{
    (void)argc;
    return (int)number(argv[0], 0, 255);
}

static int verb_die(int argc, char **argv)
{
    int sig = signal_number(argv[0]);
    struct rlimit no_core = {0, 0};
    sigset_t set;

    (void)argc;
    setrlimit(RLIMIT_CORE, &no_core);
    signal(sig, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), sig);
    return 98; /* still here: the kernel shields PID 1 from itself */
}

static int verb_stderr(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        fprintf(stderr, "%s\n", argv[i]);
    return (int)number(argv[0], 0, 255);
}

/* ---- waits ----------------------------------------------------------------------------- */

static int verb_hold(int argc, char **argv)
{
    tell_ready(argc > 0 ? argv[0] : NULL);
    hold();
}

static int verb_spin(int argc, char **argv)
{
    tell_ready(argc > 0 ? argv[0] : NULL);
    for (volatile bool on = true; on;)
        ;
    return 0;
}

static int verb_ignore(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        signal(signal_number(argv[i]), SIG_IGN);
    tell_ready(argv[0]);
    hold();
}

/* trap READY COUNT CODE SIG...: a line for each signal, exit CODE after COUNT of them (0: never). */
static int verb_trap(int argc, char **argv)
{
    long left = number(argv[1], 0, 1000000);
    int code = (int)number(argv[2], 0, 255);
    sigset_t set;

    sigemptyset(&set);
    for (int i = 3; i < argc; i++)
        sigaddset(&set, signal_number(argv[i]));
    sigprocmask(SIG_BLOCK, &set, NULL);
    tell_ready(argv[0]);
    for (;;) {
        siginfo_t info;
        char name[16];

        if (sigwaitinfo(&set, &info) < 0)
            continue;
        printf("%s from %d\n", signal_text(info.si_signo, name), (int)info.si_pid);
        fflush(stdout);
        if (left > 0 && --left == 0)
            return code;
    }
}

/* gate FIFO VERB...: until somebody has opened FIFO, written or not, and closed it again. */
static int verb_gate(int argc, char **argv)
{
    char byte;
    int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        die("%s", argv[0]);
    while (read(fd, &byte, 1) > 0)
        ;
    close(fd);
    return run_verb(argc - 1, argv + 1);
}

static int verb_ready(int argc, char **argv)
{
    tell_ready(argv[0]);
    return run_verb(argc - 1, argv + 1);
}

/* ---- processes ------------------------------------------------------------------------- */

/* orphans N [VERB...]: N grandchildren that lose their parent and run VERB (exit 0). */
static int verb_orphans(int argc, char **argv)
{
    long count = number(argv[0], 0, 1000000);

    for (long i = 0; i < count; i++) {
        pid_t child = fork_or_die();
        if (child == 0) {
            if (fork_or_die() == 0)
                exit(argc > 1 ? run_verb(argc - 1, argv + 1) : 0);
            _exit(0);
        }
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    return 0;
}

/* workers N VERB...: N children in our group run VERB; we wait for them all. */
static int verb_workers(int argc, char **argv)
{
    long count = number(argv[0], 0, 1000000);

    for (long i = 0; i < count; i++)
        if (fork_or_die() == 0)
            exit(run_verb(argc - 1, argv + 1));
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}

/* daemon VERB...: leaves session and group, and keeps the output open, as a bad daemon does. */
static int verb_daemon(int argc, char **argv)
{
    if (fork_or_die() > 0)
        return 0;
    setsid();
    if (fork_or_die() > 0)
        _exit(0);
    return run_verb(argc, argv);
}

static void *thread_holds(void *ready)
{
    /* The kernel shows the leader as a zombie only after it has really gone. */
    char line[256] = "";
    while (!strstr(line, ") Z ")) {
        int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
        if (n < 0)
            die("/proc/self/stat");
        line[n] = '\0';
        close(fd);
        sched_yield();
    }
    tell_ready(ready);
    hold();
}

/* zombie READY: a child of ours ends, and we never wait for it. */
static int verb_zombie(int argc, char **argv)
{
    siginfo_t unused;
    pid_t pid = fork_or_die();

    (void)argc;
    if (pid == 0)
        _exit(0);
    waitid(P_PID, (id_t)pid, &unused, WEXITED | WNOWAIT);
    tell_ready(argv[0]);
    hold();
}

/* zombie-leader READY: the first thread ends, another goes on: state Z, yet alive. */
static int verb_zombie_leader(int argc, char **argv)
{
    pthread_t thread;

    (void)argc;
    if (pthread_create(&thread, NULL, thread_holds, argv[0]) != 0)
        die("pthread_create");
    pthread_exit(NULL);
}

/* ---- output ---------------------------------------------------------------------------- */

/* write FD N LEN: N lines of LEN bytes with the newline: the line's number, then dots. */
static int verb_write(int argc, char **argv)
{
    int fd = (int)number(argv[0], 0, 1023);
    long count = number(argv[1], 0, 1000000000);
    size_t len = (size_t)number(argv[2], 1, 1 << 20);
    size_t room = len > 65536 ? len : 65536 / len * len, used = 0;
    char *block = malloc(room), head[24];

    (void)argc;
    if (!block)
        die("malloc");
    for (long i = 0; i < count; i++) {
        size_t n = (size_t)snprintf(head, sizeof head, "%ld ", i);
        memset(block + used, '.', len - 1);
        memcpy(block + used, head, n < len - 1 ? n : len - 1);
        block[used + len - 1] = '\n';
        used += len;
        if (used == room) {
            write_all(fd, block, used);
            used = 0;
        }
    }
    write_all(fd, block, used);
    free(block);
    return 0;
}

/* print FD TEXT VERB...: TEXT in one write and with no newline, but \n in it becomes one. */
static int verb_print(int argc, char **argv)
{
    int fd = (int)number(argv[0], 0, 1023);
    char *to = argv[1];

    for (const char *from = argv[1]; *from; from++) {
        bool newline = from[0] == '\\' && from[1] == 'n';
        *to++ = newline ? '\n' : *from;
        from += newline;
    }
    write_all(fd, argv[1], (size_t)(to - argv[1]));
    return argc > 2 ? run_verb(argc - 2, argv + 2) : 0;
}

static int verb_help(int argc, char **argv);

static const struct verb verbs[] = {
    {"exit", 1, verb_exit, "CODE"},
    {"die", 1, verb_die, "SIG                  by that signal, no core"},
    {"stderr", 1, verb_stderr, "CODE LINE...      lines on stderr, then exit"},
    {"hold", 0, verb_hold, "[READY]             until killed"},
    {"spin", 0, verb_spin, "[READY]             the same, using a CPU"},
    {"ignore", 2, verb_ignore, "READY SIG...      hold, ignoring signals"},
    {"trap", 4, verb_trap, "READY COUNT CODE SIG...   print signals, exit after COUNT (0: never)"},
    {"gate", 2, verb_gate, "FIFO VERB...        wait until FIFO was opened and closed, then VERB"},
    {"ready", 2, verb_ready, "READY VERB..."},
    {"orphans", 1, verb_orphans, "N [VERB...]      leave N orphans behind (VERB: exit 0)"},
    {"workers", 2, verb_workers, "N VERB...        N children in our group; wait for all"},
    {"daemon", 1, verb_daemon, "VERB...           in a new session, output kept open; exit 0"},
    {"zombie", 1, verb_zombie, "READY             a child ends, and nobody waits for it"},
    {"zombie-leader", 1, verb_zombie_leader, "READY      first thread ends, another holds"},
    {"write", 3, verb_write, "FD N LEN           N lines of LEN bytes"},
    {"print", 2, verb_print, "FD TEXT [VERB...]  no newline but \\n"},
    {"lines", 3, verb_lines, "FD RANK N          N lines of any bytes and lengths"},
    {"check-lines", 3, verb_check_lines,
     "RANKS N PREFIX   stdin is those, each behind PREFIX bytes"},
    {"flood", 3, verb_flood, "FD LEN N            N lines of LEN bytes, as fast as can be"},
    {"drain", 0, verb_drain, "                    read stdin, print how many bytes"},
    {"env", 0, verb_env, "[FILE]               sorted environment"},
    {"args", 0, verb_args, "ARG...              one a line"},
    {"state", 0, verb_state, "[FILE]             ids, signals, CPUs, capabilities, descriptors"},
    {"deny", 3, verb_deny, "CALL... -- PROGRAM   runs PROGRAM (a path), to which CALL is EPERM"},
    {"calls-denied", 0, verb_calls_denied, "            what a filter should deny: call and errno"},
    {"calls-needed", 0, verb_calls_needed, "            what it should not"},
    {"help", 0, verb_help, ""},
};

static int verb_help(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        printf("  %s %s\n", verbs[i].name, verbs[i].help);
    return 0;
}

static int run_verb(int argc, char **argv)
{
    for (size_t i = 0; argc > 0 && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(argv[0], verbs[i].name) == 0) {
            if (argc - 1 < verbs[i].least)
                break;
            return verbs[i].run(argc - 1, argv + 1);
        }
    errno = EINVAL;
    die("try `payload help`, not `%s`", argc > 0 ? argv[0] : "");
}

int main(int argc, char **argv)
{
    return run_verb(argc - 1, argv + 1);
}
