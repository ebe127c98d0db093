/* SPDX-License-Identifier: MIT */
/* wheel_checks.h - is this wheel whole, and what is due? For tests of wheels. */
#ifndef TEST_WHEEL_CHECKS_H
#define TEST_WHEEL_CHECKS_H

#include "runner.h"
#include <tocsin/wheel.h>

static inline void assert_whole(const struct tocsin_wheel *wheel)
{
    struct tocsin_why why = {""};
    if (tocsin_wheel_check(wheel, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
}

/* How many timers are due at now, in as many calls as it takes. */
static inline size_t take_all(struct tocsin_wheel *wheel, uint64_t now)
{
    struct tocsin_due due[64];
    size_t total = 0;
    size_t count;
    enum tocsin_status status;
    do {
        status = tocsin_wheel_take(wheel, now, 0, due, 64, &count);
        total += count;
    } while (status == TOCSIN_MORE);
    assert_int_equal(status, TOCSIN_OK);
    return total;
}

#endif
