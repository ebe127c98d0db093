/* SPDX-License-Identifier: MIT */
/* inside.h - the engine in a program of somebody else's. For src/embed only.
 *
 * One thread turns the engine (engine_main); any other thread hands it an order and waits. The
 * workers take runs from a list that holds no more than there are idle workers: what waits
 * longer waits in the engine, on the disk. */
#ifndef TOCSIN_EMBED_INSIDE_H
#define TOCSIN_EMBED_INSIDE_H

#include <pthread.h>
#include <tocsin/engine.h>

#include "engine/engine.h"
#include "engine/threads.h"
#include "service/task/tasks.h"

enum { HANDLERS_MAX = 256 };

#define EMBED_QUEUE "embedded"

struct handler {
    char *name;
    tocsin_handler fn;
    void *arg;
};

/* Something for the engine's thread. */
struct order {
    void (*run)(struct tocsin_engine *engine, struct order *order);
    bool done;
    struct order *next;
};

struct close_order {
    struct order order; /* first */
    struct tocsin_engine *engine;
};

struct job {
    struct job *next;
    struct tocsin_run run;
    char *bytes; /* task id, handler, payload, each ended by a zero */
};

struct tocsin_engine {
    struct store *store;
    struct engine_threads *threads;
    struct engine *engine;
    struct idem *idem;
    struct tasks *tasks;
    struct tocsin_renewals *renewals; /* NULL: none */
    struct clock clock;
    unsigned worker_count;
    pthread_t *workers;
    pthread_t thread;
    int event_fd;
    int timer_fd;
    bool started;

    struct handler handlers[HANDLERS_MAX];
    size_t handler_count;

    pthread_mutex_t lock; /* over all below */
    pthread_cond_t changed;
    struct order *orders;
    struct order **orders_end;
    struct job *jobs;
    struct job **jobs_end;
    unsigned idle; /* workers without a job, less jobs not taken yet */
    unsigned busy;
    bool stop_workers;
    bool stop;
    uint64_t chance_state;
    uint64_t executed;
    uint64_t attempts_failed;

    /* the engine's thread only */
    struct tasks_lease lease;
    bool leasing;
    bool holding;
};

/* thread.c */
void *engine_main(void *engine);
void embed_order(struct tocsin_engine *engine, struct order *order); /* and waits */
/* The same, and does not wait: whoever runs it frees it. */
void embed_order_leave(struct tocsin_engine *engine, struct order *order);
void embed_order_done(struct tocsin_engine *engine, struct order *order);
void embed_wake(void *engine);

/* workers.c */
void *worker_main(void *engine);
void workers_lease(struct tocsin_engine *engine); /* on the engine's thread */
void job_free(struct job *job);

/* calls.c */
enum tocsin_status embed_status_of(enum outcome outcome);
enum tocsin_status embed_finish(struct tocsin_engine *engine, uint64_t fence,
                                enum tocsin_status status, const char *error);

#endif
