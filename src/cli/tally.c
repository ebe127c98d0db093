/* SPDX-License-Identifier: MIT */

#include "cli/tally.h"

#define WINDOW_US UINT64_C(1100000)

void tally_record(struct tally_history *history, uint64_t at_us, const struct tally *tally)
{
    history->samples[history->taken % TALLY_SAMPLES] = (struct tally_sample){at_us, *tally};
    history->taken++;
}

static const struct tally_sample *sample_back(const struct tally_history *history, size_t back)
{
    return &history->samples[(history->taken - back) % TALLY_SAMPLES];
}

static uint64_t per_second(uint64_t before, uint64_t after, uint64_t passed_us)
{
    return (uint64_t)((double)(after - before) * 1e6 / (double)passed_us + 0.5);
}

struct tally tally_rates(const struct tally_history *history)
{
    size_t kept = history->taken < TALLY_SAMPLES ? history->taken : TALLY_SAMPLES;
    if (kept < 2)
        return (struct tally){0};
    const struct tally_sample *last = sample_back(history, 1);
    const struct tally_sample *first = sample_back(history, 2);
    for (size_t back = 3; back <= kept; back++) {
        if (last->at_us - sample_back(history, back)->at_us > WINDOW_US)
            break;
        first = sample_back(history, back);
    }
    uint64_t passed_us = last->at_us - first->at_us;
    if (passed_us == 0)
        return (struct tally){0};
    const struct tally *from = &first->tally;
    const struct tally *to = &last->tally;
    return (struct tally){
        .armed = per_second(from->armed, to->armed, passed_us),
        .rearmed = per_second(from->rearmed, to->rearmed, passed_us),
        .cancelled = per_second(from->cancelled, to->cancelled, passed_us),
        .fired = per_second(from->fired, to->fired, passed_us),
        .moved = per_second(from->moved, to->moved, passed_us),
    };
}
