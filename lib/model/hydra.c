#include "model/hydra.h"

#include <stdio.h>
#include <string.h>

#include "base/calendar.h"
#include "base/cleanup.h"

#define ID_SAFE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static bool starts(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

/* key=value, +key=value, ~key */
static bool is_override(const char *word)
{
    return word[0] == '+' || word[0] == '~' || (word[0] != '-' && strchr(word, '='));
}

/* argparse takes Hydra's overrides only as one run of words. */
size_t hydra_place(const struct strvec *argv, int script_index)
{
    for (size_t i = (size_t)script_index + 1; i < argv->count; i++) {
        if (is_override(argv->items[i]))
            return i;
    }
    return argv->count;
}

/* The last word that begins like this, behind the script; NULL if there is none. */
static const char *find_word(const struct plan *plan, const char *with)
{
    const char *found = NULL;

    for (size_t i = (size_t)plan->script_index + 1; i < plan->argv.count; i++) {
        if (starts(plan->argv.items[i], with))
            found = plan->argv.items[i];
    }
    return found;
}

static const char *find_sweep(const struct plan *plan)
{
    static const char *const words[] = {"-m", "--multirun", "hydra.mode=MULTIRUN"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *found = find_word(plan, words[i]);

        if (found && strcmp(found, words[i]) == 0)
            return found;
    }
    return NULL;
}

/* outputs/2026-12-01/10-30-00, as Hydra's own default is, but in UTC. */
static const char *name_by_time(int64_t unix_seconds, struct plan *plan)
{
    struct calendar now = calendar_of(unix_seconds);

    return strvec_pushf(&plan->texts, "outputs/%04d-%02d-%02d/%02d-%02d-%02d", (int)now.year,
                        now.month, now.day, now.hour, now.minute, now.second);
}

/* The job's id, without what Hydra's grammar or a path would read as something else. */
static const char *name_by_id(const char *id, struct plan *plan)
{
    char name[128];
    size_t len = 0;

    for (; len < sizeof(name) - 1 && id[len] != '\0'; len++)
        name[len] = (strchr(ID_SAFE, id[len]) || (id[len] == '.' && len > 0)) ? id[len] : '_';
    name[len] = '\0';
    return strvec_pushf(&plan->texts, "outputs/%s", name);
}

static int name_directory(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const char *stated = find_word(plan, "hydra.run.dir=");

    if (stated && strstr(stated, "${now"))
        strvec_pushf(&plan->notices,
                     "%s: each rank looks at the clock by itself, and they may differ; without it "
                     "rankinit gives all ranks one directory",
                     stated);
    if (stated)
        return 0;
    if (strcmp(plan->job.id, "none") != 0)
        plan->hydra.dir = name_by_id(plan->job.id, plan);
    else if (plan->job.world_size == plan->job.nproc)
        plan->hydra.dir = name_by_time(inputs->facts->now_s, plan);
    else
        return err_set(err, ERR_SPEC,
                       "%s: the ranks of other nodes need to know the run directory too: state "
                       "--rdzv-id ID, or hydra.run.dir=DIR behind the script",
                       inputs->settings->rows[OPT_HYDRA].origin);
    return 0;
}

int hydra_resolve(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const char *origin = inputs->settings->rows[OPT_HYDRA].origin;

    if (plan->mode != PLAN_FANOUT || !settings_flag(inputs->settings, OPT_HYDRA))
        return 0;
    if (plan->script_index < 0)
        return err_set(err, ERR_USAGE, "%s: %.200s is no Python script or module", origin,
                       plan->argv.items[0]);
    if (find_sweep(plan))
        return err_set(err, ERR_USAGE,
                       "%s: %s: a sweep is run once, and its jobs get the ranks: python %.200s -m "
                       "hydra/launcher=rankinit (lib/hydra)",
                       origin, find_sweep(plan), plan->argv.items[plan->script_index]);
    plan->hydra.pinned = true;
    return name_directory(inputs, plan, err);
}

void hydra_push(const struct plan_hydra *hydra, int rank, struct strvec *argv)
{
    if (hydra->dir)
        strvec_pushf(argv, "hydra.run.dir=%s", hydra->dir);
    if (rank == 0)
        return;
    strvec_push(argv, "hydra.output_subdir=null");
    strvec_push(argv, "hydra/job_logging=stdout");
}
