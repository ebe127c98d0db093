/* SPDX-License-Identifier: MIT */
#include "engine/threads.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct engine_threads {
    struct engine_backend backend;
    struct store *store;
    void (*post)(void *arg);
    void *arg;
    pthread_t writer;
    pthread_t reader;

    pthread_mutex_t lock; /* over all below */
    pthread_cond_t to_write;
    pthread_cond_t to_read;
    bool stop;
    bool joined;
    const struct store_batch *batch; /* for the writer to take */
    bool committed;
    enum tocsin_status status;
    struct tocsin_why why;
    struct engine_read *wanted;
    struct engine_read **wanted_end;
    struct engine_read *read;
    struct engine_read **read_end;
};

static void *write_all(void *arg)
{
    struct engine_threads *threads = arg;
    (void)pthread_mutex_lock(&threads->lock);
    for (;;) {
        while (threads->batch == NULL && !threads->stop)
            (void)pthread_cond_wait(&threads->to_write, &threads->lock);
        if (threads->batch == NULL)
            break;
        const struct store_batch *batch = threads->batch;
        threads->batch = NULL;
        (void)pthread_mutex_unlock(&threads->lock);
        struct tocsin_why why = {""};
        enum tocsin_status status = threads->store->ops->commit(threads->store, batch, &why);
        (void)pthread_mutex_lock(&threads->lock);
        threads->committed = true;
        threads->status = status;
        threads->why = why;
        threads->post(threads->arg);
    }
    (void)pthread_mutex_unlock(&threads->lock);
    return NULL;
}

static void *read_all(void *arg)
{
    struct engine_threads *threads = arg;
    (void)pthread_mutex_lock(&threads->lock);
    for (;;) {
        while (threads->wanted == NULL && !threads->stop)
            (void)pthread_cond_wait(&threads->to_read, &threads->lock);
        struct engine_read *read = threads->wanted;
        if (read == NULL || threads->stop)
            break; /* a store that does not answer would be waited for once for each of them */
        threads->wanted = read->next;
        if (threads->wanted == NULL)
            threads->wanted_end = &threads->wanted;
        (void)pthread_mutex_unlock(&threads->lock);
        read->run(read, threads->store);
        (void)pthread_mutex_lock(&threads->lock);
        read->next = NULL;
        *threads->read_end = read;
        threads->read_end = &read->next;
        threads->post(threads->arg);
    }
    (void)pthread_mutex_unlock(&threads->lock);
    return NULL;
}

static void hand_batch(void *arg, const struct store_batch *batch)
{
    struct engine_threads *threads = arg;
    (void)pthread_mutex_lock(&threads->lock);
    assert(threads->batch == NULL);
    threads->batch = batch;
    (void)pthread_cond_signal(&threads->to_write);
    (void)pthread_mutex_unlock(&threads->lock);
}

static void hand_read(void *arg, struct engine_read *read)
{
    struct engine_threads *threads = arg;
    read->next = NULL;
    (void)pthread_mutex_lock(&threads->lock);
    *threads->wanted_end = read;
    threads->wanted_end = &read->next;
    (void)pthread_cond_signal(&threads->to_read);
    (void)pthread_mutex_unlock(&threads->lock);
}

static bool start(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all); /* signals are the loop's business */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, NULL, fn, arg) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        (void)pthread_setname_np(*thread, name);
    return started;
}

static void stop(struct engine_threads *threads)
{
    (void)pthread_mutex_lock(&threads->lock);
    threads->stop = true;
    (void)pthread_cond_signal(&threads->to_write);
    (void)pthread_cond_signal(&threads->to_read);
    (void)pthread_mutex_unlock(&threads->lock);
}

static void release(struct engine_threads *threads)
{
    (void)pthread_mutex_destroy(&threads->lock);
    (void)pthread_cond_destroy(&threads->to_write);
    (void)pthread_cond_destroy(&threads->to_read);
    free(threads);
}

enum tocsin_status threads_create(struct store *store, void (*post)(void *arg), void *arg,
                                  struct engine_threads **ret_threads, struct tocsin_why *ret_why)
{
    struct engine_threads *threads = calloc(1, sizeof *threads);
    if (threads == NULL) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "no memory for the store's threads");
        return TOCSIN_NO_MEMORY;
    }
    threads->store = store;
    threads->post = post;
    threads->arg = arg;
    threads->wanted_end = &threads->wanted;
    threads->read_end = &threads->read;
    threads->backend = (struct engine_backend){hand_batch, hand_read, threads};
    (void)pthread_mutex_init(&threads->lock, NULL);
    (void)pthread_cond_init(&threads->to_write, NULL);
    (void)pthread_cond_init(&threads->to_read, NULL);
    bool writes = start(&threads->writer, "tocsin-store", write_all, threads);
    if (writes && start(&threads->reader, "tocsin-read", read_all, threads)) {
        *ret_threads = threads;
        return TOCSIN_OK;
    }
    stop(threads);
    if (writes)
        (void)pthread_join(threads->writer, NULL);
    release(threads);
    (void)snprintf(ret_why->text, sizeof ret_why->text, "the system gave no thread");
    return TOCSIN_NO_MEMORY;
}

void threads_stop(struct engine_threads *threads)
{
    if (threads == NULL || threads->joined)
        return;
    stop(threads);
    (void)pthread_join(threads->writer, NULL);
    (void)pthread_join(threads->reader, NULL);
    threads->joined = true;
}

void threads_destroy(struct engine_threads *threads)
{
    if (threads == NULL)
        return;
    threads_stop(threads);
    release(threads);
}

const struct engine_backend *threads_backend(struct engine_threads *threads)
{
    return &threads->backend;
}

static void tell_reads(struct engine *engine, struct engine_read *read)
{
    while (read != NULL) {
        struct engine_read *next = read->next;
        engine_read_done(engine, read);
        read = next;
    }
}

void threads_take_reads(struct engine_threads *threads, struct engine *engine)
{
    assert(threads->joined);
    struct engine_read *read = threads->read;
    threads->read = NULL;
    threads->read_end = &threads->read;
    tell_reads(engine, read);
}

void threads_take(struct engine_threads *threads, struct engine *engine)
{
    (void)pthread_mutex_lock(&threads->lock);
    bool committed = threads->committed;
    enum tocsin_status status = threads->status;
    struct tocsin_why why = threads->why;
    struct engine_read *read = threads->read;
    threads->committed = false;
    threads->read = NULL;
    threads->read_end = &threads->read;
    (void)pthread_mutex_unlock(&threads->lock);
    if (committed)
        engine_committed(engine, status, why.text);
    tell_reads(engine, read);
}
