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
    tap_eq_str(message, "--standalone is for one node, but --nnodes says 2: state one of them");
    tap_eq_int(fixture_code("PET_NNODES=2 PET_NODE_RANK=1", "--standalone x.py", message), 78);
    tap_eq_str(message, "--standalone is for one node, but PET_NNODES says 2: state one of them");
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

/* The numbers are a promise: nodes of one job may run versions of their own. */
TEST(a_port_from_the_job_s_id)
{
    static const char nodes[] = "--nnodes 2 --node-rank 1 --master-addr m";
    struct fixture f = fixture_new();
    char line[256];

    snprintf(line, sizeof(line), "%s --master-port from-job-id --rdzv-id llama-42 x", nodes);
    check_master("", line, "m:29039");
    check_master("PET_RDZV_ID=llama-42", "--master-port from-job-id x.py", "127.0.0.1:29039");
    snprintf(line, sizeof(line), "%s --master-port from-job-id --rdzv-id llama-43 x", nodes);
    check_master("", line, "m:25120");
    snprintf(line, sizeof(line), "%s --master-port from-job-id x", nodes);
    check_master("SLURM_JOB_ID=7", line, "m:24706");
    check_master("SLURM_JOB_ID=7", "--rdzv-endpoint h --master-port from-job-id x", "h:24706");
    check_master("", line, "!78 --master-port=from-job-id, but the job has no id: state --rdzv-id");
    for (int i = 0; i < 3000; i++) {
        fixture_again(&f);
        snprintf(line, sizeof(line), "--master-port from-job-id --rdzv-id job-%d x", i);
        tap_eq_int(fixture_plan(&f, "", line), 0);
        if (f.plan.job.master_port < 23500 || f.plan.job.master_port >= 29400)
            tap_fail(line);
    }
    fixture_free(&f);
}

TEST(a_port_that_is_not_used_is_a_notice)
{
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", "--rdzv-endpoint h:1 --master-port 2 x"), 0);
    tap_ok(fixture_noticed(&f, "--master-port=2 is not used: --rdzv-endpoint=h:1 says where"));
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "", "--rdzv-endpoint h:2 --master-port 2 x"), 0);
    tap_ok(!fixture_noticed(&f, "is not used"));
    fixture_free(&f);
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

TEST(a_stated_node_rank_beside_another_index_is_noted)
{
    struct fixture f = fixture_new();

    tap_eq_int(
        fixture_plan(&f, "JOB_COMPLETION_INDEX=1", "--nnodes 2 --node-rank 0 --master-addr m x"),
        0);
    tap_eq_int(f.plan.job.node_rank, 0);
    tap_ok(fixture_noticed(&f, "--node-rank says node 0, but JOB_COMPLETION_INDEX=1"));
    fixture_again(&f);
    tap_eq_int(
        fixture_plan(&f, "JOB_COMPLETION_INDEX=1", "--nnodes 2 --node-rank 1 --master-addr m x"),
        0);
    tap_ok(!fixture_noticed(&f, "JOB_COMPLETION_INDEX"));
    fixture_free(&f);
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

/* One node as a platform writes it: env and line get "VAR=VALUE " and "--flag N ". */
struct draw {
    int nnodes, nproc;
    int node, local; /* local: which of several processes on the node, where each is one rank */
    int main_node;
    struct buf *env, *line;
};

static void by_flags(const struct draw *d)
{
    buf_addf(d->line, "--nnodes %d --node-rank %d --master-addr m --nproc-per-node %d ", d->nnodes,
             d->node, d->nproc);
}

static void by_pytorchjob(const struct draw *d)
{
    buf_addf(d->env,
             "MASTER_ADDR=m PET_MASTER_ADDR=m PET_NNODES=%d PET_NODE_RANK=%d RANK=%d WORLD_SIZE=%d "
             "PET_NPROC_PER_NODE=%d ",
             d->nnodes, d->node, d->node, d->nnodes * d->nproc, d->nproc);
}

static void by_pytorchjob_auto(const struct draw *d)
{
    buf_addf(d->env,
             "MASTER_ADDR=m PET_NNODES=%d PET_NODE_RANK=%d RANK=%d WORLD_SIZE=%d "
             "PET_NPROC_PER_NODE=auto ",
             d->nnodes, d->node, d->node, d->nnodes);
}

/* Up to 1.6: the host's name is that of the pod. */
static void by_pods(const struct draw *d)
{
    buf_addf(d->env, "MASTER_ADDR=job-master-0 RANK=%d WORLD_SIZE=%d ", d->node, d->nnodes);
}

static void by_elastic(const struct draw *d)
{
    buf_addf(d->env, "PET_RDZV_ENDPOINT=job-worker-0:1 PET_NNODES=%d:%d PET_N_PROC_PER_NODE=%d ",
             d->nnodes, d->nnodes, d->nproc);
}

static void by_trainjob(const struct draw *d)
{
    buf_addf(d->env,
             "PET_NNODES=%d PET_NODE_RANK=%d JOB_COMPLETION_INDEX=%d PET_MASTER_ADDR=m "
             "PET_NPROC_PER_NODE=%d ",
             d->nnodes, d->node, d->node, d->nproc);
}

static void by_index(const struct draw *d)
{
    buf_addf(d->env, "JOB_COMPLETION_INDEX=%d MASTER_ADDR=m ", d->node);
    buf_addf(d->line, "--nnodes %d --nproc-per-node %d ", d->nnodes, d->nproc);
}

/* As many Jobs as divide the nodes: 2, else 1. */
static void by_jobset(const struct draw *d)
{
    int jobs = d->nnodes % 2 == 0 ? 2 : 1, pods = d->nnodes / jobs;

    buf_addf(d->env,
             "JOBSET_JOB_GLOBAL_INDEX=%d JOBSET_GLOBAL_REPLICAS=%d JOB_COMPLETION_INDEX=%d "
             "MASTER_ADDR=m ",
             d->node / pods, jobs, d->node % pods);
    buf_addf(d->line, "--nnodes %d ", d->nnodes);
}

static void by_lws(const struct draw *d)
{
    buf_addf(d->env, "LWS_GROUP_SIZE=%d LWS_WORKER_INDEX=%d LWS_LEADER_ADDRESS=m ", d->nnodes,
             d->node);
}

static void by_volcano(const struct draw *d)
{
    buf_addf(d->env, "VC_TASK_INDEX=%d RANK=%d WORLD_SIZE=%d MASTER_ADDR=m ",
             d->node > 0 ? d->node - 1 : 0, d->node, d->nnodes);
}

static void by_volcano_svc(const struct draw *d)
{
    buf_addf(d->env, "VC_TASK_INDEX=%d VC_WORKER_NUM=%d VC_WORKER_HOSTS=a,b,c ", d->node,
             d->nnodes);
}

static void by_ordinal(const struct draw *d)
{
    buf_addf(d->line, "--nnodes %d --node-rank from-hostname --master-addr m ", d->nnodes);
}

static void by_slurm(const struct draw *d)
{
    buf_addf(d->env,
             "SLURM_STEP_ID=0 SLURM_PROCID=%d SLURM_NODEID=%d SLURM_LOCALID=0 SLURM_NTASKS=%d "
             "SLURM_NNODES=%d SLURM_NODELIST=n[1-99] ",
             d->node, d->node, d->nnodes, d->nnodes);
}

static void by_slurm_tasks(const struct draw *d)
{
    buf_addf(d->env,
             "SLURM_STEP_ID=0 SLURM_PROCID=%d SLURM_NODEID=%d SLURM_LOCALID=%d SLURM_NTASKS=%d "
             "SLURM_NNODES=%d SLURM_NODELIST=n[1-99] ",
             d->node * d->nproc + d->local, d->node, d->local, d->nnodes * d->nproc, d->nnodes);
}

static void by_mpi(const struct draw *d)
{
    buf_addf(d->env,
             "OMPI_COMM_WORLD_RANK=%d OMPI_COMM_WORLD_SIZE=%d OMPI_COMM_WORLD_LOCAL_RANK=%d "
             "OMPI_COMM_WORLD_LOCAL_SIZE=%d MASTER_ADDR=m ",
             d->node * d->nproc + d->local, d->nnodes * d->nproc, d->local, d->nproc);
}

static void by_aws(const struct draw *d)
{
    buf_addf(d->env,
             "AWS_BATCH_JOB_NUM_NODES=%d AWS_BATCH_JOB_NODE_INDEX=%d "
             "AWS_BATCH_JOB_MAIN_NODE_INDEX=%d ",
             d->nnodes, d->node, d->main_node);
    if (d->node != d->main_node)
        buf_adds(d->env, "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.1 ");
}

static void by_sagemaker(const struct draw *d)
{
    buf_addf(d->env, "SM_CURRENT_HOST=algo-%d SM_HOSTS=[", d->node);
    for (int i = 0; i < d->nnodes; i++)
        buf_addf(d->env, "%s\"algo-%d\"", i > 0 ? "," : "", i);
    buf_adds(d->env, "] ");
}

static void by_torchx(const struct draw *d)
{
    buf_addf(d->env, "TORCHX_REPLICA_IDX=%d TORCHX_RANK0_HOST=m ", d->node);
    buf_addf(d->line, "--nnodes %d ", d->nnodes);
}

static const struct {
    void (*write)(const struct draw *draw);
    bool tasks; /* a process for each rank */
} writers[] = {
    {by_flags, false},   {by_pytorchjob, false},  {by_pytorchjob_auto, false},
    {by_pods, false},    {by_elastic, false},     {by_trainjob, false},
    {by_index, false},   {by_jobset, false},      {by_lws, false},
    {by_volcano, false}, {by_volcano_svc, false}, {by_ordinal, false},
    {by_slurm, false},   {by_slurm_tasks, true},  {by_mpi, true},
    {by_aws, false},     {by_sagemaker, false},   {by_torchx, false},
};

#define WRITERS (sizeof(writers) / sizeof(writers[0]))

/* The host names that some of them go by. */
static void name_host(size_t writer, int node, char host[static 256])
{
    if (writers[writer].write == by_pods && node == 0)
        strcpy(host, "job-master-0");
    else if (writers[writer].write == by_pods)
        snprintf(host, 256, "job-worker-%d", node - 1);
    else
        snprintf(host, 256, "job-worker-%d", node);
}

/* Plans one process of the job and counts its ranks; false if that is not as drawn. */
static bool count_ranks(size_t writer, struct draw d, unsigned char *seen)
{
    struct fixture f = fixture_new();
    char env_room[1024], line_room[256];
    struct buf env = BUF_OVER(env_room), line = BUF_OVER(line_room);
    const struct plan_job *job = &f.plan.job;
    bool right;

    d.env = &env;
    d.line = &line;
    writers[writer].write(&d);
    if (env.len > 0)
        env_room[env.len - 1] = '\0';
    buf_adds(&line, "train.py");
    fixture_gpus(&f, d.nproc);
    name_host(writer, d.node, f.facts.hostname);
    right = fixture_plan(&f, env_room, line_room) == 0 && job->world_size == d.nnodes * d.nproc &&
            job->nproc == (job->task.one ? 1 : d.nproc);
    for (int i = 0; right && i < job->nproc; i++)
        seen[job->first_rank + i]++;
    if (!right)
        printf("# %s | %s | %s\n", env_room, line_room, f.err.message);
    fixture_free(&f);
    return right;
}

static bool count_node(size_t writer, const struct draw *draw, unsigned char *seen)
{
    struct draw d = *draw;
    int processes = writers[writer].tasks ? d.nproc : 1;

    for (d.local = 0; d.local < processes; d.local++) {
        if (!count_ranks(writer, d, seen))
            return false;
    }
    return true;
}

TEST(every_rank_is_on_one_node_exactly)
{
    unsigned state = 20240817;

    for (int round = 0; round < 500; round++) {
        size_t writer = (size_t)round % WRITERS;
        struct draw d = {.nnodes = 1 + (int)next(&state, 12), .nproc = 1 + (int)next(&state, 16)};
        unsigned char seen[12 * 16] = {0};

        d.main_node = (int)next(&state, (unsigned)d.nnodes);
        for (d.node = 0; d.node < d.nnodes; d.node++) {
            if (!tap_ok(count_node(writer, &d, seen)))
                return;
        }
        for (int rank = 0; rank < d.nnodes * d.nproc; rank++) {
            if (!tap_eq_int(seen[rank], 1))
                return;
        }
    }
}

TAP_MAIN()
