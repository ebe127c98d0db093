/* SPDX-License-Identifier: MIT */
/* sim_backend.h - a disk that does what a test says, when it says so.
 *
 * The engine hands over commits and reads; nothing becomes of them until the test (or its
 * seed) decides. What was committed survives a crash; what was under way is kept whole or
 * lost whole.
 *
 * Control   sim_lie acknowledges a commit that is not stored, as a disk does that says it has
 *           synced. The crash that must follow loses what was acknowledged.
 */
#ifndef TEST_SIM_BACKEND_H
#define TEST_SIM_BACKEND_H

#include "engine/backend.h"

enum { SIM_READS_MAX = 4096 };

typedef void (*sim_open_fn)(void *arg, struct store **ret_store, struct store_state *ret_state);

struct sim_read {
    struct engine_read *read;
    bool run;
};

struct sim_backend {
    struct store store; /* first: what reads see, with its damage */
    struct engine_backend backend;
    struct store *under;
    sim_open_fn open; /* NULL: it stays open */
    void *open_arg;
    struct store_state state;        /* what the next start finds */
    const struct store_batch *batch; /* under way, or NULL */
    bool stored;                     /* … and stored, which the engine does not know yet */
    struct sim_read reads[SIM_READS_MAX];
    size_t read_count;
    uint64_t damaged_rev; /* whoever reads this version is told DAMAGED */
    /* A batch was handed over; it is stored. May be NULL. */
    void (*on_take)(void *arg);
    void (*on_store)(void *arg, const struct store_batch *batch);
    void *arg;
    uint64_t commits;
    uint64_t puts;
};

/* Over a store in memory, which lives through crashes. */
void sim_init(struct sim_backend *sim);
/* Over any store: opened now, and closed and opened again at each crash. */
void sim_init_on(struct sim_backend *sim, sim_open_fn open, void *open_arg);
void sim_release(struct sim_backend *sim);

/* The commit under way reaches the disk; nobody is told. */
void sim_store(struct sim_backend *sim);
/* It ends. OK: it is stored, if it is not yet. Else: it is not, and must not be. */
void sim_commit(struct sim_backend *sim, struct engine *engine, enum tocsin_status status);
void sim_lie(struct sim_backend *sim, struct engine *engine);

/* A read looks at the store as it is now; its answer reaches the engine later. */
void sim_read_run(struct sim_backend *sim, size_t which);
void sim_read_done(struct sim_backend *sim, struct engine *engine, size_t which);

/* Commits and reads to the end, also those that follow. */
void sim_finish(struct sim_backend *sim, struct engine *engine);

/* The process is gone (destroy the engine besides): what was under way is forgotten. */
void sim_crash(struct sim_backend *sim);

#endif
