/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include <stdlib.h>

#include "runner.h"

static unsigned resizes;
static unsigned refuse_from;

static void *counted_resize(void *at, size_t bytes)
{
    resizes++;
    return refuse_from != 0 && resizes >= refuse_from ? NULL : realloc(at, bytes);
}

static void init_counted(struct buffer *buffer, size_t max_bytes, unsigned refused)
{
    buffer_init(buffer, max_bytes);
    buffer->resize = counted_resize;
    resizes = 0;
    refuse_from = refused;
}

TEST(buffer_holds_what_was_appended)
{
    struct buffer buffer;
    buffer_init(&buffer, 1000);
    assert_null(buffer.data);
    buffer_append(&buffer, "one\0two", 7);
    buffer_append_byte(&buffer, '-');
    buffer_append_text(&buffer, "three");
    buffer_append(&buffer, NULL, 0);
    assert_int_equal(buffer.size, 13);
    assert_memory_equal(buffer.data, "one\0two-three", 13);
    assert_int_equal(buffer_status(&buffer), TOCSIN_OK);
    buffer_release(&buffer);
    assert_null(buffer.data);
}

TEST(buffer_can_be_filled_to_its_maximum_and_not_a_byte_more)
{
    for (size_t max_bytes = 0; max_bytes < 1100; max_bytes++) {
        struct buffer buffer;
        buffer_init(&buffer, max_bytes);
        for (size_t i = 0; i < max_bytes; i++)
            buffer_append_byte(&buffer, 'x');
        assert_int_equal(buffer_status(&buffer), TOCSIN_OK);
        assert_true(buffer.room <= max_bytes);
        buffer_append_byte(&buffer, 'y');
        assert_int_equal(buffer_status(&buffer), TOCSIN_FULL);
        assert_int_equal(buffer.size, max_bytes);
        buffer_release(&buffer);
    }
}

TEST(buffer_remembers_that_an_append_failed)
{
    struct buffer buffer;
    buffer_init(&buffer, 10);
    buffer_append_text(&buffer, "12345678");
    buffer_append_text(&buffer, "abc"); /* a byte too many: none of it */
    buffer_append_text(&buffer, "9");   /* would fit, but there is a gap before it */
    assert_int_equal(buffer_status(&buffer), TOCSIN_FULL);
    assert_int_equal(buffer.size, 8);
    assert_memory_equal(buffer.data, "12345678", 8);
    size_t size = 77;
    assert_null(buffer_take(&buffer, &size));
    assert_int_equal(size, 77);
    buffer_clear(&buffer);
    assert_int_equal(buffer_status(&buffer), TOCSIN_OK);
    buffer_append_text(&buffer, "9");
    assert_int_equal(buffer.size, 1);
    buffer_release(&buffer);
}

TEST(buffer_refuses_a_size_that_would_overflow)
{
    struct buffer buffer;
    init_counted(&buffer, SIZE_MAX, 2);
    buffer_append_text(&buffer, "some");
    assert_null(buffer_reserve(&buffer, SIZE_MAX - 2));
    assert_int_equal(buffer_status(&buffer), TOCSIN_FULL);
    buffer_clear(&buffer);
    buffer_append_text(&buffer, "some");
    assert_null(buffer_reserve(&buffer, SIZE_MAX - 4));
    assert_int_equal(buffer_status(&buffer), TOCSIN_NO_MEMORY);
    buffer_release(&buffer);
}

TEST(buffer_keeps_what_it_has_when_the_system_gives_no_memory)
{
    for (unsigned n = 1; n < 6; n++) {
        struct buffer buffer;
        init_counted(&buffer, 1 << 20, n);
        size_t fits = n == 1 ? 0 : (size_t)256 << (n - 2);
        for (size_t i = 0; i < fits; i++)
            buffer_append_byte(&buffer, (char)i);
        assert_int_equal(buffer_status(&buffer), TOCSIN_OK);
        buffer_append_byte(&buffer, 'x');
        assert_int_equal(buffer_status(&buffer), TOCSIN_NO_MEMORY);
        assert_int_equal(buffer.size, fits);
        for (size_t i = 0; i < fits; i++)
            assert_int_equal(buffer.data[i], (char)i);
        buffer_release(&buffer);
    }
}

TEST(buffer_allocates_seldom_and_not_at_all_once_it_has_room)
{
    struct buffer buffer;
    init_counted(&buffer, 1 << 20, 0);
    for (int i = 0; i < 1 << 20; i++)
        buffer_append_byte(&buffer, 'x');
    assert_int_equal(resizes, 13); /* 256 doubled twelve times */
    buffer_clear(&buffer);
    for (int i = 0; i < 1 << 20; i++)
        buffer_append_byte(&buffer, 'x');
    assert_int_equal(resizes, 13);
    assert_int_equal(buffer_status(&buffer), TOCSIN_OK);
    buffer_release(&buffer);
}

TEST(buffer_reserved_room_is_the_callers_to_fill)
{
    struct buffer buffer;
    buffer_init(&buffer, 1000);
    buffer_append_text(&buffer, "a");
    char *at = buffer_reserve(&buffer, 999);
    assert_non_null(at);
    memset(at, 'b', 999);
    buffer_advance(&buffer, 2);
    buffer_append_text(&buffer, "c");
    assert_int_equal(buffer.size, 4);
    assert_memory_equal(buffer.data, "abbc", 4);
    buffer_release(&buffer);
}

TEST(buffer_that_was_taken_is_empty_and_usable)
{
    struct buffer buffer;
    buffer_init(&buffer, 1000);
    size_t size = 77;
    assert_null(buffer_take(&buffer, &size));
    buffer_append_text(&buffer, "mine");
    char *bytes = buffer_take(&buffer, &size);
    assert_int_equal(size, 4);
    assert_memory_equal(bytes, "mine", 4);
    free(bytes);
    assert_int_equal(buffer.size, 0);
    buffer_append_text(&buffer, "next");
    assert_memory_equal(buffer.data, "next", 4);
    buffer_release(&buffer);
}
