/* How many ranks, which of them are ours, where the master is: plan_shape.c and plan_master.c. */
#include "fixture.h"
#include "model/plan.h"

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
    tap_eq_int(f.plan.notices.count, 1);
    tap_ok(fixture_noticed(&f, "devices shared: rank 0: device 0, GPU-008f1c-aaaa, 0000:00:00.0; "
                               "rank 1: device 1, GPU-018f1c-aaaa"));
    fixture_free(&f);
}

static int nproc_of(struct fixture *f, const char *env, const char *line)
{
    int rc = fixture_plan(f, env, line), nproc = f->plan.job.nproc;

    if (rc < 0)
        nproc = -exitcode_of_kind(f->err.kind);
    fixture_again(f);
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
    fixture_again(&f);
    f.facts.nvidia_driver = true;
    tap_eq_int(fixture_plan(&f, "", line), -1);
    tap_eq_int(f.err.kind, ERR_DEVICES);
    tap_has_str(f.err.message, "there is no /dev/nvidia*");
    fixture_again(&f);
    fixture_gpus(&f, 1);
    tap_eq_int(fixture_plan(&f, "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b", line), -1);
    tap_eq_int(f.err.kind, ERR_DEVICES);
    fixture_again(&f);
    f.facts.nvidia_driver = true;
    tap_eq_int(fixture_plan(&f, "CUDA_VISIBLE_DEVICES=", line), 0);
    fixture_again(&f);
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
    fixture_again(&f);
    strcpy(f.facts.hostname, "job-0");
    tap_eq_int(fixture_plan(&f, "", "--nnodes 2 --node-rank 0 --master-addr job-0.svc x"), 0);
    tap_eq_int(f.plan.notices.count, 2); /* those of the count alone */
    fixture_again(&f);
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
