/* SPDX-License-Identifier: MIT */
#include "service/task/rhythm.h"

#include <assert.h>

#include "base/siphash.h"
#include "schedule/instant.h"

/* The least step of a search backwards; a cron has no two occurrences in one second. */
#define SECOND_MS INT64_C(1000)

static int64_t add_or_never(int64_t at_ms, int64_t by_ms)
{
    int64_t sum;
    return __builtin_add_overflow(at_ms, by_ms, &sum) ? STORE_NEVER : sum;
}

static int64_t jitter_of(const struct task *task)
{
    if (task->jitter_ms == 0)
        return 0;
    struct siphash_key key = {0, 0};
    return (int64_t)(siphash(key, task->id.at, task->id.size) % (uint64_t)task->jitter_ms);
}

static struct cron cron_of(const struct task *task)
{
    struct cron cron;
    enum tocsin_status status = cron_parse(task->cron.at, task->cron.size, &cron, NULL);
    assert(status == TOCSIN_OK);
    return cron;
}

enum store_basis rhythm_basis(const struct task *task)
{
    return task->rhythm == TASK_CRON || task->has_at ? STORE_WALL : STORE_ELAPSED;
}

enum tocsin_status rhythm_first(const struct task *task, const struct zone *zone, int64_t now_ms,
                                int64_t *ret_nominal_ms, struct tocsin_why *ret_why)
{
    if (task->rhythm == TASK_CRON) {
        struct cron cron = cron_of(task);
        return cron_next(&cron, zone, task->dst, now_ms, ret_nominal_ms, ret_why);
    }
    if (task->has_at) {
        int64_t at_ms = task->at_ms;
        if (task->rhythm == TASK_EVERY && at_ms < now_ms)
            at_ms =
                now_ms - (int64_t)(((uint64_t)now_ms - (uint64_t)at_ms) % (uint64_t)task->every_ms);
        *ret_nominal_ms = at_ms;
    } else if (task->rhythm == TASK_EVERY && !task->has_delay) {
        *ret_nominal_ms = add_or_never(now_ms, task->every_ms);
    } else {
        *ret_nominal_ms = add_or_never(now_ms, task->delay_ms);
    }
    return TOCSIN_OK;
}

enum tocsin_status rhythm_after(const struct task *task, const struct zone *zone,
                                int64_t nominal_ms, int64_t *ret_nominal_ms)
{
    if (task->rhythm == TASK_CRON) {
        struct cron cron = cron_of(task);
        return cron_next(&cron, zone, task->dst, nominal_ms, ret_nominal_ms, NULL);
    }
    int64_t next_ms =
        task->rhythm == TASK_EVERY ? add_or_never(nominal_ms, task->every_ms) : STORE_NEVER;
    if (next_ms == STORE_NEVER)
        return TOCSIN_NONE;
    *ret_nominal_ms = next_ms;
    return TOCSIN_OK;
}

int64_t rhythm_due(const struct task *task, int64_t nominal_ms)
{
    return add_or_never(nominal_ms, jitter_of(task));
}

/* Occurrences from the task's nominal one up to and including until_ms, which is not before
 * it, and the first one after that. */
struct past {
    uint64_t count;
    int64_t next_ms;
};

static struct past past_of_every(const struct task *task, int64_t until_ms)
{
    uint64_t every = (uint64_t)task->every_ms;
    uint64_t passed = ((uint64_t)until_ms - (uint64_t)task->nominal_ms) / every;
    int64_t newest_ms = (int64_t)((uint64_t)task->nominal_ms + passed * every);
    return (struct past){passed + 1, add_or_never(newest_ms, task->every_ms)};
}

static struct past past_of_cron(const struct task *task, const struct cron *cron,
                                const struct zone *zone, int64_t until_ms)
{
    struct past past = {.next_ms = STORE_NEVER};
    past.count = 1 + cron_count(cron, zone, task->dst, task->nominal_ms, until_ms);
    (void)cron_next(cron, zone, task->dst, until_ms, &past.next_ms, NULL);
    return past;
}

/* An instant after which, and up to until_ms, come just so many occurrences: fewer than there
 * are since nominal_ms. First back in steps that double, then by halves. */
static int64_t start_of_newest(const struct task *task, const struct cron *cron,
                               const struct zone *zone, int64_t until_ms, uint64_t wanted)
{
    /* Where a cron has answers, so that sums and differences fit. */
    int64_t first_ms =
        task->nominal_ms < INSTANT_FIRST_MS ? INSTANT_FIRST_MS - 1 : task->nominal_ms;
    int64_t few_ms = until_ms < INSTANT_LAST_MS ? until_ms : INSTANT_LAST_MS;
    int64_t many_ms = few_ms;
    for (int64_t step_ms = SECOND_MS;; step_ms *= 2) {
        assert(many_ms > first_ms);
        many_ms = few_ms - first_ms > step_ms ? few_ms - step_ms : first_ms;
        uint64_t count = cron_count(cron, zone, task->dst, many_ms, until_ms);
        if (count == wanted)
            return many_ms;
        if (count > wanted)
            break;
        few_ms = many_ms;
    }
    for (;;) {
        assert(few_ms - many_ms > 1);
        int64_t middle_ms = many_ms + (few_ms - many_ms) / 2;
        uint64_t count = cron_count(cron, zone, task->dst, middle_ms, until_ms);
        if (count == wanted)
            return middle_ms;
        if (count > wanted)
            many_ms = middle_ms;
        else
            few_ms = middle_ms;
    }
}

static void take_every(const struct task *task, int64_t until_ms, size_t most,
                       struct rhythm_due_set *set)
{
    struct past past = past_of_every(task, until_ms);
    uint64_t every = (uint64_t)task->every_ms;
    set->run_count = past.count < most ? (size_t)past.count : most;
    set->skipped = past.count - set->run_count;
    set->next_ms = past.next_ms;
    for (size_t i = 0; i < set->run_count; i++)
        set->run[i] = (int64_t)((uint64_t)task->nominal_ms + (set->skipped + i) * every);
}

static void take_cron(const struct task *task, const struct zone *zone, int64_t until_ms,
                      size_t most, struct rhythm_due_set *set)
{
    struct cron cron = cron_of(task);
    struct past past = past_of_cron(task, &cron, zone, until_ms);
    set->run_count = past.count < most ? (size_t)past.count : most;
    set->skipped = past.count - set->run_count;
    set->next_ms = past.next_ms;
    size_t i = 0;
    int64_t at_ms = task->nominal_ms;
    if (set->skipped == 0)
        set->run[i++] = at_ms;
    else
        at_ms = start_of_newest(task, &cron, zone, until_ms, set->run_count);
    for (; i < set->run_count; i++) {
        enum tocsin_status status = cron_next(&cron, zone, task->dst, at_ms, &at_ms, NULL);
        assert(status == TOCSIN_OK && at_ms <= until_ms);
        set->run[i] = at_ms;
    }
}

/* The last nominal time that is due now. */
static int64_t due_until(const struct task *task, int64_t now_ms)
{
    int64_t until_ms;
    return __builtin_sub_overflow(now_ms, jitter_of(task), &until_ms) ? INT64_MIN : until_ms;
}

void rhythm_take_due(const struct task *task, const struct zone *zone, int64_t now_ms,
                     struct rhythm_due_set *ret_set)
{
    int64_t until_ms = due_until(task, now_ms);
    size_t most = 1;
    switch (task->misfire) {
    case TASK_MISFIRE_ONCE: /* one run stands for all that were missed: the newest */
    case TASK_MISFIRE_SKIP: /* what was missed does not run; the newest was not missed */
        most = 1;
        break;
    case TASK_MISFIRE_ALL:
        most = TASK_BACKLOG_MAX;
        break;
    }
    ret_set->run_count = 0;
    ret_set->skipped = 0;
    ret_set->next_ms = task->nominal_ms;
    if (task->nominal_ms > until_ms)
        return;
    if (task->rhythm == TASK_CRON) {
        take_cron(task, zone, until_ms, most, ret_set);
    } else if (task->rhythm == TASK_EVERY && !task->from_end) {
        take_every(task, until_ms, most, ret_set);
    } else {
        ret_set->run[ret_set->run_count++] = task->nominal_ms;
        ret_set->next_ms = STORE_NEVER;
    }
}

void rhythm_resume(const struct task *task, const struct zone *zone, int64_t now_ms,
                   int64_t *ret_nominal_ms, uint64_t *ret_skipped)
{
    int64_t until_ms = due_until(task, now_ms);
    struct past past = {0, task->nominal_ms};
    if (task->rhythm != TASK_ONCE && task->nominal_ms <= until_ms) {
        if (task->rhythm == TASK_CRON) {
            struct cron cron = cron_of(task);
            past = past_of_cron(task, &cron, zone, until_ms);
        } else if (task->from_end) {
            past = (struct past){1, add_or_never(now_ms, task->every_ms)};
        } else {
            past = past_of_every(task, until_ms);
        }
    }
    *ret_nominal_ms = past.next_ms;
    *ret_skipped = past.count;
}
