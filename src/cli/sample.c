/* SPDX-License-Identifier: MIT */
#include "cli/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 512 };

static const char *const names[SAMPLE_IDS] = {
    [SAMPLE_ADDED] = "tocsin_tasks_added_total",
    [SAMPLE_FIRED] = "tocsin_tasks_fired_total",
    [SAMPLE_ACKED] = "tocsin_tasks_executed_total",
    [SAMPLE_FAILED] = "tocsin_tasks_failed_total",
    [SAMPLE_RETRIED] = "tocsin_tasks_retried_total",
    [SAMPLE_CANCELLED] = "tocsin_tasks_cancelled_total",
    [SAMPLE_ACTIVE] = "tocsin_tasks_active",
    [SAMPLE_RUNNING] = "tocsin_tasks_running",
    [SAMPLE_INCIDENTS] = "tocsin_incidents_open",
    [SAMPLE_COMMITS] = "tocsin_store_commits_total",
    [SAMPLE_COMMANDS] = "tocsin_command_queue_size",
    [SAMPLE_MEMORY] = "tocsin_process_resident_memory_bytes",
    [SAMPLE_CPU] = "tocsin_process_cpu_seconds_total",
    [SAMPLE_CONNECTIONS] = "tocsin_http_connections",
    [SAMPLE_FILE] = "tocsin_store_file_bytes",
    [SAMPLE_LOG] = "tocsin_store_log_bytes",
    [SAMPLE_LEASES] = "tocsin_named_leases_held",
    [SAMPLE_LEASES_IN_LINE] = "tocsin_named_leases_waiting",
    [SAMPLE_LEASES_RENEWED] = "tocsin_named_leases_renewed_total",
    [SAMPLE_LEASES_EXPIRED] = "tocsin_named_leases_expired_total",
    [SAMPLE_RENEWALS] = "tocsin_renewals_active",
    [SAMPLE_RENEWALS_PAUSED] = "tocsin_renewals_paused",
    [SAMPLE_RENEWALS_IN_TROUBLE] = "tocsin_renewals_in_trouble",
    [SAMPLE_KEYS_RENEWED] = "tocsin_renewal_keys_renewed_total",
};

/* A line `name{label="value"} number`, taken apart. */
struct series {
    char line[LINE_BYTES_MAX];
    const char *name;
    const char *label; /* its value; "": none */
    double value;
};

static bool take_apart(struct bytes line, struct series *ret_series)
{
    if (line.size == 0 || line.size >= LINE_BYTES_MAX || line.at[0] == '#')
        return false;
    memcpy(ret_series->line, line.at, line.size);
    ret_series->line[line.size] = '\0';
    char *space = strrchr(ret_series->line, ' ');
    if (space == NULL)
        return false;
    *space = '\0';
    ret_series->value = strtod(space + 1, NULL);
    ret_series->name = ret_series->line;
    ret_series->label = "";
    char *brace = strchr(ret_series->line, '{');
    if (brace == NULL)
        return true;
    *brace = '\0';
    char *quote = strchr(brace + 1, '"');
    char *close = strrchr(brace + 1, '"');
    if (quote == NULL || close == quote)
        return false;
    *close = '\0';
    ret_series->label = quote + 1;
    return true;
}

static void add_bucket(struct sample_histogram *histogram, const struct series *series)
{
    if (histogram->count == SAMPLE_BUCKETS_MAX)
        return;
    histogram->bounds[histogram->count] =
        strcmp(series->label, "+Inf") == 0 ? HUGE_VAL : strtod(series->label, NULL);
    histogram->totals[histogram->count++] = series->value;
}

static struct sample_queue *queue_of(struct sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->queue_count; i++) {
        if (strncmp(sample->queues[i].name, name, SAMPLE_NAME_BYTES - 1) == 0)
            return &sample->queues[i];
    }
    if (sample->queue_count == SAMPLE_QUEUES_MAX)
        return NULL;
    struct sample_queue *queue = &sample->queues[sample->queue_count++];
    *queue = (struct sample_queue){.depth = 0};
    (void)snprintf(queue->name, sizeof queue->name, "%s", name);
    return queue;
}

static void add_queue(struct sample *sample, const struct series *series, const char *what)
{
    struct sample_queue *queue = queue_of(sample, series->label);
    if (queue == NULL)
        return;
    if (strcmp(what, "depth") == 0)
        queue->depth = series->value;
    else if (strcmp(what, "leased") == 0)
        queue->leased = series->value;
    else if (strcmp(what, "delayed") == 0)
        queue->delayed = series->value;
    else if (strcmp(what, "waiting_leases") == 0)
        queue->waiting = series->value;
}

static void add_series(struct sample *sample, const struct series *series)
{
    static const char queue[] = "tocsin_queue_";
    if (strcmp(series->name, "tocsin_task_lateness_seconds_bucket") == 0) {
        add_bucket(&sample->lateness, series);
    } else if (strcmp(series->name, "tocsin_store_commit_seconds_bucket") == 0) {
        add_bucket(&sample->commit, series);
    } else if (strncmp(series->name, queue, sizeof queue - 1) == 0) {
        add_queue(sample, series, series->name + sizeof queue - 1);
    } else if (strcmp(series->name, "tocsin_wheel_timers") == 0) {
        unsigned long level = strtoul(series->label, NULL, 10);
        if (level < SAMPLE_LEVELS)
            sample->levels[level] = series->value;
    } else {
        for (size_t i = 0; i < SAMPLE_IDS; i++) {
            if (strcmp(series->name, names[i]) == 0)
                sample->values[i] = series->value;
        }
    }
}

bool sample_read(struct bytes text, uint64_t at_us, struct sample *ret_sample)
{
    struct series series;
    size_t known = 0;
    memset(ret_sample, 0, sizeof *ret_sample);
    ret_sample->at_us = at_us;
    while (text.size > 0) {
        const char *end = memchr(text.at, '\n', text.size);
        size_t size = end != NULL ? (size_t)(end - text.at) : text.size;
        if (take_apart((struct bytes){text.at, size}, &series)) {
            add_series(ret_sample, &series);
            known += strncmp(series.name, "tocsin_", 7) == 0;
        }
        size_t taken = end != NULL ? size + 1 : size;
        text = (struct bytes){text.at + taken, text.size - taken};
    }
    return known > 0;
}

double sample_rate(const struct sample *older, const struct sample *newer, enum sample_id id)
{
    double seconds = (double)(newer->at_us - older->at_us) / 1e6;
    double added = newer->values[id] - older->values[id];
    return seconds > 0 && added > 0 ? added / seconds : 0; /* less: it was started anew */
}

double sample_percentile_ms(const struct sample_histogram *older,
                            const struct sample_histogram *newer, double part)
{
    double before = 0;
    double last_bound = 0;
    if (newer->count == 0 || newer->count != older->count)
        return -1;
    size_t last = newer->count - 1;
    double all = newer->totals[last] - older->totals[last];
    if (all <= 0)
        return -1;
    for (size_t i = 0; i <= last; i++) {
        double here = newer->totals[i] - older->totals[i];
        if (here >= all * part) {
            double inside = here > before ? (all * part - before) / (here - before) : 1;
            double bound = isinf(newer->bounds[i]) ? last_bound : newer->bounds[i];
            return (last_bound + (bound - last_bound) * inside) * 1e3;
        }
        before = here;
        last_bound = newer->bounds[i];
    }
    return last_bound * 1e3;
}
