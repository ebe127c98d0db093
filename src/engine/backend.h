/* SPDX-License-Identifier: MIT */
/* backend.h - who does the disk's work for the engine?
 *
 * The engine never waits. It hands a batch over, and hears of its end later; it hands reads
 * over, and hears of theirs. A server has threads for that (threads.h); a simulator decides
 * for itself when, in which order, and whether at all.
 *
 * Order     one commit at a time. Reads may end in any order.
 */
#ifndef TOCSIN_ENGINE_BACKEND_H
#define TOCSIN_ENGINE_BACKEND_H

#include "engine/engine.h"

struct engine_backend {
    /* The batch stays good until engine_committed is called, on the engine's thread. */
    void (*commit)(void *arg, const struct store_batch *batch);
    /* Calls read->run anywhere, then engine_read_done on the engine's thread. */
    void (*read)(void *arg, struct engine_read *read);
    void *arg;
};

void engine_committed(struct engine *engine, enum tocsin_status status, const char *why);
void engine_read_done(struct engine *engine, struct engine_read *read);

#endif
