/* SPDX-License-Identifier: MIT */
#include "schedule/civil.h"

#include <assert.h>

/* Years are counted from March here, so that the leap day is the last of its year; an
 * era is the 400 years after which the calendar repeats. */
enum { ERA_YEARS = 400, ERA_DAYS = 146097, EPOCH_DAYS = 719468 /* 0000-03-01 to 1970-01-01 */ };

static int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

bool civil_leap_year(int32_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int32_t civil_days_in_month(int32_t year, int32_t month)
{
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    assert(month >= 1 && month <= 12);
    return month == 2 && civil_leap_year(year) ? 29 : days[month - 1];
}

int64_t civil_days(int32_t year, int32_t month, int32_t day)
{
    int64_t march_year = year - (month <= 2);
    int64_t era = floor_div(march_year, ERA_YEARS);
    int64_t year_of_era = march_year - era * ERA_YEARS;
    int64_t march_month = (month + 9) % 12;
    int64_t day_of_year = (153 * march_month + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * ERA_DAYS + day_of_era - EPOCH_DAYS;
}

int32_t civil_weekday(int64_t days)
{
    int64_t weekday = (days + 4) % 7; /* the epoch was a Thursday */
    return (int32_t)(weekday < 0 ? weekday + 7 : weekday);
}

int64_t civil_seconds(const struct civil *civil)
{
    return civil_days(civil->year, civil->month, civil->day) * CIVIL_DAY_S + civil->hour * 3600 +
           civil->minute * 60 + civil->second;
}

struct civil civil_of(int64_t seconds)
{
    int64_t days = floor_div(seconds, CIVIL_DAY_S);
    int32_t rest = (int32_t)(seconds - days * CIVIL_DAY_S);
    int64_t shifted = days + EPOCH_DAYS;
    int64_t era = floor_div(shifted, ERA_DAYS);
    int64_t day_of_era = shifted - era * ERA_DAYS;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int32_t march_month = (int32_t)((5 * day_of_year + 2) / 153);
    int32_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    return (struct civil){
        .year = (int32_t)(era * ERA_YEARS + year_of_era) + (month <= 2),
        .month = month,
        .day = (int32_t)(day_of_year - (153 * march_month + 2) / 5) + 1,
        .hour = rest / 3600,
        .minute = rest / 60 % 60,
        .second = rest % 60,
    };
}
