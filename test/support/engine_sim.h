/* SPDX-License-Identifier: MIT */
/* engine_sim.h - a life of an engine, from a seed, with a judge.
 *
 * Commands (create, replace, cancel, pause, groups of three records, gets, lists) and dues
 * (that end a record, arm it anew, change all three records of a home, fail at first, or are
 * taken by their head and ended by their ref) meet a disk that is slow, full or gone, clocks that are set, and crashes between any two steps.
 *
 * Control   flaws are what a sound engine could never make up for: the judge must name them.
 */
#ifndef TEST_ENGINE_SIM_H
#define TEST_ENGINE_SIM_H

#include "runner.h"
#include "support/engine_judge.h"
#include "support/sim_backend.h"

enum { SIM_OPS_MAX = 2048 };

enum sim_flaw {
    SIM_SOUND,
    SIM_ACKNOWLEDGES_BEFORE_IT_COMMITS,
    SIM_CLOCK_RUNS_AHEAD,
    SIM_FORGETS_THE_EPOCH,
};

struct sim;

struct sim_op {
    struct sim *sim;
    bool used;
    bool wrote;
    uint64_t id;
    unsigned keys[JUDGE_GROUP_MAX];
    bool drops[JUDGE_GROUP_MAX];
    size_t count;
    bool only_if_none;
    bool only_if_rev;
    uint64_t rev_wanted;
    uint64_t rev_seen;
    uint64_t seen_group; /* made it so, and was not durable then */
    /* a list */
    uint64_t there[JUDGE_KEYS]; /* revs when it began; 0: none, or in change */
};

/* What a worker has in hand, by key. */
struct sim_hand {
    struct engine_ref ref;
    uint64_t rev;
    bool full;
};

struct sim {
    struct test_random random;
    enum sim_flaw flaw;
    struct clock_manual clock;
    struct clock_manual engine_clock; /* as a flaw shows it */
    struct sim_backend disk;
    struct engine *engine;
    struct engine_limits limits;
    struct engine_kind kind;
    unsigned kind_number;
    struct judge judge;
    struct sim_op ops[SIM_OPS_MAX];
    struct sim_hand hands[JUDGE_KEYS];
    uint64_t next_id;
    uint64_t next_stamp;
    uint64_t known[JUDGE_KEYS]; /* revs somebody has seen, maybe stale */
    uint64_t commands;
    bool calm; /* dues that fail at times succeed */
    uint64_t restarts;
};

/* One life of at least so many commands. The judge's verdict is sim->judge.verdict. */
void sim_live(struct sim *sim, uint64_t seed, enum sim_flaw flaw, uint64_t commands);
/* … over a store of the caller's. */
void sim_live_on(struct sim *sim, uint64_t seed, uint64_t commands, sim_open_fn open,
                 void *open_arg);

/* engine_sim_ops.c */
void sim_start_change(struct sim *sim);
void sim_start_get(struct sim *sim);
void sim_start_list(struct sim *sim);
bool sim_end_run(struct sim *sim, unsigned key); /* false: there is none */
bool sim_on_head(void *service, const struct engine_head *head);
enum tocsin_status sim_on_due(void *service, struct change *change,
                              const struct engine_record *record);
void sim_on_event(void *arg, const struct store_event *event);
/* Of the store's: into an array of versions, by key. */
void sim_find_one(void *arg, const struct store_record *record);

#endif
