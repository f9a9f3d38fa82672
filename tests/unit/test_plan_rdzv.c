/* What is made of --rdzv-conf and --local-addr. */
#include "fixture.h"

static void refused(const char *conf, int code, const char *part)
{
    char line[200], message[ERR_MESSAGE_MAX];

    snprintf(line, sizeof(line), "--nproc-per-node 1 --rdzv-conf %s x", conf);
    tap_eq_int(fixture_code("", line, message), code);
    tap_has_str(message, part);
}

TEST(known_keys_are_told_to_have_no_effect)
{
    static const char line[] = "--nproc-per-node 1 --rdzv-conf "
                               "join_timeout=600,last_call_timeout=30,close_timeout=30,heartbeat=5,"
                               "read_timeout=60,store_type=tcp,is_host=True,timeout=900,rank=0 x";
    char verbose[sizeof(line) + 3];
    struct fixture f = fixture_new();

    tap_eq_int(fixture_plan(&f, "", line), 0);
    tap_eq_uint(f.plan.notices.count, 0);
    fixture_again(&f);
    snprintf(verbose, sizeof(verbose), "-v %s", line);
    tap_eq_int(fixture_plan(&f, "", verbose), 0);
    tap_eq_uint(f.plan.notices.count, 9);
    tap_ok(fixture_noticed(&f, "--rdzv-conf: join_timeout=600 has no effect: there is no meeting"));
    tap_ok(fixture_noticed(&f, "--rdzv-conf: is_host=True has no effect: node 0 is the host"));
    fixture_again(&f);
    tap_eq_int(fixture_plan(&f, "PET_RDZV_CONF=", "--nproc-per-node 1 x"), 0);
    tap_ok(fixture_noticed(&f, "PET_RDZV_CONF is empty: taken as unset"));
    fixture_free(&f);
}

TEST(slips_are_refused)
{
    char message[ERR_MESSAGE_MAX];

    refused("join_timout=5", 64,
            "\"join_timout\" is no key of torch's c10d or static rendezvous; "
            "did you mean join_timeout?");
    refused("backend=x", 64, "--rdzv-conf: \"backend\" is no key");
    refused("timeout", 64, "--rdzv-conf: \"timeout\" is not KEY=VALUE");
    refused("timeout=", 64, "is not KEY=VALUE");
    refused("=5", 64, "is not KEY=VALUE");
    refused("timeout=5,", 64, "is not KEY=VALUE");
    refused("timeout=5s", 64, "\"timeout\" needs a number");
    refused("is_host=2", 64, "\"is_host\" needs true or false");
    refused("store_type=file", 64, "\"store_type\" can only be tcp");
    tap_eq_int(fixture_code("PET_RDZV_CONF=a=b", "--nproc-per-node 1 x", message), 78);
    tap_has_str(message, "PET_RDZV_CONF: \"a\" is no key");
    tap_eq_int(fixture_code("PET_RDZV_CONF=a=b", "sh", message), 0);
}

static void check_addr(const char *line, const char *want, bool noted)
{
    struct fixture f = fixture_new();

    if (!tap_eq_int(fixture_plan(&f, "", line), 0))
        printf("# %s\n", f.err.message);
    tap_eq_str(f.plan.job.master_addr, want);
    tap_eq_int(fixture_noticed(&f, "--local-addr has no effect: "), noted);
    fixture_free(&f);
}

TEST(local_addr_is_where_a_single_node_listens)
{
    check_addr("-v --nproc-per-node 2 --local-addr 10.1.1.1 x", "10.1.1.1", false);
    check_addr("-v --standalone --local-addr 10.1.1.1 x", "10.1.1.1", false);
    check_addr("-v --nproc-per-node 2 --master-addr m --local-addr 10.1.1.1 x", "m", true);
    check_addr("-v --nproc-per-node 2 --rdzv-endpoint m:1 --local-addr m x", "m", false);
    check_addr("-v --nnodes 2 --node-rank 1 --master-addr m --local-addr 10.1.1.1 x", "m", true);
    check_addr("--nnodes 2 --node-rank 1 --master-addr m --local-addr 10.1.1.1 x", "m", false);
}

TAP_MAIN()
