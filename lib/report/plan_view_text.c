/*
 * The plan for people.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/secret.h"
#include "report/columns.h"
#include "report/plan_view_parts.h"
#include "report/view.h"

#define LABEL_WIDTH   12
#define DEVICES_MAX   20
#define CPUS_MAX      16
#define NAME_WIDTH    19
#define VALUE_WIDTH   24
#define NS_PER_S      1000000000.0
#define TABLE_COLUMNS 28 /* of the ranks' table beside devices, CPUs and command */

/* "label       words, broken into lines" */
static void add_fact(struct buf *out, const char *label, const char *words)
{
    char first[LABEL_WIDTH + 1];

    snprintf(first, sizeof(first), "%-*s", LABEL_WIDTH, label);
    columns_paragraph(first, words, strlen(words), out);
}

static void add_mode(const struct plan *plan, struct buf *out)
{
    const struct plan_job *job = &plan->job;
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;

    if (plan->mode == PLAN_INIT) {
        add_fact(out, "mode", "init: one process, its environment left alone");
        return;
    }
    if (job->task.one)
        strvec_pushf(&texts, "fan-out: one process here, rank %d of %d of a job of processes",
                     job->first_rank, job->world_size);
    add_fact(out, "mode",
             job->task.one
                 ? texts.items[0]
                 : strvec_pushf(&texts, "fan-out: %d of %d rank%s here, on node %d of %d",
                                job->nproc, job->world_size, job->world_size == 1 ? "" : "s",
                                job->node_rank, job->nnodes));
    add_fact(out, "job", strvec_pushf(&texts, "%s, role %s", job->id, job->role));
    add_fact(out, "platform", job->platform_told ? job->platform_told : job->platform);
    if (!job->master_addr)
        strvec_push(&texts, "unknown: MASTER_ADDR is not set");
    else if (job->master_port > 0)
        strvec_pushf(&texts, "%s, port %d", job->master_addr, job->master_port);
    else
        strvec_pushf(&texts, "%s, port %s", job->master_addr, PLAN_VIEW_PORT);
    add_fact(out, "master", texts.items[texts.count - 1]);
}

static void add_devices(const struct plan *plan, struct buf *out)
{
    const struct devices *devices = &plan->devices;
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;
    char word[VIEW_NAME_MAX];

    view_word(OPT_DEVICE_MODE, (int)devices->mode, word);
    if (devices->mode == DEVICE_NONE)
        strvec_pushf(&texts, "%s: ranks see no device", word);
    else if (devices->pool.count == 0)
        strvec_pushf(&texts, "%s: there is none", word);
    else
        strvec_pushf(&texts, "%s: %zu, known by %s", word, devices->pool.count, devices->origin);
    add_fact(out, "devices", texts.items[0]);
}

static void add_stop(const struct plan *plan, struct buf *out)
{
    const struct plan_stop *stop = &plan->stop;
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;

    if (!stop->escalate) {
        add_fact(out, "stop", "signals are passed on; nothing is killed unless --grace is stated");
        return;
    }
    strvec_pushf(&texts, "SIGKILL %g s after a stop signal%s", (double)stop->grace_ns / NS_PER_S,
                 plan->mode == PLAN_INIT ? "" : ", ");
    if (plan->mode == PLAN_FANOUT)
        strvec_pushf(&texts, "%s%g s after a failure", texts.items[0],
                     (double)stop->fail_grace_ns / NS_PER_S);
    add_fact(out, "stop", texts.items[texts.count - 1]);
}

/* Only what somebody has asked for. */
static void add_security(const struct plan *plan, struct buf *out)
{
    const struct security *security = &plan->security;
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;
    const char *parts[] = {NULL, NULL, security->no_new_privs ? "no new privileges" : NULL,
                           security->seccomp ? "system calls filtered" : NULL};
    const char *words = NULL;

    if (security->user.stated)
        parts[0] = strvec_pushf(&texts, "user %u, group %u", security->user.uid,
                                security->user.gid);
    if (security->caps.change)
        parts[1] = strvec_pushf(&texts, "capabilities %016" PRIx64, security->caps.permitted);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i])
            words = words ? strvec_pushf(&texts, "%s, %s", words, parts[i]) : parts[i];
    }
    if (words)
        add_fact(out, "security", words);
}

static void add_verdict(const struct plan *plan, struct buf *out)
{
    const struct plan_report *report = &plan->report;
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;
    const char *places[] = {report->page ? "stderr" : NULL, report->termination_log,
                            report->summary};
    const char *words = NULL;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (places[i])
            words = words ? strvec_pushf(&texts, "%s, %s", words, places[i]) : places[i];
    }
    add_fact(out, "verdict", words ? words : "told by the exit code alone");
}

static void add_facts(const struct plan_view *view, struct buf *out)
{
    const struct plan *plan = view->plan;
    CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;
    const char *error_file = view_error_file(view, &texts);

    buf_adds(out, "The plan; nothing was started.\n\n");
    add_mode(plan, out);
    if (plan->mode == PLAN_FANOUT)
        add_devices(plan, out);
    if (plan->workdir)
        add_fact(out, "workdir", plan->workdir);
    if (error_file)
        add_fact(out, "error files", error_file);
    add_stop(plan, out);
    add_security(plan, out);
    add_verdict(plan, out);
}

/* "0,1,2" */
static const char *join_devices(const struct view_rank *rank, struct strvec *texts)
{
    const char *list = rank->devices.count > 0 ? rank->devices.items[0] : "-";

    for (size_t i = 1; i < rank->devices.count; i++)
        list = strvec_pushf(texts, "%s,%s", list, rank->devices.items[i]);
    return list;
}

/* Columns of the table whose width depends on what is in them. */
struct widths {
    size_t devices, cpus;
};

static void widen(size_t *width, const char *text, size_t max)
{
    size_t len = strlen(text);

    if (len > *width)
        *width = len < max ? len : max;
}

static struct widths find_widths(const struct plan_view *view)
{
    struct widths ret = {strlen("devices"), strlen("cpus")};

    for (int i = 0; i < view_rank_count(view); i++) {
        CLEANUP(view_rank_release) struct view_rank rank;

        view_rank_make(view, i, &rank);
        widen(&ret.devices, join_devices(&rank, &rank.texts), DEVICES_MAX);
        widen(&ret.cpus, rank.cpus ? rank.cpus : "", CPUS_MAX);
    }
    return ret;
}

/* What is left for commands. */
static size_t command_room(const struct widths *widths)
{
    return COLUMNS - TABLE_COLUMNS - widths->devices - widths->cpus;
}

static void add_row(const struct plan_view *view, int local_rank, const struct widths *widths,
                    struct buf *out)
{
    CLEANUP(view_rank_release) struct view_rank rank;
    bool numbered = view->plan->mode == PLAN_FANOUT;
    char number[24] = "-", local[24] = "-", plain[8];
    struct buf threads = BUF_OVER(plain);
    size_t room = command_room(widths);

    view_rank_make(view, local_rank, &rank);
    if (numbered) {
        snprintf(number, sizeof(number), "%d", view->plan->job.first_rank + local_rank);
        if (rank.local_rank >= 0)
            snprintf(local, sizeof(local), "%d", rank.local_rank);
    }
    buf_addf(out, "%6s  %5s  ", number, local);
    columns_field(join_devices(&rank, &rank.texts), widths->devices, out);
    buf_adds(out, "  ");
    columns_field(rank.cpus ? rank.cpus : "-", widths->cpus, out);
    buf_add_plain(&threads, rank.threads, rank.threads ? strlen(rank.threads) : 0);
    buf_addf(out, "  %7s  ", threads.len > 0 ? threads.data : "-");
    columns_field(rank.command, strlen(rank.command) < room ? strlen(rank.command) : room, out);
    buf_addc(out, '\n');
}

/* The whole commands that the table had no room for, once for neighbours that run the same. */
static void add_commands(const struct plan_view *view, size_t room, struct buf *out)
{
    int count = view_rank_count(view), first = view->plan->job.first_rank;
    CLEANUP(strvec_release) struct strvec said = STRVEC_INIT;
    const char *last = NULL;
    char label[64];

    for (int i = 0, from = 0; i <= count; i++) {
        CLEANUP(view_rank_release) struct view_rank rank = {.command = NULL};

        if (i < count)
            view_rank_make(view, i, &rank);
        if (last && rank.command && strcmp(last, rank.command) == 0)
            continue;
        if (last && strlen(last) > room) {
            if (i - 1 > from)
                snprintf(label, sizeof(label), "\nranks %d-%d:\n", first + from, first + i - 1);
            else if (view->plan->mode == PLAN_FANOUT)
                snprintf(label, sizeof(label), "\nrank %d:\n", first + from);
            else
                snprintf(label, sizeof(label), "\ncommand:\n");
            buf_adds(out, label);
            columns_paragraph("    ", last, strlen(last), out);
        }
        from = i;
        last = rank.command ? strvec_push(&said, rank.command) : NULL;
    }
}

static void add_ranks(const struct plan_view *view, struct buf *out)
{
    struct widths widths = find_widths(view);

    buf_adds(out, "\n  rank  local  ");
    columns_field("devices", widths.devices, out);
    buf_adds(out, "  ");
    columns_field("cpus", widths.cpus, out);
    buf_adds(out, "  threads  command\n");
    for (int i = 0; i < view_rank_count(view); i++)
        add_row(view, i, &widths, out);
    add_commands(view, command_room(&widths), out);
}

static void add_setting_row(const char *name, const char *value, const char *from, struct buf *out)
{
    size_t len = strlen(value), name_len = strlen(name);

    columns_field(name, name_len > NAME_WIDTH ? name_len : NAME_WIDTH, out);
    buf_adds(out, "  ");
    columns_field(value, len > VALUE_WIDTH ? len : VALUE_WIDTH, out);
    buf_adds(out, "  ");
    buf_add_plain(out, from, strlen(from));
    buf_addc(out, '\n');
}

static void add_settings(const struct plan_view *view, struct buf *out)
{
    buf_addc(out, '\n');
    add_setting_row("setting", "value", "from", out);
    for (int id = 0; id < OPT__COUNT; id++) {
        CLEANUP(strvec_release) struct strvec texts = STRVEC_INIT;
        struct setting setting;
        char name[VIEW_NAME_MAX];

        if (!view_shows(view, (enum option_id)id))
            continue;
        setting = view_setting(view, (enum option_id)id, &texts);
        add_setting_row(view_name((enum option_id)id, name), setting.text ? setting.text : "-",
                        setting.origin ? setting.origin : settings_source_word(setting.source),
                        out);
    }
}

static void add_notices(const struct plan *plan, struct buf *out)
{
    if (plan->notices.count > 0)
        buf_adds(out, "\nnotices\n");
    for (size_t i = 0; i < plan->notices.count; i++) {
        CLEANUP(strvec_release) struct strvec shown = STRVEC_INIT;
        const char *text = secret_mask(plan->notices.items[i], &shown);

        columns_paragraph("  - ", text, strlen(text), out);
    }
}

void view_text(const struct plan_view *view, struct buf *out)
{
    add_facts(view, out);
    add_ranks(view, out);
    add_settings(view, out);
    add_notices(view->plan, out);
    buf_adds(out, "\nThe environment of each rank is in --plan=json.\n");
}
