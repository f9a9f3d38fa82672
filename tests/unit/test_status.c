#include "report/status.h"

#include <signal.h>
#include <stdlib.h>

#include "tap.h"

#define SECOND 1000000000LL

/* A page of two ranks that run on one node, and what is asked of it. */
struct rig {
    struct status_page *page;
    struct status_usage usage[2];
    struct status_view view;
    char room[4096];
    struct buf out;
};

static bool rig_make(struct rig *rig)
{
    *rig = (struct rig){.page = calloc(1, status_size(2))};
    if (!rig->page)
        return false;
    *rig->page = (struct status_page){.magic = STATUS_MAGIC,
                                      .size = (uint32_t)status_size(2),
                                      .count = 2,
                                      .pid = 1,
                                      .state = FSM_RUNNING,
                                      .fanout = 1,
                                      .nnodes = 1,
                                      .world_size = 2,
                                      .deadline_ns = FSM_NEVER,
                                      .job_id = "llama",
                                      .host = "box",
                                      .version = "1.0"};
    for (int i = 0; i < 2; i++)
        rig->page->ranks[i] = (struct status_rank){.rank = i,
                                                   .local_rank = i,
                                                   .pid = 7 + i,
                                                   .state = RANK_ALIVE,
                                                   .captured = 1,
                                                   .started_ns = SECOND,
                                                   .output_ns = 2 * SECOND,
                                                   .device = "GPU-8f1c"};
    rig->view = (struct status_view){rig->page, rig->usage, 63 * SECOND, 'S'};
    buf_init(&rig->out, rig->room, sizeof(rig->room));
    return true;
}

static bool probe(struct rig *rig, enum status_probe which)
{
    buf_reset(&rig->out);
    return status_probe(&rig->view, which, &rig->out);
}

TEST(takes_only_a_page_that_is_whole)
{
    struct rig rig;
    size_t size = status_size(2);

    if (!tap_ok(rig_make(&rig)))
        return;
    tap_ok(status_check(rig.page, size));
    tap_ok(!status_check(rig.page, size - 1));
    tap_ok(!status_check(rig.page, sizeof(struct status_page) - 1));
    memset(rig.page->host, 'x', sizeof(rig.page->host));
    memset(rig.page->ranks[1].device, 'x', sizeof(rig.page->ranks[1].device));
    tap_ok(status_check(rig.page, size));
    tap_eq_uint(strlen(rig.page->host), sizeof(rig.page->host) - 1);
    tap_eq_uint(strlen(rig.page->ranks[1].device), sizeof(rig.page->ranks[1].device) - 1);
    rig.page->state = FSM__STATES;
    tap_ok(!status_check(rig.page, size));
    rig.page->state = FSM_RUNNING;
    rig.page->ranks[0].state = 17;
    tap_ok(!status_check(rig.page, size));
    rig.page->ranks[0].state = RANK_ALIVE;
    rig.page->count = 3;
    tap_ok(!status_check(rig.page, size));
    rig.page->count = -1;
    tap_ok(!status_check(rig.page, size));
    rig.page->count = 2;
    rig.page->magic++;
    tap_ok(!status_check(rig.page, size));
    free(rig.page);
}

TEST(ready_waits_for_every_ranks_first_words_on_one_node)
{
    struct rig rig;

    if (!tap_ok(rig_make(&rig)))
        return;
    tap_ok(probe(&rig, STATUS_READY));
    rig.page->ranks[1].output_ns = STATUS_NEVER;
    tap_ok(!probe(&rig, STATUS_READY));
    tap_eq_str(rig.room, "1 of 2 ranks have not said anything yet");
    tap_ok(probe(&rig, STATUS_STARTED));
    rig.page->ranks[1].ready = 1;
    tap_ok(probe(&rig, STATUS_READY));
    rig.page->ranks[1].ready = 0;
    rig.page->ranks[1].captured = 0;
    tap_ok(probe(&rig, STATUS_READY));
    rig.page->ranks[1].captured = 1;
    rig.page->nnodes = 2;
    tap_ok(probe(&rig, STATUS_READY));
    rig.page->ranks[1].state = RANK_NOT_STARTED;
    tap_ok(!probe(&rig, STATUS_READY));
    tap_eq_str(rig.room, "1 of 2 ranks run");
    tap_ok(!probe(&rig, STATUS_STARTED));
    tap_eq_str(rig.room, "1 of 2 ranks not started");
    free(rig.page);
}

TEST(a_drain_is_live_and_started_but_not_ready)
{
    struct rig rig;

    if (!tap_ok(rig_make(&rig)))
        return;
    rig.page->state = FSM_DRAINING;
    rig.page->deadline_ns = rig.view.now_ns + 5 * SECOND;
    tap_ok(probe(&rig, STATUS_LIVE));
    tap_eq_str(rig.room, "pid 1 is in DRAINING");
    tap_ok(probe(&rig, STATUS_STARTED));
    tap_ok(!probe(&rig, STATUS_READY));
    tap_eq_str(rig.room, "DRAINING");
    free(rig.page);
}

TEST(not_live_is_who_misses_his_deadlines_or_does_not_run)
{
    struct rig rig;

    if (!tap_ok(rig_make(&rig)))
        return;
    rig.page->deadline_ns = rig.view.now_ns - STATUS_STUCK_NS;
    tap_ok(probe(&rig, STATUS_LIVE));
    rig.page->deadline_ns--;
    tap_ok(!probe(&rig, STATUS_LIVE));
    tap_eq_str(rig.room, "pid 1 missed a deadline in RUNNING");
    rig.page->deadline_ns = FSM_NEVER;
    rig.view.process_state = 'T';
    tap_ok(!probe(&rig, STATUS_LIVE));
    tap_eq_str(rig.room, "pid 1 does not run: state T");
    free(rig.page);
}

TEST(the_table)
{
    struct rig rig;

    if (!tap_ok(rig_make(&rig)))
        return;
    rig.usage[0] = (struct status_usage){true, 101, 1288490189};
    rig.page->ranks[1].state = RANK_ENDED;
    rig.page->ranks[1].wait_status = SIGKILL;
    rig.page->ranks[1].ended_ns = 4 * SECOND;
    rig.page->stop_signal = SIGTERM;
    rig.page->orphans_reaped = 3;
    status_text(&rig.view, &rig.out);
    tap_eq_str(rig.room,
               "rankinit 1.0, pid 1 on box: RUNNING, up 1m03s, asked to stop by SIGTERM\n"
               "job llama: node 0 of 1, 2 of 2 ranks here, 3 orphans reaped\n"
               " rank     pid  state        uptime  cpu%     rss  device       restarts  output\n"
               "    0       7  running       1m02s   101   1.2Gi  GPU-8f1c            0   1m01s\n"
               "    1       8  SIGKILL          3s     -       -  GPU-8f1c            0   1m01s\n");
    free(rig.page);
}

TEST(names_cannot_drive_a_terminal)
{
    struct rig rig;

    if (!tap_ok(rig_make(&rig)))
        return;
    strcpy(rig.page->job_id, "\033[2J");
    strcpy(rig.page->ranks[0].device, "\033]0;x\a");
    status_text(&rig.view, &rig.out);
    tap_ok(!strchr(rig.room, '\033'));
    free(rig.page);
}

TEST(the_document_of_a_full_node_fits)
{
    enum { COUNT = 64 };
    size_t size = status_size(COUNT), arena_size = status_arena_size(COUNT);
    struct status_page *page = calloc(1, size);
    struct status_usage *usage = calloc(COUNT, sizeof(*usage));
    void *memory = malloc(arena_size);
    char *text = malloc(status_text_size(COUNT));
    struct status_view view = {page, usage, 100 * SECOND, 'S'};
    struct json_arena arena;

    if (!tap_ok(page && usage && memory && text))
        return;
    page->magic = STATUS_MAGIC;
    page->size = (uint32_t)size;
    page->count = COUNT;
    page->fanout = 1;
    for (int i = 0; i < COUNT; i++) {
        memset(page->ranks[i].device, '\1', sizeof(page->ranks[i].device));
        page->ranks[i].state = RANK_ENDED;
        page->ranks[i].wait_status = SIGKILL;
        page->ranks[i].pid = 1000000 + i;
        usage[i] = (struct status_usage){true, 100, INT64_MAX};
    }
    tap_ok(status_check(page, size));
    json_setup(&arena, memory, arena_size, 0);
    tap_ok(json_write(status_json(&view, &arena), text, status_text_size(COUNT)) > 0);
    json_end();
    free(text);
    free(memory);
    free(usage);
    free(page);
}

TAP_MAIN()
