/*
 * Which output goes to files, in torchrun's words: -r, -t, --local-ranks-filter, the duplicates.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/scan.h"
#include "model/option_values.h"
#include "model/plan.h"
#include "model/plan_parts.h"

/* What one option says, gathered rank by rank. */
struct choice {
    struct plan *plan;
    unsigned char *streams; /* [job.nproc]: 1 for stdout, 2 for stderr */
    const char *origin;
};

static void note_absent(const struct choice *choice, long local_rank)
{
    strvec_pushf(&choice->plan->notices, "%s: there is no local rank %ld here", choice->origin,
                 local_rank);
}

static void add_streams(void *context, long local_rank, int streams)
{
    const struct choice *choice = context;

    if (local_rank < 0)
        memset(choice->streams, streams, (size_t)choice->plan->job.nproc);
    else if (local_rank < choice->plan->job.nproc)
        choice->streams[local_rank] = (unsigned char)streams;
    else if (streams != 0)
        note_absent(choice, local_rank);
}

static void add_rank(void *context, long local_rank)
{
    const struct choice *choice = context;

    if (local_rank < choice->plan->job.nproc)
        choice->streams[local_rank] = 3;
    else
        note_absent(choice, local_rank);
}

bool plan_sinks_matter(const struct plan *plan, int stream)
{
    for (int i = 0; plan->output.sinks && i < plan->job.nproc; i++) {
        if (plan->output.sinks[i].file[stream] || !plan->output.sinks[i].console[stream])
            return true;
    }
    return false;
}

/* "a,b,,c" is "a" and "b,c": a doubled comma is one. */
static void split(const char *text, struct strvec *ret)
{
    CLEANUP(strvec_release) struct strvec room = STRVEC_INIT;
    size_t len = 0;
    char *item;

    strvec_push(&room, text);
    item = room.items[0];
    for (;; text++) {
        bool pair = text[0] == ',' && text[1] == ',';

        if (*text != '\0' && (*text != ',' || pair)) {
            item[len++] = *text;
            text += pair;
            continue;
        }
        item[len] = '\0';
        if (len > 0)
            strvec_push(ret, item);
        len = 0;
        if (*text == '\0')
            return;
    }
}

static void resolve_duplicates(const struct plan_inputs *inputs, struct plan *plan)
{
    static const enum option_id ids[] = {OPT_DUPLICATE_STDOUT_FILTERS,
                                         OPT_DUPLICATE_STDERR_FILTERS};

    for (int stream = 0; stream < 2; stream++) {
        const struct setting *row = &inputs->settings->rows[ids[stream]];
        bool any = false;

        for (int i = 0; plan->output.sinks && i < plan->job.nproc; i++)
            any |= plan->output.sinks[i].file[stream] && plan->output.sinks[i].console[stream];
        if (row->text && any)
            split(row->text, &plan->output.duplicates[stream]);
        else if (row->text)
            strvec_pushf(&plan->notices, "%s has no effect: no %s is tee'd to a file (--tee)",
                         row->origin, stream == 0 ? "stdout" : "stderr");
    }
}

/*
 * What becomes of files when nobody has said where: what is taken off the console must be kept
 * somewhere, a copy of it need not.
 */
static int place_files(const struct plan_inputs *inputs, struct plan *plan, bool redirected,
                       struct err *err)
{
    const struct setting *rows = inputs->settings->rows;
    bool stated = settings_text(inputs->settings, OPT_LOG_DIR) != NULL;

    if (redirected && !plan->error_dir && !stated)
        return err_set(err, ERR_SPEC,
                       "%s: there is no directory for the output; state --log-dir DIR",
                       rows[OPT_REDIRECTS].origin);
    if (plan->error_dir && (redirected || stated)) {
        plan->keep_run_dir = true;
        return 0;
    }
    if (!stated)
        strvec_pushf(&plan->notices, "%s: no files without --log-dir; the console has it all",
                     rows[OPT_TEE].origin);
    for (int i = 0; i < plan->job.nproc; i++)
        plan->output.sinks[i].file[0] = plan->output.sinks[i].file[1] = false;
    plan->output.files = false;
    return 0;
}

/* The three options, put together: `streams` has a row of job.nproc for each. */
static int resolve_sinks(const struct plan_inputs *inputs, struct plan *plan,
                         const unsigned char *streams, struct err *err)
{
    size_t count = (size_t)plan->job.nproc;
    bool redirected = false;

    plan->output.sinks = calloc(count, sizeof(*plan->output.sinks));
    if (!plan->output.sinks)
        return err_set(err, ERR_SYSTEM, "no memory for %zu ranks", count);
    for (size_t i = 0; i < count; i++) {
        struct plan_sinks *sinks = &plan->output.sinks[i];

        for (int stream = 0; stream < 2; stream++) {
            bool away = streams[i] >> stream & 1, tee = streams[count + i] >> stream & 1;

            sinks->file[stream] = away || tee;
            sinks->console[stream] = (tee || !away) && (streams[2 * count + i] >> stream & 1);
            redirected |= away && !tee;
            plan->output.tee |= tee;
            plan->output.files |= away || tee;
        }
    }
    return plan->output.files ? place_files(inputs, plan, redirected, err) : 0;
}

int plan_resolve_files(const struct plan_inputs *inputs, struct plan *plan, struct err *err)
{
    const struct setting *rows = inputs->settings->rows;
    size_t count = (size_t)plan->job.nproc;
    const char *filter = settings_text(inputs->settings, OPT_LOCAL_RANKS_FILTER);
    unsigned char *streams;
    int result = 0;

    plan->output.file_max_bytes = settings_size(inputs->settings, OPT_OUTPUT_MAX_BYTES);
    if (settings_stated(inputs->settings, OPT_REDIRECTS) ||
        settings_stated(inputs->settings, OPT_TEE) || filter) {
        streams = calloc(3, count);
        if (!streams)
            return err_set(err, ERR_SYSTEM, "no memory for %zu ranks", count);
        option_value_streams(rows[OPT_REDIRECTS].text, add_streams,
                             &(struct choice){plan, streams, rows[OPT_REDIRECTS].origin});
        option_value_streams(rows[OPT_TEE].text, add_streams,
                             &(struct choice){plan, streams + count, rows[OPT_TEE].origin});
        if (filter)
            scan_list(
                filter, PLAN_RANKS_MAX - 1, add_rank,
                &(struct choice){plan, streams + 2 * count, rows[OPT_LOCAL_RANKS_FILTER].origin});
        else
            memset(streams + 2 * count, 3, count);
        result = resolve_sinks(inputs, plan, streams, err);
        free(streams);
    }
    if (result == 0)
        resolve_duplicates(inputs, plan);
    return result;
}

void plan_release_files(struct plan *plan)
{
    free(plan->output.sinks);
    for (int stream = 0; stream < 2; stream++)
        strvec_release(&plan->output.duplicates[stream]);
}
