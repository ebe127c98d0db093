/* SPDX-License-Identifier: MIT */
#include "service/renewal/spec.h"

static int64_t steps_ttl_ms(const struct renewal_strategy *strategy, uint64_t count)
{
    uint64_t passed = 0;
    for (uint32_t i = 0; i < strategy->step_count; i++) {
        const struct renewal_step *step = &strategy->steps[i];
        passed += step->count;
        if (step->count == 0 || count < passed)
            return step->ttl_ms;
    }
    return 0;
}

int64_t strategy_ttl_ms(const struct renewal_strategy *strategy,
                        const struct renewal_context *context)
{
    if (strategy->type == STRATEGY_STEPS)
        return steps_ttl_ms(strategy, context->count);
    if (strategy->type != STRATEGY_UNTIL)
        return strategy->ttl_ms;
    int64_t left = strategy->until_ms - context->now_ms; /* both within the years 1 to 9999 */
    if (left <= 0)
        return 0;
    return left < strategy->ttl_ms ? left : strategy->ttl_ms;
}

int64_t strategy_least_ttl_ms(const struct renewal_strategy *strategy)
{
    if (strategy->type != STRATEGY_STEPS)
        return strategy->ttl_ms;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < strategy->step_count; i++) {
        if (strategy->steps[i].ttl_ms < least)
            least = strategy->steps[i].ttl_ms;
    }
    return least;
}

size_t prefix_to_pattern(struct bytes prefix, char *to)
{
    size_t size = 0;
    for (size_t i = 0; i < prefix.size; i++) {
        if (strchr("*?[]\\^-", prefix.at[i]) != NULL && prefix.at[i] != '\0')
            to[size++] = '\\';
        to[size++] = prefix.at[i];
    }
    to[size++] = '*';
    return size;
}
