/* SPDX-License-Identifier: MIT */
/* What was read and is not what was written: told once, however often it is read. */

#include <stdlib.h>

#include "base/crc32c.h"
#include "engine/inside.h"

/* Revs stay far below: what is not of one record stands above them. */
#define NOT_OF_A_RECORD (UINT64_C(1) << 63)

bool damage_known(const struct engine *engine, uint64_t rev)
{
    for (size_t i = 0; i < engine->damage_count; i++) {
        if (engine->damages[i] == rev)
            return true;
    }
    return false;
}

/* False: there are too many. */
static bool remember(struct engine *engine, uint64_t what)
{
    if (engine->damages == NULL)
        engine->damages = malloc(ENGINE_DAMAGES_MAX * sizeof *engine->damages);
    if (engine->damages == NULL || engine->damage_count == ENGINE_DAMAGES_MAX)
        return false;
    engine->damages[engine->damage_count++] = what;
    return true;
}

static void tell(struct engine *engine, uint64_t what, struct engine_damage damage)
{
    if (damage_known(engine, what))
        return;
    if (!remember(engine, what))
        damage.why = NULL;
    engine->stats.damaged++;
    if (engine->on_damage != NULL)
        engine->on_damage(engine->on_damage_arg, &damage);
}

void damage_met(struct engine *engine, uint64_t rev, struct bytes key, const char *why)
{
    tell(engine, rev, (struct engine_damage){.rev = rev, .key = key, .why = why});
}

void damage_met_reading(struct engine *engine, const char *why)
{
    tell(engine, NOT_OF_A_RECORD | crc32c(0, why, strlen(why)), (struct engine_damage){.why = why});
}

void engine_on_damage(struct engine *engine,
                      void (*fn)(void *arg, const struct engine_damage *damage), void *arg)
{
    engine->on_damage = fn;
    engine->on_damage_arg = arg;
}
