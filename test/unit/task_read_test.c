/* SPDX-License-Identifier: MIT */
#include "service/task/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

static struct task_scratch scratch;

static enum tocsin_status read_text(const char *json, struct task *ret_task, bool *ret_malformed,
                                    struct tocsin_why *ret_why)
{
    return task_read(bytes_of(json), NULL, &scratch, ret_task, ret_malformed, ret_why);
}

static struct task good(const char *json)
{
    struct task task;
    struct tocsin_why why = {""};
    if (read_text(json, &task, NULL, &why) != TOCSIN_OK)
        fail_msg("%s: %s", json, why.text);
    assert_true(task_check(&task));
    return task;
}

static void assert_bytes(struct bytes bytes, const char *expected)
{
    if (!bytes_are(bytes, expected))
        fail_msg("'%.*s' is not '%s'", (int)bytes.size, bytes.at, expected);
}

/* The body must be refused with a reason that begins so. */
static void bad(const char *json, const char *why_begins)
{
    struct task task;
    struct tocsin_why why = {""};
    bool malformed = true;
    if (read_text(json, &task, &malformed, &why) != TOCSIN_INVALID)
        fail_msg("taken: %s", json);
    if (strncmp(why.text, why_begins, strlen(why_begins)) != 0)
        fail_msg("%s: '%s' does not begin with '%s'", json, why.text, why_begins);
    assert_false(malformed);
    assert_int_equal(read_text(json, &task, NULL, NULL), TOCSIN_INVALID);
}

/* W-03 */
TEST(an_empty_object_is_a_task_with_every_default)
{
    struct task task = good("{}");
    assert_int_equal(task.id.size, 0);
    assert_int_equal(task.name.size, 0);
    assert_int_equal(task.payload.size, 0);
    assert_bytes(task.queue, "default");
    assert_int_equal(task.rhythm, TASK_ONCE);
    assert_false(task.has_delay || task.has_at || task.from_end);
    assert_int_equal(task.delay_ms, 0);
    assert_bytes(task.zone, "UTC");
    assert_int_equal(task.repeat, -1);
    assert_int_equal(task.left, -1);
    assert_int_equal(task.misfire, TASK_MISFIRE_ONCE);
    assert_int_equal(task.overlap, TASK_OVERLAP_SKIP);
    assert_int_equal(task.jitter_ms, 0);
    assert_int_equal(task.retries_max, 3);
    assert_int_equal(task.backoff.base_ms, 1000);
    assert_int_equal(task.backoff.cap_ms, 60000);
    assert_true(task.backoff.factor == 2 && task.backoff.jitter == 0.2);
    assert_int_equal(task.timeout_ms, 300000);
    assert_int_equal(task.claim.fence, 0);
}

/* W-03 W-06 */
TEST(every_field_of_a_one_shot_is_read)
{
    struct task task =
        good("{\"id\":\"notify-001\",\"name\":\"Send \\u00e9\",\"delay\":\"1h30m\","
             "\"misfire\":\"all\",\"overlap\":\"allow\",\"jitter\":\"PT5M\","
             "\"payload\":{\"a\": [1 , 2]},\"target\":{\"type\":\"queue\",\"queue\":\"mail\"},"
             "\"retry\":{\"max\":7,\"base\":\"2s\",\"factor\":1.5,\"cap\":\"10m\",\"jitter\":0},"
             "\"timeout\":1500}");
    assert_bytes(task.id, "notify-001");
    assert_bytes(task.name, "Send \xc3\xa9");
    assert_true(task.has_delay);
    assert_int_equal(task.delay_ms, 5400000);
    assert_int_equal(task.misfire, TASK_MISFIRE_ALL);
    assert_int_equal(task.overlap, TASK_OVERLAP_ALLOW);
    assert_int_equal(task.jitter_ms, 300000);
    assert_bytes(task.payload, "{\"a\": [1 , 2]}");
    assert_bytes(task.queue, "mail");
    assert_int_equal(task.retries_max, 7);
    assert_int_equal(task.backoff.base_ms, 2000);
    assert_int_equal(task.backoff.cap_ms, 600000);
    assert_true(task.backoff.factor == 1.5 && task.backoff.jitter == 0);
    assert_int_equal(task.timeout_ms, 1500);
}

/* W-03 W-22 */
TEST(every_field_of_a_schedule_is_read)
{
    struct task task = good("{\"every\":\"10m\",\"at\":\"2026-11-15T13:00:00+08:00\","
                            "\"from\":\"end\",\"repeat\":5,\"jitter\":\"9m59s\"}");
    assert_int_equal(task.rhythm, TASK_EVERY);
    assert_int_equal(task.every_ms, 600000);
    assert_true(task.has_at && task.from_end);
    assert_int_equal(task.at_ms, INT64_C(1794718800000));
    assert_int_equal(task.repeat, 5);
    assert_int_equal(task.left, 5);
    task = good("{\"cron\":\"0 13 * * MON-FRI\",\"tz\":\"Asia/Shanghai\",\"repeat\":-1,"
                "\"dst\":{\"gap\":\"skip\",\"overlap\":\"last\"},\"jitter\":\"23h59m\"}");
    assert_int_equal(task.rhythm, TASK_CRON);
    assert_bytes(task.cron, "0 13 * * MON-FRI");
    assert_bytes(task.zone, "Asia/Shanghai");
    assert_int_equal(task.dst.gap, CRON_GAP_SKIP);
    assert_int_equal(task.dst.overlap, CRON_OVERLAP_LAST);
}

TEST(what_may_be_given_is_taken)
{
    static const char *const bodies[] = {
        " { } ",
        "{\"delay\":0}",
        "{\"delay\":\"0ms\"}",
        "{\"delay\":9007199254740992}",
        "{\"at\":-1}",
        "{\"at\":253402300799999}",
        "{\"at\":\"0001-01-01T00:00:00Z\"}",
        "{\"every\":1}",
        "{\"every\":\"1m\",\"delay\":\"1s\"}",
        "{\"every\":\"1m\",\"from\":\"start\"}",
        "{\"every\":2,\"jitter\":1}",
        "{\"cron\":\"@daily\"}",
        "{\"cron\":\"* * * * * *\",\"jitter\":999}",
        "{\"cron\":\"*/5 * * * *\",\"jitter\":\"4m59s\"}",
        "{\"cron\":\"@daily\",\"dst\":{}}",
        "{\"cron\":\"@daily\",\"dst\":{\"gap\":\"shift\"}}",
        "{\"cron\":\"@daily\",\"dst\":{\"overlap\":\"both\"},\"repeat\":9223372036854775807}",
        "{\"overlap\":\"queue\",\"misfire\":\"skip\"}",
        "{\"jitter\":\"1d\"}",
        "{\"name\":\"\"}",
        "{\"d\\u0065lay\":\"\\u0031s\"}",
        "{\"target\":{\"type\":\"queue\"}}",
        "{\"retry\":{}}",
        "{\"retry\":{\"max\":0,\"base\":0,\"cap\":0,\"factor\":1,\"jitter\":1}}",
        "{\"retry\":{\"max\":1000,\"factor\":1e3,\"jitter\":-0}}",
        "{\"timeout\":1}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        (void)good(bodies[i]);
}

static const struct {
    const char *body, *why;
} refused[] = {
    {"[]", "body: an object is expected, not an array"},
    {"5", "body: an object is expected, not a number"},
    {"{\"dalay\":\"5s\"}", "dalay: there is no such field"},
    {"{\"\":1}", ": there is no such field"},
    {"{\"delay\":\"5s\",\"delay\":\"5s\"}", "delay: this field is given twice"},
    {"{\"status\":\"pending\"}", "status: there is no such field"},

    {"{\"id\":\"\"}", "id: must not be empty"},
    {"{\"id\":null}", "id: a string is expected, not null"},
    {"{\"id\":7}", "id: a string is expected, not a number"},
    {"{\"id\":\"a\\u0000b\"}", "id: a control character"},
    {"{\"id\":\"a\\nb\"}", "id: a control character"},
    {"{\"id\":\"a\\u007f\"}", "id: a control character"},
    {"{\"id\":\"a\\u0085\"}", "id: a control character"},
    {"{\"name\":\"a\\tb\"}", "name: must not have control characters"},
    {"{\"name\":true}", "name: a string is expected, not true"},

    {"{\"delay\":\"-5s\"}", "delay: '-5s': must not be negative"},
    {"{\"delay\":-5}", "delay: this number must not be negative"},
    {"{\"delay\":1.5}", "delay: a whole number is expected"},
    {"{\"delay\":1e3}", "delay: a whole number is expected"},
    {"{\"delay\":\"\"}", "delay: must not be empty"},
    {"{\"delay\":\"5 s\"}", "delay: '5 s': one of the units"},
    {"{\"delay\":\"soon\"}", "delay: 'soon': a digit is missing"},
    {"{\"delay\":null}", "delay: a duration is expected"},
    {"{\"delay\":{}}", "delay: a duration is expected"},
    {"{\"delay\":9007199254740993}", "delay: 9007199254740993 ms, at most"},
    {"{\"delay\":18446744073709551616}", "delay: this number does not fit"},
    {"{\"delay\":\"99999999999d\"}", "delay: 8639999999913600000 ms, at most"},
    {"{\"delay\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
     "delay: a string may have at most 64 bytes here"},
    {"{\"at\":\"2026-11-15\"}", "at: '2026-11-15': a 'T' and the time are missing"},
    {"{\"at\":\"2026-02-29T00:00:00Z\"}", "at: '2026-02-29T00:00:00Z': that month"},
    {"{\"at\":true}", "at: a time is expected"},
    {"{\"at\":1.5}", "at: a whole number is expected"},
    {"{\"at\":253402300800000}", "at: 253402300800000 is not within"},
    {"{\"at\":\"\"}", "at: must not be empty"},
    {"{\"delay\":1,\"at\":1}", "at: cannot go with delay"},
    {"{\"at\":1,\"delay\":1}", "at: cannot go with delay"},

    {"{\"every\":0}", "every: must be at least 1ms"},
    {"{\"every\":\"0s\"}", "every: must be at least 1ms"},
    {"{\"every\":\"1x\"}", "every: '1x'"},
    {"{\"cron\":\"0\\t2 * * *\"}", "cron: must not have control characters"},
    {"{\"every\":\"1m\",\"cron\":\"@daily\"}", "cron: cannot go with every"},
    {"{\"cron\":\"@daily\",\"every\":\"1m\"}", "cron: cannot go with every"},
    {"{\"cron\":\"@daily\",\"delay\":1}", "delay: cannot go with cron"},
    {"{\"cron\":\"@daily\",\"at\":1}", "at: cannot go with cron"},
    {"{\"cron\":\"99 * * * *\"}", "cron: minute '99': allowed is 0 to 59"},
    {"{\"cron\":\"* * *\"}", "cron: '* * *': it has 3 fields"},
    {"{\"cron\":\"\"}", "cron: '': it has 0 fields"},
    {"{\"cron\":\"\\u0000\"}", "cron: must not have control characters"},
    {"{\"cron\":5}", "cron: a string is expected"},
    {"{\"from\":\"start\"}", "from: goes with every only"},
    {"{\"from\":\"end\",\"cron\":\"@daily\"}", "from: goes with every only"},
    {"{\"every\":\"1m\",\"from\":\"middle\"}", "from: 'middle': must be one of start, end"},
    {"{\"tz\":\"UTC\"}", "tz: goes with cron only"},
    {"{\"tz\":\"UTC\",\"every\":\"1m\"}", "tz: goes with cron only"},
    {"{\"tz\":\"\",\"cron\":\"@daily\"}", "tz: must not be empty"},
    {"{\"dst\":{}}", "dst: goes with cron only"},
    {"{\"cron\":\"@daily\",\"dst\":[]}", "dst: an object is expected, not an array"},
    {"{\"cron\":\"@daily\",\"dst\":{\"gap\":\"last\"}}", "dst.gap: 'last': must be one of shift"},
    {"{\"cron\":\"@daily\",\"dst\":{\"gap\":null}}", "dst.gap: a string is expected"},
    {"{\"cron\":\"@daily\",\"dst\":{\"overlap\":\"all\"}}",
     "dst.overlap: 'all': must be one of first, last, both"},
    {"{\"cron\":\"@daily\",\"dst\":{\"x\":1}}", "dst.x: there is no such field"},
    {"{\"repeat\":-1}", "repeat: goes with every or cron only"},
    {"{\"repeat\":5,\"delay\":1}", "repeat: goes with every or cron only"},
    {"{\"every\":1,\"repeat\":0}", "repeat: 0: must be -1 (for ever) or at least 1"},
    {"{\"every\":1,\"repeat\":-2}", "repeat: -2: must be"},
    {"{\"every\":1,\"repeat\":\"5\"}", "repeat: a number is expected, not a string"},
    {"{\"every\":1,\"repeat\":9223372036854775808}", "repeat: this number does not fit"},

    {"{\"misfire\":\"never\"}", "misfire: 'never': must be one of once, skip, all"},
    {"{\"misfire\":\"\"}", "misfire: '': must be one of"},
    {"{\"overlap\":\"Skip\"}", "overlap: 'Skip': must be one of skip, queue, allow"},
    {"{\"overlap\":3}", "overlap: a string is expected"},
    {"{\"every\":\"10m\",\"jitter\":\"10m\"}", "jitter: must be below the distance of two "
                                               "occurrences, which is 10m"},
    {"{\"every\":1,\"jitter\":1}", "jitter: must be below"},
    {"{\"cron\":\"*/5 * * * *\",\"jitter\":\"5m\"}", "jitter: must be below the distance of two "
                                                     "occurrences, which is 5m"},
    {"{\"cron\":\"* * * * * *\",\"jitter\":\"1s\"}", "jitter: must be below"},
    {"{\"jitter\":\"-1s\"}", "jitter: '-1s': must not be negative"},

    {"{\"target\":\"queue\"}", "target: an object is expected, not a string"},
    {"{\"target\":{}}", "target.type: is missing"},
    {"{\"target\":{\"queue\":\"a\"}}", "target.type: is missing"},
    {"{\"target\":{\"type\":\"webhook\",\"url\":\"http://x\"}}",
     "target.type: webhook: not in this version"},
    {"{\"target\":{\"headers\":{},\"url\":\"http://x\",\"type\":\"webhook\"}}",
     "target.type: webhook: not in this version"},
    {"{\"target\":{\"topic\":\"/topic/x\",\"type\":\"topic\"}}",
     "target.type: topic: not in this version"},
    {"{\"target\":{\"type\":\"pigeon\"}}", "target.type: 'pigeon': must be one of queue"},
    {"{\"target\":{\"type\":\"queue\",\"url\":1}}", "target.url: does not go with a queue"},
    {"{\"target\":{\"type\":\"queue\",\"queue\":\"\"}}", "target.queue: must not be empty"},
    {"{\"target\":{\"type\":\"queue\",\"queue\":\"a\\rb\"}}", "target.queue: must not have"},
    {"{\"target\":{\"type\":\"queue\",\"to\":1}}", "target.to: there is no such field"},

    {"{\"retry\":3}", "retry: an object is expected, not a number"},
    {"{\"retry\":{\"max\":1001}}", "retry.max: 1001, at most 1000 is allowed"},
    {"{\"retry\":{\"max\":-1}}", "retry.max: this number must not be negative"},
    {"{\"retry\":{\"max\":\"3\"}}", "retry.max: a number is expected, not a string"},
    {"{\"retry\":{\"max\":1,\"max\":1}}", "retry.max: this field is given twice"},
    {"{\"retry\":{\"times\":1}}", "retry.times: there is no such field"},
    {"{\"retry\":{\"base\":\"x\"}}", "retry.base: 'x'"},
    {"{\"retry\":{\"cap\":true}}", "retry.cap: a duration is expected"},
    {"{\"retry\":{\"factor\":0.5}}", "retry.factor: 0.5, allowed is 1 to 1000"},
    {"{\"retry\":{\"factor\":1e400}}", "retry.factor: this number is too large"},
    {"{\"retry\":{\"factor\":\"2\"}}", "retry.factor: a number is expected"},
    {"{\"retry\":{\"jitter\":1.1}}", "retry.jitter: 1.1, allowed is 0 to 1"},
    {"{\"retry\":{\"jitter\":-0.1}}", "retry.jitter: -0.1, allowed"},
    {"{\"timeout\":0}", "timeout: must be at least 1ms"},
    {"{\"timeout\":null}", "timeout: a duration is expected"},
    {"{\"result\\\": x\":1}", "result\\\": x: there is no such field"},
};

/* W-03 */
TEST(what_is_refused_names_its_field)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        bad(refused[i].body, refused[i].why);
}

TEST(a_reason_is_printable_whatever_the_field_is_called)
{
    bad("{\"\xe2\x98\x83\":1}", "???: there is no such field");
    bad("{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":"
        "1}",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: there is no such field");
}

TEST(text_that_is_no_json_is_told_apart)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"", "byte 0: the text ends where a value is expected"},
        {"{\"delay\":\"5s\"", "byte 13: a comma or } is expected"},
        {"{\"delay\":05}", "byte 9: a number must not start with a zero"},
        {"{} x", "byte 3: nothing may follow the value"},
        {"{\"payload\":[1,]}", "byte 13: the last comma is one too many"},
        {"{\"retry\":{\"max\":}}", "byte 16: a value is expected"},
        {"{\"id\":\"\xff\"}", "byte 7: this is not valid UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct task task;
        struct tocsin_why why = {""};
        bool malformed = false;
        assert_int_equal(read_text(cases[i].body, &task, &malformed, &why), TOCSIN_INVALID);
        assert_true(malformed);
        assert_string_equal(why.text, cases[i].why);
    }
}

TEST(what_is_nested_too_deep_is_told_with_its_field)
{
    static const char *const opens[] = {"[", "{\"a\":"};
    for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
        char body[600] = "{\"payload\":";
        size_t at = strlen(body);
        for (int depth = 0; depth < JSON_DEPTH_MAX; depth++)
            at += (size_t)snprintf(body + at, sizeof body - at, "%s", opens[i]);
        struct task task;
        struct tocsin_why why = {""};
        bool malformed = true;
        assert_int_equal(read_text(body, &task, &malformed, &why), TOCSIN_INVALID);
        assert_false(malformed);
        assert_string_equal(why.text, "payload: nested too deep, at most 64 levels");
    }
}

/* One field with a string of so many letters, to be freed. */
static char *long_body(const char *field, size_t letters)
{
    size_t room = letters + 100;
    char *body = malloc(room);
    assert_non_null(body);
    char *x = malloc(letters + 1);
    assert_non_null(x);
    memset(x, 'x', letters);
    x[letters] = '\0';
    (void)snprintf(body, room, "{\"%s\":\"%s\"}", field, x);
    free(x);
    return body;
}

/* W-03 */
TEST(an_id_has_at_most_255_bytes)
{
    char *body = long_body("id", 255);
    assert_int_equal(good(body).id.size, 255);
    free(body);
    body = long_body("id", 256);
    bad(body, "id: a string may have at most 255 bytes here");
    struct tocsin_why why;
    assert_int_equal(task_id_valid((struct bytes){body, 256}, "id", &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "id: 256 bytes, at most 255 are allowed");
    free(body);
    assert_int_equal(task_id_valid(bytes_of("\xc3"), "task", &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "task: a control character, or not UTF-8, at byte 0");
    assert_int_equal(task_id_valid(bytes_of("\xe4\xbb\xbb\xe5\x8a\xa1 1"), "id", &why), TOCSIN_OK);
}

TEST(the_id_of_the_path_counts_and_the_body_may_only_repeat_it)
{
    struct task_read_options options = {bytes_of("a b")};
    struct task task;
    struct tocsin_why why;
    bool malformed = true;
    assert_int_equal(task_read(bytes_of("{}"), &options, &scratch, &task, NULL, &why), TOCSIN_OK);
    assert_bytes(task.id, "a b");
    assert_int_equal(
        task_read(bytes_of("{\"id\":\"a\\u0020b\"}"), &options, &scratch, &task, NULL, &why),
        TOCSIN_OK);
    assert_bytes(task.id, "a b");
    assert_int_equal(
        task_read(bytes_of("{\"id\":\"c\"}"), &options, &scratch, &task, &malformed, &why),
        TOCSIN_INVALID);
    assert_string_equal(why.text, "id: is not the one in the path");
    options.path_id = bytes_of("\n");
    malformed = true;
    assert_int_equal(task_read(bytes_of("{}"), &options, &scratch, &task, &malformed, &why),
                     TOCSIN_INVALID);
    assert_false(malformed);
}

/* W-17 */
TEST(a_payload_is_kept_byte_for_byte)
{
    static const char *const payloads[] = {
        "18446744073709551616", "1e400",        "{\"z\":1, \"a\" : 2,\n\"z\":1.0}", "null",
        "\"\\u0041\"",          "[ [ ] , -0 ]",
    };
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        char body[200];
        (void)snprintf(body, sizeof body, "{\"payload\": %s ,\"delay\":1}", payloads[i]);
        assert_bytes(good(body).payload, payloads[i]);
    }
}

TEST(a_payload_has_at_most_64_kib)
{
    enum { MOST = 64 * 1024 };
    char *body = long_body("payload", MOST - 2); /* and its quotes */
    assert_int_equal(good(body).payload.size, MOST);
    free(body);
    body = long_body("payload", MOST - 1);
    bad(body, "payload: 65537 bytes, at most 65536 are allowed");
    free(body);
}
