/* What the spec's ranks: make of single ranks. */
#include "fixture.h"
#include "model/plan.h"
#include "model/rankenv.h"

/* A machine with GPUs, a spec and a command line; true if a plan came of them. */
static bool planned(struct fixture *f, int gpus, const char *yaml, const char *line)
{
    *f = fixture_new();
    if (gpus > 0)
        fixture_gpus(f, gpus);
    if (tap_eq_int(fixture_yaml(f, yaml), 0) && tap_eq_int(fixture_plan(f, "PATH=/bin", line), 0))
        return true;
    printf("# %s\n", f->err.message);
    return false;
}

/* Wants a refusal of this kind whose message has this part. */
static void refused(int gpus, const char *yaml, const char *line, enum err_kind kind,
                    const char *part)
{
    struct fixture f = fixture_new();

    if (gpus > 0)
        fixture_gpus(&f, gpus);
    tap_eq_int(fixture_yaml(&f, yaml), 0);
    tap_eq_int(fixture_plan(&f, "PATH=/bin", line), -1);
    tap_eq_int(f.err.kind, kind);
    tap_has_str(f.err.message, part);
    fixture_free(&f);
}

static void check_argv(const struct fixture *f, int local_rank, const char *want)
{
    struct strvec argv = STRVEC_INIT;

    rankenv_argv(&f->plan, local_rank, &argv);
    tap_eq_str(fixture_join(&argv), want);
    strvec_release(&argv);
}

/* Wants a variable of a rank to have this value; NULL: to be absent. */
static void check_env(const struct fixture *f, int local_rank, const char *name, const char *want)
{
    const struct rankenv_late late = {.master_port = 1};
    struct strvec env = STRVEC_INIT;

    rankenv_build(&f->plan, local_rank, &late, &env);
    tap_eq_str(env_get(strvec_texts(&env), name), want);
    strvec_release(&env);
}

static void check_devices(const struct fixture *f, int local_rank, const char *want)
{
    char room[256];
    struct buf list = BUF_OVER(room);

    devices_list(&f->plan.devices, local_rank, &list);
    tap_eq_str(room, want);
    check_env(f, local_rank, "CUDA_VISIBLE_DEVICES", want);
    check_env(f, local_rank, "RANKINIT_THIS_DEVICES", want);
}

TEST(programs_of_single_ranks)
{
    struct fixture f;

    if (planned(&f, 0,
                "ranks:\n"
                "- {local: 0, command: [serve.py, --port, \"80\"]}\n"
                "- {local: \"2-3\", command: [sh, -c, \"true\"]}\n",
                "--nproc-per-node 4 train.py x")) {
        check_argv(&f, 0, "python -u serve.py --port 80");
        check_argv(&f, 1, "python -u train.py x");
        check_argv(&f, 2, "sh -c true");
        check_argv(&f, 3, "sh -c true");
        tap_eq_str(rankenv_program(&f.plan, 3)->items[0], "sh");
        tap_eq_str(rankenv_program(&f.plan, 1)->items[0], "python");
    }
    fixture_free(&f);
    if (planned(&f, 0,
                "ranks:\n"
                "- {local: 1, command: [serve.py, a],"
                " env: [{name: PYTHON_EXEC, value: /opt/py}]}\n",
                "--local-rank-arg --nproc-per-node 2 train.py x")) {
        check_argv(&f, 0, "python -u train.py --local-rank=0 x");
        check_argv(&f, 1, "/opt/py -u serve.py --local-rank=1 a");
    }
    fixture_free(&f);
    refused(0, "ranks: [{local: 1, command: [sh]}]", "--local-rank-arg --nproc-per-node 2 train.py",
            ERR_USAGE, "sh is no Python script");
}

TEST(environments_of_single_ranks)
{
    struct fixture f;

    if (planned(&f, 0,
                "env: [{name: A, value: all}, {name: B, value: all}]\n"
                "ranks:\n"
                "- {local: 0-1, env: [{name: A, value: some}, {name: PATH, unset: true}]}\n"
                "- {local: 1, env: [{name: B, unset: true}, {name: OMP_NUM_THREADS, value: \"3\"},"
                " {name: RANK, value: \"9\"}]}\n",
                "--nproc-per-node 3 --threads budget x")) {
        check_env(&f, 0, "A", "some");
        check_env(&f, 0, "B", "all");
        check_env(&f, 0, "PATH", NULL);
        check_env(&f, 1, "A", "some");
        check_env(&f, 1, "B", NULL);
        check_env(&f, 1, "OMP_NUM_THREADS", "3");
        check_env(&f, 1, "RANK", "1");
        check_env(&f, 2, "A", "all");
        check_env(&f, 2, "PATH", "/bin");
        check_env(&f, 2, "OMP_NUM_THREADS", "2");
    }
    fixture_free(&f);
}

TEST(devices_of_single_ranks)
{
    struct fixture f;

    /* The others get what is left, in order. */
    if (planned(&f, 4, "ranks: [{local: 0, devices: \"3\"}]", "--nproc-per-node 4 x")) {
        tap_eq_int(f.plan.devices.mode, DEVICE_ISOLATED);
        check_devices(&f, 0, "3");
        check_devices(&f, 1, "0");
        check_devices(&f, 2, "1");
        check_devices(&f, 3, "2");
        check_env(&f, 3, "LOCAL_RANK", "0");
        check_env(&f, 3, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    }
    fixture_free(&f);
    if (planned(&f, 4, "ranks: [{local: 1, devices: \"0-1\"}]",
                "--nproc-per-node 3 --device-mode isolated-keep-rank x")) {
        check_devices(&f, 0, "2");
        check_devices(&f, 1, "0,1");
        check_devices(&f, 2, "3");
        check_env(&f, 2, "LOCAL_RANK", "2");
    }
    fixture_free(&f);
    /* A UUID stays one, and its number is taken. */
    if (planned(&f, 2, "ranks: [{local: 1, devices: GPU-00}]", "--nproc-per-node 2 x")) {
        check_devices(&f, 0, "1");
        check_devices(&f, 1, "GPU-00");
    }
    fixture_free(&f);
    if (planned(&f, 2, "ranks: [{local: \"0-1\", devices: \"1\"}]",
                "--nproc-per-node 3 --device-share x")) {
        check_devices(&f, 0, "1");
        check_devices(&f, 1, "1");
        check_devices(&f, 2, "0");
    }
    fixture_free(&f);
    /* Within --devices. */
    if (planned(&f, 4, "ranks: [{local: 1, devices: \"2\"}]",
                "--nproc-per-node 2 --devices 2,3 x")) {
        check_devices(&f, 0, "3");
        check_devices(&f, 1, "2");
    }
    fixture_free(&f);
}

TEST(devices_that_cannot_be_given)
{
    refused(4, "ranks: [{local: 0, devices: \"4\"}]", "--nproc-per-node 2 x", ERR_SPEC,
            "spec.yaml: ranks[0]=4: there is no device \"4\"");
    refused(4, "ranks: [{local: 0, devices: \"0\"}]", "--nproc-per-node 2 --devices 1,2 x",
            ERR_SPEC, "spec.yaml: ranks[0]=0: \"0\" is not among the devices of --devices");
    refused(4, "ranks: [{local: 0, devices: x}]", "--nproc-per-node 2 x", ERR_SPEC, "ranks[0]=x");
    refused(4, "ranks: [{local: 0-1, devices: \"1\"}]", "--nproc-per-node 2 x", ERR_SPEC,
            "\"1\" would be the device of several ranks");
    refused(4, "ranks: [{local: 0, devices: \"1\"}, {local: 1, devices: GPU-01}]",
            "--nproc-per-node 2 x", ERR_SPEC, "\"GPU-01\" would be the device of several ranks");
    refused(2, "ranks: [{local: 0, devices: \"0-1\"}]", "--nproc-per-node 2 x", ERR_SPEC,
            "local rank 1 has no device left");
    refused(0, "ranks: [{local: 0, devices: \"0\"}]", "--nproc-per-node 2 x", ERR_DEVICES,
            "spec.yaml: ranks[0] asks for devices");
    refused(2, "ranks: [{local: 0, devices: \"0\"}]", "--nproc-per-node 2 --device-mode shared x",
            ERR_SPEC, "which --device-mode=shared does not allow");
    refused(2, "ranks: [{local: 0, devices: \"0\"}]", "--nproc-per-node 2 --device-mode none x",
            ERR_SPEC, "which --device-mode=none does not allow");
    refused(2, "ranks: [{local: 0, env: [{name: CUDA_VISIBLE_DEVICES, value: \"1\"}]}]",
            "--nproc-per-node 2 x", ERR_SPEC, "is stated with devices:");
}

TEST(rows_about_the_same_or_about_nobody)
{
    refused(0, "ranks: [{local: 0-2, command: [a]}]", "--nproc-per-node 2 x", ERR_SPEC,
            "spec.yaml: ranks[0] is about local rank 2, but there are only 2 here, from 0");
    refused(2, "ranks: [{local: 1, devices: \"0\"}]", "--nproc-per-node 1 x", ERR_SPEC,
            "ranks[0] is about local rank 1, but there is only 1 here");
    refused(0, "ranks: [{local: 0-1, command: [a]}, {local: 1, command: [b]}]",
            "--nproc-per-node 2 x", ERR_SPEC, "spec.yaml: ranks[1]: another row states a command");
    refused(4, "ranks: [{local: 0, devices: \"0\"}, {local: 0-1, devices: \"1\"}]",
            "--nproc-per-node 2 x", ERR_SPEC,
            "spec.yaml: ranks[0] and spec.yaml: ranks[1] both state devices of local rank 0");
    refused(0,
            "ranks: [{local: 0-1, env: [{name: A, value: b}]},"
            " {local: 1, env: [{name: A, unset: true}]}]",
            "--nproc-per-node 2 x", ERR_SPEC, "spec.yaml: ranks[1]: env: another row states A");
}

static void check_cpus(const struct fixture *f, int local_rank, const char *want)
{
    const struct plan_place *place = &f->plan.places[local_rank];
    char room[64];
    struct buf list = BUF_OVER(room);

    cpuset_write(&place->cpus, &list);
    tap_eq_int(place->bound, want != NULL);
    tap_eq_str(room, want ? want : "");
    check_env(f, local_rank, "RANKINIT_THIS_CPUS", want);
}

/* The fixture's machine has CPUs 0-7. */
TEST(cpus_of_single_ranks)
{
    struct fixture f;

    if (planned(&f, 0, "ranks: [{local: 0, cpus: 0-4}, {local: 1-2, cpus: \"5\"}]",
                "--nproc-per-node 4 x")) {
        check_cpus(&f, 0, "0-4");
        check_cpus(&f, 1, "5");
        check_cpus(&f, 2, "5");
        check_cpus(&f, 3, NULL);
        check_env(&f, 0, "OMP_NUM_THREADS", "5");
        check_env(&f, 1, "OMP_NUM_THREADS", "1");
        check_env(&f, 3, "OMP_NUM_THREADS", "2");
        tap_ok(fixture_noticed(&f, "rank 0: CPUs 0-4; rank 1: CPUs 5; rank 2: CPUs 5"));
    }
    fixture_free(&f);
    /* The others share what is left. */
    if (planned(&f, 0, "ranks: [{local: 1, cpus: 2-5}]",
                "--nproc-per-node 3 --cpu-bind cores --threads 2 x")) {
        check_cpus(&f, 0, "0-1");
        check_cpus(&f, 1, "2-5");
        check_cpus(&f, 2, "6-7");
        check_env(&f, 1, "OMP_NUM_THREADS", "2");
    }
    fixture_free(&f);
    if (planned(&f, 0, "ranks: [{local: 0, cpus: 0-7}]", "--nproc-per-node 2 --cpu-bind cores x")) {
        check_cpus(&f, 0, "0-7");
        check_cpus(&f, 1, NULL);
        tap_ok(fixture_noticed(&f, "local rank 1 is not bound: ranks: gives all CPUs to others"));
    }
    fixture_free(&f);
    refused(0, "ranks: [{local: 0, cpus: 6-9}]", "--nproc-per-node 2 x", ERR_SPEC,
            "spec.yaml: ranks[0]: cpus: 6-9 are not all among the CPUs allowed here, 0-7");
    refused(0, "ranks: [{local: 0-1, cpus: 0}, {local: 1, cpus: 1}]", "--nproc-per-node 2 x",
            ERR_SPEC, "spec.yaml: ranks[1]: another row states cpus of local rank 1 too");
    refused(0, "ranks: [{local: 2, cpus: 0}]", "--nproc-per-node 2 x", ERR_SPEC,
            "spec.yaml: ranks[0] is about local rank 2");
}

/* A quota is no place: it bounds the threads of a rank that may run on many CPUs. */
TEST(threads_of_single_ranks)
{
    struct fixture f = fixture_new();

    f.facts.cpu_quota_us = 300000;
    f.facts.cpu_period_us = 100000;
    tap_eq_int(fixture_yaml(&f, "ranks: [{local: 0, cpus: 0-6}]"), 0);
    if (tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 x"), 0)) {
        check_env(&f, 0, "OMP_NUM_THREADS", "3");
        check_env(&f, 1, "OMP_NUM_THREADS", "1");
    }
    fixture_free(&f);
    f = fixture_new();
    f.argv0 = "torchrun";
    tap_eq_int(fixture_yaml(&f, "ranks: [{local: 0, cpus: 0-6}]"), 0);
    if (tap_eq_int(fixture_plan(&f, "", "--nproc-per-node 2 x"), 0))
        check_env(&f, 0, "OMP_NUM_THREADS", "1");
    fixture_free(&f);
}

TEST(init_mode_has_no_ranks)
{
    struct fixture f;

    if (planned(&f, 0, "ranks: [{local: 7, command: [a]}]", "sh")) {
        tap_ok(fixture_noticed(&f, "spec.yaml: ranks[0] and others have no effect in init mode"));
        check_argv(&f, 0, "sh");
    }
    fixture_free(&f);
}

TAP_MAIN()
