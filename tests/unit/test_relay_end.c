#include "base/log.h"
#include "relay_rig.h"

static const char traceback[] = "Traceback (most recent call last):\n"
                                "  File \"/app/train.py\", line 12, in <module>\n"
                                "    main()\n"
                                "ValueError: bad batch\n";

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
    rig_finish(&rig, source_clock() - rig.relay.epoch_ns + 60000 * MS);
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
    rig_finish(&rig, 0);
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
    rig_finish(&rig, source_clock() - rig.relay.epoch_ns + 50 * MS);
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
    rig_finish(&rig, source_clock() - rig.relay.epoch_ns + 1000 * MS);
    tap_eq_str(rig_take(&rig, 0), "half");
    log_notice("late");
    relay_last_line(&rig.relay, "page\npage\n", 10, 0);
    relay_last_line(&rig.relay, "", 0, 0);
    relay_last_line(&rig.relay, "{\"a\":1}", 7, 0);
    tap_eq_str(rig_take(&rig, 0), "\nrankinit: notice: late\npage\npage\n{\"a\":1}\n");
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
