/* SPDX-License-Identifier: MIT */
/* drive.h - how many tasks a second does a server take?
 *
 * Closed loop: every connection keeps so many requests under way, and sends the next when an
 * answer came. Every answer is checked; one that is not good ends the benchmark.
 */
#ifndef TOCSIN_BENCH_SERVER_DRIVE_H
#define TOCSIN_BENCH_SERVER_DRIVE_H

#include "peer.h"
#include "results.h"

struct drive {
    unsigned connections;
    unsigned depth; /* requests under way on each */
    enum wish wish;
    unsigned units; /* tasks a request */
    size_t id_bytes;
    double warm_s, run_s; /* what is counted comes after the warm-up */
};

struct pace {
    double rate;                 /* tasks a second */
    double server_us, client_us; /* of the processors, for each */
};

/* What was used of the processors tells more than the rate on a machine that others use. */
struct pace_meter {
    uint64_t from_ns, server_ns, client_ns, tasks;
};

void pace_start(struct pace_meter *meter, const struct server *server, uint64_t tasks);
struct pace pace_read(const struct pace_meter *meter, const struct server *server, uint64_t tasks);

/* ROW, ROW-server-cpu and ROW-client-cpu, with nothing pending. */
void pace_add(struct results *results, const char *row, const char *server, struct pace pace);

struct pace drive_for(struct server *server, const struct drive *drive);
/* So many tasks, at the speed there is, with progress; they are a whole number of batches. */
void drive_fill(struct server *server, uint64_t tasks, size_t id_bytes);
/* So many changes by PUT, spread over the first `tasks` ids. Tocsin only. */
void drive_replace(struct server *server, uint64_t changes, uint64_t tasks, size_t id_bytes);

#endif
