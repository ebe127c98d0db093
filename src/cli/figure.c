/* SPDX-License-Identifier: MIT */

#include "cli/figure.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct figure figure_count(uint64_t count)
{
    char digits[24];
    struct figure figure;
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            figure.text[used++] = ' ';
        figure.text[used++] = digits[i];
    }
    figure.text[used] = '\0';
    return figure;
}

/* Three digits that count, whatever the size. */
static struct figure three_digits(double value, const char *unit)
{
    struct figure figure;
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    (void)snprintf(figure.text, sizeof figure.text, "%.*f %s", decimals, value, unit);
    return figure;
}

struct figure figure_short(uint64_t count)
{
    if (count < 1000000)
        return figure_count(count);
    return three_digits((double)count / 1e6, "M");
}

struct figure figure_span(uint64_t span_ms)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {
        {"ms", 1},     {"s", 1e3},        {"min", 6e4},       {"h", 3.6e6},
        {"d", 8.64e7}, {"y", 3.15576e10}, {"ky", 3.15576e13}, {"million years", 3.15576e16}};
    size_t at = 0;
    double ms = (double)span_ms;
    while (at + 1 < sizeof units / sizeof units[0] && ms >= units[at + 1].ms)
        at++;
    /* "65.5 s" says more to somebody who looks for a level than "1.09 min". */
    if (at == 2 && span_ms % 60000 != 0 && ms < 3e5)
        at = 1;
    double value = ms / units[at].ms;
    if (value < 1e6 && value == (double)(uint64_t)value) {
        struct figure figure;
        (void)snprintf(figure.text, sizeof figure.text, "%.0f %s", value, units[at].unit);
        return figure;
    }
    return three_digits(value, units[at].unit);
}

struct figure figure_late(uint64_t late_us)
{
    if (late_us < 1000) {
        struct figure figure;
        (void)snprintf(figure.text, sizeof figure.text, "0.%03d ms", (int)late_us);
        return figure;
    }
    if (late_us < 999500)
        return three_digits((double)late_us / 1e3, "ms");
    return three_digits((double)late_us / 1e6, "s");
}

struct figure figure_left(uint64_t left_ms)
{
    struct figure figure;
    uint64_t seconds = left_ms / 1000;
    if (seconds < 60) {
        (void)snprintf(figure.text, sizeof figure.text, "%" PRIu64 ".%d s", seconds,
                       (int)(left_ms % 1000 / 100));
    } else if (seconds < 3600) {
        (void)snprintf(figure.text, sizeof figure.text, "%" PRIu64 " min %02d s", seconds / 60,
                       (int)(seconds % 60));
    } else {
        (void)snprintf(figure.text, sizeof figure.text, "%" PRIu64 " h %02d min", seconds / 3600,
                       (int)(seconds / 60 % 60));
    }
    return figure;
}

struct figure figure_bytes(uint64_t size_bytes)
{
    if (size_bytes < 1000000)
        return three_digits((double)size_bytes / 1e3, "kB");
    return three_digits((double)size_bytes / 1e6, "MB");
}
