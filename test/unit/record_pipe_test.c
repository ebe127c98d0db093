/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include <stdio.h>

#include "store/record_pipe.h"

enum { LONG_BYTES = RECORD_BLOCK_BYTES / 2 };

/* What record number i is, so that both sides can make it. */
struct sample {
    char key[32];
    char home[32];
    struct store_record record;
};

static char long_key[LONG_BYTES];

static void sample_init(struct sample *sample, uint64_t number)
{
    *sample = (struct sample){0};
    (void)snprintf(sample->key, sizeof sample->key, "key-%llu", (unsigned long long)number);
    (void)snprintf(sample->home, sizeof sample->home, "home-%llu", (unsigned long long)number);
    sample->record = (struct store_record){
        .rev = number + 1,
        .kind = bytes_of(number % 3 == 0 ? "task" : "idem"),
        .key = bytes_of(sample->key),
        .tag = bytes_of(number % 5 == 0 ? "" : "default"),
        .due_ms = (int64_t)number * 7,
        .basis = number % 2 == 0 ? STORE_WALL : STORE_ELAPSED,
        .mark = (uint8_t)(number % 64),
        .doc = bytes_of("left out"),
    };
    if (number % 1000 == 999)
        sample->record.key = (struct bytes){long_key, LONG_BYTES};
    sample->record.home = number % 4 == 0 ? bytes_of(sample->home) : sample->record.key;
}

static void assert_same(const struct store_record *is, uint64_t number)
{
    struct sample sample;
    sample_init(&sample, number);
    assert_int_equal(is->rev, sample.record.rev);
    assert_true(bytes_equal(is->kind, sample.record.kind));
    assert_true(bytes_equal(is->key, sample.record.key));
    assert_true(bytes_equal(is->home, sample.record.home));
    assert_true(bytes_equal(is->tag, sample.record.tag));
    assert_int_equal(is->due_ms, sample.record.due_ms);
    assert_int_equal(is->basis, sample.record.basis);
    assert_int_equal(is->mark, sample.record.mark);
    assert_int_equal(is->doc.size, 0);
}

struct putting {
    struct record_pipe pipe;
    pthread_t thread;
    uint64_t count;
    uint64_t put;
    enum tocsin_status status;
};

static void *put_all(void *arg)
{
    struct putting *putting = arg;
    while (putting->put < putting->count && putting->status == TOCSIN_OK) {
        struct sample sample;
        sample_init(&sample, putting->put);
        putting->status = record_pipe_put(&putting->pipe, &sample.record);
        putting->put += putting->status == TOCSIN_OK;
    }
    record_pipe_end(&putting->pipe);
    return NULL;
}

static void begin(struct putting *putting, uint64_t count)
{
    *putting = (struct putting){.count = count};
    assert_true(record_pipe_init(&putting->pipe));
    assert_int_equal(pthread_create(&putting->thread, NULL, put_all, putting), 0);
}

static void end(struct putting *putting)
{
    assert_int_equal(pthread_join(putting->thread, NULL), 0);
    record_pipe_release(&putting->pipe);
}

/* Store: load gives each living version exactly once. */
TEST(every_record_comes_out_once_and_in_order)
{
    static const uint64_t counts[] = {0,
                                      1,
                                      RECORD_BLOCK_RECORDS - 1,
                                      RECORD_BLOCK_RECORDS,
                                      RECORD_BLOCK_RECORDS + 1,
                                      RECORD_PIPE_BLOCKS * RECORD_BLOCK_RECORDS,
                                      RECORD_PIPE_BLOCKS * RECORD_BLOCK_RECORDS + 1,
                                      50000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct putting putting;
        const struct record_block *block;
        uint64_t taken = 0;
        begin(&putting, counts[i]);
        while ((block = record_pipe_take(&putting.pipe)) != NULL)
            for (size_t k = 0; k < block->count; k++)
                assert_same(&block->records[k], taken++);
        assert_int_equal(taken, counts[i]);
        assert_null(record_pipe_take(&putting.pipe));
        end(&putting);
        assert_int_equal(putting.status, TOCSIN_OK);
    }
}

/* Law 8: everything is bounded. */
TEST(who_puts_waits_while_the_pipe_is_full_until_it_is_closed)
{
    for (int take = 0; take < 3; take++) {
        struct putting putting;
        begin(&putting, UINT64_MAX);
        for (int i = 0; i < take; i++)
            assert_non_null(record_pipe_take(&putting.pipe));
        record_pipe_close(&putting.pipe);
        end(&putting);
        assert_int_equal(putting.status, TOCSIN_BUSY);
        assert_in_range(putting.put, 1,
                        (uint64_t)(RECORD_PIPE_BLOCKS + take) * RECORD_BLOCK_RECORDS);
    }
}

TEST(a_record_larger_than_a_block_is_refused)
{
    struct record_pipe pipe;
    struct sample sample;
    assert_true(record_pipe_init(&pipe));
    sample_init(&sample, 1);
    assert_int_equal(record_pipe_put(&pipe, &sample.record), TOCSIN_OK);
    static char bytes[RECORD_BLOCK_BYTES];
    struct store_record large = {.key = {bytes, sizeof bytes}};
    assert_int_equal(record_pipe_put(&pipe, &large), TOCSIN_OK);
    large.tag = bytes_of("x");
    assert_int_equal(record_pipe_put(&pipe, &large), TOCSIN_TOO_LARGE);
    record_pipe_end(&pipe);
    const struct record_block *block = record_pipe_take(&pipe);
    assert_int_equal(block->count, 1);
    assert_same(&block->records[0], 1);
    block = record_pipe_take(&pipe);
    assert_int_equal(block->count, 1);
    assert_int_equal(block->records[0].key.size, sizeof bytes);
    assert_null(record_pipe_take(&pipe));
    record_pipe_release(&pipe);
}
