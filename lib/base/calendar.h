/*
 * Dates of UTC from Unix time and back, for any year of the Gregorian calendar
 * (also before it began). By hand: gmtime(3) reads time zone files, which need not
 * be there, and links a fifth of libc. Layer: base.
 */
#ifndef RANKINIT_BASE_CALENDAR_H
#define RANKINIT_BASE_CALENDAR_H

#include <stdint.h>

struct calendar {
    int64_t year;
    int month, day; /* from 1 */
    int hour, minute, second;
};

/* Splits seconds since 1970, which may be negative; leap seconds are unknown to Unix time. */
struct calendar calendar_of(int64_t unix_seconds);

/* The way back; a day or an hour too many runs over into the next. The month is 1 to 12. */
int64_t calendar_seconds(const struct calendar *calendar);

#endif
