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
    assert(count >= 28);
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

/* What of its span is to be searched, from at_s on, as local time. */
struct stretch {
    int64_t from_s;
    int64_t until_s;
    bool shifted; /* a match in the gap before the span is taken at its start, which is at_s */
};

static struct stretch stretch_of(const struct search *search, const struct zone_span *span,
                                 int64_t at_s)
{
    int64_t local_s;
    int64_t end_s = span->end_s < search->end_s ? span->end_s : search->end_s;
    struct stretch stretch = {at_s + span->offset_s, end_s + span->offset_s, false};
    if (span->start_s >= ZONE_FIRST_S) {
        int64_t seam_s = span->start_s + zone_offset_at(search->zone, span->start_s - 1);
        int64_t gap_s = span->start_s + span->offset_s; /* its end */
        stretch.shifted = at_s == span->start_s && search->shift &&
                          next_local(search->cron, seam_s, gap_s, &local_s);
        if (search->first_of_two && stretch.from_s < seam_s)
            stretch.from_s = seam_s;
    }
    if (search->last_of_two && span->end_s < CIVIL_END_S) {
        int64_t seam_s = span->end_s + zone_offset_at(search->zone, span->end_s);
        if (stretch.until_s > seam_s)
            stretch.until_s = seam_s;
    }
    return stretch;
}

/* The first match at or after at_s inside of its span. */
static bool next_in_span(const struct search *search, const struct zone_span *span, int64_t at_s,
                         int64_t *ret_at_s)
{
    int64_t local_s;
    struct stretch stretch = stretch_of(search, span, at_s);
    if (stretch.shifted) {
        *ret_at_s = at_s;
        return true;
    }
    if (!next_local(search->cron, stretch.from_s, stretch.until_s, &local_s))
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

static uint64_t bits_below(uint64_t mask, int32_t number)
{
    return (uint64_t)__builtin_popcountll(mask & ((UINT64_C(1) << number) - 1));
}

/* How many matching times of day come before this one. */
static uint64_t times_before(const struct cron *cron, const struct civil *civil)
{
    uint64_t seconds = (uint64_t)__builtin_popcountll(cron->seconds);
    uint64_t minutes = (uint64_t)__builtin_popcountll(cron->minutes);
    uint64_t count = bits_below(cron->hours, civil->hour) * minutes * seconds;
    if ((cron->hours & bit(civil->hour)) == 0)
        return count;
    count += bits_below(cron->minutes, civil->minute) * seconds;
    if ((cron->minutes >> civil->minute & 1) != 0)
        count += bits_below(cron->seconds, civil->second);
    return count;
}

static uint32_t matching_days_of(const struct cron *cron, int32_t year, int32_t month)
{
    return cron->months & bit(month) ? matching_days(cron, year, month) : 0;
}

/* Matching local times at or after from_s and before until_s: whole days by the month, less
 * what the first day has before from_s, and what the last has before until_s. */
static uint64_t count_local(const struct cron *cron, int64_t from_s, int64_t until_s)
{
    if (from_s >= until_s)
        return 0;
    struct civil from = civil_of(from_s);
    struct civil until = civil_of(until_s);
    uint64_t days = 0;
    uint32_t mask = 0;
    int32_t year = from.year;
    int32_t month = from.month;
    for (bool last = false; !last;) {
        last = year == until.year && month == until.month;
        mask = matching_days_of(cron, year, month);
        uint32_t counted = last ? mask & (bit(until.day) - 1) : mask;
        if (year == from.year && month == from.month)
            counted &= ~(bit(from.day) - 1);
        days += (uint64_t)__builtin_popcount(counted);
        year += month == 12;
        month = month % 12 + 1;
    }
    uint64_t a_day = (uint64_t)__builtin_popcountll(cron->seconds) *
                     (uint64_t)__builtin_popcountll(cron->minutes) *
                     (uint64_t)__builtin_popcount(cron->hours);
    uint64_t count = days * a_day;
    if (mask & bit(until.day))
        count += times_before(cron, &until);
    if (matching_days_of(cron, from.year, from.month) & bit(from.day))
        count -= times_before(cron, &from);
    return count;
}

uint64_t cron_count(const struct cron *cron, const struct zone *zone, struct cron_policy policy,
                    int64_t after_ms, int64_t until_ms)
{
    struct search search = search_of(cron, zone, policy);
    int64_t at_s = after_ms / 1000 - (after_ms % 1000 < 0) + 1;
    int64_t end_s = until_ms / 1000 - (until_ms % 1000 < 0) + 1;
    if (at_s < CIVIL_FIRST_S)
        at_s = CIVIL_FIRST_S;
    search.end_s = end_s < CIVIL_END_S ? end_s : CIVIL_END_S;
    uint64_t count = 0;
    while (at_s < search.end_s) {
        int64_t local_s;
        struct zone_span span = zone_span_at(zone, at_s);
        struct stretch stretch = stretch_of(&search, &span, at_s);
        count += count_local(cron, stretch.from_s, stretch.until_s);
        /* What is shifted to the end of the gap and a match there are one. */
        if (stretch.shifted && !next_local(cron, stretch.from_s, stretch.from_s + 1, &local_s))
            count++;
        at_s = span.end_s;
    }
    return count;
}

/* The least distance of two bits that are neighbours; 0 when there is but one. */
static int32_t least_step(uint64_t mask)
{
    int32_t least = 0;
    int32_t here = next_bit(mask, 0);
    for (int32_t next = next_bit(mask, here + 1); next >= 0; next = next_bit(mask, here + 1)) {
        if (least == 0 || next - here < least)
            least = next - here;
        here = next;
    }
    return least;
}

/* From the first bit to the last. */
static int32_t extent(uint64_t mask)
{
    return 63 - __builtin_clzll(mask) - __builtin_ctzll(mask);
}

/* Two neighbours differ in the second only, or in the minute and then the second falls from
 * its last value to its first at worst, and so on up to the day. */
int64_t cron_spacing_ms(const struct cron *cron)
{
    static const int64_t units[] = {1, 60, 3600, CIVIL_DAY_S};
    const uint64_t masks[] = {cron->seconds, cron->minutes, cron->hours};
    int64_t least_s = CIVIL_DAY_S;
    int64_t back_s = 0;
    for (int i = 0; i < 4; i++) {
        int64_t step = i < 3 ? least_step(masks[i]) : 1;
        if (step != 0 && step * units[i] - back_s < least_s)
            least_s = step * units[i] - back_s;
        if (i < 3)
            back_s += extent(masks[i]) * units[i];
    }
    return least_s * 1000;
}
