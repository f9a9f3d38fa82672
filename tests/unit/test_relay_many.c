#include "relay_rig.h"

#define LINES    2000
#define LONGEST  20000 /* more than two rings */
#define STREAM_B (8 << 20)

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Line `number` of a rank, any bytes but a newline within; returns its length with the newline. */
static size_t make_line(int rank, int number, char *out)
{
    uint32_t seed = (uint32_t)(rank * 100000 + number) * 2654435761U + 1;
    size_t len = (size_t)sprintf(out, "%d %d ", rank, number);
    size_t more = next_random(&seed) % 64 == 0 ? next_random(&seed) % LONGEST
                                               : next_random(&seed) % 200;

    while (more-- > 0) {
        char c = (char)next_random(&seed);

        out[len++] = c == '\n' ? '\r' : c;
    }
    out[len++] = '\n';
    return len;
}

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t count = write(fd, bytes, len);

        if (count <= 0)
            _exit(1);
        bytes += count;
        len -= (size_t)count;
    }
}

/* A rank's process: all its lines, in writes of random sizes. */
static pid_t start_writer(struct rig *rig, int rank)
{
    char room[LONGEST + 100];
    uint32_t seed = (uint32_t)rank + 77;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (int i = 0; i < LINES; i++) {
        size_t len = make_line(rank, i, room);

        for (size_t at = 0; at < len;) {
            size_t piece = next_random(&seed) % 5000 + 1;

            piece = piece < len - at ? piece : len - at;
            write_all(rig->ends[rank][0], room + at, piece);
            at += piece;
        }
    }
    _exit(0);
}

static bool all_ended(const struct rig *rig)
{
    for (int i = 0; i < rig->relay.count; i++) {
        if (!rig->relay.streams[i].ended || rig->relay.streams[i].len > 0)
            return false;
    }
    return true;
}

/* Checks one line of the console; prefix: how many bytes stand before each. */
static bool check_line(const char *line, size_t len, size_t prefix, int seen[RIG_RANKS])
{
    static char want[LONGEST + 100];
    int shown = -1, rank = -1, number = -1;

    if (len <= prefix || (prefix > 0 && sscanf(line, "[rank %d 2", &shown) != 1) ||
        (prefix > 0 && memcmp(line + prefix - 3, "Z] ", 3) != 0) ||
        sscanf(line + prefix, "%d %d ", &rank, &number) != 2 || rank < 0 || rank >= RIG_RANKS ||
        (prefix > 0 && shown != rank) || number != seen[rank])
        return false;
    seen[rank]++;
    return make_line(rank, number, want) == len - prefix &&
           memcmp(line + prefix, want, len - prefix) == 0;
}

static void check_output(const struct rig *rig, size_t prefix)
{
    int seen[RIG_RANKS] = {0};
    size_t at = 0, bad = 0;

    while (at < rig->text[0].len) {
        const char *line = rig->text[0].bytes + at;
        const char *newline = memchr(line, '\n', rig->text[0].len - at);
        size_t len = newline ? (size_t)(newline - line) + 1 : rig->text[0].len - at;

        bad += !check_line(line, len, prefix, seen);
        at += len;
    }
    tap_eq_uint(bad, 0);
    for (int i = 0; i < RIG_RANKS; i++)
        tap_eq_int(seen[i], LINES);
}

/* Eight writers, a console of this width, and a reader that takes what it likes when it likes. */
static void many_writers(const char *template, size_t prefix, int width)
{
    struct rig rig;
    pid_t pids[RIG_RANKS];
    uint32_t seed = 5;

    rig_init(&rig, RIG_RANKS, template, false);
    fcntl(rig.reader[0], F_SETPIPE_SZ, width);
    for (int i = 0; i < RIG_RANKS; i++)
        pids[i] = start_writer(&rig, i);
    for (int i = 0; i < RIG_RANKS; i++)
        rig_close_rank(&rig, i);
    while (!all_ended(&rig)) {
        rig_step(&rig, 1);
        if (next_random(&seed) % 4 != 0)
            rig_read(&rig, 0, next_random(&seed) % 20000 + 1);
    }
    rig_run(&rig);
    for (int i = 0; i < RIG_RANKS; i++)
        waitpid(pids[i], NULL, 0);
    check_output(&rig, prefix);
    rig_release(&rig);
}

TEST(no_line_is_torn_or_lost)
{
    many_writers(NULL, 0, 4096);
}

TEST(no_line_is_torn_or_lost_with_prefix)
{
    many_writers("[rank ${rank} ${time}] ", strlen("[rank 0 2026-01-01T00:00:00.000Z] "), 4096);
}

/* Long prefixes: blocks of lines are full before the buffer is empty, and go out whole. */
TEST(no_line_is_torn_or_lost_in_full_blocks)
{
    char template[RELAY_PREFIX_MAX], dots[200] = {0};

    memset(dots, '.', sizeof(dots) - 1);
    sprintf(template, "[rank ${rank} 2%s${time}] ", dots);
    many_writers(template, strlen("[rank 0 2") + strlen(dots) + RELAY_TIME_SIZE + 2, 1 << 20);
}

static pid_t start_flood(struct rig *rig)
{
    char block[4096];
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (size_t i = 0; i < STREAM_B / sizeof(block); i++) {
        memset(block, 'a' + (char)(i % 26), sizeof(block));
        if (i % 3 == 0)
            block[i % sizeof(block)] = '\n';
        write_all(rig->ends[0][0], block, sizeof(block));
    }
    _exit(0);
}

static bool flood_is_whole(const struct rig_text *text)
{
    for (size_t i = 0; i < text->len; i++) {
        size_t block = i / 4096;
        char want = block % 3 == 0 && i % 4096 == block % 4096 ? '\n' : 'a' + (char)(block % 26);

        if (text->bytes[i] != want)
            return false;
    }
    return text->len == STREAM_B;
}

TEST(stalled_reader)
{
    struct rig rig;
    pid_t pid;
    int quiet = 0;

    rig_init(&rig, 1, NULL, false);
    pid = start_flood(&rig);
    rig_close_rank(&rig, 0);
    /* With a full console nothing wakes us any more, and the writer is held up. */
    while (quiet < 3)
        quiet = rig_step(&rig, 20) ? 0 : quiet + 1;
    rig_at(&rig, 200);
    tap_eq_uint(rig_stream(&rig, 0, 0)->len, rig_stream(&rig, 0, 0)->size);
    tap_eq_uint(rig_stream(&rig, 0, 0)->source.events, 0);
    tap_eq_int(relay_deadline(&rig.relay), INT64_MAX);
    tap_eq_int(waitpid(pid, NULL, WNOHANG), 0);
    tap_ok(rig.relay.out->source.events == EPOLLOUT);
    while (!all_ended(&rig)) {
        rig_step(&rig, 1);
        rig_read(&rig, 0, 65536);
    }
    rig_run(&rig);
    waitpid(pid, NULL, 0);
    tap_ok(flood_is_whole(&rig.text[0]));
    rig_release(&rig);
}

TAP_MAIN()
