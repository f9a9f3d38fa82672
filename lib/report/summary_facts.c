/*
 * Parts of the summary that only repeat facts.
 */
#include "model/stuck.h"
#include "report/field.h"
#include "report/summary_parts.h"

void summary_put_stuck(struct summary_writer *writer, struct json *root)
{
    const struct outcome *outcome = writer->summary->outcome;
    struct json *list;
    struct stuck stuck;

    stuck_make(outcome, &stuck);
    summary_note_cut(writer, SHRINK_FAILURES,
                     stuck.left_out == 0 && stuck.count <= writer->limits->rows);
    if (stuck.count == 0 || writer->limits->rows == 0)
        return;
    list = json_new_array();
    for (int i = 0; i < stuck.count && i < writer->limits->rows; i++) {
        const struct stuck_group *group = &stuck.list[i];
        const struct traceback_place *place = stuck_place(outcome, group->first);
        struct json *row = json_new_object();
        char room[SHRINK_RANKS_MAX + 16];
        struct buf ranks = BUF_OVER(room);

        summary_note_cut(
            writer, SHRINK_FAILURES,
            stuck_ranks(outcome, writer->summary->plan, group, writer->limits->ranks_text, &ranks));
        json_put_text(row, "ranks", ranks.data);
        json_put_int(row, "count", group->count);
        field_text(row, "function", place->function, sizeof(place->function) * 6);
        summary_note_cut(writer, SHRINK_ERROR,
                         field_text(row, "file", place->file, writer->limits->error));
        json_put_int(row, "line", place->line);
        json_add(list, row);
    }
    json_put(root, "stuck", list);
}

/* Restarts, and how each attempt before this one ended. */
static void put_attempts(struct summary_writer *writer, struct json *job)
{
    const struct outcome *outcome = writer->summary->outcome;
    int first_rank = writer->summary->plan->job.first_rank;
    int shown = outcome->attempt_count;
    struct json *list;

    if (outcome->restarts == 0)
        return;
    json_put_int(job, "restarts", outcome->restarts);
    if (shown > writer->limits->rows)
        shown = writer->limits->rows;
    summary_note_cut(writer, SHRINK_JOB, shown == outcome->restarts);
    if (shown == 0)
        return;
    list = json_new_array();
    for (int i = 0; i < shown; i++) {
        const struct outcome_attempt *attempt = &outcome->attempts[i];
        struct json *row = json_new_object();

        json_put_int(row, "attempt", attempt->number);
        json_put_text(row, "reason", attempt->reason);
        json_put_int(row, "exit_code", attempt->exit_code);
        if (attempt->root >= 0)
            json_put_int(row, "rank", first_rank + attempt->root);
        json_put_seconds(row, "seconds", attempt->ended_ns);
        summary_note_cut(writer, SHRINK_JOB,
                         field_text(row, "message", attempt->message, writer->limits->error));
        json_add(list, row);
    }
    json_put(job, "attempts", list);
}

void summary_put_job(struct summary_writer *writer, struct json *root)
{
    const struct plan *plan = writer->summary->plan;
    const struct plan_job *job = &plan->job;
    bool init = plan->mode == PLAN_INIT;
    int port = writer->summary->outcome->master_port;
    struct json *object = json_new_object();
    size_t limit = writer->limits->names;

    if (job->id)
        summary_note_cut(writer, SHRINK_JOB, limit > 0 && field_text(object, "id", job->id, limit));
    json_put_int(object, "nnodes", init ? 1 : job->nnodes);
    json_put_int(object, "node_rank", init ? 0 : job->node_rank);
    json_put_int(object, "nproc_per_node", init ? 1 : job->nproc);
    if (job->master_addr && !init)
        summary_note_cut(writer, SHRINK_JOB,
                         limit > 0 && field_text(object, "master_addr", job->master_addr, limit));
    if (port > 0 && !init && limit > 0)
        json_put_int(object, "master_port", port);
    put_attempts(writer, object);
    json_put(root, "job", object);
}

void summary_put_resources(struct summary_writer *writer, struct json *root)
{
    const struct outcome *outcome = writer->summary->outcome;
    const struct plan *plan = writer->summary->plan;
    struct json *object = json_new_object();

    if (outcome->max_rss_bytes > 0) {
        json_put_int(object, "max_rss_bytes", outcome->max_rss_bytes);
        json_put_seconds(object, "user_seconds", outcome->user_ns);
        json_put_seconds(object, "system_seconds", outcome->system_ns);
    }
    if (outcome->oom_known)
        json_put_int(object, "oom_kills", (int64_t)outcome->oom_kills);
    if (outcome->memory_peak_bytes > 0)
        json_put_int(object, "memory_peak_bytes", outcome->memory_peak_bytes);
    if (plan->memory_limit_bytes > 0)
        json_put_int(object, "memory_limit_bytes", plan->memory_limit_bytes);
    if (plan->shm_bytes >= 0)
        json_put_int(object, "shm_bytes", plan->shm_bytes);
    json_put(root, "resources", object);
}
