/* SPDX-License-Identifier: MIT */
/* Many countdowns and nobody who listens: how exact are their ticks, and what do they cost? */
#include <stdio.h>
#include <unistd.h>

#include "jitter.h"
#include "parts.h"
#include "requests.h"

struct spread {
    int64_t first_ms;
};

static void write_countdown(void *arg, uint64_t number, struct request_text *ret_text)
{
    struct spread *self = arg;
    ret_text->method = "PUT";
    snprintf(ret_text->path, sizeof ret_text->path, "/v1/countdowns/c%llu",
             (unsigned long long)number);
    snprintf(ret_text->body, sizeof ret_text->body,
             "{\"owner\":\"me\",\"version\":\"1\",\"deadline_ms\":%lld}",
             (long long)(self->first_ms + (int64_t)(number % 1000)));
}

static void add_jitter(struct results *results, const struct options *options)
{
    struct jitter_wish wish = {options->countdowns, options->seconds};
    struct jitter jitter;
    uint64_t wanted = (uint64_t)options->countdowns * options->seconds;
    bench_in_child(jitter_measure, &wish, &jitter, sizeof jitter);
    if (jitter.ticks != wanted)
        bench_die("%llu ticks were due, and %llu called", (unsigned long long)wanted,
                  (unsigned long long)jitter.ticks);
    results_add_ranks(results, "ticks-jitter", "tocsin", jitter.late);
    results_add(results, "ticks-engine-cpu", "tocsin", 0, "%", jitter.cpu_percent);
}

static void add_server(struct results *results, const struct options *options)
{
    struct server server;
    struct spread spread = {bench_wall_ns() / 1000000 + INT64_C(3600000)};
    struct requests requests = {.write = write_countdown, .arg = &spread};
    server_start(&server, &peer_tocsin, NULL, false);
    requests_run(&server, options->countdowns, &requests);
    usleep(1000000);
    double ticks = metric_read(&server, "tocsin_countdown_ticks_total");
    uint64_t cpu_ns = child_cpu_ns(&server.child), from_ns = bench_now_ns();
    usleep(options->seconds * 1000000);
    cpu_ns = child_cpu_ns(&server.child) - cpu_ns;
    double passed_s = (double)(bench_now_ns() - from_ns) / 1e9;
    ticks = metric_read(&server, "tocsin_countdown_ticks_total") - ticks;
    server_drop(&server);
    results_add(results, "ticks-cpu", "tocsin", 0, "%", (double)cpu_ns / 1e7 / passed_s);
    results_add(results, "ticks-rate", "tocsin", 0, "/s", ticks / passed_s);
}

void part_ticks(struct results *results, const struct options *options)
{
    unsigned rounds = parts_rounds_alone(options);
    for (unsigned round = 0; round < rounds; round++) {
        bench_progress("round %u of %u: ticks, yardstick", round + 1, rounds);
        parts_wakeups(results, options);
        bench_progress("round %u of %u: ticks, jitter", round + 1, rounds);
        add_jitter(results, options);
        bench_progress("round %u of %u: ticks, a server", round + 1, rounds);
        add_server(results, options);
    }
}
