/* SPDX-License-Identifier: MIT */
/* work.h - who takes the tasks that are due, and what became of each?
 *
 * Workers wait with a lease call on connections of their own; what they get is acknowledged
 * on others, so that no answer waits behind another. Every task must come exactly once, and
 * none before its due time. Tocsin only: the peers do not wake a worker, they are asked.
 */
#ifndef TOCSIN_BENCH_SERVER_WORK_H
#define TOCSIN_BENCH_SERVER_WORK_H

#include "peer.h"

enum { RUN_BYTES_MAX = 31, RUNS_MAX = 1 << 20 };

struct run_name {
    unsigned char size;
    char text[RUN_BYTES_MAX];
};

struct work {
    struct load load;
    struct server *server;
    /* how */
    unsigned lease_max;
    unsigned ack_max; /* 1: a request each */
    /* what comes is one of [first_id, first_id + count) */
    uint64_t first_id, count;
    unsigned char *seen;
    float *late_ms; /* NULL: not wanted */
    /* how far */
    uint64_t leased, acked, lease_answers;
    bool enough; /* no further leases */
    struct connection *ackers[CONNECTIONS_MAX];
    unsigned acker_count;
    struct run_name *runs; /* to be acknowledged: a ring */
    uint64_t run_head, run_tail;
    char lease[256]; /* the request */
    size_t lease_size;
};

/* Connects so many of each; nothing is asked for before work_lease_all. */
void work_open(struct work *work, struct server *server, unsigned leasers, unsigned ackers,
               bool lateness, uint64_t count);
void work_lease_all(struct work *work);
/* What is to be acknowledged goes to connections that are free; between two turns. */
void work_ack(struct work *work);
void work_close(struct work *work);

#endif
