#include "report/summary.h"

#include <string.h>
#include <sys/wait.h>

#include "base/exitcode.h"
#include "base/signame.h"
#include "model/sentence.h"
#include "report/field.h"
#include "report/groups.h"
#include "report/hints.h"
#include "report/lag_view.h"
#include "report/shrink.h"
#include "report/summary_parts.h"

#ifndef RANKINIT_VERSION
#define RANKINIT_VERSION "dev"
#endif

#define SCHEMA     "rankinit.summary.v1"
#define ARENA_BASE (112u << 10) /* a document without rows; or an error file that is read */
#define ARENA_ROW  (4u << 10)
#define HOST_MAX   256

size_t summary_arena_size(const struct plan *plan)
{
    size_t rows = plan->mode == PLAN_INIT ? 1 : (size_t)plan->job.nproc;

    return ARENA_BASE + (rows < GROUPS_MAX ? rows : GROUPS_MAX) * ARENA_ROW;
}

void summary_note_cut(struct summary_writer *writer, enum shrink_part part, bool whole)
{
    if (!whole)
        writer->cut |= 1u << part;
}

static const struct outcome_rank *rank_at(const struct summary_writer *writer, int local_rank)
{
    return &writer->summary->outcome->ranks[local_rank];
}

static void put_error(struct summary_writer *writer, struct json *object, int local_rank,
                      const struct finding *words)
{
    const struct outcome_rank *rank = rank_at(writer, local_rank);
    struct json *error = json_new_object();
    char room[512];
    struct buf text = BUF_OVER(room);

    if (rank->state == RANK_START_FAILED) {
        sentence_end(writer->summary->outcome, writer->summary->plan, local_rank, &text);
        summary_note_cut(writer, SHRINK_ERROR,
                         field_text(error, "message", text.data, writer->limits->error));
    } else if (words && (words->type[0] || words->message[0])) {
        field_text(error, "type", words->type, sizeof(words->type) * 6);
        summary_note_cut(writer, SHRINK_ERROR,
                         field_text(error, "message", words->message, writer->limits->error));
        summary_note_cut(writer, SHRINK_ERROR,
                         field_text(error, "file", words->file, writer->limits->error));
        if (words->line > 0)
            json_put_int(error, "line", words->line);
    } else {
        return;
    }
    json_put(object, "error", error);
}

static void put_end(struct json *object, const struct outcome_rank *rank, bool core)
{
    char name[SIGNAME_MAX];

    if (rank->state != RANK_ENDED)
        return;
    json_put_int(object, "exit_code", exitcode_of_wait(rank->wait_status));
    if (!WIFSIGNALED(rank->wait_status))
        return;
    json_put_text(object, "signal", signame_text(WTERMSIG(rank->wait_status), name));
    if (core)
        json_put_bool(object, "core_dumped", rank->core_dumped);
}

static void put_device(struct json *object, const struct plan *plan, int local_rank)
{
    const struct devices *devices = &plan->devices;
    char room[256];
    struct buf list = BUF_OVER(room);

    if (devices->mode == DEVICE_ISOLATED || devices->mode == DEVICE_ISOLATED_KEEP_RANK)
        devices_list(devices, local_rank, &list);
    else if (devices->mode == DEVICE_SHARED && (size_t)local_rank < devices->pool.count)
        buf_adds(&list, devices->pool.items[local_rank]);
    field_text(object, "device", list.data, sizeof(room));
}

/* What the rank said last: a traceback, or else as much of its stderr. */
static void put_words(struct summary_writer *writer, struct json *object)
{
    const struct verdict *verdict = writer->summary->verdict;
    const char *traceback = verdict->cause.traceback;
    char room[EVIDENCE_TAIL_MAX + 1];
    struct buf tail = BUF_OVER(room);

    summary_note_cut(writer, SHRINK_TRACEBACK,
                     field_lines(object, "traceback", traceback, writer->limits->words));
    evidence_tail(rank_at(writer, verdict->root)->evidence,
                  writer->summary->plan->output.tail_lines, &tail);
    summary_note_cut(writer, SHRINK_TAIL,
                     field_lines(object, "stderr_tail", tail.data,
                                 traceback[0] ? writer->limits->tail : writer->limits->words));
}

static void put_kind(struct json *object, const struct outcome_rank *rank,
                     const struct verdict *verdict)
{
    if (verdict->cause.kind == EVIDENCE_SIGNAL && rank->oom)
        json_put_text(object, "kind", "oom_counter");
    else if (verdict->cause.echo && rank->evidence->collective.timed_out)
        json_put_text(object, "kind", "watchdog");
    else if (verdict->cause.kind != EVIDENCE_NONE)
        json_put_text(object, "kind", evidence_word(verdict->cause.kind));
}

static void put_root_cause(struct summary_writer *writer, struct json *root)
{
    const struct outcome *outcome = writer->summary->outcome;
    const struct verdict *verdict = writer->summary->verdict;
    const struct plan *plan = writer->summary->plan;
    const struct outcome_rank *rank;
    struct json *object;

    if (verdict->root < 0)
        return;
    if (!writer->limits->root) {
        summary_note_cut(writer, SHRINK_ROOT, false);
        return;
    }
    rank = rank_at(writer, verdict->root);
    object = json_new_object();
    if (plan->mode == PLAN_FANOUT) {
        json_put_int(object, "rank", plan->job.first_rank + verdict->root);
        json_put_int(object, "local_rank", verdict->root);
        json_put_int(object, "node_rank", plan->job.node_rank);
    }
    if (rank->pid > 0)
        json_put_int(object, "pid", rank->pid);
    put_end(object, rank, true);
    field_time(object, "time", outcome->start_realtime_ns + verdict->cause_ns);
    json_put_seconds(object, "seconds", verdict->cause_ns);
    put_device(object, plan, verdict->root);
    put_error(writer, object, verdict->root, &verdict->cause);
    put_words(writer, object);
    put_kind(object, rank, verdict);
    json_put(root, "root_cause", object);
}

static struct json *new_row(struct summary_writer *writer, int index)
{
    const struct group *group = &writer->groups->list[index];
    const struct outcome_rank *rank = rank_at(writer, group->first);
    struct outcome_candidate candidate;
    struct json *row = json_new_object();
    char room[SHRINK_RANKS_MAX + 16];
    struct buf ranks = BUF_OVER(room);

    summary_note_cut(writer, SHRINK_FAILURES,
                     groups_ranks(writer->groups, index, writer->summary->plan,
                                  writer->limits->ranks_text, &ranks));
    json_put_text(row, "ranks", ranks.data);
    json_put_int(row, "count", group->count);
    put_end(row, rank, false);
    json_put_seconds(row, "seconds", group->at_ns);
    outcome_account(rank, &candidate);
    put_error(writer, row, group->first, candidate.words);
    json_put_text(row, "class", outcome_class_word(group->class));
    return row;
}

static void put_failures(struct summary_writer *writer, struct json *root)
{
    int rows = writer->groups->count;
    struct json *list;

    summary_note_cut(writer, SHRINK_FAILURES, writer->groups->left_out == 0);
    if (rows > writer->limits->rows) {
        rows = writer->limits->rows;
        summary_note_cut(writer, SHRINK_FAILURES, false);
    }
    if (rows == 0)
        return;
    list = json_new_array();
    for (int i = 0; i < rows; i++)
        json_add(list, new_row(writer, i));
    json_put(root, "failures", list);
}

static void put_collective(struct summary_writer *writer, struct json *root)
{
    const struct lag_view view = {writer->summary->plan, writer->summary->outcome,
                                  writer->summary->verdict, writer->limits->ranks_text};
    bool whole;
    struct json *object = lag_view_make(&view, &whole);

    if (object && !writer->limits->root)
        whole = false;
    else
        json_put(root, "collective", object);
    summary_note_cut(writer, SHRINK_COLLECTIVE, whole);
}

static void put_ranks(struct summary_writer *writer, struct json *root)
{
    const struct outcome *outcome = writer->summary->outcome;
    const struct plan *plan = writer->summary->plan;
    int succeeded = 0, failed = 0, stopped = 0;
    struct json *object;

    for (int i = 0; i < outcome->count; i++) {
        const struct outcome_rank *rank = &outcome->ranks[i];

        if (rank->state == RANK_ENDED && !outcome_rank_failed(rank))
            succeeded++;
        else if (outcome_class(outcome, writer->summary->verdict, i) == CLASS_STOPPED_BY_US)
            stopped++;
        else if (outcome_rank_failed(rank))
            failed++;
    }
    object = json_new_object();
    json_put_int(object, "world_size", plan->mode == PLAN_INIT ? 1 : plan->job.world_size);
    json_put_int(object, "local", outcome->count);
    json_put_int(object, "succeeded", succeeded);
    json_put_int(object, "failed", failed);
    json_put_int(object, "stopped", stopped);
    json_put_int(object, "unreaped", outcome->unreaped_count + outcome->unreaped_more);
    json_put(root, "ranks", object);
}

static void put_stop(struct summary_writer *writer, struct json *root)
{
    const struct outcome *outcome = writer->summary->outcome;
    const struct outcome_stop *stop = &outcome->stop;
    struct json *object, *sender;
    char name[SIGNAME_MAX];

    if (!stop->requested)
        return;
    object = json_new_object();
    json_put_text(object, "signal", signame_text(stop->signal, name));
    if (stop->sender_pid > 0) {
        sender = json_new_object();
        json_put_int(sender, "pid", stop->sender_pid);
        json_put_int(sender, "uid", stop->sender_uid);
        if (stop->sender_rank >= 0)
            json_put_int(sender, "rank", writer->summary->plan->job.first_rank + stop->sender_rank);
        json_put(object, "sender", sender);
    } else {
        json_put_text(object, "sender", stop->terminal ? "terminal" : "outside");
    }
    json_put_seconds(object, "seconds", stop->at_ns);
    json_put_bool(object, "escalated", outcome->killed_ns != OUTCOME_NEVER);
    json_put(root, "stop", object);
}

static void put_counts(struct summary_writer *writer, struct json *root)
{
    if (!writer->limits->counts) {
        summary_note_cut(writer, SHRINK_COUNTS, false);
        return;
    }
    put_ranks(writer, root);
    put_stop(writer, root);
}

/* What remains after the last SIGKILL, as nobody can look at it any more; and what to do about it. */
static void put_hints(struct summary_writer *writer, struct json *root)
{
    const struct outcome *outcome = writer->summary->outcome;
    int left = outcome->unreaped_count;
    int count = left + writer->hints->count;
    struct json *list;

    summary_note_cut(writer, SHRINK_HINTS, outcome->unreaped_more == 0);
    if (count > writer->limits->hints) {
        count = writer->limits->hints;
        summary_note_cut(writer, SHRINK_HINTS, false);
    }
    if (count == 0)
        return;
    list = json_new_array();
    for (int i = 0; i < count; i++) {
        char room[HINT_MAX];
        struct buf text = BUF_OVER(room);

        if (i < left)
            sentence_unreaped(&outcome->unreaped[i], writer->summary->plan, &text);
        json_add_text(list, i < left ? text.data : writer->hints->texts[i - left]);
    }
    json_put(root, "hints", list);
}

static void put_verdict(struct summary_writer *writer, struct json *root)
{
    const struct verdict *verdict = writer->summary->verdict;

    json_put_text(root, "schema", SCHEMA);
    json_put_text(root, "verdict", outcome_verdict_word(verdict->word));
    json_put_text(root, "reason", verdict->reason);
    if (verdict->exit_code >= 0) {
        json_put_int(root, "exit_code", verdict->exit_code);
        json_put_text(root, "exit_origin", verdict->from_rank ? "rank" : "rankinit");
    }
    summary_note_cut(writer, SHRINK_MESSAGE,
                     field_text(root, "message", verdict->message, writer->limits->message));
}

static void put_end_matter(struct summary_writer *writer, struct json *root)
{
    const struct outcome *outcome = writer->summary->outcome;
    const char *name = writer->summary->plan->host;
    size_t names = writer->limits->names, host = names > 0 ? HOST_MAX : SHRINK_HOST_MIN;

    if (writer->limits->counts)
        json_put_int(root, "orphans_reaped", (int64_t)outcome->orphans_reaped);
    summary_note_cut(writer, SHRINK_JOB,
                     field_text(root, "host", name[0] ? name : "unknown", host));
    field_text(root, "version", RANKINIT_VERSION, SHRINK_HOST_MIN);
    field_time(root, "started", outcome->start_realtime_ns);
    if (writer->limits->counts) {
        if (outcome->done)
            field_time(root, "ended", outcome->start_realtime_ns + outcome->now_ns);
        json_put_seconds(root, "seconds", outcome->now_ns);
    }
    summary_note_cut(writer, SHRINK_FOREIGN,
                     names > 0
                         ? field_text(root, "foreign_message", outcome->foreign_message, names * 2)
                         : outcome->foreign_message[0] == '\0');
}

static struct json *build(struct summary_writer *writer)
{
    struct json *root = json_new_object();
    struct json *list;

    put_verdict(writer, root);
    put_root_cause(writer, root);
    put_failures(writer, root);
    put_collective(writer, root);
    summary_put_stuck(writer, root);
    put_counts(writer, root);
    put_hints(writer, root);
    summary_put_job(writer, root);
    if (writer->limits->resources)
        summary_put_resources(writer, root);
    else
        summary_note_cut(writer, SHRINK_RESOURCES, false);
    put_end_matter(writer, root);
    if (writer->cut == 0)
        return root;
    list = json_new_array();
    for (int part = 0; part < SHRINK__PARTS; part++) {
        if (writer->cut & 1u << part)
            json_add_text(list, shrink_part_word((enum shrink_part)part));
    }
    json_put(root, "truncated", list);
    return root;
}

/* The document shrinks step by step until it fits; the last step always does. */
size_t summary_render(const struct summary *summary, char *out, size_t budget)
{
    /* The groups have the end of the arena: they are too large for the stack. */
    struct json_arena nodes = *summary->arena;
    struct groups *groups;
    struct hints hints;
    size_t size = 0;

    hints_make(summary->plan, summary->outcome, summary->verdict, &hints);
    nodes.size -= (sizeof(*groups) + 15) & ~(size_t)15;
    groups = (struct groups *)(void *)(nodes.base + nodes.size);
    groups_make(summary->outcome, summary->verdict, groups);
    for (int step = 0; size == 0 && shrink_step(step); step++) {
        struct summary_writer writer = {summary, groups, &hints, shrink_step(step), 0};
        const struct json *root;

        json_begin(&nodes);
        root = build(&writer);
        if (!json_failed(&nodes))
            size = json_write(root, out, budget);
    }
    json_begin(summary->arena);
    return size;
}
