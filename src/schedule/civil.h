/* SPDX-License-Identifier: MIT */
/* civil.h - which day is it in the calendar?
 *
 * The Gregorian calendar for all years, with days counted from 1970-01-01 and seconds
 * from its midnight. No zone and no leap seconds: the same arithmetic serves UTC and
 * any local time.
 */
#ifndef TOCSIN_SCHEDULE_CIVIL_H
#define TOCSIN_SCHEDULE_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define CIVIL_DAY_S INT64_C(86400)
/* 0001-01-01T00:00:00 and the first second after 9999-12-31. */
#define CIVIL_FIRST_S INT64_C(-62135596800)
#define CIVIL_END_S INT64_C(253402300800)

struct civil {
    int32_t year; /* 1 to 9999 */
    int32_t month;
    int32_t day;
    int32_t hour;
    int32_t minute;
    int32_t second;
};

bool civil_leap_year(int32_t year);
int32_t civil_days_in_month(int32_t year, int32_t month);
/* Days since 1970-01-01 of a date of the years -1 to 10000. */
int64_t civil_days(int32_t year, int32_t month, int32_t day);
/* 0 is Sunday. */
int32_t civil_weekday(int64_t days);

int64_t civil_seconds(const struct civil *civil);
/* The seconds may be of the years -1 to 10000. */
struct civil civil_of(int64_t seconds);

#endif
