/* SPDX-License-Identifier: MIT */
/* What `tocsin top` makes of the text of /metrics. */
#include "runner.h"

#include <stdlib.h>

#include "cli/sample.h"

static struct sample *read_sample(const char *text, uint64_t at_us)
{
    struct sample *sample = malloc(sizeof *sample);
    assert_non_null(sample);
    assert_true(sample_read(bytes_of(text), at_us, sample));
    return sample;
}

TEST(a_rate_is_what_was_added_in_a_second)
{
    struct sample *older = read_sample("tocsin_tasks_added_total 100\n", 1000000);
    struct sample *newer = read_sample("# HELP x\ntocsin_tasks_added_total 350\n", 3500000);
    assert_true(sample_rate(older, newer, SAMPLE_ADDED) == 100);
    assert_true(sample_rate(newer, newer, SAMPLE_ADDED) == 0);
    /* It was started anew: less than before is no rate. */
    newer->values[SAMPLE_ADDED] = 3;
    assert_true(sample_rate(older, newer, SAMPLE_ADDED) == 0);
    free(older);
    free(newer);
}

TEST(a_percentile_is_of_what_came_between_two_samples)
{
    struct sample *older = read_sample("tocsin_task_lateness_seconds_bucket{le=\"0.001\"} 1000\n"
                                       "tocsin_task_lateness_seconds_bucket{le=\"0.01\"} 1000\n"
                                       "tocsin_task_lateness_seconds_bucket{le=\"+Inf\"} 1000\n",
                                       0);
    struct sample *newer = read_sample("tocsin_task_lateness_seconds_bucket{le=\"0.001\"} 1050\n"
                                       "tocsin_task_lateness_seconds_bucket{le=\"0.01\"} 1090\n"
                                       "tocsin_task_lateness_seconds_bucket{le=\"+Inf\"} 1100\n",
                                       1);
    double half = sample_percentile_ms(&older->lateness, &newer->lateness, 0.5);
    double most = sample_percentile_ms(&older->lateness, &newer->lateness, 0.9);
    double all = sample_percentile_ms(&older->lateness, &newer->lateness, 1);
    assert_true(half > 0.999 && half < 1.001);
    assert_true(most > 9.99 && most < 10.01);
    assert_true(all > 9.99 && all < 10.01); /* beyond the last bound nobody knows */
    assert_true(sample_percentile_ms(&newer->lateness, &newer->lateness, 0.5) < 0);
    assert_true(sample_percentile_ms(&older->commit, &newer->commit, 0.5) < 0);
    free(older);
    free(newer);
}

TEST(queues_and_levels_are_told_by_their_labels)
{
    struct sample *sample = read_sample("tocsin_queue_depth{queue=\"mail\"} 3\n"
                                        "tocsin_queue_depth{queue=\"a\\\"b} c\"} 5\n"
                                        "tocsin_queue_leased{queue=\"mail\"} 2\n"
                                        "tocsin_wheel_timers{level=\"2\"} 7\n"
                                        "tocsin_wheel_timers{level=\"99\"} 7\n",
                                        0);
    assert_int_equal(sample->queue_count, 2);
    assert_string_equal(sample->queues[0].name, "mail");
    assert_true(sample->queues[0].depth == 3 && sample->queues[0].leased == 2);
    assert_true(sample->queues[1].depth == 5);
    assert_true(sample->levels[2] == 7);
    free(sample);
}

TEST(what_is_no_text_of_ours_is_refused)
{
    struct sample *sample = malloc(sizeof *sample);
    assert_non_null(sample);
    assert_false(sample_read(bytes_of(""), 0, sample));
    assert_false(sample_read(bytes_of("<html>\nno metrics here\n</html>"), 0, sample));
    assert_false(sample_read(bytes_of("tocsin_"), 0, sample));
    free(sample);
}
