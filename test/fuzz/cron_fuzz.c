/* SPDX-License-Identifier: MIT */
/* Any text as a cron expression: refused with a reason, or it answers with times that rise. The
 * first byte chooses the zone's rule and the policy, eight more the instant. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "schedule/civil.h"
#include "schedule/cron.h"

enum { HEAD_BYTES = 9, TIMES = 4 };

/* A TZif file of nothing but a rule. */
static struct zone *zone_of_rule(const char *rule)
{
    static const uint8_t head[] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
                                  "\0\0\0\0\0\0UTC\0";
    enum { PART = sizeof head - 1 };
    uint8_t bytes[2 * PART + 64];
    struct zone *zone = NULL;
    memcpy(bytes, head, PART);
    memcpy(bytes + PART, head, PART);
    int wrote = snprintf((char *)bytes + 2 * (size_t)PART, 64, "\n%s\n", rule);
    assert(wrote > 0 && wrote < 64);
    size_t size = 2 * (size_t)PART + (size_t)wrote;
    enum tocsin_status status = zone_create_from("x", bytes, size, &zone, NULL);
    assert(status == TOCSIN_OK);
    return zone;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const rules[] = {"UTC0", "CET-1CEST,M3.5.0,M10.5.0/3",
                                        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
                                        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0"};
    if (size < HEAD_BYTES)
        return 0;
    struct cron_policy policy = {(enum cron_gap)(data[0] / 4 % 3),
                                 (enum cron_overlap)(data[0] / 16 % 4)};
    int64_t at_ms;
    struct cron cron;
    struct tocsin_why why = {""};
    memcpy(&at_ms, data + 1, sizeof at_ms);
    at_ms >>= data[0] / 64 * 8;
    if (cron_parse((const char *)data + HEAD_BYTES, size - HEAD_BYTES, &cron, &why) != TOCSIN_OK) {
        assert(why.text[0] != '\0');
        return 0;
    }
    struct zone *zone = zone_of_rule(rules[data[0] % 4]);
    for (int i = 0; i < TIMES; i++) {
        int64_t next_ms;
        enum tocsin_status status = cron_next(&cron, zone, policy, at_ms, &next_ms, &why);
        assert(status == TOCSIN_OK || status == TOCSIN_NONE);
        if (status != TOCSIN_OK)
            break;
        assert(next_ms > at_ms && next_ms % 1000 == 0);
        assert(next_ms >= CIVIL_FIRST_S * 1000 && next_ms < CIVIL_END_S * 1000);
        at_ms = next_ms;
    }
    zone_destroy(zone);
    return 0;
}
