/* SPDX-License-Identifier: MIT */
/* zone.h - what time is it there, and when is it that time there?
 *
 * An IANA time zone, read from the system's tzdata (TZif version 2 or later, RFC 8536)
 * with its rule for the future. "UTC" is built in and needs no file.
 *
 * Local time is written as seconds too: what a clock on the wall there shows, counted
 * as if it were UTC. A zone is a row of spans, each with one offset; between two spans
 * the clock jumps. Forward: a gap, local times that never are. Back: an overlap, local
 * times that are twice.
 *
 * Promise   hostile bytes are refused with a reason, or are a zone that answers. Each
 *           span of a zone is longer than the jumps at its ends (a file where that is
 *           not so is refused; no real one is like this), so that a local time has two
 *           instants at most.
 * Range     the years 0001 to 9999 and a day around them; beyond, the last offset stays.
 * Cost      a look-up is a binary search, or some sums for the future. Loading walks all
 *           spans once: well under a millisecond.
 * Memory    one block per zone, a few kilobytes.
 * Threads   a zone does not change: any number may read it.
 */
#ifndef TOCSIN_SCHEDULE_ZONE_H
#define TOCSIN_SCHEDULE_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#define ZONE_FOLDER "/usr/share/zoneinfo"
#define ZONE_FIRST_S (INT64_C(-62135596800) - 172800)
#define ZONE_END_S (INT64_C(253402300800) + 172800)

enum {
    ZONE_NAME_MAX = 63,
    ZONE_CHANGES_MAX = 10000,
    ZONE_FILE_MAX_BYTES = 256 * 1024,
    ZONE_OFFSET_MAX_S = 26 * 3600,
};

struct zone;

/* One offset, from start_s on and before end_s; INT64_MIN and INT64_MAX where there is no
 * end. Two neighbours may have the same offset. */
struct zone_span {
    int64_t start_s;
    int64_t end_s;
    int32_t offset_s; /* local time minus UTC */
};

/* folder NULL is the system's. INVALID: no such zone, not a name, or not a file we can
 * trust. */
enum tocsin_status zone_create(const char *folder, const char *name, size_t name_length,
                               struct zone **ret_zone, struct tocsin_why *ret_why);
/* From the bytes of a TZif file. */
enum tocsin_status zone_create_from(const char *name, const uint8_t *bytes, size_t size_bytes,
                                    struct zone **ret_zone, struct tocsin_why *ret_why);
void zone_destroy(struct zone *zone);

const char *zone_name(const struct zone *zone);

struct zone_span zone_span_at(const struct zone *zone, int64_t at_s);
int32_t zone_offset_at(const struct zone *zone, int64_t at_s);

/* How many instants show this local time: none, one or two, the earlier first. */
int zone_instants(const struct zone *zone, int64_t local_s, int64_t ret_at_s[2]);

#endif
