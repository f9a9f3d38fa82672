#include "report/groups.h"

#include <string.h>
#include <sys/wait.h>

#include "base/digest.h"
#include "model/ranks.h"

static uint64_t key_of(const struct outcome_rank *rank, enum rank_class class,
                       const struct outcome_candidate *candidate)
{
    uint64_t key = digest_number(DIGEST_START, (int)class);

    key = digest_number(key, (int)rank->state);
    key = digest_number(key, rank->state == RANK_ENDED ? rank->wait_status & 0xFFFF : 0);
    key = digest_number(key, (int)rank->stage);
    key = digest_number(key, rank->stage_errno);
    key = digest_number(key, rank->oom);
    if (candidate->words) {
        key = digest_text(key, candidate->words->type);
        key = digest_wording(key, candidate->words->message, strlen(candidate->words->message));
        key = digest_number(key, candidate->words->line);
        key = digest_number(key, (int64_t)candidate->words->frames);
    }
    return key;
}

static bool is_listed(enum rank_class class)
{
    return class != CLASS_NONE && class != CLASS_STOPPED_BY_US;
}

static struct group *find(struct groups *groups, uint64_t key)
{
    for (int i = 0; i < groups->count; i++) {
        if (groups->list[i].key == key)
            return &groups->list[i];
    }
    return NULL;
}

static void add_rank(const struct outcome *outcome, const struct verdict *verdict, int local_rank,
                     struct groups *ret)
{
    enum rank_class class = outcome_class(outcome, verdict, local_rank);
    const struct outcome_rank *rank = &outcome->ranks[local_rank];
    struct outcome_candidate candidate;
    struct group *group;
    uint64_t key;

    if (!is_listed(class))
        return;
    outcome_account(rank, &candidate);
    key = key_of(rank, class, &candidate);
    group = find(ret, key);
    if (!group && ret->count == GROUPS_MAX) {
        ret->left_out++;
        return;
    }
    if (!group) {
        group = &ret->list[ret->count++];
        *group = (struct group){.first = local_rank, .class = class, .key = key};
        group->at_ns = candidate.at_ns;
    } else if (candidate.at_ns < group->at_ns && group->first != verdict->root) {
        group->first = local_rank;
        group->at_ns = candidate.at_ns;
    }
    group->count++;
    ret->of[local_rank] = (unsigned char)(group - ret->list + 1);
}

static bool precedes(const struct group *a, const struct group *b, int root)
{
    if ((a->first == root) != (b->first == root))
        return a->first == root;
    if ((a->class == CLASS_CAUSE) != (b->class == CLASS_CAUSE))
        return a->class == CLASS_CAUSE;
    return a->at_ns < b->at_ns;
}

static void sort(struct groups *groups, int root)
{
    unsigned char place[GROUPS_MAX + 1] = {0}, was[GROUPS_MAX];

    for (int i = 0; i < groups->count; i++) {
        struct group moving = groups->list[i];
        int at = i;

        for (; at > 0 && precedes(&moving, &groups->list[at - 1], root); at--) {
            groups->list[at] = groups->list[at - 1];
            was[at] = was[at - 1];
        }
        groups->list[at] = moving;
        was[at] = (unsigned char)(i + 1);
    }
    for (int i = 0; i < groups->count; i++)
        place[was[i]] = (unsigned char)(i + 1);
    for (size_t i = 0; i < PLAN_RANKS_MAX; i++)
        groups->of[i] = place[groups->of[i]];
}

void groups_make(const struct outcome *outcome, const struct verdict *verdict, struct groups *ret)
{
    memset(ret, 0, sizeof(*ret));
    /* First, so that it stands for its group and is never among those left out. */
    if (verdict->root >= 0)
        add_rank(outcome, verdict, verdict->root, ret);
    for (int i = 0; i < outcome->count; i++) {
        if (i != verdict->root)
            add_rank(outcome, verdict, i, ret);
    }
    sort(ret, verdict->root);
}

bool groups_ranks(const struct groups *groups, int index, const struct plan *plan, size_t limit,
                  struct buf *out)
{
    const struct ranks ranks = {groups->of, PLAN_RANKS_MAX, plan->job.first_rank};

    return ranks_add(&ranks, (unsigned char)(index + 1), limit, out);
}
