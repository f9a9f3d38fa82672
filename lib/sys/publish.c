#include "sys/publish.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "model/sentence.h"
#include "report/page.h"
#include "report/summary.h"
#include "sys/file.h"
#include "sys/source.h"

#define PAGE_MAX   16384
#define READ_EXTRA (2u << 20) /* for error files that are large; not touched until there is one */

int publish_init(struct publish *publish, const struct plan *plan, struct outcome *outcome,
                 struct err *err)
{
    size_t arena_size = summary_arena_size(plan);

    memset(publish, 0, sizeof(*publish));
    publish->deliver.log_fd = publish->deliver.summary_dir = -1;
    publish->plan = plan;
    publish->outcome = outcome;
    publish->arena_memory = malloc(arena_size + READ_EXTRA);
    publish->document = malloc(SUMMARY_FULL_MAX + 1);
    if (!publish->arena_memory || !publish->document)
        return err_set(err, ERR_SYSTEM, "no memory for the summary");
    memset(publish->document, 0, SUMMARY_FULL_MAX + 1);
    json_setup(&publish->arena, publish->arena_memory, arena_size + READ_EXTRA, arena_size);
    return deliver_open(&publish->deliver, plan, err);
}

static size_t render(struct publish *publish, const struct verdict *verdict, size_t budget)
{
    struct summary summary = {.plan = publish->plan,
                              .outcome = publish->outcome,
                              .verdict = verdict,
                              .arena = &publish->arena};

    return summary_render(&summary, publish->document, budget);
}

/* Somebody else's words are left alone as long as all is well; failure keeps their head. */
static void write_log(struct publish *publish, const struct verdict *verdict)
{
    char room[sizeof(publish->outcome->foreign_message)];
    struct buf foreign = BUF_OVER(room);

    deliver_foreign(&publish->deliver, &foreign);
    if (foreign.len > 0) {
        if (verdict->word == VERDICT_SUCCEEDED || verdict->word == VERDICT_RUNNING)
            return;
        memcpy(publish->outcome->foreign_message, room, sizeof(room));
    }
    deliver_log(&publish->deliver, publish->document,
                render(publish, verdict, (size_t)publish->plan->report.max_bytes));
}

void publish_now(struct publish *publish)
{
    struct verdict verdict;

    outcome_judge(publish->outcome, publish->plan, &verdict);
    write_log(publish, &verdict);
}

static void say_page(const struct publish *publish, const struct verdict *verdict,
                     struct relay *relay, int64_t deadline_ns)
{
    char room[PAGE_MAX];
    struct buf page = BUF_OVER(room);

    page_render(publish->plan, publish->outcome, verdict, &page);
    relay_last_line(relay, page.data, page.len, deadline_ns);
}

/* Init mode has no report: what could not be ended is said all the same. */
static void say_left(const struct publish *publish)
{
    const struct outcome *outcome = publish->outcome;
    char room[256];

    for (int i = 0; i < outcome->unreaped_count; i++) {
        struct buf text = BUF_OVER(room);

        sentence_unreaped(&outcome->unreaped[i], publish->plan, &text);
        log_notice("%.*s", (int)text.len, text.data);
    }
}

void publish_final(struct publish *publish, struct relay *relay, struct relay_wait wait,
                   struct verdict *ret)
{
    const struct plan_report *report = &publish->plan->report;
    int64_t deadline_ns;

    outcome_judge(publish->outcome, publish->plan, ret);
    write_log(publish, ret);
    if (report->summary)
        deliver_summary(&publish->deliver, publish->document,
                        render(publish, ret, SUMMARY_FULL_MAX));
    /* Who did not take what the ranks had said need not be waited for again. */
    deadline_ns = relay_finish(relay, wait) ? relay->now_ns + wait.patience_ns : relay->now_ns;
    if (report->page && !(report->quiet && ret->word == VERDICT_SUCCEEDED))
        say_page(publish, ret, relay, deadline_ns);
    else if (ret->word == VERDICT_FAILED && !ret->from_rank)
        log_error("%s", ret->message);
    if (publish->plan->mode == PLAN_INIT && !report->page)
        say_left(publish);
    if (report->json_line && ret->word != VERDICT_SUCCEEDED) {
        size_t len = render(publish, ret, SUMMARY_LINE_MAX - 1);

        publish->document[len] = '\n';
        relay_last_line(relay, publish->document, len + 1, deadline_ns);
    }
}

int publish_refusal(const struct plan *plan, const struct err *why)
{
    struct outcome outcome = {.first_failure_ns = OUTCOME_NEVER,
                              .drained_ns = OUTCOME_NEVER,
                              .killed_ns = OUTCOME_NEVER,
                              .own = *why,
                              .done = true};
    struct err unheard = ERR_INIT;
    struct verdict verdict;
    struct publish publish;
    size_t len;

    log_error("%s", why->message);
    outcome.start_realtime_ns = source_realtime();
    outcome_judge(&outcome, plan, &verdict);
    if (publish_init(&publish, plan, &outcome, &unheard) == 0) {
        write_log(&publish, &verdict);
        if (plan->report.summary)
            deliver_summary(&publish.deliver, publish.document,
                            render(&publish, &verdict, SUMMARY_FULL_MAX));
        if (plan->report.json_line) {
            len = render(&publish, &verdict, SUMMARY_LINE_MAX - 1);
            publish.document[len] = '\n';
            file_write_all(STDERR_FILENO, publish.document, len + 1);
        }
    }
    publish_release(&publish);
    return verdict.exit_code;
}

void publish_release(struct publish *publish)
{
    deliver_close(&publish->deliver);
    free(publish->arena_memory);
    free(publish->document);
}
