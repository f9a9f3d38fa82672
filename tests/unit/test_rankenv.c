#include "model/rankenv.h"

#include "fixture.h"

static const struct rankenv_late late = {.master_port = 29511, .error_file = "/tmp/e/0/error.json"};

/* Plans, and builds the environment of a local rank; "" where the plan fails. */
static struct strvec built(struct fixture *f, const char *env, const char *line, int local_rank)
{
    struct strvec ret = STRVEC_INIT;

    if (tap_eq_int(fixture_plan(f, env, line), 0))
        rankenv_build(&f->plan, local_rank, &late, &ret);
    else
        printf("# %s\n", f->err.message);
    return ret;
}

static const char *get(const struct strvec *env, const char *name)
{
    return env_get(strvec_texts(env), name);
}

TEST(a_rank_gets_the_whole_contract)
{
    static const char *const want[][2] = {
        {"RANK", "3"},
        {"LOCAL_RANK", "1"},
        {"WORLD_SIZE", "4"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"GROUP_RANK", "1"},
        {"GROUP_WORLD_SIZE", "2"},
        {"ROLE_RANK", "3"},
        {"ROLE_NAME", "trainer"},
        {"ROLE_WORLD_SIZE", "4"},
        {"MASTER_ADDR", "m"},
        {"MASTER_PORT", "29511"},
        {"TORCHELASTIC_RESTART_COUNT", "0"},
        {"TORCHELASTIC_MAX_RESTARTS", "0"},
        {"TORCHELASTIC_RUN_ID", "job"},
        {"TORCHELASTIC_ERROR_FILE", "/tmp/e/0/error.json"},
        {"TORCHELASTIC_USE_AGENT_STORE", "False"},
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
        {"NODE_RANK", "1"},
        {"LOCAL_SIZE", "2"},
        {"CROSS_RANK", "1"},
        {"CROSS_SIZE", "2"},
        {"PYTHONUNBUFFERED", "1"},
        {"PYTHONFAULTHANDLER", "1"},
        {"OMP_NUM_THREADS", "4"},
        {"RANKINIT_THIS_RANK", "3"},
        {"RANKINIT_THIS_LOCAL_RANK", "1"},
        {"RANKINIT_THIS_NODE_RANK", "1"},
        {"RANKINIT_THIS_DEVICES", ""},
        {"RANKINIT_THIS_DEVICE_MODE", "shared"},
        {"RANKINIT_THIS_JOB_ID", "job"},
        {"RANKINIT_THIS_ATTEMPT", "0"},
        {"HOME", "/root"},
    };
    struct fixture f = fixture_new();
    struct strvec env = built(&f, "HOME=/root RANK=9",
                              "--nnodes 2 --node-rank 1 --nproc-per-node 2 --master-addr m "
                              "--rdzv-id job --role trainer train.py",
                              1);

    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        tap_eq_str(get(&env, want[i][0]), want[i][1]);
    tap_eq_int(env.count, sizeof(want) / sizeof(want[0]));
    strvec_release(&env);
    fixture_free(&f);
}

TEST(what_the_user_set_stays)
{
    struct fixture f = fixture_new();
    struct strvec env = built(&f,
                              "TORCH_NCCL_ASYNC_ERROR_HANDLING=3 PYTHONUNBUFFERED=0 "
                              "PYTHONFAULTHANDLER= OMP_NUM_THREADS=16",
                              "--nproc-per-node 2 x", 0);

    tap_eq_str(get(&env, "TORCH_NCCL_ASYNC_ERROR_HANDLING"), "3");
    tap_eq_str(get(&env, "PYTHONUNBUFFERED"), "0");
    tap_eq_str(get(&env, "PYTHONFAULTHANDLER"), "");
    tap_eq_str(get(&env, "OMP_NUM_THREADS"), "16");
    strvec_release(&env);
    fixture_free(&f);

    f = fixture_new();
    env = built(&f, "OMP_NUM_THREADS=16", "--nproc-per-node 2 --threads 3 x", 0);
    tap_eq_str(get(&env, "OMP_NUM_THREADS"), "3");
    strvec_release(&env);
    fixture_free(&f);
}

TEST(what_other_launchers_left_is_scrubbed)
{
    static const char *const gone[] = {
        "LOCAL_RANK",
        "TORCHELASTIC_SIGNALS_TO_HANDLE",
        "PET_NNODES",
        "RANKINIT_GRACE",
        "RANKINIT_THIS_READY_FILE",
        "OMPI_COMM_WORLD_RANK",
        "PMIX_SERVER_URI41",
        "PMIX_NAMESPACE",
        "PMI_FD",
        "MPI_LOCALRANKID",
        "MV2_COMM_WORLD_SIZE",
        "PALS_RANKID",
        "OMPI_UNIVERSE_SIZE",
    };
    static const char *const kept[] = {
        "OMPI_MCA_btl", "PMIX_MCA_x", "SLURM_PROCID", "PMI_MMAP_SYNC_WAIT_TIME", "RANK_FILE",
        "MY_RANK",      "MASTER_KEY", "NCCL_DEBUG",   "CUDA_VISIBLE_DEVICES",    "TORCHELASTIC",
        "ROLE",         "PETS",       "I_MPI_PIN",    "JOB_COMPLETION_INDEX",    "LD_PRELOAD",
    };
    struct strvec env = STRVEC_INIT;

    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        strvec_pushf(&env, "%s=1", gone[i]);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        strvec_pushf(&env, "%s=1", kept[i]);
    rankenv_scrub(&env);
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        tap_eq_str(get(&env, gone[i]), NULL);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        tap_eq_str(get(&env, kept[i]), "1");
    strvec_release(&env);
    rankenv_scrub(&env);
    tap_eq_int(env.count, 0);
}

TEST(keep_env_keeps_what_is_not_ours_to_set)
{
    struct fixture f = fixture_new();
    struct strvec env = built(&f,
                              "PET_MAX_RESTARTS=3 PMI_RANK=7 LOCAL_RANK=5 TORCHELASTIC_X=1 "
                              "RANKINIT_THIS_READY_FILE=/r RANKINIT_GRACE=3s",
                              "--keep-env --nnodes 1 --nproc-per-node 2 x", 1);

    tap_eq_str(get(&env, "PET_MAX_RESTARTS"), "3");
    tap_eq_str(get(&env, "PMI_RANK"), "7");
    tap_eq_str(get(&env, "TORCHELASTIC_X"), "1");
    tap_eq_str(get(&env, "RANKINIT_GRACE"), "3s");
    tap_eq_str(get(&env, "LOCAL_RANK"), "1");
    tap_eq_str(get(&env, "RANKINIT_THIS_READY_FILE"), NULL);
    strvec_release(&env);
    fixture_free(&f);
}

TEST(late_values)
{
    const struct rankenv_late second = {.master_port = 1, .attempt = 2, .ready_file = "/r"};
    struct fixture f = fixture_new();
    struct strvec env = STRVEC_INIT;

    fixture_plan(&f, "TORCHELASTIC_ERROR_FILE=/old", "--keep-env --nproc-per-node 2 x");
    rankenv_build(&f.plan, 0, &second, &env);
    tap_eq_str(get(&env, "MASTER_PORT"), "1");
    tap_eq_str(get(&env, "TORCHELASTIC_RESTART_COUNT"), "2");
    tap_eq_str(get(&env, "RANKINIT_THIS_ATTEMPT"), "2");
    tap_eq_str(get(&env, "TORCHELASTIC_ERROR_FILE"), NULL);
    tap_eq_str(get(&env, "RANKINIT_THIS_READY_FILE"), "/r");
    strvec_release(&env);
    fixture_free(&f);
}

/* "LOCAL_RANK THIS_LOCAL_RANK CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER" of the last of two ranks. */
static void check_devices(const char *inherited, const char *line, const char *want)
{
    struct fixture f = fixture_new();
    struct strvec env;
    char got[256];
    struct buf out = BUF_OVER(got);
    static const char *const names[] = {
        "LOCAL_RANK",        "RANKINIT_THIS_LOCAL_RANK", "CUDA_VISIBLE_DEVICES",
        "CUDA_DEVICE_ORDER", "RANKINIT_THIS_DEVICES",    "RANKINIT_THIS_DEVICE_MODE"};

    fixture_gpus(&f, 4);
    env = built(&f, inherited, line, 1);
    tap_eq_str(get(&env, "LOCAL_WORLD_SIZE"), "2");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        buf_addf(&out, i > 0 ? " %s" : "%s", get(&env, names[i]) ? get(&env, names[i]) : "-");
    if (!tap_eq_str(got, want))
        printf("# with: %s | %s\n", inherited, line);
    strvec_release(&env);
    fixture_free(&f);
}

TEST(devices_of_a_rank)
{
    check_devices("", "--nproc-per-node 2 x", "1 1 - - 0,1,2,3 shared");
    check_devices("CUDA_VISIBLE_DEVICES=3,2", "--nproc-per-node 2 x", "1 1 3,2 - 3,2 shared");
    check_devices("", "--nproc-per-node 2 --devices 2,3 x", "1 1 2,3 PCI_BUS_ID 2,3 shared");
    check_devices("", "--nproc-per-node 2 --virtual-local-rank x", "0 1 1 PCI_BUS_ID 1 isolated");
    check_devices("", "--nproc-per-node 2 --device-mode isolated-keep-rank x",
                  "1 1 1 PCI_BUS_ID 1 isolated-keep-rank");
    check_devices("CUDA_VISIBLE_DEVICES=MIG-1,MIG-2", "--nproc-per-node 2 x",
                  "0 1 MIG-2 - MIG-2 isolated");
    check_devices("", "--nproc-per-node 2 --device-mode none x", "1 1  -  none");
    check_devices("CUDA_VISIBLE_DEVICES=-1", "--nproc-per-node 2 x", "1 1 -1 -  shared");
}

#define TASK                                                                                   \
    "SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_NNODES=2 SLURM_TASKS_PER_NODE=2(x2) SLURM_PROCID=3 " \
    "SLURM_NODEID=1 SLURM_LOCALID=1 SLURM_NODELIST=a,b "

TEST(one_of_many_processes_has_its_gaps_filled)
{
    static const char *const want[][2] = {
        {"RANK", "3"},
        {"LOCAL_RANK", "1"},
        {"WORLD_SIZE", "4"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"GROUP_RANK", "1"},
        {"GROUP_WORLD_SIZE", "2"},
        {"ROLE_RANK", "3"},
        {"CROSS_SIZE", "2"},
        {"MASTER_ADDR", "a"},
        {"MASTER_PORT", "29511"},
        {"TORCHELASTIC_RUN_ID", NULL},
        {"OMP_NUM_THREADS", "4"},
        {"SLURM_PROCID", "3"},
        {"RANKINIT_THIS_RANK", "3"},
        {"RANKINIT_THIS_LOCAL_RANK", "1"},
        {"RANKINIT_THIS_NODE_RANK", "1"},
    };
    struct fixture f = fixture_new();
    struct strvec env = built(&f, TASK, "x.py", 0);

    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        tap_eq_str(get(&env, want[i][0]), want[i][1]);
    strvec_release(&env);
    fixture_free(&f);
}

TEST(one_of_many_processes_keeps_what_is_there)
{
    static const char *const there[][2] = {
        {"RANK", "3"},
        {"WORLD_SIZE", "4"},
        {"LOCAL_RANK", "7"},
        {"NODE_RANK", "8"},
        {"MASTER_ADDR", "m"},
        {"MASTER_PORT", "29511"},
        {"PMI_RANK", "3"},
        {"PMI_FD", "5"},
        {"TORCHELASTIC_ERROR_FILE", "/e"},
        {"OMP_NUM_THREADS", "9"},
        {"RANKINIT_GRACE", "3s"},
    };
    struct fixture f = fixture_new();
    char room[1024];
    struct buf text = BUF_OVER(room);
    struct strvec env;

    buf_adds(&text, TASK "RANKINIT_THIS_READY_FILE=/r");
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
        buf_addf(&text, " %s=%s", there[i][0], there[i][1]);
    env = built(&f, room, "x.py", 0);
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
        tap_eq_str(get(&env, there[i][0]), there[i][1]);
    strvec_release(&env);
    fixture_free(&f);
}

TEST(what_one_of_many_processes_cannot_know_stays_unset)
{
    static const char *const unset[] = {"LOCAL_RANK",  "LOCAL_WORLD_SIZE", "GROUP_RANK",
                                        "MASTER_ADDR", "MASTER_PORT",      "TORCHELASTIC_RUN_ID"};
    struct fixture f = fixture_new();
    struct strvec env = built(&f, "PMI_RANK=1 PMI_SIZE=2", "x.py", 0);

    tap_eq_str(get(&env, "RANK"), "1");
    tap_eq_str(get(&env, "RANKINIT_THIS_NODE_RANK"), NULL);
    tap_ok(fixture_noticed(&f, "nothing says which of the processes on its node rank 1 is"));
    for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
        tap_eq_str(get(&env, unset[i]), NULL);
    tap_ok(fixture_noticed(&f, "nothing says where rank 0 of these 2 processes listens"));
    strvec_release(&env);
    fixture_free(&f);
}

TEST(devices_of_one_of_many_processes)
{
    struct fixture f = fixture_new();

    fixture_gpus(&f, 4);
    tap_eq_int(fixture_plan(&f, TASK, "x.py"), 0);
    tap_eq_int(f.plan.job.nproc, 1);
    tap_eq_int(f.plan.notices.count, 1);
    tap_ok(fixture_noticed(&f, "devices shared: rank 3: device 1"));
    fixture_again(&f);
    fixture_gpus(&f, 1);
    tap_eq_int(fixture_plan(&f, TASK, "x.py"), 0);
    tap_ok(fixture_noticed(&f, "one device is visible here, and LOCAL_RANK is 1"));
    fixture_again(&f);
    fixture_gpus(&f, 1);
    tap_eq_int(fixture_plan(&f, TASK, "--device-mode isolated x.py"), 0);
    tap_eq_int(f.plan.notices.count, 1);
    tap_ok(fixture_noticed(&f, "devices isolated: rank 3: device 0"));
    fixture_again(&f);
    fixture_gpus(&f, 4);
    tap_eq_int(fixture_plan(&f, TASK, "--device-mode isolated x.py"), -1);
    tap_has_str(f.err.message, "4 devices are visible");
    fixture_free(&f);
}

TEST(init_mode_gets_what_the_plan_has)
{
    struct fixture f = fixture_new();
    struct strvec env = built(&f, "RANK=7 A=b RANKINIT_GRACE=3s", "bash", 0);

    tap_eq_str(fixture_join(&env), "RANK=7 A=b RANKINIT_GRACE=3s");
    strvec_release(&env);
    fixture_free(&f);
}

TEST(what_is_every_rank_s_own_is_not_for_single_ranks_to_say)
{
    struct fixture f = fixture_new();
    struct strvec env;

    tap_eq_int(fixture_yaml(&f, "ranks: [{local: 1, env: [{name: WORLD_SIZE, value: 7},"
                                " {name: A, value: b}, {name: LOCAL_RANK, unset: true}]}]"),
               0);
    env = built(&f, "", "--nproc-per-node 2 x", 1);
    tap_eq_str(get(&env, "WORLD_SIZE"), "2");
    tap_eq_str(get(&env, "LOCAL_RANK"), "1");
    tap_ok(fixture_noticed(&f, "spec.yaml: ranks[0]: WORLD_SIZE has no effect"));
    tap_ok(fixture_noticed(&f, "spec.yaml: ranks[0]: LOCAL_RANK has no effect"));
    tap_ok(!fixture_noticed(&f, "spec.yaml: ranks[0]: A"));
    strvec_release(&env);
    fixture_free(&f);
}

TEST(a_spec_s_environment_beats_the_inherited_one)
{
    struct fixture f = fixture_new();
    struct strvec env;

    strvec_push(&f.spec.env_set, "NCCL_DEBUG=WARN");
    strvec_push(&f.spec.env_set, "RANK=99");
    strvec_push(&f.spec.env_set, "PYTHONFAULTHANDLER=0");
    strvec_push(&f.spec.env_unset, "LD_PRELOAD");
    env = built(&f, "NCCL_DEBUG=INFO LD_PRELOAD=/x.so", "--nproc-per-node 2 x", 1);
    tap_eq_str(get(&env, "NCCL_DEBUG"), "WARN");
    tap_eq_str(get(&env, "LD_PRELOAD"), NULL);
    tap_eq_str(get(&env, "RANK"), "1");
    tap_ok(fixture_noticed(&f, "spec env: RANK has no effect"));
    tap_ok(!fixture_noticed(&f, "spec env: NCCL_DEBUG"));
    tap_eq_str(get(&env, "PYTHONFAULTHANDLER"), "0");
    strvec_release(&env);
    fixture_free(&f);
}

TEST(argument_lists)
{
    struct fixture f = fixture_new();
    struct strvec argv = STRVEC_INIT;

    fixture_plan(&f, "", "--local-rank-arg --nproc-per-node 4 -m mod --lr 1");
    rankenv_argv(&f.plan, 3, &argv);
    tap_eq_str(fixture_join(&argv), "python -u -m mod --local-rank=3 --lr 1");
    strvec_release(&argv);
    fixture_free(&f);
    f = fixture_new();
    fixture_plan(&f, "", "--nproc-per-node 4 sh -c true");
    rankenv_argv(&f.plan, 3, &argv);
    tap_eq_str(fixture_join(&argv), "sh -c true");
    strvec_release(&argv);
    fixture_free(&f);
}

static void check_words(const char *line, int local_rank, const char *want)
{
    struct fixture f = fixture_new();
    struct strvec argv = STRVEC_INIT;

    tap_eq_int(fixture_plan(&f, "", line), 0);
    rankenv_argv(&f.plan, local_rank, &argv);
    tap_eq_str(fixture_join(&argv), want);
    strvec_release(&argv);
    fixture_free(&f);
}

TEST(the_macro_local_rank)
{
    check_words("--nproc-per-node 12 train.py --cache=/c/${local_rank}/${local_rank} $local_rank",
                11, "python -u train.py --cache=/c/11/11 $local_rank");
    check_words("--nproc-per-node 2 -m pkg.${local_rank}", 1, "python -u -m pkg.1");
    check_words("--nproc-per-node 2 --no-python sh ${local_rank} ${rank} ${local_rank", 1,
                "sh 1 ${rank} ${local_rank");
    check_words("--nproc-per-node 2 --device-mode none --local-rank-arg x.py ${local_rank}", 1,
                "python -u x.py --local-rank=1 1");
    check_words("sh ${local_rank}", 0, "sh ${local_rank}");
}

TAP_MAIN()
