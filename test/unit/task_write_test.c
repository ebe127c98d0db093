/* SPDX-License-Identifier: MIT */
#include "service/task/task.h"

#include <jansson.h>
#include <string.h>

#include "runner.h"
#include "support/task_make.h"

static struct task_scratch scratch;

static void write_to(struct buffer *out, const struct task *task, const struct task_view *view)
{
    struct json_writer writer;
    buffer_clear(out);
    json_writer_init(&writer, out);
    task_write(&writer, task, view);
    assert_true(json_write_done(&writer));
    assert_int_equal(buffer_status(out), TOCSIN_OK);
}

static void assert_written(const struct task *task, const struct task_view *view,
                           const char *expected)
{
    struct buffer out;
    buffer_init(&out, 1 << 20);
    write_to(&out, task, view);
    buffer_append_byte(&out, '\0');
    assert_string_equal(out.data, expected);
    buffer_release(&out);
}

static struct task read_task(const char *json)
{
    struct task task;
    struct tocsin_why why;
    if (task_read(bytes_of(json), NULL, &scratch, &task, NULL, &why) != TOCSIN_OK)
        fail_msg("%s: %s", json, why.text);
    return task;
}

/* W-03 */
TEST(a_one_shot_is_answered_with_its_defaults)
{
    struct task task = read_task("{\"id\":\"a\",\"delay\":5000,\"payload\":{\"b\": 1e400}}");
    task.created_ms = 1794718800000;
    struct task_view view = {.status = "pending", .rev = 7, .due_ms = 1794718805000};
    assert_written(&task, &view,
                   "{\"id\":\"a\",\"delay\":\"5s\",\"misfire\":\"once\",\"overlap\":\"skip\","
                   "\"jitter\":\"0ms\",\"payload\":{\"b\": 1e400},"
                   "\"target\":{\"type\":\"queue\",\"queue\":\"default\"},"
                   "\"retry\":{\"max\":3,\"base\":\"1s\",\"factor\":2,\"cap\":\"1m\","
                   "\"jitter\":0.2},\"timeout\":\"5m\","
                   "\"status\":\"pending\",\"rev\":7,\"due_ms\":1794718805000,"
                   "\"created_ms\":1794718800000,\"attempt\":0,\"executed\":0,"
                   "\"last_error\":null,\"fence\":null}");
}

/* W-03 W-22 */
TEST(a_schedule_is_answered_with_its_counts)
{
    struct task task = read_task("{\"id\":\"c\",\"name\":\"N\",\"cron\":\"30 2 * * *\","
                                 "\"tz\":\"Europe/Berlin\",\"dst\":{\"gap\":\"skip\"},"
                                 "\"repeat\":5,\"jitter\":\"90s\",\"misfire\":\"all\","
                                 "\"overlap\":\"queue\"}");
    task.executed = 1;
    task.failed = 2;
    task.skipped = 3;
    task.left = 2;
    task.last_error = bytes_of("no \"host\"\xff");
    struct task_view view = {.status = "running",
                             .rev = 9,
                             .due_ms = -1,
                             .attempt = 2,
                             .fence = 4294967297,
                             .result = bytes_of("[1,\n2]"),
                             .cancel_requested = true,
                             .on_a_line = true};
    assert_written(
        &task, &view,
        "{\"id\":\"c\",\"name\":\"N\",\"cron\":\"30 2 * * *\",\"tz\":\"Europe/Berlin\","
        "\"repeat\":5,\"misfire\":\"all\",\"overlap\":\"queue\",\"jitter\":\"1m30s\","
        "\"dst\":{\"gap\":\"skip\"},"
        "\"target\":{\"type\":\"queue\",\"queue\":\"default\"},"
        "\"retry\":{\"max\":3,\"base\":\"1s\",\"factor\":2,\"cap\":\"1m\",\"jitter\":0.2},"
        "\"timeout\":\"5m\",\"status\":\"running\",\"rev\":9,\"due_ms\":null,\"created_ms\":0,"
        "\"attempt\":2,\"executed\":1,\"last_error\":\"no \\\"host\\\"\xef\xbf\xbd\","
        "\"fence\":4294967297,\"failed\":2,\"skipped\":3,\"remaining\":2,"
        "\"cancel_requested\":true,\"result\":[1, 2]}");
}

TEST(the_anchor_of_an_interval_is_answered_in_utc)
{
    struct task task = read_task("{\"id\":\"e\",\"every\":\"PT10M\",\"from\":\"end\","
                                 "\"at\":\"2026-11-15T13:00:00.5+08:00\"}");
    struct task_view view = {.status = "pending"};
    struct buffer out;
    buffer_init(&out, 1 << 20);
    write_to(&out, &task, &view);
    buffer_append_byte(&out, '\0');
    assert_non_null(strstr(out.data, "{\"id\":\"e\",\"at\":\"2026-11-15T05:00:00.500Z\","
                                     "\"every\":\"10m\",\"from\":\"end\",\"repeat\":-1,"));
    buffer_release(&out);
}

TEST(a_payload_is_given_back_byte_for_byte_but_for_the_line_breaks_of_ndjson)
{
    struct task task = read_task("{\"id\":\"p\",\"payload\":{\"z\" : 18446744073709551616,\r\n"
                                 "\"a\":\"\\n\"}}");
    struct task_view view = {.status = "pending"};
    struct buffer out;
    buffer_init(&out, 1 << 20);
    write_to(&out, &task, &view);
    buffer_append_byte(&out, '\0');
    assert_non_null(strstr(out.data, "\"payload\":{\"z\" : 18446744073709551616,\r\n"
                                     "\"a\":\"\\n\"}"));
    view.on_a_line = true;
    write_to(&out, &task, &view);
    buffer_append_byte(&out, '\0');
    assert_non_null(strstr(out.data, "\"payload\":{\"z\" : 18446744073709551616,  "
                                     "\"a\":\"\\n\"}"));
    assert_null(strchr(out.data, '\n'));
    buffer_release(&out);
}

/* What an answer says of the wish, without what was added to it; its text, which the task borrows
 * from, is the caller's to free. */
static char *read_wish_again(const struct buffer *answer, struct task *ret_task)
{
    static const char *const added[] = {
        "status", "rev",    "due_ms",  "created_ms", "attempt",          "executed", "last_error",
        "fence",  "failed", "skipped", "remaining",  "cancel_requested", "result",   "payload",
    };
    json_error_t error;
    json_t *value = json_loadb(answer->data, answer->size, JSON_REJECT_DUPLICATES, &error);
    if (value == NULL)
        fail_msg("%s in %.*s", error.text, (int)answer->size, answer->data);
    for (size_t i = 0; i < sizeof added / sizeof added[0]; i++)
        (void)json_object_del(value, added[i]);
    char *wish = json_dumps(value, JSON_COMPACT);
    assert_non_null(wish);
    *ret_task = read_task(wish);
    json_decref(value);
    return wish;
}

TEST(an_answer_is_json_and_its_wish_may_be_sent_again)
{
    struct test_random random = {test_seed()};
    static struct task_made made;
    struct buffer out;
    buffer_init(&out, 1 << 20);
    for (uint64_t round = 0; round < test_effort(20000); round++) {
        struct task again;
        struct task_view view = {.status = "paused",
                                 .rev = test_random_next(&random) >> 12,
                                 .due_ms = -1,
                                 .on_a_line = test_random_one_in(&random, 2)};
        task_make(&random, &made);
        if (bytes_are(made.task.payload, "1e400") || made.task.payload.size > 20)
            made.task.payload.size = 0; /* which jansson cannot read */
        /* Counts past 63 bits as well. */
        made.task.executed >>= 1;
        made.task.failed >>= 1;
        made.task.skipped >>= 1;
        write_to(&out, &made.task, &view);
        char *text = read_wish_again(&out, &again);
        struct task wish = made.task;
        wish.payload.size = 0;
        wish.created_ms = wish.nominal_ms = wish.pause_until_ms = 0;
        wish.paused_from = 0;
        wish.attempt = 0;
        wish.executed = wish.failed = wish.skipped = wish.occurrence = wish.origin = 0;
        wish.retry_due_ms = 0;
        wish.left = wish.repeat;
        wish.by_hand = wish.cancel_requested = false;
        wish.last_error.size = 0;
        wish.claim = (struct task_claim){0};
        wish.open_count = wish.backlog_count = 0;
        assert_true(task_same(&again, &wish, true));
        free(text);
    }
    buffer_release(&out);
}
