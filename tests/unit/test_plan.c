#include "model/plan.h"

#include <signal.h>

#include "fixture.h"

/* DESIGN 1, row by row: what is asked, PROGRAM, and whether ranks are started. */
TEST(the_fan_out_table)
{
    static const struct {
        const char *argv0, *env, *line;
        enum plan_mode mode;
        bool noticed; /* names --nproc-per-node */
    } rows[] = {
        /* --init-only, any */
        {"rankinit", "", "--init-only train.py", PLAN_INIT, false},
        {"rankinit", "PET_NNODES=2", "--init-only --nproc-per-node 2 train.py", PLAN_INIT, true},
        {"torchrun", "", "--init-only train.py", PLAN_INIT, false},
        /* a flag, a twin or the spec states a shape, any */
        {"rankinit", "", "--nproc-per-node 1 sh", PLAN_FANOUT, false},
        {"rankinit", "", "--nnodes 1 sh", PLAN_FANOUT, false},
        {"rankinit", "RANKINIT_NPROC_PER_NODE=2", "sh", PLAN_FANOUT, false},
        {"rankinit", "", "--standalone sh", PLAN_FANOUT, false},
        {"rankinit", "", "--nproc-per-node 2 torchrun x.py", PLAN_FANOUT, false},
        /* called as torchrun */
        {"torchrun", "", "train", PLAN_FANOUT, false},
        {"/usr/bin/torchrun", "", "--no-python sh", PLAN_FANOUT, false},
        /* a shape only in the platform's environment: Python programs */
        {"rankinit", "PET_NPROC_PER_NODE=1", "train.py", PLAN_FANOUT, false},
        {"rankinit", "PET_NNODES=1", "-m mod", PLAN_FANOUT, false},
        {"rankinit", "WORLD_SIZE=1 RANK=0", "python train.py", PLAN_FANOUT, false},
        {"rankinit", "PET_NNODES=1", "python3.11 -u -m mod", PLAN_FANOUT, false},
        {"rankinit", "PET_NNODES=1 RANKINIT_THIS_RANK=0", "python train.py", PLAN_INIT, false},
        /* the same, anything else */
        {"rankinit", "PET_NNODES=1", "sh -c true", PLAN_INIT, true},
        {"rankinit", "PET_NNODES=1", "env", PLAN_INIT, true},
        {"rankinit", "PET_NNODES=1", "torchrun train.py", PLAN_INIT, true},
        {"rankinit", "PET_NNODES=1", "python -m torch.distributed.run train.py", PLAN_INIT, true},
        {"rankinit", "WORLD_SIZE=1 RANK=0", "nginx", PLAN_INIT, true},
        {"rankinit", "PET_NNODES=2 SLURM_PROCID=0", "bash", PLAN_INIT, true},
        /* nothing: *.py and -m */
        {"rankinit", "", "train.py", PLAN_FANOUT, false},
        {"rankinit", "", "/work/train.py --lr 1", PLAN_FANOUT, false},
        {"rankinit", "", "-m mod", PLAN_FANOUT, false},
        {"rankinit", "RANKINIT_THIS_RANK=0", "train.py", PLAN_FANOUT, false},
        /* nothing: anything else */
        {"rankinit", "", "bash", PLAN_INIT, false},
        {"rankinit", "", "nvidia-smi", PLAN_INIT, false},
        {"rankinit", "", "python x.py", PLAN_INIT, false},
        {"rankinit", "JOB_COMPLETION_INDEX=1 MASTER_PORT=1 LWS_GROUP_SIZE=2", "bash", PLAN_INIT,
         false},
        {"rankinit", "SLURM_PROCID=1", "bash", PLAN_INIT, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f = fixture_new();

        f.argv0 = rows[i].argv0;
        if (!tap_eq_int(fixture_plan(&f, rows[i].env, rows[i].line), 0) ||
            !tap_eq_int(f.plan.mode, rows[i].mode) ||
            !tap_eq_int(fixture_noticed(&f, "--nproc-per-node"), rows[i].noticed))
            printf("# with: %s %s | %s | %s\n", rows[i].argv0, rows[i].env, rows[i].line,
                   f.err.message);
        fixture_free(&f);
    }
}

TEST(a_spec_states_a_shape_and_a_command)
{
    struct fixture f = fixture_new();

    fixture_spec(&f, OPT_NPROC_PER_NODE, "2");
    strvec_push(&f.spec.command, "sh");
    strvec_push(&f.spec.command, "-c");
    strvec_push(&f.spec.command, "true");
    tap_eq_int(fixture_plan(&f, "", ""), 0);
    tap_eq_int(f.plan.mode, PLAN_FANOUT);
    tap_eq_int(f.plan.job.nproc, 2);
    tap_eq_str(fixture_join(&f.plan.argv), "sh -c true");
    fixture_again(&f);
    strvec_push(&f.spec.command, "train.py");
    tap_eq_int(fixture_plan(&f, "", "other"), 0);
    tap_eq_str(fixture_join(&f.plan.argv), "other");
    fixture_free(&f);
}

TEST(the_name_torchrun)
{
    tap_ok(plan_called_torchrun("torchrun"));
    tap_ok(plan_called_torchrun("/usr/local/bin/torchrun"));
    tap_ok(!plan_called_torchrun("rankinit"));
    tap_ok(!plan_called_torchrun("/torchrun/rankinit"));
    tap_ok(!plan_called_torchrun("torchrun2"));
    tap_ok(!plan_called_torchrun(NULL));
}

static void check_argv(const char *argv0, const char *env, const char *line, const char *want,
                       int script)
{
    struct fixture f = fixture_new();

    f.argv0 = argv0;
    if (!tap_eq_int(fixture_plan(&f, env, line), 0))
        printf("# %s\n", f.err.message);
    tap_eq_str(fixture_join(&f.plan.argv), want);
    tap_eq_int(f.plan.script_index, script);
    fixture_free(&f);
}

TEST(python_files_and_modules_run_under_python)
{
    check_argv("rankinit", "", "train.py --x", "python -u train.py --x", 2);
    check_argv("rankinit", "", "-m mod --x", "python -u -m mod --x", 3);
    check_argv("rankinit", "", "--init-only train.py", "python -u train.py", 2);
    check_argv("rankinit", "", "--init-only -m mod", "python -u -m mod", 3);
    check_argv("rankinit", "PYTHON_EXEC=/opt/py", "train.py", "/opt/py -u train.py", 2);
    check_argv("rankinit", "PYTHON_EXEC=", "train.py", "python -u train.py", 2);
    check_argv("rankinit", "", "--no-python train.py", "train.py", 0);
    check_argv("rankinit", "", "--nproc-per-node 1 python -W error train.py 1",
               "python -W error train.py 1", 3);
    check_argv("rankinit", "", "--nproc-per-node 1 python -um mod 1", "python -um mod 1", 2);
    check_argv("rankinit", "", "--nproc-per-node 1 sh x", "sh x", -1);
    check_argv("torchrun", "", "train 1", "python -u train 1", 2);
    check_argv("torchrun", "", "--no-python train 1", "train 1", 0);
    check_argv("torchrun", "PET_NO_PYTHON=1", "train 1", "train 1", 0);
}

TEST(missing_words_and_interpreters_are_told)
{
    struct fixture f = fixture_new();
    char message[ERR_MESSAGE_MAX];

    tap_eq_int(fixture_code("", "", message), 64);
    tap_has_str(message, "no PROGRAM");
    tap_eq_int(fixture_code("", "--no-python -m mod", message), 64);
    tap_has_str(message, "-m and --no-python exclude each other");
    f.facts.python = NULL;
    tap_eq_int(fixture_plan(&f, "", "train.py"), -1);
    tap_eq_int(f.err.kind, ERR_NOT_FOUND);
    tap_has_str(f.err.message, "train.py needs Python");
    fixture_free(&f);
}

TEST(local_rank_arg_needs_a_script)
{
    struct fixture f = fixture_new();
    char message[ERR_MESSAGE_MAX];

    tap_eq_int(fixture_plan(&f, "", "--local-rank-arg train.py"), 0);
    tap_ok(f.plan.local_rank_arg);
    fixture_free(&f);
    tap_eq_int(fixture_code("", "--local-rank-arg --nproc-per-node 2 sh -c true", message), 64);
    tap_has_str(message, "--local-rank-arg: sh is no Python script");
}

TEST(init_mode_leaves_the_environment_untouched)
{
    struct fixture f = fixture_new();

    strvec_push(&f.spec.env_set, "ADDED=a=b");
    strvec_push(&f.spec.env_unset, "GONE");
    tap_eq_int(fixture_plan(&f, "RANK=7 GONE=1 PET_NNODES=2 KEPT=", "bash"), 0);
    tap_eq_str(fixture_join(&f.plan.env), "RANK=7 PET_NNODES=2 KEPT= ADDED=a=b");
    tap_ok(!f.plan.output.capture_out);
    tap_ok(!f.plan.output.capture_err);
    tap_ok(!f.plan.report.page);
    tap_ok(!f.plan.report.json_line);
    tap_ok(!f.plan.stop.escalate);
    tap_ok(f.plan.stop.sweep);
    tap_ok(f.plan.stop.stops[SIGTERM]);
    tap_ok(!f.plan.stop.stops[SIGINT]);
    tap_ok(!f.plan.error_dir);
    fixture_free(&f);
}

/* What an image or a ConfigMap states is for other programs as well: told to who asks. */
TEST(twins_and_specs_for_ranks_are_noted_in_init_mode_at_v)
{
    for (int verbose = 0; verbose < 2; verbose++) {
        struct fixture f = fixture_new();

        tap_eq_int(fixture_yaml(&f, "devices: {per_rank: 2}"), 0);
        tap_eq_int(fixture_plan(&f, "RANKINIT_CPU_BIND=numa", verbose ? "-v bash" : "bash"), 0);
        tap_eq_int(f.plan.mode, PLAN_INIT);
        tap_eq_int(fixture_noticed(&f, "spec.yaml: devices.per_rank has no effect in init mode"),
                   verbose);
        tap_eq_int(fixture_noticed(&f, "RANKINIT_CPU_BIND has no effect in init mode"), verbose);
        fixture_free(&f);
    }
}

TEST(flags_for_ranks_are_noted_in_init_mode)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "--keep-env --devices 0 --role r bash"), 0);
    tap_ok(fixture_noticed(&f, "--keep-env has no effect in init mode"));
    tap_ok(fixture_noticed(&f, "--devices has no effect in init mode"));
    tap_eq_int(f.plan.notices.count, 3);
    fixture_free(&f);
}

static enum log_level level_of(const char *env, const char *line)
{
    struct fixture f = fixture_new();
    enum log_level level;

    tap_eq_int(fixture_plan(&f, env, line), 0);
    level = f.plan.log_level;
    fixture_free(&f);
    return level;
}

TEST(quiet_and_verbose)
{
    struct fixture f = fixture_new();

    tap_eq_int(level_of("", "x"), LOG_NOTICE);
    tap_eq_int(level_of("", "-q x"), LOG_ERROR);
    tap_eq_int(level_of("", "-v x"), LOG_INFO);
    tap_eq_int(level_of("", "-vv x"), LOG_DEBUG);
    tap_eq_int(level_of("RANKINIT_QUIET=1", "-v x"), LOG_INFO);
    tap_eq_int(level_of("RANKINIT_VERBOSE=2", "-q x"), LOG_ERROR);
    tap_eq_int(fixture_plan(&f, "", "-v --nproc-per-node 1 --monitor-interval 1 x"), 0);
    tap_ok(fixture_noticed(&f, "--monitor-interval has no effect: "));
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 1 --monitor-interval 1 x"), 0);
    tap_eq_int(f.plan.notices.count, 0);
    fixture_free(&f);
}

TEST(a_platform_never_refuses_init_mode)
{
    char message[ERR_MESSAGE_MAX];

    tap_eq_int(fixture_code("SLURM_PROCID=1 PET_NNODES=1:4", "bash", message), 0);
    tap_eq_int(fixture_code("SLURM_PROCID=1", "python x.py", message), 0);
    tap_eq_int(fixture_code("SLURM_PROCID=1", "--init-only x.py", message), 0);
    tap_eq_int(fixture_code("SLURM_PROCID=1", "x.py", message), 78);
}

TAP_MAIN()
