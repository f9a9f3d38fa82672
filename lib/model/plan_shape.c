/*
 * How many ranks, which of them are ours, and what devices and threads they get.
 */
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/scan.h"
#include "model/cpus.h"
#include "model/plan.h"
#include "model/plan_parts.h"
#include "model/platform.h"
#include "model/preflight.h"

/* Everything that the steps below share. */
struct shape {
    const struct plan_inputs *inputs;
    struct settings *settings;
    struct plan *plan;
    const char *nproc; /* as asked: "8", "auto", "gpu", "cpu" */
};

static bool is_counted(const struct shape *shape)
{
    return strcmp(shape->nproc, "auto") == 0 || strcmp(shape->nproc, "gpu") == 0;
}

/* torchrun's default is one rank; ours is one for each device. */
static const char *asked_nproc(const struct settings *settings, bool torchrun)
{
    const char *text = settings_text(settings, OPT_NPROC_PER_NODE);

    if (text)
        return text;
    return torchrun ? "1" : "auto";
}

/* Ranks here. That there are none of the devices asked for is told by devices_settle. */
static int resolve_nproc(const struct shape *shape, int *ret, struct err *err)
{
    const struct devices *devices = &shape->plan->devices;
    int count = devices_nproc(devices);
    long number;

    if (scan_int(shape->nproc, 1, PLAN_RANKS_MAX, &number)) {
        *ret = (int)number;
        return 0;
    }
    if (strcmp(shape->nproc, "cpu") == 0) {
        int budget = cpus_budget(shape->inputs->facts);

        *ret = budget < PLAN_RANKS_MAX ? budget : PLAN_RANKS_MAX;
        return 0;
    }
    if (devices->foreign && devices->mode != DEVICE_NONE && devices->pool.count == 0)
        return err_set(err, ERR_SPEC,
                       "the devices of %s cannot be counted: state --nproc-per-node N",
                       devices->foreign);
    if (devices->mode == DEVICE_NONE && strcmp(shape->nproc, "gpu") == 0)
        return err_set(err, ERR_SPEC,
                       "%s asks for a rank on each GPU, %s for none: state --nproc-per-node N",
                       shape->settings->rows[OPT_NPROC_PER_NODE].origin,
                       shape->settings->rows[OPT_DEVICE_MODE].origin);
    if (count > PLAN_RANKS_MAX)
        return err_set(err, ERR_SPEC, "%d devices make more than %d ranks: state --nproc-per-node",
                       count, PLAN_RANKS_MAX);
    *ret = count > 0 ? count : 1;
    return 0;
}

/* A count made on each node by itself must be the same everywhere, so a doubtful one is refused. */
static int check_counted(const struct shape *shape, struct err *err)
{
    const struct devices *devices = &shape->plan->devices;
    bool driver = shape->inputs->facts->nvidia_driver;
    bool several = shape->plan->job.nnodes > 1;
    bool none = devices->pool.count == 0;
    struct strvec *notices = &shape->plan->notices;
    char room[256];
    struct buf denied = BUF_OVER(room);

    if (devices->mode == DEVICE_NONE || devices->hidden || !devices->discovered)
        return 0;
    if (devices->denied > 0) {
        devices_denied_text(devices, &denied);
        return err_set(err, ERR_DEVICES,
                       "%s; or state --nproc-per-node N for fewer ranks, or --device-mode none",
                       room);
    }
    if (several && devices->evidence > devices->nodes)
        return err_set(err, ERR_DEVICES,
                       "NVIDIA_VISIBLE_DEVICES names %d GPUs, but only %d of /dev/nvidia* can be "
                       "used here: with several nodes the number of ranks would differ; state "
                       "--nproc-per-node N",
                       devices->evidence, devices->nodes);
    if (several && none && driver)
        return err_set(err, ERR_DEVICES,
                       "the NVIDIA driver is here (/proc/driver/nvidia), but there is no "
                       "/dev/nvidia*: state --nproc-per-node N for ranks without devices");
    if (none && driver)
        strvec_push(notices, "no device can be used, although the NVIDIA driver is here "
                             "(/proc/driver/nvidia): one rank, on the CPU");
    else if (none && several)
        strvec_push(notices, "no device and no sign of any: one rank on every node, on the CPU");
    return 0;
}

static int check_nodes(const struct shape *shape, long nnodes, long node_rank, struct err *err)
{
    const struct setting *nodes = &shape->settings->rows[OPT_NNODES];
    const struct setting *rank = &shape->settings->rows[OPT_NODE_RANK];

    if (nnodes > 1 && settings_flag(shape->settings, OPT_STANDALONE))
        return err_set(err, ERR_SPEC, "%s is for one node, but %s says %ld: state one of them",
                       shape->settings->rows[OPT_STANDALONE].origin, nodes->origin, nnodes);
    if (node_rank >= nnodes)
        return err_set(err, ERR_SPEC, "%s says node %ld, but %s is %ld: nodes count from 0 to %ld",
                       rank->origin, node_rank, nodes->text ? nodes->origin : "the number of nodes",
                       nnodes, nnodes - 1);
    return 0;
}

static int resolve_world(const struct shape *shape, int nproc, struct err *err)
{
    struct plan_job *job = &shape->plan->job;
    long nnodes = settings_stated(shape->settings, OPT_NNODES)
                      ? settings_int(shape->settings, OPT_NNODES)
                      : 1;
    long node_rank = settings_int(shape->settings, OPT_NODE_RANK);

    if (check_nodes(shape, nnodes, node_rank, err) < 0)
        return -1;
    if (nnodes > INT_MAX / nproc)
        return err_set(err, ERR_SPEC, "%ld nodes with %d ranks each are more than 2^31 ranks",
                       nnodes, nproc);
    job->nnodes = (int)nnodes;
    job->node_rank = (int)node_rank;
    job->nproc = nproc;
    job->world_size = job->nnodes * nproc;
    job->first_rank = job->node_rank * nproc;
    return 0;
}

static void note_assumptions(const struct shape *shape, const struct platform *platform)
{
    const struct plan_job *job = &shape->plan->job;
    struct strvec *notices = &shape->plan->notices;
    const struct setting *rank = &shape->settings->rows[OPT_NODE_RANK];
    const char *text, *index = platform_index(platform, &text);
    long number;

    if (job->nnodes > 1 && !job->task.one &&
        (is_counted(shape) || strcmp(shape->nproc, "cpu") == 0))
        strvec_pushf(notices, "--nproc-per-node %s: assuming %d rank%s on every node", shape->nproc,
                     job->nproc, job->nproc == 1 ? "" : "s");
    if (index && job->nnodes > 1 && rank->source > SOURCE_PLATFORM &&
        scan_int(text, 0, INT_MAX, &number) && number != job->node_rank)
        strvec_pushf(notices,
                     "%s says node %d, but %s=%ld: if all pods have the same command, leave out "
                     "--node-rank",
                     rank->origin, job->node_rank, index, number);
    if (index && !settings_stated(shape->settings, OPT_NNODES) && !shape->plan->torchrun)
        strvec_pushf(notices,
                     "%s=%.20s, but nothing says how many nodes there are: this pod is a job of "
                     "its own, unless --nnodes N is stated",
                     index, text);
}

/* A script that takes its device by LOCAL_RANK has to get it from somewhere. */
static void note_unknown_local_rank(const struct plan_inputs *inputs, struct plan *plan)
{
    const struct platform_task *task = &plan->job.task;

    if (task->one && task->local_rank < 0 && !platform_value(inputs->envp, "LOCAL_RANK"))
        strvec_pushf(&plan->notices,
                     "nothing says which of the processes on its node rank %d is: LOCAL_RANK is "
                     "not set",
                     plan->job.first_rank);
}

/* Who decided, at -v; or in any case, where something that was not used says otherwise. */
static void tell_platform(const struct shape *shape, const struct platform *platform)
{
    struct plan *plan = shape->plan;
    char room[LOG_LINE_MAX];
    struct buf line = BUF_OVER(room);
    enum platform_news news = platform_tell(platform, shape->settings, &line);

    if (platform->name)
        plan->job.platform = platform->name;
    if (news == PLATFORM_SILENT)
        return;
    plan->job.platform_told = strvec_push(&plan->texts, room);
    if (news == PLATFORM_CONTRADICTED || plan->log_level >= LOG_INFO)
        strvec_pushf(&plan->notices, "platform: %s", room);
}

static int resolve_threads(const struct settings *settings, bool torchrun, int budget, int nproc)
{
    int word = settings_word(settings, OPT_THREADS); /* budget, torchrun, keep, or a number */

    if (torchrun && !settings_stated(settings, OPT_THREADS))
        word = 1;
    switch (word) {
    case 0: return cpus_threads(budget, nproc);
    case 1: return nproc > 1 ? 1 : 0;
    case 2: return 0;
    default: return (int)settings_int(settings, OPT_THREADS);
    }
}

/* Nodes, node rank and ranks, from all that was stated and found. */
static int resolve_place(struct shape *shape, struct platform *platform, struct err *err)
{
    struct plan *plan = shape->plan;
    struct settings *settings = shape->settings;
    int nproc = 1;

    if (platform_read(platform, settings, &plan->notices, err) < 0)
        return -1;
    shape->nproc = asked_nproc(settings, plan->torchrun);
    if (devices_find(settings, shape->inputs->facts, strvec_texts(&plan->env), &plan->devices,
                     err) < 0 ||
        resolve_nproc(shape, &nproc, err) < 0 ||
        platform_find_place(platform, nproc, settings, err) < 0)
        return -1;
    plan->job.task = platform->task;
    if (platform->task.one)
        nproc = 1;
    if (resolve_world(shape, nproc, err) < 0)
        return -1;
    if (is_counted(shape) && !platform->task.one && check_counted(shape, err) < 0)
        return -1;
    return platform_check(platform, settings, nproc, err);
}

/*
 * A process that is one of many takes from the node's devices as its script does, by LOCAL_RANK. To
 * give each its own is for those who started them: which of our siblings uses which, we cannot know.
 */
static int settle_task_devices(struct plan *plan, const struct settings *settings, struct err *err)
{
    struct devices *devices = &plan->devices;
    struct strvec unwanted = STRVEC_INIT; /* what is left over here is for the siblings */
    int rc = devices_settle(devices, settings, 1, &unwanted, err);
    bool isolated = devices->mode == DEVICE_ISOLATED || devices->mode == DEVICE_ISOLATED_KEEP_RANK;

    strvec_release(&unwanted);
    if (rc < 0)
        return -1;
    if (isolated && (int)devices->pool.count > devices->per_rank && plan->job.task.local_size != 1)
        return err_set(
            err, ERR_SPEC,
            "%zu devices are visible (%s) to each of several processes on this node, and "
            "nothing says which of them is whose: give each its own (srun "
            "--gpus-per-task, --devices), or state --device-mode shared",
            devices->pool.count, devices->origin);
    if (devices->mode == DEVICE_SHARED && devices->pool.count == 1 && plan->job.task.local_rank > 0)
        strvec_pushf(&plan->notices,
                     "one device is visible here, and LOCAL_RANK is %d: a script that takes the "
                     "device of that number needs --device-mode isolated, where LOCAL_RANK is 0",
                     plan->job.task.local_rank);
    return 0;
}

static int settle_devices(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct settings *settings = inputs->settings;
    int rc;

    plan->devices.lenient = plan->torchrun;
    if (plan_resolve_rank_devices(inputs, plan, err) < 0)
        return -1;
    if (plan->job.task.one)
        rc = settle_task_devices(plan, settings, err);
    else
        rc = devices_settle(&plan->devices, settings, plan->job.nproc, &plan->notices, err);
    plan->devices.foreign = NULL; /* the facts' memory; told by now */
    return rc;
}

int plan_resolve_shape(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    struct settings *settings = inputs->settings;
    struct shape shape = {.inputs = inputs, .settings = settings, .plan = plan, .nproc = ""};
    struct platform platform = {.envp = inputs->envp,
                                .hostname = inputs->facts->hostname,
                                .resource_config = inputs->facts->resource_config,
                                .torchrun = plan->torchrun};
    int sharing;

    if (resolve_place(&shape, &platform, err) < 0 || plan_resolve_master(inputs, plan, err) < 0)
        return -1;
    note_assumptions(&shape, &platform);
    note_unknown_local_rank(inputs, plan);
    tell_platform(&shape, &platform);
    if (plan->job.task.one) {
        /* Made once more, as by now it is known that nothing is to be scrubbed. */
        strvec_release(&plan->env);
        plan_resolve_env(inputs, plan);
    }
    if (settle_devices(inputs, plan, err) < 0)
        return -1;
    sharing = plan->job.task.local_size > 1 ? plan->job.task.local_size : plan->job.nproc;
    plan->omp_threads = resolve_threads(settings, plan->torchrun, cpus_budget(inputs->facts),
                                        sharing);
    return preflight(inputs->facts, plan, err) < 0 ? -1 : plan_resolve_places(inputs, plan, err);
}
