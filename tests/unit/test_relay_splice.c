/* Much output that moves from pipe to pipe: whole lines, seen once by evidence, also past a stall. */
#include "relay_rig.h"

#define MUCH 100000

/* Numbered lines of 20 bytes, MUCH bytes of them, and half a line. */
static size_t make_text(char *out)
{
    size_t len = 0;

    while (len < MUCH)
        len += (size_t)sprintf(out + len, "line %013zu.\n", len / 20);
    return len + (size_t)sprintf(out + len, "half a li");
}

static void write_much(struct rig *rig, const char *text, size_t len)
{
    tap_ok(fcntl(rig->ends[0][1], F_SETPIPE_SZ, 1 << 18) >= 1 << 18);
    tap_eq_int(write(rig->ends[0][1], text, len), len);
}

TEST(whole_lines_move_and_are_seen_once)
{
    static char text[MUCH + 64];
    struct rig rig;
    size_t len = make_text(text);

    rig_init(&rig, 1, NULL, false);
    write_much(&rig, text, len);
    tap_ok(relay_move(rig_stream(&rig, 0, 1), 0) == MUCH);
    tap_ok(!rig.relay.err->line_owner);
    tap_eq_uint(rig_stream(&rig, 0, 1)->judged, len - MUCH);
    /* Half a line is not much: it takes the plain way. */
    tap_eq_uint(relay_move(rig_stream(&rig, 0, 1), 0), 0);
    rig_run(&rig);
    rig_write(&rig, 0, 1, "ne\n");
    rig_run(&rig);
    tap_eq_uint(rig.text[1].len, len + 3);
    tap_eq_mem(rig.text[1].bytes, text, len);
    tap_has_str(rig.text[1].bytes + len - 9, "half a line\n");
    tap_eq_uint(rig.ranks[0].evidence->tail_end, len + 3);
    rig_release(&rig);
}

TEST(a_console_that_takes_a_part_goes_on_where_it_stopped)
{
    static char text[MUCH + 64];
    struct rig rig;
    size_t len = make_text(text), moved;

    rig_init(&rig, 1, NULL, false);
    fcntl(rig.relay.err->source.fd, F_SETPIPE_SZ, 16384);
    write_much(&rig, text, len);
    moved = relay_move(rig_stream(&rig, 0, 1), 0);
    tap_ok(moved > 0 && moved <= 16384);
    tap_eq_uint(rig.relay.err->source.events, EPOLLOUT);
    tap_eq_uint(relay_move(rig_stream(&rig, 0, 1), 0), 0);
    rig_write(&rig, 0, 1, "ne\n");
    rig_run(&rig);
    tap_eq_uint(rig.text[1].len, len + 3);
    tap_eq_mem(rig.text[1].bytes, text, len);
    tap_eq_uint(rig.ranks[0].evidence->tail_end, len + 3);
    rig_release(&rig);
}

TEST(what_has_a_prefix_or_half_a_line_before_it_does_not_move)
{
    static char text[MUCH + 64];
    struct rig rig;
    size_t len = make_text(text);

    rig_init(&rig, 1, "> ", false);
    write_much(&rig, text, len);
    tap_eq_uint(relay_move(rig_stream(&rig, 0, 1), 0), 0);
    rig_release(&rig);
    rig_init(&rig, 2, NULL, false);
    rig_write(&rig, 1, 1, "a prompt? ");
    rig_step(&rig, 0);
    rig_at(&rig, 300);
    write_much(&rig, text, len);
    tap_ok(rig.relay.err->line_owner == rig_stream(&rig, 1, 1));
    tap_eq_uint(relay_move(rig_stream(&rig, 0, 1), rig.now), 0);
    rig_release(&rig);
}

TEST(a_line_without_end_moves_in_pieces_that_nobody_interrupts)
{
    static char text[MUCH];
    struct rig rig;

    memset(text, 'x', sizeof(text));
    rig_init(&rig, 1, NULL, false);
    write_much(&rig, text, sizeof(text));
    tap_ok(relay_move(rig_stream(&rig, 0, 1), 0) > 0);
    tap_ok(rig.relay.err->line_owner == rig_stream(&rig, 0, 1));
    rig_run(&rig);
    tap_eq_uint(rig.text[1].len, sizeof(text));
    rig_release(&rig);
}

TAP_MAIN()
