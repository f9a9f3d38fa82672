#include "report/page.h"

#include <stdio.h>
#include <string.h>

#include "model/sentence.h"
#include "report/bars.h"
#include "report/columns.h"
#include "report/groups.h"
#include "report/hints.h"

#define ROWS_MAX  8
#define LINES_MAX 20  /* of a traceback or of stderr */
#define ERROR_MAX 160 /* bytes of an error's message */
#define RANKS_MAX 48  /* bytes of a list of ranks */
#define TEXT_MAX  1024

/* What a page is written from. */
struct page {
    const struct plan *plan;
    const struct outcome *outcome;
    const struct verdict *verdict;
    struct buf *out;
};

static void add_words(struct page *page)
{
    const struct verdict *verdict = page->verdict;
    const struct outcome_rank *rank = &page->outcome->ranks[verdict->root];
    char room[EVIDENCE_TAIL_MAX + 1];
    struct buf tail = BUF_OVER(room);
    int lines = page->plan->output.tail_lines;

    if (verdict->cause.traceback[0]) {
        buf_adds(page->out, "  its traceback:\n");
        columns_quote(verdict->cause.traceback, LINES_MAX, page->out);
        return;
    }
    evidence_tail(rank->evidence, lines < LINES_MAX ? lines : LINES_MAX, &tail);
    if (tail.len == 0)
        return;
    buf_adds(page->out, "  its last lines on stderr:\n");
    columns_quote(tail.data, LINES_MAX, page->out);
}

const char *page_relation(enum rank_class class)
{
    switch (class) {
    case CLASS_CONSEQUENCE: return " lost a peer: ";
    case CLASS_VICTIM: return " waited in vain for others: ";
    case CLASS_FROM_OUTSIDE:
    case CLASS_CAUSE: return " failed too: ";
    case CLASS_NONE:
    case CLASS_STOPPED_BY_US: break;
    }
    return ": ";
}

static void add_group(struct page *page, const struct groups *groups, int index)
{
    const struct group *group = &groups->list[index];
    bool with_root = group->first == page->verdict->root;
    struct outcome_candidate candidate;
    char room[TEXT_MAX];
    struct buf text = BUF_OVER(room);

    if (with_root && group->count == 1)
        return;
    buf_adds(&text, group->count == 1 ? "rank " : "ranks ");
    groups_ranks(groups, index, page->plan, RANKS_MAX, &text);
    if (with_root) {
        buf_adds(&text, " failed in this way");
    } else {
        buf_adds(&text, page_relation(group->class));
        outcome_account(&page->outcome->ranks[group->first], &candidate);
        if (candidate.words) {
            sentence_error(candidate.words, ERROR_MAX, &text);
            buf_adds(&text, ", ");
        }
        sentence_end(page->outcome, page->plan, group->first, &text);
        buf_adds(&text, " after ");
        sentence_seconds(group->at_ns, &text);
    }
    columns_paragraph("  ", text.data, text.len, page->out);
}

static void add_groups(struct page *page)
{
    struct groups groups;
    int more;

    groups_make(page->outcome, page->verdict, &groups);
    for (int i = 0; i < groups.count && i < ROWS_MAX; i++)
        add_group(page, &groups, i);
    more = groups.count - ROWS_MAX;
    if (more > 0)
        buf_addf(page->out, "  and %d%s other kinds of failure\n", more,
                 groups.left_out > 0 ? " and more" : "");
}

static int count_stopped(const struct page *page)
{
    int count = 0;

    for (int i = 0; i < page->outcome->count; i++)
        count += outcome_class(page->outcome, page->verdict, i) == CLASS_STOPPED_BY_US;
    return count;
}

static void add_stop(struct page *page)
{
    const struct outcome *outcome = page->outcome;
    int stopped = count_stopped(page);
    char room[TEXT_MAX];
    struct buf text = BUF_OVER(room);

    if (outcome->stop.requested && page->verdict->word != VERDICT_STOPPED) {
        buf_adds(&text, "asked to stop by ");
        sentence_stop(outcome, page->plan, &text);
        buf_adds(&text, " after ");
        sentence_seconds(outcome->stop.at_ns, &text);
        buf_adds(&text, "; ");
    }
    if (page->verdict->word != VERDICT_STOPPED && stopped > 0)
        buf_addf(&text, "%d %s stopped by rankinit; ", stopped, stopped == 1 ? "rank" : "ranks");
    if (outcome->killed_ns != OUTCOME_NEVER) {
        buf_adds(&text, "SIGKILL was needed after ");
        sentence_seconds(outcome->killed_ns, &text);
        buf_adds(&text, "; ");
    }
    if (text.len == 0)
        return;
    text.len -= 2;
    columns_paragraph("  ", text.data, text.len, page->out);
}

/* What came before: the first attempts' causes, each in a line. */
static void add_attempts(struct page *page)
{
    const struct outcome *outcome = page->outcome;
    char room[TEXT_MAX];
    struct buf text = BUF_OVER(room);

    for (int i = 0; i < outcome->attempt_count; i++) {
        const struct outcome_attempt *attempt = &outcome->attempts[i];

        buf_reset(&text);
        buf_addf(&text, "attempt %d: ", attempt->number);
        buf_adds(&text, attempt->message);
        columns_paragraph("  ", text.data, text.len, page->out);
    }
}

static void add_unreaped(struct page *page)
{
    const struct outcome *outcome = page->outcome;
    char room[TEXT_MAX];
    struct buf text = BUF_OVER(room);

    for (int i = 0; i < outcome->unreaped_count; i++) {
        buf_reset(&text);
        sentence_unreaped(&outcome->unreaped[i], page->plan, &text);
        columns_paragraph("  ", text.data, text.len, page->out);
    }
    if (outcome->unreaped_more > 0)
        buf_addf(page->out, "  and %d more processes are left\n", outcome->unreaped_more);
}

static void add_hints(struct page *page)
{
    struct hints hints;

    hints_make(page->plan, page->outcome, page->verdict, &hints);
    for (int i = 0; i < hints.count; i++)
        columns_paragraph("  hint: ", hints.texts[i], strlen(hints.texts[i]), page->out);
}

void page_render(const struct plan *plan, const struct outcome *outcome,
                 const struct verdict *verdict, struct buf *out)
{
    struct page page = {plan, outcome, verdict, out};
    char room[TEXT_MAX];
    struct buf text = BUF_OVER(room);

    if (verdict->word != VERDICT_SUCCEEDED)
        buf_addf(&text, "%s, exit code %d: ", outcome_verdict_word(verdict->word),
                 verdict->exit_code);
    buf_adds(&text, verdict->message);
    if (verdict->word == VERDICT_FAILED)
        buf_adds(out, bars_colour(plan, CLASS_CAUSE, true));
    columns_paragraph("rankinit: ", text.data, text.len, out);
    if (verdict->word == VERDICT_FAILED)
        buf_adds(out, bars_plain(plan));
    if (verdict->root >= 0) {
        add_words(&page);
        add_groups(&page);
    }
    if (verdict->word != VERDICT_SUCCEEDED) {
        add_stop(&page);
        bars_render(plan, outcome, verdict, out);
    }
    add_attempts(&page);
    add_unreaped(&page);
    add_hints(&page);
}
