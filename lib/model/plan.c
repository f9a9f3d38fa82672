#include "model/plan.h"

#include <stdlib.h>
#include <string.h>

#include "model/hydra.h"
#include "model/plan_parts.h"
#include "model/platform.h"
#include "model/program.h"

#define SHM_SMALL (64 << 20) /* Docker's and Kubernetes' default */

bool plan_called_torchrun(const char *argv0)
{
    const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

    return argv0 && strcmp(slash ? slash + 1 : argv0, "torchrun") == 0;
}

/* The fan-out decision (DESIGN 1), row by row. */
static enum plan_mode decide_mode(const struct plan_inputs *inputs, struct plan *plan)
{
    const struct settings *settings = inputs->settings;
    const char *const *words = plan_program_words(inputs);
    enum program_kind kind = program_classify(words, settings_flag(settings, OPT_MODULE));

    if (settings_flag(settings, OPT_INIT_ONLY))
        return PLAN_INIT;
    if (plan->torchrun || settings_state_shape(settings))
        return PLAN_FANOUT;
    if (kind == PROGRAM_SCRIPT)
        return PLAN_FANOUT;
    if (!platform_states_shape(inputs->envp))
        return PLAN_INIT;
    if (kind == PROGRAM_PYTHON)
        return PLAN_FANOUT;
    /* Operators put these variables into sidecars too, and launchers read them themselves. */
    strvec_pushf(&plan->notices,
                 "the environment states a job shape, but %.100s is no Python program that it "
                 "could mean: init mode; state --nproc-per-node N to start ranks of it",
                 words[0]);
    return PLAN_INIT;
}

/* The job's id and role, which the environment may name too. */
static void name_job(const struct settings *settings, struct plan *plan)
{
    const char *id = settings_text(settings, OPT_RDZV_ID);

    plan->job.id = strvec_push(&plan->texts, id ? id : "none");
    plan->job.role = strvec_push(&plan->texts, settings_text(settings, OPT_ROLE));
}

static enum log_level resolve_level(const struct settings *settings)
{
    const struct setting *quiet = &settings->rows[OPT_QUIET];
    const struct setting *verbose = &settings->rows[OPT_VERBOSE];
    long count = settings_int(settings, OPT_VERBOSE);

    if (settings_flag(settings, OPT_QUIET) && !(count > 0 && verbose->source > quiet->source))
        return LOG_ERROR;
    if (count > 0)
        return count > 1 ? LOG_DEBUG : LOG_INFO;
    return LOG_NOTICE;
}

static void copy_facts(const struct facts *facts, struct plan *plan)
{
    memcpy(plan->host, facts->hostname, sizeof(plan->host));
    plan->host[sizeof(plan->host) - 1] = '\0';
    plan->pid = facts->pid;
    plan->is_init = facts->is_init;
    plan->memory_limit_bytes = facts->memory_limit_bytes;
    plan->shm_bytes = facts->shm_bytes;
    plan->ephemeral_port_min = facts->ephemeral_port_min;
    plan->ephemeral_port_max = facts->ephemeral_port_max;
}

/* True for an option that only means something to ranks. */
static bool is_for_ranks(enum option_id id)
{
    enum option_group group = option_rows[id].group;

    if (id == OPT_INIT_ONLY || id == OPT_SPEC || id == OPT_ACCELERATE_CONFIG)
        return false;
    return group == GROUP_RANKS || group == GROUP_DEVICES || id == OPT_LOCAL_RANK_ARG ||
           id == OPT_HYDRA || id == OPT_KEEP_ENV || id == OPT_MAX_RESTARTS;
}

static void note_settings(const struct settings *settings, struct plan *plan)
{
    for (int id = 0; id < OPT__COUNT; id++) {
        const struct option_row *row = &option_rows[id];

        if (!settings_stated(settings, (enum option_id)id))
            continue;
        if (row->status == OPTION_NO_EFFECT && plan->log_level >= LOG_INFO)
            strvec_pushf(&plan->notices, "%s has no effect: %s", settings->rows[id].origin,
                         row->note);
        /* What an image or a ConfigMap states is for other programs as well. */
        if (plan->mode == PLAN_INIT && is_for_ranks((enum option_id)id) &&
            (settings->rows[id].source == SOURCE_FLAG || plan->log_level >= LOG_INFO))
            strvec_pushf(&plan->notices, "%s has no effect in init mode",
                         settings->rows[id].origin);
    }
}

static void note_machine(struct plan *plan)
{
    if (plan->job.nproc > 1 && plan->shm_bytes >= 0 && plan->shm_bytes <= SHM_SMALL)
        strvec_pushf(&plan->notices,
                     "/dev/shm has only %lld MiB for %d ranks: data loaders and NCCL may die of "
                     "SIGBUS; give it more (docker run --shm-size, a memory-backed volume)",
                     (long long)(plan->shm_bytes >> 20), plan->job.nproc);
}

static void begin(struct plan *plan)
{
    *plan = (struct plan){.job = {.nnodes = 1, .nproc = 1, .world_size = 1, .platform = "none"},
                          .devices = {.origin = "none", .per_rank = 1},
                          .sysroot = "",
                          .script_index = -1};
}

void plan_refused(const struct plan_inputs *inputs, struct plan *ret)
{
    begin(ret);
    ret->mode = settings_flag(inputs->settings, OPT_INIT_ONLY) ? PLAN_INIT : PLAN_FANOUT;
    ret->log_level = resolve_level(inputs->settings);
    copy_facts(inputs->facts, ret);
    exit_policy_resolve(inputs->settings, &ret->exit);
    plan_resolve_report(inputs, ret);
    /* Before there is a plan nobody has asked for ranks: on stderr one line is all. */
    ret->report.page = ret->report.json_line = false;
}

int plan_resolve(const struct plan_inputs *inputs, struct plan *ret, struct err *err)
{
    begin(ret);
    exit_policy_resolve(inputs->settings, &ret->exit);
    if (!plan_program_words(inputs)[0])
        return err_set(err, ERR_USAGE,
                       "no PROGRAM: rankinit [OPTIONS] [--] PROGRAM [ARG...], or a command in the "
                       "spec");
    ret->torchrun = plan_called_torchrun(inputs->argv0);
    ret->mode = decide_mode(inputs, ret);
    ret->log_level = resolve_level(inputs->settings);
    copy_facts(inputs->facts, ret);
    if (plan_resolve_security(inputs, ret, err) < 0)
        return -1;
    plan_resolve_env(inputs, ret);
    if (ret->mode == PLAN_FANOUT && plan_resolve_shape(inputs, ret, err) < 0)
        return -1;
    name_job(inputs->settings, ret);
    plan_note_env(inputs->spec, ret);
    if (plan_check_rdzv(inputs, ret, err) < 0 || plan_resolve_program(inputs, ret, err) < 0 ||
        hydra_resolve(inputs, ret, err) < 0 || plan_resolve_ranks(inputs, ret, err) < 0 ||
        plan_resolve_output(inputs, ret, err) < 0 || plan_resolve_limits(inputs, ret, err) < 0)
        return -1;
    plan_resolve_stop(inputs, ret);
    note_settings(inputs->settings, ret);
    note_machine(ret);
    return 0;
}

void plan_release(struct plan *plan)
{
    for (int i = 0; plan->ranks && i < plan->job.nproc; i++) {
        strvec_release(&plan->ranks[i].argv);
        strvec_release(&plan->ranks[i].env_set);
        strvec_release(&plan->ranks[i].env_unset);
    }
    free(plan->ranks);
    strvec_release(&plan->argv);
    strvec_release(&plan->env);
    devices_release(&plan->devices);
    plan_release_places(plan);
    plan_release_files(plan);
    strvec_release(&plan->notices);
    strvec_release(&plan->texts);
}
