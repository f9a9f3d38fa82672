#include "model/plan.h"

#include <signal.h>

#include "fixture.h"

#define SECOND 1000000000LL

static void free_and_new(struct fixture *f)
{
    fixture_free(f);
    *f = fixture_new();
}

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
    free_and_new(&f);
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

TEST(ranks_of_one_node)
{
    struct fixture f = fixture_new();

    fixture_gpus(&f, 4);
    tap_eq_int(fixture_plan(&f, "", "train.py"), 0);
    tap_eq_int(f.plan.job.nproc, 4);
    tap_eq_int(f.plan.job.world_size, 4);
    tap_eq_int(f.plan.job.nnodes, 1);
    tap_eq_str(f.plan.job.master_addr, "127.0.0.1");
    tap_eq_int(f.plan.job.master_port, 0);
    tap_eq_str(f.plan.job.id, "none");
    tap_eq_str(f.plan.job.role, "default");
    tap_eq_str(f.plan.job.platform, "none");
    tap_eq_int(f.plan.notices.count, 0);
    fixture_free(&f);
}

static int nproc_of(struct fixture *f, const char *env, const char *line)
{
    int rc = fixture_plan(f, env, line), nproc = f->plan.job.nproc;

    if (rc < 0)
        nproc = -exitcode_of_kind(f->err.kind);
    free_and_new(f);
    return nproc;
}

TEST(nproc_is_counted_where_it_is_not_stated)
{
    struct fixture f = fixture_new();

    tap_eq_int(nproc_of(&f, "", "train.py"), 1);
    tap_eq_int(nproc_of(&f, "", "--nproc-per-node auto train.py"), 1);
    tap_eq_int(nproc_of(&f, "", "--nproc-per-node gpu train.py"), -69);
    tap_eq_int(nproc_of(&f, "", "--nproc-per-node cpu train.py"), 8);
    tap_eq_int(nproc_of(&f, "PET_NPROC_PER_NODE=3", "train.py"), 3);
    tap_eq_int(nproc_of(&f, "PET_NPROC_PER_NODE=3", "--nproc-per-node 2 train.py"), 2);
    fixture_gpus(&f, 4);
    tap_eq_int(nproc_of(&f, "", "train.py"), 4);
    fixture_gpus(&f, 4);
    tap_eq_int(nproc_of(&f, "CUDA_VISIBLE_DEVICES=1,3", "train.py"), 2);
    fixture_gpus(&f, 4);
    tap_eq_int(nproc_of(&f, "CUDA_VISIBLE_DEVICES=", "train.py"), 1);
    fixture_gpus(&f, 4);
    tap_eq_int(nproc_of(&f, "", "--gpus-per-rank 2 train.py"), 2);
    fixture_gpus(&f, 4);
    tap_eq_int(nproc_of(&f, "", "--devices 1-3 train.py"), 3);
    fixture_gpus(&f, 4);
    tap_eq_int(nproc_of(&f, "", "--device-mode none train.py"), 1);
    fixture_gpus(&f, 4);
    tap_eq_int(nproc_of(&f, "", "--device-mode none --nproc-per-node gpu train.py"), -78);
    fixture_gpus(&f, 2);
    tap_eq_int(nproc_of(&f, "", "--nproc-per-node 4 train.py"), -78);
    fixture_gpus(&f, 4);
    f.argv0 = "torchrun";
    tap_eq_int(nproc_of(&f, "", "train.py"), 1);
    f.argv0 = "torchrun";
    tap_eq_int(nproc_of(&f, "PET_NPROC_PER_NODE=2", "train.py"), 2);
    fixture_gpus(&f, 1);
    f.argv0 = "torchrun";
    tap_eq_int(nproc_of(&f, "", "--nproc-per-node 2 train.py"), 2);
    f.facts.other_accelerator = "/dev/kfd";
    tap_eq_int(nproc_of(&f, "", "train.py"), -78);
    f.facts.other_accelerator = "/dev/kfd";
    tap_eq_int(nproc_of(&f, "", "--nproc-per-node 2 train.py"), 2);
    fixture_free(&f);
}

TEST(a_count_over_several_nodes_must_be_beyond_doubt)
{
    static const char *const line = "--nnodes 2 --node-rank 0 --master-addr m train.py";
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", line), 0);
    tap_ok(fixture_noticed(&f, "no device and no sign of any: one rank on every node"));
    tap_ok(fixture_noticed(&f, "assuming 1 rank on every node"));
    free_and_new(&f);
    f.facts.nvidia_driver = true;
    tap_eq_int(fixture_plan(&f, "", line), -1);
    tap_eq_int(f.err.kind, ERR_DEVICES);
    tap_has_str(f.err.message, "there is no /dev/nvidia*");
    free_and_new(&f);
    fixture_gpus(&f, 1);
    tap_eq_int(fixture_plan(&f, "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b", line), -1);
    tap_eq_int(f.err.kind, ERR_DEVICES);
    free_and_new(&f);
    f.facts.nvidia_driver = true;
    tap_eq_int(fixture_plan(&f, "CUDA_VISIBLE_DEVICES=", line), 0);
    free_and_new(&f);
    fixture_gpus(&f, 8);
    tap_eq_int(fixture_plan(&f, "NVIDIA_VISIBLE_DEVICES=all", line), 0);
    tap_ok(fixture_noticed(&f, "--nproc-per-node auto: assuming 8 ranks on every node"));
    tap_eq_int(f.plan.job.world_size, 16);
    fixture_free(&f);
}

TEST(nodes_out_of_range_are_refused)
{
    char message[ERR_MESSAGE_MAX];

    tap_eq_int(fixture_code("", "--nnodes 2 --node-rank 2 --master-addr m train.py", message), 78);
    tap_has_str(message, "--node-rank says node 2, but --nnodes is 2: nodes count from 0 to 1");
    tap_eq_int(fixture_code("JOB_COMPLETION_INDEX=5", "--nnodes 2 --master-addr m x.py", message),
               78);
    tap_has_str(message, "JOB_COMPLETION_INDEX says node 5");
    tap_eq_int(fixture_code("", "--node-rank 1 train.py", message), 78);
    tap_has_str(message, "the number of nodes is 1");
    tap_eq_int(
        fixture_code("", "--nnodes 1000000 --node-rank 0 --nproc-per-node 4096 x.py", message), 78);
    tap_has_str(message, "2^31");
    tap_eq_int(fixture_code("", "--nnodes 2 --standalone x.py", message), 78);
}

/* "ADDR:PORT" of a line, or "!CODE message". */
static void check_master(const char *env, const char *line, const char *want)
{
    struct fixture f = fixture_new();
    char got[ERR_MESSAGE_MAX + 16];
    struct buf out = BUF_OVER(got);

    if (fixture_plan(&f, env, line) < 0)
        buf_addf(&out, "!%d %s", exitcode_of_kind(f.err.kind), f.err.message);
    else
        buf_addf(&out, "%s:%d", f.plan.job.master_addr, f.plan.job.master_port);
    if (want[0] == '!' ? !tap_has_str(got, want) : !tap_eq_str(got, want))
        printf("# with: %s | %s\n", env, line);
    fixture_free(&f);
}

TEST(where_the_master_is)
{
    check_master("", "--nproc-per-node 2 x", "127.0.0.1:0");
    check_master("", "--nproc-per-node 2 --master-port 1234 x", "127.0.0.1:1234");
    check_master("MASTER_ADDR=m MASTER_PORT=5", "--nproc-per-node 2 x", "m:5");
    check_master("MASTER_PORT=tcp://10.0.0.1:80", "--nproc-per-node 2 x", "127.0.0.1:0");
    check_master("MASTER_ADDR=m MASTER_PORT=5", "--standalone x", "127.0.0.1:0");
    check_master("", "--standalone --master-port 7 x", "127.0.0.1:7");
    check_master("", "--nnodes 2 --node-rank 1 x",
                 "!78 --nnodes says 2 nodes, but nothing says where the master is (looked at "
                 "--master-addr, MASTER_ADDR, PET_MASTER_ADDR");
    check_master("", "--nnodes 2 --node-rank 1 --master-addr m x", "m:29500");
    check_master("MASTER_PORT=5", "--nnodes 2 --node-rank 1 --master-addr m x", "m:5");
    check_master("", "--nnodes 2 --node-rank 1 --rdzv-endpoint m x", "m:29500");
    check_master("", "--nnodes 2 --node-rank 1 --rdzv-backend c10d --rdzv-endpoint m x", "m:29400");
    check_master("", "--nnodes 2 --node-rank 1 --rdzv-backend c10d --rdzv-endpoint m:9 x", "m:9");
    check_master("", "--rdzv-backend c10d --rdzv-endpoint localhost x", "localhost:0");
    check_master("", "--rdzv-backend c10d --rdzv-endpoint localhost:0 x", "localhost:0");
    check_master("", "--nnodes 2 --node-rank 1 --rdzv-endpoint m:0 x",
                 "!78 --rdzv-endpoint=m:0: 2");
    check_master("", "--nnodes 2 --node-rank 1 --rdzv-endpoint [fe80::1]:9 x", "fe80::1:9");
    check_master("PET_RDZV_ENDPOINT=p:1", "--nnodes 2 --node-rank 1 --master-addr m x", "m:29500");
    check_master("PET_MASTER_ADDR=p", "--nnodes 2 --node-rank 1 --rdzv-endpoint m:1 x", "m:1");
    check_master("PET_RDZV_ENDPOINT=w:1 PET_MASTER_ADDR=m PET_MASTER_PORT=2 PET_NNODES=2 "
                 "PET_NODE_RANK=1",
                 "x.py", "m:2");
}

TEST(node_0_on_another_host_is_a_notice)
{
    struct fixture f = fixture_new();

    strcpy(f.facts.hostname, "job-1");
    tap_eq_int(fixture_plan(&f, "", "--nnodes 2 --node-rank 0 --master-addr job-0.svc x"), 0);
    tap_ok(fixture_noticed(&f, "the master is job-0.svc and this host is job-1"));
    free_and_new(&f);
    strcpy(f.facts.hostname, "job-0");
    tap_eq_int(fixture_plan(&f, "", "--nnodes 2 --node-rank 0 --master-addr job-0.svc x"), 0);
    tap_eq_int(f.plan.notices.count, 2); /* those of the count alone */
    free_and_new(&f);
    strcpy(f.facts.hostname, "job-1");
    tap_eq_int(fixture_plan(&f, "", "--nnodes 2 --node-rank 1 --master-addr job-0.svc x"), 0);
    tap_eq_int(f.plan.notices.count, 2);
    fixture_free(&f);
}

TEST(an_index_without_a_size_is_noted)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "JOB_COMPLETION_INDEX=3", "train.py"), 0);
    tap_ok(fixture_noticed(&f, "JOB_COMPLETION_INDEX=3, but nothing says how many nodes"));
    fixture_free(&f);
}

static int threads_of(const char *argv0, const char *line)
{
    struct fixture f = fixture_new();
    int threads;

    f.argv0 = argv0;
    if (!tap_eq_int(fixture_plan(&f, "", line), 0))
        printf("# %s\n", f.err.message);
    threads = f.plan.omp_threads;
    fixture_free(&f);
    return threads;
}

TEST(threads_per_rank)
{
    tap_eq_int(threads_of("rankinit", "--nproc-per-node 2 x"), 4);
    tap_eq_int(threads_of("rankinit", "--nproc-per-node 2 --threads torchrun x"), 1);
    tap_eq_int(threads_of("rankinit", "--nproc-per-node 1 --threads torchrun x"), 0);
    tap_eq_int(threads_of("rankinit", "--nproc-per-node 2 --threads keep x"), 0);
    tap_eq_int(threads_of("rankinit", "--nproc-per-node 2 --threads 3 x"), 3);
    tap_eq_int(threads_of("torchrun", "--nproc-per-node 2 x"), 1);
    tap_eq_int(threads_of("torchrun", "--nproc-per-node 2 --threads budget x"), 4);
    tap_eq_int(threads_of("rankinit", "x"), 0);
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

TEST(flags_for_ranks_are_noted_in_init_mode)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "--keep-env --devices 0 --role r bash"), 0);
    tap_ok(fixture_noticed(&f, "--keep-env has no effect in init mode"));
    tap_ok(fixture_noticed(&f, "--devices has no effect in init mode"));
    tap_eq_int(f.plan.notices.count, 3);
    fixture_free(&f);
}

TEST(init_mode_escalates_only_when_a_grace_is_stated)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "-g --rewrite TERM:INT bash"), 0);
    tap_ok(!f.plan.stop.escalate);
    tap_ok(f.plan.stop.group);
    free_and_new(&f);
    f.facts.is_init = false;
    tap_eq_int(fixture_plan(&f, "", "--grace 5s bash"), 0);
    tap_ok(f.plan.stop.escalate);
    tap_ok(!f.plan.stop.sweep);
    tap_eq_int(f.plan.stop.grace_ns, 5 * SECOND);
    free_and_new(&f);
    tap_eq_int(fixture_plan(&f, "RANKINIT_SHUTDOWN_TIMEOUT=7", "bash"), 0);
    tap_ok(f.plan.stop.escalate);
    tap_eq_int(f.plan.stop.grace_ns, 7 * SECOND);
    free_and_new(&f);
    fixture_spec(&f, OPT_STOP_SCOPE, "group");
    tap_eq_int(fixture_plan(&f, "", "bash"), 0);
    tap_ok(f.plan.stop.escalate);
    fixture_free(&f);
}

TEST(stopping_ranks)
{
    struct fixture f = fixture_new();

    f.facts.is_init = false;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 --rewrite TERM:USR1,15:10,INT:0 x"), 0);
    tap_ok(f.plan.stop.escalate);
    tap_ok(f.plan.stop.sweep);
    tap_eq_int(f.plan.stop.grace_ns, 20 * SECOND);
    tap_eq_int(f.plan.stop.fail_grace_ns, 10 * SECOND);
    tap_eq_int(f.plan.stop.orphan_grace_ns, 2 * SECOND);
    tap_eq_int(f.plan.stop.settle_ns, 3 * SECOND);
    tap_eq_int(f.plan.stop.rewrite[SIGTERM], SIGUSR1);
    tap_eq_int(f.plan.stop.rewrite[SIGINT], 0);
    tap_eq_int(f.plan.stop.rewrite[SIGHUP], SIGHUP);
    tap_ok(f.plan.stop.stops[SIGINT] && f.plan.stop.stops[SIGQUIT] && f.plan.stop.stops[SIGHUP]);
    tap_ok(!f.plan.stop.stops[SIGUSR1]);
    free_and_new(&f);
    f.facts.tty_in = true;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 1 x"), 0);
    tap_ok(f.plan.stop.stops[SIGTERM] && !f.plan.stop.stops[SIGINT]);
    fixture_free(&f);
}

TEST(torchrun_has_its_own_grace)
{
    struct fixture f = fixture_new();

    f.argv0 = "torchrun";
    tap_eq_int(fixture_plan(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=45", "x"), 0);
    tap_eq_int(f.plan.stop.grace_ns, 45 * SECOND);
    free_and_new(&f);
    f.argv0 = "torchrun";
    tap_eq_int(fixture_plan(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=45", "--grace 4s x"), 0);
    tap_eq_int(f.plan.stop.grace_ns, 4 * SECOND);
    free_and_new(&f);
    f.argv0 = "torchrun";
    tap_eq_int(fixture_plan(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=x", "x"), 0);
    tap_eq_int(f.plan.stop.grace_ns, 20 * SECOND);
    tap_ok(fixture_noticed(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=x is no number"));
    free_and_new(&f);
    tap_eq_int(fixture_plan(&f, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT=45", "train.py"), 0);
    tap_eq_int(f.plan.stop.grace_ns, 20 * SECOND);
    fixture_free(&f);
}

TEST(tini_s_options)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "-gw -p KILL -e 143 -e 7 -s bash"), 0);
    tap_ok(f.plan.stop.group);
    tap_ok(f.plan.warn_reaped);
    tap_eq_int(f.plan.parent_death_signal, SIGKILL);
    tap_ok(f.plan.exit_zero[143] && f.plan.exit_zero[7] && !f.plan.exit_zero[0]);
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
    free_and_new(&f);
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 1 --monitor-interval 1 x"), 0);
    tap_eq_int(f.plan.notices.count, 0);
    fixture_free(&f);
}

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
    free_and_new(&f);
    f.facts.tty_in = true;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 x"), 0);
    tap_eq_int(f.plan.output.stdin_local_rank, -1);
    tap_ok(!f.plan.output.terminal);
    free_and_new(&f);
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
    free_and_new(&f);
    f.facts.termination_log = f.facts.tty_err = true;
    tap_eq_int(fixture_plan(&f, "RANKINIT_THIS_RANK=0", "--nproc-per-node 2 x"), 0);
    tap_ok(f.plan.report.page && !f.plan.report.json_line);
    tap_ok(!f.plan.report.termination_log);
    free_and_new(&f);
    f.facts.termination_log = true;
    tap_eq_int(fixture_plan(&f, "", "--report always bash"), 0);
    tap_ok(f.plan.report.page && f.plan.report.json_line);
    tap_ok(!f.plan.report.termination_log);
    free_and_new(&f);
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
    free_and_new(&f);
    tap_eq_int(fixture_plan(&f, "PET_LOG_DIR=/logs", "train.py"), 0);
    tap_eq_str(f.plan.error_dir, "/logs");
    tap_ok(f.plan.log_dir_stated);
    free_and_new(&f);
    tap_eq_int(fixture_plan(&f, "", "--log-dir /dev/null train.py"), 0);
    tap_ok(!f.plan.error_dir);
    free_and_new(&f);
    f.facts.scratch_dir = NULL;
    tap_eq_int(fixture_plan(&f, "", "train.py"), 0);
    tap_ok(!f.plan.error_dir);
    fixture_free(&f);
}

TEST(a_small_shm_is_noted_for_several_ranks)
{
    struct fixture f = fixture_new();

    f.facts.shm_bytes = 64 << 20;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 x"), 0);
    tap_ok(fixture_noticed(&f, "/dev/shm has only 64 MiB for 2 ranks"));
    free_and_new(&f);
    f.facts.shm_bytes = 64 << 20;
    tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 1 x"), 0);
    tap_eq_int(f.plan.notices.count, 0);
    fixture_free(&f);
}

TEST(an_unbuilt_platform_never_refuses_init_mode)
{
    char message[ERR_MESSAGE_MAX];

    tap_eq_int(fixture_code("SLURM_PROCID=0 PET_NNODES=1:4", "bash", message), 0);
    tap_eq_int(fixture_code("SLURM_PROCID=0", "python x.py", message), 0);
    tap_eq_int(fixture_code("SLURM_PROCID=0", "--init-only x.py", message), 0);
    tap_eq_int(fixture_code("SLURM_PROCID=0", "x.py", message), 78);
}

/* A small generator with a fixed seed: the same numbers in every run. */
static unsigned next(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

enum platform_kind { BY_FLAGS, BY_PYTORCHJOB, BY_PYTORCHJOB_AUTO, BY_TRAINJOB, BY_INDEX, KINDS };

/* Writes environment and command line of one node as that platform would. */
static void place_node(enum platform_kind kind, int nnodes, int node, int nproc, struct buf *env,
                       struct buf *line)
{
    switch (kind) {
    case BY_FLAGS:
        buf_addf(line, "--nnodes %d --node-rank %d --master-addr m --nproc-per-node %d ", nnodes,
                 node, nproc);
        break;
    case BY_PYTORCHJOB:
    case BY_PYTORCHJOB_AUTO:
        buf_addf(env,
                 "MASTER_ADDR=m MASTER_PORT=23456 PET_MASTER_ADDR=m PET_MASTER_PORT=23456 "
                 "PET_NNODES=%d PET_NODE_RANK=%d RANK=%d ",
                 nnodes, node, node);
        if (kind == BY_PYTORCHJOB)
            buf_addf(env, "WORLD_SIZE=%d PET_NPROC_PER_NODE=%d", nnodes * nproc, nproc);
        else
            buf_addf(env, "WORLD_SIZE=%d PET_NPROC_PER_NODE=auto", nnodes);
        break;
    case BY_TRAINJOB:
        buf_addf(env,
                 "PET_NNODES=%d PET_NODE_RANK=%d JOB_COMPLETION_INDEX=%d PET_MASTER_ADDR=m "
                 "PET_MASTER_PORT=29500 PET_NPROC_PER_NODE=%d",
                 nnodes, node, node, nproc);
        break;
    case BY_INDEX:
    default:
        buf_addf(env, "JOB_COMPLETION_INDEX=%d MASTER_ADDR=m", node);
        buf_addf(line, "--nnodes %d --nproc-per-node %d ", nnodes, nproc);
    }
    buf_adds(line, "train.py");
}

static bool count_node(enum platform_kind kind, int nnodes, int node, int nproc,
                       unsigned char *seen)
{
    struct fixture f = fixture_new();
    char env_room[512], line_room[256];
    struct buf env = BUF_OVER(env_room), line = BUF_OVER(line_room);
    const struct plan_job *job = &f.plan.job;
    bool right;

    place_node(kind, nnodes, node, nproc, &env, &line);
    fixture_gpus(&f, nproc);
    right = fixture_plan(&f, env_room, line_room) == 0 && job->world_size == nnodes * nproc &&
            job->node_rank == node && job->nproc == nproc;
    for (int i = 0; right && i < nproc; i++)
        seen[job->first_rank + i]++;
    if (!right)
        printf("# %s | %s | %s\n", env_room, line_room, f.err.message);
    fixture_free(&f);
    return right;
}

TEST(every_rank_is_on_one_node_exactly)
{
    unsigned state = 20240817;

    for (int round = 0; round < 300; round++) {
        enum platform_kind kind = (enum platform_kind)next(&state, KINDS);
        int nnodes = 1 + (int)next(&state, 12), nproc = 1 + (int)next(&state, 16);
        unsigned char seen[12 * 16] = {0};

        for (int node = 0; node < nnodes; node++) {
            if (!tap_ok(count_node(kind, nnodes, node, nproc, seen)))
                return;
        }
        for (int rank = 0; rank < nnodes * nproc; rank++) {
            if (!tap_eq_int(seen[rank], 1))
                return;
        }
    }
}

TAP_MAIN()
