/*
 * Who kept the others waiting: output composed in the format of real lines of NCCL's watchdog
 * (operations, numbers and times of our own), eight ranks of a node, several shapes of lag.
 */
#include "model/lag.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tap.h"

#define MS     1000000LL
#define SECOND (1000 * MS)
#define RANKS  8
#define BEGAN  (812 * SECOND) /* when the first gives up */

static struct plan plan;
static struct outcome outcome;
static struct verdict verdict;
static char *words[] = {(char[]){"train.py"}, NULL};

/* The second of two nodes: ranks 8 to 15. */
static void start(int nnodes)
{
    struct err err = ERR_INIT;
    int node = nnodes - 1;

    memset(&plan, 0, sizeof(plan));
    plan.mode = PLAN_FANOUT;
    plan.job = (struct plan_job){.nnodes = nnodes,
                                 .node_rank = node,
                                 .nproc = RANKS,
                                 .world_size = nnodes * RANKS,
                                 .first_rank = node * RANKS};
    plan.argv.items = words;
    plan.argv.count = 1;
    outcome_release(&outcome);
    tap_eq_int(outcome_init(&outcome, &plan, &err), 0);
    for (int i = 0; i < RANKS; i++)
        outcome_note_started(&outcome, i, 100 + i, 10 * MS);
}

static void says(int rank, const char *line, int64_t now_ns)
{
    evidence_feed(outcome.ranks[rank].evidence, EVIDENCE_STDERR, line, strlen(line), now_ns);
    evidence_feed(outcome.ranks[rank].evidence, EVIDENCE_STDERR, "\n", 1, now_ns);
}

struct work {
    const char *op;
    int64_t seq, enqueued, completed;
};

/* How a rank's watchdog ends it: timeout, progress, terminate, abort. */
static void gives_up(int rank, struct work work, int64_t now_ns)
{
    int global = plan.job.first_rank + rank;
    char timeout[256], line[512];

    snprintf(timeout, sizeof(timeout),
             "[Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%" PRId64
             ", OpType=%s, NumelIn=7340032, NumelOut=7340032, Timeout(ms)=300000) ran for "
             "300044 milliseconds before timing out.",
             global, work.seq, work.op);
    snprintf(line, sizeof(line), "[rank%d]:[E1130 23:10:07.114 ProcessGroupNCCL.cpp:632] %s",
             global, timeout);
    says(rank, line, now_ns);
    snprintf(line, sizeof(line),
             "[rank%d]:[E1130 23:10:07.115 ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID "
             "0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: %" PRId64
             " PG status: last enqueued work: %" PRId64 ", last completed work: %" PRId64,
             global, global, work.seq, work.enqueued, work.completed);
    says(rank, line, now_ns + MS);
    says(rank, "terminate called after throwing an instance of 'c10::DistBackendError'",
         now_ns + 2 * MS);
    snprintf(line, sizeof(line),
             "  what():  [PG ID 0 PG GUID 0(default_pg) Rank %d] Process group watchdog thread "
             "terminated with exception: %s",
             global, timeout);
    says(rank, line, now_ns + 2 * MS);
    outcome_note_ended(&outcome, rank, W_EXITCODE(0, SIGABRT), now_ns + 20 * MS);
}

/* All but the ranks in `but` (bits) wait for ALLREDUCE 118. */
static void wait_in_vain(unsigned int but)
{
    int order = 0;

    /* Not in the order of ranks: 3 is the first. */
    for (int i = 3; order < RANKS; order++, i = (i + 1) % RANKS) {
        if (!(but & 1u << i))
            gives_up(i, (struct work){"ALLREDUCE", 118, 119, 117}, BEGAN + order * 5 * MS);
    }
}

/* We end what is left. */
static const char *finish(void)
{
    for (int i = 0; i < RANKS; i++) {
        if (outcome.ranks[i].state == RANK_ALIVE) {
            outcome_note_signalled(&outcome, i, SIGTERM, BEGAN + 4 * SECOND);
            outcome_note_ended(&outcome, i, W_EXITCODE(0, SIGTERM), BEGAN + 5 * SECOND);
        }
    }
    outcome.done = true;
    outcome_judge(&outcome, &plan, &verdict);
    return verdict.message;
}

static const char *class_of(int rank)
{
    return outcome_class_word(outcome_class(&outcome, &verdict, rank));
}

/* A timeout, first given up on by this local rank, which is no more than a victim. */
static void is(int root, const char *laggards)
{
    tap_eq_str(outcome_verdict_word(verdict.word), "failed");
    tap_eq_str(verdict.reason, "collective_timeout");
    tap_eq_int(verdict.root, root);
    tap_eq_int(verdict.exit_code, 134);
    tap_eq_str(class_of(root), "victim");
    if (!tap_ok(strncmp(verdict.message, laggards, strlen(laggards)) == 0))
        printf("# %s\n", verdict.message);
}

TEST(a_rank_that_never_came_is_silent)
{
    start(1);
    wait_in_vain(1u << 5);
    tap_eq_str(finish(),
               "rank 5 was silent in a collective; rank 3 (local rank 3 on node 0) gave up first "
               "after waiting 300.0 s in ALLREDUCE, SeqNum 118, group default_pg, last enqueued "
               "119, last completed 117, killed by SIGABRT after 812.0 s");
    is(3, "rank 5 was silent");
    tap_eq_str(class_of(4), "victim");
    tap_eq_str(class_of(5), "stopped_by_us");
}

TEST(several_are_silent_and_numbered_over_all_nodes)
{
    start(2);
    wait_in_vain(1u << 0 | 1u << 1 | 1u << 6);
    finish();
    is(3, "ranks 8-9,14 were silent in a collective; rank 11 (local rank 3 on node 1) gave up");
}

TEST(a_rank_that_is_behind)
{
    start(1);
    wait_in_vain(1u << 2);
    gives_up(2, (struct work){"ALLREDUCE", 116, 116, 115}, BEGAN + 60 * MS);
    finish();
    is(3, "rank 2 was behind (last enqueued 116) in a collective; rank 3");
}

TEST(the_first_to_give_up_may_be_the_one_behind)
{
    start(1);
    gives_up(2, (struct work){"ALLREDUCE", 116, 116, 115}, BEGAN - SECOND);
    wait_in_vain(1u << 2);
    finish();
    is(2, "rank 2 was behind (last enqueued 116) in a collective; rank 2 (local rank 2 on node 0)");
}

TEST(a_rank_asked_to_dump_tells_how_far_it_is)
{
    start(1);
    says(6,
         "[rank6]:[E1130 23:10:07.300 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) "
         "Rank 6] Received a dump signal due to a collective timeout from rank 3 and we will try "
         "our best to dump the debug info. Last enqueued NCCL work: 110, last completed NCCL work: "
         "110.",
         BEGAN + 10 * MS);
    wait_in_vain(1u << 6);
    finish();
    is(3, "rank 6 was behind (last enqueued 110) in a collective");
}

/* It aborts without a timeout of its own, and perhaps first of all: still a consequence of one. */
TEST(a_rank_that_ends_because_it_was_asked_to_dump_is_no_cause)
{
    start(1);
    says(6,
         "[rank6]:[E1130 23:10:07.300 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) "
         "Rank 6] Received a dump signal due to a collective timeout from  rank 3 and we will try "
         "our best to dump the debug info. Last enqueued NCCL work: 110, last completed NCCL work: "
         "110.",
         BEGAN + 10 * MS);
    says(6,
         "[rank6]:[F1130 23:10:07.301 ProcessGroupNCCL.cpp:1557] [PG ID 0 PG GUID 0(default_pg) "
         "Rank 6] [PG ID 0 PG GUID 0(default_pg) Rank 6] Terminating the process after attempting "
         "to dump debug info, due to collective timeout or exception.",
         BEGAN + 11 * MS);
    outcome_note_ended(&outcome, 6, W_EXITCODE(0, SIGABRT), BEGAN + 12 * MS);
    wait_in_vain(1u << 6);
    finish();
    is(3, "rank 6 was behind (last enqueued 110) in a collective; rank 3");
    tap_eq_str(class_of(6), "victim");
}

TEST(a_rank_in_another_operation)
{
    start(1);
    wait_in_vain(1u << 7);
    gives_up(7, (struct work){"_ALLGATHER_BASE", 118, 118, 117}, BEGAN - 9 * MS);
    finish();
    is(7, "rank 7 was in another operation (_ALLGATHER_BASE) in a collective; rank 7");
}

TEST(behind_and_silent_at_once)
{
    start(1);
    wait_in_vain(1u << 1 | 1u << 4 | 1u << 5);
    gives_up(1, (struct work){"BROADCAST", 90, 90, 89}, BEGAN + 7 * MS);
    finish();
    is(3, "rank 1 was behind (last enqueued 90), ranks 4-5 were silent in a collective");
}

TEST(nobody_here_lags)
{
    start(2);
    wait_in_vain(0);
    finish();
    is(3, "a collective timed out and no rank of this node lags: see the other nodes; rank 11");
    start(1);
    wait_in_vain(0);
    finish();
    is(3, "a collective timed out though all ranks came to it; rank 3");
}

TEST(a_real_failure_is_the_cause_whoever_timed_out)
{
    start(1);
    says(5, "Traceback (most recent call last):\n  File \"t.py\", line 4, in f\nValueError: x",
         BEGAN - 200 * SECOND);
    wait_in_vain(1u << 5);
    finish();
    tap_eq_int(verdict.root, 5);
    tap_eq_str(verdict.reason, "rank_exited");
    tap_has_str(verdict.message, "failed first: ValueError: x");
}

TEST(a_rank_that_had_left_with_zero_is_not_silent)
{
    start(1);
    outcome_note_ended(&outcome, 5, 0, BEGAN - SECOND);
    wait_in_vain(1u << 5);
    finish();
    is(3, "a collective timed out though all ranks came to it");
}

TEST(other_groups_are_not_compared)
{
    start(1);
    wait_in_vain(1u << 4);
    says(4,
         "[rank4]:[E1130 23:10:07.114 ProcessGroupNCCL.cpp:632] [Rank 4] Watchdog caught "
         "collective operation timeout: WorkNCCL(SeqNum=7, OpType=SEND, NumelIn=1, NumelOut=1, "
         "Timeout(ms)=300000) ran for 300001 milliseconds before timing out.",
         BEGAN + 10 * MS);
    says(4,
         "[rank4]:[E1130 23:10:07.115 ProcessGroupNCCL.cpp:1664] [PG 3 Rank 4] Exception (either "
         "an error or timeout) detected by watchdog at work: 7, last enqueued NCCL work: 7, last "
         "completed NCCL work: 6.",
         BEGAN + 10 * MS);
    finish();
    is(3, "a collective timed out though all ranks came to it");
}

/* Before its process could say more: the watchdog's own line is enough. */
TEST(the_watchdog_line_alone)
{
    start(1);
    says(0,
         "[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=12, OpType=BARRIER, Timeout(ms)=1800000) ran for 1800611 milliseconds "
         "before timing out.",
         BEGAN);
    outcome_note_ended(&outcome, 0, W_EXITCODE(0, SIGABRT), BEGAN);
    tap_ok(outcome_rank_echoes(&outcome.ranks[0]));
    finish();
    is(0, "ranks 1-7 were silent in a collective; rank 0 (local rank 0 on node 0) gave up first "
          "after waiting 1800.6 s in BARRIER, SeqNum 12, killed by SIGABRT");
}

static void fails(int rank, const char *error)
{
    char text[512];

    snprintf(text, sizeof(text),
             "Traceback (most recent call last):\n  File \"t.py\", line 4, in f\n%s", error);
    says(rank, text, BEGAN);
    outcome_note_ended(&outcome, rank, W_EXITCODE(1, 0), BEGAN);
}

TEST(gloo)
{
    start(1);
    for (int i = 0; i < RANKS; i++) {
        if (i != 6)
            fails(i, "RuntimeError: [/x/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting "
                     "30000ms for recv operation to complete");
    }
    finish();
    tap_eq_str(verdict.reason, "collective_timeout");
    tap_eq_int(verdict.exit_code, 1);
    tap_eq_str(verdict.message,
               "rank 6 was silent in a collective; rank 0 (local rank 0 on node 0) gave up first: "
               "RuntimeError: Timed out waiting 30000ms for recv operation to complete (t.py:4), "
               "exit code 1 after 812.0 s");
}

TEST(a_monitored_barrier_names_them_itself)
{
    start(1);
    fails(0, "RuntimeError: Ranks 2, 5 failed to pass monitoredBarrier in 30000 ms");
    finish();
    tap_eq_str(verdict.reason, "collective_timeout");
    tap_has_str(verdict.message, "Ranks 2, 5 failed to pass monitoredBarrier");
}

TEST(waiting_for_the_store_is_no_collective)
{
    start(1);
    fails(0, "torch.distributed.DistStoreError: wait timeout after 2000ms, keys: /x");
    finish();
    tap_eq_str(verdict.reason, "rank_exited");
    tap_eq_str(class_of(0), "victim");
}

TEST(wild_words_stay_bounded)
{
    char line[900];

    start(1);
    memset(line, 'A', sizeof(line));
    memcpy(line,
           "[E1 ProcessGroupNCCL.cpp] Watchdog caught collective operation timeout: "
           "WorkNCCL(SeqNum=99999999999999999999, OpType=\x1b",
           118);
    line[sizeof(line) - 1] = '\0';
    says(0, line, BEGAN);
    outcome_note_ended(&outcome, 0, W_EXITCODE(0, SIGABRT), BEGAN);
    finish();
    is(0, "ranks 1-7 were silent in a collective");
    tap_has_str(verdict.message, "in ?AAAAAAA");
}

TAP_MAIN()
