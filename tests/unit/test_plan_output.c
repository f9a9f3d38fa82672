/* What plan_output.c makes of a command line. */
#include "fixture.h"
#include "model/plan.h"

/* "out err template" of a line: what is captured and what stands before each line. */
static void check_capture(const char *line, bool tty_out, bool tty_err, const char *want)
{
    struct fixture f = fixture_new();
    char got[256];
    struct buf out = BUF_OVER(got);

    f.facts.tty_out = tty_out;
    f.facts.tty_err = tty_err;
    if (!tap_eq_int(fixture_plan(&f, "", line), 0))
        printf("# %s\n", f.err.message);
    buf_addf(&out, "%d %d ", f.plan.output.capture_out, f.plan.output.capture_err);
    buf_adds(&out,
             f.plan.output.prefix == PLAN_PREFIX_TEMPLATE ? f.plan.output.prefix_template : "-");
    if (!tap_eq_str(got, want))
        printf("# with: %s\n", line);
    fixture_free(&f);
}

TEST(what_passes_through)
{
    char message[ERR_MESSAGE_MAX];

    check_capture("--nproc-per-node 2 x", false, false, "1 1 -");
    check_capture("--nproc-per-node 2 x", true, true, "1 1 [rank ${rank}] ");
    check_capture("--nproc-per-node 2 x", false, true, "1 1 [rank ${rank}] ");
    check_capture("--nproc-per-node 1 x", false, false, "1 1 -");
    check_capture("--nproc-per-node 1 x", true, true, "0 0 -");
    check_capture("--nproc-per-node 1 x", false, true, "0 0 -");
    check_capture("bash", false, false, "0 0 -");
    check_capture("--capture both bash", false, false, "1 1 -");
    check_capture("--capture stderr --nproc-per-node 2 x", false, true, "0 1 [rank ${rank}] ");
    check_capture("--capture none --nproc-per-node 2 x", true, true, "0 0 -");
    check_capture("--log-prefix never --nproc-per-node 2 x", true, true, "1 1 -");
    check_capture("--log-prefix always --nproc-per-node 1 x", true, true, "1 1 [rank ${rank}] ");
    check_capture("--log-prefix ${time}: --nproc-per-node 2 x", false, false, "1 1 ${time}:");
    tap_eq_int(fixture_code("", "--capture none --log-prefix always --nproc-per-node 2 x", message),
               78);
    tap_has_str(message, "--log-prefix needs the output to pass through, --capture says none");
}

TEST(who_has_standard_input_and_the_terminal)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 x"), 0);
    tap_eq_int(f.plan.output.stdin_local_rank, 0);
    tap_ok(!f.plan.output.terminal);
    fixture_again(&f);
    f.facts.tty_in = true;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 x"), 0);
    tap_eq_int(f.plan.output.stdin_local_rank, -1);
    tap_ok(!f.plan.output.terminal);
    fixture_again(&f);
    f.facts.tty_in = true;
    tap_eq_int(fixture_plan(&f, "", "bash"), 0);
    tap_eq_int(f.plan.output.stdin_local_rank, 0);
    tap_ok(f.plan.output.terminal);
    fixture_free(&f);
}

TEST(where_the_verdict_goes)
{
    struct fixture f = fixture_new();

    f.facts.termination_log = true;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 --summary /s x"), 0);
    tap_ok(f.plan.report.page && f.plan.report.json_line);
    tap_eq_str(f.plan.report.termination_log, "/dev/termination-log");
    tap_ok(!f.plan.report.termination_log_stated);
    tap_eq_str(f.plan.report.summary, "/s");
    tap_eq_int(f.plan.report.max_bytes, 2048);
    fixture_again(&f);
    f.facts.termination_log = f.facts.tty_err = true;
    tap_eq_int(fixture_plan(&f, "RANKINIT_THIS_RANK=0", "--nproc-per-node 2 x"), 0);
    tap_ok(f.plan.report.page && !f.plan.report.json_line);
    tap_ok(!f.plan.report.termination_log);
    fixture_again(&f);
    f.facts.termination_log = true;
    tap_eq_int(fixture_plan(&f, "", "--report always bash"), 0);
    tap_ok(f.plan.report.page && f.plan.report.json_line);
    tap_ok(!f.plan.report.termination_log);
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "", "--report never --termination-log /t x.py"), 0);
    tap_ok(!f.plan.report.page && !f.plan.report.json_line);
    tap_eq_str(f.plan.report.termination_log, "/t");
    tap_ok(f.plan.report.termination_log_stated);
    fixture_free(&f);
}

TEST(where_error_files_go)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "train.py"), 0);
    tap_eq_str(f.plan.error_dir, "/tmp");
    tap_ok(!f.plan.log_dir_stated);
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "PET_LOG_DIR=/logs", "train.py"), 0);
    tap_eq_str(f.plan.error_dir, "/logs");
    tap_ok(f.plan.log_dir_stated);
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "", "--log-dir /dev/null train.py"), 0);
    tap_ok(!f.plan.error_dir);
    fixture_again(&f);
    f.facts.scratch_dir = NULL;
    tap_eq_int(fixture_plan(&f, "", "train.py"), 0);
    tap_ok(!f.plan.error_dir);
    fixture_free(&f);
}

TEST(the_page_s_colours_and_silence)
{
    static const struct {
        const char *env, *words;
        bool tty, colour, quiet;
    } cases[] = {
        {"", "train.py", false, false, false},
        {"", "train.py", true, true, false},
        {"TERM=xterm NO_COLOR=", "train.py", true, true, false},
        {"NO_COLOR=1", "train.py", true, false, false},
        {"TERM=dumb", "train.py", true, false, false},
        {"", "-q train.py", true, true, true},
        {"", "-q --report always train.py", true, true, false},
        {"RANKINIT_QUIET=1", "-v train.py", true, true, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f = fixture_new();

        f.facts.tty_err = cases[i].tty;
        tap_eq_int(fixture_plan(&f, cases[i].env, cases[i].words), 0);
        tap_eq_int(f.plan.report.colour, cases[i].colour);
        tap_eq_int(f.plan.report.quiet, cases[i].quiet);
        fixture_free(&f);
    }
}

TEST(a_small_shm_is_noted_for_several_ranks)
{
    struct fixture f = fixture_new();

    f.facts.shm_bytes = 64 << 20;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 x"), 0);
    tap_ok(fixture_noticed(&f, "/dev/shm has only 64 MiB for 2 ranks"));
    fixture_again(&f);
    f.facts.shm_bytes = 64 << 20;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 1 x"), 0);
    tap_eq_int(f.plan.notices.count, 0);
    fixture_free(&f);
}

TAP_MAIN()
