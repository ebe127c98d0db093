/* SPDX-License-Identifier: MIT */
/* cron.h - when is "0 13 * * MON-FRI" next?
 *
 * Five fields (minute, hour, day of month, month, day of week) or six (a second first),
 * or @yearly @annually @monthly @weekly @daily @midnight @hourly. In a field:
 *
 *     *  ?  5  1-5  1-5/2  * /2  1,3,5    (without the space)
 *     JAN-DEC, SUN-SAT                    names; 0 and 7 are Sunday
 *     L  15W  LW  L,15W                   day of month: the last day; the weekday
 *                                         nearest the 15th within the month; the last
 *                                         weekday
 *     5L  5#L  5#2  MON-FRI#1             day of week: last Friday; second Friday
 *
 * Days      when neither day field is a bare * (or ?), a day that matches either is
 *           taken, as in classic cron.
 * Promise   cron_next answers with the first instant strictly after the one given. Going
 *           from answer to answer misses nothing and repeats nothing.
 * Cost      parsing is linear; cron_next usually looks at a month or two, and never
 *           further than CRON_YEARS_MAX years: a few milliseconds for what never happens.
 * Memory    none.
 * Clock     none; time is an argument.
 *
 * The reasons, and how this differs from others: docs/decisions/0005-cron.md.
 */
#ifndef TOCSIN_SCHEDULE_CRON_H
#define TOCSIN_SCHEDULE_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "schedule/zone.h"

enum {
    CRON_TEXT_MAX = 255,
    /* The calendar repeats every 400 years; the rest is for zones whose recorded changes
     * reach into the future. */
    CRON_YEARS_MAX = 500,
};

/* What the clock of a zone does to an expression twice a year. USUAL is what Vixie cron
 * and croner do: one time of day (a single second, minute and hour) is SHIFT and FIRST, so
 * that it runs once each day; anything else is SKIP and BOTH, so that it keeps its rhythm. */
enum cron_gap {
    CRON_GAP_USUAL,
    CRON_GAP_SHIFT, /* a local time that is not is taken at the end of the gap */
    CRON_GAP_SKIP,
};

enum cron_overlap {
    CRON_OVERLAP_USUAL,
    CRON_OVERLAP_FIRST,
    CRON_OVERLAP_LAST,
    CRON_OVERLAP_BOTH,
};

struct cron_policy {
    enum cron_gap gap;
    enum cron_overlap overlap;
};

/* A bit per value that matches. */
struct cron {
    uint64_t seconds;
    uint64_t minutes;
    uint32_t hours;
    uint32_t months;       /* bits 1 to 12 */
    uint32_t days;         /* bits 1 to 31 */
    uint32_t nearest_days; /* those with a W */
    uint8_t weekdays[7];   /* from Sunday: bits 0 to 4, first to fifth; CRON_LAST */
    bool last_day;
    bool last_weekday;
    bool any_day;
    bool any_weekday;
    bool one_time; /* of day */
};

enum { CRON_LAST = 1 << 5, CRON_EVERY = (1 << 6) - 1 };

enum tocsin_status cron_parse(const char *text, size_t length, struct cron *ret_cron,
                              struct tocsin_why *ret_why);

/* NONE when nothing matches within CRON_YEARS_MAX years or before the year 10000. An
 * after_ms before the year 1 counts as its beginning. */
enum tocsin_status cron_next(const struct cron *cron, const struct zone *zone,
                             struct cron_policy policy, int64_t after_ms, int64_t *ret_at_ms,
                             struct tocsin_why *ret_why);

/* How many answers cron_next has that are after after_ms and not after until_ms, without
 * going from one to the next. Cost: by the months between them, well under a microsecond
 * each. */
uint64_t cron_count(const struct cron *cron, const struct zone *zone, struct cron_policy policy,
                    int64_t after_ms, int64_t until_ms);

/* No two matches are nearer to each other than this, clock changes aside: at least a second,
 * at most a day. */
int64_t cron_spacing_ms(const struct cron *cron);

#endif
