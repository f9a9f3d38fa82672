/* The verdict for people. */
#include "report/page.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "dice.h"
#include "tap.h"

#define MS     1000000LL
#define SECOND (1000 * MS)
#define ECHO \
    "RuntimeError: [/src/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:4"

static struct plan plan;
static struct outcome outcome;
static struct verdict verdict;
static char page[16384];
static char *words[] = {(char[]){"train.py"}, NULL};

static void start(int count)
{
    struct err err = ERR_INIT;

    memset(&plan, 0, sizeof(plan));
    plan.mode = PLAN_FANOUT;
    plan.job = (struct plan_job){.nnodes = 1, .nproc = count, .world_size = count};
    plan.argv.items = words;
    plan.argv.count = 1;
    plan.output.tail_lines = 20;
    outcome_release(&outcome);
    tap_eq_int(outcome_init(&outcome, &plan, &err), 0);
    for (int i = 0; i < count; i++)
        outcome_note_started(&outcome, i, 100 + i, 10 * MS);
}

static void raises(int rank, const char *error, int64_t now_ns)
{
    char text[4096];

    snprintf(text, sizeof(text),
             "Traceback (most recent call last):\n  File \"/app/train.py\", line 42, in f\n%s\n",
             error);
    evidence_feed(outcome.ranks[rank].evidence, EVIDENCE_STDERR, text, strlen(text), now_ns);
    outcome_note_ended(&outcome, rank, W_EXITCODE(1, 0), now_ns + 50 * MS);
}

static const char *render(size_t capacity)
{
    struct buf out;

    buf_init(&out, page, capacity);
    outcome_judge(&outcome, &plan, &verdict);
    page_render(&plan, &outcome, &verdict, &out);
    return page;
}

static const char *finish(void)
{
    outcome.done = true;
    return render(sizeof(page));
}

/* Whole lines of at most 80 columns, plain characters only. */
static void check_shape(void)
{
    size_t columns = 0;

    for (const char *c = page; *c; c++) {
        if (*c == '\n') {
            columns = 0;
            continue;
        }
        columns += ((unsigned char)*c & 0xC0) != 0x80;
        tap_ok((unsigned char)*c >= 0x20 && *c != 0x7F);
        tap_ok(columns <= 80);
    }
}

TEST(success_is_one_line)
{
    start(2);
    outcome_note_ended(&outcome, 0, 0, SECOND);
    outcome_note_ended(&outcome, 1, 0, 2 * SECOND);
    tap_eq_str(finish(), "rankinit: all 2 ranks ended with exit code 0 after 2.0 s\n");
}

TEST(a_failure_tells_its_story)
{
    start(5);
    raises(1, "ValueError: bad batch", 3 * SECOND);
    raises(0, ECHO, 3100 * MS);
    raises(3, ECHO, 3101 * MS);
    outcome_note_ended(&outcome, 2, W_EXITCODE(0, SIGKILL), 3200 * MS);
    outcome_note_signalled(&outcome, 4, SIGTERM, 3050 * MS);
    outcome_note_ended(&outcome, 4, W_EXITCODE(0, SIGKILL), 13 * SECOND);
    outcome.ranks[4].killed_by_us = true;
    outcome.killed_ns = 13 * SECOND;
    tap_eq_str(finish(),
               "rankinit: failed, exit code 1: rank 1 (local rank 1 on node 0) failed first:\n"
               "          ValueError: bad batch (train.py:42), exit code 1 after 3.0 s\n"
               "  its traceback:\n"
               "    | Traceback (most recent call last):\n"
               "    |   File \"/app/train.py\", line 42, in f\n"
               "    | ValueError: bad batch\n"
               "  ranks 0,3 lost a peer: RuntimeError: Connection closed by peer [127.0.0.1]:4\n"
               "  (train.py:42), exit code 1 after 3.1 s\n"
               "  rank 2 failed too: killed by SIGKILL from outside (by whom is unknown: perhaps\n"
               "  out of memory) after 3.2 s\n"
               "  1 rank stopped by rankinit; SIGKILL was needed after 13.0 s\n"
               "  rank 0 |=========x                              | lost a peer\n"
               "  rank 1 |=========X                              | failed first\n"
               "  rank 2 |==========x                             | killed\n"
               "  rank 3 |=========x                              | lost a peer\n"
               "  rank 4 |=========------------------------------s| stopped\n"
               "          0.0 s                             13.0 s\n");
    check_shape();
    tap_ok(!strchr(page, '\033'));
}

TEST(colours_if_the_plan_wants_them)
{
    start(3);
    plan.report.colour = true;
    raises(1, "ValueError: x", SECOND);
    raises(0, ECHO, 1100 * MS);
    outcome_note_ended(&outcome, 2, 0, 2 * SECOND);
    tap_has_str(finish(), "\033[1;31mrankinit: failed, exit code 1: rank 1");
    tap_has_str(page,
                "  rank 0 |\033[33m======================x                 \033[0m| lost a peer\n");
    tap_has_str(
        page,
        "  rank 1 |\033[1;31m====================X                   \033[0m| failed first\n");
    tap_has_str(
        page, "  rank 2 |\033[32m=======================================o\033[0m| ended with 0\n");
}

TEST(of_many_ranks_those_that_failed_are_drawn)
{
    int rows = 0;

    start(100);
    plan.job.first_rank = 4000;
    for (int i = 0; i < 100; i++) {
        if (i == 50 || i == 77)
            raises(i, "ValueError: x", i == 77 ? SECOND : 2 * SECOND);
        else
            outcome_note_ended(&outcome, i, 0, 3 * SECOND);
    }
    finish();
    tap_has_str(page, "  rank 4077 |");
    tap_has_str(page, "  rank 4050 |");
    tap_has_str(page, "  rank 4000 |");
    tap_has_str(page, "  and 84 more ranks\n");
    for (const char *row = page; (row = strstr(row, "\n  rank 40")); row++)
        rows++;
    tap_eq_int(rows, 16);
    check_shape();
}

TEST(a_rank_that_still_runs_and_one_that_never_ran)
{
    start(3);
    raises(0, "ValueError: x", SECOND);
    outcome.ranks[2].state = RANK_NOT_STARTED;
    outcome.ranks[2].started_ns = OUTCOME_NEVER;
    tap_has_str(render(sizeof(page)),
                "  rank 1 |=======================================>| still runs\n");
    tap_has_str(page, "  rank 2 |                                        | not started\n");
}

TEST(without_a_traceback_the_last_lines)
{
    start(1);
    evidence_feed(outcome.ranks[0].evidence, EVIDENCE_STDERR, "one\ntwo\n\tthree\n", 15, SECOND);
    outcome_note_ended(&outcome, 0, W_EXITCODE(7, 0), SECOND);
    tap_has_str(finish(), "  its last lines on stderr:\n    | one\n    | two\n    |  three\n");
}

TEST(only_the_last_lines_of_a_long_traceback)
{
    char text[3000];
    size_t len = 0;

    start(1);
    for (int i = 0; i < 60; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "  File \"a.py\", line %d, in f\n",
                                i + 1);
    snprintf(text + len, sizeof(text) - len, "ValueError: x");
    raises(0, text, SECOND);
    finish();
    tap_ok(!strstr(page, "line 41,"));
    tap_has_str(page, "its traceback:\n    |   File \"a.py\", line 42, in f\n");
    tap_has_str(page, "    | ValueError: x\n");
    check_shape();
}

TEST(a_stop)
{
    start(2);
    outcome_note_stop(
        &outcome, &(struct outcome_stop){
                      .requested = true, .signal = SIGTERM, .at_ns = SECOND, .sender_rank = -1});
    for (int i = 0; i < 2; i++) {
        outcome_note_signalled(&outcome, i, SIGTERM, SECOND);
        outcome_note_ended(&outcome, i, W_EXITCODE(0, SIGTERM), 2 * SECOND);
    }
    tap_eq_str(finish(),
               "rankinit: stopped, exit code 143: stopped by SIGTERM from outside after 1.0 s;\n"
               "          all 2 ranks had ended 1.0 s later\n"
               "  rank 0 |====================-------------------s| stopped\n"
               "  rank 1 |====================-------------------s| stopped\n"
               "          0.0 s                              2.0 s\n"
               "  hint: SIGTERM from outside the container is Kubernetes or docker stop: kubectl\n"
               "        describe pod tells whether it was deleted, evicted, preempted or failed\n"
               "        its liveness probe\n");
    check_shape();
}

TEST(what_could_not_be_reaped)
{
    start(1);
    outcome_note_ended(&outcome, 0, W_EXITCODE(7, 0), SECOND);
    outcome.unreaped_count = 1;
    outcome.unreaped[0] = (struct outcome_unreaped){
        .pid = 77, .rank = 0, .name = "python\x1b", .state = 'D', .wchan = "nv_wait"};
    tap_has_str(finish(),
                "  pid 77 (python?) of rank 0 is left: state D in nv_wait: SIGKILL has no effect\n"
                "  while the kernel or a driver holds it\n");
    outcome.unreaped[0].state = 'Z';
    outcome.unreaped[0].live_threads = 2;
    outcome.unreaped[0].thread_state = 'D';
    tap_has_str(finish(), "is left: a zombie of which 2 threads live on, state\n"
                          "  D in nv_wait: the kernel or a driver holds it, not its parent\n");
    outcome.unreaped[0] = (struct outcome_unreaped){
        .pid = 78, .parent = 77, .rank = -1, .name = "sh", .state = 'Z', .wchan = "?"};
    outcome.unreaped_more = 3;
    tap_has_str(finish(),
                "  pid 78 (sh) is left: a zombie whose parent, pid 77, lives and does not wait\n"
                "  for it\n  and 3 more processes are left\n");
}

TEST(all_fail_in_the_same_way)
{
    start(4);
    for (int i = 0; i < 4; i++)
        raises(i, "ModuleNotFoundError: No module named 'x'", SECOND);
    tap_has_str(finish(), "  ranks 0-3 failed in this way\n");
    start(2);
    for (int i = 0; i < 2; i++)
        outcome_note_start_failed(&outcome, i, STAGE_EXEC, ENOENT, SECOND);
    tap_has_str(finish(), "rank 0 (local rank 0 on node 0) could not be\n");
    tap_has_str(page, "  ranks 0-1 failed in this way\n");
}

TEST(failures_from_other_frames_are_told_apart)
{
    static const char *const callers[] = {"train", "train", "validate", "train"};

    start(4);
    for (int i = 0; i < 4; i++) {
        char text[256];

        snprintf(text, sizeof(text),
                 "Traceback (most recent call last):\n  File \"/app/%s.py\", line 9, in run\n"
                 "  File \"/app/data.py\", line 42, in load\nValueError: bad batch %d\n",
                 callers[i], i);
        evidence_feed(outcome.ranks[i].evidence, EVIDENCE_STDERR, text, strlen(text), SECOND + i);
        outcome_note_ended(&outcome, i, W_EXITCODE(1, 0), SECOND + MS);
    }
    tap_has_str(finish(), "  ranks 0-1,3 failed in this way\n");
    tap_has_str(page,
                "  rank 2 failed too: ValueError: bad batch 2 (data.py:42), exit code 1 after");
}

TEST(a_failure_of_our_own)
{
    start(1);
    err_set(&outcome.own, ERR_SYSTEM, "fork refused");
    tap_eq_str(finish(), "rankinit: failed, exit code 71: fork refused\n");
}

TEST(wild_words_keep_the_shape)
{
    dice_start(5);
    for (int round = 0; round < 300; round++) {
        char text[3000];
        int count = 1 + dice(40);

        start(count);
        for (int i = 0; i < count; i++) {
            size_t len = (size_t)dice(sizeof(text));

            for (size_t at = 0; at < len; at++)
                text[at] = (char)(dice(40) ? 1 + dice(255) : '\n');
            evidence_feed(outcome.ranks[i].evidence, EVIDENCE_STDERR, text, len, SECOND);
            evidence_end(outcome.ranks[i].evidence, SECOND);
            text[len < 200 ? len : 200] = '\0';
            if (dice(2))
                raises(i, text, (1000 + dice(9)) * MS);
            else
                outcome_note_ended(&outcome, i, W_EXITCODE(dice(4), 0), SECOND);
        }
        finish();
        check_shape();
        /* Any room is enough not to overflow. */
        render(1 + (size_t)dice(600));
    }
    outcome_release(&outcome);
}

TAP_MAIN()
