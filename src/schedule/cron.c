/* SPDX-License-Identifier: MIT */
/* The search goes from span to span of the zone: inside of one, local time runs evenly, and
 * the next match is found field by field. Gaps and overlaps are at the seams only:
 *
 *     gap      span.start + offset before .. span.start + offset   is no local time
 *     overlap  span.start + offset .. span.start + offset before   was there already
 */
#include "schedule/cron.h"

#include <assert.h>

#include "schedule/civil.h"
#include "schedule/reason.h"

enum { SATURDAY = 6, SUNDAY = 0 };

static uint32_t bit(int32_t number)
{
    return UINT32_C(1) << number;
}

/* The number of the lowest bit at or above from; -1 when there is none. */
static int32_t next_bit(uint64_t mask, int32_t from)
{
    if (from > 63)
        return -1;
    mask &= UINT64_MAX << from;
    return mask == 0 ? -1 : __builtin_ctzll(mask);
}

/* The weekday (Monday to Friday) nearest to a day, without leaving the month. */
static int32_t nearest_weekday(int32_t day, int32_t weekday, int32_t days_in_month)
{
    if (weekday == SATURDAY)
        return day == 1 ? 3 : day - 1;
    if (weekday == SUNDAY)
        return day == days_in_month ? day - 2 : day + 1;
    return day;
}

/* A bit for each day of the month that matches. */
static uint32_t matching_days(const struct cron *cron, int32_t year, int32_t month)
{
    int32_t count = civil_days_in_month(year, month);
    int32_t first = civil_weekday(civil_days(year, month, 1));
    uint32_t by_day = cron->days;
    uint32_t by_weekday = 0;
    for (int32_t day = 1; day <= count; day++) {
        int32_t weekday = (first + day - 1) % 7;
        if (cron->nearest_days & bit(day))
            by_day |= bit(nearest_weekday(day, weekday, count));
        uint32_t nth = bit((day - 1) / 7) | (day + 7 > count ? (uint32_t)CRON_LAST : 0);
        if (cron->weekdays[weekday] & nth)
            by_weekday |= bit(day);
    }
    if (cron->last_day)
        by_day |= bit(count);
    if (cron->last_weekday)
        by_day |= bit(nearest_weekday(count, (first + count - 1) % 7, count));
    uint32_t in_month = (bit(count) - 1) << 1;
    bool both = cron->any_day || cron->any_weekday;
    return in_month & (both ? by_day & by_weekday : by_day | by_weekday);
}

/* The first matching time of day at or after this one; false when the day has none left. */
static bool next_time(const struct cron *cron, struct civil *civil)
{
    int32_t second = next_bit(cron->seconds, civil->second);
    int32_t minute = next_bit(cron->minutes, civil->minute + (second < 0));
    int32_t hour = next_bit(cron->hours, civil->hour + (minute < 0));
    if (hour < 0)
        return false;
    if (hour != civil->hour)
        minute = next_bit(cron->minutes, 0);
    if (hour != civil->hour || minute != civil->minute)
        second = next_bit(cron->seconds, 0);
    civil->hour = hour;
    civil->minute = minute;
    civil->second = second;
    return true;
}

static void to_midnight(struct civil *civil)
{
    civil->hour = civil->minute = civil->second = 0;
}

/* In the month of civil, at or after it. */
static bool next_in_month(const struct cron *cron, struct civil *civil)
{
    uint32_t days = matching_days(cron, civil->year, civil->month);
    while (civil->day <= 31) {
        int32_t day = next_bit(days, civil->day);
        if (day < 0)
            return false;
        if (day != civil->day)
            to_midnight(civil);
        civil->day = day;
        if (next_time(cron, civil))
            return true;
        to_midnight(civil);
        civil->day++;
    }
    return false;
}

/* The first matching local time at or after from_s and before until_s. */
static bool next_local(const struct cron *cron, int64_t from_s, int64_t until_s,
                       int64_t *ret_local_s)
{
    if (from_s >= until_s)
        return false;
    struct civil civil = civil_of(from_s);
    for (;;) {
        if (cron->months & bit(civil.month) && next_in_month(cron, &civil)) {
            int64_t local_s = civil_seconds(&civil);
            if (local_s >= until_s)
                return false;
            *ret_local_s = local_s;
            return true;
        }
        to_midnight(&civil);
        civil.day = 1;
        civil.year += civil.month == 12;
        civil.month = civil.month % 12 + 1;
        if (civil_seconds(&civil) >= until_s)
            return false;
    }
}

struct search {
    const struct cron *cron;
    const struct zone *zone;
    bool shift;
    bool first_of_two;
    bool last_of_two;
    int64_t end_s; /* not to be reached */
};

/* The first match at or after at_s inside of its span. */
static bool next_in_span(const struct search *search, const struct zone_span *span, int64_t at_s,
                         int64_t *ret_at_s)
{
    int64_t local_s;
    int64_t from_s = at_s + span->offset_s;
    int64_t end_s = span->end_s < search->end_s ? span->end_s : search->end_s;
    int64_t until_s = end_s + span->offset_s;
    if (span->start_s >= ZONE_FIRST_S) {
        int64_t seam_s = span->start_s + zone_offset_at(search->zone, span->start_s - 1);
        int64_t gap_s = span->start_s + span->offset_s; /* its end */
        if (at_s == span->start_s && search->shift &&
            next_local(search->cron, seam_s, gap_s, &local_s)) {
            *ret_at_s = at_s;
            return true;
        }
        if (search->first_of_two && from_s < seam_s)
            from_s = seam_s;
    }
    if (search->last_of_two && span->end_s < search->end_s) {
        int64_t seam_s = span->end_s + zone_offset_at(search->zone, span->end_s);
        if (until_s > seam_s)
            until_s = seam_s;
    }
    if (!next_local(search->cron, from_s, until_s, &local_s))
        return false;
    *ret_at_s = local_s - span->offset_s;
    return true;
}

static struct search search_of(const struct cron *cron, const struct zone *zone,
                               struct cron_policy policy)
{
    enum cron_gap gap = policy.gap;
    enum cron_overlap overlap = policy.overlap;
    if (gap == CRON_GAP_USUAL)
        gap = cron->one_time ? CRON_GAP_SHIFT : CRON_GAP_SKIP;
    if (overlap == CRON_OVERLAP_USUAL)
        overlap = cron->one_time ? CRON_OVERLAP_FIRST : CRON_OVERLAP_BOTH;
    return (struct search){.cron = cron,
                           .zone = zone,
                           .shift = gap == CRON_GAP_SHIFT,
                           .first_of_two = overlap == CRON_OVERLAP_FIRST,
                           .last_of_two = overlap == CRON_OVERLAP_LAST};
}

enum tocsin_status cron_next(const struct cron *cron, const struct zone *zone,
                             struct cron_policy policy, int64_t after_ms, int64_t *ret_at_ms,
                             struct tocsin_why *ret_why)
{
    struct search search = search_of(cron, zone, policy);
    int64_t at_s = after_ms / 1000 - (after_ms % 1000 < 0) + 1;
    if (at_s < CIVIL_FIRST_S)
        at_s = CIVIL_FIRST_S;
    search.end_s = CIVIL_END_S;
    if (at_s < CIVIL_END_S && CIVIL_END_S - at_s > CRON_YEARS_MAX * 366 * CIVIL_DAY_S)
        search.end_s = at_s + CRON_YEARS_MAX * 366 * CIVIL_DAY_S;
    while (at_s < search.end_s) {
        struct zone_span span = zone_span_at(zone, at_s);
        int64_t found_s;
        if (next_in_span(&search, &span, at_s, &found_s)) {
            *ret_at_ms = found_s * 1000;
            return TOCSIN_OK;
        }
        at_s = span.end_s;
    }
    if (search.end_s == CIVIL_END_S)
        return reason_say(ret_why, TOCSIN_NONE,
                          "cron: it does not match again before the year 10000");
    return reason_say(ret_why, TOCSIN_NONE,
                      "cron: it matches no time of the next %d years in the time zone %s",
                      CRON_YEARS_MAX, zone_name(zone));
}
