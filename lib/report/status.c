#include "report/status.h"

#include <string.h>

size_t status_size(int count)
{
    return sizeof(struct status_page) + (size_t)count * sizeof(struct status_rank);
}

static void end_text(char *text, size_t size)
{
    text[size - 1] = '\0';
}

bool status_check(struct status_page *page, size_t size)
{
    if (size < sizeof(*page) || page->magic != STATUS_MAGIC || page->size != size ||
        page->count < 1 || page->count > PLAN_RANKS_MAX || status_size(page->count) != size ||
        page->state < 0 || page->state >= FSM__STATES)
        return false;
    end_text(page->job_id, sizeof(page->job_id));
    end_text(page->host, sizeof(page->host));
    end_text(page->version, sizeof(page->version));
    for (int i = 0; i < page->count; i++) {
        struct status_rank *rank = &page->ranks[i];

        end_text(rank->device, sizeof(rank->device));
        if (rank->state < RANK_NOT_STARTED || rank->state > RANK_START_FAILED)
            return false;
    }
    return true;
}

static int count_in(const struct status_page *page, enum rank_state state)
{
    int count = 0;

    for (int i = 0; i < page->count; i++)
        count += page->ranks[i].state == (int)state;
    return count;
}

static bool is_started(const struct status_page *page, struct buf *why)
{
    int waiting = count_in(page, RANK_NOT_STARTED);
    int failed = count_in(page, RANK_START_FAILED);

    if (waiting + failed > 0)
        buf_addf(why, "%d of %d ranks not started", waiting + failed, page->count);
    else
        buf_addf(why, "%d rank%s started", page->count, page->count == 1 ? "" : "s");
    return waiting + failed == 0;
}

/*
 * Whether a living rank is at work, not only there. The one place that decides what a rank has to
 * do for that.
 */
static bool is_at_work(const struct status_page *page, const struct status_rank *rank)
{
    return page->nnodes > 1 || !rank->captured || rank->ready || rank->output_ns != STATUS_NEVER;
}

static bool is_ready(const struct status_page *page, struct buf *why)
{
    int alive = count_in(page, RANK_ALIVE), silent = 0;

    for (int i = 0; i < page->count; i++)
        silent += page->ranks[i].state == RANK_ALIVE && !is_at_work(page, &page->ranks[i]);
    if (page->state != FSM_RUNNING)
        buf_addf(why, "%s", fsm_state_name((enum fsm_state)page->state));
    else if (alive < page->count)
        buf_addf(why, "%d of %d ranks run", alive, page->count);
    else if (silent > 0)
        buf_addf(why, "%d of %d ranks have not said anything yet", silent, page->count);
    else
        buf_addf(why, "%d rank%s run%s", page->count, page->count == 1 ? "" : "s",
                 page->count == 1 ? "s" : "");
    return page->state == FSM_RUNNING && alive == page->count && silent == 0;
}

static bool is_live(const struct status_view *view, struct buf *why)
{
    const struct status_page *page = view->page;
    const char *state = fsm_state_name((enum fsm_state)page->state);

    if (strchr("TtZX", view->process_state)) {
        buf_addf(why, "pid %d does not run: state %c", page->pid, view->process_state);
        return false;
    }
    if (page->deadline_ns != FSM_NEVER && view->now_ns - page->deadline_ns > STATUS_STUCK_NS) {
        buf_addf(why, "pid %d missed a deadline in %s", page->pid, state);
        return false;
    }
    buf_addf(why, "pid %d is in %s", page->pid, state);
    return true;
}

bool status_probe(const struct status_view *view, enum status_probe probe, struct buf *why)
{
    switch (probe) {
    case STATUS_STARTED: return is_started(view->page, why);
    case STATUS_READY: return is_ready(view->page, why);
    case STATUS_LIVE: return is_live(view, why);
    }
    return false;
}
