/* SPDX-License-Identifier: MIT */
/* bells.h - which few timers can one follow by eye?
 *
 * Five named timers on the same wheel as the crowd, each with a story that fits
 * into one round: one rings again and again, one once, one is pushed back until
 * its owner falls silent, one is cancelled in time, one is hours away.
 */
#ifndef TOCSIN_CLI_BELLS_H
#define TOCSIN_CLI_BELLS_H

#include <tocsin/wheel.h>

#include "cli/tally.h"

enum { BELLS_COUNT = 5 };

enum bell_state { BELL_PENDING, BELL_RANG, BELL_CANCELLED };

struct bell {
    struct tocsin_timer timer; /* id 0: none pending */
    enum bell_state state;
    uint64_t armed_ms; /* when it was armed or last pushed back */
    uint64_t due_ms;
    uint64_t acted_ms; /* when it was last pushed back or cancelled */
    uint64_t rang_us;  /* 0: not yet in this round */
    uint64_t late_us;  /* of the last ring */
    uint32_t rings;
    uint32_t renewals;
};

struct bells {
    struct tocsin_wheel *wheel;
    struct tally *tally;
    uint64_t round_ms;
    uint64_t started_ms; /* of this round */
    struct bell all[BELLS_COUNT];
};

/* Arms the first round. A round is as long as the run, but 1 to 15 s. Wheel and
 * tally are borrowed as long as the bells are used. */
enum tocsin_status bells_start(struct bells *bells, struct tocsin_wheel *wheel, struct tally *tally,
                               uint64_t now_ms, uint64_t run_ms);
/* Push back, cancel, begin a new round: what is to happen by now. */
enum tocsin_status bells_step(struct bells *bells, uint64_t now_ms);

bool bells_is_cookie(uint64_t cookie);
/* A bell with this cookie came out. False: it had no business to. */
bool bells_fired(struct bells *bells, const struct tocsin_due *due, uint64_t now_us,
                 uint64_t late_us);

/* Never NULL; "lease ends". */
const char *bells_name(size_t bell);
/* What stands beside it: "renewed 3 times", "rang 0.061 ms late". */
void bells_note(const struct bells *bells, size_t bell, char *ret_text, size_t size);

#endif
