/* Files of ranks' output on a real file system: names, cuts, rotation, links, removal. */
#include "sys/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"
#include "tap.h"

#define SECOND 1000000000LL

struct bench {
    char dir[64];
    struct plan plan;
    struct plan_sinks sinks[2];
    struct logs logs;
    char text[8192];
};

/* Two ranks; all streams go to files and to the console. */
static void set_up(struct bench *bench)
{
    memset(bench, 0, sizeof(*bench));
    strcpy(bench->dir, "/tmp/test_logs_XXXXXX");
    tap_ok(mkdtemp(bench->dir) != NULL);
    for (int i = 0; i < 2; i++)
        bench->sinks[i] = (struct plan_sinks){{true, true}, {true, true}};
    bench->plan.job.nproc = 2;
    bench->plan.output.sinks = bench->sinks;
    bench->plan.output.files = true;
}

static void open_logs(struct bench *bench)
{
    struct err err = ERR_INIT;

    if (!tap_ok(logs_init(&bench->logs, &bench->plan, bench->dir, &err) == 0 &&
                logs_open(&bench->logs, 0, &err) == 0))
        tap_fail(err.message);
}

static void tear_down(struct bench *bench)
{
    char command[128];

    logs_release(&bench->logs);
    for (int i = 0; i < 2; i++)
        strvec_release(&bench->plan.output.duplicates[i]);
    snprintf(command, sizeof(command), "rm -rf %s", bench->dir);
    tap_eq_int(system(command), 0);
}

static const char *path_of(struct bench *bench, const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", bench->dir, name);
    return path;
}

/* What is in a file; "(none)" if there is no such file. */
static const char *content(struct bench *bench, const char *name)
{
    if (file_peek(AT_FDCWD, path_of(bench, name), true, bench->text, sizeof(bench->text)) < 0)
        strcpy(bench->text, "(none)");
    return bench->text;
}

static void put(struct bench *bench, int rank, int stream, const char *text)
{
    logs_put(&bench->logs, (struct logs_spot){rank, stream}, text, strlen(text), 0);
}

TEST(each_stream_has_its_file)
{
    struct bench bench;

    set_up(&bench);
    bench.sinks[1] = (struct plan_sinks){{false, true}, {true, true}};
    open_logs(&bench);
    put(&bench, 0, 0, "one\ntw");
    put(&bench, 0, 0, "o");
    put(&bench, 0, 1, "error\n");
    put(&bench, 1, 0, "not wanted\n");
    put(&bench, 1, 1, "other\n");
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log"), "one\ntwo");
    tap_eq_str(content(&bench, "attempt_0/0/stderr.log"), "error\n");
    tap_eq_str(content(&bench, "attempt_0/1/stdout.log"), "(none)");
    tap_eq_str(content(&bench, "attempt_0/1/stderr.log"), "other\n");
    tap_ok(logs_has(&bench.logs, (struct logs_spot){1, 1}) &&
           !logs_has(&bench.logs, (struct logs_spot){1, 0}));
    tap_eq_str(content(&bench, "attempt_0/filtered_stdout.log"), "(none)");
    tear_down(&bench);
}

TEST(every_attempt_has_a_fresh_set)
{
    struct bench bench;
    struct err err = ERR_INIT;

    set_up(&bench);
    open_logs(&bench);
    put(&bench, 0, 0, "first\n");
    tap_eq_int(logs_open(&bench.logs, 1, &err), 0);
    put(&bench, 0, 0, "second\n");
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log"), "first\n");
    tap_eq_str(content(&bench, "attempt_1/0/stdout.log"), "second\n");
    /* An old one is never written over. */
    tap_eq_int(logs_open(&bench.logs, 0, &err), -1);
    tap_eq_int(err.errnum, EEXIST);
    tap_ok(!logs_has(&bench.logs, (struct logs_spot){0, 0}));
    put(&bench, 0, 0, "nowhere\n");
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log"), "first\n");
    tear_down(&bench);
}

TEST(no_link_is_followed)
{
    struct bench bench;
    struct err err = ERR_INIT;
    char outside[128];

    set_up(&bench);
    snprintf(outside, sizeof(outside), "%s", path_of(&bench, "outside"));
    mkdir(outside, 0700);
    tap_eq_int(symlink(outside, path_of(&bench, "attempt_0")), 0);
    tap_eq_int(logs_init(&bench.logs, &bench.plan, bench.dir, &err), 0);
    tap_eq_int(logs_open(&bench.logs, 0, &err), -1);
    mkdir(path_of(&bench, "attempt_1"), 0700);
    tap_eq_int(symlink(outside, path_of(&bench, "attempt_1/0")), 0);
    tap_eq_int(logs_open(&bench.logs, 1, &err), -1);
    mkdir(path_of(&bench, "attempt_2"), 0700);
    mkdir(path_of(&bench, "attempt_2/0"), 0700);
    strcat(outside, "/x");
    tap_eq_int(symlink(outside, path_of(&bench, "attempt_2/0/stdout.log")), 0);
    tap_eq_int(logs_open(&bench.logs, 2, &err), -1);
    tap_has_str(err.message, "--log-dir: cannot make 0/stdout.log");
    tap_eq_int(rmdir(path_of(&bench, "outside")), 0);
    tear_down(&bench);
}

TEST(where_a_full_file_is_cut)
{
    tap_eq_uint(logs_cut("abc\n", 4, 4, false), 4);
    tap_eq_uint(logs_cut("abc\n", 4, 100, true), 4);
    tap_eq_uint(logs_cut("a\nbc\nd", 6, 5, false), 5);
    tap_eq_uint(logs_cut("a\nbc\nd", 6, 4, false), 2);
    tap_eq_uint(logs_cut("abcdef", 6, 4, false), 0);
    tap_eq_uint(logs_cut("abcdef", 6, 4, true), 4);
    tap_eq_uint(logs_cut("abcdef\n", 7, 0, false), 0);
}

TEST(a_full_file_makes_way_once)
{
    struct bench bench;

    set_up(&bench);
    bench.plan.output.file_max_bytes = 10;
    open_logs(&bench);
    put(&bench, 0, 0, "12345\n");
    put(&bench, 0, 0, "789\n");
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log"), "12345\n789\n");
    put(&bench, 0, 0, "next\nand\n");
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log.1"), "12345\n789\n");
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log"), "next\nand\n");
    put(&bench, 0, 0, "third\n");
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log.1"), "next\nand\n");
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log"), "third\n");
    /* A line longer than a file goes on in the next one. */
    put(&bench, 0, 1, "0123456789abcdef\nz\n");
    tap_eq_str(content(&bench, "attempt_0/0/stderr.log.1"), "0123456789");
    tap_eq_str(content(&bench, "attempt_0/0/stderr.log"), "abcdef\nz\n");
    tear_down(&bench);
}

TEST(what_was_removed_is_given_up)
{
    struct bench bench;

    set_up(&bench);
    open_logs(&bench);
    put(&bench, 0, 0, "one\n");
    unlink(path_of(&bench, "attempt_0/0/stdout.log"));
    put(&bench, 0, 0, "two\n");
    tap_ok(logs_has(&bench.logs, (struct logs_spot){0, 0}));
    logs_put(&bench.logs, (struct logs_spot){0, 0}, "three\n", 6, 2 * SECOND);
    tap_ok(!logs_has(&bench.logs, (struct logs_spot){0, 0}));
    unlink(path_of(&bench, "attempt_0/0/stderr.log"));
    logs_end(&bench.logs, (struct logs_spot){0, 1}, (struct logs_prefix){"", 0});
    tap_ok(!logs_has(&bench.logs, (struct logs_spot){0, 1}));
    tap_ok(logs_has(&bench.logs, (struct logs_spot){1, 0}));
    tear_down(&bench);
}

TEST(a_file_that_cannot_be_rotated_is_given_up)
{
    struct bench bench;

    set_up(&bench);
    bench.plan.output.file_max_bytes = 4;
    open_logs(&bench);
    put(&bench, 0, 0, "one\n");
    unlink(path_of(&bench, "attempt_0/0/stdout.log"));
    put(&bench, 0, 0, "two\n");
    tap_ok(!logs_has(&bench.logs, (struct logs_spot){0, 0}));
    tear_down(&bench);
}

static void look(struct bench *bench, int rank, const char *text)
{
    logs_filter(&bench->logs, (struct logs_spot){rank, 0},
                (struct logs_prefix){rank ? "1: " : "0: ", 3}, text, strlen(text));
}

TEST(lines_that_are_wanted_twice)
{
    struct bench bench;

    set_up(&bench);
    strvec_push(&bench.plan.output.duplicates[0], "loss");
    strvec_push(&bench.plan.output.duplicates[0], "lr=");
    bench.sinks[1].console[0] = false;
    open_logs(&bench);
    tap_ok(logs_wants_lines(&bench.logs, (struct logs_spot){0, 0}));
    tap_ok(!logs_wants_lines(&bench.logs, (struct logs_spot){0, 1}) &&
           !logs_wants_lines(&bench.logs, (struct logs_spot){1, 0}));
    look(&bench, 0, "step 1\nloss 3\nstep 2 lo");
    look(&bench, 0, "ss 2\nlr=");
    look(&bench, 0, "7");
    tap_eq_str(content(&bench, "attempt_0/filtered_stdout.log"), "0: loss 3\n0: step 2 loss 2\n");
    logs_end(&bench.logs, (struct logs_spot){0, 0}, (struct logs_prefix){"0: ", 3});
    tap_eq_str(content(&bench, "attempt_0/filtered_stdout.log"),
               "0: loss 3\n0: step 2 loss 2\n0: lr=7\n");
    tap_eq_str(content(&bench, "attempt_0/filtered_stderr.log"), "(none)");
    tear_down(&bench);
}

TEST(a_line_longer_than_its_room_is_looked_at_in_pieces)
{
    struct bench bench;
    char line[LOGS_LINE_MAX + 11];

    set_up(&bench);
    strvec_push(&bench.plan.output.duplicates[0], "loss");
    open_logs(&bench);
    memset(line, 'x', sizeof(line) - 1);
    strcpy(line + LOGS_LINE_MAX + 2, "loss 1\n");
    look(&bench, 0, line);
    line[LOGS_LINE_MAX] = '\n';
    line[LOGS_LINE_MAX + 1] = '\0';
    look(&bench, 0, line);
    look(&bench, 0, "loss 2\n");
    tap_eq_str(content(&bench, "attempt_0/filtered_stdout.log"), "0: xxloss 1\n0: loss 2\n");
    tear_down(&bench);
}

TEST(without_files_nothing_is_opened)
{
    struct bench bench;

    set_up(&bench);
    bench.plan.output.files = false;
    open_logs(&bench);
    put(&bench, 0, 0, "one\n");
    tap_ok(!logs_has(&bench.logs, (struct logs_spot){0, 0}) &&
           !logs_has(NULL, (struct logs_spot){0, 0}));
    tap_eq_str(content(&bench, "attempt_0/0/stdout.log"), "(none)");
    tap_eq_int(rmdir(bench.dir), 0);
    mkdir(bench.dir, 0700);
    tear_down(&bench);
}

TAP_MAIN()
