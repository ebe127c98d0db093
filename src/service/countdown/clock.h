/* SPDX-License-Identifier: MIT */
/* clock.h - how much time does each side have, and when does a flag fall?
 *
 * A game clock with two sides as a value: no thread, no timer, no clock of its own. Time comes
 * in as an argument, in milliseconds of any clock that does not go back; the owner keeps the
 * struct, arms a timer for turn_clock_deadline, and asks again after every change.
 *
 *   mode        a turn may take                what is left after a move that took `used`
 *   EACH        bank                           bank, anew for each turn
 *   FISCHER     bank                           bank - used + extra
 *   BRONSTEIN   bank                           bank - used + the lesser of used and extra
 *   DELAY       extra + bank                   bank - what used is more than extra
 *   BYOYOMI     bank + periods x extra         bank - used; when that is used up, a period
 *                                              less for each whole one used in this turn
 *
 * FISCHER and BRONSTEIN add `extra` before the first move as well, as FIDE's guidelines have
 * it: "90 minutes + 30 seconds a move" begins at 90:30. So BRONSTEIN and DELAY allow the same,
 * and differ in what the player sees.
 *
 * Flag      falls when nothing is left: a move at the deadline is late, one a millisecond
 *           before is not. A period of 30 s that was used for 30 s is gone. A fallen flag
 *           stays so: nothing but turn_clock_init takes it back.
 * Lag       of a move that came in time, up to a limit for a move and a quota for the game, is
 *           not counted as used. What was credited is in the answer, to be published. It never
 *           raises a fallen flag.
 * Ends      nothing overflows: a bank ends at TURN_CLOCK_MAX_MS, a deadline at the end of time.
 *           Time that goes back is time that stands still.
 * Threads   one at a time per clock.
 */
#ifndef TOCSIN_SERVICE_COUNTDOWN_CLOCK_H
#define TOCSIN_SERVICE_COUNTDOWN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>

/* A year: for games by post. */
#define TURN_CLOCK_MAX_MS (INT64_C(366) * 24 * 60 * 60 * 1000)
/* The deadline of a clock that does not run. */
#define TURN_CLOCK_NEVER INT64_MAX

enum { TURN_CLOCK_SIDES = 2, TURN_CLOCK_PERIODS_MAX = 1000 };

enum turn_mode { TURN_EACH, TURN_FISCHER, TURN_BRONSTEIN, TURN_DELAY, TURN_BYOYOMI };

struct turn_rules {
    enum turn_mode mode;
    int64_t bank_ms;      /* of each side; in EACH, of each turn */
    int64_t extra_ms;     /* increment, delay, or the length of a period */
    int64_t periods;      /* in BYOYOMI */
    int64_t lag_move_ms;  /* credited for one move at most */
    int64_t lag_quota_ms; /* credited to a side in a game at most */
};

enum turn_phase { TURN_STOPPED, TURN_RUNNING, TURN_PAUSED, TURN_FLAGGED };

struct turn_side {
    int64_t bank_ms;  /* as at the begin of the turn */
    int64_t periods;  /* left */
    int64_t lag_ms;   /* left of the quota */
    int64_t given_ms; /* in EACH: what was given for the next turn */
};

struct turn_clock {
    struct turn_rules rules;
    struct turn_side side[TURN_CLOCK_SIDES];
    enum turn_phase phase;
    int to_move;
    int64_t started_ms; /* when the turn began, or went on after a pause */
    int64_t spent_ms;   /* in this turn before that */
};

/* What a move did. */
struct turn_move {
    bool flagged;        /* it came too late, and counts for nothing */
    int64_t used_ms;     /* from the begin of the turn, pauses and credit taken off */
    int64_t credited_ms; /* for lag */
};

/* What a clock shows of a side. */
struct turn_reading {
    int64_t bank_ms;   /* 0 when it has begun to use periods */
    int64_t delay_ms;  /* in DELAY: what is left before the bank is touched */
    int64_t periods;   /* in BYOYOMI: left, with the one that runs */
    int64_t period_ms; /* in BYOYOMI: left of the one that runs, or would run next */
    int64_t flag_ms;   /* until the flag falls, if this side moves and time goes on */
};

enum tocsin_status turn_rules_valid(const struct turn_rules *rules, struct tocsin_why *ret_why);

/* The rules must be valid. The clock stands until turn_clock_start. */
void turn_clock_init(struct turn_clock *clock, const struct turn_rules *rules);

/* A side's turn begins, whoever's it was: for the first move, and after a game changed hands by
 * other ways than a move. Not after a flag has fallen: false, and nothing changes. */
bool turn_clock_start(struct turn_clock *clock, int side, int64_t now_ms);

/* The side to move has moved, and the other's turn begins; the clock must run. `lag_ms` is how
 * long the move was on its way, as far as the caller believes it. */
struct turn_move turn_clock_move(struct turn_clock *clock, int64_t now_ms, int64_t lag_ms);

/* When the flag of the side to move falls, unless something is done before. */
int64_t turn_clock_deadline(const struct turn_clock *clock);

/* True when it has fallen by now; then it stays so. */
bool turn_clock_flag(struct turn_clock *clock, int64_t now_ms);

/* False when there is nothing to pause or to resume, or the flag has fallen. */
bool turn_clock_pause(struct turn_clock *clock, int64_t now_ms);
bool turn_clock_resume(struct turn_clock *clock, int64_t now_ms);

/* More time, from 0 on, for a side: at once when it is to move; in EACH otherwise for its next
 * turn. False after a flag has fallen. */
bool turn_clock_give(struct turn_clock *clock, int side, int64_t ms, int64_t now_ms);

struct turn_reading turn_clock_read(const struct turn_clock *clock, int side, int64_t now_ms);

#endif
