/* Ranks that hung, by the place where their stacks say they stood. */
#include "model/stuck.h"

#include <signal.h>
#include <sys/wait.h>

#include "tap.h"

#define SECOND 1000000000LL

static struct plan plan;
static struct outcome outcome;
static struct verdict verdict;

/* Ranks that were found silent after 10 s and told to print their stacks. */
static void hang(int count)
{
    struct err err = ERR_INIT;

    memset(&plan, 0, sizeof(plan));
    plan.mode = PLAN_FANOUT;
    plan.job = (struct plan_job){.nnodes = 1, .nproc = count, .world_size = count};
    outcome_release(&outcome);
    tap_eq_int(outcome_init(&outcome, &plan, &err), 0);
    for (int i = 0; i < count; i++)
        outcome_note_started(&outcome, i, 100 + i, SECOND);
    outcome_note_limit(&outcome, &(struct outcome_limit){LIMIT_IDLE, 20 * SECOND, 10 * SECOND});
    for (int i = 0; i < count; i++)
        outcome_note_signalled(&outcome, i, SIGABRT, 20 * SECOND);
}

static void says(int rank, const char *text)
{
    evidence_feed(outcome.ranks[rank].evidence, EVIDENCE_STDERR, text, strlen(text), 21 * SECOND);
}

static void dies(int rank)
{
    outcome_note_ended(&outcome, rank, W_EXITCODE(0, SIGABRT), 21 * SECOND);
}

static void in_all_reduce(int rank)
{
    says(rank,
         "Fatal Python error: Aborted\n\n"
         "Thread 0x00007f3 (most recent call first):\n"
         "  File \"/usr/lib/python3.11/threading.py\", line 324 in wait\n\n"
         "Current thread 0x00007f1 (most recent call first):\n"
         "  File \"/venv/site-packages/torch/distributed/distributed_c10d.py\", line 2985 in "
         "all_reduce\n"
         "  File \"/venv/site-packages/torch/distributed/c10d_logger.py\", line 81 in wrapper\n"
         "  File \"/app/train.py\", line 88 in main\n"
         "  File \"/app/train.py\", line 99 in <module>\n\n"
         "Extension modules: numpy._core, torch._C (total: 12)\n");
    dies(rank);
}

static void in_read(int rank)
{
    says(rank, "Fatal Python error: Aborted\n\n"
               "Current thread 0x00007f1 (most recent call first):\n"
               "  File \"/app/loader.py\", line 12 in read\n"
               "  File \"/app/train.py\", line 70 in main\n");
    dies(rank);
}

TEST(the_odd_one_out_is_seen)
{
    struct stuck stuck;

    hang(8);
    for (int i = 0; i < 8; i++) {
        if (i == 3)
            in_read(i);
        else
            in_all_reduce(i);
    }
    stuck_make(&outcome, &stuck);
    tap_eq_int(stuck.count, 2);
    tap_eq_int(stuck.list[0].count, 7);
    tap_eq_int(stuck.list[1].first, 3);
    outcome.done = true;
    outcome_judge(&outcome, &plan, &verdict);
    tap_eq_str(verdict.reason, "hung");
    tap_eq_int(verdict.exit_code, 76);
    tap_ok(!verdict.from_rank);
    tap_eq_str(verdict.message,
               "hung: no rank has written anything for 10.0 s (--idle-timeout): ranks 0-2,4-7 in "
               "all_reduce at train.py:88, rank 3 in read at loader.py:12");
    tap_eq_str(outcome_class_word(outcome_class(&outcome, &verdict, 3)), "stopped_by_us");
}

TEST(what_says_nothing_is_told_too)
{
    hang(3);
    in_read(1);
    dies(0);
    dies(2);
    outcome.done = true;
    outcome_judge(&outcome, &plan, &verdict);
    tap_has_str(verdict.message, "): rank 1 in read at loader.py:12, ranks 0,2 did not say where");
}

TEST(a_logged_traceback_does_not_hide_the_dump)
{
    hang(1);
    outcome.limit.kind = LIMIT_NONE;
    outcome.ranks[0].signalled_ns = OUTCOME_NEVER;
    says(0, "Traceback (most recent call last):\n  File \"/app/a.py\", line 5, in f\n"
            "ValueError: handled\nepoch 1\nepoch 2\nepoch 3\nepoch 4\nepoch 5\n");
    outcome_note_limit(&outcome, &(struct outcome_limit){LIMIT_START, 20 * SECOND, 10 * SECOND});
    outcome_note_signalled(&outcome, 0, SIGABRT, 20 * SECOND);
    in_read(0);
    outcome.done = true;
    outcome_judge(&outcome, &plan, &verdict);
    tap_eq_str(verdict.reason, "hung");
    tap_has_str(verdict.message,
                "after the start (--start-timeout): rank 0 in read at loader.py:12");
}

TEST(a_rank_that_raised_before_the_silence_is_the_cause)
{
    hang(2);
    evidence_init(outcome.ranks[1].evidence);
    outcome.ranks[1].signalled_ns = OUTCOME_NEVER;
    evidence_feed(outcome.ranks[1].evidence, EVIDENCE_STDERR,
                  "Traceback (most recent call last):\n  File \"/app/a.py\", line 5, in f\n"
                  "ValueError: bad\n",
                  strlen("Traceback (most recent call last):\n  File \"/app/a.py\", line 5, in f\n"
                         "ValueError: bad\n"),
                  9 * SECOND);
    outcome_note_signalled(&outcome, 1, SIGABRT, 20 * SECOND);
    in_all_reduce(0);
    in_all_reduce(1);
    outcome.done = true;
    outcome_judge(&outcome, &plan, &verdict);
    tap_eq_str(verdict.reason, "rank_exited");
    tap_eq_int(verdict.root, 1);
    tap_has_str(verdict.message, "ValueError: bad");
}

TEST(a_timeout_is_told_as_one_whatever_the_ranks_return)
{
    hang(2);
    outcome.limit = (struct outcome_limit){LIMIT_TIMEOUT, 20 * SECOND, 20 * SECOND};
    outcome_note_ended(&outcome, 0, 0, 21 * SECOND);
    outcome_note_ended(&outcome, 1, W_EXITCODE(0, SIGABRT), 23 * SECOND);
    outcome.done = true;
    outcome_judge(&outcome, &plan, &verdict);
    tap_eq_str(outcome_verdict_word(verdict.word), "failed");
    tap_eq_str(verdict.reason, "timed_out");
    tap_eq_int(verdict.exit_code, 124);
    tap_eq_int(verdict.root, -1);
    tap_eq_str(verdict.message,
               "time limit: stopped after 20.0 s (--timeout); all 2 ranks had ended "
               "3.0 s later");
}

TEST(many_places_are_bounded)
{
    struct stuck stuck;

    hang(40);
    for (int i = 0; i < 40; i++) {
        char text[200];

        snprintf(text, sizeof(text),
                 "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
                 "  File \"/app/train.py\", line %d in main\n",
                 i + 1);
        says(i, text);
    }
    stuck_make(&outcome, &stuck);
    tap_eq_int(stuck.count, STUCK_MAX);
    tap_eq_int(stuck.left_out, 40 - STUCK_MAX);
    outcome_judge(&outcome, &plan, &verdict);
    tap_has_str(verdict.message, ", 34 more elsewhere");
}

TAP_MAIN()
