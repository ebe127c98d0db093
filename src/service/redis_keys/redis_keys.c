/* SPDX-License-Identifier: MIT */
#include "service/redis_keys/redis_keys.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "net/redis/redis.h"
#include "service/redis_keys/redis_work.h"

enum { WHY_BYTES = 160, CALLS_MAX = 1000000, JOBS_AT_ONCE = 128 };

/* One server. What both threads use is under the lock, or never changes. */
struct server_keys {
    struct redis_place place; /* first; our thread's, but for its name and done */
    struct redis_keys *keys;
    struct server_keys *next;
    struct redis_server server;
    bool given;   /* since the last flush: the service's thread's */
    bool closing; /* there will be no other client: our thread's */
    uint64_t number;
    struct key_jobs wanted; /* shared */
    bool connected;         /* shared */
    bool news;              /* shared: to be told */
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
    size_t open;                 /* clients: of our thread */
    bool closing;                /* of our thread */
    struct key_jobs done;        /* shared */
    struct key_job *taken;       /* from them, to be told: the service's thread's */
    struct server_keys *servers; /* shared */
    uint64_t count;
};

/* ---- our thread: a job is done */

static void hand_back(struct redis_place *place, struct key_job *job)
{
    struct redis_keys *keys = ((struct server_keys *)place)->keys;
    (void)pthread_mutex_lock(&keys->lock);
    bool first = keys->done.first == NULL;
    key_jobs_push(&keys->done, job);
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
    const struct redis_server *server = &of->server;
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
                                        .seed = keys->options.seed + of->number,
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
    struct key_job *job = key_jobs_take(&of->wanted);
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
    struct server_keys *servers = keys->servers;
    (void)pthread_mutex_unlock(&keys->lock);
    for (struct server_keys *of = servers; of != NULL; of = of->next)
        take_jobs(of);
    if (!stopping)
        return;
    keys->closing = true;
    keys->open++; /* until all have been asked to */
    for (struct server_keys *of = servers; of != NULL; of = of->next) {
        struct redis *redis = of->place.redis;
        of->closing = true;
        of->place.redis = NULL;
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
        key_jobs_push(&of->wanted, job);
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

enum tocsin_status redis_keys_add(struct redis_keys *keys, const struct redis_server *server,
                                  struct key_client *ret_client)
{
    struct server_keys *of = calloc(1, sizeof *of);
    if (of == NULL)
        return TOCSIN_NO_MEMORY;
    of->keys = keys;
    of->server = *server;
    of->number = keys->count++;
    of->place = (struct redis_place){
        .name = server->name, .timeout_ms = keys->options.timeout_ms, .done = hand_back};
    key_jobs_init(&of->wanted);
    (void)pthread_mutex_lock(&keys->lock);
    of->next = keys->servers;
    keys->servers = of;
    (void)pthread_mutex_unlock(&keys->lock);
    *ret_client = (struct key_client){.give = give, .flush = flush, .reached = reached, .self = of};
    return TOCSIN_OK;
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
            keys->taken = key_jobs_take(&keys->done);
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
    for (struct server_keys *of = keys->servers; of != NULL; of = of->next) {
        bool connected;
        char why[WHY_BYTES];
        if (take_news(of, &connected, why) && told != NULL)
            told(arg, of->server.name, connected, why);
    }
    return more;
}

void redis_keys_stop(struct redis_keys *keys, uint32_t wait_ms)
{
    (void)pthread_mutex_lock(&keys->lock);
    bool first = !keys->stopping;
    keys->stopping = true;
    if (first)
        keys->wait_ms = wait_ms; /* which its thread may be reading already */
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
    while (keys->servers != NULL) {
        struct server_keys *of = keys->servers;
        keys->servers = of->next;
        free(of);
    }
    free(keys);
}

enum tocsin_status redis_keys_create(const struct redis_keys_options *options,
                                     struct redis_keys **ret_keys)
{
    struct redis_keys *keys = calloc(1, sizeof *keys);
    if (keys == NULL)
        return TOCSIN_NO_MEMORY;
    keys->options = *options;
    key_jobs_init(&keys->done);
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
