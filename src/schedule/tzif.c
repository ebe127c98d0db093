/* SPDX-License-Identifier: MIT */
/* A TZif file (RFC 8536), numbers with the highest byte first:
 *
 *     0   4  "TZif"
 *     4   1  version, '2' or later
 *     5  15  unused
 *    20   4  count of UT/local marks      32  4  count of changes
 *    24   4  count of standard/wall marks 36  4  count of types, 1 to 256
 *    28   4  count of leap seconds        40  4  bytes of names
 *    44      the data for 32-bit readers: passed over
 *            a second header, and then, with 64-bit times:
 *            8 per change     when
 *            1 per change     its type
 *            6 per type       offset (4), is summer (1), place of its name (1)
 *            names, leap seconds (12 each), marks (1 each)
 *            '\n', the rule for what follows, '\n'
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/reason.h"
#include "schedule/zone_inside.h"

enum { HEADER_BYTES = 44, TYPE_BYTES = 6, TYPES_MAX = 256 };

struct counts {
    uint32_t ut_marks;
    uint32_t standard_marks;
    uint32_t leaps;
    uint32_t changes;
    uint32_t types;
    uint32_t names;
};

struct file {
    const char *name;
    const uint8_t *bytes;
    size_t size;
    size_t at;
    struct tocsin_why *why;
};

static enum tocsin_status refuse(const struct file *file, const char *problem)
{
    return reason_refuse(file->why, "the file of time zone '%s': %s, at byte %zu", file->name,
                         problem, file->at);
}

static uint32_t word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int64_t long_word(const uint8_t *bytes)
{
    return (int64_t)((uint64_t)word(bytes) << 32 | word(bytes + 4));
}

static uint64_t data_bytes(const struct counts *counts, uint64_t time_bytes)
{
    return counts->changes * (time_bytes + 1) + (uint64_t)counts->types * TYPE_BYTES +
           counts->names + counts->leaps * (time_bytes + 4) + counts->standard_marks +
           counts->ut_marks;
}

/* Reads a header, and sees to it that the data it announces are there. */
static enum tocsin_status read_header(struct file *file, uint64_t time_bytes,
                                      struct counts *ret_counts)
{
    const uint8_t *at = file->bytes + file->at;
    if (file->size - file->at < HEADER_BYTES || memcmp(at, "TZif", 4) != 0)
        return refuse(file, "it has no TZif header");
    if (at[4] < '2')
        return refuse(file, "it is of version 1, 2 or later is needed");
    struct counts counts = {word(at + 20), word(at + 24), word(at + 28),
                            word(at + 32), word(at + 36), word(at + 40)};
    if (data_bytes(&counts, time_bytes) > file->size - file->at - HEADER_BYTES)
        return refuse(file, "it ends too early");
    file->at += HEADER_BYTES;
    *ret_counts = counts;
    return TOCSIN_OK;
}

static enum tocsin_status check_counts(const struct file *file, const struct counts *counts)
{
    if (counts->leaps != 0)
        return refuse(file, "it counts leap seconds, which epoch time does not have");
    if (counts->types == 0 || counts->types > TYPES_MAX)
        return refuse(file, "its count of types is not 1 to 256");
    if (counts->names == 0)
        return refuse(file, "it has no names");
    if (counts->changes > ZONE_CHANGES_MAX)
        return refuse(file, "it has more than 10000 changes");
    if ((counts->ut_marks != 0 && counts->ut_marks != counts->types) ||
        (counts->standard_marks != 0 && counts->standard_marks != counts->types))
        return refuse(file, "its marks are not one per type");
    return TOCSIN_OK;
}

static enum tocsin_status check_types(const struct file *file, const struct counts *counts,
                                      const uint8_t *types)
{
    for (uint32_t i = 0; i < counts->types; i++) {
        const uint8_t *type = types + (size_t)i * TYPE_BYTES;
        int32_t offset_s = (int32_t)word(type);
        if (offset_s < -ZONE_OFFSET_MAX_S || offset_s > ZONE_OFFSET_MAX_S)
            return refuse(file, "an offset of more than 26 hours");
        if (type[4] > 1 || type[5] >= counts->names)
            return refuse(file, "a type that is not valid");
    }
    return TOCSIN_OK;
}

static enum tocsin_status read_changes(struct file *file, const struct counts *counts,
                                       struct zone *zone)
{
    const uint8_t *times = file->bytes + file->at;
    const uint8_t *indexes = times + (size_t)counts->changes * 8;
    const uint8_t *types = indexes + counts->changes;
    enum tocsin_status status = check_types(file, counts, types);
    if (status != TOCSIN_OK)
        return status;
    int32_t offset_s = (int32_t)word(types);
    zone->first_offset_s = offset_s;
    for (uint32_t i = 0; i < counts->changes; i++) {
        int64_t at_s = long_word(times + (size_t)i * 8);
        if (indexes[i] >= counts->types)
            return refuse(file, "a change to a type that is not there");
        if (i > 0 && at_s <= zone->rule_from_s)
            return refuse(file, "its changes are not in order");
        zone->rule_from_s = at_s;
        int32_t next_s = (int32_t)word(types + (size_t)indexes[i] * TYPE_BYTES);
        if (next_s != offset_s) /* else only a name has changed */
            zone->changes[zone->count++] = (struct zone_change){at_s, next_s};
        offset_s = next_s;
    }
    return TOCSIN_OK;
}

static enum tocsin_status read_rule(struct file *file, struct zone *zone)
{
    const uint8_t *at = file->bytes + file->at;
    size_t left = file->size - file->at;
    if (left < 2 || at[0] != '\n' || memchr(at + 1, '\n', left - 1) != at + left - 1)
        return refuse(file, "its last line is not a rule");
    if (left == 2)
        return TOCSIN_OK;
    zone->has_rule = true;
    return zone_rule_parse((const char *)at + 1, left - 2, &zone->rule, file->why);
}

static enum tocsin_status read_zone(struct file *file, const struct counts *counts,
                                    struct zone *zone)
{
    enum tocsin_status status = read_changes(file, counts, zone);
    if (status != TOCSIN_OK)
        return status;
    file->at += data_bytes(counts, 8);
    status = read_rule(file, zone);
    if (status == TOCSIN_OK && !zone_spans_are_long(zone))
        status = refuse(file, "two changes come too soon after one another");
    return status;
}

enum tocsin_status zone_create_from(const char *name, const uint8_t *bytes, size_t size_bytes,
                                    struct zone **ret_zone, struct tocsin_why *ret_why)
{
    assert(strlen(name) <= ZONE_NAME_MAX);
    struct file file = {name, bytes, size_bytes, 0, ret_why};
    struct counts counts = {0};
    enum tocsin_status status = read_header(&file, 4, &counts);
    if (status != TOCSIN_OK)
        return status;
    file.at += data_bytes(&counts, 4);
    status = read_header(&file, 8, &counts);
    if (status == TOCSIN_OK)
        status = check_counts(&file, &counts);
    if (status != TOCSIN_OK)
        return status;
    struct zone *zone = zone_allocate(name, counts.changes);
    if (zone == NULL)
        return reason_say(ret_why, TOCSIN_NO_MEMORY, "time zone '%s': no memory for it", name);
    status = read_zone(&file, &counts, zone);
    if (status == TOCSIN_OK)
        *ret_zone = zone;
    else
        zone_destroy(zone);
    return status;
}
