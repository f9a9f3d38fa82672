#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "model/evidence.h"
#include "report/explain_parts.h"

int explain_rank_of(const struct node *node)
{
    if (node->documented && node->saved.node_rank != SAVED_UNKNOWN)
        return node->saved.node_rank;
    return node->pod.index;
}

/* Of two that are for the same node, the one that ended tells more, then the newer, then the longer. */
static int compare_worth(const struct node *a, const struct node *b)
{
    const struct saved *x = &a->saved, *y = &b->saved;

    if (a->documented != b->documented)
        return a->documented ? -1 : 1;
    if ((x->word == VERDICT_RUNNING) != (y->word == VERDICT_RUNNING))
        return x->word == VERDICT_RUNNING ? 1 : -1;
    if (x->started_ns != y->started_ns)
        return x->started_ns > y->started_ns ? -1 : 1;
    if (x->whole != y->whole)
        return x->whole ? -1 : 1;
    if (x->row_count != y->row_count)
        return x->row_count > y->row_count ? -1 : 1;
    return (int)strlen(y->root.words) - (int)strlen(x->root.words);
}

static int compare_nodes(const void *left, const void *right)
{
    const struct node *a = left, *b = right;
    int one = explain_rank_of(a), other = explain_rank_of(b), order;

    /* The unknown last. */
    if (one != other)
        return (unsigned int)one < (unsigned int)other ? -1 : 1;
    order = one == SAVED_UNKNOWN ? 0 : compare_worth(a, b);
    if (order == 0)
        order = strcmp(a->pod.name, b->pod.name);
    if (order == 0)
        order = strcmp(a->saved.host, b->saved.host);
    return order != 0 ? order : strcmp(a->saved.message, b->saved.message);
}

void explain_settle(struct explain *explain)
{
    int kept = 0;

    qsort(explain->nodes, (size_t)explain->count, sizeof(*explain->nodes), compare_nodes);
    for (int i = 0; i < explain->count; i++) {
        int rank = explain_rank_of(&explain->nodes[i]);

        if (kept > 0 && rank != SAVED_UNKNOWN &&
            rank == explain_rank_of(&explain->nodes[kept - 1])) {
            /* The same one twice is no news. */
            explain->superseded += explain->nodes[i].saved.started_ns !=
                                   explain->nodes[kept - 1].saved.started_ns;
            continue;
        }
        if (kept != i)
            explain->nodes[kept] = explain->nodes[i];
        kept++;
    }
    explain->count = kept;
}

/* What the document says of the rank that it names. */
static enum claim_kind kind_of_failure(const struct saved *saved)
{
    if (strcmp(saved->reason, "collective_timeout") == 0)
        return CLAIM_TIMEOUT;
    if (saved->row_count > 0 &&
        (saved->rows[0].class == CLASS_CONSEQUENCE || saved->rows[0].class == CLASS_VICTIM))
        return CLAIM_ECHO;
    /* Of a cut one the error may be all that is left. */
    if (saved->row_count == 0 && evidence_is_echo(saved->root.error.message))
        return CLAIM_ECHO;
    return CLAIM_OWN;
}

static int64_t known(int64_t first_ns, int64_t second_ns)
{
    if (first_ns != SAVED_NEVER)
        return first_ns;
    return second_ns != SAVED_NEVER ? second_ns : INT64_MAX;
}

static struct claim claim_of_document(const struct saved *saved)
{
    switch (saved->word) {
    case VERDICT_FAILED:
        return (struct claim){kind_of_failure(saved), known(saved->root.at_ns, saved->ended_ns)};
    case VERDICT_STOPPED:
        return (struct claim){CLAIM_STOPPED, known(saved->stop_ns, saved->ended_ns)};
    default: return (struct claim){CLAIM_NONE, INT64_MAX};
    }
}

/* What Kubernetes knows and no process inside can have said. */
static struct claim claim_of_pod(const struct node *node)
{
    const struct pod *pod = &node->pod;
    bool last_words = node->documented && node->saved.word != VERDICT_RUNNING;
    bool out_of_memory = strcmp(pod->end, "OOMKilled") == 0;

    if (pod->waiting[0])
        return (struct claim){CLAIM_UNBORN, INT64_MAX};
    if (last_words && node->saved.word == VERDICT_SUCCEEDED)
        return (struct claim){CLAIM_NONE, INT64_MAX};
    if (pod->taken[0])
        return (struct claim){CLAIM_KILLED, known(pod->taken_ns, pod->ended_ns)};
    if (pod->there && pod->end[0] && !last_words && (pod->exit_code != 0 || out_of_memory))
        return (struct claim){CLAIM_KILLED, known(pod->ended_ns, SAVED_NEVER)};
    if (last_words && out_of_memory)
        return (struct claim){CLAIM_KILLED, known(node->saved.root.at_ns, pod->ended_ns)};
    return (struct claim){CLAIM_NONE, INT64_MAX};
}

static bool is_cause(enum claim_kind kind)
{
    return kind >= CLAIM_UNBORN;
}

/* True if a comes before b: causes before what follows from them, then the earlier. */
static bool precedes(const struct claim *a, const struct claim *b)
{
    if (is_cause(a->kind) != is_cause(b->kind))
        return is_cause(a->kind);
    if (a->kind == CLAIM_NONE || b->kind == CLAIM_NONE)
        return b->kind == CLAIM_NONE && a->kind != CLAIM_NONE;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns;
    return a->kind > b->kind;
}

struct claim explain_claim(const struct node *node)
{
    struct claim said = {CLAIM_NONE, INT64_MAX}, seen = claim_of_pod(node);

    if (node->documented)
        said = claim_of_document(&node->saved);
    return precedes(&seen, &said) ? seen : said;
}

/* Failures in the same words from the same place: which of them was first does not matter. */
static bool is_same_failure(const struct node *a, const struct node *b)
{
    const struct saved_error *x = &a->saved.root.error, *y = &b->saved.root.error;

    return a->saved.root.there && b->saved.root.there && x->line == y->line &&
           strcmp(x->type, y->type) == 0 && strcmp(x->file, y->file) == 0 &&
           digest_wording(DIGEST_START, x->message, strlen(x->message)) ==
               digest_wording(DIGEST_START, y->message, strlen(y->message));
}

/* The nearest other one that the clocks of two machines cannot tell from the first. */
static int find_second(const struct explain *explain, int root)
{
    struct claim first = explain_claim(&explain->nodes[root]), best = {CLAIM_NONE, INT64_MAX};
    int second = -1;

    if (!is_cause(first.kind) || first.at_ns == INT64_MAX)
        return -1;
    for (int i = 0; i < explain->count; i++) {
        struct claim it = explain_claim(&explain->nodes[i]);

        if (i == root || !is_cause(it.kind) || it.at_ns - first.at_ns > EXPLAIN_SKEW_NS ||
            is_same_failure(&explain->nodes[i], &explain->nodes[root]) || !precedes(&it, &best))
            continue;
        best = it;
        second = i;
    }
    return second;
}

static void count_nodes(const struct explain *explain, struct job *ret)
{
    for (int i = 0; i < explain->count; i++) {
        const struct node *node = &explain->nodes[i];
        int rank = explain_rank_of(node);

        if (node->documented && node->saved.nnodes > ret->nnodes)
            ret->nnodes = node->saved.nnodes;
        if (rank >= ret->nnodes)
            ret->nnodes = rank + 1;
    }
    if (ret->nnodes < explain->count)
        ret->nnodes = explain->count;
    ret->missing = ret->nnodes - explain->count;
}

static void find_span(const struct explain *explain, struct job *ret)
{
    ret->zero_ns = ret->last_ns = SAVED_NEVER;
    for (int i = 0; i < explain->count; i++) {
        const struct node *node = &explain->nodes[i];
        int64_t started = node->documented ? node->saved.started_ns : SAVED_NEVER;
        int64_t ends[] = {node->documented ? node->saved.ended_ns : SAVED_NEVER,
                          node->documented ? node->saved.root.at_ns : SAVED_NEVER,
                          node->pod.there ? node->pod.ended_ns : SAVED_NEVER};

        if (started != SAVED_NEVER && (ret->zero_ns == SAVED_NEVER || started < ret->zero_ns))
            ret->zero_ns = started;
        for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
            ret->last_ns = ends[k] > ret->last_ns ? ends[k] : ret->last_ns;
    }
}

static int word_without_root(const struct explain *explain, const struct job *job)
{
    int succeeded = 0;

    for (int i = 0; i < explain->count; i++) {
        const struct node *node = &explain->nodes[i];

        succeeded += node->documented ? node->saved.word == VERDICT_SUCCEEDED
                                      : node->pod.ended && node->pod.exit_code == 0;
    }
    return succeeded == job->nnodes ? VERDICT_SUCCEEDED : VERDICT_RUNNING;
}

void explain_judge(const struct explain *explain, struct job *ret)
{
    struct claim best = {CLAIM_NONE, INT64_MAX};

    memset(ret, 0, sizeof(*ret));
    ret->root = ret->second = -1;
    count_nodes(explain, ret);
    find_span(explain, ret);
    for (int i = 0; i < explain->count; i++) {
        struct claim it = explain_claim(&explain->nodes[i]);

        if (!precedes(&it, &best))
            continue;
        best = it;
        ret->root = i;
    }
    if (ret->root < 0) {
        ret->word = word_without_root(explain, ret);
        return;
    }
    ret->second = find_second(explain, ret->root);
    ret->word = best.kind == CLAIM_STOPPED ? VERDICT_STOPPED : VERDICT_FAILED;
}
