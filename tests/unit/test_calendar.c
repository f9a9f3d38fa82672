/* Unit tests of base/calendar.c, against libc. */
#include "base/calendar.h"

#include <time.h>

#include "tap.h"

static bool agrees(int64_t seconds)
{
    struct calendar it = calendar_of(seconds);
    time_t when = (time_t)seconds;
    struct tm tm;

    gmtime_r(&when, &tm);
    return it.year == tm.tm_year + 1900LL && it.month == tm.tm_mon + 1 && it.day == tm.tm_mday &&
           it.hour == tm.tm_hour && it.minute == tm.tm_min && it.second == tm.tm_sec &&
           calendar_seconds(&it) == seconds;
}

TEST(each_day_of_a_thousand_years)
{
    int64_t wrong = 0;

    for (int64_t day = -200000; day < 200000; day++) {
        if (!agrees(day * 86400) || !agrees(day * 86400 + 86399))
            wrong++;
    }
    tap_eq_int(wrong, 0);
}

TEST(each_second_of_a_day)
{
    int64_t wrong = 0;

    for (int64_t second = 951782400; second < 951782400 + 86400; second++)
        wrong += !agrees(second); /* 2000-02-29 */
    tap_eq_int(wrong, 0);
}

TEST(ends)
{
    struct calendar it = calendar_of(0);

    tap_eq_int(it.year, 1970);
    tap_eq_int(it.month, 1);
    tap_eq_int(it.day, 1);
    tap_ok(agrees(-1));
    tap_ok(agrees(-62167219200)); /* the year 0 */
    tap_ok(agrees(253402300799)); /* the last second of 9999 */
    tap_ok(agrees(INT64_MAX / 1000000000));
    tap_ok(agrees(INT64_MIN / 1000000000));
}

TAP_MAIN()
