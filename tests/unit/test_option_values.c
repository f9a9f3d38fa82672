#include "model/option_values.h"
#include "tap.h"

static const struct option_row *row_of(enum option_id id)
{
    return &option_rows[id];
}

static void good(enum option_id id, const char *text)
{
    if (!tap_ok(option_value_ok(row_of(id), text)))
        printf("#   %s \"%s\"\n", row_of(id)->name, text);
}

static void bad(enum option_id id, const char *text)
{
    if (!tap_ok(!option_value_ok(row_of(id), text)))
        printf("#   %s \"%s\"\n", row_of(id)->name, text);
}

#define EACH(check, id, ...)                                          \
    do {                                                              \
        static const char *const texts[] = {__VA_ARGS__};             \
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) \
            check((id), texts[i]);                                    \
    } while (0)

/* PyTorch's own examples of what its map parser takes and refuses, and ranks of two digits. */
TEST(streams)
{
    EACH(good, OPT_TEE, "0", "1", "2", "3", "0:1", "0:1,1:1", "0:3,10:2", "1:0");
    EACH(bad, OPT_TEE, "", "4", "-1", "11", "0:1,", "0:1,1", "1,0:1", "0:", ":1", "0:4", "0:1;1:1",
         "0:1 1:1", "a:1", "4096:1", "01:1", "0:1,,1:1", "out");
    EACH(good, OPT_LOCAL_RANKS_FILTER, "0", "0,1", "0-3,6", "4095");
    EACH(bad, OPT_LOCAL_RANKS_FILTER, "", ",", "0,", "a", "4096", "3-1", "-1");
}

TEST(flags)
{
    EACH(good, OPT_MODULE, "true", "false", "1", "0");
    EACH(bad, OPT_MODULE, "", "yes", "TRUE", "2", "maybe", " true");
}

TEST(counts)
{
    EACH(good, OPT_VERBOSE, "0", "1", "100");
    EACH(bad, OPT_VERBOSE, "", "-1", "101", "true", "1.0");
}

TEST(integers)
{
    EACH(good, OPT_GPUS_PER_RANK, "1", "256");
    EACH(bad, OPT_GPUS_PER_RANK, "", "0", "257", "-1", "010", "12x", "1.0", "+1", " 1");
    EACH(good, OPT_MAX_BYTES, "700", "2048", "4096");
    EACH(bad, OPT_MAX_BYTES, "699", "1048577", "2Ki");
    EACH(good, OPT_SHUTDOWN_TIMEOUT, "0", "30");
    EACH(bad, OPT_SHUTDOWN_TIMEOUT, "30s", "-1");
}

TEST(names)
{
    EACH(good, OPT_CAP_DROP, "ALL", "NET_RAW", "cap_net_raw,CAP_MKNOD", "_sysctl");
    EACH(bad, OPT_CAP_DROP, "", ",", "A,", ",A", "A,,B", "A B", "1", "A-B", "CAP:x",
         "x123456789012345678901234567890123456789012345678901234567890123456789");
}

TEST(limits_and_masks)
{
    EACH(good, OPT_RLIMIT, "core=0", "nofile=1024:4096", "memlock=unlimited,stack=8Mi:unlimited");
    EACH(bad, OPT_RLIMIT, "", "core", "core=", "core=x", "cores=0", "nofile=2:1",
         "core=0:", "core=unlimited:0", "core=0:1:2", "core=-1", "RLIMIT_CORE=0");
    EACH(good, OPT_UMASK, "0", "7", "22", "022", "0022", "777");
    EACH(bad, OPT_UMASK, "", "8", "1000", "00022", "-1", "0x1", "u=rwx");
}

TEST(decimals)
{
    EACH(good, OPT_MONITOR_INTERVAL, "0.1", "5", "5.", ".5", "300");
    EACH(bad, OPT_MONITOR_INTERVAL, "", ".", "1.2.3", "-1", "5s", "abc", "1e3", " 1");
}

TEST(ranks)
{
    EACH(good, OPT_NPROC_PER_NODE, "1", "8", "4096", "auto", "gpu", "cpu");
    EACH(bad, OPT_NPROC_PER_NODE, "", "0", "4097", "xpu", "auto|gpu", "-1");
}

TEST(nodes)
{
    EACH(good, OPT_NNODES, "1", "2", "3:3", "1000000");
    EACH(bad, OPT_NNODES, "", "0", "1:4", "4:1", "1:1:1", "2:", ":2", "a", "2-3", "1000001",
         "11111111111111111111111111111111111111111111:2");
    tap_eq_int(option_value_nnodes("3:3"), 3);
    tap_eq_int(option_value_nnodes("1:4"), -1);
    tap_eq_int(option_value_nnodes("4:1"), 0);
}

TEST(hosts)
{
    EACH(good, OPT_MASTER_ADDR, "host", "job-0.job.default.svc.cluster.local.", "a_b", "10.0.0.1",
         "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "2001:db8::");
    EACH(bad, OPT_MASTER_ADDR, "", "host:29500", "[::1]", "http://host", "a b", " host", "host\n",
         "$(POD_IP)", "$POD_IP", "a,b", "host/", "fe80::1%", "::g", "-host", "user@host",
         "a:1,b:2");
}

TEST(ports_and_endpoints)
{
    EACH(good, OPT_MASTER_PORT, "1", "29500", "65535", "auto");
    EACH(bad, OPT_MASTER_PORT, "", "0", "65536", "http", "tcp://10.0.0.1:80");
    EACH(good, OPT_RDZV_ENDPOINT, "host", "host:29400", "10.0.0.1:1", "job-worker-0:65535",
         "localhost:0", "[fe80::1]:29400", "[::1]");
    EACH(bad, OPT_RDZV_ENDPOINT, "", ":29400", "host:", "host:65536", "host:1:2", "fe80::1", "[]:1",
         "[::1", "[::1]x", "[::1]:", "tcp://host:1", "a b:1");
}

TEST(durations_and_sizes)
{
    EACH(good, OPT_GRACE, "0", "20", "300ms", "25s", "5m", "1h", "1h30m");
    EACH(bad, OPT_GRACE, "", "s", "20 s", "-1s", "1.5s", "30m1h", "1d");
    EACH(good, OPT_OUTPUT_MAX_BYTES, "0", "64Ki", "1Gi");
    EACH(bad, OPT_OUTPUT_MAX_BYTES, "", "1KB", "-1");
}

TEST(signals)
{
    EACH(good, OPT_PARENT_DEATH_SIGNAL, "TERM", "SIGKILL", "9", "RTMIN+3", "64");
    EACH(bad, OPT_PARENT_DEATH_SIGNAL, "", "0", "65", "TEA");
    EACH(good, OPT_SIGNALS_TO_HANDLE, "SIGTERM", "SIGTERM,SIGUSR1", "hup,10", "SIGRTMIN+1");
    EACH(bad, OPT_SIGNALS_TO_HANDLE, "", ",", "SIGTERM,", "SIGKILL", "STOP", "SIGTERM,SIGCHLD",
         "SIGTERM USR1", "0", "65", "TEA");
    EACH(good, OPT_REWRITE, "TERM:USR1", "15:10", "INT:0", "SIGTERM:SIGKILL", "TERM:USR1,INT:0");
    EACH(bad, OPT_REWRITE, "", "TERM", "TERM:", ":TERM", "KILL:TERM", "STOP:0", "CHLD:0",
         "TERM:USR1,", ",TERM:USR1", "TERM:65", "0:TERM", "TERM:USR1:USR2",
         "TERM:AVERYLONGNAMETHATDOESNOTFITINANYROOM");
}

TEST(codes)
{
    EACH(good, OPT_EXIT_ZERO, "0", "255", "143", "1,2,3");
    EACH(bad, OPT_EXIT_ZERO, "", "256", "-1", "1,", "a", "1,,2", "1 2");
}

TEST(code_maps)
{
    EACH(good, OPT_EXIT_MAP, "3:0", "0:255", "69:197,75:203", "1:1");
    EACH(bad, OPT_EXIT_MAP, "", "3", ":3", "3:", "256:1", "1:256", "-1:1", "1:2,", "1:2:3", "a:b");
}

TEST(words)
{
    EACH(good, OPT_DEVICE_MODE, "auto", "shared", "isolated", "isolated-keep-rank", "none");
    EACH(bad, OPT_DEVICE_MODE, "", "Shared", "iso", "auto|shared", "|");
    EACH(good, OPT_THREADS, "budget", "torchrun", "keep", "1", "4096");
    EACH(bad, OPT_THREADS, "", "0", "many");
    EACH(good, OPT_NODE_RANK, "0", "7", "auto");
    EACH(bad, OPT_NODE_RANK, "", "-1", "first");
}

TEST(texts)
{
    EACH(good, OPT_ROLE, "x", " ", "0");
    EACH(bad, OPT_ROLE, "");
}

static void same(enum option_id id, const char *a, const char *b)
{
    tap_ok(option_value_same(row_of(id), a, b));
    tap_ok(option_value_same(row_of(id), b, a));
}

static void differ(enum option_id id, const char *a, const char *b)
{
    tap_ok(!option_value_same(row_of(id), a, b));
    tap_ok(!option_value_same(row_of(id), b, a));
}

TEST(compares_meanings)
{
    same(OPT_GRACE, "60s", "1m");
    differ(OPT_GRACE, "60s", "1h");
    differ(OPT_GRACE, "1m", "x");
    same(OPT_OUTPUT_MAX_BYTES, "1Ki", "1024");
    differ(OPT_OUTPUT_MAX_BYTES, "1Ki", "1000");
    same(OPT_NNODES, "2", "2:2");
    differ(OPT_NNODES, "2", "3");
    same(OPT_HYDRA, "0", "false");
    same(OPT_HYDRA, "false", NULL);
    differ(OPT_HYDRA, "true", NULL);
    differ(OPT_HYDRA, "1", "0");
    differ(OPT_HYDRA, "junk", NULL);
    same(OPT_MASTER_ADDR, "Host-0", "host-0");
    differ(OPT_MASTER_ADDR, "host-0", "host-1");
    differ(OPT_CAP_DROP, "ALL", NULL);
    same(OPT_CAP_DROP, NULL, NULL);
}

static void wants(enum option_id id, const char *text)
{
    char room[256];
    struct buf out = BUF_OVER(room);

    option_value_wanted(row_of(id), &out);
    tap_eq_str(room, text);
}

TEST(says_what_is_wanted)
{
    wants(OPT_GPUS_PER_RANK, "a number from 1 to 256");
    wants(OPT_RDZV_BACKEND, "one of static, c10d");
    wants(OPT_MASTER_PORT, "a number from 1 to 65535 or one of auto, from-job-id");
    wants(OPT_THREADS, "a number from 1 to 4096 or one of budget, torchrun, keep");
    for (int id = 0; id < OPT__COUNT; id++) {
        char room[256];
        struct buf out = BUF_OVER(room);

        option_value_wanted(row_of((enum option_id)id), &out);
        tap_ok(out.len > 0 && !out.truncated);
    }
}

TAP_MAIN()
