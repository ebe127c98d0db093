/* SPDX-License-Identifier: MIT */
/* Any bytes as a zone file: refused with a reason, or a zone whose spans join without a hole and
 * whose two ways of asking agree. */
#include <assert.h>
#include <stdint.h>

#include "schedule/civil.h"
#include "schedule/zone.h"

static void check_at(const struct zone *zone, int64_t at_s)
{
    struct zone_span span = zone_span_at(zone, at_s);
    assert(span.start_s <= at_s && at_s < span.end_s);
    assert(span.offset_s >= -ZONE_OFFSET_MAX_S && span.offset_s <= ZONE_OFFSET_MAX_S);
    int64_t local_s = at_s + span.offset_s;
    if (local_s < CIVIL_FIRST_S || local_s >= CIVIL_END_S)
        return;
    int64_t instants[2] = {0, 0};
    int count = zone_instants(zone, local_s, instants);
    assert(count == 1 || count == 2);
    assert(instants[0] == at_s || (count == 2 && instants[1] == at_s));
    if (span.end_s < CIVIL_END_S)
        assert(zone_span_at(zone, span.end_s).start_s == span.end_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zone *zone;
    struct tocsin_why why = {""};
    if (zone_create_from("x", data, size, &zone, &why) != TOCSIN_OK) {
        assert(why.text[0] != '\0');
        return 0;
    }
    int64_t at_s = CIVIL_FIRST_S;
    for (int i = 0; i < 2000 && at_s < CIVIL_END_S; i++) {
        check_at(zone, at_s);
        struct zone_span span = zone_span_at(zone, at_s);
        if (span.end_s >= CIVIL_END_S)
            break;
        check_at(zone, span.end_s - 1);
        at_s = span.end_s;
    }
    zone_destroy(zone);
    return 0;
}
