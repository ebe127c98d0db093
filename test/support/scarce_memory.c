/* SPDX-License-Identifier: MIT */
#include "support/scarce_memory.h"

#include <stddef.h>

struct scarcity scarce;

void *real_malloc(size_t size) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t size) __asm__("__real_calloc");
void *real_realloc(void *at, size_t size) __asm__("__real_realloc");
void *scarce_malloc(size_t size) __asm__("__wrap_malloc");
void *scarce_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
void *scarce_realloc(void *at, size_t size) __asm__("__wrap_realloc");

static bool refuse(void)
{
    if (!scarce.on)
        return false;
    scarce.asked++;
    bool refused = scarce.first != 0 && scarce.asked - scarce.first < scarce.count;
    scarce.refused += refused;
    return refused;
}

void *scarce_malloc(size_t size)
{
    return refuse() ? NULL : real_malloc(size);
}

void *scarce_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : real_calloc(count, size);
}

void *scarce_realloc(void *at, size_t size)
{
    return refuse() ? NULL : real_realloc(at, size);
}

bool scarce_off(void)
{
    bool was = scarce.on;
    scarce.on = false;
    return was;
}

int64_t scarce_settle(struct sim_backend *sim, struct engine *engine,
                      const struct clock_manual *clock)
{
    struct elapsed_time wake;
    do {
        scarce.on = true;
        engine_turn(engine, &wake);
        scarce.on = false;
        if (sim->read_count > 0) {
            sim_read_run(sim, 0);
            scarce.on = true;
            sim_read_done(sim, engine, 0);
            scarce.on = false;
        }
        if (sim->batch != NULL) {
            sim_store(sim);
            scarce.on = true;
            sim_commit(sim, engine, TOCSIN_OK);
            scarce.on = false;
        }
    } while (sim->batch != NULL || sim->read_count > 0 || !engine_idle(engine) ||
             wake.ns <= clock->elapsed.ns);
    return wake.ns;
}
