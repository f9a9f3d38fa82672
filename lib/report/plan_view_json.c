/*
 * The plan as one JSON document, as plan.schema.json says.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/scan.h"
#include "base/secret.h"
#include "base/signame.h"
#include "report/plan_view_parts.h"
#include "report/view.h"

#ifndef RANKINIT_VERSION
#define RANKINIT_VERSION "dev"
#endif

#define SCHEMA "rankinit.plan.v1"

static struct json *new_list(const struct strvec *texts)
{
    struct json *list = json_new_array();

    for (size_t i = 0; i < texts->count; i++)
        json_add_text(list, texts->items[i]);
    return list;
}

static void put_masked(struct json *object, const char *key, const char *text)
{
    CLEANUP(strvec_release) struct strvec shown = STRVEC_INIT;

    if (text)
        json_put_text(object, key, secret_mask(text, &shown));
}

/* A number where it is known, else the words for it. */
static void put_port(struct json *object, int port)
{
    if (port > 0)
        json_put_int(object, "master_port", port);
    else
        json_put_text(object, "master_port", PLAN_VIEW_PORT);
}

static void put_job(const struct plan *plan, struct json *root)
{
    const struct plan_job *job = &plan->job;
    struct json *object = json_new_object();

    json_put_text(object, "id", job->id);
    if (job->task.one)
        json_put_bool(object, "one_process", true);
    json_put_int(object, "nnodes", job->nnodes);
    json_put_int(object, "node_rank", job->node_rank);
    json_put_int(object, "nproc_per_node", job->nproc);
    json_put_int(object, "world_size", job->world_size);
    json_put_int(object, "first_rank", job->first_rank);
    json_put_text(object, "master_addr", job->master_addr);
    if (job->master_addr)
        put_port(object, job->master_port);
    json_put_text(object, "role", job->role);
    json_put_text(object, "platform", job->platform);
    json_put_text(object, "platform_told", job->platform_told);
    json_put(root, "job", object);
}

static void put_devices(const struct plan *plan, struct json *root)
{
    const struct devices *devices = &plan->devices;
    struct json *object = json_new_object();
    char word[VIEW_NAME_MAX];

    json_put_text(object, "mode", view_word(OPT_DEVICE_MODE, (int)devices->mode, word));
    json_put(object, "pool", new_list(&devices->pool));
    json_put_text(object, "origin", devices->origin);
    json_put_int(object, "per_rank", devices->per_rank);
    json_put_bool(object, "hidden", devices->hidden);
    json_put(root, "devices", object);
}

static struct json *new_env(const struct strvec *entries)
{
    struct json *object = json_new_object();

    for (size_t i = 0; i < entries->count; i++) {
        const char *entry = entries->items[i];
        size_t len = strcspn(entry, "=");
        char plain[256];
        struct buf key = BUF_OVER(plain);

        buf_add_plain(&key, entry, len);
        json_put_text(object, plain, entry + len + 1);
    }
    return object;
}

static struct json *new_rank(const struct plan_view *view, int local_rank)
{
    CLEANUP(view_rank_release) struct view_rank rank;
    struct json *object = json_new_object();
    long threads;

    view_rank_make(view, local_rank, &rank);
    if (view->plan->mode == PLAN_FANOUT) {
        json_put_int(object, "rank", view->plan->job.first_rank + local_rank);
        if (rank.local_rank >= 0)
            json_put_int(object, "local_rank", rank.local_rank);
        json_put(object, "devices", new_list(&rank.devices));
    }
    json_put_text(object, "cpus", rank.cpus);
    if (rank.threads && scan_int(rank.threads, 1, INT32_MAX, &threads))
        json_put_int(object, "threads", threads);
    json_put(object, "argv", new_list(&rank.argv));
    json_put(object, "env", new_env(&rank.set));
    json_put(object, "env_unset", new_list(&rank.unset));
    return object;
}

static struct json *new_setting(const struct plan_view *view, enum option_id id)
{
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;
    struct setting setting = view_setting(view, id, &texts);
    struct json *object = json_new_object();
    char name[VIEW_NAME_MAX];

    json_put_text(object, "name", view_name(id, name));
    json_put_text(object, "value", setting.text);
    json_put_text(object, "source", settings_source_word(setting.source));
    json_put_text(object, "origin", setting.origin);
    return object;
}

static void put_lists(const struct plan_view *view, struct json *root)
{
    struct json *ranks = json_new_array(), *settings = json_new_array();

    for (int i = 0; i < view_rank_count(view); i++)
        json_add(ranks, new_rank(view, i));
    for (int id = 0; id < OPT__COUNT; id++) {
        if (view_shows(view, (enum option_id)id))
            json_add(settings, new_setting(view, (enum option_id)id));
    }
    json_put(root, "ranks", ranks);
    json_put(root, "settings", settings);
}

static void put_signals(const struct plan_stop *stop, struct json *object)
{
    struct json *stops = json_new_array(), *rewrite = json_new_array();
    char from[SIGNAME_MAX], to[SIGNAME_MAX];

    for (int i = 1; i < PLAN_SIGNALS; i++) {
        char room[2 * SIGNAME_MAX + 1];
        struct buf pair = BUF_OVER(room);

        if (stop->stops[i])
            json_add_text(stops, signame_text(i, from));
        if (stop->rewrite[i] == i)
            continue;
        buf_addf(&pair, "%s:%s", signame_text(i, from),
                 stop->rewrite[i] ? signame_text(stop->rewrite[i], to) : "0");
        json_add_text(rewrite, room);
    }
    json_put(object, "signals", stops);
    json_put(object, "rewrite", rewrite);
}

static void put_stop(const struct plan *plan, struct json *root)
{
    const struct plan_stop *stop = &plan->stop;
    struct json *object = json_new_object();

    put_signals(stop, object);
    json_put_text(object, "scope", stop->group ? "group" : "leader");
    json_put_bool(object, "escalate", stop->escalate);
    json_put_bool(object, "sweep", stop->sweep);
    json_put_seconds(object, "grace_seconds", stop->grace_ns);
    json_put_seconds(object, "fail_grace_seconds", stop->fail_grace_ns);
    json_put_seconds(object, "orphan_grace_seconds", stop->orphan_grace_ns);
    json_put_seconds(object, "settle_seconds", stop->settle_ns);
    json_put(root, "stop", object);
}

static const char *streams_word(const bool streams[2])
{
    static const char *const words[] = {"none", "stdout", "stderr", "both"};

    return words[streams[0] + 2 * streams[1]];
}

static void put_files(const struct plan *plan, struct json *object)
{
    static const char *const names[] = {"stdout_filters", "stderr_filters"};
    const struct plan_output *output = &plan->output;
    struct json *list = json_new_array();

    for (int i = 0; output->sinks && i < plan->job.nproc; i++) {
        const struct plan_sinks *sinks = &output->sinks[i];
        struct json *rank = json_new_object();

        json_put_int(rank, "local_rank", i);
        json_put_text(rank, "file", streams_word(sinks->file));
        json_put_text(rank, "console", streams_word(sinks->console));
        json_add(list, rank);
    }
    if (output->sinks)
        json_put(object, "files", list);
    if (output->file_max_bytes > 0)
        json_put_int(object, "file_max_bytes", (int64_t)output->file_max_bytes);
    for (int stream = 0; stream < 2; stream++) {
        if (output->duplicates[stream].count > 0)
            json_put(object, names[stream], new_list(&output->duplicates[stream]));
    }
}

static void put_output(const struct plan *plan, struct json *root)
{
    const struct plan_output *output = &plan->output;
    struct json *object = json_new_object();

    json_put_text(object, "capture",
                  output->capture_out   ? "both"
                  : output->capture_err ? "stderr"
                                        : "none");
    put_masked(object, "prefix", output->prefix_template);
    json_put_int(object, "tail_lines", output->tail_lines);
    if (output->stdin_local_rank >= 0)
        json_put_int(object, "stdin_local_rank", output->stdin_local_rank);
    json_put_bool(object, "terminal", output->terminal);
    json_put_text(object, "error_dir", plan->error_dir);
    put_files(plan, object);
    json_put(root, "output", object);
}

static void put_report(const struct plan *plan, struct json *root)
{
    const struct plan_report *report = &plan->report;
    struct json *object = json_new_object();

    json_put_bool(object, "page", report->page);
    json_put_bool(object, "json_line", report->json_line);
    json_put_text(object, "summary", report->summary);
    json_put_text(object, "termination_log", report->termination_log);
    json_put_int(object, "max_bytes", report->max_bytes);
    json_put(root, "report", object);
}

static void put_set(struct json *object, const char *key, uint64_t set)
{
    char room[24];
    struct buf text = BUF_OVER(room);

    buf_addf(&text, "%016" PRIx64, set);
    json_put_text(object, key, room);
}

/* As the ranks' /proc/PID/status will have it. */
static void put_security(const struct plan *plan, struct json *root)
{
    const struct security *security = &plan->security;
    struct json *object = json_new_object();

    json_put_int(object, "uid", security->user.uid);
    json_put_int(object, "gid", security->user.gid);
    if (security->user.change) {
        char room[FACTS_GROUPS_MAX * 12];
        struct buf groups = BUF_OVER(room);

        for (int i = 0; i < security->user.group_count; i++)
            buf_addf(&groups, "%s%u", i > 0 ? "," : "", security->user.groups[i]);
        json_put_text(object, "groups", room);
    }
    if (security->caps.change) {
        put_set(object, "inheritable", security->caps.inheritable);
        put_set(object, "permitted", security->caps.permitted);
        put_set(object, "ambient", security->caps.ambient);
        put_set(object, "bounding_drop", security->caps.bounding_drop);
    }
    json_put_bool(object, "no_new_privs", security->no_new_privs);
    json_put_bool(object, "seccomp", security->seccomp);
    json_put(root, "security", object);
}

static void put_notices(const struct plan *plan, struct json *root)
{
    CLEANUP(strvec_release) struct strvec shown = STRVEC_INIT;

    for (size_t i = 0; i < plan->notices.count; i++)
        secret_mask(plan->notices.items[i], &shown);
    json_put(root, "notices", new_list(&shown));
}

static struct json *build(const struct plan_view *view)
{
    const struct plan *plan = view->plan;
    struct json *root = json_new_object();

    json_put_text(root, "schema", SCHEMA);
    json_put_text(root, "version", RANKINIT_VERSION);
    json_put_text(root, "mode", plan->mode == PLAN_FANOUT ? "fanout" : "init");
    if (plan->mode == PLAN_FANOUT) {
        put_job(plan, root);
        put_devices(plan, root);
    }
    put_masked(root, "workdir", plan->workdir);
    put_lists(view, root);
    put_stop(plan, root);
    put_output(plan, root);
    put_report(plan, root);
    put_security(plan, root);
    put_notices(plan, root);
    return root;
}

size_t view_json(const struct plan_view *view, void *arena, size_t arena_size, struct buf *out)
{
    struct json_arena nodes;
    const struct json *root;
    size_t size;

    json_setup(&nodes, arena, arena_size, 0);
    json_begin(&nodes);
    root = build(view);
    size = json_failed(&nodes) ? 0 : json_write(root, out->data, out->capacity - 2);
    if (size == 0)
        return 0;
    out->data[size] = '\n';
    out->data[size + 1] = '\0';
    out->len = size + 1;
    return out->len;
}
