#include "base/cpuset.h"

#include "tap.h"

static const char *written(const char *list)
{
    static char room[256];
    struct buf out = BUF_OVER(room);
    struct cpuset set = {0};

    if (!cpuset_read(&set, list))
        return NULL;
    cpuset_write(&set, &out);
    return room;
}

TEST(lists_are_read_and_written)
{
    tap_eq_str(written("0"), "0");
    tap_eq_str(written("0-3,8"), "0-3,8");
    tap_eq_str(written("5,3,4,64-65"), "3-5,64-65");
    tap_eq_str(written("2047-2050"), "2047"); /* the rest is left out */
    tap_eq_str(written("many"), NULL);
    tap_eq_str(written(""), NULL);
}

TEST(sets)
{
    struct cpuset a = {0}, b = {0};

    tap_eq_int(cpuset_first(&a), -1);
    tap_ok(cpuset_equal(&a, &b) && cpuset_within(&a, &b));
    tap_ok(cpuset_read(&a, "64,70") && cpuset_read(&b, "64-71"));
    tap_eq_int(cpuset_first(&a), 64);
    tap_eq_int(cpuset_count(&b), 8);
    tap_ok(cpuset_within(&a, &b) && !cpuset_within(&b, &a) && !cpuset_equal(&a, &b));
    tap_ok(cpuset_has(&a, 70) && !cpuset_has(&a, 71));
    tap_ok(!cpuset_has(&a, -1) && !cpuset_has(&a, CPUSET_MAX));
    cpuset_subtract(&b, &a);
    tap_eq_int(cpuset_count(&b), 6);
    tap_ok(!cpuset_has(&b, 64) && cpuset_has(&b, 65) && !cpuset_has(&b, 70));
}

TAP_MAIN()
