#include <inttypes.h>
#include <string.h>

#include "report/bars.h"
#include "report/columns.h"
#include "report/explain_parts.h"

#define NODES_SHOWN 16
#define PLACE_WIDTH 28
#define RANKS_WIDTH 11

/* What rows are written from. */
struct page {
    const struct explain *explain;
    const struct job *job;
    struct buf *out;
};

/* One word for a node's part, and the mark at the end of its bar. */
static const char *part_of(const struct page *page, int index, char *ret_mark)
{
    static const struct {
        char mark;
        const char *word;
    } looks[] = {
        [CLAIM_NONE] = {'o', "ended with 0"}, [CLAIM_STOPPED] = {'s', "stopped"},
        [CLAIM_ECHO] = {'x', "lost a peer"},  [CLAIM_TIMEOUT] = {'x', "waited in vain"},
        [CLAIM_UNBORN] = {' ', "not begun"},  [CLAIM_KILLED] = {'x', "killed"},
        [CLAIM_OWN] = {'x', "failed too"},
    };
    const struct node *node = &page->explain->nodes[index];
    enum claim_kind kind = explain_claim(node).kind;
    bool runs = node->documented ? node->saved.word == VERDICT_RUNNING : !node->pod.ended;

    *ret_mark = looks[kind].mark;
    if (kind == CLAIM_NONE && runs) {
        *ret_mark = '>';
        return node->pod.ended ? "left no end" : "still runs";
    }
    if (index != page->job->root || kind == CLAIM_UNBORN)
        return kind == CLAIM_ECHO && node->saved.row_count > 0 &&
                       node->saved.rows[0].class == CLASS_VICTIM
                   ? looks[CLAIM_TIMEOUT].word
                   : looks[kind].word;
    *ret_mark = 'X';
    switch (kind) {
    case CLAIM_ECHO: return "lost a peer first";
    case CLAIM_TIMEOUT: return "gave up first";
    case CLAIM_STOPPED: return "stopped first";
    case CLAIM_KILLED: return "killed first";
    default: return "failed first";
    }
}

/* Which nodes are shown: all if there is room; else those with a claim first. */
static int choose(const struct page *page, bool chosen[static EXPLAIN_NODES_MAX])
{
    int count = 0;

    memset(chosen, 0, EXPLAIN_NODES_MAX * sizeof(chosen[0]));
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < page->explain->count && count < NODES_SHOWN; i++) {
            bool claims = explain_claim(&page->explain->nodes[i]).kind > CLAIM_STOPPED;

            if (chosen[i] || (turn == 0 && i != page->job->root) || (turn == 1 && !claims))
                continue;
            chosen[i] = true;
            count++;
        }
    }
    return count;
}

static void add_number(int number, int width, struct buf *out)
{
    if (number == SAVED_UNKNOWN)
        buf_addf(out, "%*s", width, "-");
    else
        buf_addf(out, "%*d", width, number);
}

/* "     1  8-15        trainer-1                     failed      134  rank_signaled" */
static void add_table_row(struct page *page, int index)
{
    const struct node *node = &page->explain->nodes[index];
    const struct saved *saved = &node->saved;
    const char *place = node->pod.name[0] ? node->pod.name : saved->host;
    const char *why = node->pod.end[0] ? node->pod.end : saved->reason;
    bool ranked = node->documented && saved->node_rank >= 0 && saved->nproc > 0;
    int code = node->pod.ended    ? node->pod.exit_code
               : node->documented ? saved->exit_code
                                  : SAVED_UNKNOWN;
    char room[32];
    struct buf ranks = BUF_OVER(room);

    if (ranked) {
        int64_t first = (int64_t)saved->node_rank * saved->nproc;

        buf_addf(&ranks, "%" PRId64, first);
        if (saved->nproc > 1)
            buf_addf(&ranks, "-%" PRId64, first + saved->nproc - 1);
    }
    if (node->pod.waiting[0])
        why = node->pod.waiting;
    if (node->pod.taken[0])
        why = node->pod.taken;
    buf_adds(page->out, "  ");
    add_number(explain_rank_of(node), 4, page->out);
    buf_adds(page->out, "  ");
    columns_field(ranked ? ranks.data : "-", RANKS_WIDTH, page->out);
    buf_adds(page->out, " ");
    columns_field(place[0] ? place : "-", PLACE_WIDTH, page->out);
    buf_adds(page->out, " ");
    columns_field(!node->documented ? "no document"
                  : saved->word == SAVED_UNKNOWN
                      ? "cut"
                      : outcome_verdict_word((enum verdict_word)saved->word),
                  11, page->out);
    add_number(code, 4, page->out);
    buf_adds(page->out, "  ");
    columns_field(why, 13, page->out);
    while (page->out->len > 0 && page->out->data[page->out->len - 1] == ' ')
        page->out->data[--page->out->len] = '\0';
    buf_addc(page->out, '\n');
}

static void add_bar(struct page *page, int index)
{
    const struct node *node = &page->explain->nodes[index];
    int64_t zero = page->job->zero_ns, last = page->job->last_ns - zero;
    char text[BARS_WIDTH + 1];
    struct bar bar = {.told_ns = OUTCOME_NEVER};
    const char *word = part_of(page, index, &bar.mark);
    int64_t end = node->documented && node->saved.ended_ns != SAVED_NEVER ? node->saved.ended_ns
                                                                          : node->pod.ended_ns;

    if (!node->documented || node->saved.started_ns == SAVED_NEVER) {
        memset(text, ' ', BARS_WIDTH);
        text[BARS_WIDTH] = '\0';
    } else {
        bar.from_ns = node->saved.started_ns - zero;
        bar.to_ns = end == SAVED_NEVER || (end == 0 && !node->pod.there) ? last : end - zero;
        if (node->saved.stop_signal[0] && node->saved.stop_ns != SAVED_NEVER)
            bar.told_ns = node->saved.stop_ns - zero;
        bars_draw(&bar, last, text);
    }
    buf_adds(page->out, "  node ");
    add_number(explain_rank_of(node), 4, page->out);
    buf_addf(page->out, " |%s| %s\n", text, word);
}

void explain_nodes(const struct explain *explain, const struct job *job, struct buf *out)
{
    struct page it = {explain, job, out}, *page = &it;
    bool chosen[EXPLAIN_NODES_MAX];
    int shown;

    if (page->explain->count < 2 && !page->explain->nodes[0].pod.there)
        return;
    shown = choose(page, chosen);
    buf_adds(page->out, "  node  ranks       ");
    columns_field("pod or host", PLACE_WIDTH, page->out);
    buf_adds(page->out, " verdict    code  why\n");
    for (int i = 0; i < page->explain->count; i++) {
        if (chosen[i])
            add_table_row(page, i);
    }
    if (shown < page->explain->count)
        buf_addf(page->out, "  and %d more nodes\n", page->explain->count - shown);
    if (page->job->zero_ns == SAVED_NEVER || page->job->last_ns <= page->job->zero_ns)
        return;
    for (int i = 0; i < page->explain->count; i++) {
        if (chosen[i])
            add_bar(page, i);
    }
    bars_axis(13, page->job->last_ns - page->job->zero_ns, page->out);
}
