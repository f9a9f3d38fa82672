/*
 * Lines that can be told from all others: "<rank> <number> " and bytes that follow from the two.
 * Most are short, some longer than any buffer on the way; any byte but a newline occurs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "payload.h"

#define LONGEST   20000
#define ROOM      (LONGEST + 64)
#define RANKS_MAX 1024
#define BLOCK     65536

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Returns the length with the newline. */
static size_t make_line(long rank, long line, char *out)
{
    uint64_t seed = (uint64_t)(rank * 100000007 + line) * 0x9E3779B97F4A7C15ULL + 1;
    size_t len = (size_t)sprintf(out, "%ld %ld ", rank, line);
    size_t end = len + (next_random(&seed) % 4096 == 0 ? next_random(&seed) % LONGEST
                                                       : next_random(&seed) % 60);

    while (len < end) {
        uint64_t bytes = next_random(&seed);

        for (int i = 0; i < 8 && len < end; i++, bytes >>= 8)
            out[len++] = (char)bytes == '\n' ? '\r' : (char)bytes;
    }
    out[len++] = '\n';
    return len;
}

/* lines FD RANK N: N lines of a rank, in writes of random sizes. */
int verb_lines(int argc, char **argv)
{
    int fd = (int)number(argv[0], 0, 1023);
    long rank = number(argv[1], 0, RANKS_MAX - 1), count = number(argv[2], 0, 1000000000);
    static char room[BLOCK + ROOM];
    uint64_t seed = (uint64_t)rank + 77;
    size_t used = 0;

    (void)argc;
    for (long line = 0; line < count || used > 0;) {
        size_t piece = next_random(&seed) % BLOCK + 1;

        while (used < piece && line < count)
            used += make_line(rank, line++, room + used);
        piece = piece < used ? piece : used;
        write_all(fd, room, piece);
        used -= piece;
        memmove(room, room + piece, used);
    }
    return 0;
}

/* Fails unless line is the next one of its rank, behind a prefix of any text. */
static void check_line(const char *line, size_t len, size_t prefix, long next[RANKS_MAX])
{
    static char want[ROOM];
    long rank = len > prefix ? strtol(line + prefix, NULL, 10) : -1;
    size_t size;

    if (rank < 0 || rank >= RANKS_MAX || next[rank] < 0)
        die("no rank's line: %.60s", line);
    size = make_line(rank, next[rank], want);
    if (len - prefix != size || memcmp(line + prefix, want, size) != 0)
        die("rank %ld, line %ld: want %.60sgot %.60s", rank, next[rank], want, line + prefix);
    next[rank]++;
}

/*
 * check-lines RANKS N PREFIX: stdin is exactly N lines of each of the ranks (a list with commas),
 * whole and in their order, each behind PREFIX bytes.
 */
int verb_check_lines(int argc, char **argv)
{
    long count = number(argv[1], 0, 1000000000);
    size_t prefix = (size_t)number(argv[2], 0, 1000), size = 0;
    long next[RANKS_MAX];
    char *line = NULL;
    ssize_t len;

    (void)argc;
    memset(next, -1, sizeof(next));
    for (char *rank = strtok(argv[0], ","); rank; rank = strtok(NULL, ","))
        next[number(rank, 0, RANKS_MAX - 1)] = 0;
    while ((len = getline(&line, &size, stdin)) > 0)
        check_line(line, (size_t)len, prefix, next);
    for (int rank = 0; rank < RANKS_MAX; rank++) {
        if (next[rank] >= 0 && next[rank] != count)
            die("rank %d: %ld lines, want %ld", rank, next[rank], count);
    }
    return 0;
}

/* flood FD LEN N: N lines of LEN bytes in large writes that cost nothing to make: for measuring. */
int verb_flood(int argc, char **argv)
{
    int fd = (int)number(argv[0], 0, 1023);
    size_t len = (size_t)number(argv[1], 2, BLOCK);
    long count = number(argv[2], 0, 1000000000);
    static char block[BLOCK];
    long lines = (long)(sizeof(block) / len);

    (void)argc;
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = i % len == len - 1 ? '\n' : "step 1234 of 9999: a line of a log "[i % len % 35];
    for (; count > 0; count -= lines)
        write_all(fd, block, len * (size_t)(count < lines ? count : lines));
    return 0;
}

/* drain: reads stdin to its end, prints the number of bytes. */
int verb_drain(int argc, char **argv)
{
    static char room[1 << 18];
    unsigned long long bytes = 0;
    ssize_t n;

    (void)argc, (void)argv;
    while ((n = read(STDIN_FILENO, room, sizeof(room))) > 0)
        bytes += (unsigned long long)n;
    printf("%llu\n", bytes);
    return 0;
}
