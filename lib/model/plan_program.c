/*
 * What runs: the argument list and the environment that all leaders share.
 */
#include <string.h>

#include "model/plan.h"
#include "model/plan_parts.h"
#include "model/program.h"
#include "model/rankenv.h"

const char *const *plan_program_words(const struct plan_inputs *inputs)
{
    if (inputs->program && inputs->program[0])
        return inputs->program;
    return strvec_texts(&inputs->spec->command);
}

static void unset_prefix(struct strvec *env, const char *prefix)
{
    size_t kept = 0;

    while (kept < env->count) {
        const char *entry = env->items[kept];
        char name[256];
        size_t len = strcspn(entry, "=");

        if (strncmp(entry, prefix, strlen(prefix)) != 0 || len >= sizeof(name)) {
            kept++;
            continue;
        }
        memcpy(name, entry, len);
        name[len] = '\0';
        env_unset(env, name);
    }
}

/* A spec's env: wins over what is inherited, but not over what makes a rank. */
static void note_ours(const char *origin, const struct strvec *entries, struct plan *plan)
{
    for (size_t i = 0; i < entries->count; i++) {
        const char *entry = entries->items[i];

        if (rankenv_is_ours(entry))
            strvec_pushf(&plan->notices,
                         "%s: %.*s has no effect: every rank gets its own from rankinit; state it "
                         "under job: or rendezvous:",
                         origin, (int)strcspn(entry, "="), entry);
    }
}

void plan_note_env(const struct spec *spec, struct plan *plan)
{
    if (plan->mode == PLAN_INIT || plan->job.task.one)
        return;
    note_ours("spec env", &spec->env_set, plan);
    note_ours("spec env", &spec->env_unset, plan);
    for (size_t i = 0; i < spec->rank_count; i++) {
        note_ours(spec->ranks[i].origin, &spec->ranks[i].env_set, plan);
        note_ours(spec->ranks[i].origin, &spec->ranks[i].env_unset, plan);
    }
}

void plan_resolve_env(const struct plan_inputs *inputs, struct plan *plan)
{
    const struct settings *settings = inputs->settings;

    strvec_push_all(&plan->env, inputs->envp);
    if (plan->mode == PLAN_FANOUT) {
        if (settings_flag(settings, OPT_KEEP_ENV) || plan->job.task.one)
            unset_prefix(&plan->env, "RANKINIT_THIS_"); /* of another rank: never true here */
        else
            rankenv_scrub(&plan->env);
        /* A number that somebody stated beats what an image or a hook has put there. */
        if (settings_int(settings, OPT_THREADS) > 0)
            env_unset(&plan->env, "OMP_NUM_THREADS");
    }
    if (plan->mode == PLAN_FANOUT && inputs->accelerate)
        rankenv_apply(&plan->env, &(struct strvec)STRVEC_INIT, &inputs->accelerate->env);
    security_set_names(&plan->security.user, &plan->env);
    rankenv_apply(&plan->env, &inputs->spec->env_unset, &inputs->spec->env_set);
}

/* What a *.py runs under: torchrun's own variable, else what PATH has. */
static int find_python(const struct plan_inputs *inputs, const struct plan_command *command,
                       const char **ret, struct err *err)
{
    const char *python = env_get(command->envp, "PYTHON_EXEC");

    if (!python || *python == '\0')
        python = inputs->facts->python;
    if (!python)
        return err_set(err, ERR_NOT_FOUND,
                       "%.200s needs Python, but there is no python and no python3 on PATH, and "
                       "PYTHON_EXEC is not set",
                       command->words[0]);
    *ret = python;
    return 0;
}

/* Index of the script or module behind an interpreter that was written out; -1 if unknown. */
static int find_script(const char *const *words)
{
    for (int i = 1; words[i]; i++) {
        size_t len = strlen(words[i]);

        if (program_is_python_file(words[i]))
            return i;
        if (words[i][0] == '-' && words[i][1] != '-' && words[i][len - 1] == 'm' && words[i + 1])
            return i + 1;
    }
    return -1;
}

int plan_resolve_command(const struct plan_inputs *inputs, const struct plan *plan,
                         const struct plan_command *command, struct err *err)
{
    const struct setting *arg = &inputs->settings->rows[OPT_LOCAL_RANK_ARG];
    const char *const *words = command->words;
    bool module = settings_flag(inputs->settings, OPT_MODULE);
    bool bare = settings_flag(inputs->settings, OPT_NO_PYTHON);
    bool file = !bare && !module && (plan->torchrun || program_is_python_file(words[0]));
    const char *python = NULL;

    *command->script_index = -1;
    if ((module || file) && find_python(inputs, command, &python, err) < 0)
        return -1;
    if (python) {
        strvec_push(command->argv, python);
        strvec_push(command->argv, "-u");
        if (module)
            strvec_push(command->argv, "-m");
        *command->script_index = (int)command->argv->count;
    } else if (bare) {
        *command->script_index = 0;
    } else if (program_classify(words, false) == PROGRAM_PYTHON) {
        *command->script_index = find_script(words);
    }
    strvec_push_all(command->argv, words);
    if (plan->local_rank_arg && *command->script_index < 0)
        return err_set(err, ERR_USAGE,
                       "%s: %.200s is no Python script or module, so there is no place for "
                       "--local-rank=N; with --no-python it goes right after PROGRAM",
                       arg->origin, words[0]);
    return 0;
}

int plan_resolve_program(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct settings *settings = inputs->settings;
    const struct plan_command command = {.words = plan_program_words(inputs),
                                         .envp = strvec_texts(&plan->env),
                                         .argv = &plan->argv,
                                         .script_index = &plan->script_index};

    if (settings_flag(settings, OPT_MODULE) && settings_flag(settings, OPT_NO_PYTHON))
        return err_set(err, ERR_USAGE, "%s and %s exclude each other: a module needs Python",
                       settings->rows[OPT_MODULE].origin, settings->rows[OPT_NO_PYTHON].origin);
    plan->local_rank_arg = settings_flag(settings, OPT_LOCAL_RANK_ARG) && plan->mode == PLAN_FANOUT;
    if (settings_text(settings, OPT_WORKDIR))
        plan->workdir = strvec_push(&plan->texts, settings_text(settings, OPT_WORKDIR));
    return plan_resolve_command(inputs, plan, &command, err);
}
