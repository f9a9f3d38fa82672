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
#include "base/log.h"
#include "base/scan.h"
#include "model/rankenv.h"
#include "sys/rendezvous.h"

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

/* Folders of ours are for us alone, unless ranks of another user have to pass through. */
static mode_t dir_mode(const struct prepared *prepared)
{
    return prepared->confine.security->user.change ? 0711 : 0700;
}

/*
 * Makes <run_dir>/attempt_0/<local_rank>/error.json (torchrun's layout) and keeps a descriptor of
 * our own: what the rank does to the name later cannot redirect what we read.
 */
static int make_error_file(const struct prepared *prepared, int local_rank,
                           struct prepared_rank *rank)
{
    const struct security_user *user = &prepared->confine.security->user;
    char dir[PATH_MAX];
    int len = snprintf(dir, sizeof(dir), "%s/attempt_0/%d", prepared->run_dir, local_rank);

    if (len < 0 || (size_t)len >= sizeof(dir) || mkdir(dir, dir_mode(prepared)) < 0)
        return -1;
    len = snprintf(rank->error_path, sizeof(rank->error_path), "%s/error.json", dir);
    if (len < 0 || (size_t)len >= sizeof(rank->error_path))
        return -1;
    rank->error_fd = open(rank->error_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          0600);
    if (rank->error_fd >= 0 && user->change && fchown(rank->error_fd, user->uid, user->gid) < 0)
        log_debug("cannot give %s to user %u: %m", rank->error_path, user->uid);
    return rank->error_fd < 0 ? -1 : 0;
}

/* A new directory for this run below `base`; true if it is there. */
static bool make_run_dir(const char *base, const char *id, mode_t mode, char room[static PATH_MAX])
{
    char clean[64];
    char attempt[PATH_MAX];
    size_t i;
    int len;

    for (i = 0; id[i] && i + 1 < sizeof(clean); i++)
        clean[i] = id[i] == '/' ? '_' : id[i];
    clean[i] = '\0';
    len = snprintf(room, PATH_MAX, "%s/%s_XXXXXX", base, clean);
    if (len < 0 || len >= PATH_MAX || !mkdtemp(room)) {
        room[0] = '\0';
        return false;
    }
    len = snprintf(attempt, sizeof(attempt), "%s/attempt_0", room);
    return len > 0 && (size_t)len < sizeof(attempt) && mkdir(attempt, mode) == 0 &&
           chmod(room, mode) == 0 && chmod(attempt, mode) == 0;
}

/* Where --log-dir points, made if missing, as an absolute path: ranks may live elsewhere. */
static int find_log_dir(const char *stated, char room[static PATH_MAX], struct err *err)
{
    if (mkdir(stated, 0777) < 0 && errno != EEXIST)
        return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot make %s", stated);
    if (!realpath(stated, room))
        return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot use %s", stated);
    return 0;
}

static int make_error_files(const struct plan *plan, struct prepared *prepared, struct err *err)
{
    char log_dir[PATH_MAX];
    const char *base = plan->error_dir;

    if (!base)
        return 0;
    if (plan->log_dir_stated) {
        if (find_log_dir(base, log_dir, err) < 0)
            return -1;
        base = log_dir;
    }
    prepared->keep_run_dir = plan->log_dir_stated;
    if (!make_run_dir(base, plan->log_dir_stated ? plan->job.id : "rankinit", dir_mode(prepared),
                      prepared->run_dir)) {
        if (plan->log_dir_stated)
            return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot make a folder in %s",
                                 base);
        log_info("no error files: cannot make a folder in %s", base);
        prepared->run_dir[0] = '\0';
        return 0;
    }
    for (int i = 0; i < prepared->count; i++) {
        if (make_error_file(prepared, i, &prepared->ranks[i]) < 0)
            prepared->ranks[i].error_path[0] = '\0';
    }
    return 0;
}

static int prepare_port(const struct plan *plan, struct prepared *prepared, struct err *err)
{
    prepared->port = plan->job.master_port;
    if (plan->mode != PLAN_FANOUT || plan->job.node_rank != 0 || !plan->job.master_addr)
        return 0;
    if (prepared->port)
        return rendezvous_probe(prepared->port, err);
    prepared->port_fd = rendezvous_hold(plan->ephemeral_port_min, plan->ephemeral_port_max,
                                        &prepared->port, err);
    return prepared->port_fd < 0 ? -1 : 0;
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
    struct rankenv_late late = {.master_port = prepared->port,
                                .attempt = 0,
                                .error_file = rank->error_path[0] ? rank->error_path : NULL,
                                .ready_file = NULL};

    rankenv_argv(plan, local_rank, &rank->argv);
    rankenv_build(plan, local_rank, &late, &rank->env);
    find_listen_pid(plan, &rank->env, &rank->listen_pid);
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
        prepare_port(plan, ret, err) < 0 || make_error_files(plan, ret, err) < 0)
        return -1;
    for (int i = 0; i < ret->count; i++)
        prepare_rank(plan, ret, i);
    return 0;
}

/* Removes `name` (a directory of ours that holds only what we made) below dir_fd. */
static void remove_rank_dir(int dir_fd, int local_rank)
{
    char name[16];

    snprintf(name, sizeof(name), "%d", local_rank);
    {
        CLEANUP_FD int rank_fd = openat(dir_fd, name,
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (rank_fd >= 0)
            unlinkat(rank_fd, "error.json", 0);
    }
    unlinkat(dir_fd, name, AT_REMOVEDIR);
}

void prepare_clean(struct prepared *prepared)
{
    if (!prepared->run_dir[0] || prepared->keep_run_dir)
        return;
    CLEANUP_FD int run_fd = open(prepared->run_dir,
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (run_fd < 0)
        return;
    {
        CLEANUP_FD int attempt_fd = openat(run_fd, "attempt_0",
                                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        for (int i = 0; attempt_fd >= 0 && i < prepared->count; i++)
            remove_rank_dir(attempt_fd, i);
    }
    unlinkat(run_fd, "attempt_0", AT_REMOVEDIR);
    rmdir(prepared->run_dir);
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
