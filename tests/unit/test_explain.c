/*
 * The whole job from the documents of its nodes. These are rendered from outcomes, as a run does, cut
 * to every budget and mangled; the pages of lists of pods are in tests/golden/explain.
 */
#include "report/explain.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "dice.h"
#include "report/summary.h"
#include "tap.h"

#define MS     1000000LL
#define SECOND (1000 * MS)
#define RANKS  8
#define NODES  2
#define START  1796075763591889082LL
#define BEGAN  (812 * SECOND) /* when the first gives up */

static struct plan plan;
static struct outcome outcome;
static char *words[] = {(char[]){"train.py"}, NULL};
static char documents[NODES][SUMMARY_FULL_MAX];
static size_t sizes[NODES];
static char page[EXPLAIN_PAGE_MAX];

static void start(int node)
{
    struct err err = ERR_INIT;

    memset(&plan, 0, sizeof(plan));
    plan.mode = PLAN_FANOUT;
    plan.job = (struct plan_job){.id = "llama-42",
                                 .nnodes = NODES,
                                 .node_rank = node,
                                 .nproc = RANKS,
                                 .world_size = NODES * RANKS,
                                 .first_rank = node * RANKS};
    plan.argv.items = words;
    plan.argv.count = 1;
    plan.output.tail_lines = 20;
    plan.memory_limit_bytes = plan.shm_bytes = -1;
    snprintf(plan.host, sizeof(plan.host), "trainer-%d", node);
    outcome_release(&outcome);
    tap_eq_int(outcome_init(&outcome, &plan, &err), 0);
    outcome.start_realtime_ns = START + node * 20 * MS;
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

static void gives_up(int rank, struct work work, int64_t now_ns)
{
    int global = plan.job.first_rank + rank;
    char line[600];

    snprintf(line, sizeof(line),
             "[rank%d]:[E1130 23:10:07.114 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught "
             "collective operation timeout: WorkNCCL(SeqNum=%" PRId64
             ", OpType=%s, NumelIn=7340032, NumelOut=7340032, Timeout(ms)=300000) ran for 300044 "
             "milliseconds before timing out.",
             global, global, work.seq, work.op);
    says(rank, line, now_ns);
    snprintf(line, sizeof(line),
             "[rank%d]:[E1130 23:10:07.115 ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID "
             "0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: %" PRId64
             " PG status: last enqueued work: %" PRId64 ", last completed work: %" PRId64,
             global, global, work.seq, work.enqueued, work.completed);
    says(rank, line, now_ns + MS);
    outcome_note_ended(&outcome, rank, W_EXITCODE(0, SIGABRT), now_ns + 20 * MS);
}

/* All ranks of the node but those in `but` (bits) wait for this. */
static void wait_in_vain(struct work work, unsigned int but)
{
    for (int i = 0; i < RANKS; i++) {
        if (!(but & 1u << i))
            gives_up(i, work, BEGAN + (i * 5 % RANKS) * MS);
    }
}

static void raises(int rank, const char *error, int64_t now_ns)
{
    char text[512];

    snprintf(text, sizeof(text),
             "Traceback (most recent call last):\n  File \"/app/train.py\", line 42, in f\n%s",
             error);
    says(rank, text, now_ns);
    outcome_note_ended(&outcome, rank, W_EXITCODE(1, 0), now_ns + 50 * MS);
}

/* We end what is left, and the node's document is kept. */
static void finish(size_t budget)
{
    static unsigned char *memory;
    struct json_arena arena;
    struct verdict verdict;
    struct summary summary = {&plan, &outcome, &verdict, &arena};
    size_t size = summary_arena_size(&plan);
    int node = plan.job.node_rank;

    for (int i = 0; i < RANKS; i++) {
        if (outcome.ranks[i].state == RANK_ALIVE) {
            outcome_note_signalled(&outcome, i, SIGTERM, BEGAN + 4 * SECOND);
            outcome_note_ended(&outcome, i, W_EXITCODE(0, SIGTERM), BEGAN + 5 * SECOND);
        }
    }
    outcome.done = true;
    outcome.now_ns = BEGAN + 6 * SECOND;
    outcome_judge(&outcome, &plan, &verdict);
    free(memory);
    memory = malloc(size);
    json_setup(&arena, memory, size, size);
    sizes[node] = summary_render(&summary, documents[node], budget);
    json_end();
}

/* The page of what has been finished, in one order and in the other. */
static const char *told(void)
{
    static char other[EXPLAIN_PAGE_MAX];
    struct err err = ERR_INIT;

    for (int turn = 0; turn < 2; turn++) {
        struct explain *explain = explain_new();
        struct buf out;

        for (int i = 0; i < NODES; i++) {
            int node = turn ? NODES - 1 - i : i;
            struct explain_input input = {"a", documents[node], sizes[node]};

            tap_eq_int(explain_take(explain, &input, &err), 0);
        }
        buf_init(&out, turn ? other : page, EXPLAIN_PAGE_MAX);
        if (explain_knows(explain))
            explain_page(explain, &out);
        explain_free(explain);
    }
    tap_eq_str(other, page);
    /* As one line, wherever it was broken. */
    for (char *at = page, *to = page;; at++) {
        if (*at == '\n')
            at += strspn(at, "\n ") - 1;
        *to = *at == '\n' || (*at == ' ' && at > page && to[-1] == ' ') ? ' ' : *at;
        if (*to++ == '\0')
            break;
    }
    return page;
}

static void has(const char *part)
{
    tap_has_str(page, part);
}

TEST(a_whole_node_is_behind)
{
    start(0);
    wait_in_vain((struct work){"ALLREDUCE", 118, 119, 117}, 0);
    finish(2048);
    start(1);
    wait_in_vain((struct work){"ALLREDUCE", 116, 116, 115}, 0);
    finish(2048);
    told();
    has("ranks 8-15 were behind (at 116 of 118) in a collective; rank 0 (local rank 0 on node 0) gave up");
}

TEST(one_rank_of_one_node_is_behind)
{
    start(0);
    wait_in_vain((struct work){"ALLREDUCE", 118, 119, 117}, 0);
    finish(2048);
    start(1);
    wait_in_vain((struct work){"ALLREDUCE", 118, 119, 117}, 1u << 5);
    gives_up(5, (struct work){"ALLREDUCE", 110, 111, 109}, BEGAN + 90 * MS);
    finish(2048);
    told();
    has("rank 13 was behind (at 111 of 118) in a collective; rank");
}

TEST(a_rank_is_silent_and_another_elsewhere)
{
    start(0);
    wait_in_vain((struct work){"ALLREDUCE", 118, 119, 117}, 1u << 2);
    finish(2048);
    start(1);
    wait_in_vain((struct work){"ALLREDUCE", 118, 119, 117}, 1u << 5);
    gives_up(5, (struct work){"BROADCAST", 118, 119, 117}, BEGAN + 90 * MS);
    finish(2048);
    told();
    has("rank 13 was in another operation, rank 2 was silent in a collective; rank");
}

TEST(a_whole_node_is_silent)
{
    start(0);
    wait_in_vain((struct work){"ALLREDUCE", 118, 119, 117}, 0);
    finish(2048);
    start(1);
    outcome_note_stop(&outcome, &(struct outcome_stop){.requested = true,
                                                       .signal = SIGTERM,
                                                       .at_ns = BEGAN + SECOND,
                                                       .sender_rank = -1});
    finish(2048);
    told();
    has("ranks 8-15 were silent in a collective; rank");
    has("node 1 (trainer-1) was asked to stop by SIGTERM");
}

TEST(nobody_lags)
{
    for (int node = 0; node < NODES; node++) {
        start(node);
        wait_in_vain((struct work){"ALLREDUCE", 118, 119, 117}, 0);
        finish(2048);
    }
    told();
    has("a collective timed out though all ranks came to it: look at the network between the "
        "nodes; rank");
}

TEST(gloo_knows_no_numbers)
{
    static const char waited[] =
        "RuntimeError: [x/gloo/unbound_buffer.cc:78] Timed out waiting 30000ms for recv operation to complete";

    for (int node = 0; node < NODES; node++) {
        start(node);
        for (int i = 0; i < RANKS; i++) {
            if (node != 1 || i != 6)
                raises(i, waited, BEGAN + i * MS);
        }
        finish(2048);
    }
    told();
    has("rank 14 was silent in a collective; rank 0 (local rank 0 on node 0) gave up first");
}

TEST(a_real_failure_elsewhere_is_the_cause_of_a_timeout)
{
    start(0);
    wait_in_vain((struct work){"ALLREDUCE", 118, 119, 117}, 0);
    finish(2048);
    start(1);
    raises(3, "ValueError: bad batch", BEGAN - 300 * SECOND);
    finish(2048);
    told();
    has("rank 11 (local rank 3 on node 1) failed first: ValueError: bad batch");
    has("waited in vain for others: ");
}

TEST(identical_failures_of_all_nodes_are_one_group)
{
    for (int node = 0; node < NODES; node++) {
        start(node);
        for (int i = 0; i < RANKS; i++)
            raises(i,
                   i == 3   ? "KeyError: 'x'"
                   : i == 4 ? "ValueError: 0x9 4"
                            : "ValueError: 0x1f 2",
                   SECOND + i * MS);
        finish(8192);
    }
    told();
    has("ranks 0-2,4-10,12-15 failed in this way");
    has("ranks 3,11 failed too: KeyError: 'x' (train.py:42)");
}

/* Whatever is left of the documents, the page is bounded and plain, and the same for both orders. */
TEST(cut_and_mangled_documents_do_no_harm)
{
    static const char *const pieces[] = {
        "{",     "}",           "[",       "]",    ",",
        ":",     "\"",          "\\",      "null", "-1",
        "1e308", "\"\\u0000\"", "\x1b[2J", "\xff", "99999999999999999999"};

    dice_start(17);
    for (int round = 0; round < 400; round++) {
        for (int node = 0; node < NODES; node++) {
            start(node);
            raises(dice(RANKS),
                   dice(2) ? "RuntimeError: Connection closed by peer" : "ValueError: x", SECOND);
            if (dice(2))
                wait_in_vain((struct work){"ALLREDUCE", dice(9), 9, 8}, (unsigned int)dice(256));
            finish((size_t)(700 + dice(4000)));
            if (dice(3) == 0)
                sizes[node] = (size_t)dice((int)sizes[node]) + 1;
            for (int i = dice(3); i > 0; i--) {
                const char *piece = pieces[dice((int)(sizeof(pieces) / sizeof(pieces[0])))];
                size_t len = strlen(piece), at = 33 + (size_t)dice(2000);

                if (at + len < sizes[node])
                    memcpy(documents[node] + at, piece, len);
            }
        }
        if (sizes[0] < 40 || sizes[1] < 40)
            continue;
        tap_ok(strlen(told()) < EXPLAIN_PAGE_MAX - 1);
        for (const char *at = page; *at; at++) {
            if ((unsigned char)*at < ' ' || *at == '\177')
                tap_ok(false);
        }
    }
}

TAP_MAIN()
