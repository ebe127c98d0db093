/* SPDX-License-Identifier: MIT */
#include "base/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runner.h"

enum { HITS, SIZE, TIME, BY_REASON, BY_PAIR, BY_QUEUE, DEPTH, STARTED, ROW_COUNT };

static const struct metric_label reason = {"reason", (const char *const[]){"late", "busy"}, 2};
static const struct metric_label route = {"route", (const char *const[]){"a", "b", "c"}, 3};
static const struct metric_label queue = {"queue", NULL, METRIC_NAMES_MAX + 1};
static const struct metric_bounds bounds = {3, {100000, 1000000, 2500000000}};

static const struct metric_row rows[ROW_COUNT] = {
    [HITS] = {"t_hits_total", METRIC_COUNTER, METRIC_ONE, {NULL}, NULL, "Hits."},
    [SIZE] = {"t_size", METRIC_GAUGE, METRIC_ONE, {NULL}, NULL, "Size."},
    [TIME] = {"t_time_seconds", METRIC_HISTOGRAM, METRIC_NS, {NULL}, &bounds, "Time."},
    [BY_REASON] = {"t_by_total", METRIC_COUNTER, METRIC_ONE, {&reason}, NULL, "By reason."},
    [BY_PAIR] = {"t_pair_total", METRIC_COUNTER, METRIC_ONE, {&route, &reason}, NULL, "By two."},
    [BY_QUEUE] = {"t_queue", METRIC_GAUGE, METRIC_ONE, {&queue}, NULL, "By queue."},
    [DEPTH] = {"t_depth", METRIC_GAUGE, METRIC_ONE, {&queue}, NULL, "Depth by queue."},
    [STARTED] = {"t_start_seconds", METRIC_GAUGE, METRIC_MS, {NULL}, NULL, "Start."},
};

static void init(struct metrics *metrics)
{
    assert_int_equal(metrics_init(metrics, rows, ROW_COUNT), TOCSIN_OK);
}

/* The lines of one metric, as they are written. */
static void assert_written(const struct metrics *metrics, const char *name, const char *expected)
{
    struct buffer out;
    char found[4000] = "";
    buffer_init(&out, 1 << 20);
    metrics_write(metrics, &out);
    buffer_append_byte(&out, '\0');
    assert_int_equal(buffer_status(&out), TOCSIN_OK);
    for (const char *line = out.data; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *about = *line == '#' ? line + strlen("# HELP ") : line;
        if (strncmp(about, name, strlen(name)) == 0)
            (void)strncat(found, line, (size_t)(strchr(line, '\n') + 1 - line));
    }
    assert_string_equal(found, expected);
    buffer_release(&out);
}

/* W-09 */
TEST(metrics_counter_and_gauge_are_written_with_help_and_type)
{
    struct metrics metrics;
    init(&metrics);
    metrics_count(&metrics, HITS, 0, 2);
    metrics_count(&metrics, HITS, 0, 40);
    metrics_set(&metrics, SIZE, 0, -7);
    metrics_add(&metrics, SIZE, 0, -3);
    metrics_set(&metrics, STARTED, 0, INT64_C(1794747600004));
    assert_written(&metrics, "t_hits",
                   "# HELP t_hits_total Hits.\n# TYPE t_hits_total counter\nt_hits_total 42\n");
    assert_written(&metrics, "t_size", "# HELP t_size Size.\n# TYPE t_size gauge\nt_size -10\n");
    assert_written(&metrics, "t_start",
                   "# HELP t_start_seconds Start.\n# TYPE t_start_seconds gauge\n"
                   "t_start_seconds 1794747600.004\n");
    assert_int_equal(metrics_value(&metrics, HITS, 0), 42);
    metrics_release(&metrics);
}

/* W-09 */
TEST(metrics_histogram_counts_a_value_in_every_bucket_that_holds_it)
{
    struct metrics metrics;
    init(&metrics);
    static const uint64_t values[] = {0, 99999, 100000, 100001, 2500000000, 2500000001};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        metrics_observe(&metrics, TIME, 0, values[i]);
    assert_written(&metrics, "t_time",
                   "# HELP t_time_seconds Time.\n# TYPE t_time_seconds histogram\n"
                   "t_time_seconds_bucket{le=\"0.0001\"} 3\n"
                   "t_time_seconds_bucket{le=\"0.001\"} 4\n"
                   "t_time_seconds_bucket{le=\"2.5\"} 5\n"
                   "t_time_seconds_bucket{le=\"+Inf\"} 6\n"
                   "t_time_seconds_sum 5.000300001\n"
                   "t_time_seconds_count 6\n");
    assert_int_equal(metrics_observed(&metrics, TIME, 0), 6);
    metrics_release(&metrics);
}

TEST(metrics_labels_with_fixed_values_are_written_from_the_start)
{
    struct metrics metrics;
    init(&metrics);
    metrics_count(&metrics, BY_REASON, 1, 5);
    metrics_count(&metrics, BY_PAIR, metrics_pair(&metrics, BY_PAIR, 2, 1), 9);
    assert_written(&metrics, "t_by_",
                   "# HELP t_by_total By reason.\n# TYPE t_by_total counter\n"
                   "t_by_total{reason=\"late\"} 0\nt_by_total{reason=\"busy\"} 5\n");
    assert_written(&metrics, "t_pair",
                   "# HELP t_pair_total By two.\n# TYPE t_pair_total counter\n"
                   "t_pair_total{route=\"a\",reason=\"late\"} 0\n"
                   "t_pair_total{route=\"a\",reason=\"busy\"} 0\n"
                   "t_pair_total{route=\"b\",reason=\"late\"} 0\n"
                   "t_pair_total{route=\"b\",reason=\"busy\"} 0\n"
                   "t_pair_total{route=\"c\",reason=\"late\"} 0\n"
                   "t_pair_total{route=\"c\",reason=\"busy\"} 9\n");
    metrics_release(&metrics);
}

TEST(metrics_of_more_names_than_it_keeps_go_to_other)
{
    struct metrics metrics;
    init(&metrics);
    for (size_t i = 0; i < METRIC_NAMES_MAX + 10; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "q%zu", i);
        metrics_add(&metrics, BY_QUEUE, metrics_name(&metrics, bytes_of(name)), 1);
    }
    char long_name[METRIC_NAME_BYTES_MAX + 1];
    memset(long_name, 'x', sizeof long_name);
    assert_int_equal(metrics_name(&metrics, (struct bytes){long_name, sizeof long_name}),
                     METRIC_NAMES_MAX);
    assert_int_equal(metrics_value(&metrics, BY_QUEUE, METRIC_NAMES_MAX), 10);
    assert_int_equal(metrics_name(&metrics, bytes_of("q3")), 3);
    metrics_forget_names(&metrics);
    assert_int_equal(metrics_value(&metrics, BY_QUEUE, METRIC_NAMES_MAX), 0);
    metrics_set(&metrics, BY_QUEUE, metrics_name(&metrics, bytes_of("new")), 4);
    assert_written(&metrics, "t_queue",
                   "# HELP t_queue By queue.\n# TYPE t_queue gauge\n"
                   "t_queue{queue=\"new\"} 4\nt_queue{queue=\"other\"} 0\n");
    metrics_release(&metrics);
}

TEST(metrics_label_value_is_escaped_and_is_utf8)
{
    struct metrics metrics;
    init(&metrics);
    (void)metrics_name(&metrics, bytes_of("a\"b\\c\nd\xff\xc3\xa9"));
    assert_written(&metrics, "t_depth",
                   "# HELP t_depth Depth by queue.\n# TYPE t_depth gauge\n"
                   "t_depth{queue=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\"} 0\n");
    metrics_release(&metrics);
}

enum { THREADS = 4, EACH = 20000 };

static void *count_shared(void *arg)
{
    for (int i = 0; i < EACH; i++)
        metrics_count_shared(arg, HITS, 0, 1);
    return NULL;
}

TEST(metrics_counted_from_several_threads_lose_nothing)
{
    struct metrics metrics;
    pthread_t threads[THREADS];
    struct buffer out;
    init(&metrics);
    buffer_init(&out, 1 << 20);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_shared, &metrics), 0);
    for (int i = 0; i < 100; i++)
        metrics_write(&metrics, &out); /* may be read meanwhile */
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(metrics_value(&metrics, HITS, 0), THREADS * EACH);
    buffer_release(&out);
    metrics_release(&metrics);
}
