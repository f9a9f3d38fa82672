#include "model/stuck.h"

#include <string.h>

#include "model/ranks.h"
#define GROUPS_SHOWN 6  /* in the sentence */
#define RANKS_SHOWN  48 /* bytes of a list of ranks there */

const struct traceback_place *stuck_place(const struct outcome *outcome, int local_rank)
{
    const struct traceback_place *place = &outcome->ranks[local_rank].evidence->reader.stood;

    return place->line > 0 ? place : NULL;
}

static bool was_told(const struct outcome *outcome, int local_rank)
{
    return outcome->ranks[local_rank].signalled_ns != OUTCOME_NEVER;
}

static bool is_same(const struct traceback_place *a, const struct traceback_place *b)
{
    return a && b && a->line == b->line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->function, b->function) == 0;
}

static struct stuck_group *find(const struct outcome *outcome, struct stuck *stuck,
                                const struct traceback_place *place)
{
    for (int i = 0; i < stuck->count; i++) {
        if (is_same(stuck_place(outcome, stuck->list[i].first), place))
            return &stuck->list[i];
    }
    return NULL;
}

void stuck_make(const struct outcome *outcome, struct stuck *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!limits_is_hang(outcome->limit.kind))
        return;
    for (int i = 0; i < outcome->count; i++) {
        const struct traceback_place *place = stuck_place(outcome, i);
        struct stuck_group *group;

        if (!was_told(outcome, i))
            continue;
        if (!place) {
            ret->silent++;
            continue;
        }
        group = find(outcome, ret, place);
        if (group)
            group->count++;
        else if (ret->count == STUCK_MAX)
            ret->left_out++;
        else
            ret->list[ret->count++] = (struct stuck_group){.first = i, .count = 1};
    }
}

/* True if this rank stood where the group's first one did; with no such rank, if it told nothing. */
static bool is_in(const struct outcome *outcome, int first, int local_rank)
{
    if (local_rank >= outcome->count || !was_told(outcome, local_rank))
        return false;
    if (first < 0)
        return !stuck_place(outcome, local_rank);
    return is_same(stuck_place(outcome, first), stuck_place(outcome, local_rank));
}

/* As stuck_ranks; first is -1 for those that told nothing. */
static bool add_ranks(const struct outcome *outcome, int base, int first, size_t limit,
                      struct buf *out)
{
    unsigned char in[PLAN_RANKS_MAX];
    const struct ranks ranks = {in, outcome->count, base};

    for (int i = 0; i < outcome->count; i++)
        in[i] = is_in(outcome, first, i);
    return ranks_add(&ranks, true, limit, out);
}

bool stuck_ranks(const struct outcome *outcome, const struct plan *plan,
                 const struct stuck_group *group, size_t limit, struct buf *out)
{
    return add_ranks(outcome, plan->job.first_rank, group->first, limit, out);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void add_group(const struct outcome *outcome, const struct plan *plan,
                      const struct stuck_group *group, struct buf *out)
{
    const struct traceback_place *place = &outcome->ranks[group->first].evidence->reader.stood;
    const char *file = last_part(place->file);

    buf_adds(out, group->count == 1 ? "rank " : "ranks ");
    stuck_ranks(outcome, plan, group, RANKS_SHOWN, out);
    if (place->function[0])
        buf_adds(out, " in ");
    buf_add_plain(out, place->function, strlen(place->function));
    buf_adds(out, " at ");
    buf_add_plain(out, file, strlen(file));
    buf_addf(out, ":%d", place->line);
}

void stuck_sentence(const struct outcome *outcome, const struct plan *plan, struct buf *out)
{
    struct stuck stuck;
    int more;

    stuck_make(outcome, &stuck);
    for (int i = 0; i < stuck.count && i < GROUPS_SHOWN; i++) {
        if (i > 0)
            buf_adds(out, ", ");
        add_group(outcome, plan, &stuck.list[i], out);
    }
    more = stuck.left_out;
    for (int i = GROUPS_SHOWN; i < stuck.count; i++)
        more += stuck.list[i].count;
    if (more > 0)
        buf_addf(out, ", %d more elsewhere", more);
    if (stuck.silent == 0)
        return;
    buf_adds(out, stuck.count > 0 ? ", " : "");
    buf_adds(out, stuck.silent == 1 ? "rank " : "ranks ");
    add_ranks(outcome, plan->job.first_rank, -1, RANKS_SHOWN, out);
    buf_adds(out, " did not say where");
}
