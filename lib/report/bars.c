#include "report/bars.h"

#include <stdio.h>
#include <string.h>

#include "model/sentence.h"

#define WIDTH 40

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
    int column = (int)(part * (WIDTH - 1) + 0.5);

    return column < 0 ? 0 : column >= WIDTH ? WIDTH - 1 : column;
}

static void draw(const struct outcome_rank *rank, char mark, int64_t last_ns, char bar[WIDTH + 1])
{
    int64_t end_ns = rank->ended_ns == OUTCOME_NEVER ? last_ns : rank->ended_ns;
    int first = rank->started_ns == OUTCOME_NEVER ? 0 : column(rank->started_ns, last_ns);
    int last = column(end_ns, last_ns);
    int told = rank->signalled_ns == OUTCOME_NEVER ? WIDTH : column(rank->signalled_ns, last_ns);

    memset(bar, ' ', WIDTH);
    bar[WIDTH] = '\0';
    if (rank->state == RANK_NOT_STARTED)
        return;
    for (int i = first; i < last; i++)
        bar[i] = i >= told ? '-' : '=';
    bar[last] = rank->state == RANK_ALIVE ? '>' : mark;
}

static void add_bar(const struct plan *plan, const struct outcome *outcome,
                    const struct verdict *verdict, int local_rank, struct buf *out)
{
    const struct outcome_rank *rank = &outcome->ranks[local_rank];
    enum rank_class class = outcome_class(outcome, verdict, local_rank);
    bool root = local_rank == verdict->root;
    int digits = snprintf(NULL, 0, "%d", plan->job.first_rank + outcome->count - 1);
    const char *word = root ? "failed first" : looks[class].word;
    char bar[WIDTH + 1];

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

static void add_axis(const struct plan *plan, const struct outcome *outcome, struct buf *out)
{
    int digits = snprintf(NULL, 0, "%d", plan->job.first_rank + outcome->count - 1);
    char room[32];
    struct buf last = BUF_OVER(room);

    sentence_seconds(last_moment(outcome), &last);
    buf_addf(out, "%*s0.0 s%*s\n", digits + 9, "", WIDTH - 5, last.data);
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
    add_axis(plan, outcome, out);
}
