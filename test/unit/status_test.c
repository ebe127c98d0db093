/* SPDX-License-Identifier: MIT */
#include <tocsin/status.h>

#include "runner.h"

TEST(status_has_a_name_and_a_text_for_every_number)
{
    assert_int_equal(TOCSIN_OK, 0);
    assert_string_equal(tocsin_status_name(TOCSIN_STALE), "STALE");
    assert_string_equal(tocsin_status_text(TOCSIN_OK), "done");
    for (int i = 0; i <= TOCSIN_NONE; i++) {
        assert_true(tocsin_status_name((enum tocsin_status)i)[0] != '\0');
        assert_true(tocsin_status_text((enum tocsin_status)i)[0] != '\0');
    }
    assert_string_equal(tocsin_status_name((enum tocsin_status)9999), "UNKNOWN");
    assert_string_equal(tocsin_status_text((enum tocsin_status) - 1), "no such status");
}

TEST(status_says_what_is_worth_another_try)
{
    assert_true(tocsin_status_retryable(TOCSIN_FULL));
    assert_true(tocsin_status_retryable(TOCSIN_MORE));
    assert_false(tocsin_status_retryable(TOCSIN_STALE));
    assert_false(tocsin_status_retryable(TOCSIN_OK));
    assert_false(tocsin_status_retryable((enum tocsin_status)9999));
}
