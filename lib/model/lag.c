#include "model/lag.h"

#include <inttypes.h>
#include <string.h>

#include "model/ranks.h"
#include "model/sentence.h"

#define ERROR_MAX 120 /* bytes of an error's message */
#define RANKS_MAX 48  /* bytes of a list of ranks */
#define NS_PER_MS 1000000LL

bool lag_is_timeout(const struct verdict *verdict)
{
    return verdict->root >= 0 && verdict->cause.echo &&
           evidence_is_collective_timeout(verdict->cause.message);
}

static const struct collective *heard(const struct outcome *outcome, int local_rank)
{
    return &outcome->ranks[local_rank].evidence->collective;
}

static bool same_group(const struct collective *a, const struct collective *b)
{
    return !a->group[0] || !b->group[0] || strcmp(a->group, b->group) == 0;
}

/* Whether it waited in vain in the group that the root waited in. */
static bool waited_with(const struct outcome *outcome, const struct verdict *verdict,
                        int local_rank)
{
    const struct collective *it = heard(outcome, local_rank);

    return it->timed_out && same_group(it, heard(outcome, verdict->root));
}

/* Where the group stands: the furthest operation, as most ranks call it (Boyer and Moore's vote). */
static void find_front(const struct outcome *outcome, const struct verdict *verdict,
                       struct lags *ret)
{
    int lead = 0;

    ret->seq = COLLECTIVE_UNKNOWN;
    ret->op = "";

    for (int i = 0; i < outcome->count; i++) {
        if (waited_with(outcome, verdict, i) && heard(outcome, i)->seq > ret->seq)
            ret->seq = heard(outcome, i)->seq;
    }
    for (int i = 0; i < outcome->count; i++) {
        const struct collective *it = heard(outcome, i);

        if (!waited_with(outcome, verdict, i) || it->seq != ret->seq)
            continue;
        if (lead == 0)
            ret->op = it->op;
        lead += strcmp(it->op, ret->op) == 0 ? 1 : -1;
    }
}

static bool is_silent(const struct outcome *outcome, const struct verdict *verdict, int local_rank)
{
    const struct outcome_rank *rank = &outcome->ranks[local_rank];
    struct outcome_candidate candidate;

    if (local_rank == verdict->root || heard(outcome, local_rank)->timed_out ||
        outcome_account(rank, &candidate))
        return false;
    return rank->state == RANK_ALIVE ||
           (rank->state == RANK_ENDED && rank->ended_ns > verdict->cause_ns);
}

/* Gloo has no numbers: its timeouts only tell that the rank waited. */
static enum lag lag_without_watchdog(const struct outcome *outcome, const struct verdict *verdict,
                                     int local_rank)
{
    struct outcome_candidate candidate;

    if (is_silent(outcome, verdict, local_rank))
        return LAG_SILENT;
    if (outcome_account(&outcome->ranks[local_rank], &candidate) && candidate.echo &&
        evidence_is_collective_timeout(candidate.words->message))
        return LAG_WAITED;
    return LAG_NONE;
}

static enum lag lag_of(const struct outcome *outcome, const struct verdict *verdict,
                       const struct lags *front, int local_rank)
{
    const struct collective *it = heard(outcome, local_rank);

    if (it->told && same_group(it, heard(outcome, verdict->root)) && it->enqueued < front->seq)
        return LAG_BEHIND;
    if (!waited_with(outcome, verdict, local_rank))
        return lag_without_watchdog(outcome, verdict, local_rank);
    if (it->seq < front->seq)
        return LAG_BEHIND;
    return strcmp(it->op, front->op) == 0 ? LAG_WAITED : LAG_ELSEWHERE;
}

/* How far the hindmost of those that are behind had come. */
static void find_hindmost(const struct outcome *outcome, struct lags *ret)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < outcome->count; i++) {
        const struct collective *it = heard(outcome, i);

        if (ret->of[i] == LAG_BEHIND && it->told && it->enqueued < least)
            least = it->enqueued;
    }
    ret->enqueued = least < INT64_MAX ? least : COLLECTIVE_UNKNOWN;
}

void lag_look(const struct outcome *outcome, const struct verdict *verdict, struct lags *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->group = heard(outcome, verdict->root)->group;
    find_front(outcome, verdict, ret);
    for (int i = 0; i < outcome->count; i++) {
        enum lag lag = lag_of(outcome, verdict, ret, i);

        ret->of[i] = (unsigned char)lag;
        ret->count[lag]++;
    }
    find_hindmost(outcome, ret);
}

/* "rank 5", "ranks 3-4,7" */
static void add_ranks(const struct lags *lags, const struct plan *plan, enum lag lag,
                      struct buf *out)
{
    const struct ranks ranks = {lags->of, plan->job.nproc, plan->job.first_rank};

    buf_adds(out, lags->count[lag] == 1 ? "rank " : "ranks ");
    ranks_add(&ranks, (unsigned char)lag, RANKS_MAX, out);
}

static void add_elsewhere(const struct outcome *outcome, const struct lags *lags, struct buf *out)
{
    for (int i = 0; i < outcome->count; i++) {
        if (lags->of[i] == LAG_ELSEWHERE) {
            buf_addf(out, " (%s)", heard(outcome, i)->op);
            return;
        }
    }
}

static void add_laggards(const struct outcome *outcome, const struct plan *plan,
                         const struct lags *lags, struct buf *out)
{
    static const char *const words[] = {
        [LAG_BEHIND] = "behind", [LAG_ELSEWHERE] = "in another operation", [LAG_SILENT] = "silent"};
    size_t start = out->len;

    for (int lag = LAG_BEHIND; lag <= LAG_SILENT; lag++) {
        if (lags->count[lag] == 0)
            continue;
        buf_adds(out, out->len > start ? ", " : "");
        add_ranks(lags, plan, (enum lag)lag, out);
        buf_addf(out, " %s %s", lags->count[lag] == 1 ? "was" : "were", words[lag]);
        if (lag == LAG_BEHIND && lags->enqueued != COLLECTIVE_UNKNOWN)
            buf_addf(out, " (last enqueued %" PRId64 ")", lags->enqueued);
        if (lag == LAG_ELSEWHERE)
            add_elsewhere(outcome, lags, out);
    }
    if (out->len > start)
        buf_adds(out, " in a collective");
    else if (plan->job.nnodes > 1)
        buf_adds(out, "a collective timed out and no rank of this node lags: see the other nodes");
    else
        buf_adds(out, "a collective timed out though all ranks came to it");
}

static void add_operation(const struct collective *it, struct buf *out)
{
    if (it->waited_ms >= 0) {
        buf_adds(out, " after waiting ");
        sentence_seconds(it->waited_ms * NS_PER_MS, out);
    }
    buf_addf(out, " in %s", it->op[0] ? it->op : "an operation");
    if (it->seq >= 0)
        buf_addf(out, ", SeqNum %" PRId64, it->seq);
    if (it->group[0])
        buf_addf(out, ", group %s", it->group);
    if (it->told)
        buf_addf(out, ", last enqueued %" PRId64 ", last completed %" PRId64, it->enqueued,
                 it->completed);
}

void lag_sentence(const struct outcome *outcome, const struct plan *plan,
                  const struct verdict *verdict, struct buf *out)
{
    const struct collective *it = heard(outcome, verdict->root);
    struct lags lags;

    lag_look(outcome, verdict, &lags);
    add_laggards(outcome, plan, &lags, out);
    buf_adds(out, "; ");
    sentence_rank(plan, verdict->root, out);
    buf_adds(out, " gave up first");
    if (it->timed_out) {
        add_operation(it, out);
    } else {
        buf_adds(out, ": ");
        sentence_error(&verdict->cause, ERROR_MAX, out);
    }
    buf_adds(out, ", ");
    sentence_end(outcome, plan, verdict->root, out);
    buf_adds(out, " after ");
    sentence_seconds(verdict->cause_ns, out);
}
