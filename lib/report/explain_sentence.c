#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "model/collective.h"
#include "model/lag.h"
#include "model/ranks.h"
#include "model/sentence.h"
#include "report/explain_parts.h"

#define RANKS_TEXT_MAX 48 /* bytes of a list of ranks */

void explain_name(const struct node *node, struct buf *out)
{
    int rank = explain_rank_of(node);
    const char *place = node->pod.name[0] ? node->pod.name : node->saved.host;

    if (rank == SAVED_UNKNOWN)
        buf_adds(out, "a node");
    else
        buf_addf(out, "node %d", rank);
    if (place[0]) {
        buf_adds(out, " (");
        buf_add_plain(out, place, strlen(place));
        buf_addc(out, ')');
    }
}

/* ": words", of a stranger. */
static void add_words(const char *words, struct buf *out)
{
    if (!words[0])
        return;
    buf_adds(out, ": ");
    buf_add_plain(out, words, strlen(words));
}

static void add_unborn(const struct node *node, struct buf *out)
{
    explain_name(node, out);
    buf_adds(out, " has never begun");
    add_words(node->pod.waiting, out);
    add_words(node->pod.waiting_words, out);
}

/* The container has ended and what it left does not say so. */
static void add_silent_end(const struct node *node, struct buf *out)
{
    const struct pod *pod = &node->pod;

    explain_name(node, out);
    buf_adds(out, node->documented ? " was killed as a whole" : " ended without a verdict");
    add_words(pod->end, out);
    if (pod->exit_code != SAVED_UNKNOWN)
        buf_addf(out, ", exit code %d", pod->exit_code);
    if (strcmp(pod->end, "OOMKilled") != 0 && node->documented)
        buf_adds(out, "; by whom is unknown: a liveness probe, or its machine out of memory");
    add_words(node->foreign, out);
}

static void add_killed(const struct node *node, struct buf *out)
{
    const struct pod *pod = &node->pod;

    if (!pod->taken[0] && (!node->documented || node->saved.word == VERDICT_RUNNING)) {
        add_silent_end(node, out);
        return;
    }
    explain_name(node, out);
    if (pod->taken[0]) {
        buf_adds(out, " was taken away by the platform");
        add_words(pod->taken, out);
        add_words(pod->taken_words, out);
    } else {
        buf_adds(out, " ran out of memory (OOMKilled)");
    }
    if (node->documented && node->saved.message[0]) {
        buf_adds(out, "; its own verdict");
        add_words(node->saved.message, out);
    }
}

static void add_own(const struct node *node, struct buf *out)
{
    const char *message = node->saved.message;

    if (message[0]) {
        buf_add_plain(out, message, strlen(message));
        return;
    }
    explain_name(node, out);
    buf_adds(out, " failed, and its document is cut before it says why");
}

/* Behind who lags: that of its message which tells who gave up first. */
static void add_timeout(const struct explain *explain, const struct job *job, struct buf *out)
{
    const char *message = explain->nodes[job->root].saved.message;
    const char *rest = strstr(message, "; ");

    explain_lag(explain, job, out);
    buf_adds(out, "; ");
    rest = rest ? rest + 2 : message;
    buf_add_plain(out, rest, strlen(rest));
}

static int count_word(const struct explain *explain, int word)
{
    int count = 0;

    for (int i = 0; i < explain->count; i++)
        count += explain->nodes[i].documented && explain->nodes[i].saved.word == word;
    return count;
}

static void add_without_root(const struct explain *explain, const struct job *job, struct buf *out)
{
    if (job->word == VERDICT_SUCCEEDED && explain->count == 1 && explain->nodes[0].documented) {
        add_own(&explain->nodes[0], out);
    } else if (job->word == VERDICT_SUCCEEDED) {
        buf_addf(out, "all %d nodes ended with exit code 0", job->nnodes);
        if (job->zero_ns != SAVED_NEVER && job->last_ns != SAVED_NEVER) {
            buf_adds(out, " after ");
            sentence_seconds(job->last_ns - job->zero_ns, out);
        }
    } else if (explain->count == 1 && job->nnodes == 1 && explain->nodes[0].documented) {
        add_own(&explain->nodes[0], out);
    } else {
        buf_addf(out, "no failure is known; of %d %s %d succeeded, %d ran when that was written",
                 job->nnodes, job->nnodes == 1 ? "node" : "nodes",
                 count_word(explain, VERDICT_SUCCEEDED), count_word(explain, VERDICT_RUNNING));
    }
}

static void add_stopped(const struct explain *explain, const struct job *job, struct buf *out)
{
    const struct node *node = &explain->nodes[job->root];
    int count = count_word(explain, VERDICT_STOPPED);

    if (job->nnodes > 1) {
        buf_addf(out, "%d of %d nodes %s asked to stop, ", count, job->nnodes,
                 count == 1 ? "was" : "were");
        explain_name(node, out);
        buf_adds(out, " first: ");
    }
    add_own(node, out);
}

void explain_sentence(const struct explain *explain, const struct job *job, struct buf *out)
{
    const struct node *node;

    if (job->root < 0) {
        add_without_root(explain, job, out);
        return;
    }
    node = &explain->nodes[job->root];
    switch (explain_claim(node).kind) {
    case CLAIM_TIMEOUT: add_timeout(explain, job, out); break;
    case CLAIM_UNBORN: add_unborn(node, out); break;
    case CLAIM_KILLED: add_killed(node, out); break;
    case CLAIM_STOPPED: add_stopped(explain, job, out); break;
    default: add_own(node, out);
    }
}

/* Marks of ranks, while a list is read. */
struct marking {
    unsigned char *marks;
    unsigned char mark;
};

static void mark_one(void *context, long rank)
{
    struct marking *marking = context;

    marking->marks[rank] = marking->mark;
}

void explain_mark(const char *list, unsigned char mark,
                  unsigned char marks[static EXPLAIN_RANKS_MAX])
{
    struct marking marking = {marks, mark};
    char room[SAVED_RANKS_MAX];
    size_t len = strlen(list);
    const char *cut = strstr(list, ",...");

    /* Of one that was longer than its room, the last number may be half of one. */
    if (!cut && len == sizeof(room) - 1)
        cut = strrchr(list, ',');
    len = cut ? (size_t)(cut - list) : len;
    memcpy(room, list, len);
    room[len] = '\0';
    scan_list(room, EXPLAIN_RANKS_MAX - 1, mark_one, &marking);
}

/* Where the group of the root stands, over all nodes. */
struct front {
    const struct saved_lag *root;
    int64_t seq;
    const char *op;
};

static bool is_in_group(const struct node *node, const struct front *front)
{
    const struct saved_lag *lag = &node->saved.lag;

    return node->documented && lag->there &&
           (!lag->group[0] || !front->root->group[0] ||
            strcmp(lag->group, front->root->group) == 0);
}

static struct front find_front(const struct explain *explain, const struct job *job)
{
    struct front front = {&explain->nodes[job->root].saved.lag, COLLECTIVE_UNKNOWN, ""};
    int lead = 0;

    for (int i = 0; i < explain->count; i++) {
        const struct saved_lag *lag = &explain->nodes[i].saved.lag;

        if (is_in_group(&explain->nodes[i], &front) && lag->seq > front.seq)
            front.seq = lag->seq;
    }
    for (int i = 0; i < explain->count; i++) {
        const struct saved_lag *lag = &explain->nodes[i].saved.lag;

        if (!is_in_group(&explain->nodes[i], &front) || lag->seq != front.seq)
            continue;
        if (lead == 0)
            front.op = lag->op;
        lead += strcmp(lag->op, front.op) == 0 ? 1 : -1;
    }
    return front;
}

/* A node that tells of no timeout: its ranks kept silent, unless it had another part in the story. */
static void mark_silent(const struct node *node, unsigned char marks[static EXPLAIN_RANKS_MAX])
{
    enum claim_kind kind = explain_claim(node).kind;
    int64_t first = (int64_t)node->saved.node_rank * node->saved.nproc;

    if (!node->documented || node->saved.nproc <= 0 || node->saved.node_rank < 0 ||
        (kind != CLAIM_STOPPED && !(kind == CLAIM_NONE && node->saved.word == VERDICT_RUNNING)))
        return;
    for (int64_t i = first; i < first + node->saved.nproc && i < EXPLAIN_RANKS_MAX; i++)
        marks[i] = LAG_SILENT;
}

static void mark_node(const struct node *node, const struct front *front,
                      unsigned char marks[static EXPLAIN_RANKS_MAX], int64_t *least)
{
    const struct saved_lag *lag = &node->saved.lag;
    unsigned char waited = LAG_WAITED;

    if (!is_in_group(node, front)) {
        mark_silent(node, marks);
        return;
    }
    if (lag->seq < front->seq)
        waited = LAG_BEHIND;
    else if (strcmp(lag->op, front->op) != 0)
        waited = LAG_ELSEWHERE;
    explain_mark(lag->waited, waited, marks);
    explain_mark(lag->elsewhere, waited == LAG_WAITED ? LAG_ELSEWHERE : waited, marks);
    explain_mark(lag->behind, LAG_BEHIND, marks);
    explain_mark(lag->silent, LAG_SILENT, marks);
    if (lag->enqueued >= 0 && lag->enqueued < *least)
        *least = lag->enqueued;
    if (waited == LAG_BEHIND && lag->seq >= 0 && lag->seq < *least)
        *least = lag->seq;
}

void explain_lag(const struct explain *explain, const struct job *job, struct buf *out)
{
    static const char *const words[] = {
        [LAG_BEHIND] = "behind", [LAG_ELSEWHERE] = "in another operation", [LAG_SILENT] = "silent"};
    struct front front = find_front(explain, job);
    int64_t least = INT64_MAX;
    size_t start = out->len;
    unsigned char *marks = calloc(1, EXPLAIN_RANKS_MAX);
    const struct ranks ranks = {marks, EXPLAIN_RANKS_MAX, 0};

    for (int i = 0; marks && i < explain->count; i++)
        mark_node(&explain->nodes[i], &front, marks, &least);
    for (int lag = LAG_BEHIND; marks && lag <= LAG_SILENT; lag++) {
        char room[RANKS_TEXT_MAX + 16];
        struct buf list = BUF_OVER(room);
        bool one;

        ranks_add(&ranks, (unsigned char)lag, RANKS_TEXT_MAX, &list);
        if (list.len == 0)
            continue;
        one = strcspn(list.data, "-,") == list.len;
        buf_addf(out, "%s%s %s %s %s", out->len > start ? ", " : "", one ? "rank" : "ranks",
                 list.data, one ? "was" : "were", words[lag]);
        if (lag == LAG_BEHIND && least < INT64_MAX)
            buf_addf(out, " (at %" PRId64 " of %" PRId64 ")", least, front.seq);
    }
    free(marks);
    if (out->len > start)
        buf_adds(out, " in a collective");
    else if (job->missing > 0)
        buf_adds(out, "a collective timed out, and no rank of the nodes that are known lags");
    else
        buf_addf(out, "a collective timed out though all ranks came to it%s",
                 job->nnodes > 1 ? ": look at the network between the nodes" : "");
}
