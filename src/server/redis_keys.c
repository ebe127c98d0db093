/* SPDX-License-Identifier: MIT */
#include "server/redis_keys.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "net/redis.h"
#include "server/redis_work.h"

enum { WHY_BYTES = 160, CALLS_MAX = 1000000, JOBS_AT_ONCE = 128 };

struct jobs {
    struct key_job *first;
    struct key_job **end;
};

/* One server. What both threads use is under the lock, or never changes. */
struct server_keys {
    struct redis_place place; /* first; our thread's, but for its name and done */
    struct redis_keys *keys;
    const struct redis_server *server;
    bool given;         /* since the last flush: the service's thread's */
    bool closing;       /* there will be no other client: our thread's */
    struct jobs wanted; /* shared */
    bool connected;     /* shared */
    bool news;          /* shared: to be told */
    char why[WHY_BYTES];
};

struct redis_keys {
    struct redis_keys_options options;
    pthread_t thread;
    pthread_mutex_t lock;
    uv_loop_t uv;
    uv_async_t wake;
    bool stopping; /* shared */
    uint32_t wait_ms;
    size_t open;           /* clients: of our thread */
    bool closing;          /* of our thread */
    struct jobs done;      /* shared */
    struct key_job *taken; /* from them, to be told: the service's thread's */
    size_t count;
    struct server_keys servers[];
};

static void jobs_init(struct jobs *jobs)
{
    *jobs = (struct jobs){NULL, NULL};
    jobs->end = &jobs->first;
}

static void push(struct jobs *jobs, struct key_job *job)
{
    job->next = NULL;
    *jobs->end = job;
    jobs->end = &job->next;
}

static struct key_job *take_all(struct jobs *jobs)
{
    struct key_job *first = jobs->first;
    jobs_init(jobs);
    return first;
}

/* ---- our thread: a job is done */

static void hand_back(struct redis_place *place, struct key_job *job)
{
    struct redis_keys *keys = ((struct server_keys *)place)->keys;
    (void)pthread_mutex_lock(&keys->lock);
    bool first = keys->done.first == NULL;
    push(&keys->done, job);
    (void)pthread_mutex_unlock(&keys->lock);
    if (first)
        keys->options.post(keys->options.arg);
}

/* ---- our thread: a job has come */

static void on_state(void *arg, bool connected, const char *why)
{
    struct server_keys *of = arg;
    struct redis_keys *keys = of->keys;
    (void)pthread_mutex_lock(&keys->lock);
    of->news = of->connected != connected || (!connected && strcmp(of->why, why) != 0);
    of->connected = connected;
    of->place.old = of->place.old && !connected; /* it may be another one now */
    (void)snprintf(of->why, sizeof of->why, "%s", why == NULL ? "" : why);
    bool news = of->news;
    (void)pthread_mutex_unlock(&keys->lock);
    if (news)
        keys->options.post(keys->options.arg);
}

/* With the first job: who has no renewals needs no Redis. */
static bool reach(struct server_keys *of)
{
    struct redis_keys *keys = of->keys;
    const struct redis_server *server = of->server;
    if (of->place.redis != NULL)
        return true;
    if (of->closing || redis_create(&keys->uv,
                                    &(struct redis_options){
                                        .host = server->host,
                                        .port = server->port,
                                        .user = server->user[0] != '\0' ? server->user : NULL,
                                        .password = server->password,
                                        .database = server->database,
                                        .scripts = redis_work_scripts,
                                        .script_count = REDIS_WORK_SCRIPTS,
                                        .calls_max = CALLS_MAX,
                                        .seed = keys->options.seed + (uint64_t)(of - keys->servers),
                                        .on_state = on_state,
                                        .arg = of,
                                    },
                                    &of->place.redis) != TOCSIN_OK)
        return false;
    keys->open++;
    return true;
}

static void take_jobs(struct server_keys *of)
{
    struct redis_keys *keys = of->keys;
    (void)pthread_mutex_lock(&keys->lock);
    struct key_job *job = take_all(&of->wanted);
    (void)pthread_mutex_unlock(&keys->lock);
    while (job != NULL) {
        struct key_job *next = job->next;
        if (reach(of))
            redis_work_begin(&of->place, job);
        else
            redis_work_fail(&of->place, job,
                            of->closing ? "the server is stopping" : "there was no memory");
        job = next;
    }
}

static void close_when_all_are(struct redis_keys *keys)
{
    if (keys->open == 0)
        uv_close((uv_handle_t *)&keys->wake, NULL);
}

static void closed(void *arg)
{
    struct redis_keys *keys = arg;
    keys->open--;
    close_when_all_are(keys);
}

static void woken(uv_async_t *async)
{
    struct redis_keys *keys = async->data;
    /* Asked first: whatever was given before the stop is there then, to be taken below. */
    (void)pthread_mutex_lock(&keys->lock);
    bool stopping = keys->stopping && !keys->closing;
    (void)pthread_mutex_unlock(&keys->lock);
    for (size_t i = 0; i < keys->count; i++)
        take_jobs(&keys->servers[i]);
    if (!stopping)
        return;
    keys->closing = true;
    keys->open++; /* until all have been asked to */
    for (size_t i = 0; i < keys->count; i++) {
        struct redis *redis = keys->servers[i].place.redis;
        keys->servers[i].closing = true;
        keys->servers[i].place.redis = NULL;
        if (redis != NULL)
            redis_close(redis, keys->wait_ms, closed, keys);
    }
    closed(keys);
}

static void *run(void *arg)
{
    struct redis_keys *keys = arg;
    (void)uv_run(&keys->uv, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- the service's thread */

static void give(void *self, struct key_job *job)
{
    struct server_keys *of = self;
    (void)pthread_mutex_lock(&of->keys->lock);
    bool stopping = of->keys->stopping; /* the thread may be gone */
    if (!stopping)
        push(&of->wanted, job);
    (void)pthread_mutex_unlock(&of->keys->lock);
    of->given = !stopping;
    if (stopping)
        redis_work_fail(&of->place, job, "the server is stopping");
}

static void flush(void *self)
{
    struct server_keys *of = self;
    if (of->given)
        (void)uv_async_send(&of->keys->wake);
    of->given = false;
}

static bool reached(void *self)
{
    struct server_keys *of = self;
    (void)pthread_mutex_lock(&of->keys->lock);
    bool connected = of->connected;
    (void)pthread_mutex_unlock(&of->keys->lock);
    return connected;
}

struct key_client redis_keys_client(struct redis_keys *keys, size_t server)
{
    return (struct key_client){
        .give = give, .flush = flush, .reached = reached, .self = &keys->servers[server]};
}

static bool take_news(struct server_keys *of, bool *ret_connected, char ret_why[WHY_BYTES])
{
    (void)pthread_mutex_lock(&of->keys->lock);
    bool news = of->news;
    of->news = false;
    *ret_connected = of->connected;
    memcpy(ret_why, of->why, WHY_BYTES);
    (void)pthread_mutex_unlock(&of->keys->lock);
    return news;
}

/* Jobs that are done; true: there are more. */
static bool take_some(struct redis_keys *keys)
{
    for (int i = 0; i < JOBS_AT_ONCE; i++) {
        if (keys->taken == NULL) {
            (void)pthread_mutex_lock(&keys->lock);
            keys->taken = take_all(&keys->done);
            (void)pthread_mutex_unlock(&keys->lock);
        }
        struct key_job *job = keys->taken;
        if (job == NULL)
            return false;
        keys->taken = job->next; /* first: the job is gone when it is done */
        job->done(job);
    }
    return keys->taken != NULL;
}

bool redis_keys_take(struct redis_keys *keys,
                     void (*told)(void *arg, const char *name, bool connected, const char *why),
                     void *arg)
{
    bool more = take_some(keys);
    for (size_t i = 0; i < keys->count; i++) {
        bool connected;
        char why[WHY_BYTES];
        if (take_news(&keys->servers[i], &connected, why) && told != NULL)
            told(arg, keys->servers[i].server->name, connected, why);
    }
    return more;
}

void redis_keys_stop(struct redis_keys *keys, uint32_t wait_ms)
{
    (void)pthread_mutex_lock(&keys->lock);
    bool first = !keys->stopping;
    keys->stopping = true;
    keys->wait_ms = wait_ms;
    (void)pthread_mutex_unlock(&keys->lock);
    if (first)
        (void)uv_async_send(&keys->wake);
}

void redis_keys_join(struct redis_keys *keys)
{
    (void)pthread_join(keys->thread, NULL);
}

void redis_keys_destroy(struct redis_keys *keys)
{
    if (keys == NULL)
        return;
    (void)uv_loop_close(&keys->uv);
    (void)pthread_mutex_destroy(&keys->lock);
    free(keys);
}

enum tocsin_status redis_keys_create(const struct redis_keys_options *options,
                                     struct redis_keys **ret_keys)
{
    struct redis_keys *keys = calloc(1, sizeof *keys + options->count * sizeof keys->servers[0]);
    if (keys == NULL)
        return TOCSIN_NO_MEMORY;
    keys->options = *options;
    keys->count = options->count;
    jobs_init(&keys->done);
    for (size_t i = 0; i < keys->count; i++) {
        keys->servers[i].keys = keys;
        keys->servers[i].server = &options->servers[i * options->stride];
        keys->servers[i].place = (struct redis_place){.name = keys->servers[i].server->name,
                                                      .timeout_ms = options->timeout_ms,
                                                      .done = hand_back};
        jobs_init(&keys->servers[i].wanted);
    }
    if (uv_loop_init(&keys->uv) != 0) {
        free(keys);
        return TOCSIN_NO_MEMORY;
    }
    (void)pthread_mutex_init(&keys->lock, NULL);
    (void)uv_async_init(&keys->uv, &keys->wake, woken);
    keys->wake.data = keys;
    if (pthread_create(&keys->thread, NULL, run, keys) != 0) {
        uv_close((uv_handle_t *)&keys->wake, NULL);
        (void)uv_run(&keys->uv, UV_RUN_DEFAULT);
        redis_keys_destroy(keys);
        return TOCSIN_NO_MEMORY;
    }
    *ret_keys = keys;
    return TOCSIN_OK;
}
