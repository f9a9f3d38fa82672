#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "model/ranks.h"
#include "model/sentence.h"
#include "report/bars.h"
#include "report/columns.h"
#include "report/explain_parts.h"
#include "report/field.h"
#include "report/page.h"

#define LINES_MAX      20   /* of a traceback or of stderr */
#define ERROR_MAX      160  /* bytes of an error's message */
#define RANKS_TEXT_MAX 48   /* bytes of a list of ranks */
#define TEXT_MAX       2048 /* of a paragraph */
#define GROUPS_SHOWN   8
#define GROUPS_KNOWN   200 /* marks of ranks are bytes */
#define HINTS_SHOWN    6
#define RANKS_WIDTH    11

/* What a page is written from. */
struct page {
    const struct explain *explain;
    const struct job *job;
    struct buf *out;
};

static const struct node *root_of(const struct page *page)
{
    return page->job->root < 0 ? NULL : &page->explain->nodes[page->job->root];
}

/* Seconds from the job's first start. */
static void add_since_start(const struct page *page, int64_t at_ns, struct buf *out)
{
    sentence_seconds(at_ns - page->job->zero_ns, out);
}

static void add_headline(struct page *page)
{
    const struct node *root = root_of(page);
    char room[TEXT_MAX];
    struct buf text = BUF_OVER(room);

    if (page->job->word != VERDICT_SUCCEEDED) {
        buf_adds(&text, outcome_verdict_word((enum verdict_word)page->job->word));
        if (root && root->documented && root->saved.exit_code > 0)
            buf_addf(&text, ", exit code %d", root->saved.exit_code);
        buf_adds(&text, ": ");
    }
    explain_sentence(page->explain, page->job, &text);
    columns_paragraph("rankinit: ", text.data, text.len, page->out);
}

/* Who was first, by how much, and that clocks may not be able to tell. */
static void add_order(struct page *page)
{
    const struct node *root = root_of(page);
    const struct node *second;
    char room[TEXT_MAX], time[FIELD_TIME_MAX];
    struct buf text = BUF_OVER(room);
    struct claim first;

    if (!root || page->job->nnodes < 2 || explain_claim(root).at_ns == INT64_MAX)
        return;
    first = explain_claim(root);
    explain_name(root, &text);
    buf_addf(&text, " was first, at %s", field_time_text(first.at_ns, time));
    if (page->job->second >= 0) {
        second = &page->explain->nodes[page->job->second];
        buf_adds(&text, "; but ");
        explain_name(second, &text);
        buf_adds(&text, " failed only ");
        sentence_seconds(explain_claim(second).at_ns - first.at_ns, &text);
        buf_adds(&text,
                 " later by its own clock, and clocks of machines differ: it may as well have "
                 "been the first");
    }
    columns_paragraph("  ", text.data, text.len, page->out);
}

static void add_words(struct page *page)
{
    const struct node *root = root_of(page);

    if (!root || !root->documented || !root->saved.root.words[0])
        return;
    buf_adds(page->out,
             root->saved.root.traceback ? "  its traceback:\n" : "  its last lines on stderr:\n");
    columns_quote(root->saved.root.words, LINES_MAX, page->out);
}

/* Identical failures of all nodes. */
struct kind {
    uint64_t key;
    const struct saved_row *row; /* that stands for all: the earliest */
    const struct node *node;     /* of it */
    int count;
};

struct kinds {
    int count, left_out;
    struct kind list[GROUPS_KNOWN];
    unsigned char marks[EXPLAIN_RANKS_MAX]; /* by rank: index in list + 1 */
};

static uint64_t key_of(const struct saved_row *row)
{
    uint64_t key = digest_number(DIGEST_START, (int64_t)row->class);

    key = digest_number(key, row->exit_code);
    key = digest_text(key, row->signal);
    key = digest_text(key, row->error.type);
    key = digest_wording(key, row->error.message, strlen(row->error.message));
    key = digest_text(key, row->error.file);
    return digest_number(key, row->error.line);
}

static struct kind *find_kind(struct kinds *kinds, uint64_t key)
{
    for (int i = 0; i < kinds->count; i++) {
        if (kinds->list[i].key == key)
            return &kinds->list[i];
    }
    if (kinds->count == GROUPS_KNOWN) {
        kinds->left_out++;
        return NULL;
    }
    kinds->list[kinds->count] = (struct kind){.key = key};
    return &kinds->list[kinds->count++];
}

static void add_row(struct kinds *kinds, const struct node *node, int index)
{
    const struct saved_row *row = &node->saved.rows[index];
    struct kind *kind = find_kind(kinds, key_of(row));

    if (!kind)
        return;
    if (!kind->row || row->at_ns < kind->row->at_ns) {
        kind->row = row;
        kind->node = node;
    }
    kind->count += row->count < EXPLAIN_RANKS_MAX ? row->count : EXPLAIN_RANKS_MAX;
    explain_mark(row->ranks, (unsigned char)(kind - kinds->list + 1), kinds->marks);
}

static void find_kinds(const struct page *page, struct kinds *ret)
{
    const struct node *root = root_of(page);

    /* The root's first, so that it stands for its kind and is never left out. */
    if (root && root->documented && root->saved.row_count > 0)
        add_row(ret, root, 0);
    for (int i = 0; i < page->explain->count; i++) {
        const struct node *node = &page->explain->nodes[i];

        for (int k = node == root; k < node->saved.row_count; k++)
            add_row(ret, node, k);
    }
}

static void add_ranks(const struct kinds *kinds, int index, struct buf *out)
{
    const struct ranks ranks = {kinds->marks, EXPLAIN_RANKS_MAX, 0};
    char room[RANKS_TEXT_MAX + 16];
    struct buf list = BUF_OVER(room);

    ranks_add(&ranks, (unsigned char)(index + 1), RANKS_TEXT_MAX, &list);
    if (list.len == 0)
        buf_addf(out, "%d ranks", kinds->list[index].count);
    else
        buf_addf(out, "%s %s", strcspn(list.data, "-,") == list.len ? "rank" : "ranks", list.data);
}

static void add_kind(struct page *page, const struct kinds *kinds, int index)
{
    const struct kind *kind = &kinds->list[index];
    const struct saved_row *row = kind->row;
    bool with_root = root_of(page) && kind->row == &root_of(page)->saved.rows[0];
    struct finding error = {.line = row->error.line};
    char room[TEXT_MAX];
    struct buf text = BUF_OVER(room);

    if (with_root && kind->count == 1)
        return;
    memcpy(error.type, row->error.type, sizeof(error.type));
    memcpy(error.message, row->error.message, sizeof(error.message));
    memcpy(error.file, row->error.file, sizeof(error.file));
    add_ranks(kinds, index, &text);
    buf_adds(&text, with_root ? " failed in this way" : page_relation(row->class));
    if (!with_root) {
        if (error.type[0] || error.message[0]) {
            sentence_error(&error, ERROR_MAX, &text);
            buf_adds(&text, ", ");
        }
        if (row->signal[0]) {
            buf_adds(&text, "killed by ");
            buf_add_plain(&text, row->signal, strlen(row->signal));
        } else if (row->exit_code != SAVED_UNKNOWN) {
            buf_addf(&text, "exit code %d", row->exit_code);
        }
        if (row->at_ns != SAVED_NEVER && page->job->zero_ns != SAVED_NEVER) {
            buf_adds(&text, " after ");
            add_since_start(page, row->at_ns, &text);
        }
    }
    columns_paragraph("  ", text.data, text.len, page->out);
}

static void add_kinds(struct page *page)
{
    struct kinds *kinds = calloc(1, sizeof(*kinds));
    int more;

    if (!kinds)
        return;
    find_kinds(page, kinds);
    for (int i = 0; i < kinds->count && i < GROUPS_SHOWN; i++)
        add_kind(page, kinds, i);
    more = kinds->count - GROUPS_SHOWN;
    if (more > 0)
        buf_addf(page->out, "  and %d%s other kinds of failure\n", more,
                 kinds->left_out > 0 ? " and more" : "");
    free(kinds);
}

static void add_stops(struct page *page)
{
    int shown = 0;

    for (int i = 0; i < page->explain->count; i++) {
        const struct node *node = &page->explain->nodes[i];
        char room[TEXT_MAX];
        struct buf text = BUF_OVER(room);

        if (!node->saved.stop_signal[0] || page->job->root == i)
            continue;
        if (shown++ == GROUPS_SHOWN) {
            buf_adds(page->out, "  and more nodes were asked to stop\n");
            return;
        }
        explain_name(node, &text);
        buf_adds(&text, " was asked to stop by ");
        buf_add_plain(&text, node->saved.stop_signal, strlen(node->saved.stop_signal));
        if (node->saved.stop_ns != SAVED_NEVER && page->job->zero_ns != SAVED_NEVER) {
            buf_adds(&text, " after ");
            add_since_start(page, node->saved.stop_ns, &text);
        }
        if (node->saved.escalated)
            buf_adds(&text, "; SIGKILL was needed");
        columns_paragraph("  ", text.data, text.len, page->out);
    }
}

/* A document alone knows when its failures were: a bar for each kind of them. */
static void add_row_bars(struct page *page)
{
    const struct saved *saved = &page->explain->nodes[0].saved;
    int64_t last = saved->ended_ns - saved->started_ns;

    if (page->explain->count != 1 || saved->row_count < 2 || saved->started_ns == SAVED_NEVER ||
        saved->ended_ns == SAVED_NEVER || last <= 0)
        return;
    for (int i = 0; i < saved->row_count; i++) {
        const struct saved_row *row = &saved->rows[i];
        const char *relation = page_relation(row->class);
        struct bar bar = {.told_ns = OUTCOME_NEVER, .mark = i == 0 ? 'X' : 'x'};
        char text[BARS_WIDTH + 1];

        bar.to_ns = row->at_ns == SAVED_NEVER ? last : row->at_ns - saved->started_ns;
        bars_draw(&bar, last, text);
        buf_addf(page->out, "  %s ", row->count == 1 ? "rank " : "ranks");
        columns_field(row->ranks, RANKS_WIDTH, page->out);
        buf_addf(page->out, " |%s|%.*s\n", text, i == 0 ? 6 : (int)strcspn(relation, ":"),
                 i == 0 ? " first" : relation);
    }
    bars_axis(21, last, page->out);
}

static bool is_among(const char *const *list, int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

/* The root's first. */
static void add_hints(struct page *page)
{
    const char *shown[HINTS_SHOWN];
    int count = 0;

    for (int i = -1; i < page->explain->count; i++) {
        int index = i < 0 ? page->job->root : i;
        const struct saved *saved = index < 0 ? NULL : &page->explain->nodes[index].saved;

        for (int k = 0; saved && k < saved->hint_count && count < HINTS_SHOWN; k++) {
            if (is_among(shown, count, saved->hints[k]))
                continue;
            shown[count++] = saved->hints[k];
            columns_paragraph("  hint: ", saved->hints[k], strlen(saved->hints[k]), page->out);
        }
    }
}

/* What a document tells of where and when, if it is alone. */
static void add_place(struct page *page)
{
    const struct saved *saved = &page->explain->nodes[0].saved;
    char room[TEXT_MAX], time[FIELD_TIME_MAX];
    struct buf text = BUF_OVER(room);

    if (page->explain->count != 1 || !saved->host[0])
        return;
    if (saved->job[0] && strcmp(saved->job, "none") != 0) {
        buf_adds(&text, "job ");
        buf_add_plain(&text, saved->job, strlen(saved->job));
        buf_adds(&text, ", ");
    }
    if (saved->nnodes > 1)
        buf_addf(&text, "node %d of %d, ", saved->node_rank, saved->nnodes);
    buf_adds(&text, "host ");
    buf_add_plain(&text, saved->host, strlen(saved->host));
    if (saved->started_ns != SAVED_NEVER)
        buf_addf(&text, ", started %s", field_time_text(saved->started_ns, time));
    if (saved->ended_ns != SAVED_NEVER)
        buf_addf(&text, ", ended %s", field_time_text(saved->ended_ns, time));
    columns_paragraph("  ", text.data, text.len, page->out);
}

void explain_page(struct explain *explain, struct buf *out)
{
    struct job job;
    struct page page = {explain, &job, out};

    explain_settle(explain);
    explain_judge(explain, &job);
    add_headline(&page);
    add_order(&page);
    add_words(&page);
    add_kinds(&page);
    add_stops(&page);
    explain_nodes(explain, &job, out);
    add_row_bars(&page);
    add_place(&page);
    add_hints(&page);
    explain_notes(explain, &job, out);
}
