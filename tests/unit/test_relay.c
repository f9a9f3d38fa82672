#include "base/log.h"
#include "relay_rig.h"

static const char traceback[] = "Traceback (most recent call last):\n"
                                "  File \"/app/train.py\", line 12, in <module>\n"
                                "    main()\n"
                                "ValueError: bad batch\n";

TEST(bytes_pass_unchanged)
{
    struct rig rig;

    rig_init(&rig, 1, NULL, false);
    rig_write(&rig, 0, 0, "one\r\ntwo\n\nthree\n");
    rig_write(&rig, 0, 1, "\033[31mred\033[0m\n");
    tap_eq_str(rig_take(&rig, 0), "one\r\ntwo\n\nthree\n");
    tap_eq_str(rig_take(&rig, 1), "\033[31mred\033[0m\n");
    rig_write(&rig, 0, 0, "no newline");
    rig_close_rank(&rig, 0);
    tap_eq_str(rig_take(&rig, 0), "no newline");
    relay_finish(&rig.relay, INT64_MAX);
    tap_eq_str(rig_take(&rig, 0), "");
    tap_eq_int(relay_deadline(&rig.relay), INT64_MAX);
    rig_release(&rig);
}

TEST(prompt_is_seen_after_a_silence)
{
    struct rig rig;

    rig_init(&rig, 1, "[rank ${rank}] ", false);
    rig_write(&rig, 0, 0, "Name");
    tap_eq_str(rig_take(&rig, 0), "");
    tap_eq_int(relay_deadline(&rig.relay), 200 * MS);
    rig_at(&rig, 150);
    rig_write(&rig, 0, 0, "? ");
    tap_eq_str(rig_take(&rig, 0), "");
    rig_at(&rig, 200);
    tap_eq_int(relay_deadline(&rig.relay), 350 * MS);
    rig_at(&rig, 349);
    tap_eq_str(rig_take(&rig, 0), "");
    rig_at(&rig, 350);
    tap_eq_str(rig_take(&rig, 0), "[rank 0] Name? ");
    tap_eq_int(relay_deadline(&rig.relay), INT64_MAX);
    /* The rest of the line follows at once, without another prefix. */
    rig_write(&rig, 0, 0, "ok");
    tap_eq_str(rig_take(&rig, 0), "ok");
    rig_write(&rig, 0, 0, "\nnext\n");
    tap_eq_str(rig_take(&rig, 0), "\n[rank 0] next\n");
    rig_release(&rig);
}

TEST(half_a_line_is_closed_before_another)
{
    struct rig rig;

    rig_init(&rig, 2, "${rank}:", false);
    rig_write(&rig, 0, 0, "abc");
    rig_run(&rig);
    rig_at(&rig, 200);
    rig_at(&rig, 300);
    rig_write(&rig, 0, 0, "d");
    rig_run(&rig);
    rig_at(&rig, 350);
    rig_write(&rig, 1, 0, "other\n");
    tap_eq_str(rig_take(&rig, 0), "0:abcd");
    tap_eq_int(relay_deadline(&rig.relay), 500 * MS);
    rig_at(&rig, 499);
    tap_eq_str(rig_take(&rig, 0), "");
    rig_at(&rig, 500);
    tap_eq_str(rig_take(&rig, 0), "\n1:other\n");
    rig_write(&rig, 0, 0, "ef\n");
    tap_eq_str(rig_take(&rig, 0), "0:ef\n");
    tap_eq_int(relay_deadline(&rig.relay), INT64_MAX);
    rig_release(&rig);
}

/* A stream that has ended in the middle of a line goes on no more: nobody waits for it. */
TEST(half_a_line_of_the_dead_is_closed_at_once)
{
    struct rig rig;

    rig_init(&rig, 2, NULL, false);
    rig_write(&rig, 0, 0, "last words");
    rig_close_rank(&rig, 0);
    tap_eq_str(rig_take(&rig, 0), "last words");
    rig_write(&rig, 1, 0, "other\n");
    tap_eq_str(rig_take(&rig, 0), "\nother\n");
    rig_release(&rig);
}

/* tqdm writes "\r 10%", "\r 11%", ... and is silent only when it has finished. */
TEST(progress_bars_live_and_let_live)
{
    struct rig rig;
    int64_t ms = 0;

    rig_init(&rig, 2, NULL, true);
    for (; ms <= 200; ms += 50) {
        rig_at(&rig, ms);
        rig_write(&rig, 0, 1, "\r#");
        rig_run(&rig);
    }
    tap_eq_str(rig_take(&rig, 0), "\r#\r#\r#\r#\r#");
    rig_write(&rig, 1, 0, "line\n");
    for (; ms < 1200; ms += 50) {
        rig_at(&rig, ms);
        rig_write(&rig, 0, 1, "\r#");
    }
    tap_ok(strchr(rig_take(&rig, 0), '\n') == NULL);
    rig_at(&rig, 1200);
    tap_eq_str(rig_take(&rig, 0), "\nline\n");
    rig_write(&rig, 0, 1, "\r#");
    rig_run(&rig);
    rig_at(&rig, 1400);
    tap_eq_str(rig_take(&rig, 0), "\r#");
    rig_release(&rig);
}

TEST(long_line_is_not_interrupted)
{
    struct rig rig;
    char piece[4096];
    const char *got;

    memset(piece, 'x', sizeof(piece));
    rig_init(&rig, 2, ">", false);
    for (int i = 0; i < 5; i++) {
        tap_eq_int(write(rig.ends[0][0], piece, sizeof(piece)), sizeof(piece));
        rig_write(&rig, 1, 0, "short\n");
        rig_step(&rig, 0);
        rig_at(&rig, 190 * i);
    }
    tap_eq_int(write(rig.ends[0][0], "\n", 1), 1);
    rig_run(&rig);
    got = rig_take(&rig, 0);
    got = strchr(got, 'x');
    tap_eq_uint(strspn(got, "x"), 5 * sizeof(piece));
    tap_has_str(got, "x\n>short\n");
    rig_release(&rig);
}

/* Both ranks have a full ring and a full pipe when the reader comes back. */
TEST(turns_are_fair)
{
    struct rig rig;
    size_t filled, at, run = 0, longest = 0;

    rig_init(&rig, 2, NULL, false);
    filled = rig_stall(&rig, 0) + strlen("stalled\n");
    for (int i = 0; i < 500; i++) {
        rig_write(&rig, 0, 0, "00000000000000000000000000000000000000000000000000000000000000\n");
        rig_write(&rig, 1, 0, "11111111111111111111111111111111111111111111111111111111111111\n");
    }
    rig_run(&rig);
    tap_eq_uint(rig.text[0].len, filled + 1000 * 63);
    /* As long as both have something. */
    for (at = filled; at < filled + 500 * 63; at += 63) {
        run = at > filled && rig.text[0].bytes[at] == rig.text[0].bytes[at - 63] ? run + 63 : 63;
        longest = run > longest ? run : longest;
    }
    tap_ok(longest <= RELAY_RING);
    rig_release(&rig);
}

TEST(own_lines_begin_at_line_starts)
{
    struct rig rig;

    rig_init(&rig, 1, NULL, true);
    rig_write(&rig, 0, 0, "abc");
    rig_run(&rig);
    rig_at(&rig, 200);
    log_notice("hello");
    tap_eq_str(rig_take(&rig, 0), "abc\nrankinit: notice: hello\n");
    rig_write(&rig, 0, 0, "def\n");
    rig_write(&rig, 0, 0, "ghi");
    tap_eq_str(rig_take(&rig, 0), "def\n");
    rig_at(&rig, 400);
    rig_write(&rig, 0, 0, "j");
    tap_eq_str(rig_take(&rig, 0), "ghij");
    log_notice("again");
    tap_eq_str(rig_take(&rig, 0), "");
    tap_eq_int(relay_deadline(&rig.relay), 600 * MS);
    rig_write(&rig, 0, 0, "k\n");
    tap_eq_str(rig_take(&rig, 0), "k\nrankinit: notice: again\n");
    rig_release(&rig);
}

TEST(own_lines_wait_and_are_counted)
{
    struct rig rig;
    size_t filled;
    const char *got;

    rig_init(&rig, 1, NULL, false);
    filled = rig_stall(&rig, 1);
    for (int i = 0; i < 1000; i++)
        log_notice("message %d", i);
    rig_run(&rig);
    rig.text[1].bytes[rig.text[1].len] = '\0';
    got = rig.text[1].bytes + filled;
    tap_has_str(got, "rankinit: notice: message 0\nrankinit: notice: message 1\n");
    tap_has_str(got, " messages were lost: nobody read them\n");
    log_notice("later");
    rig.text[1].len = 0;
    tap_eq_str(rig_take(&rig, 1), "rankinit: notice: later\n");
    rig_release(&rig);
}

TEST(cause_of_a_living_rank)
{
    struct rig rig;

    rig_init(&rig, 2, NULL, false);
    rig_write(&rig, 0, 1, "warning: slow\n");
    rig_run(&rig);
    tap_ok(!rig.relay.cause_seen);
    rig.now = 70 * MS;
    rig_write(&rig, 1, 1, traceback);
    rig_run(&rig);
    tap_ok(rig.relay.cause_seen);
    tap_eq_int(evidence_finding(rig.ranks[1].evidence, true)->at_ns, 70 * MS);
    rig.relay.cause_seen = false;
    rig_write(&rig, 1, 1, "bye\n");
    rig_run(&rig);
    tap_ok(!rig.relay.cause_seen);
    relay_rank_ended(&rig.relay, 0, rig.now);
    rig_write(&rig, 0, 1, traceback);
    rig_run(&rig);
    tap_ok(!rig.relay.cause_seen);
    rig_release(&rig);
}

/* Fills a rank's pipe with numbered lines up to `size`, ending with the traceback. */
static size_t say_much(struct rig *rig, char *said, size_t size)
{
    size_t len = 0;

    for (int i = 0; len + 64 + sizeof(traceback) < size; i++)
        len += (size_t)sprintf(said + len, "line %d of the output of this rank\n", i);
    len += (size_t)sprintf(said + len, "%s", traceback);
    tap_eq_int(write(rig->ends[0][1], said, len), len);
    return len;
}

TEST(last_words_count_while_the_console_stalls)
{
    struct rig rig;
    char said[61440];
    size_t filled, len;
    const struct finding *found;

    rig_init(&rig, 1, NULL, false);
    filled = rig_stall(&rig, 1);
    len = say_much(&rig, said, sizeof(said));
    rig_close_rank(&rig, 0);
    rig_step(&rig, 0);
    relay_rank_ended(&rig.relay, 0, rig.now);
    found = evidence_finding(rig.ranks[0].evidence, false);
    if (tap_ok(found))
        tap_eq_str(found->type, "ValueError");
    tap_eq_uint(rig_stream(&rig, 0, 1)->len, RELAY_RING);
    tap_ok(rig.relay.ranks[0].told);
    tap_eq_uint(rig.ranks[0].evidence->tail_end, strlen("stalled\n") + len);
    rig_run(&rig);
    filled += strlen("stalled\n");
    tap_eq_uint(rig.text[1].len, filled + len);
    tap_eq_mem(rig.text[1].bytes + filled, said, len);
    tap_eq_uint(rig.ranks[0].evidence->tail_end, strlen("stalled\n") + len);
    tap_ok(rig_stream(&rig, 0, 1)->ended);
    rig_release(&rig);
}

/* A rank may enlarge its pipe to a megabyte. */
TEST(last_words_in_a_large_pipe)
{
    static char said[900000];
    struct rig rig;
    size_t len;

    rig_init(&rig, 1, NULL, false);
    tap_ok(fcntl(rig.ends[0][1], F_SETPIPE_SZ, 1 << 20) >= (int)sizeof(said));
    rig_stall(&rig, 1);
    len = say_much(&rig, said, sizeof(said));
    relay_rank_ended(&rig.relay, 0, rig.now);
    tap_ok(evidence_finding(rig.ranks[0].evidence, false));
    tap_eq_uint(rig.ranks[0].evidence->tail_end, strlen("stalled\n") + len);
    rig_release(&rig);
}

/* The daemon holds the write ends: here that is the test itself. */
TEST(daemon_does_not_hold_up_the_end)
{
    struct rig rig;
    int64_t before;

    rig_init(&rig, 1, NULL, false);
    rig_write(&rig, 0, 1, "ValueError: half a line");
    relay_rank_ended(&rig.relay, 0, rig.now);
    tap_ok(rig.relay.ranks[0].told);
    tap_ok(evidence_finding(rig.ranks[0].evidence, false));
    rig_write(&rig, 0, 0, "late, of the daemon\n");
    tap_eq_str(rig_take(&rig, 0), "late, of the daemon\n");
    before = source_clock();
    relay_finish(&rig.relay, source_clock() - rig.relay.epoch_ns + 60000 * MS);
    tap_ok(source_clock() - before < 10000 * MS);
    tap_eq_str(rig_take(&rig, 1), "ValueError: half a line");
    tap_ok(rig_stream(&rig, 0, 0)->ended && rig_stream(&rig, 0, 1)->ended);
    rig_release(&rig);
}

TEST(reader_gone)
{
    struct rig rig;

    rig_init(&rig, 2, NULL, false);
    close(rig.reader[0]);
    rig.reader[0] = -1;
    rig_write(&rig, 0, 0, "first\n");
    rig_run(&rig);
    tap_ok(rig.relay.out->gone);
    for (int i = 0; i < 2; i++) {
        tap_eq_int(write(rig.ends[i][0], "x", 1), -1);
        tap_eq_int(errno, EPIPE);
    }
    rig_write(&rig, 0, 1, "stderr goes on\n");
    tap_eq_str(rig_take(&rig, 1), "stderr goes on\n");
    relay_rank_ended(&rig.relay, 0, rig.now);
    relay_finish(&rig.relay, 0);
    rig_release(&rig);
}

/* Found while stalled; what the rank said last is evidence all the same. */
TEST(reader_gone_while_stalled)
{
    struct rig rig;
    char said[61440];

    rig_init(&rig, 1, NULL, false);
    rig_stall(&rig, 1);
    say_much(&rig, said, sizeof(said));
    rig_step(&rig, 0);
    rig_step(&rig, 0);
    close(rig.reader[1]);
    rig.reader[1] = -1;
    rig_run(&rig);
    tap_ok(rig.relay.err->gone);
    tap_ok(evidence_finding(rig.ranks[0].evidence, true));
    tap_eq_int(write(rig.ends[0][1], "x", 1), -1);
    rig_release(&rig);
}

TEST(new_attempt_starts_new_lines)
{
    struct rig rig;
    size_t filled;

    rig_init(&rig, 1, NULL, false);
    rig_write(&rig, 0, 0, "written");
    rig_run(&rig);
    rig_at(&rig, 200);
    filled = rig_stall(&rig, 1);
    rig_write(&rig, 0, 1, "and waiting");
    rig_step(&rig, 0);
    rig_close_rank(&rig, 0);
    relay_rank_ended(&rig.relay, 0, rig.now);
    rig_open_rank(&rig, 0);
    rig_write(&rig, 0, 0, "new\n");
    rig_write(&rig, 0, 1, "new\n");
    rig_run(&rig);
    tap_eq_str(rig.text[0].bytes, "written\nnew\n");
    tap_eq_str(rig.text[1].bytes + filled, "stalled\nand waiting\nnew\n");
    rig_release(&rig);
}

TEST(finish_waits_only_so_long)
{
    struct rig rig;
    int64_t before = source_clock();

    rig_init(&rig, 1, NULL, false);
    rig_stall(&rig, 0);
    rig_stall(&rig, 1);
    rig_write(&rig, 0, 0, "lost\n");
    rig_write(&rig, 0, 1, "lost\n");
    relay_finish(&rig.relay, source_clock() - rig.relay.epoch_ns + 50 * MS);
    relay_last_line(&rig.relay, "{}\n", 3, source_clock() - rig.relay.epoch_ns + 50 * MS);
    tap_ok(source_clock() - before >= 100 * MS);
    tap_ok(source_clock() - before < 10000 * MS);
    rig_release(&rig);
}

TEST(last_lines_come_last)
{
    struct rig rig;

    rig_init(&rig, 1, NULL, true);
    rig_write(&rig, 0, 0, "half");
    rig_run(&rig);
    relay_finish(&rig.relay, source_clock() - rig.relay.epoch_ns + 1000 * MS);
    tap_eq_str(rig_take(&rig, 0), "half");
    log_notice("late");
    relay_last_line(&rig.relay, "page\npage\n", 10, 0);
    relay_last_line(&rig.relay, "", 0, 0);
    relay_last_line(&rig.relay, "{\"a\":1}", 7, 0);
    tap_eq_str(rig_take(&rig, 0), "\nrankinit: notice: late\npage\npage\n{\"a\":1}\n");
    rig_release(&rig);
}

TEST(nothing_captured)
{
    struct rig rig;
    int consoles[2] = {open("/dev/null", O_WRONLY | O_CLOEXEC), -1};
    int ends[2];

    tap_ok(pipe2(ends, O_CLOEXEC) == 0);
    consoles[1] = ends[1];
    rig_prepare(&rig, 1, NULL);
    rig.reader[1] = ends[0];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    rig.plan.output.capture_out = rig.plan.output.capture_err = false;
    rig_init_over(&rig, consoles);
    tap_eq_int(rig.ends[0][0], -1);
    tap_eq_int(rig.ends[0][1], -1);
    log_error("ours");
    tap_eq_str(rig_take(&rig, 1), "rankinit: ours\n");
    relay_rank_ended(&rig.relay, 0, rig.now);
    relay_finish(&rig.relay, 0);
    relay_last_line(&rig.relay, "last\n", 5, 0);
    tap_eq_str(rig_take(&rig, 1), "last\n");
    rig_release(&rig);
}

TEST(only_our_end_is_non_blocking)
{
    struct rig rig;

    rig_init(&rig, 1, NULL, false);
    for (int i = 0; i < 2; i++) {
        tap_ok(!(fcntl(rig.ends[0][i], F_GETFL) & O_NONBLOCK));
        tap_ok(fcntl(rig.ends[0][i], F_GETFD) & FD_CLOEXEC);
        tap_ok(fcntl(rig_stream(&rig, 0, i)->source.fd, F_GETFL) & O_NONBLOCK);
        tap_ok(fcntl(rig_stream(&rig, 0, i)->source.fd, F_GETFD) & FD_CLOEXEC);
    }
    rig_release(&rig);
}

TEST(release_of_what_never_was)
{
    struct relay relay;

    memset(&relay, 0, sizeof(relay));
    relay_release(&relay);
    tap_ok(fcntl(0, F_GETFD) >= 0 || errno == EBADF);
}

TAP_MAIN()
