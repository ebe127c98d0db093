/* SPDX-License-Identifier: MIT */
#include "support/sim_backend.h"

#include <assert.h>
#include <string.h>

#include "schedule/reason.h"

static struct sim_backend *sim_of(struct store *store)
{
    return (struct sim_backend *)(void *)store;
}

/* ---- the store that reads see */

static enum tocsin_status damaged_get(struct store *store, uint64_t rev,
                                      void (*visit)(void *arg, const struct store_record *record),
                                      void *arg, struct tocsin_why *ret_why)
{
    struct sim_backend *sim = sim_of(store);
    if (rev == sim->damaged_rev)
        return reason_say(ret_why, TOCSIN_DAMAGED, "as the test said");
    return sim->under->ops->get(sim->under, rev, visit, arg, ret_why);
}

struct damaging_list {
    bool (*visit)(void *arg, const struct store_record *);
    void *arg;
    uint64_t damaged_rev;
};

static bool visit_damaged(void *arg, const struct store_record *record)
{
    struct damaging_list *list = arg;
    struct store_record copy = *record;
    if (record->rev == list->damaged_rev) {
        copy.damaged = true;
        copy.doc = (struct bytes){"", 0};
    }
    return list->visit(list->arg, &copy);
}

static enum tocsin_status damaged_list(struct store *store, struct bytes kind, uint64_t after_rev,
                                       size_t scan,
                                       bool (*visit)(void *arg, const struct store_record *),
                                       void *arg, uint64_t *ret_next, struct tocsin_why *ret_why)
{
    struct store *under = sim_of(store)->under;
    struct damaging_list list = {visit, arg, sim_of(store)->damaged_rev};
    return under->ops->list(under, kind, after_rev, scan, visit_damaged, &list, ret_next, ret_why);
}

static enum tocsin_status plain_load(struct store *store,
                                     bool (*visit)(void *arg, const struct store_record *record),
                                     void *arg, struct tocsin_why *ret_why)
{
    struct store *under = sim_of(store)->under;
    return under->ops->load(under, visit, arg, ret_why);
}

/* ---- the backend */

static void take_batch(void *arg, const struct store_batch *batch)
{
    struct sim_backend *sim = arg;
    assert(sim->batch == NULL);
    sim->batch = batch;
    sim->stored = false;
    if (sim->on_take != NULL)
        sim->on_take(sim->arg);
}

static void take_read(void *arg, struct engine_read *read)
{
    struct sim_backend *sim = arg;
    assert(sim->read_count < SIM_READS_MAX);
    sim->reads[sim->read_count++] = (struct sim_read){read, false};
}

static void set_up(struct sim_backend *sim)
{
    static const struct store_ops ops = {
        .name = "simulated", .load = plain_load, .get = damaged_get, .list = damaged_list};
    *sim = (struct sim_backend){.store = {&ops}};
    sim->backend = (struct engine_backend){take_batch, take_read, sim};
}

void sim_init_on(struct sim_backend *sim, sim_open_fn open, void *open_arg)
{
    set_up(sim);
    sim->open = open;
    sim->open_arg = open_arg;
    open(open_arg, &sim->under, &sim->state);
}

void sim_init(struct sim_backend *sim)
{
    set_up(sim);
    enum tocsin_status status = store_memory_open(&sim->under, &sim->state);
    assert(status == TOCSIN_OK);
    (void)status;
}

void sim_release(struct sim_backend *sim)
{
    sim->under->ops->close(sim->under);
}

void sim_store(struct sim_backend *sim)
{
    const struct store_batch *batch = sim->batch;
    struct tocsin_why why;
    assert(batch != NULL && !sim->stored);
    enum tocsin_status status = sim->under->ops->commit(sim->under, batch, &why);
    assert(status == TOCSIN_OK);
    (void)status;
    sim->stored = true;
    sim->state.high_rev = batch->high_rev;
    sim->state.high_seq += batch->event_count;
    sim->state.time = batch->time;
    if (batch->epoch > sim->state.epoch)
        sim->state.epoch = batch->epoch;
    sim->commits++;
    sim->puts += batch->put_count;
    if (sim->on_store != NULL)
        sim->on_store(sim->arg, batch);
}

void sim_commit(struct sim_backend *sim, struct engine *engine, enum tocsin_status status)
{
    assert(sim->batch != NULL && (status == TOCSIN_OK || !sim->stored));
    if (status == TOCSIN_OK && !sim->stored)
        sim_store(sim);
    sim->batch = NULL;
    engine_committed(engine, status, "as the test said");
}

void sim_lie(struct sim_backend *sim, struct engine *engine)
{
    assert(sim->batch != NULL && !sim->stored);
    sim->batch = NULL;
    engine_committed(engine, TOCSIN_OK, "");
}

void sim_read_run(struct sim_backend *sim, size_t which)
{
    struct sim_read *read = &sim->reads[which];
    if (!read->run)
        read->read->run(read->read, &sim->store);
    read->run = true;
}

void sim_read_done(struct sim_backend *sim, struct engine *engine, size_t which)
{
    sim_read_run(sim, which);
    struct engine_read *read = sim->reads[which].read;
    sim->read_count--;
    memmove(sim->reads + which, sim->reads + which + 1,
            (sim->read_count - which) * sizeof *sim->reads);
    engine_read_done(engine, read);
}

void sim_finish(struct sim_backend *sim, struct engine *engine)
{
    struct elapsed_time wake;
    engine_turn(engine, &wake);
    while (sim->batch != NULL || sim->read_count > 0) {
        if (sim->batch != NULL)
            sim_commit(sim, engine, TOCSIN_OK);
        if (sim->read_count > 0)
            sim_read_done(sim, engine, 0);
        engine_turn(engine, &wake);
    }
}

void sim_crash(struct sim_backend *sim)
{
    sim->batch = NULL;
    sim->read_count = 0;
    if (sim->open == NULL) {
        sim->state.epoch++;
        return;
    }
    sim->under->ops->close(sim->under);
    sim->open(sim->open_arg, &sim->under, &sim->state);
}
