/* SPDX-License-Identifier: MIT */
/* sample.h - what did the server's metrics say at one moment, and what happened between two?
 *
 * Picks the figures that `tocsin top` shows out of the text of /metrics. What a server does not
 * tell is 0.
 */
#ifndef TOCSIN_CLI_SAMPLE_H
#define TOCSIN_CLI_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    SAMPLE_BUCKETS_MAX = 40,
    SAMPLE_QUEUES_MAX = 64,
    SAMPLE_LEVELS = 16,
    SAMPLE_NAME_BYTES = 64
};

enum sample_id {
    SAMPLE_ADDED,
    SAMPLE_FIRED,
    SAMPLE_ACKED,
    SAMPLE_FAILED,
    SAMPLE_RETRIED,
    SAMPLE_CANCELLED,
    SAMPLE_ACTIVE,
    SAMPLE_RUNNING,
    SAMPLE_INCIDENTS,
    SAMPLE_COMMITS,
    SAMPLE_COMMANDS,
    SAMPLE_MEMORY,
    SAMPLE_CPU,
    SAMPLE_CONNECTIONS,
    SAMPLE_FILE,
    SAMPLE_LOG,
    SAMPLE_LEASES,
    SAMPLE_LEASES_IN_LINE,
    SAMPLE_LEASES_RENEWED,
    SAMPLE_LEASES_EXPIRED,
    SAMPLE_RENEWALS,
    SAMPLE_RENEWALS_PAUSED,
    SAMPLE_RENEWALS_IN_TROUBLE,
    SAMPLE_KEYS_RENEWED,
    SAMPLE_IDS,
};

/* Counts up to and with each bound, in seconds; the last bound is infinite. */
struct sample_histogram {
    size_t count;
    double bounds[SAMPLE_BUCKETS_MAX];
    double totals[SAMPLE_BUCKETS_MAX];
};

struct sample_queue {
    char name[SAMPLE_NAME_BYTES];
    double depth;
    double leased;
    double delayed;
    double waiting;
};

struct sample {
    uint64_t at_us;
    double values[SAMPLE_IDS];
    struct sample_histogram lateness;
    struct sample_histogram commit;
    size_t queue_count;
    struct sample_queue queues[SAMPLE_QUEUES_MAX];
    double levels[SAMPLE_LEVELS];
};

/* False: this is not such a text. */
bool sample_read(struct bytes text, uint64_t at_us, struct sample *ret_sample);

/* How much was added in a second. */
double sample_rate(const struct sample *older, const struct sample *newer, enum sample_id id);
/* What part of those between the two stayed at or below, in ms, as exactly as the buckets tell;
 * negative: there were none. */
double sample_percentile_ms(const struct sample_histogram *older,
                            const struct sample_histogram *newer, double part);

#endif
