/* SPDX-License-Identifier: MIT */
/* engine_world.h - an engine on a clock and a disk that a test moves by hand.
 *
 * One kind, "thing". When a thing comes due that is logged, and it is dropped, unless the
 * test gives a function of its own. A wish is a change or a get, with what became of it.
 */
#ifndef TEST_ENGINE_WORLD_H
#define TEST_ENGINE_WORLD_H

#include "runner.h"
#include "support/sim_backend.h"

enum { WORLD_LOG_MAX = 4096, WORLD_TEXT_MAX = 64 };

#define WORLD_MS INT64_C(1000000)

struct world_fired {
    char key[WORLD_TEXT_MAX];
    uint64_t rev;
    int64_t due_ms;
    int64_t line_ms;
    int64_t wall_ms;
};

struct world {
    struct clock_manual clock;
    struct sim_backend sim;
    struct engine_limits limits;
    bool shared; /* the store is, with other nodes */
    int64_t (*wall_error_ns)(void *arg);
    struct engine_kind thing;
    struct engine_kind other;
    unsigned kind;
    unsigned other_kind;
    struct engine *engine;
    enum tocsin_status fatal;
    enum tocsin_status (*on_due)(struct world *world, struct change *change,
                                 const struct engine_record *record);
    struct world_fired fired[WORLD_LOG_MAX];
    size_t fired_count;
    size_t heads; /* asked */
    bool head_takes;
    size_t loaded;
    char events[WORLD_LOG_MAX]; /* types, a blank after each */
    void *test;                 /* the test's own */
};

enum wish_when { WISH_ALWAYS, WISH_IF_NONE, WISH_IF_REV };

struct wish {
    struct world *world;
    struct change_put put;
    uint64_t rev_wanted;
    const char *event;
    enum wish_when when;
    bool drops;
    bool urgent;
    bool mends; /* also one that is damaged */
    /* what became of it */
    bool done;
    int runs;
    enum tocsin_status status;
    uint64_t rev;      /* put, or read */
    uint64_t rev_seen; /* of the tip */
    int64_t due_ms;
    struct engine_ref ref;
    char doc[WORLD_TEXT_MAX];
    char tag[WORLD_TEXT_MAX];
};

/* The year 2024, two hours after the machine was started. Creates nothing yet. */
void world_init(struct world *world);
void world_start(struct world *world);
void world_stop(struct world *world); /* a crash: what was under way is lost */
void world_release(struct world *world);

void world_turn(struct world *world);
/* Time passes, in one step; then a turn. */
void world_pass(struct world *world, int64_t ms);
/* A turn, and all that is under way ends well. Checks the engine. */
void world_settle(struct world *world);
void world_check(struct world *world);

/* Wishes to begin with. NEVER is no due time. */
struct wish wish_put(const char *key, int64_t due_ms, const char *doc);
struct wish wish_drop(const char *key);
void world_change(struct world *world, struct wish *wish);
void world_get(struct world *world, const char *key, struct wish *wish);
/* Put and committed; its rev. */
uint64_t world_make(struct world *world, const char *key, int64_t due_ms, const char *doc);
void world_assert_is(struct world *world, const char *key, enum tocsin_status status,
                     const char *doc);

void world_stats(struct world *world, struct engine_stats *ret_stats);

#endif
