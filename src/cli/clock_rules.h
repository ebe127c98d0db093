/* SPDX-License-Identifier: MIT */
/* clock_rules.h - by which clock is a game played, as people write it and as they read it?
 *
 *     written             read
 *     turn:30s            30s a move
 *     fischer:5m+3s       5m + 3s a move
 *     bronstein:5m+3s     5m, Bronstein 3s
 *     delay:5m+3s         5m, delay 3s
 *     byoyomi:1m+3x10s    1m + 3 × 10s
 *
 * Without what comes after the plus, a clock has its bank alone: fischer:5m; byo-yomi must have
 * its periods. Whether the times are allowed is for the server to say.
 */
#ifndef TOCSIN_CLI_CLOCK_RULES_H
#define TOCSIN_CLI_CLOCK_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum { CLOCK_RULES_TEXT_BYTES = 128 };

enum clock_kind {
    CLOCK_TURN,
    CLOCK_FISCHER,
    CLOCK_BRONSTEIN,
    CLOCK_DELAY,
    CLOCK_BYOYOMI,
    CLOCK_OTHER, /* of a newer server */
};

struct clock_rules {
    enum clock_kind kind;
    int64_t bank_ms; /* none is below 0 */
    int64_t extra_ms;
    int64_t periods;
};

/* What the options say when it is none of these. */
#define CLOCK_RULES_FORMS                                                                          \
    "turn:30s, fischer:5m+3s, bronstein:5m+3s, delay:5m+3s or byoyomi:1m+3x10s"

/* "fischer", as the server calls it. */
const char *clock_rules_mode(const struct clock_rules *rules);
/* False, and ret_rules untouched: it is none. */
bool clock_rules_parse(const char *text, struct clock_rules *ret_rules);
/* {"mode","bankMs","extraMs","periods"}; where there is none, so many seconds a move. */
struct clock_rules clock_rules_read(struct bytes json, int64_t turn_seconds);
/* times: the sign between periods and their length, by the locale. */
void clock_rules_say(const struct clock_rules *rules, const char *times,
                     char ret_text[CLOCK_RULES_TEXT_BYTES]);

#endif
