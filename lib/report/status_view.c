/* The two forms of --status: a table for people, a document for programs. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/exitcode.h"
#include "base/signame.h"
#include "report/columns.h"
#include "report/status.h"

#define CELL 24

static const char *const state_words[] = {[RANK_NOT_STARTED] = "starting",
                                          [RANK_ALIVE] = "running",
                                          [RANK_ENDED] = "ended",
                                          [RANK_START_FAILED] = "not started"};

/* "850ms", "12s", "3m07s", "5h02m", "4d01h". */
static const char *age(int64_t ns, char room[static CELL])
{
    long long ms = ns / 1000000, s = ms / 1000;

    if (ms < 0)
        snprintf(room, CELL, "0s");
    else if (s < 1)
        snprintf(room, CELL, "%lldms", ms);
    else if (s < 60)
        snprintf(room, CELL, "%llds", s);
    else if (s < 3600)
        snprintf(room, CELL, "%lldm%02llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(room, CELL, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(room, CELL, "%lldd%02lldh", s / 86400, s / 3600 % 24);
    return room;
}

static const char *amount(int64_t bytes, char room[static CELL])
{
    static const char units[] = "KMGT";
    double value = (double)bytes / 1024;
    int unit = 0;

    while (value >= 1000 && units[unit + 1]) {
        value /= 1024;
        unit++;
    }
    snprintf(room, CELL, value < 10 ? "%.1f%ci" : "%.0f%ci", value, units[unit]);
    return room;
}

/* How a rank is: "running", "exit 3", "SIGKILL". */
static const char *state_of(const struct status_rank *rank, char room[static CELL])
{
    char name[SIGNAME_MAX];

    if (rank->state == RANK_ENDED && WIFSIGNALED(rank->wait_status))
        snprintf(room, CELL, "%.20s", signame_text(WTERMSIG(rank->wait_status), name));
    else if (rank->state == RANK_ENDED)
        snprintf(room, CELL, "exit %d", exitcode_of_wait(rank->wait_status));
    else
        snprintf(room, CELL, "%s", state_words[rank->state]);
    return room;
}

/* Nanoseconds that a rank has lived; STATUS_NEVER if it never did. */
static int64_t lived(const struct status_view *view, const struct status_rank *rank)
{
    if (rank->state == RANK_ALIVE)
        return view->now_ns - rank->started_ns;
    return rank->state == RANK_ENDED ? rank->ended_ns - rank->started_ns : STATUS_NEVER;
}

static void add_head(const struct status_view *view, struct buf *out)
{
    const struct status_page *page = view->page;
    char up[CELL], signal[SIGNAME_MAX];

    buf_addf(out, "rankinit %s, pid %d on ", page->version, page->pid);
    buf_add_plain(out, page->host, strlen(page->host));
    buf_addf(out, ": %s, up %s", fsm_state_name((enum fsm_state)page->state),
             age(view->now_ns, up));
    if (page->stop_signal)
        buf_addf(out, ", asked to stop by %s", signame_text(page->stop_signal, signal));
    buf_addc(out, '\n');
    if (!page->fanout)
        return;
    buf_adds(out, "job ");
    buf_add_plain(out, page->job_id, strlen(page->job_id));
    buf_addf(out, ": node %d of %d, %d of %d ranks here, %llu orphans reaped\n", page->node_rank,
             page->nnodes, page->count, page->world_size, (unsigned long long)page->orphans_reaped);
}

static void add_row(const struct status_view *view, int index, struct buf *out)
{
    const struct status_rank *rank = &view->page->ranks[index];
    const struct status_usage *usage = &view->usage[index];
    char state[CELL], up[CELL] = "-", cpu[CELL] = "-", rss[CELL] = "-", output[CELL] = "-";

    if (lived(view, rank) != STATUS_NEVER)
        age(lived(view, rank), up);
    if (usage->known) {
        snprintf(cpu, sizeof(cpu), "%d", usage->cpu_percent);
        amount(usage->rss_bytes, rss);
    }
    if (rank->output_ns != STATUS_NEVER)
        age(view->now_ns - rank->output_ns, output);
    buf_addf(out, "%5d %7d  %-11.11s %7s %5s %7s  ", rank->rank, rank->pid, state_of(rank, state),
             up, cpu, rss);
    columns_field(rank->device[0] ? rank->device : "-", 12, out);
    buf_addf(out, " %8d  %6s\n", view->page->restarts, output);
}

void status_text(const struct status_view *view, struct buf *out)
{
    add_head(view, out);
    buf_adds(out,
             " rank     pid  state        uptime  cpu%     rss  device       restarts  output\n");
    for (int i = 0; i < view->page->count; i++)
        add_row(view, i, out);
}

static struct json *rank_json(const struct status_view *view, int index)
{
    const struct status_rank *rank = &view->page->ranks[index];
    const struct status_usage *usage = &view->usage[index];
    struct json *object = json_new_object();
    char name[SIGNAME_MAX];

    json_put_int(object, "rank", rank->rank);
    json_put_int(object, "local_rank", rank->local_rank);
    if (rank->pid > 0)
        json_put_int(object, "pid", rank->pid);
    json_put_text(object, "state", state_words[rank->state]);
    if (lived(view, rank) != STATUS_NEVER)
        json_put_seconds(object, "seconds", lived(view, rank));
    if (usage->known) {
        json_put_int(object, "cpu_percent", usage->cpu_percent);
        json_put_int(object, "rss_bytes", usage->rss_bytes);
    }
    if (rank->device[0])
        json_put_text(object, "device", rank->device);
    json_put_int(object, "restarts", view->page->restarts);
    if (rank->output_ns != STATUS_NEVER)
        json_put_seconds(object, "output_age", view->now_ns - rank->output_ns);
    if (rank->state == RANK_ENDED)
        json_put_int(object, "exit_code", exitcode_of_wait(rank->wait_status));
    if (rank->state == RANK_ENDED && WIFSIGNALED(rank->wait_status))
        json_put_text(object, "signal", signame_text(WTERMSIG(rank->wait_status), name));
    return object;
}

static void put_probes(const struct status_view *view, struct json *root)
{
    static const char *const names[] = {"started", "ready", "live"};
    char room[128];

    for (int i = STATUS_STARTED; i <= STATUS_LIVE; i++) {
        struct buf why = BUF_OVER(room);

        json_put_bool(root, names[i], status_probe(view, (enum status_probe)i, &why));
    }
}

static void put_job(const struct status_page *page, struct json *root)
{
    struct json *job = json_new_object();

    json_put_text(job, "id", page->job_id);
    json_put_int(job, "nnodes", page->nnodes);
    json_put_int(job, "node_rank", page->node_rank);
    json_put_int(job, "nproc_per_node", page->count);
    json_put_int(job, "world_size", page->world_size);
    json_put(root, "job", job);
}

struct json *status_json(const struct status_view *view, struct json_arena *arena)
{
    const struct status_page *page = view->page;
    struct json *root, *ranks;
    char signal[SIGNAME_MAX];

    json_begin(arena);
    root = json_new_object();
    ranks = json_new_array();
    json_put_text(root, "schema", "rankinit.status.v1");
    json_put_text(root, "state", fsm_state_name((enum fsm_state)page->state));
    json_put_text(root, "mode", page->fanout ? "fan-out" : "init");
    put_probes(view, root);
    json_put_int(root, "pid", page->pid);
    json_put_seconds(root, "seconds", view->now_ns);
    if (page->fanout)
        put_job(page, root);
    if (page->stop_signal)
        json_put_text(root, "stop_signal", signame_text(page->stop_signal, signal));
    json_put_int(root, "orphans_reaped", (int64_t)page->orphans_reaped);
    for (int i = 0; i < page->count; i++)
        json_add(ranks, rank_json(view, i));
    json_put(root, "ranks", ranks);
    json_put_text(root, "host", page->host);
    json_put_text(root, "version", page->version);
    return json_failed(arena) ? NULL : root;
}

size_t status_arena_size(int count)
{
    return 16384 + (size_t)count * 4096;
}

size_t status_text_size(int count)
{
    return 4096 + (size_t)count * 1024;
}
