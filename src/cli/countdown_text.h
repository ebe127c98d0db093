/* SPDX-License-Identifier: MIT */
/* countdown_text.h - how does a countdown look to a reader? From the JSON that the server answers. */
#ifndef TOCSIN_CLI_COUNTDOWN_TEXT_H
#define TOCSIN_CLI_COUNTDOWN_TEXT_H

#include <stdint.h>

#include "base/bytes.h"
#include "cli/table.h"

enum { COUNTDOWN_TEXT_BYTES = 256, COUNTDOWN_LINE_BYTES = 800 };

/* What is shown of it; texts are cut to fit, without control characters. */
struct countdown_text {
    char key[COUNTDOWN_TEXT_BYTES];
    char owner[COUNTDOWN_TEXT_BYTES];
    char version[COUNTDOWN_TEXT_BYTES];
    char kind[COUNTDOWN_TEXT_BYTES];
    char state[16]; /* running, paused, firing or expired */
    uint64_t left_ms;
    int64_t deadline_ms; /* 0: none */
    int64_t started_ms;
    int64_t expired_ms; /* 0: not yet */
    int64_t rev;
};

/* False: that is none. */
bool countdown_text_read(struct bytes json, struct countdown_text *ret_it);
/* Its time is over, whether that has been dealt with or not. */
bool countdown_text_over(const struct countdown_text *it);
enum paint countdown_text_paint(const struct countdown_text *it);

/* KEY STATE LEFT OWNER VERSION KIND */
void countdown_text_row(struct bytes json, int64_t now_ms, struct table *table);
/* Everything worth knowing, a line each. */
void countdown_text_print(struct bytes json, int64_t now_ms);
/* "ada has 0:30 left, until 13:00:30.250"; "the time of ada was up at 13:00:30.250";
 * "the time of ada is up since 13:00:30.250, and is being dealt with" */
void countdown_text_say(const struct countdown_text *it, char ret_text[COUNTDOWN_LINE_BYTES]);

#endif
