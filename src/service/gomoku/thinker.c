/* SPDX-License-Identifier: MIT */
#include "service/gomoku/thinker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "service/gomoku/ai.h"

#define MS_NS INT64_C(1000000)

struct jobs {
    struct room_job *first;
    struct room_job **end;
    unsigned count;
};

struct thinker {
    struct thinker_options options;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t changed;
    struct jobs wanted;
    struct jobs done;
    bool stopping;
    atomic_bool cancel;
    unsigned running;
    pthread_t threads[];
};

static void push(struct jobs *list, struct room_job *job)
{
    job->next = NULL;
    *list->end = job;
    list->end = &job->next;
    list->count++;
}

static struct room_job *pop(struct jobs *list)
{
    struct room_job *job = list->first;
    if (job == NULL)
        return NULL;
    list->first = job->next;
    if (list->first == NULL)
        list->end = &list->first;
    list->count--;
    return job;
}

int64_t thinker_share_ms(const struct thinker_options *options, int64_t waited_ms, unsigned waiting)
{
    int64_t threads = options->threads;
    int64_t share = (options->within_ms - waited_ms) * threads / (waiting + threads);
    if (share > options->move_ms)
        return options->move_ms;
    return share > THINKER_LEAST_MS ? share : THINKER_LEAST_MS;
}

static int think(struct thinker *thinker, struct gomoku_ai *ai, const struct room_job *job,
                 unsigned waiting)
{
    int point = GOMOKU_NOWHERE;
    int64_t now_ns = clock_elapsed(&clock_system).ns;
    int64_t share_ms =
        thinker_share_ms(&thinker->options, (now_ns - job->given_ns) / MS_NS, waiting);
    struct gomoku_effort effort = {
        .clock = &clock_system,
        .until = {now_ns + share_ms * MS_NS},
        .cancel = &thinker->cancel,
    };
    if (ai == NULL || gomoku_ai_choose(ai, job->rule, &job->board, job->side, &effort, job->seed,
                                       &point) != TOCSIN_OK)
        return GOMOKU_NOWHERE;
    return atomic_load(&thinker->cancel) ? GOMOKU_NOWHERE : point;
}

static void *thinker_main(void *arg)
{
    struct thinker *thinker = arg;
    struct gomoku_ai *ai = NULL; /* made with the first job: most servers never have one */
    (void)pthread_mutex_lock(&thinker->lock);
    for (;;) {
        struct room_job *job = pop(&thinker->wanted);
        if (job == NULL && thinker->stopping)
            break;
        if (job == NULL) {
            (void)pthread_cond_wait(&thinker->changed, &thinker->lock);
            continue;
        }
        unsigned waiting = thinker->wanted.count;
        (void)pthread_mutex_unlock(&thinker->lock);
        if (ai == NULL)
            (void)gomoku_ai_create(&ai);
        job->point = think(thinker, ai, job, waiting);
        (void)pthread_mutex_lock(&thinker->lock);
        push(&thinker->done, job);
        thinker->options.post(thinker->options.arg);
    }
    (void)pthread_mutex_unlock(&thinker->lock);
    if (ai != NULL)
        gomoku_ai_destroy(ai);
    return NULL;
}

enum tocsin_status thinker_create(const struct thinker_options *options,
                                  struct thinker **ret_thinker)
{
    struct thinker *thinker =
        calloc(1, sizeof *thinker + options->threads * sizeof thinker->threads[0]);
    if (thinker == NULL)
        return TOCSIN_NO_MEMORY;
    thinker->options = *options;
    thinker->wanted.end = &thinker->wanted.first;
    thinker->done.end = &thinker->done.first;
    (void)pthread_mutex_init(&thinker->lock, NULL);
    (void)pthread_cond_init(&thinker->changed, NULL);
    while (thinker->running < options->threads &&
           pthread_create(&thinker->threads[thinker->running], NULL, thinker_main, thinker) == 0)
        thinker->running++;
    if (thinker->running < options->threads) {
        thinker_stop(thinker);
        thinker_destroy(thinker);
        return TOCSIN_NO_MEMORY;
    }
    *ret_thinker = thinker;
    return TOCSIN_OK;
}

void thinker_stop(struct thinker *thinker)
{
    atomic_store(&thinker->cancel, true);
    (void)pthread_mutex_lock(&thinker->lock);
    thinker->stopping = true;
    (void)pthread_cond_broadcast(&thinker->changed);
    (void)pthread_mutex_unlock(&thinker->lock);
    for (; thinker->running > 0; thinker->running--)
        (void)pthread_join(thinker->threads[thinker->running - 1], NULL);
}

void thinker_destroy(struct thinker *thinker)
{
    if (thinker == NULL)
        return;
    (void)pthread_mutex_destroy(&thinker->lock);
    (void)pthread_cond_destroy(&thinker->changed);
    free(thinker);
}

void thinker_give(struct thinker *thinker, struct room_job *job)
{
    job->given_ns = clock_elapsed(&clock_system).ns;
    (void)pthread_mutex_lock(&thinker->lock);
    push(&thinker->wanted, job);
    (void)pthread_cond_signal(&thinker->changed);
    (void)pthread_mutex_unlock(&thinker->lock);
}

struct room_job *thinker_take(struct thinker *thinker)
{
    (void)pthread_mutex_lock(&thinker->lock);
    struct room_job *job = pop(&thinker->done);
    (void)pthread_mutex_unlock(&thinker->lock);
    return job;
}
