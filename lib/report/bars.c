#include "report/bars.h"

#include <stdio.h>
#include <string.h>

#include "model/sentence.h"

static const struct {
    char mark;
    const char *word;
    const char *colour;
} looks[] = {
    [CLASS_NONE] = {'o', "ended with 0", "\033[32m"},
    [CLASS_CAUSE] = {'x', "failed", "\033[31m"},
    [CLASS_CONSEQUENCE] = {'x', "lost a peer", "\033[33m"},
    [CLASS_VICTIM] = {'x', "waited in vain", "\033[33m"},
    [CLASS_STOPPED_BY_US] = {'s', "stopped", ""},
    [CLASS_FROM_OUTSIDE] = {'x', "killed", "\033[31m"},
};

const char *bars_colour(const struct plan *plan, enum rank_class class, bool root)
{
    if (!plan->report.colour)
        return "";
    return root ? "\033[1;31m" : looks[class].colour;
}

const char *bars_plain(const struct plan *plan)
{
    return plan->report.colour ? "\033[0m" : "";
}

/* The end of the axis. */
static int64_t last_moment(const struct outcome *outcome)
{
    int64_t last = outcome->now_ns;

    for (int i = 0; i < outcome->count; i++) {
        if (outcome->ranks[i].ended_ns > last)
            last = outcome->ranks[i].ended_ns;
    }
    return last > 0 ? last : 1;
}

static int column(int64_t at_ns, int64_t last_ns)
{
    double part = (double)at_ns / (double)last_ns;
    int column = (int)(part * (BARS_WIDTH - 1) + 0.5);

    return column < 0 ? 0 : column >= BARS_WIDTH ? BARS_WIDTH - 1 : column;
}

void bars_draw(const struct bar *it, int64_t last_ns, char text[static BARS_WIDTH + 1])
{
    int first = column(it->from_ns, last_ns), last = column(it->to_ns, last_ns);
    int told = it->told_ns == OUTCOME_NEVER ? BARS_WIDTH : column(it->told_ns, last_ns);

    memset(text, ' ', BARS_WIDTH);
    text[BARS_WIDTH] = '\0';
    for (int i = first; i < last; i++)
        text[i] = i >= told ? '-' : '=';
    text[last] = it->mark;
}

static void draw(const struct outcome_rank *rank, char mark, int64_t last_ns,
                 char text[BARS_WIDTH + 1])
{
    const struct bar it = {.from_ns = rank->started_ns == OUTCOME_NEVER ? 0 : rank->started_ns,
                           .to_ns = rank->ended_ns == OUTCOME_NEVER ? last_ns : rank->ended_ns,
                           .told_ns = rank->signalled_ns,
                           .mark = rank->state == RANK_ALIVE ? '>' : mark};

    bars_draw(&it, last_ns, text);
    if (rank->state == RANK_NOT_STARTED)
        memset(text, ' ', BARS_WIDTH);
}

static void add_bar(const struct plan *plan, const struct outcome *outcome,
                    const struct verdict *verdict, int local_rank, struct buf *out)
{
    const struct outcome_rank *rank = &outcome->ranks[local_rank];
    enum rank_class class = outcome_class(outcome, verdict, local_rank);
    bool root = local_rank == verdict->root;
    int digits = snprintf(NULL, 0, "%d", plan->job.first_rank + outcome->count - 1);
    const char *word = root ? "failed first" : looks[class].word;
    char bar[BARS_WIDTH + 1];

    if (root && verdict->cause.echo)
        word = class == CLASS_VICTIM ? "gave up first" : "lost a peer first";
    if (!root && rank->state == RANK_ALIVE)
        word = "still runs";
    if (rank->state == RANK_NOT_STARTED)
        word = "not started";
    draw(rank, root ? 'X' : looks[class].mark, last_moment(outcome), bar);
    buf_addf(out, "  rank %*d |%s%s%s| %s\n", digits, plan->job.first_rank + local_rank,
             bars_colour(plan, class, root), bar, bars_plain(plan), word);
}

void bars_axis(int indent, int64_t last_ns, struct buf *out)
{
    char room[32];
    struct buf last = BUF_OVER(room);

    sentence_seconds(last_ns, &last);
    buf_addf(out, "%*s0.0 s%*s\n", indent, "", BARS_WIDTH - 5, last.data);
}

/* Which ranks are drawn: all if there is room; else the root, those that failed, and then others. */
static int choose(const struct outcome *outcome, const struct verdict *verdict,
                  unsigned char chosen[PLAN_RANKS_MAX])
{
    int count = 0;

    memset(chosen, 0, PLAN_RANKS_MAX);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < outcome->count && count < BARS_MAX; i++) {
            enum rank_class class = outcome_class(outcome, verdict, i);
            bool failed = class != CLASS_NONE && class != CLASS_STOPPED_BY_US;

            if (chosen[i] || (turn == 0 && i != verdict->root) || (turn == 1 && !failed))
                continue;
            chosen[i] = 1;
            count++;
        }
    }
    return count;
}

void bars_render(const struct plan *plan, const struct outcome *outcome,
                 const struct verdict *verdict, struct buf *out)
{
    unsigned char chosen[PLAN_RANKS_MAX];
    int count;

    if (plan->mode != PLAN_FANOUT || outcome->count < 2)
        return;
    count = choose(outcome, verdict, chosen);
    for (int i = 0; i < outcome->count; i++) {
        if (chosen[i])
            add_bar(plan, outcome, verdict, i, out);
    }
    if (count < outcome->count)
        buf_addf(out, "  and %d more ranks\n", outcome->count - count);
    bars_axis(9 + snprintf(NULL, 0, "%d", plan->job.first_rank + outcome->count - 1),
              last_moment(outcome), out);
}
