/* SPDX-License-Identifier: MIT */
#include "wheel/geometry.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct tocsin_wheel_level fine_levels[] = {
    {UINT64_C(1) << 0, 256},  {UINT64_C(1) << 8, 256},  {UINT64_C(1) << 16, 256},
    {UINT64_C(1) << 24, 256}, {UINT64_C(1) << 32, 256}, {UINT64_C(1) << 40, 256},
    {UINT64_C(1) << 48, 256}, {UINT64_C(1) << 56, 256},
};
static const struct tocsin_wheel_level default_levels[] = {
    {10, 100}, {SECOND, 60}, {MINUTE, 60}, {HOUR, 24}, {DAY, 30},
};
static const struct tocsin_wheel_level game_levels[] = {{10, 100}, {100, 100}, {SECOND, 300}};
static const struct tocsin_wheel_level order_levels[] = {
    {SECOND, 60},
    {MINUTE, 60},
    {HOUR, 24},
    {DAY, 30},
};

static const struct {
    const char *name;
    const struct tocsin_wheel_level *levels;
    size_t count;
} presets[] = {
    {"fine", fine_levels, sizeof fine_levels / sizeof fine_levels[0]},
    {"default", default_levels, sizeof default_levels / sizeof default_levels[0]},
    {"game", game_levels, sizeof game_levels / sizeof game_levels[0]},
    {"order", order_levels, sizeof order_levels / sizeof order_levels[0]},
};

enum { PRESET_COUNT = sizeof presets / sizeof presets[0] };

const char *tocsin_wheel_preset_name(size_t number)
{
    return number < PRESET_COUNT ? presets[number].name : NULL;
}

const struct tocsin_wheel_level *tocsin_wheel_preset(const char *name, size_t *ret_count)
{
    for (size_t i = 0; i < PRESET_COUNT; i++) {
        if (strcmp(presets[i].name, name) == 0) {
            *ret_count = presets[i].count;
            return presets[i].levels;
        }
    }
    return NULL;
}

/* Range of a level, or the end of time where that is nearer. */
static uint64_t level_range(const struct tocsin_wheel_level *level)
{
    uint64_t range;
    return __builtin_mul_overflow(level->tick, level->slots, &range) ? UINT64_MAX : range;
}

/* Writes why level i cannot stand on level i - 1; false when it can. */
static bool level_refused(const struct tocsin_wheel_level *levels, size_t i, struct tocsin_why *why)
{
    const struct tocsin_wheel_level *level = &levels[i];
    if (level->tick == 0) {
        (void)snprintf(why->text, sizeof why->text,
                       "level %zu: its tick is 0, at least 1 is needed", i);
        return true;
    }
    if (level->slots == 0 || level->slots > TOCSIN_WHEEL_SLOTS_MAX) {
        (void)snprintf(why->text, sizeof why->text,
                       "level %zu: %" PRIu32 " slots, allowed are 1 to %d", i, level->slots,
                       TOCSIN_WHEEL_SLOTS_MAX);
        return true;
    }
    if (i == 0)
        return false;
    const struct tocsin_wheel_level *below = &levels[i - 1];
    if (level->tick % below->tick != 0) {
        (void)snprintf(why->text, sizeof why->text,
                       "level %zu: its tick %" PRIu64
                       " is not a multiple of the tick below, %" PRIu64,
                       i, level->tick, below->tick);
        return true;
    }
    if (level->tick > level_range(below)) {
        (void)snprintf(why->text, sizeof why->text,
                       "level %zu: its tick %" PRIu64
                       " is more than the range of the level below, %" PRIu64 " (%" PRIu64
                       " x %" PRIu32 ")",
                       i, level->tick, level_range(below), below->tick, below->slots);
        return true;
    }
    return false;
}

enum tocsin_status tocsin_wheel_valid(const struct tocsin_wheel_level *levels, size_t count,
                                      struct tocsin_why *ret_why)
{
    struct tocsin_why why;
    if (levels == NULL || count == 0 || count > TOCSIN_WHEEL_LEVELS_MAX) {
        (void)snprintf(why.text, sizeof why.text, "%zu levels%s, allowed are 1 to %d", count,
                       levels == NULL ? " at NULL" : "", TOCSIN_WHEEL_LEVELS_MAX);
        goto refused;
    }
    for (size_t i = 0; i < count; i++) {
        if (level_refused(levels, i, &why))
            goto refused;
    }
    return TOCSIN_OK;

refused:
    if (ret_why != NULL)
        *ret_why = why;
    return TOCSIN_INVALID;
}

void geometry_complete(struct geometry *geometry, const struct tocsin_wheel_level *levels,
                       size_t count)
{
    assert(count > 0 && count <= TOCSIN_WHEEL_LEVELS_MAX);
    uint64_t base = levels[0].tick;
    uint64_t last = UINT64_MAX / base + (UINT64_MAX % base != 0);

    memset(geometry, 0, sizeof *geometry);
    geometry->base = base;
    geometry->asked = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        geometry->levels[i].tick = levels[i].tick / base;
        geometry->levels[i].slots = levels[i].slots;
    }
    while (last / geometry->levels[count - 1].tick >= geometry->levels[count - 1].slots) {
        assert(count < GEOMETRY_LEVELS_MAX);
        /* Cannot overflow: the product is at most last. */
        geometry->levels[count].tick =
            geometry->levels[count - 1].tick * geometry->levels[count - 1].slots;
        geometry->levels[count].slots = GEOMETRY_OVERFLOW_SLOTS;
        count++;
    }
    geometry->count = (uint32_t)count;
}
