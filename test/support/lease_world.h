/* SPDX-License-Identifier: MIT */
/* lease_world.h - the lease service on a clock and a disk that a test moves by hand.
 *
 * A call is in a slot of its own, and stays readable when it is done. What is durable is told by
 * events, a line each: "acquired a ada", "released a ada", "expired a ada".
 */
#ifndef TEST_LEASE_WORLD_H
#define TEST_LEASE_WORLD_H

#include "service/lease/leases.h"
#include "support/sim_world.h"

enum { LEASE_LOG_BYTES = 1 << 16, LEASE_WORD_BYTES = 32, LEASE_SLOTS = 64 };

struct lease_world;

struct lease_asked {
    struct lease_call call; /* first */
    struct lease_world *world;
    bool used; /* not answered yet */
    bool done;
    bool gone;
    uint64_t order; /* of asking */
    char name[LEASE_WORD_BYTES];
    char holder[LEASE_WORD_BYTES];
    /* of the answer */
    char text[2048];
    uint64_t fence;
    int64_t expires_ms;
    int64_t acquired_ms;
};

struct lease_world {
    struct clock_manual clock;
    struct sim_backend sim;
    struct engine *engine;
    struct idem *idem;
    struct leases *leases;
    struct leases_limits limits;
    size_t log_size;
    char log[LEASE_LOG_BYTES];
    bool dead; /* between a crash and a start: nobody hears anything */
    uint64_t asked;
    struct lease_asked slots[LEASE_SLOTS];
    /* May be NULL. */
    void (*on_answer)(struct lease_world *world, struct lease_asked *asked);
    void *test;
};

void lease_world_start(struct lease_world *world);
void lease_world_crash(struct lease_world *world);
void lease_world_again(struct lease_world *world);
void lease_world_release(struct lease_world *world);
void lease_world_turn(struct lease_world *world);
void lease_world_settle(struct lease_world *world);
/* In steps, each at the moment something is due. */
void lease_world_pass(struct lease_world *world, int64_t ms);
/* What was told since the last time, without its last line break. */
void lease_world_told(struct lease_world *world, const char *wanted);

/* Begun. NULL: no slot is free. */
struct lease_asked *lease_acquire_begin(struct lease_world *world, const char *name,
                                        const char *holder, int64_t ttl_ms, int64_t wait_ms);
struct lease_asked *lease_keep_begin(struct lease_world *world, const char *name,
                                     const char *holder, uint64_t fence, int64_t ttl_ms);
struct lease_asked *lease_release_begin(struct lease_world *world, const char *name,
                                        const char *holder, uint64_t fence);
/* Its client leaves. */
void lease_asked_gone(struct lease_asked *asked);
/* The value of a number in an answer; -1: there is none. */
int64_t lease_number(const char *json, const char *field);

#endif
