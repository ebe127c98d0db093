/* SPDX-License-Identifier: MIT */
/* The body of a request. Text that task_read calls malformed is no JSON to jansson either, and
 * what it accepts is; whatever is accepted is written, read by jansson, encoded, decoded and
 * compared. The differences from jansson that are on purpose are those of json_oracle.h. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ORACLE_FAIL(text) (fprintf(stderr, "%s\n", text), abort())
#include "service/task/rhythm.h"
#include "support/json_oracle.h"
#include "support/task_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const char *text, size_t size, bool malformed,
                          const struct tocsin_why *why)
{
    json_error_t error;
    ORACLE_CHECK(why->text[0] != '\0' && strstr(why->text, ": ") != NULL);
    ORACLE_CHECK(!malformed || strncmp(why->text, "byte ", 5) == 0);
    for (const char *at = why->text; !malformed && *at != '\0'; at++)
        ORACLE_CHECK(*at >= ' ' && *at <= '~');
    if (!malformed || memchr(text, '\0', size))
        return;
    json_t *value = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    ORACLE_CHECK(value == NULL);
}

static void check_answer(const struct task *task)
{
    struct buffer out;
    struct json_writer writer;
    struct task_view view = {.status = "pending", .rev = 1, .on_a_line = true};
    json_error_t error;
    buffer_init(&out, 1 << 20);
    json_writer_init(&writer, &out);
    task_write(&writer, task, &view);
    ORACLE_CHECK(json_write_done(&writer) && buffer_status(&out) == TOCSIN_OK);
    ORACLE_CHECK(memchr(out.data, '\n', out.size) == NULL);
    json_t *value = json_loadb(out.data, out.size, JSON_ALLOW_NUL, &error);
    ORACLE_CHECK(value != NULL || oracle_differs_on_purpose(&error));
    json_decref(value);
    buffer_release(&out);
}

static void check_doc(const struct task *task)
{
    static struct task_lists lists;
    struct buffer out;
    struct task again;
    buffer_init(&out, STORE_DOC_BYTES_MAX);
    task_encode(task, &out);
    ORACLE_CHECK(buffer_status(&out) == TOCSIN_OK);
    ORACLE_CHECK(task_decode((struct bytes){out.data, out.size}, &lists, &again) == TOCSIN_OK);
    ORACLE_CHECK(task_same(task, &again, false));
    buffer_release(&out);
}

/* A schedule that somebody can ask for must be one that can be timed. */
static void check_rhythm(struct task *task)
{
    static struct zone *utc;
    static struct rhythm_due_set set;
    const int64_t now_ms = 1794718800000;
    if (utc == NULL)
        ORACLE_CHECK(zone_create(NULL, "UTC", 3, &utc, NULL) == TOCSIN_OK);
    if (rhythm_first(task, utc, now_ms, &task->nominal_ms, NULL) != TOCSIN_OK)
        return;
    ORACLE_CHECK(task->has_at || task->nominal_ms >= now_ms);
    ORACLE_CHECK(rhythm_due(task, task->nominal_ms) >= task->nominal_ms);
    int64_t later_ms = now_ms + INT64_C(86400000) * 365;
    rhythm_take_due(task, utc, later_ms, &set);
    for (size_t i = 0; i < set.run_count; i++) {
        ORACLE_CHECK(rhythm_due(task, set.run[i]) <= later_ms);
        ORACLE_CHECK(i == 0 || set.run[i - 1] < set.run[i]);
    }
    ORACLE_CHECK(rhythm_due(task, set.next_ms) > later_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct task_scratch scratch;
    struct task task;
    struct tocsin_why why = {""};
    bool malformed = false;
    /* A copy of exactly this size, so that a read past the end is seen. */
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    struct bytes body = {text, size};
    if (task_read(body, NULL, &scratch, &task, &malformed, &why) == TOCSIN_OK) {
        json_error_t error;
        json_t *value = json_loadb(text, size, JSON_ALLOW_NUL, &error);
        ORACLE_CHECK(json_is_object(value) || oracle_differs_on_purpose(&error));
        json_decref(value);
        ORACLE_CHECK(task_check(&task));
        check_answer(&task);
        check_doc(&task);
        check_rhythm(&task);
    } else {
        check_refusal(text, size, malformed, &why);
    }
    free(text);
    return 0;
}
