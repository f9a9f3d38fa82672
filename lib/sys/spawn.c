#include "sys/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sys/terminal.h"

static void child_tell(int status_fd, enum spawn_stage stage, int errnum)
{
    struct spawn_failure failure = {.stage = (int)stage, .errnum = errnum};
    ssize_t ignored = write(status_fd, &failure, sizeof(failure));

    (void)ignored;
}

static _Noreturn void child_fail(int status_fd, enum spawn_stage stage, int errnum)
{
    child_tell(status_fd, stage, errnum);
    _exit(127);
}

/* What a stage of confine.h has to say; context is the status pipe. */
static void child_confine_tell(void *context, enum spawn_stage stage, int errnum)
{
    const int *status_fd = context;

    if (spawn_stage_is_fatal(stage))
        child_fail(*status_fd, stage, errnum);
    child_tell(*status_fd, stage, errnum);
}

/* Puts from[i] at descriptor i. Targets below 3 cannot clash: what is ours lies above. */
static int child_stdio(const int from[3])
{
    for (int i = 0; i < 3; i++) {
        if (from[i] >= 0 && dup2(from[i], i) < 0)
            return -1;
    }
    return 0;
}

/*
 * The death signal belongs to the parent's thread, and the parent may already be
 * gone: then nobody would ever send it.
 */
static void child_die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(127);
}

/* Our own pid as text, where PREPARE_PID_DIGITS and a NUL have room. */
static void child_write_pid(char *room)
{
    char digits[PREPARE_PID_DIGITS];
    int count = 0;

    for (pid_t rest = getpid(); rest > 0 && count < PREPARE_PID_DIGITS; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0)
        *room++ = digits[--count];
    *room = '\0';
}

/*
 * Tries each place like execvp(3): a place where the program is not, or may not
 * be looked at, does not hide a later one; EACCES is remembered as the better
 * story. Returns the errno to tell.
 */
static int child_exec(const struct prepared_rank *program)
{
    int told = ENOENT;

    for (size_t i = 0; i < program->paths.count; i++) {
        execve(program->paths.items[i], program->argv.items, program->env.items);
        if (errno == ENOEXEC && program->script.count > 0)
            execve(program->script.items[0], program->script.items, program->env.items);
        if (errno == EACCES)
            told = EACCES;
        else if (errno != ENOENT && errno != ENOTDIR)
            return errno;
    }
    return told;
}

/*
 * The raw calls: glibc's wrapper of one is limited to its cpu_set_t, the other has none. Preferred,
 * not bound: when the near memory is full, far memory is better than none.
 */
static void child_bind(const struct prepared_bind *bind, int status_fd)
{
    if (!bind->cpus)
        return;
    if (syscall(SYS_sched_setaffinity, 0, sizeof(*bind->cpus), bind->cpus) < 0)
        child_tell(status_fd, STAGE_CPUS, errno);
    if (bind->prefer_memory && syscall(SYS_set_mempolicy, MPOL_PREFERRED, bind->memory_nodes,
                                       8 * sizeof(bind->memory_nodes)) < 0)
        child_tell(status_fd, STAGE_MEMORY, errno);
}

static _Noreturn void child_run(const struct spawn_request *request, pid_t parent, int status_fd)
{
    int errnum;

    setpgid(0, 0);
    /* Still with every signal blocked: a background group would be stopped by SIGTTOU here. */
    if (request->terminal)
        tcsetpgrp(STDIN_FILENO, getpid());
    if (request->no_terminal)
        terminal_leave();
    if (request->signals)
        sigset_child_keep(request->signals);
    else
        sigset_child_defaults();
    if (child_stdio(request->stdio) < 0)
        child_fail(status_fd, STAGE_STDIO, errno);
    setrlimit(RLIMIT_NOFILE, request->nofile);
    confine_child_limits(request->confine, child_confine_tell, &status_fd);
    child_bind(&request->program->bind, status_fd);
    confine_child_user(request->confine, child_confine_tell, &status_fd);
    /* The kernel forgets it when the user or the capabilities change. */
    if (request->die_with_parent)
        child_die_with(parent);
    if (request->workdir && chdir(request->workdir) < 0)
        child_fail(status_fd, STAGE_WORKDIR, errno);
    if (request->program->listen_pid)
        child_write_pid(request->program->listen_pid);
    sigset_child_unblock(request->signals ? request->signals->mask : 0);
    errnum = seccomp_child(&request->confine->filter);
    if (errnum)
        child_fail(status_fd, STAGE_SECCOMP, errnum);
    child_fail(status_fd, STAGE_EXEC, child_exec(request->program));
}

bool spawn_stage_is_fatal(enum spawn_stage stage)
{
    return stage < STAGE_LIMIT || stage > STAGE_NICE;
}

int spawn_rank(const struct spawn_request *request, pid_t *ret_pid, int *ret_status_fd,
               struct err *err)
{
    int ends[2];
    pid_t parent = getpid();
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot make a pipe");
    CLEANUP_FD int read_end = ends[0];
    CLEANUP_FD int write_end = ends[1];

    if (fcntl(read_end, F_SETFL, O_NONBLOCK) < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot make a pipe");
    pid = fork();
    if (pid < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot start a process");
    if (pid == 0)
        child_run(request, parent, write_end);
    /* On both sides, so that neither can be too late; EACCES and ESRCH mean the child was faster. */
    setpgid(pid, pid);
    *ret_pid = pid;
    *ret_status_fd = cleanup_take_fd(&read_end);
    return 0;
}
