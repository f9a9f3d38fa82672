/* Whose fault it was: every rule of the judgement. */
#include "model/outcome.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "dice.h"
#include "tap.h"

#define MS     1000000LL
#define SECOND (1000 * MS)

#define TRACEBACK(text) \
    "Traceback (most recent call last):\n  File \"train.py\", line 42, in f\n" text "\n"
#define ECHO "RuntimeError: [pair.cc:1] Connection closed by peer [::1]:1"

static struct plan plan;
static struct outcome outcome;
static struct verdict verdict;
static char *words[] = {(char[]){"train.py"}, NULL};

/* A fan-out of `count` ranks, all alive since 10 ms. */
static void start(int count)
{
    struct err err = ERR_INIT;

    memset(&plan, 0, sizeof(plan));
    plan.mode = PLAN_FANOUT;
    plan.job.nnodes = 1;
    plan.job.nproc = count;
    plan.job.world_size = count;
    plan.argv.items = words;
    plan.argv.count = 1;
    outcome_release(&outcome);
    tap_eq_int(outcome_init(&outcome, &plan, &err), 0);
    for (int i = 0; i < count; i++)
        outcome_note_started(&outcome, i, 100 + i, 10 * MS);
}

static void start_init(void)
{
    start(1);
    plan.mode = PLAN_INIT;
}

static void says(int rank, const char *text, int64_t now_ns)
{
    evidence_feed(outcome.ranks[rank].evidence, EVIDENCE_STDERR, text, strlen(text), now_ns);
}

static void exits(int rank, int code, int64_t now_ns)
{
    outcome_note_ended(&outcome, rank, W_EXITCODE(code, 0), now_ns);
}

static void dies(int rank, int signal, int64_t now_ns)
{
    outcome_note_ended(&outcome, rank, W_EXITCODE(0, signal), now_ns);
}

static void told(int rank, int signal, int64_t now_ns)
{
    outcome_note_signalled(&outcome, rank, signal, now_ns);
}

static void stop(int signal, int64_t now_ns)
{
    struct outcome_stop request = {
        .requested = true, .signal = signal, .at_ns = now_ns, .sender_rank = -1};

    outcome_note_stop(&outcome, &request);
    for (int i = 0; i < outcome.count; i++) {
        if (outcome.ranks[i].state == RANK_ALIVE)
            told(i, signal, now_ns);
    }
}

static const char *judge(void)
{
    outcome_judge(&outcome, &plan, &verdict);
    return outcome_verdict_word(verdict.word);
}

static const char *finish(void)
{
    outcome.done = true;
    return judge();
}

static const char *class_of(int rank)
{
    return outcome_class_word(outcome_class(&outcome, &verdict, rank));
}

static void is(const char *word, const char *reason, int code, int root)
{
    tap_eq_str(outcome_verdict_word(verdict.word), word);
    tap_eq_str(verdict.reason, reason);
    tap_eq_int(verdict.exit_code, code);
    tap_eq_int(verdict.root, root);
    tap_ok(verdict.message[0]);
}

TEST(running)
{
    start(2);
    judge();
    is("running", NULL, -1, -1);
    tap_eq_str(verdict.message, "2 of 2 ranks run");
    exits(0, 0, SECOND);
    judge();
    is("running", NULL, -1, -1);
}

TEST(all_zero_is_success)
{
    start(2);
    exits(0, 0, SECOND);
    exits(1, 0, 2 * SECOND);
    finish();
    is("succeeded", "completed", 0, -1);
    tap_eq_str(verdict.message, "all 2 ranks ended with exit code 0 after 2.0 s");
    tap_eq_str(class_of(0), "none");
}

TEST(a_traceback_tells_who_what_and_where)
{
    start(2);
    says(1, TRACEBACK("ValueError: bad batch"), 3150 * MS);
    exits(1, 1, 3200 * MS);
    judge();
    is("failed", "rank_exited", 1, 1);
    told(0, SIGTERM, 3200 * MS);
    dies(0, SIGTERM, 3300 * MS);
    finish();
    is("failed", "rank_exited", 1, 1);
    tap_ok(verdict.from_rank);
    tap_eq_int(verdict.cause.kind, EVIDENCE_TRACEBACK);
    tap_eq_int(verdict.cause_ns, 3150 * MS);
    tap_eq_str(verdict.message,
               "rank 1 (local rank 1 on node 0) failed first: ValueError: bad batch "
               "(train.py:42), exit code 1 after 3.2 s");
    tap_eq_str(class_of(0), "stopped_by_us");
    tap_eq_str(class_of(1), "cause");
}

TEST(global_and_node_numbers)
{
    start(2);
    plan.job.nnodes = 2;
    plan.job.node_rank = 1;
    plan.job.first_rank = 2;
    exits(1, 7, SECOND);
    finish();
    is("failed", "rank_exited", 7, 1);
    tap_eq_str(verdict.message,
               "rank 3 (local rank 1 on node 1) failed first: exit code 7 after 1.0 s");
}

TEST(evidence_counts_not_the_order_of_deaths)
{
    start(3);
    says(2, TRACEBACK("ValueError: x"), 1 * SECOND);
    says(0, TRACEBACK(ECHO), 2 * SECOND);
    exits(0, 1, 2 * SECOND);
    tap_ok(outcome_rank_echoes(&outcome.ranks[0]));
    tap_ok(outcome_rank_has_cause(&outcome.ranks[2]));
    tap_ok(!outcome_rank_has_cause(&outcome.ranks[1]));
    judge();
    is("failed", "rank_exited", 1, 2);
    told(1, SIGTERM, 2 * SECOND);
    told(2, SIGTERM, 2 * SECOND);
    dies(1, SIGTERM, 2100 * MS);
    dies(2, SIGTERM, 2100 * MS);
    finish();
    is("failed", "rank_exited", 1, 2);
    tap_eq_str(class_of(0), "consequence");
    tap_eq_str(class_of(1), "stopped_by_us");
    tap_eq_str(class_of(2), "cause");
    tap_has_str(verdict.message, "stopped by rankinit (SIGTERM)");
}

TEST(the_root_that_still_exits_gives_its_own_code)
{
    start(2);
    says(1, TRACEBACK("ValueError: x"), 1 * SECOND);
    says(0, TRACEBACK(ECHO), 2 * SECOND);
    exits(0, 1, 2 * SECOND);
    told(1, SIGTERM, 2 * SECOND);
    exits(1, 3, 3 * SECOND);
    finish();
    is("failed", "rank_exited", 3, 1);
}

TEST(words_after_our_signal_are_no_cause)
{
    start(2);
    dies(0, SIGKILL, 1 * SECOND);
    told(1, SIGTERM, 1 * SECOND);
    says(1, TRACEBACK("SystemError: stopped"), 1100 * MS);
    exits(1, 1, 1200 * MS);
    finish();
    is("failed", "rank_signaled", 137, 0);
    tap_eq_str(class_of(1), "stopped_by_us");
    tap_eq_str(class_of(0), "killed_from_outside");
}

TEST(an_echo_told_after_our_signal_is_a_consequence_but_no_cause)
{
    start(3);
    dies(0, SIGKILL, 1 * SECOND);
    told(1, SIGTERM, 1 * SECOND);
    told(2, SIGTERM, 1 * SECOND);
    says(1, TRACEBACK(ECHO), 1100 * MS);
    says(2, TRACEBACK(ECHO), 1100 * MS);
    exits(1, 1, 1200 * MS);
    dies(2, SIGTERM, 1200 * MS);
    finish();
    is("failed", "rank_signaled", 137, 0);
    tap_eq_str(class_of(1), "consequence");
    tap_eq_str(class_of(2), "stopped_by_us");
    tap_ok(!outcome_rank_echoes(&outcome.ranks[1]));
}

TEST(silent_kill_against_an_echo_that_died_first)
{
    start(2);
    says(0, TRACEBACK(ECHO), 1000 * MS);
    exits(0, 1, 1001 * MS);
    dies(1, SIGKILL, 1001 * MS);
    finish();
    is("failed", "rank_signaled", 137, 1);
    tap_has_str(verdict.message, "killed by SIGKILL from outside (by whom is unknown");
    outcome.oom_known = true;
    judge();
    tap_has_str(verdict.message, "killed by SIGKILL from outside (no OOM kill was counted)");
    tap_eq_str(class_of(0), "consequence");
}

TEST(an_oom_kill)
{
    start(2);
    plan.memory_limit_bytes = 512LL << 20;
    outcome.oom_known = true;
    outcome_note_oom_kills(&outcome, 1, SECOND);
    dies(1, SIGKILL, SECOND);
    finish();
    is("failed", "oom_killed", 137, 1);
    tap_has_str(verdict.message, "killed by SIGKILL (out of memory, limit 512 MiB)");
    tap_eq_str(class_of(1), "cause");
    outcome.memory_peak_bytes = 511LL << 20;
    judge();
    tap_has_str(verdict.message, "(out of memory, limit 512 MiB, peak 511 MiB)");
}

/* The counter names nobody: what is new of it belongs to whom this wake-up finds killed. */
TEST(who_of_the_killed_was_out_of_memory)
{
    start(5);
    outcome.oom_known = true;
    outcome_note_oom_kills(&outcome, 2, SECOND);
    dies(0, SIGKILL, SECOND);
    outcome_note_oom_kills(&outcome, 2, SECOND);
    exits(1, 1, SECOND);
    dies(2, SIGKILL, SECOND);
    dies(3, SIGKILL, SECOND);
    tap_ok(outcome.ranks[0].oom && outcome.ranks[2].oom);
    tap_ok(!outcome.ranks[1].oom && !outcome.ranks[3].oom);
    /* A worker's kill long ago explains no later one. */
    start(2);
    outcome_note_oom_kills(&outcome, 1, SECOND);
    exits(0, 1, SECOND);
    outcome_note_oom_kills(&outcome, 1, 2 * SECOND);
    dies(1, SIGKILL, 2 * SECOND);
    tap_ok(!outcome.ranks[1].oom);
    tap_eq_int((long long)outcome.oom_kills, 1);
    /* Nor one of ours. */
    start(1);
    told(0, SIGKILL, SECOND);
    outcome_note_oom_kills(&outcome, 1, 2 * SECOND);
    dies(0, SIGKILL, 2 * SECOND);
    tap_ok(!outcome.ranks[0].oom);
}

TEST(a_crash_is_the_ranks_own)
{
    start(2);
    outcome_note_ended(&outcome, 0, W_EXITCODE(0, SIGSEGV) | WCOREFLAG, SECOND);
    finish();
    is("failed", "rank_signaled", 139, 0);
    tap_eq_str(class_of(0), "cause");
    tap_has_str(verdict.message, "killed by SIGSEGV, core dumped after 1.0 s");
}

TEST(an_abort_after_words_of_a_lost_peer_is_an_echo_a_crash_is_not)
{
    start(2);
    says(0,
         "terminate called after throwing an instance of 'gloo::IoException'\n"
         "  what():  Connection closed by peer\n",
         SECOND);
    dies(0, SIGABRT, SECOND);
    tap_ok(outcome_rank_echoes(&outcome.ranks[0]));
    says(1, TRACEBACK(ECHO), SECOND);
    dies(1, SIGSEGV, SECOND);
    tap_ok(!outcome_rank_echoes(&outcome.ranks[1]));
    tap_ok(outcome_rank_has_cause(&outcome.ranks[1]));
}

TEST(only_echoes_name_who_had_left)
{
    start(3);
    exits(2, 0, 900 * MS);
    says(1, TRACEBACK(ECHO), 1100 * MS);
    says(0, TRACEBACK(ECHO), 1000 * MS);
    exits(1, 1, 1200 * MS);
    exits(0, 1, 1300 * MS);
    finish();
    is("failed", "rank_exited", 1, 0);
    tap_ok(verdict.cause.echo);
    tap_has_str(verdict.message,
                "rank 0 (local rank 0 on node 0) lost its peer first: RuntimeError: ");
    tap_has_str(verdict.message, "; rank 2 had left before it with exit code 0");
    tap_eq_str(class_of(0), "consequence");
}

TEST(only_echoes_of_another_nodes_failure)
{
    start(1);
    plan.job.nnodes = 2;
    says(0, TRACEBACK(ECHO), SECOND);
    exits(0, 1, SECOND);
    finish();
    tap_has_str(verdict.message, "see the other nodes");
}

TEST(a_collective_that_timed_out_makes_a_victim)
{
    start(2);
    says(0,
         TRACEBACK("RuntimeError: [gloo] Timed out waiting 2000ms for recv operation to complete"),
         SECOND);
    exits(0, 1, SECOND);
    exits(1, 5, 2 * SECOND);
    finish();
    is("failed", "rank_exited", 5, 1);
    tap_eq_str(class_of(0), "victim");
}

TEST(ties_go_to_the_better_evidence)
{
    start(3);
    exits(0, 1, SECOND);
    dies(1, SIGSEGV, SECOND);
    says(2, TRACEBACK("ValueError: x"), SECOND);
    exits(2, 1, SECOND);
    finish();
    is("failed", "rank_exited", 1, 2);
}

TEST(found_dead_in_the_wake_up_of_our_signal_it_had_died_by_itself)
{
    start(3);
    exits(0, 1, SECOND);
    told(1, SIGTERM, SECOND);
    told(2, SIGTERM, SECOND);
    dies(1, SIGSEGV, SECOND);
    dies(2, SIGTERM, SECOND);
    finish();
    is("failed", "rank_signaled", 139, 1);
    tap_eq_str(class_of(1), "cause");
    tap_eq_str(class_of(2), "stopped_by_us");
}

TEST(a_handled_traceback_of_long_ago_is_not_the_first_failure)
{
    start(2);
    says(0, TRACEBACK("ValueError: skipped a batch"), SECOND);
    for (int i = 0; i < 20; i++)
        says(0, "step\n", 2 * SECOND);
    exits(1, 9, 10 * SECOND);
    exits(0, 1, 11 * SECOND);
    finish();
    is("failed", "rank_exited", 9, 1);
}

/* Only one rank of many writes about its work: the others' silence is no sign that they have ended. */
TEST(a_silent_rank_that_logged_an_error_long_ago_is_not_the_first_failure)
{
    start(3);
    says(0, TRACEBACK("ValueError: skipped a batch"), SECOND);
    exits(1, 9, 3000 * SECOND);
    judge();
    is("failed", "rank_exited", 9, 1);
    told(0, SIGTERM, 3001 * SECOND);
    dies(0, SIGTERM, 3002 * SECOND);
    told(2, SIGTERM, 3001 * SECOND);
    dies(2, SIGTERM, 3002 * SECOND);
    finish();
    is("failed", "rank_exited", 9, 1);
    tap_eq_str(class_of(0), "stopped_by_us");

    /* Whatever the order of ranks, and though one that only just raised would be. */
    start(3);
    says(0, TRACEBACK("ValueError: skipped a batch"), SECOND);
    says(2, TRACEBACK("KeyError: 'x'"), 2980 * SECOND);
    exits(1, 9, 3000 * SECOND);
    finish();
    tap_eq_int(verdict.root, 2);
    start(3);
    says(2, TRACEBACK("ValueError: skipped a batch"), 2900 * SECOND);
    exits(1, 9, 3000 * SECOND);
    exits(0, 8, 2950 * SECOND);
    judge();
    tap_eq_int(verdict.root, 2);

    /* Of peers that only lost it, it is the cause, however long it hangs; and what @record wrote stays. */
    start(2);
    says(0, TRACEBACK("ValueError: x"), SECOND);
    says(1, TRACEBACK(ECHO), 1800 * SECOND);
    exits(1, 1, 1800 * SECOND);
    finish();
    tap_eq_int(verdict.root, 0);
    start(2);
    outcome.ranks[0].error_file = (struct finding){.kind = EVIDENCE_ERROR_FILE, .at_ns = SECOND};
    exits(1, 1, 1800 * SECOND);
    finish();
    tap_eq_int(verdict.root, 0);
}

TEST(a_kill_is_not_explained_by_an_error_of_long_ago)
{
    start(1);
    says(0, TRACEBACK("ValueError: skipped a batch"), SECOND);
    dies(0, SIGSEGV, 3000 * SECOND);
    finish();
    is("failed", "rank_signaled", 139, 0);
    tap_eq_int(verdict.cause.kind, EVIDENCE_SIGNAL);
    tap_eq_int(verdict.cause_ns, 3000 * SECOND);
    start(1);
    says(0,
         "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
         "  File \"t.py\", line 4 in f\n",
         SECOND);
    dies(0, SIGSEGV, 100 * SECOND);
    finish();
    tap_eq_int(verdict.cause.kind, EVIDENCE_FAULTHANDLER);
    /* An exit code may well be what it led to. */
    start(1);
    says(0, TRACEBACK("ValueError: x"), SECOND);
    exits(0, 1, 3000 * SECOND);
    finish();
    tap_eq_int(verdict.cause.kind, EVIDENCE_TRACEBACK);
    tap_eq_int(verdict.cause_ns, 3000 * SECOND);
}

TEST(a_flood_of_lost_peers_is_one)
{
    for (int lines = 1; lines < 40; lines++) {
        start(2);
        for (int i = 0; i < lines; i++)
            says(1, i % 2 ? "RuntimeError: Connection closed by peer\n" : "OSError: Broken pipe\n",
                 SECOND + i * MS);
        exits(1, 1, 2 * SECOND);
        dies(0, SIGSEGV, 4 * SECOND);
        finish();
        is("failed", "rank_signaled", 139, 0);
        tap_eq_str(class_of(1), "consequence");
    }
}

TEST(an_error_file_is_evidence_within_the_ranks_life)
{
    start(2);
    outcome.ranks[1].error_file = (struct finding){.kind = EVIDENCE_ERROR_FILE,
                                                   .at_ns = -5 * SECOND};
    strcpy(outcome.ranks[1].error_file.type, "KeyError");
    strcpy(outcome.ranks[1].error_file.message, "'x'");
    exits(0, 4, SECOND);
    finish();
    is("failed", "rank_exited", 1, 1);
    tap_eq_int(verdict.cause_ns, 10 * MS);
    tap_eq_int(verdict.cause.kind, EVIDENCE_ERROR_FILE);
    exits(1, 2, SECOND);
    outcome.ranks[1].error_file.at_ns = 99 * SECOND;
    judge();
    tap_eq_int(verdict.cause_ns, SECOND);
}

TEST(a_real_traceback_beats_an_error_file_of_an_echo)
{
    start(1);
    outcome.ranks[0].error_file = (struct finding){
        .kind = EVIDENCE_ERROR_FILE, .echo = true, .at_ns = SECOND};
    says(0, TRACEBACK("ValueError: x"), SECOND);
    exits(0, 1, 2 * SECOND);
    finish();
    tap_eq_str(verdict.cause.type, "ValueError");
}

TEST(a_stop_request_comes_first)
{
    start(2);
    stop(SIGTERM, 3 * SECOND);
    judge();
    is("stopped", "stop_requested", 143, -1);
    tap_ok(!verdict.from_rank);
    tap_eq_str(verdict.message,
               "being stopped by SIGTERM from outside after 3.0 s; 2 of 2 ranks still run");
    exits(0, 0, 4 * SECOND);
    says(1, TRACEBACK("ValueError: in the checkpoint"), 4 * SECOND);
    exits(1, 1, 4 * SECOND);
    outcome.killed_ns = 4 * SECOND;
    finish();
    is("stopped", "stop_requested", 143, -1);
    tap_eq_str(verdict.message,
               "stopped by SIGTERM from outside after 3.0 s; all 2 ranks had ended "
               "1.0 s later; SIGKILL was needed");
    tap_eq_str(class_of(0), "none");
    tap_eq_str(class_of(1), "stopped_by_us");
}

TEST(who_asked_is_told)
{
    start(4);
    plan.job.first_rank = 8;
    stop(SIGINT, SECOND);
    outcome.stop.sender_pid = 7;
    outcome.stop.sender_uid = 1000;
    judge();
    tap_has_str(verdict.message, "SIGINT from pid 7 (uid 1000)");
    outcome.stop.sender_rank = 3;
    judge();
    tap_has_str(verdict.message, "SIGINT from rank 11");
}

TEST(a_failure_before_the_stop_stays_one)
{
    start(2);
    exits(0, 7, SECOND);
    told(1, SIGTERM, SECOND);
    stop(SIGTERM, 2 * SECOND);
    dies(1, SIGTERM, 3 * SECOND);
    finish();
    is("failed", "rank_exited", 7, 0);
}

TEST(a_stop_after_the_last_rank_changes_nothing)
{
    start(2);
    exits(0, 0, SECOND);
    exits(1, 0, 2 * SECOND);
    stop(SIGTERM, 2 * SECOND + 1);
    finish();
    is("succeeded", "completed", 0, -1);
}

TEST(an_end_seen_together_with_the_stop_is_its_answer)
{
    start(1);
    stop(SIGTERM, 2 * SECOND);
    exits(0, 0, 2 * SECOND);
    finish();
    is("stopped", "stop_requested", 143, -1);
}

TEST(zero_after_a_stop_is_not_a_finished_training)
{
    start(2);
    exits(0, 0, SECOND);
    stop(SIGINT, 2 * SECOND);
    exits(1, 0, 3 * SECOND);
    finish();
    is("stopped", "stop_requested", 130, -1);
}

TEST(a_stop_before_the_first_rank)
{
    start(2);
    for (int i = 0; i < 2; i++)
        outcome.ranks[i].state = RANK_NOT_STARTED;
    stop(SIGTERM, 1 * MS);
    finish();
    is("stopped", "stop_requested", 143, -1);
}

TEST(a_rank_that_had_raised_before_the_stop)
{
    start(1);
    says(0, TRACEBACK("ValueError: x"), SECOND);
    stop(SIGTERM, 2 * SECOND);
    exits(0, 1, 3 * SECOND);
    finish();
    is("failed", "rank_exited", 1, 0);
    /* Ended by the signal, it may as well have logged and handled the error. */
    start(1);
    says(0, TRACEBACK("ValueError: x"), SECOND);
    stop(SIGTERM, 2 * SECOND);
    dies(0, SIGTERM, 3 * SECOND);
    finish();
    is("stopped", "stop_requested", 143, -1);
    tap_eq_str(class_of(0), "stopped_by_us");
}

TEST(start_failures)
{
    static const struct {
        enum spawn_stage stage;
        int errnum, code;
        const char *reason, *message;
    } cases[] = {
        {STAGE_EXEC, ENOENT, 127, "exec_failed",
         "could not be started: train.py: No such file or directory"},
        {STAGE_EXEC, ENOTDIR, 127, "exec_failed", "train.py: Not a directory"},
        {STAGE_EXEC, EACCES, 126, "exec_failed", "train.py: Permission denied"},
        {STAGE_EXEC, ENOEXEC, 126, "exec_failed", "train.py: Exec format error"},
        {STAGE_EXEC, EISDIR, 126, "exec_failed", "train.py: Is a directory"},
        {STAGE_EXEC, E2BIG, 126, "exec_failed", "train.py: Argument list too long"},
        {STAGE_WORKDIR, ENOENT, 78, "bad_spec", "workdir /nowhere: No such file"},
        {STAGE_FORK, EAGAIN, 71, "system", "fork: Resource temporarily unavailable"},
        {STAGE_STDIO, EMFILE, 71, "system", "stdio: Too many open files"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        start(2);
        plan.workdir = "/nowhere";
        outcome_note_start_failed(&outcome, 1, cases[i].stage, cases[i].errnum, 20 * MS);
        told(0, SIGTERM, 20 * MS);
        dies(0, SIGTERM, 30 * MS);
        finish();
        is("failed", cases[i].reason, cases[i].code, 1);
        tap_ok(!verdict.from_rank);
        tap_has_str(verdict.message, cases[i].message);
        tap_eq_str(class_of(1), "cause");
        tap_ok(outcome_rank_failed(&outcome.ranks[1]));
    }
}

TEST(a_failure_of_our_own)
{
    start(2);
    exits(0, 3, SECOND);
    err_set(&outcome.own, ERR_SYSTEM, "fork: no more processes");
    finish();
    is("failed", "system", 71, -1);
    tap_eq_str(verdict.message, "fork: no more processes");
    tap_ok(!verdict.from_rank);
}

TEST(init_mode_returns_the_programs_code)
{
    start_init();
    judge();
    is("running", NULL, -1, -1);
    exits(0, 3, SECOND);
    finish();
    is("failed", "rank_exited", 3, 0);
    tap_ok(verdict.from_rank);
    tap_eq_str(verdict.message, "the program failed: exit code 3 after 1.0 s");
    start_init();
    exits(0, 0, SECOND);
    finish();
    is("succeeded", "completed", 0, -1);
    start_init();
    dies(0, SIGSEGV, SECOND);
    finish();
    is("failed", "rank_signaled", 139, 0);
    start_init();
    outcome_note_start_failed(&outcome, 0, STAGE_EXEC, ENOENT, SECOND);
    finish();
    is("failed", "exec_failed", 127, 0);
    tap_eq_str(verdict.message,
               "the program could not be started: train.py: No such file or directory");
}

TEST(init_mode_stopped)
{
    start_init();
    stop(SIGTERM, SECOND);
    judge();
    is("running", NULL, -1, -1);
    tap_has_str(verdict.message, "asked to stop by SIGTERM");
    exits(0, 5, 2 * SECOND);
    finish();
    is("stopped", "stop_requested", 5, -1);
    tap_ok(verdict.from_rank);
    start_init();
    stop(SIGTERM, SECOND);
    exits(0, 0, 2 * SECOND);
    finish();
    is("succeeded", "completed", 0, -1);
}

TEST(a_stop_may_return_what_the_ranks_do)
{
    start(3);
    plan.exit.stop_rank = true;
    stop(SIGTERM, SECOND);
    exits(0, 0, 2 * SECOND);
    judge();
    is("stopped", "stop_requested", 143, -1);
    tap_ok(!verdict.from_rank);
    exits(2, 7, 4 * SECOND);
    exits(1, 5, 3 * SECOND);
    finish();
    is("stopped", "stop_requested", 5, -1);
    tap_ok(verdict.from_rank);
    start(2);
    plan.exit.stop_rank = true;
    stop(SIGTERM, SECOND);
    exits(0, 0, 2 * SECOND);
    exits(1, 0, 2 * SECOND);
    finish();
    is("stopped", "stop_requested", 0, -1);
    start(2);
    plan.exit.stop_rank = true;
    stop(SIGTERM, SECOND);
    exits(0, 3, 2 * SECOND);
    dies(1, SIGTERM, 2 * SECOND);
    finish();
    is("stopped", "stop_requested", 143, -1);
}

TEST(an_oom_kill_beside_success)
{
    start(2);
    outcome.oom_kills = 1;
    exits(0, 0, SECOND);
    exits(1, 0, 2 * SECOND);
    finish();
    is("succeeded", "completed", 0, -1);
    plan.exit.oom_fails = true;
    judge();
    is("failed", "oom_killed", 137, -1);
    tap_ok(!verdict.from_rank);
    tap_eq_str(verdict.message, "all 2 ranks ended with exit code 0 after 2.0 s, but the kernel "
                                "killed 1 process for lack of memory");
}

TEST(the_map_comes_last_and_changes_no_verdict)
{
    start(1);
    plan.exit.map[3] = 201;
    exits(0, 3, SECOND);
    finish();
    is("failed", "rank_exited", 200, 0);
    tap_eq_int(verdict.code_before, 3);
    tap_ok(verdict.from_rank);
    tap_has_str(verdict.message, "exit code 3 after");
    start(1);
    plan.exit.map[143] = 1;
    stop(SIGTERM, SECOND);
    dies(0, SIGTERM, 2 * SECOND);
    finish();
    is("stopped", "stop_requested", 0, -1);
    tap_ok(!verdict.from_rank);
    start(1);
    plan.exit.zero[3] = true;
    plan.exit.map[0] = 10;
    exits(0, 3, SECOND);
    finish();
    is("succeeded", "rank_exited", 9, 0);
}

TEST(codes_that_are_as_good_as_zero)
{
    start_init();
    plan.exit.zero[143] = true;
    stop(SIGTERM, SECOND);
    dies(0, SIGTERM, 2 * SECOND);
    finish();
    is("stopped", "stop_requested", 0, -1);
    start(1);
    plan.exit.zero[3] = true;
    exits(0, 3, SECOND);
    judge();
    is("failed", "rank_exited", 0, 0);
    finish();
    is("succeeded", "rank_exited", 0, 0);
    start(1);
    plan.exit.zero[127] = true;
    outcome_note_start_failed(&outcome, 0, STAGE_EXEC, ENOENT, SECOND);
    finish();
    is("failed", "exec_failed", 127, 0);
}

TEST(long_and_wild_words_stay_one_plain_sentence)
{
    static char text[2000];

    start(1);
    memset(text, '\x01', sizeof(text) - 1);
    memcpy(text, "\xF0\x9F\x9A\x80", 4);
    says(
        0,
        "Traceback (most recent call last):\n  File \"/very/\x1b[1mlong\x1b[0m/train.py\", line 1, in f\nValueError: ",
        SECOND);
    says(0, text, SECOND);
    says(0, "\nmore\n", SECOND);
    exits(0, 1, SECOND);
    finish();
    for (const char *c = verdict.message; *c; c++)
        tap_ok((unsigned char)*c >= 0x20);
    tap_has_str(verdict.message, "... (train.py:1), exit code 1");
}

TEST(nothing_at_all)
{
    start(2);
    for (int i = 0; i < 2; i++)
        outcome.ranks[i].state = RANK_NOT_STARTED;
    judge();
    is("running", NULL, -1, -1);
    finish();
    is("failed", "internal", 70, -1);
}

static void random_event(int count, int64_t now)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGINT};
    static const char *const texts[] = {TRACEBACK("ValueError: x"), TRACEBACK(ECHO), "step\n",
                                        "free(): bad\n"};
    int rank = dice(count);
    struct outcome_rank *state = &outcome.ranks[rank];

    switch (dice(6)) {
    case 0: says(rank, texts[dice(4)], now); break;
    case 1:
        if (state->state == RANK_ALIVE)
            exits(rank, dice(3), now);
        break;
    case 2:
        if (state->state == RANK_ALIVE)
            dies(rank, signals[dice(5)], now);
        break;
    case 3:
        if (state->state == RANK_ALIVE && outcome.first_failure_ns != OUTCOME_NEVER)
            told(rank, signals[dice(2)], now);
        break;
    case 4:
        if (dice(20) == 0 && !outcome.stop.requested)
            stop(SIGTERM, now);
        break;
    default:
        if (dice(20) == 0 && state->state == RANK_ALIVE)
            outcome_note_start_failed(&outcome, rank, (enum spawn_stage)(1 + dice(STAGE_EXEC)),
                                      ENOENT, now);
    }
}

/* What holds of every judgement, whatever has happened. */
static void check_invariants(void)
{
    bool lives = false;

    judge();
    for (int i = 0; i < outcome.count; i++)
        lives |= outcome.ranks[i].state == RANK_ALIVE;
    tap_ok((verdict.word == VERDICT_RUNNING) == (verdict.exit_code < 0));
    tap_ok((verdict.word == VERDICT_RUNNING) == (verdict.reason == NULL));
    tap_ok(verdict.exit_code <= 255);
    tap_ok(verdict.word != VERDICT_SUCCEEDED || (verdict.exit_code == 0 && !lives));
    tap_ok(verdict.word != VERDICT_STOPPED || outcome.stop.requested);
    tap_ok(verdict.word != VERDICT_FAILED || verdict.exit_code != 0);
    tap_ok(outcome.stop.requested || outcome.done || verdict.word == VERDICT_RUNNING ||
           outcome.first_failure_ns != OUTCOME_NEVER);
    tap_ok(verdict.message[0] && strlen(verdict.message) < sizeof(verdict.message));
    if (verdict.root >= 0)
        tap_ok(outcome_class(&outcome, &verdict, verdict.root) != CLASS_NONE);
}

TEST(any_history_is_judged)
{
    for (int round = 0; round < 2000; round++) {
        int count = 1 + dice(4);
        enum verdict_word before = VERDICT_RUNNING;

        start(count);
        for (int i = 0; i < 40; i++) {
            random_event(count, (i + 20) * 10 * MS);
            check_invariants();
            /* Never taken back; but a rank may turn out to have failed before the stop. */
            tap_ok(before == VERDICT_RUNNING || verdict.word == before ||
                   (before == VERDICT_STOPPED && verdict.word == VERDICT_FAILED));
            before = verdict.word;
        }
        for (int i = 0; i < count; i++) {
            if (outcome.ranks[i].state == RANK_ALIVE)
                exits(i, 0, 100 * SECOND);
        }
        outcome.done = true;
        check_invariants();
        tap_ok(verdict.word != VERDICT_RUNNING);
    }
    outcome_release(&outcome);
}

TAP_MAIN()
