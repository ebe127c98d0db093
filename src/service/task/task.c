/* SPDX-License-Identifier: MIT */
#include "service/task/task.h"

#include <assert.h>
#include <inttypes.h>

#include "base/utf8.h"
#include "schedule/instant.h"
#include "schedule/reason.h"
#include "service/task/task_inside.h"

const char *const task_misfire_names[TASK_MISFIRE_COUNT] = {
    [TASK_MISFIRE_ONCE] = "once", [TASK_MISFIRE_SKIP] = "skip", [TASK_MISFIRE_ALL] = "all"};
const char *const task_overlap_names[TASK_OVERLAP_COUNT] = {
    [TASK_OVERLAP_SKIP] = "skip", [TASK_OVERLAP_QUEUE] = "queue", [TASK_OVERLAP_ALLOW] = "allow"};
const char *const task_gap_names[TASK_GAP_COUNT] = {
    [CRON_GAP_SHIFT] = "shift", [CRON_GAP_SKIP] = "skip"};
const char *const task_dst_overlap_names[TASK_DST_OVERLAP_COUNT] = {
    [CRON_OVERLAP_FIRST] = "first", [CRON_OVERLAP_LAST] = "last", [CRON_OVERLAP_BOTH] = "both"};

const struct task task_usual = {
    .queue = {"default", 7},
    .zone = {"UTC", 3},
    .repeat = -1,
    .left = -1,
    .retries_max = 3,
    .backoff = {.base_ms = 1000, .cap_ms = 60000, .factor = 2, .jitter = 0.2},
    .timeout_ms = TASK_TIMEOUT_DEFAULT_MS,
};

/* The length of the character at the start that is neither broken nor a control; 0: none. */
static size_t plain_length(const char *at, size_t size)
{
    const unsigned char *byte = (const unsigned char *)at;
    size_t length = utf8_length(at, size);
    bool control = length == 1 ? byte[0] < 0x20 || byte[0] == 0x7f
                               : length == 2 && byte[0] == 0xc2 && byte[1] < 0xa0;
    return control ? 0 : length;
}

/* How many bytes from the start are text as it should be. */
static size_t plain_bytes(struct bytes text)
{
    size_t at = 0;
    for (size_t length = 1; length > 0;) {
        at += utf8_plain(text.at + at, text.size - at);
        length = at < text.size ? plain_length(text.at + at, text.size - at) : 0;
        at += length;
    }
    return at;
}

bool task_text_plain(struct bytes text)
{
    return text.size == 0 || plain_bytes(text) == text.size;
}

enum tocsin_status task_id_valid(struct bytes id, const char *field, struct tocsin_why *ret_why)
{
    if (id.size == 0)
        return reason_refuse(ret_why, "%s: must not be empty", field);
    if (id.size > TASK_ID_BYTES_MAX)
        return reason_refuse(ret_why, "%s: %zu bytes, at most %d are allowed", field, id.size,
                             TASK_ID_BYTES_MAX);
    size_t plain = plain_bytes(id);
    if (plain == id.size)
        return TOCSIN_OK;
    return reason_refuse(ret_why, "%s: a control character, or not UTF-8, at byte %zu", field,
                         plain);
}

int64_t task_jitter_end_ms(const struct task *task)
{
    struct cron cron;
    if (task->rhythm == TASK_ONCE)
        return INT64_MAX;
    if (task->rhythm == TASK_EVERY)
        return task->every_ms;
    enum tocsin_status status = cron_parse(task->cron.at, task->cron.size, &cron, NULL);
    assert(status == TOCSIN_OK);
    return cron_spacing_ms(&cron);
}

static bool between(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

static bool text_fits(struct bytes text, size_t least, size_t most)
{
    return text.size >= least && text.size <= most && task_text_plain(text);
}

/* Delay and at, and what only a schedule has. */
static bool check_rhythm(const struct task *task)
{
    struct cron cron;
    bool once = task->rhythm == TASK_ONCE;
    bool by_cron = task->rhythm == TASK_CRON;
    if (!between((int64_t)task->rhythm, TASK_ONCE, TASK_CRON))
        return false;
    if (!between(task->delay_ms, 0, task->has_delay ? TASK_DELAY_MAX_MS : 0))
        return false;
    if (task->has_at ? !between(task->at_ms, INSTANT_FIRST_MS, INSTANT_LAST_MS) : task->at_ms != 0)
        return false;
    if ((task->has_delay && task->has_at) || (by_cron && (task->has_delay || task->has_at)))
        return false;
    if (task->rhythm == TASK_EVERY ? !between(task->every_ms, 1, TASK_DELAY_MAX_MS)
                                   : task->every_ms != 0 || task->from_end)
        return false;
    if (by_cron ? cron_parse(task->cron.at, task->cron.size, &cron, NULL) != TOCSIN_OK ||
                      !task_text_plain(task->cron)
                : task->cron.size != 0 || !bytes_are(task->zone, "UTC") ||
                      task->dst.gap != CRON_GAP_USUAL || task->dst.overlap != CRON_OVERLAP_USUAL)
        return false;
    if (once ? task->repeat != -1 : task->repeat != -1 && task->repeat < 1)
        return false;
    if (task->repeat == -1 ? task->left != -1 : !between(task->left, 0, task->repeat))
        return false;
    return between(task->jitter_ms, 0, TASK_DELAY_MAX_MS) &&
           (task->jitter_ms == 0 || task->jitter_ms < task_jitter_end_ms(task));
}

static bool check_wish(const struct task *task)
{
    return (task->id.size == 0 || task_id_valid(task->id, "id", NULL) == TOCSIN_OK) &&
           text_fits(task->name, 0, TASK_NAME_BYTES_MAX) &&
           text_fits(task->queue, 1, TASK_QUEUE_BYTES_MAX) &&
           text_fits(task->zone, 1, ZONE_NAME_MAX) &&
           task->payload.size <= TASK_PAYLOAD_BYTES_MAX &&
           between((int64_t)task->dst.gap, CRON_GAP_USUAL, CRON_GAP_SKIP) &&
           between((int64_t)task->dst.overlap, CRON_OVERLAP_USUAL, CRON_OVERLAP_BOTH) &&
           between((int64_t)task->misfire, TASK_MISFIRE_ONCE, TASK_MISFIRE_ALL) &&
           between((int64_t)task->overlap, TASK_OVERLAP_SKIP, TASK_OVERLAP_ALLOW) &&
           task->retries_max <= TASK_RETRIES_MAX &&
           backoff_valid(&task->backoff, NULL) == TOCSIN_OK &&
           between(task->timeout_ms, 1, TASK_DELAY_MAX_MS);
}

static bool check_state(const struct task *task)
{
    if (!between((int64_t)task->paused_from, 0, TASK_SCHEDULED))
        return false;
    if (task->last_error.size > TASK_ERROR_BYTES_MAX)
        return false;
    if (task->claim.fence == 0 && (task->claim.started_ms != 0 || task->claim.until_ms != 0))
        return false;
    if (task->open_count > TASK_BACKLOG_MAX || task->backlog_count > TASK_BACKLOG_MAX)
        return false;
    for (size_t i = 1; i < task->open_count; i++) {
        if (task->open[i - 1] >= task->open[i])
            return false;
    }
    for (size_t i = 1; i < task->backlog_count; i++) {
        if (task->backlog[i - 1] >= task->backlog[i])
            return false;
    }
    return true;
}

bool task_check(const struct task *task)
{
    return check_wish(task) && check_rhythm(task) && check_state(task);
}
