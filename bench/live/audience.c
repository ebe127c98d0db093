/* SPDX-License-Identifier: MIT */
#include "audience.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "requests.h"

enum { PATIENCE_MS = 5000, LEAD_MS = 1500, AWAIT_S = 60 };

static int64_t wall_now_ms(void)
{
    return bench_wall_ns() / 1000000;
}

/* ---- what comes */

static void connected(void *arg, struct swarm *swarm, uint32_t client)
{
    struct audience *self = arg;
    if (client < self->clients) {
        self->enter(self->arg, swarm, client);
        return;
    }
    for (unsigned i = 0; i < WATCHED; i++) {
        char destination[64];
        snprintf(destination, sizeof destination, "/topic/countdown.w%u",
                 (client - self->clients) * WATCHED + i);
        swarm_subscribe(swarm, client, i, destination, i + 1 == WATCHED);
    }
}

static void take_timeout(struct audience *self, const char *body, size_t size, int64_t wall_ns)
{
    int64_t deadline_ms, expired_ms;
    if (!body_number(body, size, "deadline_ms", &deadline_ms) ||
        !body_number(body, size, "expired_ms", &expired_ms))
        return; /* what else is told of a countdown: its start */
    if (self->expired_count == WATCHERS * WATCHED)
        bench_die("a countdown runs out twice");
    self->expired_ms[self->expired_count] = (float)(expired_ms - deadline_ms);
    self->told_ms[self->expired_count++] = (float)((double)wall_ns / 1e6 - (double)deadline_ms);
}

static void message(void *arg, struct swarm *swarm, uint32_t client, const char *body, size_t size,
                    int64_t wall_ns)
{
    struct audience *self = arg;
    int64_t deadline_ms, left;
    if (client >= self->clients) {
        take_timeout(self, body, size, wall_ns);
        return;
    }
    if (!body_number(body, size, "deadlineEpochMs", &deadline_ms) ||
        !body_number(body, size, "left", &left)) {
        if (self->other != NULL)
            self->other(self->arg, swarm, client, body, size);
        return;
    }
    if (!self->hears[client]) {
        self->hears[client] = true;
        self->hearing++;
    }
    int64_t due_ms = deadline_ms - left * 1000;
    if (due_ms < self->from_ms || due_ms >= self->to_ms)
        return;
    if (self->late_count == self->late_room)
        bench_die("a tick comes twice");
    self->late_ms[self->late_count++] = (float)((double)(wall_ns - due_ms * 1000000) / 1e6);
}

/* ---- coming and going */

void audience_open(struct audience *audience, unsigned seconds)
{
    struct swarm_hooks hooks = {.connected = connected, .message = message, .arg = audience};
    swarm_open(&audience->swarm, &hooks, audience->clients + WATCHERS);
    audience->hears = bench_alloc(audience->clients, sizeof *audience->hears);
    memset(audience->hears, 0, audience->clients * sizeof *audience->hears);
    audience->late_room = (size_t)audience->clients * seconds;
    audience->late_ms = bench_alloc(audience->late_room, sizeof *audience->late_ms);
}

void audience_enter(struct audience *audience, unsigned short port, bool greets, const char *what)
{
    enum { SAY_EVERY = 1000 };
    for (uint32_t i = 0; i < audience->clients; i++) {
        if (i % SAY_EVERY == 0)
            bench_progress("%s: %u of %u clients", what, i, audience->clients);
        swarm_join(&audience->swarm, port, greets);
    }
    swarm_settle(&audience->swarm);
    bench_progress("%s: listening", what);
}

void audience_watch(struct audience *audience, unsigned short port)
{
    for (uint32_t i = 0; i < WATCHERS; i++)
        swarm_join(&audience->swarm, port, true);
    swarm_settle(&audience->swarm);
}

void audience_await(struct audience *audience)
{
    uint64_t until_ns = bench_now_ns() + AWAIT_S * UINT64_C(1000000000);
    while (audience->hearing < audience->clients) {
        swarm_turn(&audience->swarm, 100);
        if (bench_now_ns() > until_ns)
            bench_die("only %u of %u clients hear anything", audience->hearing, audience->clients);
    }
}

void audience_close(struct audience *audience)
{
    swarm_close(&audience->swarm);
    free(audience->hears);
    free(audience->late_ms);
}

/* ---- a window */

static void turn_until(struct audience *self, int64_t until_ms)
{
    for (int64_t now_ms = wall_now_ms(); now_ms < until_ms; now_ms = wall_now_ms())
        swarm_turn(&self->swarm, (int)(until_ms - now_ms));
}

/* How long the main thread of a process could have run, and others did. */
static double waited_ms(const struct child *child)
{
    char path[64];
    unsigned long long ran_ns, waited_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)child->pid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%llu %llu", &ran_ns, &waited_ns) != 2)
            waited_ns = 0;
        fclose(file);
    }
    return (double)waited_ns / 1e6;
}

static void open_window(struct audience *self, int64_t from_ms, unsigned seconds)
{
    self->from_ms = from_ms;
    self->to_ms = from_ms + seconds * INT64_C(1000);
    self->late_count = 0;
}

/* Through the window, and until all have heard of all. */
static void pass_window(struct audience *self)
{
    size_t wanted = (size_t)self->clients * (size_t)((self->to_ms - self->from_ms) / 1000);
    turn_until(self, self->to_ms);
    while (self->late_count < wanted) {
        swarm_turn(&self->swarm, 100);
        if (wall_now_ms() > self->to_ms + PATIENCE_MS)
            bench_die("only %zu of %zu ticks were heard", self->late_count, wanted);
    }
}

struct heard audience_listen(struct audience *audience, const struct child *child, unsigned seconds)
{
    int64_t from_ms = (wall_now_ms() + LEAD_MS) / 1000 * 1000 + 500;
    open_window(audience, from_ms, seconds);
    turn_until(audience, from_ms);
    uint64_t server_ns = child_cpu_ns(child), client_ns = bench_process_cpu_ns();
    uint64_t messages = audience->swarm.messages;
    double waited = waited_ms(child);
    pass_window(audience);
    waited = waited_ms(child) - waited;
    messages = audience->swarm.messages - messages;
    server_ns = child_cpu_ns(child) - server_ns;
    client_ns = bench_process_cpu_ns() - client_ns;
    return (struct heard){
        .late = bench_rank(audience->late_ms, audience->late_count),
        .server_us = (double)server_ns / 1e3 / (double)messages,
        .client_us = (double)client_ns / 1e3 / (double)messages,
        .wait_ms = waited / seconds,
    };
}

/* ---- what runs out meanwhile */

struct deadlines {
    int64_t from_ms;
    uint32_t width_ms;
    uint64_t random;
};

static void write_countdown(void *arg, uint64_t number, struct request_text *ret_text)
{
    struct deadlines *self = arg;
    ret_text->method = "PUT";
    snprintf(ret_text->path, sizeof ret_text->path, "/v1/countdowns/w%u", (unsigned)number);
    snprintf(ret_text->body, sizeof ret_text->body,
             "{\"owner\":\"me\",\"version\":\"1\",\"deadline_ms\":%lld}",
             (long long)(self->from_ms + bench_random_below(&self->random, self->width_ms)));
}

struct expired audience_expire(struct audience *audience, const struct server *server,
                               unsigned seconds)
{
    enum { ALL = WATCHERS * WATCHED };
    int64_t from_ms = (wall_now_ms() + LEAD_MS) / 1000 * 1000 + 500;
    struct deadlines deadlines = {from_ms, seconds * 1000, (uint64_t)from_ms};
    struct requests requests = {.write = write_countdown, .arg = &deadlines};
    open_window(audience, from_ms, seconds);
    requests_run(server, ALL, &requests);
    if (wall_now_ms() > from_ms)
        bench_die("starting %d countdowns took more than a second", ALL);
    turn_until(audience, from_ms);
    double waited = waited_ms(&server->child);
    pass_window(audience);
    waited = waited_ms(&server->child) - waited;
    while (audience->expired_count < ALL) {
        swarm_turn(&audience->swarm, 100);
        if (wall_now_ms() > audience->to_ms + PATIENCE_MS)
            bench_die("only %zu of %d countdowns ran out", audience->expired_count, ALL);
    }
    return (struct expired){
        .late = bench_rank(audience->expired_ms, ALL),
        .told = bench_rank(audience->told_ms, ALL),
        .wait_ms = waited / seconds,
    };
}
