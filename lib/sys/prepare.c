#include "sys/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/scan.h"
#include "model/rankenv.h"
#include "sys/attempt.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SCRIPT_HEAD  256

/* Fills paths with where program may be: itself, or every place of PATH in order. */
static void find_paths(const char *program, const char *path_variable, struct strvec *paths)
{
    const char *place = path_variable ? path_variable : DEFAULT_PATH;

    if (strchr(program, '/') || !program[0]) {
        strvec_push(paths, program);
        return;
    }
    for (;;) {
        size_t len = strcspn(place, ":");

        if (len == 0)
            strvec_pushf(paths, "./%s", program);
        else
            strvec_pushf(paths, "%.*s/%s", (int)len, place, program);
        if (!place[len])
            return;
        place += len + 1;
    }
}

/* True if the file at path (seen from workdir) is an executable text without "#!". */
static bool is_plain_script(const char *workdir, const char *path)
{
    char head[SCRIPT_HEAD];
    CLEANUP_FD int dir = open(workdir ? workdir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat info;
    ssize_t len;

    if (fstatat(dir < 0 ? AT_FDCWD : dir, path, &info, 0) < 0 || !S_ISREG(info.st_mode) ||
        !(info.st_mode & 0111))
        return false;
    CLEANUP_FD int fd = openat(dir < 0 ? AT_FDCWD : dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    len = fd < 0 ? -1 : read(fd, head, sizeof(head));
    return len >= 0 && !memchr(head, '\0', (size_t)len) &&
           !(len >= 2 && head[0] == '#' && head[1] == '!');
}

/* As execvp(3): a script that names no interpreter is the shell's. */
static void find_script(const struct plan *plan, struct prepared_rank *rank)
{
    for (size_t i = 0; i < rank->paths.count; i++) {
        if (!is_plain_script(plan->workdir, rank->paths.items[i]))
            continue;
        strvec_push(&rank->script, _PATH_BSHELL);
        strvec_push(&rank->script, rank->paths.items[i]);
        strvec_push_all(&rank->script, strvec_texts(&rank->argv) + 1);
        return;
    }
}

/*
 * Sockets that were passed to us are passed on to a single leader, whose pid must stand in
 * LISTEN_PID or it would not take them; several cannot share them.
 */
static void find_listen_pid(const struct plan *plan, struct strvec *env, char **ret)
{
    static const char *const names[] = {"LISTEN_PIDFDID", "LISTEN_PID", "LISTEN_FDS",
                                        "LISTEN_FDNAMES"};
    const char *listen_pid = env_get(strvec_texts(env), "LISTEN_PID");
    long pid;

    if (!listen_pid || !scan_int(listen_pid, 1, INT32_MAX, &pid) || pid != plan->pid)
        return;
    /* This one tells of the process it was made for and no other; without it the pid decides. */
    env_unset(env, names[0]);
    if (plan->job.nproc == 1) {
        env_setf(env, "LISTEN_PID", "%*s", PREPARE_PID_DIGITS, "");
        for (size_t i = 0; i < env->count; i++) {
            if (strncmp(env->items[i], "LISTEN_PID=", strlen("LISTEN_PID=")) == 0)
                *ret = env->items[i] + strlen("LISTEN_PID=");
        }
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        env_unset(env, names[i]);
}

static void prepare_bind(const struct plan_place *place, struct prepared_bind *bind)
{
    const int bits = 8 * sizeof(bind->memory_nodes[0]);
    int node = place->memory_node;

    if (!place->bound)
        return;
    bind->cpus = &place->cpus;
    bind->prefer_memory = node >= 0 && node < 8 * (int)sizeof(bind->memory_nodes);
    if (bind->prefer_memory)
        bind->memory_nodes[node / bits] = 1UL << (node % bits);
}

static void prepare_rank(const struct plan *plan, struct prepared *prepared, int local_rank)
{
    struct prepared_rank *rank = &prepared->ranks[local_rank];
    struct attempt_names names;
    struct rankenv_late late = attempt_late(plan, prepared, local_rank, &names);

    rankenv_argv(plan, local_rank, &rank->argv);
    rankenv_build(plan, local_rank, &late, &rank->env);
    find_listen_pid(plan, &rank->env, &rank->listen_pid);
    attempt_find_slots(plan, rank);
    find_paths(rank->argv.items[0], env_get(strvec_texts(&rank->env), "PATH"), &rank->paths);
    find_script(plan, rank);
    if (plan->places)
        prepare_bind(&plan->places[local_rank], &rank->bind);
}

void prepare_limits(struct rlimit *ret_inherited)
{
    struct rlimit raised;

    getrlimit(RLIMIT_NOFILE, ret_inherited);
    raised = *ret_inherited;
    raised.rlim_cur = raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised);
}

int prepare_all(const struct plan *plan, struct prepared *ret, struct err *err)
{
    memset(ret, 0, sizeof(*ret));
    ret->port_fd = -1;
    ret->null_fd = -1;
    ret->ranks = calloc((size_t)plan->job.nproc, sizeof(*ret->ranks));
    if (!ret->ranks)
        return err_set(err, ERR_SYSTEM, "no memory for %d ranks", plan->job.nproc);
    ret->count = plan->job.nproc;
    for (int i = 0; i < ret->count; i++)
        ret->ranks[i].error_fd = -1;
    ret->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    ret->confine.security = &plan->security;
    if (seccomp_compile(&plan->security, &ret->confine.filter, err) < 0 ||
        attempt_make_run_dir(plan, ret, err) < 0 || attempt_make(plan, ret, 0, err) < 0)
        return -1;
    for (int i = 0; i < ret->count; i++)
        prepare_rank(plan, ret, i);
    attempt_fill_slots(ret, 0);
    return 0;
}

int prepare_again(const struct plan *plan, struct prepared *prepared, int attempt, struct err *err)
{
    if (attempt_make(plan, prepared, attempt, err) < 0)
        return -1;
    attempt_fill_slots(prepared, attempt);
    return 0;
}

void prepare_clean(struct prepared *prepared)
{
    attempt_clean(prepared);
}

void prepare_release(struct prepared *prepared)
{
    for (int i = 0; i < prepared->count; i++) {
        struct prepared_rank *rank = &prepared->ranks[i];

        cleanup_fd(&rank->error_fd);
        strvec_release(&rank->argv);
        strvec_release(&rank->env);
        strvec_release(&rank->paths);
        strvec_release(&rank->script);
    }
    free(prepared->ranks);
    seccomp_release_filter(&prepared->confine.filter);
    cleanup_fd(&prepared->port_fd);
    cleanup_fd(&prepared->null_fd);
}
