/* SPDX-License-Identifier: MIT */
#include "store/dead.h"

#include <stdlib.h>
#include <string.h>

#include "runner.h"

static enum tocsin_status read_all(const char *bytes, size_t size, uint64_t *ret_sum)
{
    struct dead_reader reader;
    enum tocsin_status status;
    uint64_t rev = 0;
    uint64_t sum = 0;
    dead_reader_init(&reader, (struct bytes){bytes, size});
    while ((status = dead_read(&reader, &rev)) == TOCSIN_OK)
        sum += rev;
    *ret_sum = sum;
    return status;
}

TEST(a_list_is_written_as_its_header_says)
{
    static const uint64_t revs[] = {7, 8, 9, 300};
    struct buffer buffer;
    uint64_t sum;
    buffer_init(&buffer, 100);
    dead_encode(&buffer, revs, 4);
    assert_int_equal(buffer.size, 5);
    assert_memory_equal(buffer.data, "\x06\x00\x00\xa2\x02", 5);
    assert_int_equal(read_all(buffer.data, buffer.size, &sum), TOCSIN_NONE);
    assert_int_equal(sum, 324);
    buffer_clear(&buffer);
    uint64_t highest = DEAD_REV_MAX;
    dead_encode(&buffer, &highest, 1);
    assert_int_equal(read_all(buffer.data, buffer.size, &sum), TOCSIN_NONE);
    assert_int_equal(sum, DEAD_REV_MAX);
    assert_int_equal(read_all("", 0, &sum), TOCSIN_NONE);
    buffer_release(&buffer);
}

TEST(what_is_no_list_is_refused)
{
    uint64_t sum;
    assert_int_equal(read_all("\x80", 1, &sum), TOCSIN_DAMAGED);
    assert_int_equal(read_all("\x80\x00", 2, &sum), TOCSIN_DAMAGED);
    assert_int_equal(read_all("\x01\x80\x80\x00", 4, &sum), TOCSIN_DAMAGED);
    assert_int_equal(read_all("\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9, &sum), TOCSIN_DAMAGED);
    assert_int_equal(read_all("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &sum),
                     TOCSIN_DAMAGED);
    assert_int_equal(read_all("\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x00", 10, &sum),
                     TOCSIN_DAMAGED);
}

static int by_number(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one;
    uint64_t b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* Dense here, sparse there, in any order and some twice: as a sorted array has them. */
static void compare_with_array(struct test_random *random, uint64_t count, uint64_t spread)
{
    uint64_t *revs = calloc(count, sizeof *revs);
    struct dead_set set;
    struct dead_cursor cursor;
    assert_non_null(revs);
    dead_set_init(&set);
    uint64_t base = 1 + test_random_below(random, UINT64_C(1) << 40);
    for (uint64_t i = 0; i < count; i++) {
        revs[i] = base + test_random_below(random, spread);
        assert_int_equal(dead_set_add(&set, revs[i]), TOCSIN_OK);
    }
    qsort(revs, count, sizeof *revs, by_number);
    dead_cursor_init(&cursor, &set);
    struct dead_cursor runs = cursor;
    uint64_t distinct = 0;
    uint64_t rev;
    uint64_t run_first = 1;
    uint64_t run_last = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0 && revs[i] == revs[i - 1])
            continue;
        distinct++;
        assert_true(dead_cursor_next(&cursor, &rev));
        assert_int_equal(rev, revs[i]);
        if (run_first > run_last)
            assert_true(dead_cursor_next_run(&runs, 100, &run_first, &run_last));
        assert_int_equal(run_first++, rev);
    }
    assert_false(dead_cursor_next(&cursor, &rev));
    assert_true(run_first > run_last);
    assert_false(dead_cursor_next_run(&runs, 1, &run_first, &run_last));
    assert_int_equal(set.size, distinct);
    dead_set_release(&set);
    free(revs);
}

TEST(a_set_has_what_a_sorted_array_has)
{
    struct test_random random = {test_seed()};
    for (uint64_t round = 0; round < test_effort(60); round++) {
        compare_with_array(&random, 1 + test_random_below(&random, 20000), 1 << 15);
        compare_with_array(&random, 1 + test_random_below(&random, 20000), 1 << 20);
        compare_with_array(&random, 1 + test_random_below(&random, 2000), UINT64_C(1) << 36);
    }
}
