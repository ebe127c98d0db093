/* SPDX-License-Identifier: MIT */
/* zone_inside.h - what is a zone made of? For the files of this folder that make one. */
#ifndef TOCSIN_SCHEDULE_ZONE_INSIDE_H
#define TOCSIN_SCHEDULE_ZONE_INSIDE_H

#include "schedule/zone.h"
#include "schedule/zone_rule.h"

struct zone_change {
    int64_t at_s;
    int32_t offset_s;
};

struct zone {
    char name[ZONE_NAME_MAX + 1];
    bool has_rule;
    struct zone_rule rule;
    int64_t rule_from_s;    /* before this the changes count */
    int32_t first_offset_s; /* before the first change */
    uint32_t count;
    struct zone_change changes[]; /* ascending, each to another offset */
};

/* Room for so many changes; NULL when there is no memory. The name must be valid. */
struct zone *zone_allocate(const char *name, size_t changes);
/* False unless every span is longer than the jumps at its ends. */
bool zone_spans_are_long(const struct zone *zone);

#endif
