/* SPDX-License-Identifier: MIT */
#include "schedule/backoff.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>

#include "schedule/reason.h"

#define FACTOR_MAX 1000.0

enum tocsin_status backoff_valid(const struct backoff *backoff, struct tocsin_why *ret_why)
{
    if (backoff->base_ms > BACKOFF_MAX_MS)
        return reason_refuse(ret_why, "base: %" PRIu64 " ms, at most %" PRIu64 " is allowed",
                             backoff->base_ms, BACKOFF_MAX_MS);
    if (backoff->cap_ms > BACKOFF_MAX_MS)
        return reason_refuse(ret_why, "cap: %" PRIu64 " ms, at most %" PRIu64 " is allowed",
                             backoff->cap_ms, BACKOFF_MAX_MS);
    /* Written so that what is not a number is refused too. */
    if (!(backoff->factor >= 1 && backoff->factor <= FACTOR_MAX))
        return reason_refuse(ret_why, "factor: %g, allowed is 1 to %g", backoff->factor,
                             FACTOR_MAX);
    if (!(backoff->jitter >= 0 && backoff->jitter <= 1))
        return reason_refuse(ret_why, "jitter: %g, allowed is 0 to 1", backoff->jitter);
    return TOCSIN_OK;
}

/* Infinity when it is beyond a double, which is what the comparison with the cap needs. */
static double power(double base, uint32_t exponent)
{
    double result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        base *= base;
    }
    return result;
}

uint64_t backoff_delay_ms(const struct backoff *backoff, uint32_t failures_before, uint64_t chance)
{
    assert(backoff_valid(backoff, NULL) == TOCSIN_OK);
    if (backoff->base_ms == 0)
        return 0;
    double delay = (double)backoff->base_ms * power(backoff->factor, failures_before);
    if (delay > (double)backoff->cap_ms)
        delay = (double)backoff->cap_ms;
    double part = (double)(chance >> 11) / (double)(UINT64_C(1) << 53); /* in [0, 1) */
    return (uint64_t)(delay - delay * backoff->jitter * part);
}
