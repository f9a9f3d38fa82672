#include "model/cpus.h"
#include "tap.h"

static int budget(int allowed, int64_t quota_us, int64_t period_us)
{
    struct facts facts = {
        .cpus_allowed = allowed, .cpu_quota_us = quota_us, .cpu_period_us = period_us};

    return cpus_budget(&facts);
}

TEST(the_budget_is_the_smaller_of_affinity_and_quota_rounded_down)
{
    tap_eq_int(budget(64, -1, 0), 64);
    tap_eq_int(budget(64, 200000, 100000), 2);
    tap_eq_int(budget(64, 765000, 100000), 7);
    tap_eq_int(budget(64, 150000, 100000), 1);
    tap_eq_int(budget(2, 800000, 100000), 2);
}

TEST(there_is_always_one_cpu)
{
    tap_eq_int(budget(64, 50000, 100000), 1);
    tap_eq_int(budget(64, 0, 100000), 1);
    tap_eq_int(budget(0, -1, 0), 1);
    tap_eq_int(budget(4, 100000, 0), 4);
}

TEST(threads_share_the_budget_between_1_and_8)
{
    tap_eq_int(cpus_threads(8, 2), 4);
    tap_eq_int(cpus_threads(8, 3), 2);
    tap_eq_int(cpus_threads(2, 8), 1);
    tap_eq_int(cpus_threads(128, 2), 8);
    tap_eq_int(cpus_threads(5, 0), 5);
}

TAP_MAIN()
