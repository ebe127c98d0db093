/* SPDX-License-Identifier: MIT */
#include "cli/when.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "schedule/instant.h"

int64_t when_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct when when_span(uint64_t ms)
{
    static const struct {
        uint64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
    enum { UNITS = sizeof units / sizeof units[0] };
    struct when when;
    size_t at = 0;
    while (at < UNITS && ms < units[at].ms)
        at++;
    if (at == UNITS) {
        (void)snprintf(when.text, sizeof when.text, "%" PRIu64 "ms", ms);
        return when;
    }
    int used =
        snprintf(when.text, sizeof when.text, "%" PRIu64 "%s", ms / units[at].ms, units[at].unit);
    uint64_t rest = at + 1 < UNITS ? ms % units[at].ms / units[at + 1].ms : 0;
    if (rest > 0)
        (void)snprintf(when.text + used, sizeof when.text - (size_t)used, " %" PRIu64 "%s", rest,
                       units[at + 1].unit);
    return when;
}

struct when when_relative(int64_t at_ms, int64_t now_ms)
{
    struct when when = {"now"};
    uint64_t ms =
        at_ms > now_ms ? (uint64_t)at_ms - (uint64_t)now_ms : (uint64_t)now_ms - (uint64_t)at_ms;
    if (ms > 0)
        (void)snprintf(when.text, sizeof when.text, at_ms > now_ms ? "in %.50s" : "%.50s ago",
                       when_span(ms).text);
    return when;
}

static int64_t second_of(int64_t at_ms)
{
    return at_ms >= 0 ? at_ms / 1000 : (at_ms - 999) / 1000;
}

struct when when_local(int64_t at_ms)
{
    struct when when = {"-"};
    time_t second = (time_t)second_of(at_ms);
    struct tm local = {0};
    const int64_t day_ms = 86400000;
    if (at_ms < INSTANT_FIRST_MS + day_ms || at_ms > INSTANT_LAST_MS - day_ms)
        return when;
    int32_t offset_s = localtime_r(&second, &local) != NULL ? (int32_t)local.tm_gmtoff : 0;
    instant_format(at_ms, offset_s, when.text);
    return when;
}

struct when when_clock(int64_t at_ms)
{
    struct when when;
    time_t second = (time_t)second_of(at_ms);
    struct tm local = {0};
    (void)localtime_r(&second, &local);
    (void)snprintf(when.text, sizeof when.text, "%02d:%02d:%02d.%03d", local.tm_hour, local.tm_min,
                   local.tm_sec, (int)(at_ms - second_of(at_ms) * 1000));
    return when;
}
