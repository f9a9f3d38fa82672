/* The document: its fields, how it shrinks, and that nothing a rank does can break it. */
#include "report/summary.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "dice.h"
#include "report/field.h"
#include "report/groups.h"
#include "tap.h"

#define MS     1000000LL
#define SECOND (1000 * MS)
#define START  1796075763591889082LL /* 2026-11-30T21:56:03.591889082Z */

static struct plan plan;
static struct outcome outcome;
static struct verdict verdict;
static struct json_arena arena;
static unsigned char *arena_memory;
static char document[SUMMARY_FULL_MAX + 1];
static char *words[] = {(char[]){"train.py"}, NULL};
static char *tokens[] = {(char[]){"0"}, (char[]){"GPU-8f1c"}, (char[]){"2"}, NULL};

/* Two nodes of `count` ranks each; this is the second. */
static void start(int count)
{
    struct err err = ERR_INIT;

    memset(&plan, 0, sizeof(plan));
    plan.mode = PLAN_FANOUT;
    plan.job = (struct plan_job){.id = "llama-42",
                                 .nnodes = 2,
                                 .node_rank = 1,
                                 .nproc = count,
                                 .world_size = 2 * count,
                                 .first_rank = count,
                                 .master_addr = "node-0"};
    plan.argv.items = words;
    plan.argv.count = 1;
    plan.output.tail_lines = 20;
    plan.memory_limit_bytes = -1;
    plan.shm_bytes = 64 << 20;
    strcpy(plan.host, "trainer-1");
    outcome_release(&outcome);
    tap_eq_int(outcome_init(&outcome, &plan, &err), 0);
    outcome.start_realtime_ns = START;
    outcome.master_port = 29500;
    for (int i = 0; i < count; i++)
        outcome_note_started(&outcome, i, 100 + i, 10 * MS);
    free(arena_memory);
    arena_memory = malloc(summary_arena_size(&plan));
    json_setup(&arena, arena_memory, summary_arena_size(&plan), summary_arena_size(&plan));
}

static void says(int rank, const char *text, size_t len, int64_t now_ns)
{
    evidence_feed(outcome.ranks[rank].evidence, EVIDENCE_STDERR, text, len, now_ns);
}

static void raises(int rank, const char *message, int64_t now_ns)
{
    char text[512];

    snprintf(
        text, sizeof(text),
        "starting\nTraceback (most recent call last):\n  File \"/app/train.py\", line 42, in f\n"
        "    raise ValueError(x)\nValueError: %s\n",
        message);
    says(rank, text, strlen(text), now_ns);
    outcome_note_ended(&outcome, rank, W_EXITCODE(1, 0), now_ns + 50 * MS);
}

static struct summary summary(void)
{
    return (struct summary){&plan, &outcome, &verdict, &arena};
}

static size_t render(size_t budget)
{
    struct summary it = summary();
    size_t size;

    outcome_judge(&outcome, &plan, &verdict);
    /* Behind the budget lies a mark that must survive. */
    memset(document, '#', sizeof(document));
    size = summary_render(&it, document, budget);
    tap_ok(size > 0 && size <= budget);
    tap_ok(document[budget] == '#');
    return size;
}

static const char *text_of(size_t budget)
{
    document[render(budget)] = '\0';
    return document;
}

static const struct json *parsed;

/* Reads the document again, with an arena of its own. */
static bool parse(size_t size)
{
    static unsigned char memory[4 << 20];
    static struct json_arena reading;
    struct err err = ERR_INIT;

    reading = (struct json_arena){.base = memory, .size = sizeof(memory)};
    json_begin(&reading);
    parsed = json_read(document, size, &err);
    if (!parsed)
        printf("# %s\n# %.*s\n", err.message, (int)size, document);
    return parsed != NULL;
}

TEST(a_running_document)
{
    start(2);
    tap_eq_str(
        text_of(2048),
        "{\"schema\":\"rankinit.summary.v1\",\"verdict\":\"running\",\"message\":\"2 of 2 ranks run\","
        "\"ranks\":{\"world_size\":4,\"local\":2,\"succeeded\":0,\"failed\":0,\"stopped\":0,\"unreaped\":0},"
        "\"job\":{\"id\":\"llama-42\",\"nnodes\":2,\"node_rank\":1,\"nproc_per_node\":2,"
        "\"master_addr\":\"node-0\",\"master_port\":29500},\"resources\":{\"shm_bytes\":67108864},"
        "\"orphans_reaped\":0,\"host\":\"trainer-1\",\"version\":\"" RANKINIT_VERSION "\","
        "\"started\":\"2026-11-30T21:56:03.591889082Z\",\"seconds\":0.01}");
}

TEST(a_failure_in_full)
{
    start(3);
    plan.devices.mode = DEVICE_SHARED;
    plan.devices.pool = (struct strvec){.items = tokens, .count = 3};
    raises(1, "bad batch", 3200 * MS);
    outcome_note_signalled(&outcome, 0, SIGTERM, 3250 * MS);
    outcome_note_ended(&outcome, 0, W_EXITCODE(0, SIGTERM), 3300 * MS);
    outcome_note_ended(&outcome, 2, W_EXITCODE(0, 0), 3400 * MS);
    outcome.max_rss_bytes = 4096;
    outcome.user_ns = 1500 * MS;
    outcome.oom_known = true;
    outcome.orphans_reaped = 5;
    outcome.done = true;
    tap_eq_str(
        text_of(SUMMARY_FULL_MAX),
        "{\"schema\":\"rankinit.summary.v1\",\"verdict\":\"failed\",\"reason\":\"rank_exited\",\"exit_code\":1,"
        "\"exit_origin\":\"rank\",\"message\":\"rank 4 (local rank 1 on node 1) failed first: ValueError: "
        "bad batch (train.py:42), exit code 1 after 3.2 s\",\"root_cause\":{\"rank\":4,\"local_rank\":1,"
        "\"node_rank\":1,\"pid\":101,\"exit_code\":1,\"time\":\"2026-11-30T21:56:06.791889082Z\","
        "\"seconds\":3.2,\"device\":\"GPU-8f1c\",\"error\":{\"type\":\"ValueError\",\"message\":\"bad batch\","
        "\"file\":\"/app/train.py\",\"line\":42},\"traceback\":\"Traceback (most recent call last):\\n"
        "  File \\\"/app/train.py\\\", line 42, in f\\n    raise ValueError(x)\\nValueError: bad batch\","
        "\"stderr_tail\":\"starting\\nTraceback (most recent call last):\\n"
        "  File \\\"/app/train.py\\\", line 42, in f\\n    raise ValueError(x)\\nValueError: bad batch\","
        "\"kind\":\"traceback\"},\"failures\":[{\"ranks\":\"4\",\"count\":1,\"exit_code\":1,\"seconds\":3.2,"
        "\"error\":{\"type\":\"ValueError\",\"message\":\"bad batch\",\"file\":\"/app/train.py\",\"line\":42},"
        "\"class\":\"cause\"}],\"ranks\":{\"world_size\":6,\"local\":3,\"succeeded\":1,\"failed\":1,"
        "\"stopped\":1,\"unreaped\":0},\"job\":{\"id\":\"llama-42\",\"nnodes\":2,\"node_rank\":1,"
        "\"nproc_per_node\":3,\"master_addr\":\"node-0\",\"master_port\":29500},\"resources\":"
        "{\"max_rss_bytes\":4096,\"user_seconds\":1.5,\"system_seconds\":0.0,\"oom_kills\":0,"
        "\"shm_bytes\":67108864},\"orphans_reaped\":5,\"host\":\"trainer-1\",\"version\":\"" RANKINIT_VERSION
        "\","
        "\"started\":\"2026-11-30T21:56:03.591889082Z\",\"ended\":\"2026-11-30T21:56:06.991889082Z\","
        "\"seconds\":3.4}");
}

TEST(a_signal_and_an_oom)
{
    start(1);
    outcome_note_ended(&outcome, 0, W_EXITCODE(0, SIGSEGV) | WCOREFLAG, SECOND);
    tap_has_str(text_of(4096), "\"exit_code\":139,\"signal\":\"SIGSEGV\",\"core_dumped\":true,");
    tap_has_str(document, "\"kind\":\"signal\"");
    start(1);
    outcome.ranks[0].oom = true;
    outcome_note_ended(&outcome, 0, W_EXITCODE(0, SIGKILL), SECOND);
    tap_has_str(text_of(4096), "\"kind\":\"oom_counter\"");
}

TEST(hints_and_what_is_left_of_them)
{
    start(1);
    outcome.memory_peak_bytes = 77;
    plan.exit.map[1] = 10;
    raises(0, "OSError: [Errno 28] No space left on device", SECOND);
    outcome.done = true;
    tap_has_str(text_of(4096), "\"hints\":[\"a disk, /dev/shm or a quota is full");
    tap_has_str(document,
                "\",\"exit code 1 is returned as 9 (-e, --exit-map or --exit-preset)\"],");
    tap_has_str(document, "\"memory_peak_bytes\":77");
    tap_ok(!strstr(document, "truncated"));
    text_of(700);
    tap_ok(!strstr(document, "\"hints\":"));
    tap_has_str(document, "\"hints\",");
}

TEST(a_stop)
{
    start(2);
    outcome_note_stop(
        &outcome, &(struct outcome_stop){
                      .requested = true, .signal = SIGTERM, .at_ns = SECOND, .sender_rank = -1});
    tap_has_str(text_of(4096),
                "\"reason\":\"stop_requested\",\"exit_code\":143,\"exit_origin\":\"rankinit\"");
    tap_has_str(
        document,
        "\"stop\":{\"signal\":\"SIGTERM\",\"sender\":\"outside\",\"seconds\":1.0,\"escalated\":false}");
    outcome.stop.sender_pid = 100;
    outcome.stop.sender_uid = 5;
    outcome.stop.sender_rank = 0;
    outcome.killed_ns = 2 * SECOND;
    tap_has_str(text_of(4096),
                "\"sender\":{\"pid\":100,\"uid\":5,\"rank\":2},\"seconds\":1.0,\"escalated\":true");
}

TEST(what_is_left_is_named)
{
    start(1);
    outcome_note_ended(&outcome, 0, W_EXITCODE(7, 0), SECOND);
    for (int i = 0; i < OUTCOME_UNREAPED_MAX; i++)
        outcome.unreaped[i] = (struct outcome_unreaped){
            .pid = 50 + i, .rank = 0, .name = "python", .state = 'D', .wchan = "nv_wait"};
    outcome.unreaped_count = 2;
    tap_has_str(text_of(4096), "\"unreaped\":2},\"hints\":[\"pid 50 (python) of rank ");
    tap_ok(!strstr(document, "truncated"));
    outcome.unreaped_count = OUTCOME_UNREAPED_MAX;
    outcome.unreaped_more = 4;
    tap_has_str(text_of(4096), "\"unreaped\":20}");
    tap_has_str(document, "\"truncated\":[\"hints\"]");
    tap_has_str(text_of(2000), "\"hints\":[\"pid 50 (python)");
}

TEST(a_start_failure)
{
    start(2);
    outcome_note_start_failed(&outcome, 0, STAGE_EXEC, ENOENT, SECOND);
    tap_has_str(text_of(4096),
                "\"reason\":\"exec_failed\",\"exit_code\":127,\"exit_origin\":\"rankinit\"");
    tap_has_str(
        document,
        "\"error\":{\"message\":\"could not be started: train.py: No such file or directory\"}");
    tap_ok(!strstr(document, "\"kind\""));
}

TEST(init_mode)
{
    start(1);
    plan.mode = PLAN_INIT;
    memset(&plan.job, 0, sizeof(plan.job));
    outcome_note_ended(&outcome, 0, W_EXITCODE(3, 0), SECOND);
    outcome.done = true;
    tap_has_str(text_of(4096), "\"root_cause\":{\"pid\":100,\"exit_code\":3,");
    tap_has_str(document, "\"job\":{\"nnodes\":1,\"node_rank\":0,\"nproc_per_node\":1}");
}

TEST(somebody_elses_words_are_kept)
{
    start(1);
    outcome_note_ended(&outcome, 0, W_EXITCODE(3, 0), SECOND);
    strcpy(outcome.foreign_message, "the program says \xff\x01");
    tap_has_str(text_of(4096), "\"foreign_message\":\"the program says ?\\u0001\"");
}

TEST(identical_failures_are_one_row)
{
    start(8);
    raises(2, "bad batch 17 at 0x7f01", 1000 * MS);
    raises(0, "bad batch 4 at 0x9", 1001 * MS);
    raises(1, "bad batch 123 at 0xAbC", 1002 * MS);
    raises(7, "bad batch 1 at 0x1", 1003 * MS);
    raises(5, "another", 900 * MS);
    outcome_note_ended(&outcome, 4, W_EXITCODE(0, SIGKILL), 1500 * MS);
    tap_has_str(text_of(8192), "\"failures\":[{\"ranks\":\"13\",\"count\":1,");
    tap_has_str(document,
                "{\"ranks\":\"8-10,15\",\"count\":4,\"exit_code\":1,\"seconds\":1.0,"
                "\"error\":{\"type\":\"ValueError\",\"message\":\"bad batch 17 at 0x7f01\"");
    tap_has_str(
        document,
        "{\"ranks\":\"12\",\"count\":1,\"exit_code\":137,\"signal\":\"SIGKILL\",\"seconds\":1.5,"
        "\"class\":\"killed_from_outside\"}]");
}

/* A ValueError whose frames are these lines of train.py, outermost first; behind the module's. */
static void raises_at(int rank, const int *lines, int64_t now_ns)
{
    char text[512];
    struct buf out = BUF_OVER(text);

    buf_addf(&out,
             "Traceback (most recent call last):\n  File \"/app/%d.py\", line 1, in <module>\n",
             rank);
    for (; *lines; lines++)
        buf_addf(&out, "  File \"/app/train.py\", line %d, in f\n    f()\n", *lines);
    buf_addf(&out, "ValueError: bad batch %d\n", rank);
    says(rank, out.data, out.len, now_ns);
    outcome_note_ended(&outcome, rank, W_EXITCODE(1, 0), now_ns);
}

TEST(failures_from_other_frames_are_other_failures)
{
    start(6);
    raises_at(0, (const int[]){7, 42, 0}, 1000 * MS);
    raises_at(1, (const int[]){7, 42, 0}, 1001 * MS);
    raises_at(2, (const int[]){9, 42, 0}, 1002 * MS); /* called from elsewhere */
    raises_at(3, (const int[]){7, 43, 0}, 1003 * MS);
    raises_at(4, (const int[]){7, 42, 42, 0}, 1004 * MS);
    raises_at(5, (const int[]){7, 42, 0}, 1005 * MS);
    tap_has_str(text_of(8192), "\"failures\":[{\"ranks\":\"6-7,11\",\"count\":3,");
    tap_has_str(document, "{\"ranks\":\"8\",\"count\":1,");
    tap_has_str(document, "{\"ranks\":\"9\",\"count\":1,");
    tap_has_str(document, "{\"ranks\":\"10\",\"count\":1,");
}

TEST(too_many_kinds_of_failure)
{
    start(300);
    for (int i = 0; i < 300; i++) {
        char text[8] = {(char)('a' + i / 26), (char)('a' + i % 26), 0};

        raises(i, text, (1000 + 300 - i) * MS);
    }
    render(SUMMARY_FULL_MAX);
    tap_ok(parse(strlen(text_of(SUMMARY_FULL_MAX))));
    tap_has_str(document, "\"failures\":[{\"ranks\":\"599\"");
    tap_has_str(document, "\"truncated\":[\"failures\"]");
}

TEST(long_lists_of_ranks_are_cut)
{
    static struct groups groups;
    char room[128];
    struct buf out = BUF_OVER(room);

    start(200);
    for (int i = 0; i < 200; i += 2)
        raises(i, "x", SECOND);
    outcome_judge(&outcome, &plan, &verdict);
    groups_make(&outcome, &verdict, &groups);
    tap_eq_int(groups.count, 1);
    tap_eq_int(groups.list[0].count, 100);
    tap_ok(!groups_ranks(&groups, 0, &plan, 16, &out));
    tap_eq_str(room, "200,202,204,206,...");
    buf_reset(&out);
    groups.of[1] = 1;
    tap_ok(!groups_ranks(&groups, 0, &plan, 10, &out));
    tap_eq_str(room, "200-202,...");
}

TEST(it_shrinks_by_rule)
{
    static char line[400];

    start(2);
    for (int i = 0; i < 30; i++) {
        snprintf(line, sizeof(line),
                 "line %d of the log, which is of some length to fill the tail up\n", i);
        says(1, line, strlen(line), SECOND);
    }
    raises(1, "bad batch", 2 * SECOND);
    outcome_note_signalled(&outcome, 0, SIGTERM, 2100 * MS);
    outcome_note_ended(&outcome, 0, W_EXITCODE(0, SIGTERM), 2200 * MS);
    outcome.done = true;
    tap_ok(!strstr(text_of(SUMMARY_FULL_MAX), "truncated"));
    tap_has_str(document, "line 15 of the log");
    tap_has_str(text_of(2048), "\"truncated\":[\"stderr_tail\"]");
    tap_has_str(document, "\"traceback\":\"Traceback");
    tap_has_str(document, "raise ValueError(x)\\nValueError: bad batch");
    tap_has_str(document, "\"resources\"");
    text_of(1400);
    tap_has_str(document, "ValueError: bad batch\",\"kind\":\"traceback\"");
    text_of(SUMMARY_BYTES_MIN);
    tap_has_str(
        document,
        "\"message\":\"rank 3 (local rank 1 on node 1) failed first: ValueError: bad batch");
}

TEST(without_a_traceback_the_tail_stays_longer)
{
    static char line[100];

    start(1);
    for (int i = 0; i < 30; i++) {
        snprintf(line, sizeof(line), "line %d of the log, which is of some length\n", i);
        says(0, line, strlen(line), SECOND);
    }
    outcome_note_ended(&outcome, 0, W_EXITCODE(1, 0), 2 * SECOND);
    tap_has_str(text_of(2048),
                "line 29 of the log, which is of some length\",\"kind\":\"exit_code\"");
}

TEST(fields_count_what_they_become)
{
    tap_eq_uint(field_size("abc", 3), 3);
    tap_eq_uint(field_size("\"\\\n\x01\x7f", 5), 13);
    tap_eq_uint(field_size("\xC3\xA4", 2), 6);
    tap_eq_uint(field_size("\xF0\x9F\x9A\x80", 4), 12);
    tap_eq_uint(field_size("\xFF", 1), 1);
}

TEST(times_are_rfc_3339)
{
    char room[FIELD_TIME_MAX];

    tap_eq_str(field_time_text(0, room), "1970-01-01T00:00:00.000000000Z");
    tap_eq_str(field_time_text(START, room), "2026-11-30T21:56:03.591889082Z");
    tap_eq_str(field_time_text(951827696000000001LL, room), "2000-02-29T12:34:56.000000001Z");
    tap_eq_str(field_time_text(4107542399999999999LL, room), "2100-02-28T23:59:59.999999999Z");
    tap_eq_str(field_time_text(4107542400000000000LL, room), "2100-03-01T00:00:00.000000000Z");
    tap_eq_str(field_time_text(-1, room), "1969-12-31T23:59:59.999999999Z");
    tap_eq_str(field_time_text(INT64_MAX, room), "2262-04-11T23:47:16.854775807Z");
}

/* Bytes that are hard on JSON: controls, quotes, halves of characters, anything. */
static size_t noise(char *room, size_t capacity)
{
    static const char *const pieces[] = {
        "\\",
        "\"",
        "\xF0\x9F\x9A\x80",
        "\xF0\x9F",
        "\x1b[31m",
        "\x7f",
        "\xED\xA0\x80",
        "\n",
        "\r",
        "\t",
        "Traceback (most recent call last):\n",
        "  File \"/\xC3\xA4.py\", line 3, in f\n",
        "\nValueError: ",
        "\nRuntimeError: Connection closed by peer\n",
        "\n[E1 ProcessGroupNCCL.cpp:1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=",
        "\n  what():  [PG ID 0 PG GUID 0(x) Rank 1] last enqueued work: 7, last completed work: 6",
        "plain words ",
    };
    size_t len = 0, limit = (size_t)dice((int)capacity - 128);

    while (len < limit) {
        const char *piece = pieces[dice(sizeof(pieces) / sizeof(pieces[0]))];
        size_t size = strlen(piece);

        if (dice(3) == 0) {
            room[len++] = (char)dice(256);
        } else {
            memcpy(room + len, piece, size);
            len += size;
        }
    }
    return len;
}

static void text_noise(char *room, size_t capacity)
{
    size_t len = 0;

    while (len < capacity - 1)
        room[len++] = (char)(1 + dice(255));
    room[dice((int)capacity)] = '\0';
    room[capacity - 1] = '\0';
}

/* Anything may have happened to a rank. */
static void random_rank(int rank)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGBUS, 64};
    static char text[5000];
    struct outcome_rank *state = &outcome.ranks[rank];
    int64_t now = (100 + dice(5000)) * MS;

    state->pid = dice(1 << 22);
    if (dice(2))
        says(rank, text, noise(text, sizeof(text)), now);
    if (dice(8) == 0) {
        state->error_file.kind = EVIDENCE_ERROR_FILE;
        state->error_file.at_ns = now;
        text_noise(state->error_file.type, sizeof(state->error_file.type));
        text_noise(state->error_file.message, sizeof(state->error_file.message));
        text_noise(state->error_file.file, sizeof(state->error_file.file));
        text_noise(state->error_file.traceback, sizeof(state->error_file.traceback));
    }
    if (dice(4) == 0)
        outcome_note_signalled(&outcome, rank, SIGTERM, now);
    switch (dice(6)) {
    case 0: break;
    case 1: outcome_note_ended(&outcome, rank, 0, now); break;
    case 2:
        outcome_note_start_failed(&outcome, rank, (enum spawn_stage)(1 + dice(STAGE_EXEC)),
                                  dice(140), now);
        break;
    case 3:
        outcome_note_ended(&outcome, rank,
                           W_EXITCODE(0, signals[dice(6)]) | (dice(2) ? WCOREFLAG : 0), now);
        break;
    default: outcome_note_ended(&outcome, rank, W_EXITCODE(dice(256), 0), now);
    }
    state->oom = dice(9) == 0;
}

static void random_outcome(int count)
{
    static char id[300], master[300];

    start(count);
    if (dice(5) == 0)
        plan.mode = count == 1 ? PLAN_INIT : PLAN_FANOUT;
    if (dice(3) == 0) {
        text_noise(id, sizeof(id));
        text_noise(master, sizeof(master));
        text_noise(plan.host, sizeof(plan.host));
        plan.job.id = id;
        plan.job.master_addr = master;
    }
    if (dice(4) == 0)
        outcome_note_stop(&outcome, &(struct outcome_stop){.requested = true,
                                                           .signal = 1 + dice(64),
                                                           .at_ns = dice(5000) * MS,
                                                           .sender_pid = dice(2) * 77,
                                                           .sender_rank = dice(2) - 1});
    for (int i = 0; i < count; i++)
        random_rank(i);
    if (dice(4) == 0)
        text_noise(outcome.foreign_message, sizeof(outcome.foreign_message));
    if (dice(20) == 0) {
        outcome.own.kind = (enum err_kind)(1 + dice(ERR__COUNT - 1));
        text_noise(outcome.own.message, sizeof(outcome.own.message));
    }
    for (int i = dice(3) ? 0 : dice(OUTCOME_UNREAPED_MAX + 1); i > 0; i--) {
        struct outcome_unreaped *process = &outcome.unreaped[outcome.unreaped_count++];

        *process = (struct outcome_unreaped){.pid = dice(1 << 22),
                                             .parent = dice(1 << 22),
                                             .rank = dice(count + 1) - 1,
                                             .state = "ZDRS?"[dice(5)],
                                             .live_threads = dice(3),
                                             .thread_state = 'D'};
        text_noise(process->name, sizeof(process->name));
        text_noise(process->wchan, sizeof(process->wchan));
    }
    outcome.unreaped_more = dice(3) * 1000000;
    outcome.oom_known = dice(2);
    outcome.oom_kills = dice(3) == 0 ? (uint64_t)dice(1000) : 0;
    outcome.memory_peak_bytes = dice(2) * 12345678901LL;
    outcome.shm_free_bytes = dice(3) - 1;
    outcome.killed_ns = dice(3) == 0 ? 5000 * MS : OUTCOME_NEVER;
    outcome.stop.again = dice(2);
    plan.exit.map[dice(256)] = (short)(1 + dice(256));
    outcome.done = dice(2);
}

static void check_start(size_t size, const char *key)
{
    char head[SUMMARY_BYTES_MIN + 1];
    size_t len = size < SUMMARY_BYTES_MIN ? size : SUMMARY_BYTES_MIN;
    const char *at;

    memcpy(head, document, len);
    head[len] = '\0';
    at = strstr(head, key);
    /* Its value is whole, too: another member follows. */
    if (!tap_ok(at && strstr(at, key[1] == 'm' ? "\",\"" : ",\"")))
        printf("# %s missing in %s\n", key, head);
}

static size_t check_document(size_t budget)
{
    struct summary it = summary();
    size_t size;

    memset(document, '#', sizeof(document));
    size = summary_render(&it, document, budget);
    if (!tap_ok(size > 0 && size <= budget) || !tap_ok(document[budget] == '#'))
        return 0;
    for (size_t i = 0; i < size; i++) {
        if (document[i] < ' ' || document[i] > '~') {
            tap_fail("not plain ASCII");
            return 0;
        }
    }
    tap_ok(parse(size));
    tap_eq_str(json_text(json_get(parsed, "schema")), "rankinit.summary.v1");
    tap_eq_str(json_text(json_get(parsed, "verdict")), outcome_verdict_word(verdict.word));
    tap_ok(json_get(parsed, "job") && json_get(parsed, "host") && json_get(parsed, "started"));
    check_start(size, "\"schema\":");
    check_start(size, "\"verdict\":");
    check_start(size, "\"message\":");
    if (verdict.exit_code >= 0) {
        check_start(size, "\"reason\":");
        check_start(size, "\"exit_code\":");
        check_start(size, "\"exit_origin\":");
    }
    return size;
}

/* RANKINIT_DOCUMENTS names a file: the documents go there too, for the schema's validator. */
TEST(any_outcome_fits_any_budget)
{
    static const size_t budgets[] = {700,  701,  750,  900,  1024, 1200,  1500,  1800,  1999,
                                     2048, 3000, 4096, 6000, 8192, 12000, 16384, 32768, 65536};
    const char *path = getenv("RANKINIT_DOCUMENTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    size_t size;

    dice_start(3);
    for (int round = 0; round < 120; round++) {
        random_outcome(round == 0 ? PLAN_RANKS_MAX : round < 5 ? 300 + dice(700) : 1 + dice(20));
        outcome_judge(&outcome, &plan, &verdict);
        for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
            size = check_document(budgets[i]);
            if (file)
                fprintf(file, "%.*s\n", (int)size, document);
        }
        check_document(700 + (size_t)dice(3000));
    }
    if (file)
        fclose(file);
}

/* The worst for the smallest budget: every text is all escapes, every part is cut. */
TEST(the_smallest_budget_holds_the_worst)
{
    static char id[300];

    start(8);
    memset(id, 1, sizeof(id) - 1);
    memset(plan.host, 1, sizeof(plan.host) - 1);
    plan.job.id = plan.job.master_addr = id;
    plan.job.nnodes = plan.job.node_rank = plan.job.world_size = 2000000000;
    plan.job.first_rank = 2000000000;
    memset(outcome.foreign_message, 1, sizeof(outcome.foreign_message) - 1);
    for (int i = 0; i < 8; i++)
        raises(i,
               "\xF0\x9F\x9A\x80\xF0\x9F\x9A\x80\xF0\x9F\x9A\x80\xF0\x9F\x9A\x80\xF0\x9F\x9A\x80",
               SECOND);
    outcome_judge(&outcome, &plan, &verdict);
    memset(verdict.message, 1, sizeof(verdict.message) - 1);
    verdict.message[sizeof(verdict.message) - 1] = '\0';
    verdict.reason = "master_unreachable";
    outcome.unreaped_count = OUTCOME_UNREAPED_MAX;
    for (size_t budget = SUMMARY_BYTES_MIN; budget < 3000; budget += 7)
        check_document(budget);
    outcome_release(&outcome);
    free(arena_memory);
    arena_memory = NULL;
}

TAP_MAIN()
