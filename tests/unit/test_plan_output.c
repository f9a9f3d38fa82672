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

/*
 * "local ranks' files/consoles, kept or not" of a line: of each rank the streams in files, those on
 * the console (1: stdout, 2: stderr), and "k" if the folder stays.
 */
static void check_files(const char *env, const char *line, const char *want, const char *notice)
{
    struct fixture f = fixture_new();
    char got[256];
    struct buf out = BUF_OVER(got);

    if (!tap_eq_int(fixture_plan(&f, env, line), 0))
        printf("# %s\n", f.err.message);
    for (int i = 0; f.plan.output.sinks && i < f.plan.job.nproc; i++) {
        const struct plan_sinks *sinks = &f.plan.output.sinks[i];

        buf_addf(&out, "%d/%d ", sinks->file[0] + 2 * sinks->file[1],
                 sinks->console[0] + 2 * sinks->console[1]);
    }
    buf_adds(&out, f.plan.keep_run_dir ? "k" : "-");
    if (!tap_eq_str(got, want))
        printf("# with: %s\n", line);
    tap_eq_uint(f.plan.notices.count > 0, notice != NULL);
    if (notice && f.plan.notices.count > 0)
        tap_has_str(f.plan.notices.items[f.plan.notices.count - 1], notice);
    fixture_free(&f);
}

TEST(which_output_goes_to_files)
{
    check_files("", "--nproc-per-node 2 x", "-", NULL);
    check_files("", "--nproc-per-node 2 --log-dir /l x", "k", NULL);
    check_files("", "--nproc-per-node 2 --log-dir /l -r 3 x", "3/0 3/0 k", NULL);
    check_files("", "--nproc-per-node 2 --log-dir /l -t 3 x", "3/3 3/3 k", NULL);
    check_files("", "--nproc-per-node 2 --log-dir /l -t 0 -r 0 x", "0/3 0/3 k", NULL);
    check_files("", "--nproc-per-node 3 --log-dir /l -r 0:1,2:2 x", "1/2 0/3 2/1 k", NULL);
    check_files("", "--nproc-per-node 3 --log-dir /l -r 3 -t 1:2,2:3 x", "3/0 3/2 3/3 k", NULL);
    check_files("PET_REDIRECTS=2 PET_TEE=0:1 PET_LOG_DIR=/l", "--nproc-per-node 2 x", "3/1 2/1 k",
                NULL);
    check_files("PET_REDIRECTS=3 PET_LOG_DIR=/l", "bash", "-", NULL);
    check_files("", "--log-dir /l -t 1 bash", "1/3 k", NULL);
    check_files("", "--nproc-per-node 12 --log-dir /l -t 11:3 x",
                "0/3 0/3 0/3 0/3 0/3 0/3 0/3 0/3 0/3 0/3 0/3 3/3 k", NULL);
}

TEST(files_without_a_place)
{
    char message[ERR_MESSAGE_MAX];
    struct fixture f = fixture_new();

    check_files("", "--nproc-per-node 2 -r 1 x", "1/2 1/2 k", NULL);
    check_files("", "--nproc-per-node 2 -t 3 x", "0/3 0/3 -",
                "-t: no files without --log-dir; the console has it all");
    check_files("", "--nproc-per-node 2 --log-dir /dev/null -r 3 x", "0/0 0/0 -", NULL);
    check_files("", "--nproc-per-node 2 --log-dir /dev/null -t 3 x", "0/3 0/3 -", NULL);
    f.facts.scratch_dir = NULL;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 -r 1 x"), -1);
    tap_has_str(f.err.message, "-r: there is no directory for the output; state --log-dir DIR");
    fixture_free(&f);
    tap_eq_int(fixture_code("", "--nproc-per-node 2 --capture none --log-dir /l -t 3 x", message),
               78);
    tap_has_str(message, "-t needs stdout to pass through, --capture says none");
    tap_eq_int(fixture_code("", "--nproc-per-node 2 --capture stderr --log-dir /l -r 1 x", message),
               78);
    tap_eq_int(fixture_code("", "--nproc-per-node 2 --capture stderr --log-dir /l -r 2 x", message),
               0);
    check_capture("--nproc-per-node 1 --log-dir /l -t 3 x", true, true, "1 1 -");
    check_capture("--nproc-per-node 2 --log-dir /l -t 3 x", false, false, "1 1 [rank ${rank}] ");
    check_capture("--nproc-per-node 2 --log-dir /l -r 3 x", false, false, "1 1 -");
}

TEST(who_is_shown)
{
    check_files("", "--nproc-per-node 3 --local-ranks-filter 0,2 x", "0/3 0/0 0/3 -", NULL);
    check_files("", "--nproc-per-node 2 --local-ranks-filter 1 --log-dir /l -t 1 x", "1/0 1/3 k",
                NULL);
    check_files("PET_LOCAL_RANKS_FILTER=0", "--nproc-per-node 2 x", "0/3 0/0 -", NULL);
    check_files("", "--nproc-per-node 2 --local-ranks-filter 0,7 x", "0/3 0/0 -",
                "--local-ranks-filter: there is no local rank 7 here");
    check_files("", "--nproc-per-node 2 --log-dir /l --tee 5:3,0:1 x", "1/3 0/3 k",
                "--tee: there is no local rank 5 here");
}

TEST(which_lines_are_wanted_twice)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "",
                            "--nproc-per-node 2 --log-dir /l -t 1 --duplicate-stdout-filters "
                            "loss,,x,lr, x"),
               0);
    tap_eq_uint(f.plan.output.duplicates[0].count, 2);
    tap_eq_str(f.plan.output.duplicates[0].items[0], "loss,x");
    tap_eq_str(f.plan.output.duplicates[0].items[1], "lr");
    fixture_again(&f);
    tap_eq_int(
        fixture_plan(&f, "", "--nproc-per-node 2 --log-dir /l -t 1 --duplicate-stderr-filters a x"),
        0);
    tap_eq_uint(f.plan.output.duplicates[1].count, 0);
    tap_has_str(f.plan.notices.items[0],
                "--duplicate-stderr-filters has no effect: no stderr is tee'd to a file (--tee)");
    fixture_free(&f);
}

TEST(torchruns_own_template)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=[${role_name}]:",
                            "--nproc-per-node 2 x"),
               0);
    tap_eq_str(f.plan.output.prefix_template, "[${role_name}]:");
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=[${role_name}]:",
                            "--nproc-per-node 2 --log-prefix never x"),
               0);
    tap_ok(f.plan.output.prefix == PLAN_PREFIX_NEVER);
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=[${role_name}]:", "bash"),
               0);
    tap_ok(!f.plan.output.capture_out);
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
