#include "model/rankenv.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "model/hydra.h"

#define LIST_ROOM 32768 /* a list of devices: 8 GPUs in 7 MIG parts each need about 5 KiB */

/* What every rank gets from us, whatever else is said; a star stands for any end. */
static const char *const ours[] = {
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_NAME",
    "ROLE_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "NODE_RANK",
    "LOCAL_SIZE",
    "CROSS_RANK",
    "CROSS_SIZE",
    "TORCHELASTIC_*",
    "RANKINIT_THIS_*",
};

/*
 * What else an inherited environment may say of another rank, or of a launcher that is not there
 * any more. What we set "unless set" is not among them.
 */
static const char *const others[] = {
    "PET_*",
    "RANKINIT_*",
    /* Open MPI, MPICH and Intel MPI, MVAPICH, PALS: a rank that reads them waits for its daemon */
    "OMPI_COMM_WORLD_*",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_FIRST_RANKS",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
    "PMIX_SERVER_*",
    "PMIX_ID",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_ID",
    "PMI_FD",
    "PMI_PORT",
    "PMI_SPAWNED",
    "PMI_APPNUM",
    "PMI_LOCAL_RANK",
    "PMI_LOCAL_SIZE",
    "PMI_UNIVERSE_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "MPI_LOCALNODEID",
    "MPI_NNODES",
    "MPI_NRANKS",
    "MV2_COMM_WORLD_*",
    "PALS_RANKID",
    "PALS_NODEID",
    "PALS_LOCAL_RANKID",
    "PALS_LOCAL_SIZE",
};

static bool is_in(const char *entry, const char *const *names, size_t count)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(names[i]);
        bool star = names[i][size - 1] == '*';

        size -= star;
        if ((star ? len >= size : len == size) && memcmp(entry, names[i], size) == 0)
            return true;
    }
    return false;
}

bool rankenv_is_ours(const char *entry)
{
    return is_in(entry, ours, sizeof(ours) / sizeof(ours[0]));
}

void rankenv_scrub(struct strvec *env)
{
    struct strvec kept = STRVEC_INIT;

    for (size_t i = 0; i < env->count; i++) {
        const char *entry = env->items[i];

        if (!rankenv_is_ours(entry) && !is_in(entry, others, sizeof(others) / sizeof(others[0])))
            strvec_push(&kept, env->items[i]);
    }
    strvec_release(env);
    *env = kept;
}

void rankenv_apply(struct strvec *env, const struct strvec *unset, const struct strvec *set)
{
    for (size_t i = 0; i < unset->count; i++)
        env_unset(env, unset->items[i]);
    for (size_t i = 0; i < set->count; i++) {
        const char *entry = set->items[i];
        size_t len = strcspn(entry, "=");
        CLEANUP(strvec_release) struct strvec name = STRVEC_INIT;

        if (entry[len] == '=')
            env_set(env, strvec_pushf(&name, "%.*s", (int)len, entry), entry + len + 1);
    }
}

static void set_default(struct strvec *env, const char *name, const char *value)
{
    if (!env_get(strvec_texts(env), name))
        env_set(env, name, value);
}

static void set_int(struct strvec *env, const char *name, int value)
{
    env_setf(env, name, "%d", value);
}

/* A number that is ours to say, or, in a job that somebody else started, a gap; below 0: unknown. */
static void put_int(const struct plan_job *job, struct strvec *env, const char *name, int value)
{
    if (value >= 0 && !(job->task.one && env_get(strvec_texts(env), name)))
        set_int(env, name, value);
}

static void put(const struct plan_job *job, struct strvec *env, const char *name, const char *value)
{
    if (job->task.one)
        set_default(env, name, value);
    else
        env_set(env, name, value);
}

static void set_or_unset(struct strvec *env, const char *name, const char *value)
{
    if (value)
        env_set(env, name, value);
    else
        env_unset(env, name);
}

/* The contract of PyTorch's env:// and of those who read torchrun's names. */
static void set_ranks(const struct plan_job *job, int local_rank, struct strvec *env)
{
    const struct platform_task *task = &job->task;
    const int local_size = task->one ? task->local_size : job->nproc;
    const int node = task->one ? task->node : job->node_rank;
    const int nodes = task->one ? task->nodes : job->nnodes;
    const struct {
        const char *name;
        int value;
    } numbers[] = {
        {"RANK", job->first_rank + local_rank},
        {"WORLD_SIZE", job->world_size},
        {"LOCAL_WORLD_SIZE", local_size},
        {"GROUP_RANK", node},
        {"GROUP_WORLD_SIZE", nodes},
        {"ROLE_RANK", job->first_rank + local_rank},
        {"ROLE_WORLD_SIZE", job->world_size},
        {"NODE_RANK", node},
        {"LOCAL_SIZE", local_size},
        {"CROSS_RANK", node},
        {"CROSS_SIZE", nodes},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        put_int(job, env, numbers[i].name, numbers[i].value);
    put(job, env, "ROLE_NAME", job->role);
}

static void set_rendezvous(const struct plan *plan, const struct rankenv_late *late,
                           struct strvec *env)
{
    const struct plan_job *job = &plan->job;

    /* What was there was read before: only a person's word is another. */
    if (job->master_addr) {
        env_set(env, "MASTER_ADDR", job->master_addr);
        set_int(env, "MASTER_PORT", late->master_port);
    }
    put_int(job, env, "TORCHELASTIC_RESTART_COUNT", late->attempt);
    put_int(job, env, "TORCHELASTIC_MAX_RESTARTS", plan->restart.max);
    /* Its presence means a launcher of torch's to some, who would then not look at their own. */
    if (!job->task.one)
        env_set(env, "TORCHELASTIC_RUN_ID", job->id);
    /* No agent hosts a store here: rank 0 does, and "True" would make it look for one. */
    put(job, env, "TORCHELASTIC_USE_AGENT_STORE", "False");
    if (!job->task.one)
        set_or_unset(env, "TORCHELASTIC_ERROR_FILE", late->error_file);
    else if (late->error_file)
        set_default(env, "TORCHELASTIC_ERROR_FILE", late->error_file);
    set_default(env, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
}

/* A rank with one visible device has to take number 0, so isolated mode calls it that. */
static void set_devices(const struct plan *plan, int local_rank, struct strvec *env)
{
    const struct devices *devices = &plan->devices;
    char room[LIST_ROOM];
    struct buf list = BUF_OVER(room);

    devices_list(devices, local_rank, &list);
    if (devices->mode == DEVICE_ISOLATED)
        set_int(env, "LOCAL_RANK", 0);
    else
        put_int(&plan->job, env, "LOCAL_RANK",
                plan->job.task.one ? plan->job.task.local_rank : local_rank);
    if (devices->set_variable)
        env_set(env, devices->variable, room);
    if (devices->set_order)
        set_default(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    env_set(env, "RANKINIT_THIS_DEVICES", devices->mode == DEVICE_NONE ? "" : room);
    env_set(env, "RANKINIT_THIS_DEVICE_MODE", devices_mode_word(devices->mode));
}

/* Where it is, as far as that is known: what a program would have to ask NVML and sysfs for. */
static void set_place(const struct plan_place *place, struct strvec *env)
{
    char room[LIST_ROOM];
    struct buf cpus = BUF_OVER(room);

    set_or_unset(env, "RANKINIT_THIS_UUIDS", place->uuids[0] ? place->uuids : NULL);
    set_or_unset(env, "RANKINIT_THIS_BUS_IDS", place->bus_ids[0] ? place->bus_ids : NULL);
    if (place->numa_node >= 0)
        set_int(env, "RANKINIT_THIS_NUMA_NODE", place->numa_node);
    if (!place->bound)
        return;
    cpuset_write(&place->cpus, &cpus);
    env_set(env, "RANKINIT_THIS_CPUS", room);
}

/* Names that no option has: true in every mode, and the sign of a rank to a rankinit inside it. */
static void set_truth(const struct plan *plan, int local_rank, const struct rankenv_late *late,
                      struct strvec *env)
{
    set_int(env, "RANKINIT_THIS_RANK", plan->job.first_rank + local_rank);
    put_int(&plan->job, env, "RANKINIT_THIS_LOCAL_RANK",
            plan->job.task.one ? plan->job.task.local_rank : local_rank);
    put_int(&plan->job, env, "RANKINIT_THIS_NODE_RANK",
            plan->job.task.one ? plan->job.task.node : plan->job.node_rank);
    env_set(env, "RANKINIT_THIS_JOB_ID", plan->job.id);
    set_int(env, "RANKINIT_THIS_ATTEMPT", late->attempt);
    set_or_unset(env, "RANKINIT_THIS_READY_FILE", late->ready_file);
}

static int threads_of(const struct plan *plan, int local_rank)
{
    int own = plan->places ? plan->places[local_rank].threads : 0;

    return own > 0 ? own : plan->omp_threads;
}

void rankenv_build(const struct plan *plan, int local_rank, const struct rankenv_late *late,
                   struct strvec *ret)
{
    strvec_push_all(ret, strvec_texts(&plan->env));
    if (plan->mode == PLAN_INIT)
        return;
    if (plan->ranks)
        rankenv_apply(ret, &plan->ranks[local_rank].env_unset, &plan->ranks[local_rank].env_set);
    set_ranks(&plan->job, local_rank, ret);
    set_rendezvous(plan, late, ret);
    set_devices(plan, local_rank, ret);
    if (plan->places)
        set_place(&plan->places[local_rank], ret);
    set_truth(plan, local_rank, late, ret);
    set_default(ret, "PYTHONUNBUFFERED", "1");
    set_default(ret, "PYTHONFAULTHANDLER", "1");
    if (threads_of(plan, local_rank) > 0 && !env_get(strvec_texts(ret), "OMP_NUM_THREADS"))
        set_int(ret, "OMP_NUM_THREADS", threads_of(plan, local_rank));
}

const struct strvec *rankenv_program(const struct plan *plan, int local_rank)
{
    if (plan->ranks && plan->ranks[local_rank].argv.count > 0)
        return &plan->ranks[local_rank].argv;
    return &plan->argv;
}

/* Appends a word with torchrun's macro ${local_rank} filled in. */
static void push_word(struct strvec *argv, const char *word, int local_rank)
{
    static const char macro[] = "${local_rank}";
    CLEANUP(strvec_release) struct strvec scratch = STRVEC_INIT;
    const char *text = "", *found;

    for (; (found = strstr(word, macro)); word = found + sizeof(macro) - 1)
        text = strvec_pushf(&scratch, "%s%.*s%d", text, (int)(found - word), word, local_rank);
    strvec_pushf(argv, "%s%s", text, word);
}

void rankenv_argv(const struct plan *plan, int local_rank, struct strvec *ret)
{
    const struct strvec *argv = rankenv_program(plan, local_rank);
    bool own = argv != &plan->argv;
    int script = own ? plan->ranks[local_rank].script_index : plan->script_index;
    bool pin = plan->hydra.pinned && script >= 0;
    size_t place = pin ? hydra_place(argv, script) : 0;

    for (size_t i = 0; i < argv->count; i++) {
        if (pin && i == place)
            hydra_push(&plan->hydra, plan->job.first_rank + local_rank, ret);
        if (plan->mode == PLAN_FANOUT && i > 0)
            push_word(ret, argv->items[i], local_rank);
        else
            strvec_push(ret, argv->items[i]);
        if (plan->local_rank_arg && (int)i == script)
            strvec_pushf(ret, "--local-rank=%d", local_rank);
    }
    if (pin && place == argv->count)
        hydra_push(&plan->hydra, plan->job.first_rank + local_rank, ret);
}
