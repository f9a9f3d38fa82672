#include "base/log.h"
#include "relay_rig.h"

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
    rig_finish(&rig, INT64_MAX);
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
    rig_finish(&rig, 0);
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

TAP_MAIN()
