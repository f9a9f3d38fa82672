#include "sys/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "model/rankenv.h"
#include "sys/rendezvous.h"

#define ERROR_NAME  "error.json"
#define READY_NAME  "ready"
#define NAME_ROOM   32
#define WIDEST_PORT 65535

/* Writes dir/name to room; false, and room is empty, if it does not fit. */
static bool join(const char *dir, const char *name, char room[static PATH_MAX])
{
    int len = snprintf(room, PATH_MAX, "%s/%s", dir, name);

    if (len > 0 && len < PATH_MAX)
        return true;
    room[0] = '\0';
    return false;
}

/* ---- folders and files ---- */

/* Folders of ours are for us alone, unless ranks of another user have to pass through. */
static mode_t dir_mode(const struct plan *plan)
{
    return plan->security.user.change ? 0711 : 0700;
}

/* A new directory for this run below `base`; true if it is there. */
static bool make_run_dir(const char *base, const char *id, mode_t mode, char room[static PATH_MAX])
{
    char clean[64];
    size_t i;
    int len;

    for (i = 0; id[i] && i + 1 < sizeof(clean); i++)
        clean[i] = id[i] == '/' ? '_' : id[i];
    clean[i] = '\0';
    len = snprintf(room, PATH_MAX, "%s/%s_XXXXXX", base, clean);
    if (len > 0 && len < PATH_MAX && mkdtemp(room) && chmod(room, mode) == 0)
        return true;
    room[0] = '\0';
    return false;
}

/* The directory with all that lead to it, as far as they are missing; -1 with errno. */
static int make_path(const char *stated)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s", stated);

    if (len < 0 || (size_t)len >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir(path, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

/* Where --log-dir points, made if missing, as an absolute path: ranks may live elsewhere. */
static int find_log_dir(const char *stated, char room[static PATH_MAX], struct err *err)
{
    if (make_path(stated) < 0)
        return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot make %s", stated);
    if (!realpath(stated, room))
        return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot use %s", stated);
    return 0;
}

int attempt_make_run_dir(const struct plan *plan, struct prepared *prepared, struct err *err)
{
    char log_dir[PATH_MAX];
    const char *base = plan->error_dir;

    prepared->attempt = -1;
    if (!base)
        return 0;
    if (plan->log_dir_stated) {
        if (find_log_dir(base, log_dir, err) < 0)
            return -1;
        base = log_dir;
    }
    prepared->keep_run_dir = plan->keep_run_dir;
    if (make_run_dir(base, plan->log_dir_stated ? plan->job.id : "rankinit", dir_mode(plan),
                     prepared->run_dir))
        return 0;
    if (plan->keep_run_dir)
        return err_set_errno(err, ERR_SPEC, errno, "--log-dir: cannot make a folder in %s", base);
    log_info("no error files: cannot make a folder in %s", base);
    return 0;
}

/* Names of a rank's folder and files in an attempt; all empty if one does not fit. */
static void name_files(const struct prepared *prepared, int attempt, int local_rank,
                       char dir[static PATH_MAX], struct attempt_names *ret)
{
    char name[NAME_ROOM];

    snprintf(name, sizeof(name), "attempt_%d/%d", attempt, local_rank);
    dir[0] = ret->error_path[0] = ret->ready_path[0] = '\0';
    if (!prepared->run_dir[0] || !join(prepared->run_dir, name, dir) ||
        !join(dir, READY_NAME, ret->ready_path) || !join(dir, ERROR_NAME, ret->error_path))
        dir[0] = ret->error_path[0] = ret->ready_path[0] = '\0';
}

/*
 * A rank of another user writes its error file, and makes the file that says it is ready. The
 * folder stays ours, for we clean it up without the privilege of doing so in those of others.
 */
static void give_files(const struct security_user *user, const struct prepared_rank *rank)
{
    if (!user->change || !rank->dir[0])
        return;
    if ((rank->error_fd >= 0 && fchown(rank->error_fd, user->uid, user->gid) < 0) ||
        chown(rank->dir, (uid_t)-1, user->gid) < 0 || chmod(rank->dir, 0770) < 0)
        log_debug("cannot give %s to user %u: %m", rank->dir, user->uid);
}

/*
 * Keeps a descriptor of our own of the error file: what the rank does to the name later cannot
 * redirect what we read.
 */
static void make_files(const struct plan *plan, const struct prepared *prepared, int local_rank)
{
    struct prepared_rank *rank = &prepared->ranks[local_rank];
    struct attempt_names names;

    name_files(prepared, prepared->attempt, local_rank, rank->dir, &names);
    if (rank->dir[0] && mkdir(rank->dir, 0700) < 0)
        rank->dir[0] = names.error_path[0] = names.ready_path[0] = '\0';
    if (names.error_path[0])
        rank->error_fd = open(names.error_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              0600);
    if (rank->error_fd < 0)
        names.error_path[0] = '\0';
    give_files(&plan->security.user, rank);
    memcpy(rank->error_path, names.error_path, sizeof(rank->error_path));
    memcpy(rank->ready_path, names.ready_path, sizeof(rank->ready_path));
}

static void remove_rank_dir(int dir_fd, int local_rank)
{
    char name[NAME_ROOM];

    snprintf(name, sizeof(name), "%d", local_rank);
    {
        CLEANUP_FD int rank_fd = openat(dir_fd, name,
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (rank_fd >= 0) {
            unlinkat(rank_fd, ERROR_NAME, 0);
            unlinkat(rank_fd, READY_NAME, 0);
        }
    }
    unlinkat(dir_fd, name, AT_REMOVEDIR);
}

/* The folders of the attempt that is there: only what we made is in them, or they stay. */
static void remove_attempt(const struct prepared *prepared)
{
    CLEANUP_FD int run_fd = open(prepared->run_dir,
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char name[NAME_ROOM];

    if (run_fd < 0)
        return;
    snprintf(name, sizeof(name), "attempt_%d", prepared->attempt);
    {
        CLEANUP_FD int attempt_fd = openat(run_fd, name,
                                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        for (int i = 0; attempt_fd >= 0 && i < prepared->count; i++)
            remove_rank_dir(attempt_fd, i);
    }
    unlinkat(run_fd, name, AT_REMOVEDIR);
}

void attempt_clean(struct prepared *prepared)
{
    if (!prepared->run_dir[0] || prepared->keep_run_dir)
        return;
    remove_attempt(prepared);
    rmdir(prepared->run_dir);
}

static void close_last(struct prepared *prepared)
{
    for (int i = 0; i < prepared->count; i++) {
        cleanup_fd(&prepared->ranks[i].error_fd);
        prepared->ranks[i].error_fd = -1;
    }
    if (prepared->attempt >= 0 && prepared->run_dir[0] && !prepared->keep_run_dir)
        remove_attempt(prepared);
    cleanup_fd(&prepared->port_fd);
    prepared->port_fd = -1;
}

/* ---- the port ---- */

static int make_port(const struct plan *plan, struct prepared *prepared, struct err *err)
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

int attempt_make(const struct plan *plan, struct prepared *prepared, int attempt, struct err *err)
{
    char dir[PATH_MAX], name[NAME_ROOM];

    close_last(prepared);
    if (make_port(plan, prepared, err) < 0)
        return -1;
    prepared->attempt = attempt;
    snprintf(name, sizeof(name), "attempt_%d", attempt);
    if (prepared->run_dir[0] && join(prepared->run_dir, name, dir) && mkdir(dir, 0700) == 0)
        chmod(dir, dir_mode(plan)); /* whatever the umask */
    for (int i = 0; plan->mode == PLAN_FANOUT && i < prepared->count; i++)
        make_files(plan, prepared, i);
    return 0;
}

/* ---- what environments say of it ---- */

struct rankenv_late attempt_late(const struct plan *plan, const struct prepared *prepared,
                                 int local_rank, struct attempt_names *room)
{
    const struct prepared_rank *rank = &prepared->ranks[local_rank];
    struct rankenv_late late = {.master_port = prepared->port, .attempt = plan->restart.max};
    char dir[PATH_MAX];

    if (plan->restart.max > 0) {
        late.master_port = WIDEST_PORT;
        name_files(prepared, plan->restart.max, local_rank, dir, room);
    } else {
        memcpy(room->error_path, rank->error_path, sizeof(room->error_path));
        memcpy(room->ready_path, rank->ready_path, sizeof(room->ready_path));
    }
    late.error_file = room->error_path[0] ? room->error_path : NULL;
    late.ready_file = room->ready_path[0] ? room->ready_path : NULL;
    return late;
}

static char *find_slot(const struct strvec *env, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            return env->items[i] + len + 1;
    }
    return NULL;
}

void attempt_find_slots(const struct plan *plan, struct prepared_rank *rank)
{
    if (plan->restart.max == 0)
        return;
    rank->slots = (struct prepared_slots){
        .port = plan->job.master_addr ? find_slot(&rank->env, "MASTER_PORT") : NULL,
        .restarts = find_slot(&rank->env, "TORCHELASTIC_RESTART_COUNT"),
        .attempt = find_slot(&rank->env, "RANKINIT_THIS_ATTEMPT"),
        .error_file = find_slot(&rank->env, "TORCHELASTIC_ERROR_FILE"),
        .ready_file = find_slot(&rank->env, "RANKINIT_THIS_READY_FILE")};
}

/* The room is that of the longest value there can be; no file is the empty text. */
static void fill(char *slot, const char *value)
{
    if (slot)
        memcpy(slot, value, strlen(value) + 1);
}

static void fill_number(char *slot, int value)
{
    char text[NAME_ROOM];

    snprintf(text, sizeof(text), "%d", value);
    fill(slot, text);
}

void attempt_fill_slots(const struct prepared *prepared, int attempt)
{
    for (int i = 0; i < prepared->count; i++) {
        const struct prepared_rank *rank = &prepared->ranks[i];

        fill_number(rank->slots.port, prepared->port);
        fill_number(rank->slots.restarts, attempt);
        fill_number(rank->slots.attempt, attempt);
        fill(rank->slots.error_file, rank->error_path);
        fill(rank->slots.ready_file, rank->ready_path);
    }
}
