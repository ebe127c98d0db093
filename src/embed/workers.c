/* SPDX-License-Identifier: MIT */
/* The pool: as many runs are leased as there are idle workers, and each worker calls the
 * handler that the task names. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_read.h"
#include "embed/inside.h"

enum { LEASE_BYTES_MAX = 64 * 1024 * 1024 };

#define DAY_MS INT64_C(86400000)

void job_free(struct job *job)
{
    free(job->bytes);
    free(job);
}

/* ---- from a lease's answer to jobs */

struct row {
    struct bytes id; /* JSON strings, with quotes, and a payload as it is */
    struct bytes name;
    struct bytes payload;
    uint64_t fence;
    int64_t due_ms;
    int64_t attempt;
};

static void read_row(struct json_reader *reader, struct row *row)
{
    static const char *const names[] = {"run",    "task_id",  "name",           "attempt", "fence",
                                        "due_ms", "fired_ms", "lease_until_ms", "payload"};
    struct json_keys keys = {names, 9, 0};
    struct json_span span;
    size_t which;
    while (json_read_field(reader, &keys, &which)) {
        if (!json_read_raw(reader, &span))
            return;
        struct bytes raw = {span.at, span.size};
        struct json_reader value;
        json_reader_init(&value, span.at, span.size, 0);
        (void)json_read_next(&value);
        if (which == 1)
            row->id = raw;
        else if (which == 2)
            row->name = raw;
        else if (which == 3)
            (void)json_read_int64(&value, &row->attempt);
        else if (which == 4)
            (void)json_read_uint64(&value, &row->fence);
        else if (which == 5)
            (void)json_read_int64(&value, &row->due_ms);
        else if (which == 8)
            row->payload = raw;
    }
}

static char *unescape(struct bytes json, char *to)
{
    struct json_reader reader;
    size_t size = 0;
    json_reader_init(&reader, json.at, json.size, 0);
    if (json_read_next(&reader) == JSON_READ_STRING)
        (void)json_read_string(&reader, to, json.size, &size);
    to[size] = '\0';
    return to + size + 1;
}

static struct job *job_of(const struct row *row)
{
    struct job *job = calloc(1, sizeof *job);
    char *bytes = malloc(row->id.size + row->name.size + row->payload.size + 3);
    if (job == NULL || bytes == NULL) {
        free(job);
        free(bytes);
        return NULL;
    }
    char *name = unescape(row->id, bytes);
    char *payload = unescape(row->name, name);
    if (row->payload.size > 0)
        memcpy(payload, row->payload.at, row->payload.size);
    payload[row->payload.size] = '\0';
    job->bytes = bytes;
    job->run = (struct tocsin_run){
        .task_id = bytes,
        .handler = name,
        .payload = payload,
        .payload_size = row->payload.size,
        .attempt = (uint32_t)row->attempt,
        .fence = row->fence,
        .due_ms = row->due_ms,
    };
    return job;
}

static void add_job(struct tocsin_engine *engine, struct job *job)
{
    (void)pthread_mutex_lock(&engine->lock);
    assert(engine->idle > 0);
    engine->idle--;
    *engine->jobs_end = job;
    engine->jobs_end = &job->next;
    (void)pthread_cond_broadcast(&engine->changed);
    (void)pthread_mutex_unlock(&engine->lock);
}

static void leased(struct tasks_lease *lease)
{
    struct tocsin_engine *engine = lease->arg;
    struct json_reader reader;
    static const char *const names[] = {"runs"};
    struct json_keys keys = {names, 1, 0};
    size_t which;
    json_reader_init(&reader, lease->answer.data, lease->answer.size, 0);
    (void)json_read_expect(&reader, JSON_READ_OBJECT);
    while (json_read_field(&reader, &keys, &which)) {
        (void)json_read_expect(&reader, JSON_READ_ARRAY);
        while (json_read_next(&reader) == JSON_READ_OBJECT) {
            struct row row = {0};
            read_row(&reader, &row);
            struct job *job = job_of(&row);
            if (job != NULL) /* else its lease ends by itself, and it is tried again */
                add_job(engine, job);
        }
    }
    buffer_clear(&lease->answer);
    engine->leasing = false;
}

void workers_lease(struct tocsin_engine *engine)
{
    if (engine->leasing || engine->holding)
        return;
    (void)pthread_mutex_lock(&engine->lock);
    unsigned idle = engine->stop_workers ? 0 : engine->idle;
    (void)pthread_mutex_unlock(&engine->lock);
    if (idle == 0)
        return;
    struct tasks_lease *lease = &engine->lease;
    if (lease->done == NULL)
        buffer_init(&lease->answer, LEASE_BYTES_MAX);
    lease->queue = bytes_of(EMBED_QUEUE);
    lease->max = idle;
    lease->wait_ms = DAY_MS;
    lease->ttl_ms = DAY_MS; /* the task's timeout is shorter */
    lease->done = leased;
    lease->arg = engine;
    engine->leasing = true;
    tasks_lease(engine->tasks, lease);
}

/* ---- a worker */

static const struct handler *find_handler(const struct tocsin_engine *engine, const char *name)
{
    for (size_t i = 0; i < engine->handler_count; i++) {
        if (strcmp(engine->handlers[i].name, name) == 0)
            return &engine->handlers[i];
    }
    return NULL;
}

static void do_job(struct tocsin_engine *engine, const struct job *job)
{
    const struct handler *handler = find_handler(engine, job->run.handler);
    char error[320];
    if (handler == NULL) {
        (void)snprintf(error, sizeof error, "no handler of the name %.255s is registered here",
                       job->run.handler);
        (void)embed_finish(engine, job->run.fence, TOCSIN_INVALID, error);
        return;
    }
    enum tocsin_status status = handler->fn(handler->arg, &job->run);
    if (status != TOCSIN_MORE)
        (void)embed_finish(engine, job->run.fence, status,
                           status == TOCSIN_OK ? NULL : tocsin_status_text(status));
}

void *worker_main(void *arg)
{
    struct tocsin_engine *engine = arg;
    (void)pthread_mutex_lock(&engine->lock);
    for (;;) {
        while (engine->jobs == NULL && !engine->stop_workers)
            (void)pthread_cond_wait(&engine->changed, &engine->lock);
        struct job *job = engine->jobs;
        if (job == NULL)
            break;
        engine->jobs = job->next;
        if (engine->jobs == NULL)
            engine->jobs_end = &engine->jobs;
        engine->busy++;
        (void)pthread_mutex_unlock(&engine->lock);
        do_job(engine, job);
        job_free(job);
        (void)pthread_mutex_lock(&engine->lock);
        engine->busy--;
        engine->idle++;
        embed_wake(engine); /* there is room for one more */
    }
    (void)pthread_mutex_unlock(&engine->lock);
    return NULL;
}
