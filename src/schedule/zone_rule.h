/* SPDX-License-Identifier: MIT */
/* zone_rule.h - what does a zone do after its last recorded change?
 *
 * The last line of a zone file: a POSIX TZ string such as
 *
 *     CET-1CEST,M3.5.0,M10.5.0/3
 *
 * with times from -167 to 167 hours, as RFC 8536 extends it. The calendar repeats every
 * 400 years, and so does a rule.
 */
#ifndef TOCSIN_SCHEDULE_ZONE_RULE_H
#define TOCSIN_SCHEDULE_ZONE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "schedule/zone.h"

enum zone_day_kind {
    ZONE_DAY_OF_365,  /* Jn: 1 to 365, the leap day is never counted */
    ZONE_DAY_OF_YEAR, /* n: 0 to 365 */
    ZONE_DAY_OF_MONTH /* Mm.w.d: weekday d of week w, 5 being the last, in month m */
};

struct zone_day {
    enum zone_day_kind kind;
    int32_t day; /* of the year, or the weekday */
    int32_t week;
    int32_t month;
    int32_t time_s; /* after midnight; may be negative or past the day */
};

struct zone_rule {
    int32_t standard_s; /* offsets from UTC, positive to the east */
    int32_t summer_s;
    bool has_summer;
    struct zone_day summer_starts;
    struct zone_day summer_ends;
};

enum tocsin_status zone_rule_parse(const char *text, size_t length, struct zone_rule *ret_rule,
                                   struct tocsin_why *ret_why);

struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t at_s);

#endif
