/* SPDX-License-Identifier: MIT */
#include "base/crc32c.h"

#include <string.h>

#include "runner.h"

/* RFC 3720, appendix B.4, and the check value of the catalogue of checksums. */
TEST(crc32c_of_known_texts_is_as_published)
{
    unsigned char block[32];
    assert_int_equal(crc32c(0, "", 0), 0);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u);
    memset(block, 0, sizeof block);
    assert_int_equal(crc32c(0, block, sizeof block), 0x8a9136aau);
    memset(block, 0xff, sizeof block);
    assert_int_equal(crc32c(0, block, sizeof block), 0x62a8ab43u);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (unsigned char)i;
    assert_int_equal(crc32c(0, block, sizeof block), 0x46dd794eu);
}

TEST(crc32c_is_the_same_by_table_by_processor_and_in_pieces)
{
    struct test_random random = {test_seed()};
    unsigned char bytes[300];
    for (uint64_t round = 0; round < test_effort(20000); round++) {
        size_t size = test_random_below(&random, sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)test_random_next(&random);
        size_t cut = test_random_below(&random, size + 1);
        uint32_t whole = crc32c(0, bytes, size);
        assert_int_equal(crc32c_by_table(0, bytes, size), whole);
        assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, size - cut), whole);
        assert_int_equal(crc32c_by_table(crc32c(0, bytes, cut), bytes + cut, size - cut), whole);
    }
}

TEST(crc32c_notices_every_flipped_bit)
{
    unsigned char bytes[64] = "whatever must happen at a time, happens";
    uint32_t whole = crc32c(0, bytes, sizeof bytes);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        assert_int_not_equal(crc32c(0, bytes, sizeof bytes), whole);
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
}
