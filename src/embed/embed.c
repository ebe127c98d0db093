/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "embed/inside.h"
#include "embed/renewals.h"

enum { WORKERS_DEFAULT = 4, WORKERS_MAX = 1000, TASKS_DEFAULT = 1000000 };

static uint64_t chance(void *arg)
{
    /* splitmix64: for jitter and hash keys */
    struct tocsin_engine *engine = arg;
    uint64_t z = engine->chance_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Nothing more can be promised: an acknowledged task may be lost if we went on. */
static void on_fatal(void *arg, enum tocsin_status status, const char *why)
{
    (void)arg;
    (void)fprintf(stderr,
                  "tocsin engine: %s: %s: the program ends here and recovers at the next "
                  "start\n",
                  tocsin_status_text(status), why);
    abort();
}

static enum tocsin_status open_store(struct tocsin_engine *engine,
                                     const struct tocsin_engine_options *options,
                                     struct store_state *state, struct tocsin_why *ret_why)
{
    if (options->dir == NULL)
        return store_memory_open(&engine->store, state);
    return store_sqlite_open(&(struct store_sqlite_options){.dir = options->dir}, &engine->store,
                             state, ret_why);
}

static enum tocsin_status open_engine(struct tocsin_engine *engine,
                                      const struct tocsin_engine_options *options,
                                      const struct store_state *state, struct tocsin_why *ret_why)
{
    struct engine_limits limits = engine_limits_default;
    limits.records = options->max_tasks == 0 ? TASKS_DEFAULT : options->max_tasks;
    enum tocsin_status status =
        threads_create(engine->store, embed_wake, engine, &engine->threads, ret_why);
    if (status != TOCSIN_OK)
        return status;
    status = engine_create(&(struct engine_options){.limits = limits,
                                                    .clock = engine->clock,
                                                    .backend = threads_backend(engine->threads),
                                                    .hash_key = {chance(engine), chance(engine)},
                                                    .on_fatal = on_fatal,
                                                    .arg = engine},
                           &engine->engine, ret_why);
    if (status == TOCSIN_OK)
        status = idem_create(engine->engine, &idem_limits_default, &engine->idem);
    if (status != TOCSIN_OK)
        return status;
    struct tasks_limits tasks = tasks_limits_default;
    tasks.finished = 0;
    tasks.lease_runs = WORKERS_MAX;
    status = tasks_create(&(struct tasks_options){.engine = engine->engine,
                                                  .idem = engine->idem,
                                                  .limits = tasks,
                                                  .history = TASKS_HISTORY_NONE,
                                                  .node = "embedded",
                                                  .write_claims = true,
                                                  .chance = chance,
                                                  .chance_arg = engine},
                          &engine->tasks);
    if (status == TOCSIN_OK && engine->renewals != NULL)
        status = embed_renewals_open(engine->renewals, engine, chance, ret_why);
    if (status == TOCSIN_OK)
        status = engine_load(engine->engine, engine->store, state, ret_why);
    return status;
}

static void release(struct tocsin_engine *engine)
{
    if (engine->renewals != NULL)
        embed_renewals_join(engine->renewals);
    threads_destroy(engine->threads);
    tasks_destroy(engine->tasks);
    engine_destroy(engine->engine);
    tocsin_renewals_destroy(engine->renewals);
    idem_destroy(engine->idem);
    if (engine->store != NULL)
        engine->store->ops->close(engine->store);
    if (engine->event_fd >= 0)
        (void)close(engine->event_fd);
    if (engine->timer_fd >= 0)
        (void)close(engine->timer_fd);
    while (engine->jobs != NULL) {
        struct job *job = engine->jobs;
        engine->jobs = job->next;
        job_free(job);
    }
    for (size_t i = 0; i < engine->handler_count; i++)
        free(engine->handlers[i].name);
    buffer_release(&engine->lease.answer);
    (void)pthread_mutex_destroy(&engine->lock);
    (void)pthread_cond_destroy(&engine->changed);
    free(engine->workers);
    free(engine);
}

enum tocsin_status tocsin_engine_open(const struct tocsin_engine_options *options,
                                      struct tocsin_engine **ret_engine, struct tocsin_why *ret_why)
{
    struct tocsin_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return TOCSIN_NO_MEMORY;
    (void)pthread_mutex_init(&engine->lock, NULL);
    (void)pthread_cond_init(&engine->changed, NULL);
    engine->orders_end = &engine->orders;
    engine->jobs_end = &engine->jobs;
    engine->clock = clock_system;
    engine->renewals = options->renewals;
    engine->worker_count = options->workers == 0 ? WORKERS_DEFAULT : options->workers;
    if (engine->worker_count > WORKERS_MAX)
        engine->worker_count = WORKERS_MAX;
    engine->workers = calloc(engine->worker_count, sizeof *engine->workers);
    engine->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    engine->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    bool random = getrandom(&engine->chance_state, sizeof engine->chance_state, 0) ==
                  (ssize_t)sizeof engine->chance_state;
    (void)snprintf(ret_why->text, sizeof ret_why->text, "no memory, or no file descriptors left");
    enum tocsin_status status = TOCSIN_NO_MEMORY;
    struct store_state state;
    if (engine->workers != NULL && engine->event_fd >= 0 && engine->timer_fd >= 0 && random)
        status = open_store(engine, options, &state, ret_why);
    if (status == TOCSIN_OK)
        status = open_engine(engine, options, &state, ret_why);
    if (status == TOCSIN_OK)
        status = tasks_recover(engine->tasks);
    if (status == TOCSIN_OK && engine->renewals != NULL)
        status = renewals_recover(engine->renewals->service);
    if (status == TOCSIN_OK && pthread_create(&engine->thread, NULL, engine_main, engine) != 0)
        status = TOCSIN_NO_MEMORY;
    if (status != TOCSIN_OK) {
        release(engine);
        return status;
    }
    ret_why->text[0] = '\0';
    *ret_engine = engine;
    return TOCSIN_OK;
}

static bool has_handler(const struct tocsin_engine *engine, const char *name)
{
    for (size_t i = 0; i < engine->handler_count; i++) {
        if (strcmp(engine->handlers[i].name, name) == 0)
            return true;
    }
    return false;
}

enum tocsin_status tocsin_engine_handle(struct tocsin_engine *engine, const char *name,
                                        tocsin_handler fn, void *arg)
{
    if (engine->started || engine->handler_count == HANDLERS_MAX)
        return engine->started ? TOCSIN_BUSY : TOCSIN_FULL;
    if (fn == NULL || task_id_valid(bytes_of(name), "name", NULL) != TOCSIN_OK)
        return TOCSIN_INVALID;
    if (has_handler(engine, name))
        return TOCSIN_CONFLICT;
    char *copy = strdup(name);
    if (copy == NULL)
        return TOCSIN_NO_MEMORY;
    struct handler *handler = &engine->handlers[engine->handler_count++];
    handler->name = copy;
    handler->fn = fn;
    handler->arg = arg;
    return TOCSIN_OK;
}

static void stop_workers(struct tocsin_engine *engine, unsigned count)
{
    (void)pthread_mutex_lock(&engine->lock);
    engine->stop_workers = true; /* once no job is left */
    (void)pthread_cond_broadcast(&engine->changed);
    (void)pthread_mutex_unlock(&engine->lock);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(engine->workers[i], NULL);
}

enum tocsin_status tocsin_engine_start(struct tocsin_engine *engine)
{
    if (engine->started)
        return TOCSIN_BUSY;
    unsigned started = 0;
    while (started < engine->worker_count &&
           pthread_create(&engine->workers[started], NULL, worker_main, engine) == 0)
        started++;
    if (started == 0)
        return TOCSIN_NO_MEMORY;
    engine->worker_count = started;
    engine->started = true;
    (void)pthread_mutex_lock(&engine->lock);
    engine->idle = started; /* from now on there is work for them */
    (void)pthread_mutex_unlock(&engine->lock);
    embed_wake(engine);
    return TOCSIN_OK;
}

/* ---- closing */

static void held(void *arg, enum tocsin_status status)
{
    struct order *order = arg;
    struct close_order *self = (struct close_order *)order;
    (void)status;
    embed_order_done(self->engine, order);
}

static void hold(struct tocsin_engine *engine, struct order *order)
{
    engine->holding = true;
    tasks_hold(engine->tasks, held, order);
}

void tocsin_engine_close(struct tocsin_engine *engine)
{
    if (engine == NULL)
        return;
    if (engine->started)
        stop_workers(engine, engine->worker_count);
    if (engine->renewals != NULL)
        embed_renewals_stop(engine->renewals);
    struct close_order order = {{.run = hold}, engine};
    embed_order(engine, &order.order);
    (void)pthread_mutex_lock(&engine->lock);
    engine->stop = true;
    (void)pthread_mutex_unlock(&engine->lock);
    embed_wake(engine);
    (void)pthread_join(engine->thread, NULL);
    release(engine);
}
