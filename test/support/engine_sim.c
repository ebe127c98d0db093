/* SPDX-License-Identifier: MIT */
#include "support/engine_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

static uint64_t draw(struct sim *sim, uint64_t limit)
{
    return test_random_below(&sim->random, limit);
}

static bool one_in(struct sim *sim, uint64_t n)
{
    return test_random_one_in(&sim->random, n);
}

/* ---- the disk, and what is on it */

struct revs {
    uint64_t revs[2 * JUDGE_KEYS];
    size_t count;
};

static bool living_one(void *arg, const struct store_record *record)
{
    struct revs *living = arg;
    if (living->count == 2 * JUDGE_KEYS)
        return false;
    living->revs[living->count++] = record->rev;
    return true;
}

/* As a start does it: which versions live, and then their docs. */
static void look_at_disk(struct sim *sim, struct judge_version found[JUDGE_KEYS])
{
    memset(found, 0, JUDGE_KEYS * sizeof *found);
    struct store *store = sim->disk.under;
    struct revs living = {.count = 0};
    struct tocsin_why why = {""};
    if (store->ops->load(store, living_one, &living, &why) != TOCSIN_OK)
        judge_accuse(&sim->judge, "the disk: %s", why.text);
    for (size_t i = 0; i < living.count; i++) {
        if (store->ops->get(store, living.revs[i], sim_find_one, found, &why) != TOCSIN_OK)
            judge_accuse(&sim->judge, "the disk: %s", why.text);
    }
}

static void on_take(void *arg)
{
    struct sim *sim = arg;
    judge_taken(&sim->judge);
}

static void on_store(void *arg, const struct store_batch *batch)
{
    struct sim *sim = arg;
    judge_stored(&sim->judge, batch);
}

static void on_fatal(void *arg, enum tocsin_status status, const char *why)
{
    struct sim *sim = arg;
    judge_accuse(&sim->judge, "fatal: %s: %s", tocsin_status_name(status), why);
}

/* ---- life and death */

/* What the engine takes for the time. */
static void show_clock(struct sim *sim)
{
    sim->engine_clock = sim->clock;
    if (sim->flaw == SIM_CLOCK_RUNS_AHEAD)
        sim->engine_clock.elapsed.ns += sim->clock.elapsed.ns / 100;
}

static void start_engine(struct sim *sim)
{
    show_clock(sim);
    sim->limits = engine_limits_default;
    sim->limits.records = 1000;
    sim->limits.commit_changes = 1 + (uint32_t)draw(sim, 30);
    sim->limits.waiting = one_in(sim, 3) ? 5 : 1000;
    sim->limits.doc_bytes = draw(sim, 1500);
    sim->limits.ahead_ms = (uint32_t)draw(sim, 3000);
    sim->limits.turn_work = 1 + (uint32_t)draw(sim, 20);
    struct engine_options options = {
        .limits = sim->limits,
        .clock = clock_of_manual(&sim->engine_clock),
        .backend = &sim->disk.backend,
        .hash_key = {test_random_next(&sim->random), 7},
        .on_fatal = on_fatal,
        .arg = sim,
    };
    struct tocsin_why why = {""};
    enum tocsin_status status = engine_create(&options, &sim->engine, &why);
    if (status == TOCSIN_OK) {
        sim->kind_number = engine_add_kind(sim->engine, &sim->kind);
        engine_on_event(sim->engine, sim_on_event, sim);
        status = engine_load(sim->engine, &sim->disk.store, &sim->disk.state, &why);
    }
    if (status != TOCSIN_OK)
        judge_accuse(&sim->judge, "start: %s %s", tocsin_status_name(status), why.text);
}

static void crash(struct sim *sim)
{
    bool on_its_way = sim->disk.batch != NULL && !sim->disk.stored;
    if (on_its_way && sim->flaw == SIM_ACKNOWLEDGES_BEFORE_IT_COMMITS)
        sim_lie(&sim->disk, sim->engine);
    else if (on_its_way && one_in(sim, 2))
        sim_store(&sim->disk); /* it got through, and nobody was told */
    uint64_t epoch = sim->disk.state.epoch;
    engine_destroy(sim->engine);
    sim->engine = NULL;
    sim_crash(&sim->disk);
    memset(sim->ops, 0, sizeof sim->ops);
    memset(sim->hands, 0, sizeof sim->hands);
    sim->restarts++;
    if (sim->flaw == SIM_FORGETS_THE_EPOCH)
        sim->disk.state.epoch = epoch;
    if (one_in(sim, 2))
        sim->clock.elapsed.ns = (int64_t)draw(sim, 1000000000); /* the machine, too */
    if (one_in(sim, 2))
        sim->clock.wall.ns += (int64_t)draw(sim, 7200000) * MS;
    if (one_in(sim, 4))
        sim->clock.wall.ns -= (int64_t)draw(sim, 7200000) * MS;
    struct judge_version found[JUDGE_KEYS];
    look_at_disk(sim, found);
    judge_crashed(&sim->judge, found);
    start_engine(sim);
}

/* ---- steps */

static void turn(struct sim *sim)
{
    struct elapsed_time wake;
    engine_turn(sim->engine, &wake);
}

static void pass(struct sim *sim, int64_t ns)
{
    clock_manual_advance(&sim->clock, ns);
    show_clock(sim);
}

static void step_wall(struct sim *sim)
{
    static const uint64_t spans[] = {1000000, 400 * 1000000, UINT64_C(5000) * 1000000,
                                     UINT64_C(7200000) * 1000000};
    int64_t by = (int64_t)draw(sim, spans[draw(sim, 4)]);
    sim->clock.wall.ns += one_in(sim, 2) ? by : -by;
    show_clock(sim);
    if (one_in(sim, 2))
        engine_clock_stepped(sim->engine);
}

static void end_commit(struct sim *sim)
{
    if (sim->disk.batch == NULL)
        return;
    if (!sim->disk.stored && one_in(sim, 4)) {
        sim_store(&sim->disk);
        return;
    }
    if (sim->disk.stored || !one_in(sim, 12)) {
        sim_commit(&sim->disk, sim->engine, TOCSIN_OK);
        return;
    }
    judge_rolled_back(&sim->judge);
    sim_commit(&sim->disk, sim->engine, one_in(sim, 2) ? TOCSIN_NO_SPACE : TOCSIN_UNAVAILABLE);
}

static void end_read(struct sim *sim)
{
    if (sim->disk.read_count == 0)
        return;
    size_t which = draw(sim, sim->disk.read_count);
    if (one_in(sim, 3))
        sim_read_run(&sim->disk, which);
    else
        sim_read_done(&sim->disk, sim->engine, which);
}

/* The books are right, all is answered, and nothing is overdue. A due that failed is tried
 * again after a second; those that fail at times do not now. */
static void be_quiet(struct sim *sim)
{
    struct tocsin_why why = {""};
    if (engine_check(sim->engine, &why) != TOCSIN_OK)
        judge_accuse(&sim->judge, "the books: %s", why.text);
    sim->calm = true;
    for (int i = 0; i < 20; i++) {
        sim_finish(&sim->disk, sim->engine);
        for (unsigned key = 0; key < JUDGE_KEYS; key++)
            (void)sim_end_run(sim, key);
        pass(sim, 1000 * MS);
    }
    for (int i = 0; i < 3; i++)
        sim_finish(&sim->disk, sim->engine);
    sim->calm = false;
    struct judge_version found[JUDGE_KEYS];
    look_at_disk(sim, found);
    judge_quiet(&sim->judge, 18000 + (int64_t)sim->restarts * 2, found);
    for (size_t i = 0; i < SIM_OPS_MAX; i++) {
        if (sim->ops[i].used)
            judge_accuse(&sim->judge, "command %" PRIu64 " was never answered", sim->ops[i].id);
    }
}

static void step(struct sim *sim)
{
    static const uint64_t spans[] = {1000, 3000000, 200000000, UINT64_C(5000000000)};
    switch (draw(sim, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        sim_start_change(sim);
        break;
    case 4:
        sim_start_get(sim);
        break;
    case 5:
        one_in(sim, 4) ? sim_start_list(sim) : sim_start_get(sim);
        break;
    case 6:
    case 7:
    case 8:
        turn(sim);
        break;
    case 9:
    case 10:
        end_commit(sim);
        break;
    case 11:
    case 12:
        end_read(sim);
        break;
    case 13:
        pass(sim, (int64_t)draw(sim, spans[draw(sim, 4)]));
        break;
    case 14:
        if (one_in(sim, 10))
            step_wall(sim);
        (void)sim_end_run(sim, (unsigned)draw(sim, JUDGE_KEYS));
        break;
    default:
        if (one_in(sim, 6))
            crash(sim);
        else if (one_in(sim, 20))
            be_quiet(sim);
    }
}

static void live(struct sim *sim, uint64_t commands)
{
    sim->clock =
        (struct clock_manual){{7200 * INT64_C(1000000000)}, {1704067200 * INT64_C(1000000000)}};
    sim->kind = (struct engine_kind){
        .name = "thing", .on_due_head = sim_on_head, .on_due = sim_on_due, .service = sim};
    judge_init(&sim->judge, &sim->clock);
    sim->disk.on_take = on_take;
    sim->disk.on_store = on_store;
    sim->disk.arg = sim;
    start_engine(sim);
    while (sim->commands < commands && judge_fine(&sim->judge))
        step(sim);
    if (judge_fine(&sim->judge))
        be_quiet(sim);
    if (judge_fine(&sim->judge))
        crash(sim);
    engine_destroy(sim->engine);
    sim_release(&sim->disk);
}

void sim_live(struct sim *sim, uint64_t seed, enum sim_flaw flaw, uint64_t commands)
{
    memset(sim, 0, sizeof *sim);
    sim->random.state = seed;
    sim->flaw = flaw;
    sim_init(&sim->disk);
    live(sim, commands);
}

void sim_live_on(struct sim *sim, uint64_t seed, uint64_t commands, sim_open_fn open,
                 void *open_arg)
{
    memset(sim, 0, sizeof *sim);
    sim->random.state = seed;
    sim_init_on(&sim->disk, open, open_arg);
    live(sim, commands);
}
