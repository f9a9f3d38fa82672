#include "base/calendar.h"

#define DAY_S      86400
#define ERA_DAYS   146097 /* 400 years: the calendar repeats itself */
#define EPOCH_DAYS 719468 /* from 0000-03-01, where an era begins, to 1970-01-01 */

/* Years begin in March here, so that the day that a leap year has more is their last. */

static int64_t floor_div(int64_t number, int64_t by)
{
    return number / by - (number % by < 0);
}

/* Days of a year before a month, counted from March: 0, 31, 61, 92, ... */
static int days_before(int month)
{
    return (153 * month + 2) / 5;
}

struct calendar calendar_of(int64_t unix_seconds)
{
    int64_t days = floor_div(unix_seconds, DAY_S);
    int of_day = (int)(unix_seconds - days * DAY_S);
    int64_t era = floor_div(days + EPOCH_DAYS, ERA_DAYS);
    int of_era = (int)(days + EPOCH_DAYS - era * ERA_DAYS);
    /* Less the leap days that were, all years have 365. */
    int year = (of_era - of_era / 1460 + of_era / 36524 - of_era / (ERA_DAYS - 1)) / 365;
    int of_year = of_era - (365 * year + year / 4 - year / 100);
    int month = (5 * of_year + 2) / 153;

    return (struct calendar){.year = year + era * 400 + (month >= 10),
                             .month = month < 10 ? month + 3 : month - 9,
                             .day = of_year - days_before(month) + 1,
                             .hour = of_day / 3600,
                             .minute = of_day / 60 % 60,
                             .second = of_day % 60};
}

int64_t calendar_seconds(const struct calendar *calendar)
{
    int month = (calendar->month + 9) % 12;
    int64_t years = calendar->year - (month >= 10);
    int64_t era = floor_div(years, 400), year = years - era * 400;
    int64_t days = era * ERA_DAYS + year * 365 + year / 4 - year / 100 + days_before(month) +
                   calendar->day - 1 - EPOCH_DAYS;

    return days * DAY_S + calendar->hour * 3600 + calendar->minute * 60 + calendar->second;
}
