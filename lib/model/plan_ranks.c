/*
 * What differs between the ranks here: the spec's ranks:. Two rows may speak of one rank, but not of
 * the same thing: which of them was meant is not for us to guess.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/scan.h"
#include "model/plan.h"
#include "model/plan_parts.h"
#include "model/rankenv.h"

#define LIST_ROOM 8192

/* The local ranks that a row is about. */
struct chosen {
    bool ranks[PLAN_RANKS_MAX];
    long largest;
    int count;
};

static void choose(void *context, long number)
{
    struct chosen *chosen = context;

    if (!chosen->ranks[number])
        chosen->count++;
    chosen->ranks[number] = true;
    if (number > chosen->largest)
        chosen->largest = number;
}

static int read_local(const struct spec_rank *row, const struct plan *plan, struct chosen *ret,
                      struct err *err)
{
    memset(ret, 0, sizeof(*ret));
    scan_list(row->local, PLAN_RANKS_MAX - 1, choose, ret);
    if (ret->largest < plan->job.nproc)
        return 0;
    return err_set(err, ERR_SPEC, "%s is about local rank %ld, but there %s only %d here, from 0",
                   row->origin, ret->largest, plan->job.nproc == 1 ? "is" : "are", plan->job.nproc);
}

/* Devices on their way to the ranks. */
struct deal {
    const struct plan_inputs *inputs;
    struct plan *plan;
    bool share;
    int *rows;           /* by local rank: which row gave it devices, from 1; 0: none yet */
    bool *taken;         /* by place in the pool */
    struct strvec lists; /* by row */
};

/* Notes that a row takes a device; true if that is not somebody's already. */
static bool take(const struct deal *deal, const char *token)
{
    int place = devices_position(&deal->plan->devices, deal->inputs->facts, token);
    bool was = place >= 0 && deal->taken[place];

    if (place >= 0)
        deal->taken[place] = true;
    return !was;
}

static int check_mig(const struct spec_rank *row, const struct strvec *tokens, struct err *err)
{
    if (tokens->count > 1 && strncmp(tokens->items[0], "MIG-", 4) == 0)
        return err_set(err, ERR_SPEC, "%s=%s: a process can use only one MIG instance", row->origin,
                       row->devices);
    return 0;
}

/* Reads a row's devices into the list of the row. */
static int select_devices(struct deal *deal, const struct spec_rank *row, int count,
                          struct err *err)
{
    CLEANUP(strvec_release) struct strvec tokens = STRVEC_INIT;
    const struct setting list = {SOURCE_SPEC, row->devices, row->origin};
    char room[LIST_ROOM];
    struct buf out = BUF_OVER(room);

    if (devices_select(&deal->plan->devices, deal->inputs->facts, &list, &tokens, err) < 0 ||
        check_mig(row, &tokens, err) < 0)
        return -1;
    for (size_t i = 0; i < tokens.count; i++) {
        if ((!take(deal, tokens.items[i]) || count > 1) && !deal->share)
            return err_set(err, ERR_SPEC,
                           "%s=%s: \"%s\" would be the device of several ranks: give each its "
                           "own, or state --device-share",
                           row->origin, row->devices, tokens.items[i]);
        buf_addf(&out, i > 0 ? ",%s" : "%s", tokens.items[i]);
    }
    strvec_push(&deal->lists, room);
    return 0;
}

static int deal_row(struct deal *deal, int number, struct err *err)
{
    const struct spec_rank *rows = deal->inputs->spec->ranks;
    const struct spec_rank *row = &rows[number - 1];
    struct chosen chosen;

    if (read_local(row, deal->plan, &chosen, err) < 0)
        return -1;
    if (!row->devices) {
        strvec_push(&deal->lists, "");
        return 0;
    }
    for (int i = 0; i < deal->plan->job.nproc; i++) {
        if (!chosen.ranks[i])
            continue;
        if (deal->rows[i] > 0)
            return err_set(err, ERR_SPEC,
                           "%s and %s both state devices of local rank %d: state them in one place",
                           rows[deal->rows[i] - 1].origin, row->origin, i);
        deal->rows[i] = number;
    }
    return select_devices(deal, row, chosen.count, err);
}

/* The next devices of the pool that nobody has, for a rank that no row is about; false: too few. */
static bool deal_rest(const struct deal *deal, int local_rank, struct buf *out)
{
    const struct devices *devices = &deal->plan->devices;
    size_t count = devices->pool.count;

    for (int n = 0; n < devices->per_rank; n++) {
        size_t place = 0;

        while (place < count && deal->taken[place])
            place++;
        if (place == count && (count == 0 || !deal->share))
            return false;
        if (place == count)
            place = (size_t)(local_rank * devices->per_rank + n) % count;
        deal->taken[place] = true;
        buf_addf(out, n > 0 ? ",%s" : "%s", devices->pool.items[place]);
    }
    return true;
}

static int deal_all(struct deal *deal, struct err *err)
{
    struct devices *devices = &deal->plan->devices;
    int nproc = deal->plan->job.nproc;

    for (size_t i = 0; i < deal->inputs->spec->rank_count; i++) {
        if (deal_row(deal, (int)i + 1, err) < 0)
            return -1;
    }
    for (int i = 0; i < nproc; i++) {
        char room[LIST_ROOM];
        struct buf list = BUF_OVER(room);

        if (deal->rows[i] > 0)
            buf_adds(&list, strvec_texts(&deal->lists)[deal->rows[i] - 1]);
        else if (!deal_rest(deal, i, &list))
            return err_set(err, ERR_SPEC,
                           "local rank %d has no device left: %s shows %zu, and ranks: gives some "
                           "of them away; ask for less, or state --device-share",
                           i, devices->origin, devices->pool.count);
        strvec_push(&devices->own, room);
    }
    return 0;
}

/* A rank's own devices need a mode in which ranks have such. */
static int check_mode(const struct plan_inputs *inputs, const struct spec_rank *row,
                      struct plan *plan, struct err *err)
{
    struct devices *devices = &plan->devices;

    if (devices->mode == DEVICE_AUTO)
        devices->mode = DEVICE_ISOLATED;
    if (devices->mode == DEVICE_SHARED || devices->mode == DEVICE_NONE)
        return err_set(err, ERR_SPEC,
                       "%s gives a rank its own devices, which %s=%s does not allow: state "
                       "isolated or isolated-keep-rank",
                       row->origin, inputs->settings->rows[OPT_DEVICE_MODE].origin,
                       settings_text(inputs->settings, OPT_DEVICE_MODE));
    if (devices->pool.count > 0)
        return 0;
    if (devices->hidden)
        return err_set(err, ERR_DEVICES, "%s asks for devices, but %s hides all of them",
                       row->origin, devices->variable);
    return err_set(err, ERR_DEVICES,
                   "%s asks for devices, but none can be used here: run the container with its "
                   "GPUs",
                   row->origin);
}

/* The first row that states devices; NULL if none does. */
static const struct spec_rank *with_devices(const struct spec *spec)
{
    for (size_t i = 0; i < spec->rank_count; i++) {
        if (spec->ranks[i].devices)
            return &spec->ranks[i];
    }
    return NULL;
}

static void deal_release(struct deal *deal)
{
    free(deal->rows);
    free(deal->taken);
    strvec_release(&deal->lists);
}

static int deal_begin(struct deal *deal, struct err *err)
{
    deal->share = settings_flag(deal->inputs->settings, OPT_DEVICE_SHARE);
    deal->rows = calloc((size_t)deal->plan->job.nproc, sizeof(*deal->rows));
    deal->taken = calloc(deal->plan->devices.pool.count, sizeof(*deal->taken));
    if (!deal->rows || !deal->taken)
        return err_set(err, ERR_SYSTEM, "no memory for %d ranks", deal->plan->job.nproc);
    return 0;
}

int plan_resolve_rank_devices(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct spec_rank *first = with_devices(inputs->spec);
    struct deal deal = {.inputs = inputs, .plan = plan};
    int rc;

    if (!first)
        return 0;
    if (check_mode(inputs, first, plan, err) < 0)
        return -1;
    rc = deal_begin(&deal, err) < 0 ? -1 : deal_all(&deal, err);
    deal_release(&deal);
    return rc;
}

/* CPUs of a row; those that are not ours cannot be given. */
static int read_cpus(const struct spec_rank *row, const struct cpuset *allowed, struct cpuset *ret,
                     struct err *err)
{
    char room[256];
    struct buf list = BUF_OVER(room);

    *ret = (struct cpuset){0};
    cpuset_read(ret, row->cpus);
    if (cpuset_within(ret, allowed))
        return 0;
    cpuset_write(allowed, &list);
    return err_set(err, ERR_SPEC, "%s: cpus: %.80s are not all among the CPUs allowed here, %s",
                   row->origin, row->cpus, room);
}

int plan_resolve_rank_cpus(const struct plan_inputs *inputs, struct plan *plan, struct cpuset *left,
                           struct err *err)
{
    const struct spec *spec = inputs->spec;
    struct chosen chosen;
    struct cpuset cpus;

    for (size_t i = 0; i < spec->rank_count; i++) {
        const struct spec_rank *row = &spec->ranks[i];

        if (!row->cpus)
            continue;
        if (read_local(row, plan, &chosen, err) < 0 ||
            read_cpus(row, &inputs->facts->cpus, &cpus, err) < 0)
            return -1;
        for (int rank = 0; rank < plan->job.nproc; rank++) {
            struct plan_place *place = &plan->places[rank];

            if (!chosen.ranks[rank])
                continue;
            if (place->own)
                return err_set(err, ERR_SPEC,
                               "%s: another row states cpus of local rank %d too: state them in "
                               "one place",
                               row->origin, rank);
            place->own = place->bound = true;
            place->cpus = cpus;
        }
        cpuset_subtract(left, &cpus);
    }
    return 0;
}

/* True if a name is in a list of "NAME=value" or of names. */
static bool has_name(const struct strvec *list, const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < list->count; i++) {
        if (strcspn(list->items[i], "=") == len && strncmp(list->items[i], entry, len) == 0)
            return true;
    }
    return false;
}

/* Adds a row's names to a rank's. */
static int add_names(const struct spec_rank *row, const struct strvec *names,
                     struct plan_rank *rank, struct strvec *into, struct err *err)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *entry = names->items[i];
        int len = (int)strcspn(entry, "=");

        if (has_name(&rank->env_set, entry) || has_name(&rank->env_unset, entry))
            return err_set(err, ERR_SPEC,
                           "%s: env: another row states %.*s for one of these ranks too: state it "
                           "in one place",
                           row->origin, len, entry);
        strvec_push(into, entry);
    }
    return 0;
}

/* What a rank can see is told by its list of devices; a second way to say so would not be checked. */
static int check_names(const struct spec_rank *row, const struct devices *devices, struct err *err)
{
    const char *const *names = devices->vendor->variables;

    for (int i = 0; i < VENDOR_VARIABLES && names[i]; i++) {
        if (has_name(&row->env_set, names[i]) || has_name(&row->env_unset, names[i]))
            return err_set(err, ERR_SPEC,
                           "%s: env: %s of single ranks is stated with devices:", row->origin,
                           names[i]);
    }
    return 0;
}

/* A program of the rank's own runs under the PYTHON_EXEC that the rank gets. */
static int add_command(const struct plan_inputs *inputs, const struct plan *plan,
                       const struct spec_rank *row, struct plan_rank *rank, struct err *err)
{
    CLEANUP(strvec_release) struct strvec env = STRVEC_INIT;
    struct plan_command command = {.words = strvec_texts(&row->command),
                                   .argv = &rank->argv,
                                   .script_index = &rank->script_index};

    if (row->command.count == 0)
        return 0;
    if (rank->argv.count > 0)
        return err_set(err, ERR_SPEC,
                       "%s: another row states a command for one of these ranks too: state it in "
                       "one place",
                       row->origin);
    strvec_push_all(&env, strvec_texts(&plan->env));
    rankenv_apply(&env, &rank->env_unset, &rank->env_set);
    command.envp = strvec_texts(&env);
    return plan_resolve_command(inputs, plan, &command, err);
}

static int add_row(const struct plan_inputs *inputs, const struct plan *plan,
                   const struct spec_rank *row, struct err *err)
{
    struct chosen chosen;

    if (read_local(row, plan, &chosen, err) < 0 || check_names(row, &plan->devices, err) < 0)
        return -1;
    for (int i = 0; i < plan->job.nproc; i++) {
        struct plan_rank *rank = &plan->ranks[i];

        if (chosen.ranks[i] && (add_names(row, &row->env_set, rank, &rank->env_set, err) < 0 ||
                                add_names(row, &row->env_unset, rank, &rank->env_unset, err) < 0 ||
                                add_command(inputs, plan, row, rank, err) < 0))
            return -1;
    }
    return 0;
}

int plan_resolve_ranks(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct spec *spec = inputs->spec;

    if (spec->rank_count == 0)
        return 0;
    if (plan->mode == PLAN_INIT) {
        strvec_pushf(&plan->notices, "%s and others have no effect in init mode",
                     spec->ranks[0].origin);
        return 0;
    }
    plan->ranks = calloc((size_t)plan->job.nproc, sizeof(*plan->ranks));
    if (!plan->ranks)
        return err_set(err, ERR_SYSTEM, "no memory for %d ranks", plan->job.nproc);
    for (size_t i = 0; i < spec->rank_count; i++) {
        if (add_row(inputs, plan, &spec->ranks[i], err) < 0)
            return -1;
    }
    return 0;
}
