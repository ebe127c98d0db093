/* SPDX-License-Identifier: MIT */
#include "server/metric_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"

static void init(struct metrics *metrics)
{
    assert_int_equal(metrics_init(metrics, metric_list, M_COUNT), TOCSIN_OK);
}

static bool ends_with(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* W-09 */
TEST(every_metric_of_ours_has_a_name_of_ours_and_a_help_text)
{
    for (size_t i = 0; i < M_COUNT; i++) {
        const struct metric_row *row = &metric_list[i];
        assert_int_equal(strncmp(row->name, "tocsin_", 7), 0);
        assert_int_equal(ends_with(row->name, "_total"), row->type == METRIC_COUNTER);
        assert_int_equal(row->help[strlen(row->help) - 1], '.');
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(row->name, metric_list[j].name);
    }
}

/* W-09: what the requirement names is there. */
TEST(metrics_of_the_requirement_are_all_in_the_list)
{
    static const char *const wanted[] = {
        "tocsin_tasks_added_total",     "tocsin_tasks_executed_total",
        "tocsin_tasks_failed_total",    "tocsin_tasks_cancelled_total",
        "tocsin_task_lateness_seconds", "tocsin_task_execution_seconds",
        "tocsin_tasks_active",          "tocsin_command_queue_size",
        "tocsin_wheel_timers",          "tocsin_wheel_ticks_total",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t at = 0;
        while (at < M_COUNT && strcmp(metric_list[at].name, wanted[i]) != 0)
            at++;
        if (at == M_COUNT)
            fail_msg("%s is missing", wanted[i]);
    }
}

TEST(status_of_an_answer_has_its_class)
{
    struct metrics metrics;
    init(&metrics);
    assert_int_equal(METRIC_CLASS_OF(201), CLASS_2XX);
    assert_int_equal(METRIC_CLASS_OF(404), CLASS_4XX);
    assert_int_equal(METRIC_CLASS_OF(599), CLASS_5XX);
    size_t series = metrics_pair(&metrics, M_HTTP_REQUESTS, ROUTE_LEASE, METRIC_CLASS_OF(200));
    metrics_count(&metrics, M_HTTP_REQUESTS, series, 1);
    struct buffer out;
    buffer_init(&out, 1 << 20);
    metrics_write(&metrics, &out);
    buffer_append_byte(&out, '\0');
    assert_non_null(
        strstr(out.data, "\ntocsin_http_requests_total{route=\"lease\",status=\"2xx\"} 1\n"));
    buffer_release(&out);
    metrics_release(&metrics);
}

TEST(metrics_of_the_process_are_read_from_the_system)
{
    struct metrics metrics;
    init(&metrics);
    metric_list_read_process(&metrics);
    assert_in_range(metrics_value(&metrics, M_PROCESS_MEMORY, 0), 100000, INT64_C(1) << 50);
    assert_true(metrics_value(&metrics, M_PROCESS_CPU, 0) > 0);
    int64_t open_fds = metrics_value(&metrics, M_PROCESS_FDS, 0);
    assert_in_range(open_fds, 1, 1000);
    assert_true(metrics_value(&metrics, M_PROCESS_FDS_LIMIT, 0) >= open_fds);
    int64_t ago_ms = (int64_t)time(NULL) * 1000 - metrics_value(&metrics, M_PROCESS_START, 0);
    assert_in_range(ago_ms + 5000, 0, 3600 * 1000);
    int another = dup(0);
    metric_list_read_process(&metrics);
    assert_int_equal(metrics_value(&metrics, M_PROCESS_FDS, 0), open_fds + (another >= 0));
    (void)close(another);
    metrics_release(&metrics);
}

static bool is_listed(struct bytes name)
{
    static const char bucket[] = "_bucket";
    for (size_t i = 0; i < M_COUNT; i++) {
        size_t size = strlen(metric_list[i].name);
        if (name.size < size || memcmp(name.at, metric_list[i].name, size) != 0)
            continue;
        struct bytes rest = {name.at + size, name.size - size};
        if (rest.size == 0 || (metric_list[i].type == METRIC_HISTOGRAM && bytes_are(rest, bucket)))
            return true;
    }
    return false;
}

/* W-09: an alert on a metric that is not there would never fire. */
TEST(alert_rules_speak_only_of_metrics_that_are_there)
{
    char text[20000];
    size_t count = 0;
    FILE *rules = fopen(TEST_DATA "/../../ops/alerts.yml", "re");
    assert_non_null(rules);
    text[fread(text, 1, sizeof text - 1, rules)] = '\0';
    (void)fclose(rules);
    for (const char *at = text; (at = strstr(at, "tocsin_")) != NULL; count++) {
        struct bytes name = {at, strspn(at, "abcdefghijklmnopqrstuvwxyz_")};
        if (!is_listed(name))
            fail_msg("%.*s is not in the list", (int)name.size, name.at);
        at += name.size;
    }
    assert_true(count >= 10);
}

/* W-09: the real Prometheus reads it, and its linter has nothing to say. scripts/setup test
 * installs promtool. */
TEST(promtool_accepts_everything_we_write)
{
    struct metrics metrics;
    struct buffer out;
    init(&metrics);
    buffer_init(&out, 1 << 20);
    metric_list_read_process(&metrics);
    for (uint64_t ns = 1; ns < UINT64_C(1000000000000); ns *= 3) {
        metrics_observe(&metrics, M_LATENESS, 0, ns);
        metrics_observe(&metrics, M_EXECUTION, 0, ns);
    }
    for (size_t i = 0; i < METRIC_NAMES_MAX + 5; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "q\"%zu\\ \n\xc3\xa9", i);
        metrics_add(&metrics, M_QUEUE_DEPTH, metrics_name(&metrics, bytes_of(name)), 3);
    }
    metrics_set(&metrics, M_TASKS_ACTIVE, 0, -1);
    metrics_write(&metrics, &out);
    assert_int_equal(buffer_status(&out), TOCSIN_OK);
    FILE *promtool = popen("promtool check metrics 2>&1", "we"); // NOLINT(cert-env33-c)
    assert_non_null(promtool);
    assert_int_equal(fwrite(out.data, 1, out.size, promtool), out.size);
    assert_int_equal(pclose(promtool), 0);
    buffer_release(&out);
    metrics_release(&metrics);
}
