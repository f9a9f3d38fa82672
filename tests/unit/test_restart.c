/* Whether an attempt that has ended is followed by another: a row per case. */
#include "model/restart.h"

#include <signal.h>
#include <sys/wait.h>

#include "tap.h"

#define S 1000000000LL

/* One case: what is planned, what has been before, and how the attempt went. */
struct row {
    const char *name;
    int max;
    int64_t window_s, min_uptime_s;
    int never, only;  /* a code; 0: none */
    int count;        /* restarts before */
    int64_t last_s;   /* when all of them were */
    int quick_before; /* the rank that failed too soon before, + 1; 0: none */
    int code;         /* of rank 1, which fails at 10 s, started at 5 s */
    int signal;
    enum limit limit;
    bool stop, exec_fails, left_over, own_fault, all_well;
    enum restart_answer want;
};

static const struct row rows[] = {
    {.name = "none planned", .code = 1, .want = RESTART_NOT_WANTED},
    {.name = "a failure", .max = 1, .code = 1, .want = RESTART_YES},
    {.name = "a kill", .max = 1, .signal = SIGKILL, .want = RESTART_YES},
    {.name = "all went well", .max = 1, .all_well = true, .want = RESTART_NOT_WANTED},
    {.name = "the last one is spent", .max = 1, .count = 1, .code = 1, .want = RESTART_SPENT},
    {.name = "one of two is left", .max = 2, .count = 1, .code = 1, .want = RESTART_YES},
    {.name = "a stop request", .max = 3, .code = 1, .stop = true, .want = RESTART_STOPPED},
    {.name = "no such program", .max = 3, .exec_fails = true, .want = RESTART_NOT_STARTED},
    {.name = "a hang", .max = 1, .signal = SIGABRT, .limit = LIMIT_IDLE, .want = RESTART_YES},
    {.name = "a slow start",
     .max = 1,
     .signal = SIGABRT,
     .limit = LIMIT_START,
     .want = RESTART_YES},
    {.name = "a hang, 76 excluded",
     .max = 1,
     .signal = SIGABRT,
     .limit = LIMIT_IDLE,
     .never = 76,
     .want = RESTART_NEVER},
    {.name = "the time limit",
     .max = 3,
     .code = 1,
     .limit = LIMIT_TIMEOUT,
     .want = RESTART_TIMED_OUT},
    {.name = "what cannot be killed",
     .max = 3,
     .code = 1,
     .left_over = true,
     .want = RESTART_LEFT_OVER},
    {.name = "our own fault", .max = 3, .code = 1, .own_fault = true, .want = RESTART_OURS},
    {.name = "a code never restarted", .max = 3, .code = 3, .never = 3, .want = RESTART_NEVER},
    {.name = "another code", .max = 3, .code = 4, .never = 3, .want = RESTART_YES},
    {.name = "137 never", .max = 3, .signal = SIGKILL, .never = 137, .want = RESTART_NEVER},
    {.name = "the only code", .max = 3, .code = 3, .only = 3, .want = RESTART_YES},
    {.name = "not the only code", .max = 3, .code = 4, .only = 3, .want = RESTART_NOT_ONLY},
    {.name = "never beats only", .max = 3, .code = 3, .only = 3, .never = 3, .want = RESTART_NEVER},
    {.name = "soon, the first time", .max = 3, .code = 1, .min_uptime_s = 6, .want = RESTART_YES},
    {.name = "soon, twice",
     .max = 3,
     .code = 1,
     .count = 1,
     .min_uptime_s = 6,
     .quick_before = 2,
     .want = RESTART_TOO_QUICK},
    {.name = "soon, another rank before",
     .max = 3,
     .code = 1,
     .count = 1,
     .min_uptime_s = 6,
     .quick_before = 1,
     .want = RESTART_YES},
    {.name = "late enough",
     .max = 3,
     .code = 1,
     .count = 1,
     .min_uptime_s = 5,
     .quick_before = 2,
     .want = RESTART_YES},
    {.name = "no such rule by default",
     .max = 3,
     .code = 1,
     .count = 1,
     .quick_before = 2,
     .want = RESTART_YES},
    {.name = "old ones are forgotten",
     .max = 1,
     .count = 1,
     .last_s = 2,
     .window_s = 7,
     .code = 1,
     .want = RESTART_YES},
    {.name = "recent ones are not",
     .max = 1,
     .count = 1,
     .last_s = 6,
     .window_s = 7,
     .code = 1,
     .want = RESTART_SPENT},
    {.name = "too many in the window",
     .max = 3,
     .count = 300,
     .last_s = 6,
     .window_s = 7,
     .code = 1,
     .want = RESTART_SPENT},
    {.name = "many, long ago",
     .max = 3,
     .count = 300,
     .last_s = 1,
     .window_s = 7,
     .code = 1,
     .want = RESTART_YES},
};

static struct plan plan;
static struct outcome outcome;
static struct verdict verdict;

static void fail_rank(const struct row *row)
{
    int status = row->signal ? W_EXITCODE(0, row->signal) : W_EXITCODE(row->code, 0);

    if (row->exec_fails)
        outcome_note_start_failed(&outcome, 1, STAGE_EXEC, 2, 10 * S);
    else
        outcome_note_ended(&outcome, 1, status, 10 * S);
}

static void play(const struct row *row)
{
    struct err err = ERR_INIT;

    outcome_release(&outcome);
    tap_eq_int(outcome_init(&outcome, &plan, &err), 0);
    for (int i = 0; i < 2; i++)
        outcome_note_started(&outcome, i, 100 + i, 5 * S);
    if (row->stop)
        outcome_note_stop(
            &outcome, &(struct outcome_stop){
                          .requested = true, .signal = SIGTERM, .sender_rank = -1, .at_ns = 9 * S});
    if (row->limit != LIMIT_NONE) {
        outcome_note_limit(&outcome, &(struct outcome_limit){row->limit, 9 * S, 2 * S});
        outcome_note_signalled(&outcome, 1, row->signal ? row->signal : SIGTERM, 9 * S);
    }
    fail_rank(row);
    outcome_note_signalled(&outcome, 0, SIGTERM, 10 * S);
    outcome_note_ended(&outcome, 0, row->all_well ? 0 : W_EXITCODE(0, SIGTERM), 11 * S);
    outcome.unreaped_count = row->left_over;
    if (row->own_fault)
        err_set(&outcome.own, ERR_SYSTEM, "no memory");
    outcome.done = true;
    outcome_judge(&outcome, &plan, &verdict);
}

TEST(every_row_of_the_table)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct restart_past past;

        printf("# %s\n", row->name);
        memset(&plan, 0, sizeof(plan));
        plan.mode = PLAN_FANOUT;
        plan.job = (struct plan_job){.nnodes = 1, .nproc = 2, .world_size = 2};
        plan.restart = (struct restart_config){.max = row->max,
                                               .window_ns = row->window_s * S,
                                               .min_uptime_ns = row->min_uptime_s * S,
                                               .only_stated = row->only > 0};
        plan.restart.never[row->never] = row->never > 0;
        plan.restart.only[row->only] = row->only > 0;
        restart_init(&past);
        past.count = row->count;
        past.quick_rank = row->quick_before - 1;
        for (int at = 0; at < RESTART_TIMES_MAX; at++)
            past.times[at] = row->last_s * S;
        play(row);
        tap_eq_int(restart_decide(&plan, &past, &outcome, &verdict), row->want);
    }
}

TEST(each_restart_is_counted_and_the_quick_rank_remembered)
{
    struct restart_past past;

    memset(&plan, 0, sizeof(plan));
    plan.mode = PLAN_FANOUT;
    plan.job = (struct plan_job){.nnodes = 1, .nproc = 2, .world_size = 2};
    plan.restart = (struct restart_config){.max = 9, .min_uptime_ns = 6 * S};
    restart_init(&past);
    play(&(struct row){.code = 1});
    tap_eq_int(restart_decide(&plan, &past, &outcome, &verdict), RESTART_YES);
    restart_note(&plan, &past, &outcome, &verdict);
    tap_eq_int(past.count, 1);
    tap_eq_int(past.quick_rank, 1);
    tap_eq_int(restart_decide(&plan, &past, &outcome, &verdict), RESTART_TOO_QUICK);
}

TEST(a_refusal_is_explained)
{
    char room[200];
    struct buf text = BUF_OVER(room);

    restart_explain(RESTART_SPENT, &plan, &verdict, &text);
    tap_eq_str(room, "not restarted again: 9 restarts are allowed (--max-restarts)");
    buf_reset(&text);
    restart_explain(RESTART_STOPPED, &plan, &verdict, &text);
    tap_eq_int((int)text.len, 0);
}

TEST(a_new_attempt_begins_with_nothing_but_what_was)
{
    play(&(struct row){.code = 3});
    outcome_renew(&outcome, &verdict);
    tap_eq_int(outcome.restarts, 1);
    tap_eq_int(outcome.attempt_count, 1);
    tap_eq_int(outcome.attempts[0].number, 0);
    tap_eq_int(outcome.attempts[0].exit_code, 3);
    tap_eq_int(outcome.attempts[0].root, 1);
    tap_eq_str(outcome.attempts[0].reason, "rank_exited");
    tap_has_str(outcome.attempts[0].message, "rank 1");
    tap_eq_int(outcome.ranks[1].state, RANK_NOT_STARTED);
    tap_ok(outcome.first_failure_ns == OUTCOME_NEVER && !outcome.done);
    outcome_judge(&outcome, &plan, &verdict);
    tap_eq_str(outcome_verdict_word(verdict.word), "running");
}

TEST(of_many_attempts_the_first_and_the_last_ones_are_kept)
{
    play(&(struct row){.code = 3});
    for (int i = 0; i < 20; i++)
        outcome_renew(&outcome, &verdict);
    tap_eq_int(outcome.restarts, 20);
    tap_eq_int(outcome.attempt_count, OUTCOME_ATTEMPTS_MAX);
    tap_eq_int(outcome.attempts[0].number, 0);
    tap_eq_int(outcome.attempts[1].number, 20 - OUTCOME_ATTEMPTS_MAX + 1);
    tap_eq_int(outcome.attempts[OUTCOME_ATTEMPTS_MAX - 1].number, 19);
}

TAP_MAIN()
