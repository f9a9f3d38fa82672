/* When a time limit is over, and which. */
#include "model/limits.h"

#include "tap.h"

#define S 1000000000LL

static struct limits limits;

static void plan(int64_t timeout, int64_t idle, int64_t start)
{
    limits_init(&limits, &(struct limits_config){timeout * S, idle * S, start * S});
}

TEST(no_limit_is_ever_over)
{
    plan(0, 0, 0);
    limits_begin(&limits, 0);
    tap_eq_int(limits_deadline(&limits), LIMITS_NEVER);
    tap_eq_int(limits_due(&limits, INT64_MAX - 1), LIMIT_NONE);
}

TEST(the_time_of_the_run_passes_before_the_ranks_start_too)
{
    plan(10, 5, 5);
    tap_eq_int(limits_deadline(&limits), 10 * S);
    tap_eq_int(limits_due(&limits, 9 * S), LIMIT_NONE);
    tap_eq_int(limits_due(&limits, 10 * S), LIMIT_TIMEOUT);
    limits_begin(&limits, 9 * S);
    tap_eq_int(limits_deadline(&limits), 10 * S); /* a restart gives no new time */
}

TEST(silence_counts_from_the_last_output)
{
    plan(0, 5, 0);
    limits_begin(&limits, 2 * S);
    tap_eq_int(limits_deadline(&limits), 7 * S);
    limits_heard(&limits, 4 * S);
    tap_eq_int(limits_due(&limits, 7 * S), LIMIT_NONE);
    tap_eq_int(limits_deadline(&limits), 9 * S);
    limits_heard(&limits, 3 * S); /* an older word changes nothing */
    tap_eq_int(limits_due(&limits, 9 * S), LIMIT_IDLE);
}

TEST(a_start_is_over_with_the_first_output_or_the_ready_file)
{
    plan(0, 0, 5);
    limits_begin(&limits, S);
    tap_eq_int(limits_due(&limits, 6 * S), LIMIT_START);
    limits_heard(&limits, 2 * S);
    tap_eq_int(limits_due(&limits, 60 * S), LIMIT_NONE);
    limits_begin(&limits, 100 * S);
    tap_eq_int(limits_deadline(&limits), 105 * S);
    limits.ready = true;
    tap_eq_int(limits_deadline(&limits), LIMITS_NEVER);
}

TEST(a_hang_is_told_before_the_time_limit)
{
    plan(5, 5, 5);
    limits_begin(&limits, 0);
    tap_eq_int(limits_due(&limits, 5 * S), LIMIT_START);
    limits.ready = true;
    tap_eq_int(limits_due(&limits, 5 * S), LIMIT_IDLE);
    tap_ok(limits_is_hang(LIMIT_IDLE) && limits_is_hang(LIMIT_START));
    tap_ok(!limits_is_hang(LIMIT_TIMEOUT) && !limits_is_hang(LIMIT_NONE));
}

TAP_MAIN()
