/* Each row of the table of platforms: what it makes of its variables, and what it refuses. */
#include "fixture.h"

/*
 * "nnodes/node_rank xNPROC MASTER:PORT PLATFORM" of a plan, for one of many processes followed by
 * " task LOCAL_RANK/LOCAL_SIZE NODE/NODES", or "!CODE message".
 */
static const char *planned(struct fixture *f, const char *env, const char *line)
{
    static char room[ERR_MESSAGE_MAX + 16];
    struct buf out = BUF_OVER(room);
    const struct plan_job *job = &f->plan.job;

    if (fixture_plan(f, env, line) < 0) {
        buf_addf(&out, "!%d %s", exitcode_of_kind(f->err.kind), f->err.message);
        return room;
    }
    buf_addf(&out, "%d/%d x%d %s:%d %s", job->nnodes, job->node_rank, job->nproc,
             job->master_addr ? job->master_addr : "-", job->master_port, job->platform);
    if (job->task.one)
        buf_addf(&out, " task %d/%d %d/%d", job->task.local_rank, job->task.local_size,
                 job->task.node, job->task.nodes);
    return room;
}

/* On a machine with four GPUs, under a host name. */
static void check_on(const char *host, const char *env, const char *line, const char *want)
{
    struct fixture f = fixture_new();
    const char *got;

    fixture_gpus(&f, 4);
    snprintf(f.facts.hostname, sizeof(f.facts.hostname), "%s", host);
    got = planned(&f, env, line);
    if (want[0] == '!' ? !tap_has_str(got, want) : !tap_eq_str(got, want))
        printf("# with: %s | %s\n", env, line);
    fixture_free(&f);
}

static void check(const char *env, const char *line, const char *want)
{
    check_on("host", env, line, want);
}

TEST(leader_worker_set)
{
    static const char env[] = "LWS_GROUP_SIZE=3 LWS_WORKER_INDEX=2 LWS_LEADER_ADDRESS=l-0.l.ns";

    check(env, "x.py", "3/2 x4 l-0.l.ns:29500 LeaderWorkerSet");
    check(env, "--nproc-per-node 2 --master-port 5 x.py", "3/2 x2 l-0.l.ns:5 LeaderWorkerSet");
    check(env, "--nnodes 3 x.py", "3/2 x4 l-0.l.ns:29500 LeaderWorkerSet");
    check(env, "--nnodes 1 x.py", "1/0 x4 127.0.0.1:0 none");
    check(env, "--standalone x.py", "1/0 x4 127.0.0.1:0 none");
    check("LWS_GROUP_SIZE=1 LWS_WORKER_INDEX=0 LWS_LEADER_ADDRESS=l", "x.py",
          "1/0 x4 l:0 LeaderWorkerSet");
    check("LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=2 LWS_LEADER_ADDRESS=l", "x.py",
          "!78 LWS_WORKER_INDEX says node 2, but LWS_GROUP_SIZE is 2");
    check("LWS_GROUP_SIZE=2 LWS_LEADER_ADDRESS=l", "x.py",
          "!78 LWS_GROUP_SIZE says 2 nodes, but nothing says which one this is");
    check("LWS_GROUP_SIZE=two LWS_WORKER_INDEX=0", "x.py", "!78 LWS_GROUP_SIZE: \"two\" is not");
    check("MASTER_ADDR=m LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=l", "x.py",
          "2/1 x4 m:29500 LeaderWorkerSet");
    check("PET_NPROC_PER_NODE=2 LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=l", "x.py",
          "2/1 x2 l:29500 PET_*");
    check("RANK=0 WORLD_SIZE=5 LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=0 LWS_LEADER_ADDRESS=l", "x.py",
          "!78 WORLD_SIZE=5 is neither 2 nodes (LWS_GROUP_SIZE) nor 2 x 4 ranks");
}

TEST(aws_batch)
{
#define AWS "AWS_BATCH_JOB_NUM_NODES=3 AWS_BATCH_JOB_NODE_INDEX="
#define IP  " AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.5"

    check(AWS "0 AWS_BATCH_JOB_MAIN_NODE_INDEX=0", "x.py", "3/0 x4 127.0.0.1:29500 AWS Batch");
    check(AWS "2 AWS_BATCH_JOB_MAIN_NODE_INDEX=0" IP, "x.py", "3/2 x4 10.0.0.5:29500 AWS Batch");
    check(AWS "2 AWS_BATCH_JOB_MAIN_NODE_INDEX=2", "x.py", "3/0 x4 127.0.0.1:29500 AWS Batch");
    check(AWS "0 AWS_BATCH_JOB_MAIN_NODE_INDEX=1" IP, "x.py", "3/1 x4 10.0.0.5:29500 AWS Batch");
    check(AWS "2 AWS_BATCH_JOB_MAIN_NODE_INDEX=1" IP, "x.py", "3/2 x4 10.0.0.5:29500 AWS Batch");
    check(AWS "1 AWS_BATCH_JOB_MAIN_NODE_INDEX=3" IP, "x.py",
          "!78 AWS_BATCH_JOB_MAIN_NODE_INDEX=3 is no node from 0 to 2");
    check(AWS "1", "x.py", "!78 AWS_BATCH_JOB_NUM_NODES says 3 nodes, but nothing says where");
    check(AWS "x", "x.py", "!78 AWS_BATCH_JOB_NODE_INDEX=x is no number from 0");
    check("AWS_BATCH_JOB_NODE_INDEX=1", "x.py", "!78 AWS Batch sets");
}

static void check_document(const char *document, const char *env, const char *want)
{
    struct fixture f = fixture_new();
    const char *got;

    snprintf(f.facts.resource_config, sizeof(f.facts.resource_config), "%s", document);
    got = planned(&f, env, "--nproc-per-node 1 x.py");
    if (want[0] == '!' ? !tap_has_str(got, want) : !tap_eq_str(got, want))
        printf("# with: %s | %s\n", env, document);
    fixture_free(&f);
}

TEST(sagemaker)
{
    static const char document[] =
        "{\"current_host\": \"algo-10\", \"hosts\": [\"algo-1\", \"algo-10\", \"algo-2\"],\n"
        " \"network_interface_name\": \"eth0\"}";
    static const char want[] = "3/1 x1 algo-1:29500 SageMaker";

    check_document("", "SM_HOSTS=[\"algo-1\",\"algo-10\",\"algo-2\"] SM_CURRENT_HOST=algo-10",
                   want);
    check_document(document, "", want);
    check_document(document, "SM_CURRENT_HOST=algo-2", "3/2 x1 algo-1:29500 SageMaker");
    check_document(document, "SM_HOSTS=[\"algo-10\"]", "1/0 x1 algo-10:0 SageMaker");
    check_document("{\"hosts\": [\"algo-1\"]}", "", "!78 resourceconfig.json does not say both");
    check_document("{\"current_host\": \"a\"}", "", "!78 resourceconfig.json does not say both");
    check_document("{\"hosts\": [", "", "!78 resourceconfig.json: no valid JSON");
    check_document("", "SM_HOSTS=[\"a\"] SM_CURRENT_HOST=b",
                   "!78 SM_CURRENT_HOST says that this is b, which is not among the hosts of");
    check_document("", "SM_HOSTS=a,b SM_CURRENT_HOST=b", "!78 SM_HOSTS: no valid JSON");
    check_document("", "SM_HOSTS=[\"a\",\"b\"]", "!78 SM_HOSTS does not say both");
    check_document("", "SM_CURRENT_HOST=b", "!78");
}

TEST(torchx)
{
    check("TORCHX_REPLICA_IDX=1 TORCHX_RANK0_HOST=h", "--nnodes 2 x.py", "2/1 x4 h:29500 torchx");
    check("TORCHX_REPLICA_IDX=1 TORCHX_RANK0_HOST=h VC_TASK_INDEX=0 VC_T_0_NUM=1 VC_T_1_NUM=1",
          "--nnodes 2 x.py", "2/1 x4 h:29500 torchx");
    check("TORCHX_REPLICA_IDX=1",
          "--nnodes 2 --rdzv-backend c10d --rdzv-endpoint h:29400 --nproc-per-node 2 x.py",
          "2/1 x2 h:29400 torchx");
    check("TORCHX_REPLICA_IDX=1", "x.py", "1/0 x4 127.0.0.1:0 none");
}

#define STEP "SLURM_STEP_ID=0 "

TEST(slurm_with_a_task_on_each_node)
{
#define TWO STEP "SLURM_NTASKS=2 SLURM_NNODES=2 SLURM_JOB_NODELIST=gpu[07-08] "

    check(TWO "SLURM_PROCID=1 SLURM_NODEID=1 SLURM_LOCALID=0", "x.py", "2/1 x4 gpu07:29500 Slurm");
    /* enroot's hook: its LOCAL_RANK must not make this a process of many. */
    check(TWO "SLURM_PROCID=1 SLURM_NODEID=1 SLURM_LOCALID=0 RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 "
              "MASTER_ADDR=gpu07 MASTER_PORT=63012",
          "x.py", "2/1 x4 gpu07:63012 Slurm");
    check(TWO "SLURM_PROCID=1 SLURM_NODEID=1", "--nnodes 2 --nproc-per-node 2 x.py",
          "2/1 x2 gpu07:29500 Slurm");
    check(TWO "SLURM_PROCID=1 SLURM_NODEID=1", "--rank-means process x.py",
          "2/1 x1 gpu07:29500 Slurm task -1/-1 1/2");
    check(STEP "SLURM_NTASKS=1 SLURM_NNODES=1 SLURM_PROCID=0 SLURM_NODEID=0", "x.py",
          "1/0 x4 127.0.0.1:0 Slurm");
    /* A step of fewer nodes than the job. */
    check("SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=b,c "
          "SLURM_NTASKS=8 SLURM_NNODES=4 SLURM_JOB_NODELIST=a,b,c,d SLURM_PROCID=1 SLURM_NODEID=1",
          "x.py", "2/1 x4 b:29500 Slurm");
}

TEST(slurm_with_several_tasks_on_a_node)
{
#define MANY STEP "SLURM_NTASKS=6 SLURM_NNODES=2 SLURM_TASKS_PER_NODE=3(x2) SLURM_NODELIST=a,b "

    check(MANY "SLURM_PROCID=4 SLURM_NODEID=1 SLURM_LOCALID=1", "x.py",
          "6/4 x1 a:29500 Slurm task 1/3 1/2");
    check(MANY "SLURM_PROCID=4 SLURM_NODEID=1 SLURM_LOCALID=1 RANK=4 WORLD_SIZE=6 LOCAL_RANK=1",
          "x.py", "6/4 x1 a:29500 Slurm task 1/3 1/2");
    check(MANY "SLURM_PROCID=4 SLURM_NODEID=1 SLURM_LOCALID=1 RANK=1", "x.py",
          "!78 RANK=1 contradicts SLURM_PROCID=4");
    check(MANY "SLURM_PROCID=4 SLURM_NODEID=1 SLURM_LOCALID=1 WORLD_SIZE=2", "x.py",
          "!78 WORLD_SIZE=2 contradicts SLURM_NTASKS=6");
    check(MANY "SLURM_PROCID=4 SLURM_NODEID=1 SLURM_LOCALID=1", "--nproc-per-node 3 x.py",
          "!78 --nproc-per-node asks for 3 ranks here, but SLURM_PROCID=4 says");
    check(MANY "SLURM_PROCID=4 SLURM_NODEID=1 SLURM_LOCALID=1", "--nnodes 2 x.py",
          "!78 --nnodes says 2 nodes, but Slurm starts 6 processes (SLURM_NTASKS)");
    check(MANY "SLURM_PROCID=4 SLURM_NODEID=1", "--rank-means node --nproc-per-node 2 x.py",
          "6/4 x2 a:29500 Slurm");
    check(STEP "SLURM_NTASKS=4 SLURM_NNODES=1 SLURM_PROCID=3 SLURM_NODEID=0 SLURM_LOCALID=3 "
               "SLURM_NODELIST=a SLURM_STEP_TASKS_PER_NODE=4",
          "x.py", "4/3 x1 127.0.0.1:29500 Slurm task 3/4 0/1");
}

TEST(slurm_that_cannot_be)
{
    check("SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_NNODES=2 SLURM_NODEID=0", "x.py",
          "!78 this is the batch script of a Slurm job (there is no SLURM_STEP_NUM_TASKS), which "
          "runs on the first of 2 nodes only: start rankinit by srun");
    check("SLURM_PROCID=0 SLURM_NODEID=0", "--nnodes 2 x.py", "!78 this is the batch script");
    check("SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_NNODES=1 SLURM_NODEID=0", "x.py",
          "1/0 x4 127.0.0.1:0 Slurm");
    check("SLURM_PROCID=0 SLURM_STEP_ID=4294967291", "x.py", "1/0 x4 127.0.0.1:0 Slurm");
    check("SLURM_PROCID=1 SLURM_NODEID=1", "x.py", "!78 SLURM_PROCID=1 says that this is a task");
    check(STEP "SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_NNODES=3 SLURM_NODEID=1", "x.py",
          "!78 SLURM_NTASKS=2 is less than SLURM_NNODES=3");
    check("SLURM_NNODES=2 SLURM_NTASKS=2", "x.py", "1/0 x4 127.0.0.1:0 none");
}

/* The master of a node list, and the local size of a list of counts on node 1. */
static void check_lists(const char *list, const char *counts, const char *want)
{
    char env[512];

    snprintf(env, sizeof(env),
             STEP "SLURM_NTASKS=9 SLURM_NNODES=3 SLURM_PROCID=4 SLURM_NODEID=1 SLURM_LOCALID=1 "
                  "SLURM_NODELIST=%s SLURM_TASKS_PER_NODE=%s",
             list, counts);
    check(env, "x.py", want);
}

TEST(slurm_lists)
{
    check_lists("a[01-03,7]", "3(x3)", "9/4 x1 a01:29500 Slurm task 1/3 1/3");
    check_lists("a[7,01-03]-x,b", "2,5,2", "9/4 x1 a7-x:29500 Slurm task 1/5 1/3");
    check_lists("a1,b[3-4]", "2(x1),5,2", "9/4 x1 a1:29500 Slurm task 1/5 1/3");
    check_lists("a", "2(x2),5", "9/4 x1 a:29500 Slurm task 1/2 1/3");
    check_lists("a[x]", "x", "9/4 x1 -:0 Slurm task 1/-1 1/3");
    check_lists("a[1-2]b[3-4]", "2", "9/4 x1 -:0 Slurm task 1/-1 1/3");
    check_lists("a[1-2", "2(xx)", "9/4 x1 -:0 Slurm task 1/-1 1/3");
}

TEST(mpi)
{
#define OMPI                                                                      \
    "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 " \
    "OMPI_COMM_WORLD_LOCAL_SIZE=4 "

    check(OMPI "MASTER_ADDR=m", "x.py", "8/5 x1 m:29500 Open MPI task 1/4 -1/-1");
    check(OMPI, "x.py", "8/5 x1 -:0 Open MPI task 1/4 -1/-1");
    /* mpirun below Slurm: Slurm's number is that of the daemon. */
    check(OMPI "MASTER_ADDR=m SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NODEID=1 SLURM_NTASKS=2 "
               "SLURM_NNODES=2",
          "x.py", "8/5 x1 m:29500 Open MPI task 1/4 -1/-1");
    check(OMPI "RANK=0", "x.py", "!78 RANK=0 contradicts OMPI_COMM_WORLD_RANK=5");
    check(OMPI, "--nproc-per-node 4 --master-addr m x.py", "!78 --nproc-per-node asks for 4 ranks");
    check(OMPI, "--nnodes 2 --master-addr m x.py",
          "!78 --nnodes says 2 nodes, but Open MPI starts 8 processes (OMPI_COMM_WORLD_SIZE)");
    check("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 "
          "OMPI_COMM_WORLD_LOCAL_SIZE=1",
          "--nproc-per-node 4 --master-addr m x.py", "2/1 x4 m:29500 Open MPI");
    check("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 "
          "OMPI_COMM_WORLD_LOCAL_SIZE=2",
          "x.py", "2/1 x1 127.0.0.1:29500 Open MPI task 1/2 0/1");
    check("PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", "x.py",
          "2/1 x1 127.0.0.1:29500 MPICH or Intel MPI task 1/2 0/1");
    check("PALS_RANKID=3 PALS_LOCAL_RANKID=1 PALS_LOCAL_SIZE=2 PMI_RANK=3 PMI_SIZE=4 PALS_NODEID=1",
          "--master-addr m x.py", "4/3 x1 m:29500 PALS task 1/2 -1/-1");
    check("MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=4 MV2_COMM_WORLD_LOCAL_RANK=1 "
          "MV2_COMM_WORLD_LOCAL_SIZE=2 MASTER_ADDR=m",
          "x.py", "4/1 x1 m:29500 MVAPICH task 1/2 -1/-1");
    check("PMI_RANK=1 PMI_SIZE=4 MASTER_ADDR=m", "x.py", "4/1 x1 m:29500 PMI task -1/-1 -1/-1");
    check("PMIX_RANK=1", "x.py",
          "!78 this is one of several processes of PMI, but nothing says of how many (looked at "
          "PMI_SIZE)");
}

TEST(volcano)
{
    check("VC_TASK_INDEX=0 RANK=1 WORLD_SIZE=2 MASTER_ADDR=j-master-0.j MASTER_PORT=23456", "x.py",
          "2/1 x4 j-master-0.j:23456 Volcano");
    /* Four pods, four GPUs each: without Volcano's sign this would be ambiguous. */
    check("VC_TASK_INDEX=0 RANK=1 WORLD_SIZE=4 MASTER_ADDR=m", "x.py", "4/1 x4 m:29500 Volcano");
    check("VK_TASK_INDEX=1 VC_WORKER_NUM=2 VC_WORKER_HOSTS=j-worker-0.j,j-worker-1.j", "x.py",
          "2/1 x4 j-worker-0.j:29500 Volcano");
    check("VC_TASK_INDEX=1 VC_WORKER_NUM=2 VC_MASTER_NUM=1 VC_WORKER_HOSTS=a,b VC_MASTER_HOSTS=c",
          "x.py",
          "!78 VC_TASK_INDEX=1 numbers the pods of one task of Volcano, and the job has 2 "
          "(VC_WORKER_NUM, VC_MASTER_NUM)");
    check("VC_TASK_INDEX=1", "--nnodes 2 --master-addr m x.py", "2/1 x4 m:29500 Volcano");
    check("VC_TASK_INDEX=1", "x.py", "1/0 x4 127.0.0.1:0 none");
}

TEST(job_set)
{
#define JOB "JOBSET_JOB_GLOBAL_INDEX=2 JOBSET_GLOBAL_REPLICAS=3 JOB_COMPLETION_INDEX=1 "

    check(JOB "MASTER_ADDR=m", "--nnodes 6 x.py", "6/5 x4 m:29500 JobSet");
    /* The project's own sample puts the completion index into RANK. */
    check(JOB "MASTER_ADDR=m RANK=1 WORLD_SIZE=6", "--nnodes 6 x.py", "6/5 x4 m:29500 JobSet");
    check(JOB "MASTER_ADDR=m", "--nnodes 7 x.py",
          "!78 --nnodes says 7 nodes, which 3 Jobs (JOBSET_GLOBAL_REPLICAS) cannot share evenly");
    check(JOB "MASTER_ADDR=m", "--nnodes 3 x.py",
          "!78 JOB_COMPLETION_INDEX=1 is no pod from 0 to 0 of its Job");
    check("JOBSET_JOB_INDEX=1 JOBSET_REPLICATEDJOB_REPLICAS=2 JOB_COMPLETION_INDEX=0 MASTER_ADDR=m",
          "--nnodes 4 x.py", "4/2 x4 m:29500 JobSet");
    check(
        "JOBSET_JOB_INDEX=1 JOB_COMPLETION_INDEX=0 MASTER_ADDR=m", "--nnodes 4 x.py",
        "!78 JOBSET_JOB_INDEX=1 is a Job of a JobSet, which needs JOBSET_REPLICATEDJOB_REPLICAS=N");
    check(JOB, "x.py", "1/0 x4 127.0.0.1:0 none");
}

TEST(indexed_job_beside_a_job_set)
{
    check_on("ij-1", "JOB_COMPLETION_INDEX=1", "--nnodes 2 --master-addr ij-0.ij x.py",
             "2/1 x4 ij-0.ij:29500 Indexed Job");
    check_on("train-1-1", "JOB_COMPLETION_INDEX=1", "--nnodes 2 --master-addr train-1-0.t x.py",
             "2/1 x4 train-1-0.t:29500 Indexed Job");
    check_on("js-w-1-0", "JOB_COMPLETION_INDEX=0", "--nnodes 2 --master-addr js-w-0-0.js x.py",
             "!78 this host is js-w-1-0 and the master is js-w-0-0.js: they are in two Jobs");
    check_on("js-w-1-0", "JOB_COMPLETION_INDEX=0",
             "--nnodes 2 --node-rank 1 --master-addr js-w-0-0.js x.py",
             "2/1 x4 js-w-0-0.js:29500 none");
}

TEST(pytorchjob_of_before_1_7)
{
    static const char env[] = "MASTER_ADDR=job-master-0 MASTER_PORT=23456 WORLD_SIZE=8 RANK=3";

    check_on("job-worker-2", env, "x.py", "8/3 x4 job-master-0:23456 PyTorchJob");
    check_on("job-worker-3", env, "x.py", "!78 RANK=3 and WORLD_SIZE=8 may count");
    check_on("bob-worker-2", env, "x.py", "!78 RANK=3 and WORLD_SIZE=8 may count");
    check_on("job-master-0", "MASTER_ADDR=localhost WORLD_SIZE=8 RANK=0", "x.py",
             "!78 RANK=0 and WORLD_SIZE=8 may count");
    check_on("job-master-0", "MASTER_ADDR=job-master-0 WORLD_SIZE=8 RANK=0", "x.py",
             "8/0 x4 job-master-0:29500 PyTorchJob");
}

TEST(ordinal_of_the_hostname)
{
    static const char line[] = "--nnodes 3 --master-addr s-0.s --node-rank from-hostname x.py";
    struct fixture f = fixture_new();

    check_on("s-2", "", line, "3/2 x4 s-0.s:29500 none");
    check_on("s-2.s.ns.svc", "JOB_COMPLETION_INDEX=1", line, "3/2 x4 s-0.s:29500 none");
    check_on("s-3", "", line, "!78 --node-rank (hostname s-3) says node 3, but --nnodes is 3");
    check_on("s2", "", line, "!78 --node-rank is from-hostname, but the hostname s2 does not end");
    check_on("s-2", "PET_NNODES=3 PET_NODE_RANK=from-hostname", "--master-addr m x.py",
             "3/2 x4 m:29500 PET_*");
    check_on("s-2", "", "--nnodes 3 --master-addr m x.py",
             "!78 --nnodes says 3 nodes, but nothing");

    strcpy(f.facts.hostname, "s-2");
    fixture_spec(&f, OPT_NODE_RANK, "from-hostname");
    fixture_spec(&f, OPT_NNODES, "3");
    tap_eq_str(planned(&f, "MASTER_ADDR=m PET_NODE_RANK=2", "--nproc-per-node 1 x.py"),
               "3/2 x1 m:29500 PyTorchJob");
    fixture_free(&f);
    f = fixture_new();
    strcpy(f.facts.hostname, "s-2");
    fixture_spec(&f, OPT_NODE_RANK, "from-hostname");
    tap_has_str(planned(&f, "PET_NODE_RANK=1 PET_NNODES=3", "--nproc-per-node 1 x.py"),
                "PET_NODE_RANK says 1 but spec.yaml: job.node_rank (hostname s-2) says 2");
    fixture_free(&f);
}

TEST(under_torchrun_s_name_an_index_counts_as_the_node_rank)
{
    static const char *const indexes[] = {
        "JOB_COMPLETION_INDEX=1",
        "LWS_WORKER_INDEX=1 LWS_GROUP_SIZE=2",
        "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NODEID=1 SLURM_NTASKS=2 SLURM_NNODES=2",
        "VC_TASK_INDEX=1",
        "TORCHX_REPLICA_IDX=1",
        "PET_NODE_RANK=1",
    };
    static const char line[] = "--nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=h:29400 x.py";

    for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
        struct fixture f = fixture_new();

        f.argv0 = "torchrun";
        fixture_plan(&f, indexes[i], line);
        if (!tap_eq_int(f.plan.job.node_rank, 1) || !tap_eq_int(f.plan.job.nnodes, 2) ||
            !tap_eq_str(f.plan.job.master_addr, "h"))
            printf("# %s: %s\n", indexes[i], f.err.message);
        fixture_free(&f);
    }
}

TEST(a_shared_file_agrees_with_the_platform_or_is_refused)
{
    static const char env[] = "LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=l";
    struct fixture f = fixture_new();

    fixture_spec(&f, OPT_NNODES, "2");
    tap_eq_str(planned(&f, env, "--nproc-per-node 1 x.py"), "2/1 x1 l:29500 LeaderWorkerSet");
    fixture_free(&f);
    f = fixture_new();
    fixture_spec(&f, OPT_NNODES, "3");
    tap_has_str(planned(&f, env, "x.py"), "!78 LWS_GROUP_SIZE says 2 but spec.yaml: job.nnodes");
    fixture_free(&f);
    f = fixture_new();
    fixture_spec(&f, OPT_MASTER_ADDR, "m");
    tap_has_str(planned(&f, env, "x.py"), "!78 LWS_LEADER_ADDRESS says l but spec.yaml: rend");
    fixture_free(&f);
}

/* The line that tells who decided, at -v; and whether it is told without. */
static void check_told(const char *env, const char *line, const char *want, bool always)
{
    struct fixture f = fixture_new();

    if (!tap_eq_int(fixture_plan(&f, env, line), 0))
        printf("# %s\n", f.err.message);
    tap_eq_str(f.plan.job.platform_told, want);
    tap_eq_int(fixture_noticed(&f, "platform: "), always);
    fixture_free(&f);
}

TEST(who_decided_is_told)
{
    check_told("PET_NNODES=2 PET_NODE_RANK=1 PET_MASTER_ADDR=m JOB_COMPLETION_INDEX=1",
               "--nproc-per-node 1 x.py",
               "TrainJob: nnodes 2 (PET_NNODES), node-rank 1 (PET_NODE_RANK), master-addr m "
               "(PET_MASTER_ADDR); not used: JOB_COMPLETION_INDEX=1",
               false);
    check_told("PET_NNODES=2 PET_NODE_RANK=1 PET_MASTER_ADDR=m JOB_COMPLETION_INDEX=0",
               "--nproc-per-node 1 x.py",
               "TrainJob: nnodes 2 (PET_NNODES), node-rank 1 (PET_NODE_RANK), master-addr m "
               "(PET_MASTER_ADDR); not used: JOB_COMPLETION_INDEX=0",
               true);
    check_told("LWS_GROUP_SIZE=2 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=l", "x.py",
               "LeaderWorkerSet: nnodes 2 (LWS_GROUP_SIZE), node-rank 1 (LWS_WORKER_INDEX), "
               "master-addr l (LWS_LEADER_ADDRESS)",
               false);
    check_told("LWS_WORKER_INDEX=1", "--nnodes 2 --node-rank 0 --master-addr m x.py",
               "no platform decides: nothing taken; not used: LWS_WORKER_INDEX=1", false);
    check_told("", "-v x.py", NULL, false);
    check_told("LWS_WORKER_INDEX=1", "-v --nnodes 2 --node-rank 0 --master-addr m x.py",
               "no platform decides: nothing taken; not used: LWS_WORKER_INDEX=1", true);
}

TAP_MAIN()
