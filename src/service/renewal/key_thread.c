/* SPDX-License-Identifier: MIT */
#include "service/renewal/key_thread.h"

#include <pthread.h>
#include <stdlib.h>

#define STOPPING "the program is stopping"

struct key_thread {
    struct key_thread_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t changed;
    struct key_jobs wanted;
    struct key_jobs done;
    bool stopping;
};

/* ---- the thread */

static struct key_job *next_job(struct key_thread *thread)
{
    struct key_job *job = thread->wanted.first;
    if (job == NULL)
        return NULL;
    thread->wanted.first = job->next;
    if (job->next == NULL)
        key_jobs_init(&thread->wanted);
    return job;
}

static void hand_back(struct key_thread *thread, struct key_job *job)
{
    bool first = thread->done.first == NULL;
    key_jobs_push(&thread->done, job);
    if (first)
        thread->options.post(thread->options.arg);
}

static void *run(void *arg)
{
    struct key_thread *thread = arg;
    (void)pthread_mutex_lock(&thread->lock);
    for (;;) {
        struct key_job *job = next_job(thread);
        if (job == NULL && thread->stopping)
            break;
        if (job == NULL) {
            (void)pthread_cond_wait(&thread->changed, &thread->lock);
        } else if (thread->stopping) {
            key_job_fail(job, KEY_FAILED, STOPPING);
            hand_back(thread, job);
        } else {
            (void)pthread_mutex_unlock(&thread->lock);
            thread->options.work(thread->options.self, job);
            (void)pthread_mutex_lock(&thread->lock);
            hand_back(thread, job);
        }
    }
    (void)pthread_mutex_unlock(&thread->lock);
    if (thread->options.close != NULL)
        thread->options.close(thread->options.self);
    return NULL;
}

/* ---- the service's thread */

static void give(void *self, struct key_job *job)
{
    struct key_thread *thread = self;
    (void)pthread_mutex_lock(&thread->lock);
    if (thread->stopping) { /* the thread may be gone */
        key_job_fail(job, KEY_FAILED, STOPPING);
        hand_back(thread, job);
    } else {
        key_jobs_push(&thread->wanted, job);
    }
    (void)pthread_mutex_unlock(&thread->lock);
}

static void flush(void *self)
{
    struct key_thread *thread = self;
    (void)pthread_cond_signal(&thread->changed);
}

static bool reached(void *self)
{
    (void)self;
    return true;
}

struct key_client key_thread_client(struct key_thread *thread)
{
    return (struct key_client){.give = give, .flush = flush, .reached = reached, .self = thread};
}

void key_thread_take(struct key_thread *thread)
{
    (void)pthread_mutex_lock(&thread->lock);
    struct key_job *job = key_jobs_take(&thread->done);
    (void)pthread_mutex_unlock(&thread->lock);
    while (job != NULL) {
        struct key_job *next = job->next;
        job->done(job);
        job = next;
    }
}

void key_thread_stop(struct key_thread *thread)
{
    (void)pthread_mutex_lock(&thread->lock);
    thread->stopping = true;
    (void)pthread_cond_signal(&thread->changed);
    (void)pthread_mutex_unlock(&thread->lock);
}

void key_thread_join(struct key_thread *thread)
{
    (void)pthread_join(thread->thread, NULL);
}

void key_thread_destroy(struct key_thread *thread)
{
    (void)pthread_mutex_destroy(&thread->lock);
    (void)pthread_cond_destroy(&thread->changed);
    free(thread);
}

enum tocsin_status key_thread_create(const struct key_thread_options *options,
                                     struct key_thread **ret_thread)
{
    struct key_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL)
        return TOCSIN_NO_MEMORY;
    thread->options = *options;
    key_jobs_init(&thread->wanted);
    key_jobs_init(&thread->done);
    (void)pthread_mutex_init(&thread->lock, NULL);
    (void)pthread_cond_init(&thread->changed, NULL);
    if (pthread_create(&thread->thread, NULL, run, thread) != 0) {
        key_thread_destroy(thread);
        return TOCSIN_NO_MEMORY;
    }
    *ret_thread = thread;
    return TOCSIN_OK;
}
