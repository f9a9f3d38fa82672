#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "sys/loop_parts.h"

#define READY_EVENTS (IN_CREATE | IN_MOVED_TO)

static void note_ready(struct loop *loop, int local_rank, int64_t now)
{
    outcome_note_ready(&loop->outcome, local_rank, now);
    loop->limits.ready = true;
}

static void look_for_ready_files(struct loop *loop, int64_t now)
{
    struct stat info;

    for (int i = 0; i < loop->outcome.count; i++) {
        const char *path = loop->prepared.ranks[i].ready_path;

        if (path[0] && loop->outcome.ranks[i].ready_ns == OUTCOME_NEVER && lstat(path, &info) == 0)
            note_ready(loop, i, now);
    }
}

/* What has happened is looked up: a name in an event is only a rank's word for it. */
static void ready_files_changed(struct source *source, uint32_t events, int64_t now_ns)
{
    void *loop = (char *)source - offsetof(struct loop, ready_files);
    char room[4096];

    (void)events;
    while (read(source->fd, room, sizeof(room)) > 0)
        continue;
    look_for_ready_files(loop, now_ns);
}

void loop_watch_ready(struct loop *loop)
{
    struct source *source = &loop->ready_files;

    if (!loop->prepared.run_dir[0])
        return;
    source->ready = ready_files_changed;
    if (source->fd < 0)
        source->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    for (int i = 0; source->fd >= 0 && i < loop->prepared.count; i++) {
        const char *dir = loop->prepared.ranks[i].dir;

        if (dir[0] && inotify_add_watch(source->fd, dir, READY_EVENTS) < 0)
            log_debug("cannot watch %s: its ready file is only seen when it is looked for", dir);
    }
    if (source->fd < 0 || source_watch(loop->epoll_fd, source, EPOLLIN) < 0)
        log_debug("no inotify: ready files are only seen when they are looked for");
}

static void note_output(struct loop *loop, int64_t now)
{
    const struct relay *relay = &loop->relay;

    if (relay->heard_ns > loop->limits.heard_ns)
        limits_heard(&loop->limits, relay->heard_ns);
    if (!relay->fresh_heard)
        return;
    loop->relay.fresh_heard = false;
    for (int i = 0; i < loop->outcome.count; i++) {
        if (relay->ranks[i].heard)
            note_ready(loop, i, now);
    }
}

void loop_check_limits(struct loop *loop, int64_t now_ns)
{
    const struct limits_config *config = &loop->limits.config;
    struct outcome_limit limit = {.at_ns = now_ns};

    note_output(loop, now_ns);
    if (!fsm_takes_limits(&loop->fsm) || limits_due(&loop->limits, now_ns) == LIMIT_NONE)
        return;
    if (relay_is_blocked(&loop->relay))
        limits_heard(&loop->limits, now_ns);
    look_for_ready_files(loop, now_ns);
    limit.kind = limits_due(&loop->limits, now_ns);
    if (limit.kind == LIMIT_NONE)
        return;
    limit.length_ns = limit.kind == LIMIT_TIMEOUT ? config->timeout_ns
                      : limit.kind == LIMIT_IDLE  ? config->idle_ns
                                                  : config->start_ns;
    outcome_note_limit(&loop->outcome, &limit);
    loop_step(loop, limits_is_hang(limit.kind) ? FSM_HUNG : FSM_TIMEOUT, -1, now_ns);
}

int64_t loop_limits_deadline(const struct loop *loop)
{
    return fsm_takes_limits(&loop->fsm) ? limits_deadline(&loop->limits) : LIMITS_NEVER;
}
