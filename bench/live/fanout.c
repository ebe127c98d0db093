/* SPDX-License-Identifier: MIT */
/* One topic, one tick a second, many clients: a bare loop of sends, Tocsin, and Node's ws. */
#include <stdio.h>
#include <string.h>

#include "audience.h"
#include "bare.h"
#include "node.h"
#include "parts.h"
#include "requests.h"
#include "server/yardstick.h"

void parts_wakeups(struct results *results, const struct options *options)
{
    struct bench_ranks wakeups = yardstick_wakeups(options->quick ? 1 : 2);
    results_add(results, "wakeup-p50", "yardstick", 0, "ms", wakeups.p50_ms);
    results_add(results, "wakeup-p99", "yardstick", 0, "ms", wakeups.p99_ms);
}

static void enter(void *arg, struct swarm *swarm, uint32_t client)
{
    (void)arg;
    swarm_subscribe(swarm, client, 0, "/topic/countdown.bench", true);
}

/* Due at whole seconds, as the others are. */
static void write_countdown(void *arg, uint64_t number, struct request_text *ret_text)
{
    (void)arg;
    (void)number;
    ret_text->method = "PUT";
    snprintf(ret_text->path, sizeof ret_text->path, "/v1/countdowns/bench");
    snprintf(ret_text->body, sizeof ret_text->body,
             "{\"owner\":\"me\",\"version\":\"1\",\"deadline_ms\":%lld}",
             (long long)(bench_wall_ns() / 1000000000 + 3600) * 1000);
}

static void add(struct results *results, const char *server, const struct heard *heard)
{
    results_add_ranks(results, "fanout", server, heard->late);
    results_add(results, "fanout-cpu", server, 0, "us", heard->server_us);
    results_add(results, "fanout-client-cpu", server, 0, "us", heard->client_us);
    results_add(results, "fanout-wait", server, 0, "ms/s", heard->wait_ms);
}

static struct heard listen_to(struct results *results, const char *name, const struct child *child,
                              unsigned short port, const struct options *options)
{
    struct audience audience = {.clients = options->clients, .enter = enter};
    audience_open(&audience, options->seconds);
    audience_enter(&audience, port, strcmp(name, "yardstick") != 0, name);
    struct heard heard = audience_listen(&audience, child, options->seconds);
    audience_close(&audience);
    add(results, name, &heard);
    return heard;
}

static void measure_bare(struct results *results, const struct options *options)
{
    struct child child;
    unsigned short port;
    bare_start(&child, options->clients, &port);
    listen_to(results, "yardstick", &child, port, options);
    child_kill(&child);
}

static struct heard measure_tocsin(struct results *results, const struct options *options)
{
    struct server server;
    struct audience audience = {.clients = options->clients, .enter = enter};
    struct requests requests = {.write = write_countdown};
    server_start(&server, &peer_tocsin, NULL, false);
    requests_run(&server, 1, &requests);
    audience_open(&audience, options->seconds);
    audience_enter(&audience, server.port, true, "tocsin");
    audience_watch(&audience, server.port);
    struct heard heard = audience_listen(&audience, &server.child, options->seconds);
    add(results, "tocsin", &heard);
    bench_progress("tocsin: listening, and %d countdowns run out", WATCHERS * WATCHED);
    struct expired expired = audience_expire(&audience, &server, options->seconds);
    results_add_ranks(results, "fanout-timeout", "tocsin", expired.late);
    results_add(results, "fanout-timeout-told-p50", "tocsin", 0, "ms", expired.told.p50_ms);
    results_add(results, "fanout-timeout-told-p99", "tocsin", 0, "ms", expired.told.p99_ms);
    results_add(results, "fanout-timeout-wait", "tocsin", 0, "ms/s", expired.wait_ms);
    server_drop(&server);
    audience_close(&audience);
    return heard;
}

void part_fanout(struct results *results, const struct options *options)
{
    for (unsigned round = 0; round < options->rounds; round++) {
        struct child node;
        unsigned short port;
        bench_progress("round %u of %u: fan-out, yardsticks", round + 1, options->rounds);
        parts_wakeups(results, options);
        measure_bare(results, options);
        struct heard ours = measure_tocsin(results, options);
        if (!node_start(&node, &port))
            continue;
        struct heard theirs = listen_to(results, "ws", &node, port, options);
        child_kill(&node);
        results_add(results, "fanout-p99-ratio", "ws/tocsin", 0, "x",
                    theirs.late.p99_ms / ours.late.p99_ms);
        results_add(results, "fanout-cpu-ratio", "ws/tocsin", 0, "x",
                    theirs.server_us / ours.server_us);
    }
}
