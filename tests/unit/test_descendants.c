#include "sys/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage.h"

TEST(nobody)
{
    struct descendants descendants;
    struct seen seen = {0};

    descendants_init(&descendants);
    tap_eq_int(descendants.self, getpid());
    tap_eq_int(descendants.spared_count, 0);
    tap_eq_int(descendants_walk(&descendants, see, &seen), 0);
    tap_ok(descendants_none(&descendants));
}

TEST(children_and_theirs_whatever_their_names)
{
    struct descendants descendants;
    struct stage stage;
    struct seen seen = {0};
    const struct descendant *process;
    pid_t child, grandchild;

    if (!tap_ok(stage_open(&stage)))
        return;
    descendants_init(&descendants);
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (fork() == 0) {
            prctl(PR_SET_NAME, ") R 1 (\n 2 ");
            stage_play(&stage);
        }
        stage_play(&stage);
    }
    grandchild = stage_next(&stage);
    if (grandchild == child)
        grandchild = stage_next(&stage);
    else
        tap_eq_int(stage_next(&stage), child);
    tap_eq_int(descendants_walk(&descendants, see, &seen), 2);
    process = find(&seen, grandchild);
    if (tap_ok(process != NULL)) {
        tap_eq_int(process->parent, child);
        tap_eq_int(process->group, child);
        tap_eq_int(process->session, getsid(0));
        tap_eq_int(process->threads, 1);
        tap_eq_str(process->name, ") R 1 (? 2 ");
        tap_ok(process->state == 'S' || process->state == 'R');
    }
    tap_ok(find(&seen, child) != NULL);
    tap_ok(!descendants_none(&descendants));
    stage_close(&stage);
    tap_ok(descendants_none(&descendants));
}

TEST(children_are_found_without_proc_and_earlier_ones_spared)
{
    struct descendants none = {.self = getpid()};
    struct descendants later;
    struct stage stage;
    struct seen seen = {0};
    pid_t child;

    if (!tap_ok(stage_open(&stage)))
        return;
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (fork() == 0)
            stage_play(&stage);
        stage_play(&stage);
    }
    stage_next(&stage);
    stage_next(&stage);
    /* Not the grandchild, which is nobody's but its parent's to wait for. */
    if (child > none.self) { /* else the pids have begun anew */
        tap_eq_int(descendants_children(&none, see, &seen), 1);
        tap_ok(find(&seen, child) != NULL);
    }
    descendants_init(&later);
    later.spared_started[0] = 0; /* as noted without /proc */
    tap_eq_int(descendants_children(&later, see, &seen), 0);
    stage_close(&stage);
}

TEST(zombies_are_still_somebody)
{
    struct descendants descendants;
    struct seen seen = {0};
    siginfo_t info;
    pid_t child;

    descendants_init(&descendants);
    child = fork();
    if (child == 0)
        _exit(0);
    tap_eq_int(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    tap_eq_int(descendants_walk(&descendants, see, &seen), 1);
    if (tap_eq_int(seen.count, 1))
        tap_eq_int(seen.list[0].state, 'Z');
    tap_ok(!descendants_none(&descendants));
    waitpid(child, NULL, 0);
    tap_ok(descendants_none(&descendants));
}

static void *linger(void *context)
{
    const struct stage *stage = context;
    char end;

    stage_tell(stage);
    (void)!read(stage->stay[0], &end, 1);
    return NULL;
}

TEST(a_zombie_leader_with_live_threads)
{
    struct descendants descendants;
    struct stage stage;
    struct seen seen = {0};
    pid_t child;

    if (!tap_ok(stage_open(&stage)))
        return;
    descendants_init(&descendants);
    child = fork();
    if (child == 0) {
        pthread_t thread;

        close(stage.stay[1]);
        pthread_create(&thread, NULL, linger, &stage);
        pthread_exit(NULL);
    }
    stage_next(&stage);
    do {
        seen.count = 0;
        tap_eq_int(descendants_walk(&descendants, see, &seen), 1);
    } while (seen.count == 1 && seen.list[0].state != 'Z');
    tap_eq_int(seen.list[0].threads, 2);
    tap_ok(!descendants_none(&descendants));
    stage_close(&stage);
}

TEST(children_from_before_are_spared)
{
    struct descendants descendants;
    struct stage before, stage;
    struct seen seen = {0};
    pid_t old, below_old, ours;

    if (!tap_ok(stage_open(&before) && stage_open(&stage)))
        return;
    old = fork();
    if (old == 0) {
        close(stage.stay[1]);
        close(before.stay[1]);
        if (fork() == 0)
            stage_play(&before);
        stage_play(&before);
    }
    below_old = stage_next(&before);
    if (below_old == old)
        below_old = stage_next(&before);
    else
        stage_next(&before);
    descendants_init(&descendants);
    tap_eq_int(descendants.spared_count, 1);
    tap_eq_int(descendants.spared[0], old);
    tap_eq_int(descendants_walk(&descendants, see, &seen), 0);
    tap_ok(descendants_none(&descendants));
    ours = fork();
    if (ours == 0) {
        close(before.stay[1]);
        stage_play(&stage);
    }
    stage_next(&stage);
    tap_eq_int(descendants_walk(&descendants, see, &seen), 1);
    tap_ok(find(&seen, ours) && !find(&seen, below_old));
    tap_ok(!descendants_none(&descendants));
    /* The same pid for a process that started at another time is another process. */
    descendants.spared_started[0]++;
    tap_eq_int(descendants_walk(&descendants, NULL, NULL), 3);
    close(stage.stay[1]);
    waitpid(ours, NULL, 0);
    stage_close(&before);
    tap_ok(descendants_none(&descendants));
    close(stage.stay[0]);
    close(stage.tell[0]);
    close(stage.tell[1]);
}

TEST(orphans_come_to_a_subreaper)
{
    struct descendants descendants;
    struct stage stage;
    struct seen seen = {0};
    pid_t orphan, child;

    if (!tap_ok(stage_open(&stage)))
        return;
    descendants_init(&descendants);
    child = fork();
    if (child == 0) {
        if (fork() == 0) {
            setsid();
            stage_play(&stage);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    orphan = stage_next(&stage);
    tap_eq_int(descendants_walk(&descendants, see, &seen), 1);
    if (tap_ok(find(&seen, orphan) != NULL)) {
        tap_eq_int(seen.list[0].parent, getpid());
        tap_eq_int(seen.list[0].session, orphan);
    }
    stage_close(&stage);
}

TEST(strangers_are_never_visited)
{
    struct descendants descendants;
    struct seen seen = {0};

    /* Seen from a child that has none of its own, all of this test is foreign. */
    pid_t child = fork();

    if (child == 0) {
        descendants_init(&descendants);
        _exit(descendants_walk(&descendants, see, &seen) == 0 && seen.count == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    tap_eq_int(status, 0);
}

/* A tree that changes all the time: each child leaves a grandchild that ends at once. */
static void churn(const struct stage *stage)
{
    close(stage->stay[1]);
    fcntl(stage->stay[0], F_SETFL, O_NONBLOCK);
    stage_tell(stage);
    for (;;) {
        char end;
        pid_t child = fork();

        if (child == 0) {
            if (fork() == 0)
                _exit(0);
            _exit(0);
        }
        if (child > 0)
            waitpid(child, NULL, 0);
        if (read(stage->stay[0], &end, 1) == 0)
            _exit(0);
    }
}

/* The two that are there all the time. */
struct lasting {
    pid_t pids[2];
    int met[2];
};

static void meet(void *context, const struct descendant *process)
{
    struct lasting *lasting = context;

    for (int i = 0; i < 2; i++)
        lasting->met[i] += process->pid == lasting->pids[i];
}

TEST(processes_may_vanish_while_looking)
{
    struct descendants descendants;
    struct stage stage, quiet;
    pid_t steady, churner;

    if (!tap_ok(stage_open(&stage) && stage_open(&quiet)))
        return;
    descendants_init(&descendants);
    steady = fork();
    if (steady == 0) {
        close(stage.stay[1]);
        stage_play(&quiet);
    }
    stage_next(&quiet);
    churner = fork();
    if (churner == 0) {
        close(quiet.stay[1]);
        churn(&stage);
    }
    stage_next(&stage);
    for (int i = 0; i < 300; i++) {
        struct lasting lasting = {.pids = {steady, churner}};
        int count = descendants_walk(&descendants, meet, &lasting);

        if (!tap_ok(count >= 2 && lasting.met[0] == 1 && lasting.met[1] == 1))
            break;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
    }
    close(stage.stay[1]);
    close(quiet.stay[1]);
    while (wait(NULL) > 0)
        continue;
    tap_ok(descendants_none(&descendants));
    stage_close(&stage);
    stage_close(&quiet);
}

TEST(deep_trees)
{
    struct descendants descendants;
    struct stage stage;
    int depth = 100;

    if (!tap_ok(stage_open(&stage)))
        return;
    descendants_init(&descendants);
    if (fork() == 0) {
        for (int i = 1; i < depth; i++)
            if (fork() != 0)
                stage_play(&stage);
        stage_play(&stage);
    }
    for (int i = 0; i < depth; i++)
        stage_next(&stage);
    tap_eq_int(descendants_walk(&descendants, NULL, NULL), depth);
    stage_close(&stage);
}

TEST(needs_no_memory)
{
    struct descendants descendants;
    struct stage stage;
    struct mallinfo2 before;

    if (!tap_ok(stage_open(&stage)))
        return;
    stage_start(&stage);
    before = mallinfo2();
    descendants_init(&descendants);
    descendants_walk(&descendants, NULL, NULL);
    descendants_none(&descendants);
    tap_eq_uint(mallinfo2().uordblks, before.uordblks);
    tap_eq_uint(mallinfo2().arena, before.arena);
    stage_close(&stage);
}

TEST(wait_channel)
{
    struct stage stage;
    char room[32] = "x", small[4];
    pid_t child;

    tap_eq_int(descendants_wchan(0x3fffffff, room, sizeof(room)), '?');
    tap_eq_str(room, "?");
    if (!tap_ok(stage_open(&stage)))
        return;
    child = stage_start(&stage);
    descendants_wchan(child, room, sizeof(room));
    tap_ok(room[0] != '\0' && strcmp(room, "0") != 0);
    descendants_wchan(child, small, sizeof(small));
    tap_ok(strlen(small) < sizeof(small));
    stage_close(&stage);
}

/* In a PID namespace of its own, but with the /proc of the one above: its numbers are not ours. */
static int foreign_proc(void)
{
    struct descendants descendants;
    struct stage stage;

    descendants_init(&descendants);
    if (descendants.spared_count != 0 || descendants_walk(&descendants, NULL, NULL) != -1)
        return 1;
    if (!stage_open(&stage))
        return 2;
    stage_start(&stage);
    if (descendants_walk(&descendants, NULL, NULL) != -1 || descendants_none(&descendants))
        return 3;
    stage_close(&stage);
    return descendants_none(&descendants) ? 0 : 4;
}

/* As PID 1 with its own /proc: what comes from outside (parent 0) is not ours. */
static int own_proc(void)
{
    struct descendants descendants;
    struct stage stage;
    struct seen seen = {0};

    if (mount("proc", "/proc", "proc", 0, NULL) < 0)
        return 77;
    descendants_init(&descendants);
    if (!stage_open(&stage))
        return 2;
    stage_start(&stage);
    if (descendants_walk(&descendants, see, &seen) != 1 || seen.list[0].parent != 1)
        return 3;
    stage_close(&stage);
    return descendants_walk(&descendants, NULL, NULL) == 0 ? 0 : 4;
}

/* Runs it as PID 1 of new namespaces; its result, or -1 where they cannot be had. */
static int run_as_init(int (*run)(void))
{
    int status = -1;
    pid_t outer = fork();

    if (outer == 0) {
        pid_t inner;
        int result = 77;

        if (unshare(CLONE_NEWPID | CLONE_NEWNS | (getuid() ? CLONE_NEWUSER : 0)) < 0)
            _exit(77);
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        inner = fork();
        if (inner == 0)
            _exit(run());
        waitpid(inner, &result, 0);
        _exit(WIFEXITED(result) ? WEXITSTATUS(result) : 99);
    }
    waitpid(outer, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

TEST(proc_of_another_namespace_is_refused)
{
    int result = run_as_init(foreign_proc);

    tap_ok(result == 0 || result == 77);
    if (result != 0)
        printf("# result %d\n", result);
}

TEST(as_pid_1)
{
    int result = run_as_init(own_proc);

    tap_ok(result == 0 || result == 77);
    if (result != 0)
        printf("# result %d\n", result);
}

TAP_MAIN()
