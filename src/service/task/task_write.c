/* SPDX-License-Identifier: MIT */
#include "schedule/duration.h"
#include "schedule/instant.h"
#include "service/task/task.h"
#include "service/task/task_inside.h"

static void write_duration(struct json_writer *writer, const char *key, int64_t ms)
{
    char text[DURATION_TEXT_BYTES];
    duration_format((uint64_t)ms, text);
    json_field_text(writer, key, text);
}

static void write_json(struct json_writer *writer, const char *key, struct bytes json,
                       bool on_a_line)
{
    json_write_key(writer, key);
    if (on_a_line)
        json_write_raw_on_a_line(writer, json.at, json.size);
    else
        json_write_raw(writer, json.at, json.size);
}

/* When: only the fields that were given, or that the rhythm has. */
static void write_rhythm(struct json_writer *writer, const struct task *task)
{
    if (task->has_delay)
        write_duration(writer, "delay", task->delay_ms);
    if (task->has_at) {
        char text[INSTANT_TEXT_BYTES];
        instant_format(task->at_ms, 0, text);
        json_field_text(writer, "at", text);
    }
    if (task->rhythm == TASK_EVERY) {
        write_duration(writer, "every", task->every_ms);
        json_field_text(writer, "from", task->from_end ? "end" : "start");
    }
    if (task->rhythm == TASK_CRON) {
        json_field_bytes(writer, "cron", task->cron);
        json_field_bytes(writer, "tz", task->zone);
    }
    if (task->rhythm != TASK_ONCE)
        json_field_int64(writer, "repeat", task->repeat);
}

/* What most tasks leave as it is goes out in one piece; the test that reads answers again holds
 * these texts and task_usual together. */
static void write_policies(struct json_writer *writer, const struct task *task)
{
    if (task->misfire == task_usual.misfire && task->overlap == task_usual.overlap &&
        task->jitter_ms == task_usual.jitter_ms) {
        JSON_WRITE_FIELDS(writer, "\"misfire\":\"once\",\"overlap\":\"skip\",\"jitter\":\"0ms\"");
        return;
    }
    json_field_text(writer, "misfire", task_misfire_names[task->misfire]);
    json_field_text(writer, "overlap", task_overlap_names[task->overlap]);
    write_duration(writer, "jitter", task->jitter_ms);
}

static void write_dst(struct json_writer *writer, struct cron_policy dst)
{
    if (dst.gap == CRON_GAP_USUAL && dst.overlap == CRON_OVERLAP_USUAL)
        return;
    json_write_key(writer, "dst");
    json_write_object(writer);
    if (dst.gap != CRON_GAP_USUAL)
        json_field_text(writer, "gap", task_gap_names[dst.gap]);
    if (dst.overlap != CRON_OVERLAP_USUAL)
        json_field_text(writer, "overlap", task_dst_overlap_names[dst.overlap]);
    json_write_object_end(writer);
}

static bool retry_is_usual(const struct task *task)
{
    return task->retries_max == task_usual.retries_max &&
           task->backoff.base_ms == task_usual.backoff.base_ms &&
           task->backoff.cap_ms == task_usual.backoff.cap_ms &&
           task->backoff.factor == task_usual.backoff.factor &&
           task->backoff.jitter == task_usual.backoff.jitter;
}

static void write_retry(struct json_writer *writer, const struct task *task)
{
    json_write_key(writer, "retry");
    json_write_object(writer);
    json_field_uint64(writer, "max", task->retries_max);
    write_duration(writer, "base", (int64_t)task->backoff.base_ms);
    json_write_key(writer, "factor");
    json_write_double(writer, task->backoff.factor);
    write_duration(writer, "cap", (int64_t)task->backoff.cap_ms);
    json_write_key(writer, "jitter");
    json_write_double(writer, task->backoff.jitter);
    json_write_object_end(writer);
}

/* Where to, and what when it fails. */
static void write_delivery(struct json_writer *writer, const struct task *task)
{
    if (bytes_equal(task->queue, task_usual.queue) && retry_is_usual(task) &&
        task->timeout_ms == task_usual.timeout_ms) {
        JSON_WRITE_FIELDS(writer,
                          "\"target\":{\"type\":\"queue\",\"queue\":\"default\"},"
                          "\"retry\":{\"max\":3,\"base\":\"1s\",\"factor\":2,\"cap\":\"1m\","
                          "\"jitter\":0.2},\"timeout\":\"5m\"");
        return;
    }
    json_write_key(writer, "target");
    json_write_object(writer);
    json_field_text(writer, "type", "queue");
    json_field_bytes(writer, "queue", task->queue);
    json_write_object_end(writer);
    write_retry(writer, task);
    write_duration(writer, "timeout", task->timeout_ms);
}

static void write_attempts(struct json_writer *writer, const struct task *task,
                           const struct task_view *view)
{
    if (view->attempt == 0 && task->executed == 0 && task->last_error.size == 0 &&
        view->fence == 0) {
        JSON_WRITE_FIELDS(writer,
                          "\"attempt\":0,\"executed\":0,\"last_error\":null,\"fence\":null");
        return;
    }
    json_field_uint64(writer, "attempt", view->attempt);
    json_field_uint64(writer, "executed", task->executed);
    json_write_key(writer, "last_error");
    if (task->last_error.size == 0)
        json_write_null(writer);
    else
        json_write_string(writer, task->last_error.at, task->last_error.size);
    json_write_key(writer, "fence");
    if (view->fence == 0)
        json_write_null(writer);
    else
        json_write_uint64(writer, view->fence);
}

static void write_state(struct json_writer *writer, const struct task *task,
                        const struct task_view *view)
{
    json_field_text(writer, "status", view->status);
    json_field_uint64(writer, "rev", view->rev);
    json_write_key(writer, "due_ms");
    if (view->due_ms < 0)
        json_write_null(writer);
    else
        json_write_int64(writer, view->due_ms);
    json_field_int64(writer, "created_ms", task->created_ms);
    write_attempts(writer, task, view);
    if (task->rhythm != TASK_ONCE) {
        json_field_uint64(writer, "failed", task->failed);
        json_field_uint64(writer, "skipped", task->skipped);
        json_field_int64(writer, "remaining", task->left);
    }
}

void task_write(struct json_writer *writer, const struct task *task, const struct task_view *view)
{
    json_write_object(writer);
    json_field_bytes(writer, "id", task->id);
    if (task->name.size > 0)
        json_field_bytes(writer, "name", task->name);
    write_rhythm(writer, task);
    write_policies(writer, task);
    write_dst(writer, task->dst);
    if (task->payload.size > 0)
        write_json(writer, "payload", task->payload, view->on_a_line);
    write_delivery(writer, task);
    write_state(writer, task, view);
    if (view->cancel_requested)
        json_field_bool(writer, "cancel_requested", true);
    if (view->result.size > 0)
        write_json(writer, "result", view->result, view->on_a_line);
    json_write_object_end(writer);
}
