/* SPDX-License-Identifier: MIT */
#include "service/task/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "store/store.h"
#include "support/task_make.h"

static struct task_lists lists;

/* From a copy of exactly this size, so that a sanitizer sees a read past the end. The task
 * borrows from the copy, which the caller frees. */
static enum tocsin_status decode(const char *doc, size_t size, char **ret_copy,
                                 struct task *ret_task)
{
    char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, doc, size);
    *ret_copy = copy;
    return task_decode((struct bytes){copy, size}, &lists, ret_task);
}

static void encode(const struct task *task, struct buffer *out)
{
    buffer_clear(out);
    task_encode(task, out);
    assert_int_equal(buffer_status(out), TOCSIN_OK);
}

/* Whatever these bytes are, they are refused, or are a task that has these bytes. */
static bool survives(const char *doc, size_t size)
{
    struct task task;
    struct buffer again;
    char *copy;
    enum tocsin_status status = decode(doc, size, &copy, &task);
    buffer_init(&again, STORE_DOC_BYTES_MAX);
    if (status == TOCSIN_OK) {
        assert_true(task_check(&task));
        assert_int_equal(task.id.size, 0);
        encode(&task, &again);
        assert_int_equal(again.size, size);
        assert_memory_equal(again.data, doc, size);
    } else {
        assert_int_equal(status, TOCSIN_DAMAGED);
    }
    buffer_release(&again);
    free(copy);
    return status == TOCSIN_OK;
}

/* W-17 W-18 */
TEST(a_task_is_read_from_its_doc_as_it_was)
{
    struct test_random random = {test_seed()};
    static struct task_made made;
    struct buffer doc;
    buffer_init(&doc, STORE_DOC_BYTES_MAX);
    for (uint64_t round = 0; round < test_effort(20000); round++) {
        struct task task;
        char *copy;
        task_make(&random, &made);
        encode(&made.task, &doc);
        assert_int_equal(decode(doc.data, doc.size, &copy, &task), TOCSIN_OK);
        assert_true(task_same(&task, &made.task, false));
        assert_int_equal(task.id.size, 0);
        free(copy);
    }
    buffer_release(&doc);
}

TEST(a_default_task_costs_three_bytes)
{
    struct task task;
    struct buffer doc;
    task_init(&task);
    buffer_init(&doc, 1000);
    encode(&task, &doc);
    assert_int_equal(doc.size, 3);
    assert_memory_equal(doc.data, "\1\0\0", 3);
    buffer_release(&doc);
}

TEST(a_one_shot_costs_at_most_30_bytes_above_its_payload)
{
    struct task task;
    struct buffer doc;
    char payload[101];
    (void)snprintf(payload, sizeof payload, "\"%098d\"", 7);
    task_init(&task);
    task.id = bytes_of("0190b7f2-aaaa-7bbb-8");
    task.payload = bytes_of(payload);
    task.has_delay = true;
    task.delay_ms = INT64_C(30) * 86400 * 1000;
    task.created_ms = INT64_C(1794718800000);
    task.nominal_ms = task.created_ms + task.delay_ms;
    buffer_init(&doc, 1000);
    encode(&task, &doc);
    assert_in_range(doc.size, 100, 130);
    buffer_release(&doc);
}

/* The bytes themselves: what is on disks must stay readable. */
TEST(the_form_of_a_doc_does_not_change)
{
    static const uint64_t open[] = {7, 8, 300};
    static const int64_t backlog[] = {-1, 0, 1000};
    static const char expected[] = "\x01\x55"              /* version; every, skip, queue, end */
                                   "\xbf\xb1\x88\x82\x18"  /* fields 0-5 7 11 12 17 22 31 32 */
                                   "\xd0\x0f"              /* created 1000 */
                                   "\x01"                  /* nominal -1 */
                                   "\x02{}"                /* payload */
                                   "\x00"                  /* delay 0 */
                                   "\x01q"                 /* queue */
                                   "\x01n"                 /* name */
                                   "\x01"                  /* every 1 */
                                   "\x0a\x09"              /* repeat 10, left 9 */
                                   "\0\0\0\0\0\0\xf0\x3f"  /* factor 1 */
                                   "\x05\x0c\x80\x02"      /* claim 5, 6, 128 */
                                   "\x03\x07\x00\xa3\x02"  /* open 7, 8, 300 */
                                   "\x03\x01\x00\xe7\x07"; /* backlog -1, 0, 1000 */
    struct task task;
    struct buffer doc;
    task_init(&task);
    task.rhythm = TASK_EVERY;
    task.misfire = TASK_MISFIRE_SKIP;
    task.overlap = TASK_OVERLAP_QUEUE;
    task.from_end = true;
    task.every_ms = 1;
    task.created_ms = 1000;
    task.nominal_ms = -1;
    task.payload = bytes_of("{}");
    task.has_delay = true;
    task.queue = bytes_of("q");
    task.name = bytes_of("n");
    task.repeat = 10;
    task.left = 9;
    task.backoff.factor = 1;
    task.claim = (struct task_claim){5, 6, 128};
    task.open = open;
    task.open_count = 3;
    task.backlog = backlog;
    task.backlog_count = 3;
    buffer_init(&doc, 1000);
    encode(&task, &doc);
    assert_int_equal(doc.size, sizeof expected - 1);
    assert_memory_equal(doc.data, expected, doc.size);
    buffer_release(&doc);
}

static void make_sample(unsigned number, struct task_made *made)
{
    struct test_random random = {number};
    do {
        task_make(&random, made);
        /* Long runs of the same kind of byte add nothing. */
        made->task.open_count %= 10;
        made->task.backlog_count %= 10;
        made->task.last_error.size %= 20;
    } while (made->task.rhythm != (enum task_rhythm)(number % 3));
}

enum { SAMPLES = 15 };

TEST(a_doc_that_is_cut_is_damaged)
{
    static struct task_made made;
    struct buffer doc;
    buffer_init(&doc, STORE_DOC_BYTES_MAX);
    for (unsigned i = 0; i < SAMPLES; i++) {
        make_sample(i, &made);
        encode(&made.task, &doc);
        assert_true(survives(doc.data, doc.size));
        for (size_t size = 0; size < doc.size; size++)
            assert_false(survives(doc.data, size));
        buffer_append_byte(&doc, 0);
        assert_false(survives(doc.data, doc.size));
    }
    buffer_release(&doc);
}

TEST(a_doc_with_any_byte_changed_is_damaged_or_another_task)
{
    static struct task_made made;
    struct buffer doc;
    buffer_init(&doc, STORE_DOC_BYTES_MAX);
    uint64_t taken = 0;
    uint64_t tried = 0;
    for (unsigned i = 0; i < test_effort(SAMPLES); i++) {
        make_sample(i, &made);
        encode(&made.task, &doc);
        for (size_t at = 0; at < doc.size; at++) {
            for (unsigned flip = 1; flip < 256; flip++) {
                doc.data[at] = (char)((unsigned char)doc.data[at] ^ flip);
                taken += survives(doc.data, doc.size);
                tried++;
                doc.data[at] = (char)((unsigned char)doc.data[at] ^ flip);
            }
        }
    }
    /* A number changed into another is a good doc; the rest must not be. */
    assert_true(taken > 0 && taken < tried);
    buffer_release(&doc);
}

TEST(a_doc_of_any_bytes_is_damaged_or_a_task)
{
    struct test_random random = {test_seed()};
    for (uint64_t round = 0; round < test_effort(100000); round++) {
        char doc[64];
        size_t size = (size_t)test_random_below(&random, sizeof doc);
        for (size_t i = 0; i < size; i++)
            doc[i] = (char)test_random_next(&random);
        if (size > 0)
            doc[0] = 1;
        (void)survives(doc, size);
    }
}

TEST(one_task_has_one_doc)
{
    static const struct {
        const char *doc;
        size_t size;
    } cases[] = {
        {"\2\0\0", 3},                       /* another version */
        {"\1\200\0", 3},                     /* the bit that must be zero */
        {"\1\3\0", 3},                       /* no such rhythm */
        {"\1\14\0", 3},                      /* no such misfire */
        {"\1\60\0", 3},                      /* no such overlap */
        {"\1\100\0", 3},                     /* from_end of a one-shot */
        {"\1\1\0", 3},                       /* every without its interval */
        {"\1\2\0", 3},                       /* cron without its text */
        {"\1\0\200\0", 4},                   /* a number in more bytes than it needs */
        {"\1\0\1\0", 4},                     /* created at its default */
        {"\1\0\4\0", 4},                     /* an empty payload */
        {"\1\0\4\1x", 5},                    /* a payload that is no JSON */
        {"\1\0\4\2 1", 6},                   /* … with a blank around it */
        {"\1\0\20\7default", 11},            /* the usual queue */
        {"\1\0\20\1\n", 5},                  /* a control character */
        {"\1\0\40\1\377", 5},                /* not UTF-8 */
        {"\1\0\x80\x80\x80\x80\x08\0\0", 9}, /* open, but empty */
        {"\1\0\x80\x80\x80\x80\x08\2\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 19}, /* open 1, 1 */
        {"\1\0\x80\x80\x80\x80\x08\2\5\xfd\xff\xff\xff\xff\xff\xff\xff\xff\1", 19}, /* open 5, 3 */
        {"\1\0\x80\x80\x80\x80\x10\2\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\1",
         19}, /* backlog 2, 2 */
        {"\1\0\x80\x80\x80\x80\x10\2\4\xfd\xff\xff\xff\xff\xff\xff\xff\xff\1", 19}, /* 2, 0 */
        {"\1\0\x80\x80\x80\x80\x10\0\0", 9},                  /* a backlog, but empty */
        {"\1\0\x80\x80\x80\x80\x08\xff\xff\xff\xff\x0f", 12}, /* a count beyond the room */
        {"\1\0\x80\x80\x80\x80\x20\0", 8},                    /* a field nobody knows */
        {"\1\0\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", 13}, /* beyond 64 bits */
        {"\1\0\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 14},
        {"\1\0\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 13}, /* a length beyond the doc */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (survives(cases[i].doc, cases[i].size))
            fail_msg("case %zu is taken", i);
    }
    assert_true(survives("\1\0\1\2", 4));
    assert_true(survives("\1\0\x80\x80\x80\x80\x08\2\1\0", 10));
    assert_true(survives("\1\0\x80\x80\x80\x80\x10\2\4\0", 10));
}

TEST(a_damaged_doc_leaves_the_task_untouched)
{
    struct task task = {.repeat = 4711};
    assert_int_equal(task_decode((struct bytes){"\1\0\1", 3}, &lists, &task), TOCSIN_DAMAGED);
    assert_int_equal(task_decode((struct bytes){"", 0}, &lists, &task), TOCSIN_DAMAGED);
    assert_int_equal(task.repeat, 4711);
}

#define REFUSED(base, change)                                                                      \
    do {                                                                                           \
        struct task task = (base);                                                                 \
        assert_true(task_check(&task));                                                            \
        change;                                                                                    \
        assert_false(task_check(&task));                                                           \
    } while (0)

/* W-03 */
TEST(the_check_refuses_a_wish_that_nobody_could_have)
{
    struct task once;
    struct task every;
    struct task cron;
    char text[TASK_PAYLOAD_BYTES_MAX + 1];
    memset(text, '1', sizeof text);
    task_init(&once);
    every = cron = once;
    every.rhythm = TASK_EVERY;
    every.every_ms = 10;
    cron.rhythm = TASK_CRON;
    cron.cron = bytes_of("* * * * *");
    REFUSED(once, task.id = ((struct bytes){text, TASK_ID_BYTES_MAX + 1}));
    REFUSED(once, task.name = ((struct bytes){text, TASK_NAME_BYTES_MAX + 1}));
    REFUSED(once, task.queue.size = 0);
    REFUSED(once, task.payload = ((struct bytes){text, sizeof text}));
    REFUSED(once, task.rhythm = (enum task_rhythm)3);
    REFUSED(once, task.misfire = (enum task_misfire)3);
    REFUSED(once, task.overlap = (enum task_overlap)3);
    REFUSED(once, task.delay_ms = 1);
    REFUSED(once, (task.has_delay = true, task.delay_ms = -1));
    REFUSED(once, (task.has_delay = true, task.delay_ms = TASK_DELAY_MAX_MS + 1));
    REFUSED(once, task.at_ms = 1);
    REFUSED(once, (task.has_at = true, task.at_ms = INT64_MAX));
    REFUSED(once, task.has_delay = task.has_at = true);
    REFUSED(once, task.every_ms = 1);
    REFUSED(once, task.from_end = true);
    REFUSED(once, task.cron = bytes_of("* * * * *"));
    REFUSED(once, task.zone = bytes_of("Asia/Shanghai"));
    REFUSED(once, task.dst.gap = CRON_GAP_SKIP);
    REFUSED(once, task.repeat = task.left = 1);
    REFUSED(once, task.jitter_ms = -1);
    REFUSED(once, task.retries_max = TASK_RETRIES_MAX + 1);
    REFUSED(once, task.backoff.factor = 0);
    REFUSED(once, task.timeout_ms = 0);
    REFUSED(every, task.every_ms = 0);
    REFUSED(every, task.jitter_ms = 10);
    REFUSED(every, task.repeat = task.left = 0);
    REFUSED(every, task.left = 0);
    REFUSED(every, (task.repeat = 5, task.left = 6));
    REFUSED(every, (task.repeat = 5, task.left = -1));
    REFUSED(cron, task.cron = bytes_of("* * *"));
    REFUSED(cron, task.cron.size = 0);
    REFUSED(cron, task.has_delay = true);
    REFUSED(cron, task.has_at = true);
    REFUSED(cron, task.zone.size = 0);
    REFUSED(cron, task.dst.overlap = (enum cron_overlap)4);
    REFUSED(cron, task.jitter_ms = 60000);
}

TEST(the_check_refuses_a_state_that_cannot_be)
{
    static const uint64_t open[] = {2, 2};
    static const int64_t backlog[] = {2, 1};
    char text[TASK_ERROR_BYTES_MAX + 1];
    struct task once;
    memset(text, 'e', sizeof text);
    task_init(&once);
    REFUSED(once, task.paused_from = (enum task_mark)(TASK_SCHEDULED + 1));
    REFUSED(once, task.last_error = ((struct bytes){text, sizeof text}));
    REFUSED(once, task.claim.started_ms = 1);
    REFUSED(once, task.claim.until_ms = 1);
    REFUSED(once, (task.open = open, task.open_count = 2));
    REFUSED(once, (task.backlog = backlog, task.backlog_count = 2));
    REFUSED(once, task.open_count = TASK_BACKLOG_MAX + 1);
    REFUSED(once, task.backlog_count = TASK_BACKLOG_MAX + 1);
}
