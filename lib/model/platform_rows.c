/*
 * The platforms, one row each, and how a row is read.
 */
#include <limits.h>
#include <string.h>

#include "base/scan.h"
#include "model/platform_parts.h"

/*
 * What starts processes comes before what counts containers, for it is nearer to us: mpirun may run
 * in an Indexed Job, and below Slurm, whose SLURM_PROCID is then that of MPI's daemon. PET_* come
 * before all of these (platform_read), and a person's words before everything.
 */
const struct platform_row platform_rows[] = {
    {.name = "Open MPI",
     .kind = PLATFORM_TASKS,
     .signs = {"OMPI_COMM_WORLD_RANK"},
     .rank = {"OMPI_COMM_WORLD_RANK"},
     .size = {"OMPI_COMM_WORLD_SIZE"},
     .local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"},
     .local_size = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     .mend = platform_mend_mpi},
    {.name = "MVAPICH",
     .kind = PLATFORM_TASKS,
     .signs = {"MV2_COMM_WORLD_RANK"},
     .rank = {"MV2_COMM_WORLD_RANK"},
     .size = {"MV2_COMM_WORLD_SIZE"},
     .local_rank = {"MV2_COMM_WORLD_LOCAL_RANK"},
     .local_size = {"MV2_COMM_WORLD_LOCAL_SIZE"},
     .mend = platform_mend_mpi},
    {.name = "PALS",
     .kind = PLATFORM_TASKS,
     .signs = {"PALS_RANKID"},
     .rank = {"PALS_RANKID"},
     .size = {"PMI_SIZE", "PALS_SIZE"},
     .local_rank = {"PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"},
     .local_size = {"PALS_LOCAL_SIZE", "PMI_LOCAL_SIZE"},
     .mend = platform_mend_mpi},
    {.name = "MPICH or Intel MPI",
     .kind = PLATFORM_TASKS,
     .signs = {"MPI_LOCALRANKID"},
     .rank = {"PMI_RANK", "PMIX_RANK"},
     .size = {"PMI_SIZE", "MPI_NRANKS"},
     .local_rank = {"MPI_LOCALRANKID"},
     .local_size = {"MPI_LOCALNRANKS"},
     .mend = platform_mend_mpi},
    {.name = "LeaderWorkerSet",
     .kind = PLATFORM_NODES,
     .signs = {"LWS_WORKER_INDEX", "LWS_GROUP_SIZE"},
     .rank = {"LWS_WORKER_INDEX"},
     .size = {"LWS_GROUP_SIZE"},
     .master = {"LWS_LEADER_ADDRESS"}},
    {.name = "AWS Batch",
     .kind = PLATFORM_NODES,
     .signs = {"AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_NUM_NODES"},
     .rank = {"AWS_BATCH_JOB_NODE_INDEX"},
     .size = {"AWS_BATCH_JOB_NUM_NODES"},
     .master = {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"},
     .mend = platform_mend_aws},
    {.name = "SageMaker", /* or its document, which a bare container has alone */
     .kind = PLATFORM_NODES,
     .signs = {"SM_HOSTS", "SM_CURRENT_HOST"},
     .mend = platform_mend_sagemaker},
    {.name = "torchx",
     .kind = PLATFORM_INDEX,
     .signs = {"TORCHX_REPLICA_IDX"},
     .rank = {"TORCHX_REPLICA_IDX"},
     .master = {"TORCHX_RANK0_HOST"}},
    {.name = "Slurm",
     .kind = PLATFORM_TASKS,
     .signs = {"SLURM_PROCID"},
     .rank = {"SLURM_PROCID"},
     .size = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
     .local_rank = {"SLURM_LOCALID"},
     .mend = platform_mend_slurm},
    {.name = "PMI",
     .kind = PLATFORM_TASKS,
     .signs = {"PMI_RANK", "PMIX_RANK"},
     .rank = {"PMI_RANK", "PMIX_RANK"},
     .size = {"PMI_SIZE"},
     .local_rank = {"PMI_LOCAL_RANK"},
     .local_size = {"PMI_LOCAL_SIZE"},
     .mend = platform_mend_mpi},
    {.name = "Volcano",
     .kind = PLATFORM_NODES,
     .signs = {"VC_TASK_INDEX", "VK_TASK_INDEX"},
     .rank = {"VC_TASK_INDEX", "VK_TASK_INDEX"},
     .mend = platform_mend_volcano},
    {.name = "JobSet", /* by variables of the pod template: k8s has no own */
     .kind = PLATFORM_INDEX,
     .signs = {"JOBSET_JOB_GLOBAL_INDEX", "JOBSET_JOB_INDEX"},
     .rank = {"JOB_COMPLETION_INDEX"},
     .mend = platform_mend_jobset},
    {.name = "Indexed Job",
     .kind = PLATFORM_INDEX,
     .weak = true,
     .signs = {"JOB_COMPLETION_INDEX"},
     .rank = {"JOB_COMPLETION_INDEX"},
     .mend = platform_mend_indexed},
};

const int platform_row_count = sizeof(platform_rows) / sizeof(platform_rows[0]);

struct platform_word platform_first(const char *const *envp, const char *const names[])
{
    for (int i = 0; i < PLATFORM_NAMES && names[i]; i++) {
        const char *text = platform_value(envp, names[i]);

        if (text)
            return (struct platform_word){text, names[i]};
    }
    return (struct platform_word){NULL, NULL};
}

long platform_first_number(const char *const *envp, const char *const names[], long min)
{
    const char *text = platform_first(envp, names).text;
    long number;

    return text && scan_int(text, min, INT_MAX, &number) ? number : -1;
}

const struct platform_row *platform_find_row(const struct platform *platform)
{
    for (int i = 0; i < platform_row_count; i++) {
        const struct platform_row *row = &platform_rows[i];
        bool document = row->mend == platform_mend_sagemaker && platform->resource_config &&
                        platform->resource_config[0] != '\0';

        if (document || platform_first(platform->envp, row->signs).text)
            return row;
    }
    return NULL;
}

int platform_look(const struct platform *platform, const struct platform_row *row,
                  struct settings *settings, struct platform_place *ret, struct err *err)
{
    const char *const *envp = platform->envp;

    *ret = (struct platform_place){
        .row = row,
        .size = platform_first(envp, row->size),
        .rank = platform_first(envp, row->rank),
        .master = platform_first(envp, row->master),
        .one = {.local_rank = (int)platform_first_number(envp, row->local_rank, 0),
                .local_size = (int)platform_first_number(envp, row->local_size, 1),
                .node = -1,
                .nodes = -1}};
    return row->mend ? row->mend(platform, settings, ret, err) : 0;
}
