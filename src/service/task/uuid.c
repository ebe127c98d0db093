/* SPDX-License-Identifier: MIT */
#include "service/task/uuid.h"

#define MS_MAX ((INT64_C(1) << 48) - 1)
#define HIGH_MAX UINT16_C(0x0fff)
#define LOW_MAX ((UINT64_C(1) << 62) - 1)

enum { VERSION = 7, VARIANT = 2, NIBBLES = 32 };

static int64_t clamp(int64_t unix_ms)
{
    return unix_ms < 0 ? 0 : unix_ms > MS_MAX ? MS_MAX : unix_ms;
}

void uuid_format(int64_t unix_ms, uint16_t random_high, uint64_t random_low,
                 char ret_text[UUID_TEXT_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    uint64_t high =
        (uint64_t)clamp(unix_ms) << 16 | (uint64_t)VERSION << 12 | (random_high & HIGH_MAX);
    uint64_t low = (uint64_t)VARIANT << 62 | (random_low & LOW_MAX);
    char *to = ret_text;
    for (unsigned i = 0; i < NIBBLES; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            *to++ = '-';
        uint64_t half = i < NIBBLES / 2 ? high : low;
        *to++ = hex[half >> (60 - 4 * (i % 16)) & 0xf];
    }
}

void uuid_source_init(struct uuid_source *source, uint64_t (*random)(void *arg), void *arg)
{
    *source = (struct uuid_source){.random = random, .arg = arg, .last_ms = -1};
}

static void raise(struct uuid_source *source, uint64_t step)
{
    uint64_t low = source->last_low + step;
    source->last_low = low & LOW_MAX;
    if (low <= LOW_MAX)
        return;
    if (source->last_high < HIGH_MAX) {
        source->last_high++;
        return;
    }
    source->last_high = 0;
    source->last_ms = clamp(source->last_ms + 1);
}

void uuid_next(struct uuid_source *source, int64_t unix_ms, char ret_text[UUID_TEXT_BYTES])
{
    int64_t now_ms = clamp(unix_ms);
    if (now_ms > source->last_ms) {
        source->last_ms = now_ms;
        source->last_high = (uint16_t)(source->random(source->arg) & HIGH_MAX);
        source->last_low = source->random(source->arg) & LOW_MAX;
    } else {
        raise(source, 1 + (source->random(source->arg) & UINT32_MAX));
    }
    uuid_format(source->last_ms, source->last_high, source->last_low, ret_text);
}
