#include "sys/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "sys/file.h"
#include "sys/numbered.h"

#define DEPTH_MAX  256
#define TRIES      4
#define PIDS_ASKED 131072 /* after our own: a tenth of a second at most */

/* Looks whether there is a child, and changes nothing. */
#define WAIT_ANY_CHILD (WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT | __WALL)

struct process {
    struct descendant seen;
    uint64_t started; /* clock ticks after boot: tells apart two that had the same pid */
};

static bool peek_process(int proc_fd, pid_t pid, const char *name, char *room, size_t size)
{
    char path[32];

    snprintf(path, sizeof(path), "%d/%s", pid, name);
    return file_peek(proc_fd, path, true, room, size) > 0;
}

/* Field N of proc(5) stat counted from `state`, which is 0, in the text after the name. */
static uint64_t field(const char *text, int index)
{
    for (; index > 0 && *text; index--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return strtoull(text, NULL, 10);
}

static bool read_process(int proc_fd, pid_t pid, struct process *ret)
{
    char text[1024];
    struct buf name = BUF_OVER(ret->seen.name);
    const char *open, *close;

    if (!peek_process(proc_fd, pid, "stat", text, sizeof(text)))
        return false;
    open = strchr(text, '(');
    /* The name is the process's own choice: it may hold blanks and parentheses. */
    close = strrchr(text, ')');
    if (!open || !close || close < open || strncmp(close, ") ", 2) != 0)
        return false;
    buf_add_plain(&name, open + 1, (size_t)(close - open - 1));
    ret->seen.pid = pid;
    ret->seen.state = close[2];
    ret->seen.parent = (pid_t)field(close + 2, 1);
    ret->seen.group = (pid_t)field(close + 2, 2);
    ret->seen.session = (pid_t)field(close + 2, 3);
    ret->seen.threads = (int)field(close + 2, 17);
    ret->started = field(close + 2, 19);
    return true;
}

/*
 * False for a /proc of another PID namespace, as it is left after unshare(1) without --mount-proc:
 * its numbers name processes that are not ours.
 */
static bool is_own_proc(int proc_fd)
{
    static const char key[] = "\nNSpid:";
    char text[4096];
    char *numbers, *end;
    ssize_t len = readlinkat(proc_fd, "self", text, sizeof(text) - 1);

    if (len < 0)
        return false;
    text[len] = '\0';
    if (strtol(text, NULL, 10) != getpid())
        return false;
    if (file_peek(proc_fd, "self/status", false, text, sizeof(text)) < 0)
        return false;
    /* One number for each namespace from that of /proc down to ours. */
    numbers = strstr(text, key);
    if (!numbers)
        return true;
    strtol(numbers + strlen(key), &end, 10);
    return *end == '\n';
}

/* Calls meet for each process; -1 if /proc cannot be read. */
static int each_process(numbered_visit *meet, void *context)
{
    CLEANUP_FD int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (proc_fd < 0 || !is_own_proc(proc_fd))
        return -1;
    return numbered_each(proc_fd, meet, context);
}

static bool is_spared(const struct descendants *descendants, const struct process *process)
{
    for (int i = 0; i < descendants->spared_count; i++)
        if (descendants->spared[i] == process->seen.pid)
            return descendants->spared_started[i] == process->started;
    return false;
}

static void spare(struct descendants *descendants, pid_t pid, uint64_t started)
{
    if (descendants->spared_count == DESCENDANTS_SPARED_MAX) {
        log_notice("more than %d children at the start: process %d will not be spared",
                   DESCENDANTS_SPARED_MAX, pid);
        return;
    }
    descendants->spared[descendants->spared_count] = pid;
    descendants->spared_started[descendants->spared_count++] = started;
}

static void note_child(void *context, int proc_fd, pid_t pid)
{
    struct descendants *descendants = context;
    struct process process;

    if (read_process(proc_fd, pid, &process) && process.seen.parent == descendants->self)
        spare(descendants, pid, process.started);
}

static void note_child_unseen(void *context, const struct descendant *process)
{
    spare(context, process->pid, 0);
}

static bool has_child(void)
{
    siginfo_t unused;

    return waitid(P_ALL, 0, &unused, WAIT_ANY_CHILD) == 0 || errno != ECHILD;
}

void descendants_init(struct descendants *descendants)
{
    memset(descendants, 0, sizeof(*descendants));
    descendants->self = getpid();
    /* Hardly ever there is one, and a busy host's /proc is long. */
    if (has_child() && each_process(note_child, descendants) < 0)
        descendants_children(descendants, note_child_unseen, descendants);
}

enum place { ELSEWHERE, BELOW_US, MOVED };

/*
 * Climbs from a process to us or to the top. Processes end meanwhile: their children move to
 * another parent, and a number may be given to a new process, which is younger than its child.
 */
static enum place climb(const struct descendants *descendants, int proc_fd, struct process at)
{
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        struct process above;

        if (at.seen.parent == descendants->self)
            return is_spared(descendants, &at) ? ELSEWHERE : BELOW_US;
        if (at.seen.parent <= 0) /* the top, or put into our namespace from outside */
            return ELSEWHERE;
        if (!read_process(proc_fd, at.seen.parent, &above) || above.started > at.started)
            return MOVED;
        at = above;
    }
    return ELSEWHERE;
}

struct walk {
    const struct descendants *descendants;
    void (*visit)(void *context, const struct descendant *process);
    void *context;
    int count;
};

static void visit_if_below(void *context, int proc_fd, pid_t pid)
{
    struct walk *walk = context;
    struct process process;
    enum place place = MOVED;

    if (pid == walk->descendants->self)
        return;
    for (int try = 0; place == MOVED && try < TRIES; try++) {
        if (!read_process(proc_fd, pid, &process))
            return;
        place = climb(walk->descendants, proc_fd, process);
    }
    if (place != BELOW_US)
        return;
    walk->count++;
    if (walk->visit)
        walk->visit(walk->context, &process.seen);
}

int descendants_walk(const struct descendants *descendants,
                     void (*visit)(void *context, const struct descendant *process), void *context)
{
    struct walk walk = {.descendants = descendants, .visit = visit, .context = context};

    return each_process(visit_if_below, &walk) < 0 ? -1 : walk.count;
}

int descendants_children(const struct descendants *descendants,
                         void (*visit)(void *context, const struct descendant *process),
                         void *context)
{
    int count = 0;

    for (pid_t pid = descendants->self + 1; pid <= descendants->self + PIDS_ASKED; pid++) {
        struct process process = {.seen = {.pid = pid, .parent = descendants->self, .state = '?'}};
        siginfo_t unused;

        if (waitid(P_PID, (id_t)pid, &unused, WAIT_ANY_CHILD) < 0 ||
            is_spared(descendants, &process))
            continue;
        process.seen.group = getpgid(pid);
        process.seen.session = getsid(pid);
        count++;
        if (visit)
            visit(context, &process.seen);
    }
    return count;
}

bool descendants_none(const struct descendants *descendants)
{
    int count;

    /* We are a subreaper: without a child there is nobody further down either. */
    if (!has_child())
        return true;
    if (descendants->spared_count == 0)
        return false;
    count = descendants_walk(descendants, NULL, NULL);
    if (count < 0)
        count = descendants_children(descendants, NULL, NULL);
    return count == 0;
}

bool descendants_in_group(pid_t group)
{
    siginfo_t unused;

    return waitid(P_PGID, (id_t)group, &unused, WAIT_ANY_CHILD) == 0;
}

struct stuck {
    pid_t thread; /* 0: none found yet */
    char state;
};

/* A thread in D is what SIGKILL waits for; else any that lives will do. */
static void note_stuck(void *context, int task_fd, pid_t pid)
{
    struct stuck *stuck = context;
    struct process thread;

    if (stuck->state == 'D' || !read_process(task_fd, pid, &thread) || thread.seen.state == 'Z' ||
        thread.seen.state == 'X')
        return;
    if (stuck->thread == 0 || thread.seen.state == 'D')
        *stuck = (struct stuck){.thread = pid, .state = thread.seen.state};
}

static int open_tasks(pid_t pid)
{
    CLEANUP_FD int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char path[32];

    if (proc_fd < 0 || !is_own_proc(proc_fd))
        return -1;
    snprintf(path, sizeof(path), "%d/task", (int)pid);
    return openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

char descendants_wchan(pid_t pid, char *room, size_t size)
{
    CLEANUP_FD int task_fd = open_tasks(pid);
    struct stuck stuck = {.thread = 0, .state = '?'};
    struct buf out;
    char text[64] = "";

    buf_init(&out, room, size);
    if (task_fd >= 0)
        numbered_each(task_fd, note_stuck, &stuck);
    if (stuck.thread > 0)
        peek_process(task_fd, stuck.thread, "wchan", text, sizeof(text));
    /* "0" is what the kernel says when it does not want to tell, or when the process runs. */
    if (text[0] == '\0' || strcmp(text, "0") == 0)
        buf_adds(&out, "?");
    else
        buf_add_plain(&out, text, strcspn(text, "\n"));
    return stuck.state;
}
