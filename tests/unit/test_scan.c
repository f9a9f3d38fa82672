#include <limits.h>

#include "base/scan.h"
#include "tap.h"

TEST(int_takes_decimal_numbers)
{
    long n = -7;

    tap_ok(scan_int("0", 0, 10, &n));
    tap_eq_int(n, 0);
    tap_ok(scan_int("10", 0, 10, &n));
    tap_eq_int(n, 10);
    tap_ok(scan_int("-10", -10, 10, &n));
    tap_eq_int(n, -10);
    tap_ok(scan_int("9223372036854775807", LONG_MIN, LONG_MAX, &n));
    tap_eq_int(n, LONG_MAX);
    tap_ok(scan_int("-9223372036854775808", LONG_MIN, LONG_MAX, &n));
    tap_eq_int(n, LONG_MIN);
}

TEST(int_refuses_the_rest)
{
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "-",
                                      "--1",
                                      "010",
                                      "00",
                                      "-0",
                                      "-01",
                                      "0x1",
                                      "1e3",
                                      "12x",
                                      "x",
                                      "1.0",
                                      "1,0",
                                      "1\n",
                                      "\t1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "18446744073709551616",
                                      "99999999999999999999999"};
    long n = 42;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!tap_ok(!scan_int(bad[i], LONG_MIN, LONG_MAX, &n)))
            printf("# text \"%s\"\n", bad[i]);
    }
    tap_ok(!scan_int("11", 0, 10, &n));
    tap_ok(!scan_int("-1", 0, 10, &n));
    tap_ok(!scan_int("1", 2, 10, &n));
    tap_eq_int(n, 42);
}

TEST(u64_limits)
{
    uint64_t n = 42;

    tap_ok(scan_u64("18446744073709551615", &n));
    tap_eq_uint(n, UINT64_MAX);
    tap_ok(scan_u64("0", &n));
    tap_eq_uint(n, 0);
    n = 42;
    tap_ok(!scan_u64("18446744073709551616", &n));
    tap_ok(!scan_u64("28446744073709551615", &n));
    tap_ok(!scan_u64("-1", &n));
    tap_ok(!scan_u64("", &n));
    tap_ok(!scan_u64("01", &n));
    tap_ok(!scan_u64("1 ", &n));
    tap_eq_uint(n, 42);
}

TEST(duration_takes_units)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"0", 0},
        {"0s", 0},
        {"25", 25000000000},
        {"25s", 25000000000},
        {"300ms", 300000000},
        {"5m", 300000000000},
        {"1h", 3600000000000},
        {"1h30m", 5400000000000},
        {"1h30m5s250ms", 5405250000000},
        {"1h1ms", 3600001000000},
        {"90m", 5400000000000},
        {"1m90s", 150000000000},
        {"9223372036", 9223372036000000000},
        {"9223372036854ms", 9223372036854000000},
        {"2562047h47m16s854ms", 9223372036854000000},
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t ns = -1;

        tap_ok(scan_duration(good[i].text, &ns));
        if (!tap_eq_int(ns, good[i].ns))
            printf("# text \"%s\"\n", good[i].text);
    }
}

TEST(duration_refuses_the_rest)
{
    static const char *const bad[] = {"",
                                      "s",
                                      "-1s",
                                      "+1s",
                                      " 1s",
                                      "1s ",
                                      "1 s",
                                      "1.5s",
                                      "1S",
                                      "1M",
                                      "1us",
                                      "1ns",
                                      "1d",
                                      "1sec",
                                      "010s",
                                      "1h05m",
                                      "1m1h",
                                      "1s1m",
                                      "1s1s",
                                      "1ms1s",
                                      "1h30",
                                      "1h30m5x",
                                      "1m30sx",
                                      "ms",
                                      "1hm",
                                      "1mss",
                                      "1m s",
                                      "9223372037",
                                      "9223372036855ms",
                                      "2562047h47m16s855ms",
                                      "2562048h",
                                      "18446744073709551615h",
                                      "18446744073709551616",
                                      "99999999999999999999s",
                                      "5124095576030431h"};
    int64_t ns = 42;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!tap_ok(!scan_duration(bad[i], &ns)))
            printf("# text \"%s\"\n", bad[i]);
    }
    tap_eq_int(ns, 42);
}

TEST(size_takes_units)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"0Ti", 0},
        {"4096", 4096},
        {"64Ki", 65536},
        {"1Mi", 1048576},
        {"1Gi", 1073741824},
        {"2Ti", 2199023255552},
        {"1k", 1000},
        {"2M", 2000000},
        {"3G", 3000000000},
        {"4T", 4000000000000},
        {"18446744073709551615", UINT64_MAX},
        {"16777215Ti", 18446742974197923840u},
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint64_t bytes = 1;

        tap_ok(scan_size(good[i].text, &bytes));
        if (!tap_eq_uint(bytes, good[i].bytes))
            printf("# text \"%s\"\n", good[i].text);
    }
}

TEST(size_refuses_the_rest)
{
    static const char *const bad[] = {
        "",     "Ki",    "-1", "1K",    "1KB",  "1B",  "1ki",        "1m",
        "1 Ki", "1.5Gi", "01", "1KiKi", "1Ki ", "1Pi", "16777216Ti", "18446744073709551615k"};
    uint64_t bytes = 42;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!tap_ok(!scan_size(bad[i], &bytes)))
            printf("# text \"%s\"\n", bad[i]);
    }
    tap_eq_uint(bytes, 42);
}

TEST(bool_is_exact)
{
    static const char *const bad[] = {"", "True", "TRUE", "yes", "on", "2", "00", "true ", "tru"};
    bool yes = false;

    tap_ok(scan_bool("true", &yes) && yes);
    tap_ok(scan_bool("false", &yes) && !yes);
    tap_ok(scan_bool("1", &yes) && yes);
    tap_ok(scan_bool("0", &yes) && !yes);
    yes = true;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        tap_ok(!scan_bool(bad[i], &yes));
    tap_ok(yes);
}

TEST(word_is_an_index)
{
    tap_eq_int(scan_word("one", "one|two|three"), 0);
    tap_eq_int(scan_word("two", "one|two|three"), 1);
    tap_eq_int(scan_word("three", "one|two|three"), 2);
    tap_eq_int(scan_word("only", "only"), 0);
    tap_eq_int(scan_word("", "one|two"), -1);
    tap_eq_int(scan_word("", ""), -1);
    tap_eq_int(scan_word("on", "one|two"), -1);
    tap_eq_int(scan_word("ones", "one|two"), -1);
    tap_eq_int(scan_word("One", "one|two"), -1);
    tap_eq_int(scan_word("one|two", "one|two"), -1);
    tap_eq_int(scan_word("|", "one|two"), -1);
}

struct seen {
    size_t count;
    long numbers[16];
};

static void note(void *context, long number)
{
    struct seen *seen = context;

    if (seen->count < 16)
        seen->numbers[seen->count++] = number;
}

TEST(list_calls_in_order)
{
    const long want[] = {6, 0, 1, 2, 3, 5, 5};
    struct seen seen = {.count = 0};

    tap_ok(scan_list("6,0-3,5,5-5", 6, note, &seen));
    tap_eq_uint(seen.count, 7);
    tap_eq_mem(seen.numbers, want, sizeof(want));
    seen.count = 0;
    tap_ok(scan_list("9223372036854775806-9223372036854775807", LONG_MAX, note, &seen));
    tap_eq_uint(seen.count, 2);
    tap_eq_int(seen.numbers[1], LONG_MAX);
    seen.count = 0;
    tap_ok(scan_list("0", 0, note, &seen));
    tap_eq_uint(seen.count, 1);
}

TEST(list_refuses_the_rest)
{
    static const char *const bad[] = {
        "",     ",",    "0,", ",0",  "0,,1", "-1",   "1-",    "3-1", "0-7", "7",
        "0 ,1", "0, 1", "a",  "0-b", "01",   "0--1", "0-1-2", "0x1", "all", "99999999999999999999"};
    struct seen seen = {.count = 0};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!tap_ok(!scan_list(bad[i], 6, note, &seen)))
            printf("# text \"%s\"\n", bad[i]);
    }
    tap_ok(!scan_list("0", -1, note, &seen));
}

static const char *const names[] = {"grace", "fail_grace", "nproc_per_node", "master-addr", "cpus",
                                    "run",   "k"};

static const char *nearest(const char *text)
{
    return scan_nearest(text, names, sizeof(names) / sizeof(names[0]));
}

TEST(nearest_finds_slips)
{
    tap_eq_str(nearest("grace"), "grace");
    tap_eq_str(nearest("grcae"), "grace");
    tap_eq_str(nearest("garce"), "grace");
    tap_eq_str(nearest("grac"), "grace");
    tap_eq_str(nearest("gracee"), "grace");
    tap_eq_str(nearest("GRACE"), "grace");
    tap_eq_str(nearest("fail-grace"), "fail_grace");
    tap_eq_str(nearest("failgrace"), "fail_grace");
    tap_eq_str(nearest("nproc-per-nod"), "nproc_per_node");
    tap_eq_str(nearest("nprocs_pernode"), "nproc_per_node");
    tap_eq_str(nearest("MASTER_ADDR"), "master-addr");
    tap_eq_str(nearest("gpus"), "cpus");
    tap_eq_str(nearest("ru"), "run");
    tap_eq_str(nearest("K"), "k");
}

TEST(nearest_knows_strangers)
{
    char longest[65 + 1];

    tap_eq_str(nearest(""), NULL);
    tap_eq_str(nearest("x"), NULL);
    tap_eq_str(nearest("cat"), NULL);
    tap_eq_str(nearest("disk"), NULL);
    tap_eq_str(nearest("timeout"), NULL);
    tap_eq_str(nearest("something_else"), NULL);
    memset(longest, 'g', sizeof(longest));
    longest[65] = '\0';
    tap_eq_str(nearest(longest), NULL);
    longest[64] = '\0';
    tap_eq_str(nearest(longest), NULL);
    tap_eq_str(scan_nearest("grace", names, 0), NULL);
}

TEST(nearest_at_its_limit)
{
    char name[64 + 1];
    char slip[64 + 1];
    char too_long[65 + 1];
    const char *const list[] = {too_long, name};

    memset(too_long, 'a', sizeof(too_long));
    too_long[65] = '\0';
    memset(name, 'a', sizeof(name));
    name[64] = '\0';
    memcpy(slip, name, sizeof(slip));
    slip[63] = 'b';
    tap_ok(scan_nearest(slip, list, 2) == name);
    tap_ok(scan_nearest(slip, list, 1) == NULL);
}

TEST(nearest_prefers_the_first_of_equals)
{
    const char *const list[] = {"node_rank", "mode_rank", "code_rank"};

    tap_eq_str(scan_nearest("lode_rank", list, 3), "node_rank");
    tap_eq_str(scan_nearest("mode_rank", list, 3), "mode_rank");
}

TEST(items_of_a_list)
{
    const char *at = "a,bcdef,,g", *none = NULL, *blank = "";
    char room[4];

    tap_ok(scan_item(&at, room, sizeof(room)));
    tap_eq_str(room, "a");
    tap_ok(scan_item(&at, room, sizeof(room)));
    tap_eq_str(room, "bcd");
    tap_ok(!scan_item(&at, room, sizeof(room)));
    tap_eq_str(at, ",g");
    tap_ok(!scan_item(&none, room, sizeof(room)));
    tap_ok(!scan_item(&blank, room, sizeof(room)));
}

TAP_MAIN()
