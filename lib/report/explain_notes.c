#include <string.h>

#include "model/ranks.h"
#include "report/columns.h"
#include "report/explain_parts.h"

#define TEXT_MAX   1024
#define LIST_MAX   64
#define EACH_SHOWN 6 /* notes of one kind that name a node */
#define MARKS_MAX  EXPLAIN_NODES_MAX

static void add_note(const struct buf *text, struct buf *out)
{
    columns_paragraph("  note: ", text->data, text->len, out);
}

/* "  note: nothing is known of node 2, 5-7 of 8" */
static void note_missing(const struct explain *explain, const struct job *job, struct buf *out)
{
    unsigned char known[MARKS_MAX] = {0};
    int count = job->nnodes < MARKS_MAX ? job->nnodes : MARKS_MAX, unknown = 0;
    const struct ranks ranks = {known, count, 0};
    char room[TEXT_MAX], list_room[LIST_MAX + 16];
    struct buf text = BUF_OVER(room), list = BUF_OVER(list_room);

    if (job->missing <= 0)
        return;
    for (int i = 0; i < explain->count; i++) {
        int rank = explain_rank_of(&explain->nodes[i]);

        unknown += rank == SAVED_UNKNOWN;
        if (rank >= 0 && rank < count)
            known[rank] = 1;
    }
    ranks_add(&ranks, 0, LIST_MAX, &list);
    buf_addf(&text, "%d of %d nodes: nothing is known of ", explain->count, job->nnodes);
    if (unknown > 0)
        buf_addf(&text, "%d more", job->missing);
    else
        buf_addf(&text, "node %s", list.data);
    buf_adds(&text, "; what failed first may be there");
    add_note(&text, out);
}

/* Documents that cannot be of one job. */
static void note_differences(const struct explain *explain, struct buf *out)
{
    const struct saved *first = NULL;
    char room[TEXT_MAX];
    struct buf text = BUF_OVER(room);

    for (int i = 0; i < explain->count && text.len == 0; i++) {
        const struct saved *it = &explain->nodes[i].saved;

        if (!explain->nodes[i].documented || !it->whole)
            continue;
        if (!first)
            first = it;
        if (strcmp(it->job, first->job) != 0) {
            buf_adds(&text, "these documents are of different jobs: ");
            buf_add_plain(&text, first->job, strlen(first->job));
            buf_adds(&text, " and ");
            buf_add_plain(&text, it->job, strlen(it->job));
        } else if (it->nnodes != first->nnodes) {
            buf_addf(&text, "nodes differ about their number: node %d says %d, node %d says %d",
                     first->node_rank, first->nnodes, it->node_rank, it->nnodes);
        } else if (it->nproc != first->nproc) {
            buf_addf(&text,
                     "nodes differ in their number of ranks: node %d has %d, node %d has %d; ranks "
                     "are then numbered twice",
                     first->node_rank, first->nproc, it->node_rank, it->nproc);
        }
    }
    if (text.len > 0)
        add_note(&text, out);
}

static bool left_no_end(const struct node *node)
{
    return node->documented && node->saved.word == VERDICT_RUNNING && node->pod.ended;
}

static bool is_cut(const struct node *node)
{
    return node->documented && !node->saved.whole;
}

static bool left_something_else(const struct node *node)
{
    return !node->documented && node->foreign[0];
}

static bool left_nothing(const struct node *node)
{
    return !node->documented && node->pod.ended && !node->foreign[0];
}

static bool was_restarted(const struct node *node)
{
    return node->pod.there && node->pod.restarts > 0;
}

/* What may be said of single nodes. */
static const struct {
    bool (*when)(const struct node *node);
    const char *text;
    bool words; /* then what its container left */
} rows[] = {
    {left_no_end,
     "its document still says running, though its container has ended: it was killed "
     "before it could write more",
     false},
    {is_cut, "its document was cut; what is missing here may have been in it", false},
    {left_something_else, "its container left something that is no document of rankinit: ", true},
    {left_nothing, "its container ended and left no document", false},
    {was_restarted, "its container was started again; this is about the end that is known", false},
};

static void note_nodes(const struct explain *explain, const struct job *job, size_t row,
                       struct buf *out)
{
    int shown = 0;

    for (int i = 0; i < explain->count; i++) {
        const struct node *node = &explain->nodes[i];
        char room[TEXT_MAX];
        struct buf text = BUF_OVER(room);

        /* The job's sentence has the words of its root. */
        if (!rows[row].when(node) || (rows[row].words && i == job->root))
            continue;
        if (shown++ == EACH_SHOWN) {
            buf_adds(out, "  note: the same of more nodes\n");
            return;
        }
        explain_name(node, &text);
        buf_adds(&text, ": ");
        buf_adds(&text, rows[row].text);
        if (rows[row].words)
            buf_add_plain(&text, node->foreign, strlen(node->foreign));
        add_note(&text, out);
    }
}

static void note_count(int count, const char *words, struct buf *out)
{
    if (count > 0)
        buf_addf(out, "  note: %d %s\n", count, words);
}

void explain_notes(const struct explain *explain, const struct job *job, struct buf *out)
{
    note_missing(explain, job, out);
    note_differences(explain, out);
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        note_nodes(explain, job, row, out);
    note_count(explain->superseded, "more of nodes that are told of by a newer document or pod",
               out);
    note_count(explain->other_versions, "documents of another version of rankinit: not read", out);
    note_count(explain->left_out, "documents are too many: not read", out);
    for (int i = 0; i < explain->foreign_count && i < EXPLAIN_FOREIGN_MAX; i++) {
        char room[TEXT_MAX];
        struct buf text = BUF_OVER(room);

        buf_add_plain(&text, explain->foreign[i], strlen(explain->foreign[i]));
        buf_adds(&text, " holds no summary document of rankinit and no pod");
        add_note(&text, out);
    }
}
