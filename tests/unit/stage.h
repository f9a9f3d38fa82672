/*
 * stage.h - child processes that are there for as long as a test needs them.
 *
 * Layer: tests only. Recipe:
 *
 *     struct stage stage;
 *     if (!tap_ok(stage_open(&stage)))
 *         return;
 *     pid = stage_start(&stage);
 *     ...
 *     stage_close(&stage);
 */
#ifndef TESTS_UNIT_STAGE_H
#define TESTS_UNIT_STAGE_H

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/descendants.h"
#include "tap.h"

#define SEEN_MAX 64

struct seen {
    int count;
    struct descendant list[SEEN_MAX];
};

TAP_UNUSED static void see(void *context, const struct descendant *process)
{
    struct seen *seen = context;

    if (seen->count < SEEN_MAX)
        seen->list[seen->count++] = *process;
}

TAP_UNUSED static const struct descendant *find(const struct seen *seen, pid_t pid)
{
    for (int i = 0; i < seen->count; i++)
        if (seen->list[i].pid == pid)
            return &seen->list[i];
    return NULL;
}

/* Two pipes: children tell their pid through one, and stay until the other closes. */
struct stage {
    int tell[2], stay[2];
};

/* A subreaper, as rankinit is: so nobody's orphan is left to the machine either. */
TAP_UNUSED static bool stage_open(struct stage *stage)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return pipe2(stage->tell, O_CLOEXEC) == 0 && pipe2(stage->stay, O_CLOEXEC) == 0;
}

TAP_UNUSED static pid_t stage_next(const struct stage *stage)
{
    pid_t pid = 0;

    return read(stage->tell[0], &pid, sizeof(pid)) == (ssize_t)sizeof(pid) ? pid : -1;
}

TAP_UNUSED static void stage_tell(const struct stage *stage)
{
    pid_t pid = getpid();

    (void)!write(stage->tell[1], &pid, sizeof(pid));
}

/* In a child: tells its pid and stays; never returns. */
TAP_UNUSED static void stage_play(const struct stage *stage)
{
    char end;

    close(stage->stay[1]);
    stage_tell(stage);
    (void)!read(stage->stay[0], &end, 1);
    _exit(0);
}

/* Ends all players and waits for them. */
TAP_UNUSED static void stage_close(struct stage *stage)
{
    close(stage->stay[1]);
    close(stage->stay[0]);
    close(stage->tell[0]);
    close(stage->tell[1]);
    while (wait(NULL) > 0)
        continue;
}

/* Starts a child that plays; returns its pid once it does. */
TAP_UNUSED static pid_t stage_start(const struct stage *stage)
{
    if (fork() == 0)
        stage_play(stage);
    return stage_next(stage);
}

#endif
