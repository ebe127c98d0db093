/* SPDX-License-Identifier: MIT */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static void lease(struct work *self, struct connection *connection)
{
    memcpy(load_room(connection, self->lease_size), self->lease, self->lease_size);
    load_request(connection, self->lease_size);
}

/* The value after a key, from at on; the reader stands behind it. */
static const char *value_of(const char **at, const char *end, const char *key, size_t key_size)
{
    const char *found = memmem(*at, (size_t)(end - *at), key, key_size);
    if (found == NULL)
        bench_die("a run without %s", key);
    *at = found + key_size;
    return *at;
}
#define VALUE_OF(at, end, key) value_of(at, end, key, sizeof(key) - 1)

static size_t text_size(const char *text, const char *end)
{
    const char *quote = memchr(text, '"', (size_t)(end - text));
    return quote == NULL ? 0 : (size_t)(quote - text);
}

static void take_run(struct work *self, const char **at, const char *end)
{
    const char *run = VALUE_OF(at, end, "\"run\":\"");
    size_t run_size = text_size(run, end);
    const char *task = VALUE_OF(at, end, "\"task_id\":\"");
    uint64_t number = id_read(task, text_size(task, end)) - self->first_id;
    const char *due = VALUE_OF(at, end, "\"due_ms\":");
    int64_t due_ms = 0;
    for (; *due >= '0' && *due <= '9'; due++)
        due_ms = due_ms * 10 + (*due - '0');
    if (run_size == 0 || run_size > RUN_BYTES_MAX || number >= self->count)
        bench_die("a run of something else: %.*s", 60, run);
    if (self->seen[number]++ != 0)
        bench_die("a task came twice: %.*s", 60, task);
    double late_ms = (double)(self->load.wall_ns - due_ms * 1000000) / 1e6;
    if (late_ms < 0)
        bench_die("a task came %.3f ms early", -late_ms);
    if (self->late_ms != NULL)
        self->late_ms[self->leased] = (float)late_ms;
    self->leased++;
    if (self->run_tail - self->run_head == RUNS_MAX)
        bench_die("more than %d runs wait for their acknowledgement", RUNS_MAX);
    struct run_name *name = &self->runs[self->run_tail++ % RUNS_MAX];
    name->size = (unsigned char)run_size;
    memcpy(name->text, run, run_size);
}

static void leased(void *arg, struct connection *connection, const struct answer *answer)
{
    struct work *self = arg;
    const char *at = answer->body, *end = answer->body + answer->body_size;
    static const char key[] = "\"run\":";
    self->lease_answers++;
    while (memmem(at, (size_t)(end - at), key, sizeof key - 1) != NULL)
        take_run(self, &at, end);
    if (!self->enough)
        lease(self, connection);
}

/* {"results":[…]}, or what one ack is answered. A problem names its status by a number. */
static void acked(void *arg, struct connection *connection, const struct answer *answer)
{
    struct work *self = arg;
    if (memmem(answer->body, answer->body_size, "\"code\":", 7) != NULL)
        bench_die("an ack failed, so the run is void: %.*s", (int)answer->body_size, answer->body);
    self->acked += connection->units;
}

static void ack_one(struct work *self, struct connection *connection)
{
    enum { ROOM = 256 };
    const struct run_name *run = &self->runs[self->run_head++ % RUNS_MAX];
    connection->units = 1;
    int size = snprintf(load_room(connection, ROOM), ROOM,
                        "POST /v1/runs/%.*s/ack HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
                        run->size, run->text);
    load_request(connection, (size_t)size);
}

static void ack_many(struct work *self, struct connection *connection)
{
    enum { HEAD_ROOM = 256 };
    uint64_t waiting = self->run_tail - self->run_head;
    unsigned count = waiting < self->ack_max ? (unsigned)waiting : self->ack_max;
    size_t body_size = sizeof "{\"runs\":[]}" - 1 + count - 1;
    for (unsigned i = 0; i < count; i++)
        body_size += self->runs[(self->run_head + i) % RUNS_MAX].size + 2u;
    char *out = load_room(connection, HEAD_ROOM + body_size);
    char *at = out + snprintf(out, HEAD_ROOM,
                              "POST /v1/runs/ack HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                              "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n"
                              "{\"runs\":[",
                              body_size);
    for (unsigned i = 0; i < count; i++) {
        const struct run_name *run = &self->runs[self->run_head++ % RUNS_MAX];
        *at++ = '"';
        memcpy(at, run->text, run->size);
        at += run->size;
        *at++ = '"';
        *at++ = i + 1 < count ? ',' : ']';
    }
    *at++ = '}';
    connection->units = count;
    load_request(connection, (size_t)(at - out));
}

void work_ack(struct work *work)
{
    for (unsigned i = 0; i < work->acker_count && work->run_head < work->run_tail; i++) {
        struct connection *connection = work->ackers[i];
        if (connection->under_way > 0)
            continue;
        if (work->ack_max == 1)
            ack_one(work, connection);
        else
            ack_many(work, connection);
    }
}

void work_open(struct work *work, struct server *server, unsigned leasers, unsigned ackers,
               bool lateness, uint64_t count)
{
    char body[64];
    unsigned lease_max = work->lease_max, ack_max = work->ack_max;
    memset(work, 0, sizeof *work);
    work->server = server;
    work->lease_max = lease_max;
    work->ack_max = ack_max;
    work->first_id = server->next_id;
    work->count = count;
    work->seen = bench_alloc(count, 1);
    work->late_ms = lateness ? bench_alloc(count, sizeof *work->late_ms) : NULL;
    work->runs = bench_alloc(RUNS_MAX, sizeof *work->runs);
    int size =
        snprintf(body, sizeof body, "{\"max\":%u,\"wait\":\"30s\",\"ttl\":\"60s\"}", lease_max);
    work->lease_size =
        (size_t)snprintf(work->lease, sizeof work->lease,
                         "POST /v1/queues/default/lease HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                         "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                         size, body);
    load_open(&work->load);
    for (unsigned i = 0; i < leasers; i++)
        load_connect(&work->load, server->port, http_frame, leased, work);
    for (unsigned i = 0; i < ackers; i++)
        work->ackers[work->acker_count++] =
            load_connect(&work->load, server->port, http_frame, acked, work);
}

void work_lease_all(struct work *work)
{
    for (unsigned i = 0; i < work->load.count; i++) {
        if (work->load.connections[i].taken == leased)
            lease(work, &work->load.connections[i]);
    }
}

void work_close(struct work *work)
{
    load_close(&work->load);
    free(work->seen);
    free(work->late_ms);
    free(work->runs);
}
