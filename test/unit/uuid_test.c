/* SPDX-License-Identifier: MIT */
#include "service/task/uuid.h"

#include <string.h>

#include "runner.h"

static uint64_t next_random(void *arg)
{
    return test_random_next(arg);
}

static uint64_t all_ones(void *arg)
{
    (void)arg;
    return UINT64_MAX;
}

/* The example of RFC 9562, appendix A.6. */
TEST(a_uuid_looks_as_the_rfc_says)
{
    char text[UUID_TEXT_BYTES];
    uuid_format(0x017F22E279B0, 0xCC3, 0x18C4DC0C0C07398F, text);
    assert_memory_equal(text, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", UUID_TEXT_BYTES);
}

TEST(bits_beyond_their_field_do_not_show)
{
    char text[UUID_TEXT_BYTES];
    uuid_format(INT64_MAX, UINT16_MAX, UINT64_MAX, text);
    assert_memory_equal(text, "ffffffff-ffff-7fff-bfff-ffffffffffff", UUID_TEXT_BYTES);
    uuid_format(-1, 0, 0, text);
    assert_memory_equal(text, "00000000-0000-7000-8000-000000000000", UUID_TEXT_BYTES);
}

TEST(the_ids_of_a_source_ascend_also_when_the_clock_goes_back)
{
    struct test_random random = {test_seed()};
    struct uuid_source source;
    char last[UUID_TEXT_BYTES] = "";
    int64_t now_ms = 1794718800000;
    uuid_source_init(&source, next_random, &random);
    for (uint64_t i = 0; i < test_effort(200000); i++) {
        char text[UUID_TEXT_BYTES];
        if (test_random_one_in(&random, 10))
            now_ms += (int64_t)test_random_below(&random, 5) - 2;
        uuid_next(&source, now_ms, text);
        assert_true(memcmp(text, last, sizeof text) > 0);
        assert_true(text[14] == '7' && strchr("89ab", text[19]) != NULL);
        memcpy(last, text, sizeof text);
    }
}

TEST(used_up_bits_carry_into_the_milliseconds)
{
    struct uuid_source source;
    char text[UUID_TEXT_BYTES];
    uuid_source_init(&source, all_ones, NULL);
    uuid_next(&source, 1, text);
    assert_memory_equal(text, "00000000-0001-7fff-bfff-ffffffffffff", UUID_TEXT_BYTES);
    uuid_next(&source, 1, text);
    assert_memory_equal(text, "00000000-0002-7000-8000-0000ffffffff", UUID_TEXT_BYTES);
    source.last_low = (UINT64_C(1) << 62) - 1;
    uuid_next(&source, 1, text);
    assert_memory_equal(text, "00000000-0002-7001-8000-0000ffffffff", UUID_TEXT_BYTES);
}

TEST(a_new_millisecond_brings_new_chance)
{
    struct test_random random = {1};
    struct uuid_source source;
    char one[UUID_TEXT_BYTES];
    char two[UUID_TEXT_BYTES];
    uuid_source_init(&source, next_random, &random);
    uuid_next(&source, 5, one);
    uuid_next(&source, 6, two);
    assert_memory_not_equal(one + 15, two + 15, 21);
}
