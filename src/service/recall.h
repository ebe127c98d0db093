/* SPDX-License-Identifier: MIT */
/* recall.h - which records does a service take up again after a start?
 *
 * It notes them while the engine loads, and has them read when that is over, a few at a time.
 *
 * Memory    one that is all zero is empty.
 * Threads   the engine's.
 */
#ifndef TOCSIN_SERVICE_RECALL_H
#define TOCSIN_SERVICE_RECALL_H

#include "engine/engine.h"

struct recall {
    struct engine_ref *refs;
    size_t count; /* 0: none is under way */
    size_t room;
    size_t next;
    size_t open;
    bool reading_on;
    bool failed; /* there was no memory to note one */
    struct engine *engine;
    engine_get_fn fn;
    void *arg;
};

/* From on_load. */
void recall_note(struct recall *recall, struct engine_ref ref);
/* After engine_load: fn is called once for each, now or later. NO_MEMORY: start again. */
enum tocsin_status recall_read(struct recall *recall, struct engine *engine, engine_get_fn fn,
                               void *arg);
void recall_release(struct recall *recall);

#endif
