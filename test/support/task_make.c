/* SPDX-License-Identifier: MIT */
#include "support/task_make.h"

#include <assert.h>
#include <string.h>

#include "schedule/instant.h"
#include "schedule/zone.h"

static const char *const crons[] = {
    "@daily", "*/5 * * * *", "* * * * * *", "30 2 * * *", "0 0 12 ? JAN-MAR MON#2", "0 0 29 2 *"};
static const char *const zones[] = {"UTC", "Asia/Shanghai", "Europe/Berlin"};
static const char *const payloads[] = {
    "null", "{}", "\"x\"", "[1, 2 ,\n3]", "1e400", "{\"to\":\"a@b.c\",\"n\":18446744073709551616}"};

static bool maybe(struct test_random *random)
{
    return test_random_one_in(random, 2);
}

/* Of any size in bits, so that each length of a varint comes up. */
static uint64_t any_number(struct test_random *random)
{
    return test_random_next(random) >> test_random_below(random, 64);
}

static int64_t any_signed(struct test_random *random)
{
    int64_t value = (int64_t)(any_number(random) >> 1);
    return maybe(random) ? value : -1 - value;
}

static int64_t number_up_to(struct test_random *random, int64_t most)
{
    return (int64_t)(any_number(random) % ((uint64_t)most + 1));
}

static struct bytes any_text(struct test_random *random, char *room, size_t least, size_t most)
{
    size_t size = least + (size_t)test_random_below(random, most - least + 1);
    for (size_t i = 0; i < size; i++)
        room[i] = (char)('!' + test_random_below(random, 90));
    return (struct bytes){room, size};
}

static void make_rhythm(struct test_random *random, struct task *task)
{
    task->rhythm = (enum task_rhythm)test_random_below(random, 3);
    if (task->rhythm == TASK_CRON) {
        task->cron = bytes_of(crons[test_random_below(random, sizeof crons / sizeof crons[0])]);
        task->zone = bytes_of(zones[test_random_below(random, sizeof zones / sizeof zones[0])]);
        task->dst.gap = (enum cron_gap)test_random_below(random, CRON_GAP_SKIP + 1);
        task->dst.overlap = (enum cron_overlap)test_random_below(random, CRON_OVERLAP_BOTH + 1);
        if (maybe(random))
            task->jitter_ms = number_up_to(random, 999);
    } else {
        task->has_delay = maybe(random);
        task->has_at = !task->has_delay && maybe(random);
        if (task->has_delay)
            task->delay_ms = number_up_to(random, TASK_DELAY_MAX_MS);
        if (task->has_at)
            task->at_ms = any_signed(random) % INSTANT_LAST_MS;
        if (task->has_at && task->at_ms < INSTANT_FIRST_MS)
            task->at_ms = INSTANT_FIRST_MS;
        if (task->rhythm == TASK_EVERY) {
            task->every_ms = 1 + number_up_to(random, TASK_DELAY_MAX_MS - 1);
            task->from_end = maybe(random);
        }
        if (maybe(random))
            task->jitter_ms = number_up_to(random, task->rhythm == TASK_EVERY ? task->every_ms - 1
                                                                              : TASK_DELAY_MAX_MS);
    }
    if (task->rhythm != TASK_ONCE && maybe(random)) {
        task->repeat = 1 + number_up_to(random, INT64_MAX - 1);
        task->left = maybe(random) ? task->repeat : number_up_to(random, task->repeat);
    }
}

static void make_policy(struct test_random *random, struct task *task)
{
    task->misfire = (enum task_misfire)test_random_below(random, 3);
    task->overlap = (enum task_overlap)test_random_below(random, 3);
    if (maybe(random))
        task->retries_max = (uint32_t)test_random_below(random, TASK_RETRIES_MAX + 1);
    if (maybe(random))
        task->backoff.base_ms = any_number(random) % (BACKOFF_MAX_MS + 1);
    if (maybe(random))
        task->backoff.cap_ms = any_number(random) % (BACKOFF_MAX_MS + 1);
    if (maybe(random))
        task->backoff.factor = 1 + (double)test_random_below(random, 999000) / 1000;
    if (maybe(random))
        task->backoff.jitter = (double)test_random_below(random, 1001) / 1000;
    if (maybe(random))
        task->timeout_ms = 1 + number_up_to(random, TASK_DELAY_MAX_MS - 1);
}

static void make_lists(struct test_random *random, struct task_made *made)
{
    struct task *task = &made->task;
    size_t most = test_random_one_in(random, 20) ? TASK_BACKLOG_MAX : 5;
    task->open_count = (size_t)test_random_below(random, most + 1);
    task->backlog_count = (size_t)test_random_below(random, most + 1);
    task->open = made->open;
    task->backlog = made->backlog;
    uint64_t number = any_number(random) >> 1;
    int64_t at_ms = any_signed(random) / 2;
    for (size_t i = 0; i < task->open_count; i++)
        made->open[i] = number += 1 + test_random_below(random, UINT64_C(1) << (i % 50));
    for (size_t i = 0; i < task->backlog_count; i++)
        made->backlog[i] = at_ms +=
            (int64_t)(1 + test_random_below(random, UINT64_C(1) << (i % 50)));
}

static void make_state(struct test_random *random, struct task_made *made)
{
    struct task *task = &made->task;
    task->created_ms = any_signed(random);
    task->nominal_ms = any_signed(random);
    if (maybe(random)) {
        task->pause_until_ms = any_signed(random);
        task->paused_from = (enum task_mark)test_random_below(random, TASK_SCHEDULED + 1);
    }
    if (maybe(random)) {
        task->attempt = (uint32_t)any_number(random);
        task->executed = any_number(random);
        task->failed = any_number(random);
        task->skipped = any_number(random);
        task->occurrence = any_number(random);
        task->origin = any_number(random);
        task->retry_due_ms = any_signed(random);
    }
    task->by_hand = maybe(random);
    task->cancel_requested = maybe(random);
    if (maybe(random))
        task->last_error = any_text(random, made->error, 0, TASK_ERROR_BYTES_MAX);
    task->claim.fence = maybe(random) ? any_number(random) : 0;
    if (task->claim.fence != 0) {
        task->claim.started_ms = any_signed(random);
        task->claim.until_ms = any_signed(random);
    }
    if (maybe(random))
        make_lists(random, made);
}

void task_make(struct test_random *random, struct task_made *ret_made)
{
    struct task *task = &ret_made->task;
    task_init(task);
    task->id = any_text(random, ret_made->id, 1, TASK_ID_BYTES_MAX);
    if (maybe(random))
        task->name = any_text(random, ret_made->name, 0, TASK_NAME_BYTES_MAX);
    if (maybe(random))
        task->queue = any_text(random, ret_made->queue, 1, TASK_QUEUE_BYTES_MAX);
    if (maybe(random))
        task->payload =
            bytes_of(payloads[test_random_below(random, sizeof payloads / sizeof payloads[0])]);
    make_rhythm(random, task);
    make_policy(random, task);
    make_state(random, ret_made);
    assert(task_check(task));
}

static bool same_wish(const struct task *one, const struct task *other)
{
    return bytes_equal(one->name, other->name) && bytes_equal(one->payload, other->payload) &&
           bytes_equal(one->queue, other->queue) && one->rhythm == other->rhythm &&
           one->has_delay == other->has_delay && one->has_at == other->has_at &&
           one->delay_ms == other->delay_ms && one->at_ms == other->at_ms &&
           one->every_ms == other->every_ms && one->from_end == other->from_end &&
           bytes_equal(one->cron, other->cron) && bytes_equal(one->zone, other->zone) &&
           one->dst.gap == other->dst.gap && one->dst.overlap == other->dst.overlap &&
           one->repeat == other->repeat && one->misfire == other->misfire &&
           one->overlap == other->overlap && one->jitter_ms == other->jitter_ms &&
           one->retries_max == other->retries_max &&
           one->backoff.base_ms == other->backoff.base_ms &&
           one->backoff.cap_ms == other->backoff.cap_ms &&
           one->backoff.factor == other->backoff.factor &&
           one->backoff.jitter == other->backoff.jitter && one->timeout_ms == other->timeout_ms;
}

static bool same_state(const struct task *one, const struct task *other)
{
    return one->created_ms == other->created_ms && one->nominal_ms == other->nominal_ms &&
           one->pause_until_ms == other->pause_until_ms && one->paused_from == other->paused_from &&
           one->attempt == other->attempt && one->executed == other->executed &&
           one->failed == other->failed && one->skipped == other->skipped &&
           one->left == other->left && one->by_hand == other->by_hand &&
           one->cancel_requested == other->cancel_requested &&
           bytes_equal(one->last_error, other->last_error) &&
           one->claim.fence == other->claim.fence &&
           one->claim.started_ms == other->claim.started_ms &&
           one->claim.until_ms == other->claim.until_ms && one->occurrence == other->occurrence &&
           one->origin == other->origin && one->retry_due_ms == other->retry_due_ms &&
           one->open_count == other->open_count && one->backlog_count == other->backlog_count &&
           (one->open_count == 0 ||
            memcmp(one->open, other->open, one->open_count * sizeof *one->open) == 0) &&
           (one->backlog_count == 0 ||
            memcmp(one->backlog, other->backlog, one->backlog_count * sizeof *one->backlog) == 0);
}

bool task_same(const struct task *one, const struct task *other, bool with_id)
{
    return (!with_id || bytes_equal(one->id, other->id)) && same_wish(one, other) &&
           same_state(one, other);
}
