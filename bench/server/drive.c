/* SPDX-License-Identifier: MIT */
#include "drive.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"

enum { FILL_UNITS = 1000, FILL_CONNECTIONS = 4 };

/* A measurement on its way. */
struct driving {
    struct load load;
    struct server *server;
    struct recipe recipe;
    uint64_t answered; /* tasks */
    uint64_t left;     /* requests that may still be sent */
};

static void send_next(struct driving *self, struct connection *connection)
{
    if (self->left == 0)
        return;
    self->left--;
    char *out = load_room(connection, recipe_bytes(&self->recipe));
    load_request(connection, recipe_write(&self->recipe, self->server, out));
}

static void taken(void *arg, struct connection *connection, const struct answer *answer)
{
    struct driving *self = arg;
    (void)answer;
    self->answered += connection->units;
    send_next(self, connection);
}

static void begin(struct driving *self, struct server *server, const struct drive *drive,
                  uint64_t requests)
{
    self->server = server;
    self->answered = 0;
    self->left = requests;
    server->peer->recipe(server, drive->wish, drive->units, drive->id_bytes, &self->recipe);
    load_open(&self->load);
    for (unsigned i = 0; i < drive->connections; i++) {
        struct connection *connection =
            load_connect(&self->load, server->port, self->recipe.frame, taken, self);
        connection->units = drive->units;
        for (unsigned j = 0; j < drive->depth; j++)
            send_next(self, connection);
    }
}

static void end(struct driving *self)
{
    self->left = 0;
    while (self->load.under_way > 0)
        load_turn(&self->load, 1000);
    load_close(&self->load);
}

void pace_start(struct pace_meter *meter, const struct server *server, uint64_t tasks)
{
    *meter = (struct pace_meter){.from_ns = bench_now_ns(),
                                 .server_ns = child_cpu_ns(&server->child),
                                 .client_ns = bench_cpu_ns(),
                                 .tasks = tasks};
}

struct pace pace_read(const struct pace_meter *meter, const struct server *server, uint64_t tasks)
{
    double count = (double)(tasks - meter->tasks);
    double seconds = (double)(bench_now_ns() - meter->from_ns) / 1e9;
    if (tasks == meter->tasks)
        bench_die("%s answered nothing", server->peer->name);
    return (struct pace){
        .rate = count / seconds,
        .server_us = (double)(child_cpu_ns(&server->child) - meter->server_ns) / 1e3 / count,
        .client_us = (double)(bench_cpu_ns() - meter->client_ns) / 1e3 / count,
    };
}

void pace_add(struct results *results, const char *row, const char *server, struct pace pace)
{
    char name[ROW_BYTES];
    results_add(results, row, server, 0, "tasks/s", pace.rate);
    snprintf(name, sizeof name, "%s-server-cpu", row);
    results_add(results, name, server, 0, "us", pace.server_us);
    snprintf(name, sizeof name, "%s-client-cpu", row);
    results_add(results, name, server, 0, "us", pace.client_us);
}

struct pace drive_for(struct server *server, const struct drive *drive)
{
    static struct driving self;
    struct pace_meter meter;
    begin(&self, server, drive, UINT64_MAX);
    uint64_t warm_ns = bench_now_ns() + (uint64_t)(drive->warm_s * 1e9);
    while (bench_now_ns() < warm_ns)
        load_turn(&self.load, 100);
    pace_start(&meter, server, self.answered);
    uint64_t end_ns = meter.from_ns + (uint64_t)(drive->run_s * 1e9), now;
    /* on a slow disk a batch can take longer: then until each connection has had one */
    uint64_t least = meter.tasks + (uint64_t)drive->connections * drive->units;
    uint64_t stuck_ns = end_ns + UINT64_C(60000000000);
    while ((now = bench_now_ns()) < end_ns || (self.answered < least && now < stuck_ns))
        load_turn(&self.load, 100);
    struct pace pace = pace_read(&meter, server, self.answered);
    end(&self);
    return pace;
}

void drive_fill(struct server *server, uint64_t tasks, size_t id_bytes)
{
    static struct driving self;
    unsigned units = tasks % FILL_UNITS == 0 ? FILL_UNITS : 1;
    struct drive drive = {.connections = FILL_CONNECTIONS,
                          .depth = 1,
                          .wish = WISH_SHORT,
                          .units = units,
                          .id_bytes = id_bytes};
    uint64_t told_ns = bench_now_ns(), now;
    begin(&self, server, &drive, tasks / units);
    while (self.load.under_way > 0) {
        load_turn(&self.load, 1000);
        if ((now = bench_now_ns()) - told_ns > 2000000000) {
            told_ns = now;
            bench_progress("filling %s: %.2fM of %.2fM", server->peer->name,
                           (double)self.answered / 1e6, (double)tasks / 1e6);
        }
    }
    end(&self);
    if (self.answered != tasks)
        bench_die("%s took %llu tasks of %llu", server->peer->name,
                  (unsigned long long)self.answered, (unsigned long long)tasks);
}

/* ---- replacing */

struct replacing {
    struct load load;
    uint64_t next, end, tasks;
    size_t id_bytes;
};

static void put_next(struct replacing *self, struct connection *connection)
{
    enum { ROOM = 512, STRIDE = 7919 }; /* prime: neighbours in time are none in the file */
    char id[ID_MAX + 1] = "", payload[PAYLOAD_BYTES - 1] = "", body[256];
    if (self->next == self->end)
        return;
    memset(payload, 'q', sizeof payload - 2);
    id_write(id, self->id_bytes, self->next++ * STRIDE % self->tasks);
    int64_t due_ms = bench_wall_ns() / 1000000 + 7200000;
    int body_size =
        snprintf(body, sizeof body, "{\"at\":%lld,\"payload\":\"%s\"}", (long long)due_ms, payload);
    int size = snprintf(load_room(connection, ROOM), ROOM,
                        "PUT /v1/tasks/%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        "Content-Type: application/json\r\nPrefer: return=minimal\r\n"
                        "Content-Length: %d\r\n\r\n%s",
                        id, body_size, body);
    load_request(connection, (size_t)size);
}

static void put_taken(void *arg, struct connection *connection, const struct answer *answer)
{
    (void)answer;
    put_next(arg, connection);
}

void drive_replace(struct server *server, uint64_t changes, uint64_t tasks, size_t id_bytes)
{
    enum { CONNECTIONS = 16, DEPTH = 32 };
    static struct replacing self;
    self.next = 0;
    self.end = changes;
    self.tasks = tasks;
    self.id_bytes = id_bytes;
    load_open(&self.load);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct connection *connection =
            load_connect(&self.load, server->port, http_frame, put_taken, &self);
        for (unsigned j = 0; j < DEPTH; j++)
            put_next(&self, connection);
    }
    while (self.load.under_way > 0)
        load_turn(&self.load, 1000);
    load_close(&self.load);
}
