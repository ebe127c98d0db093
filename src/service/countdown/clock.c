/* SPDX-License-Identifier: MIT */
#include "service/countdown/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>

#include "schedule/reason.h"

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Two banks, which are not negative. */
static int64_t add_to_bank(int64_t bank_ms, int64_t ms)
{
    return ms > TURN_CLOCK_MAX_MS - bank_ms ? TURN_CLOCK_MAX_MS : bank_ms + ms;
}

static enum tocsin_status check_ms(const char *name, int64_t ms, int64_t least,
                                   struct tocsin_why *ret_why)
{
    if (ms >= least && ms <= TURN_CLOCK_MAX_MS)
        return TOCSIN_OK;
    return reason_refuse(ret_why, "%s: %" PRId64 " ms, allowed is %" PRId64 " to %" PRId64, name,
                         ms, least, TURN_CLOCK_MAX_MS);
}

static enum tocsin_status check_periods(const struct turn_rules *rules, struct tocsin_why *ret_why)
{
    bool has_periods = rules->mode == TURN_BYOYOMI;
    if (!has_periods && rules->periods != 0)
        return reason_refuse(ret_why, "periods: %" PRId64 ", only byo-yomi has any",
                             rules->periods);
    if (has_periods && (rules->periods < 1 || rules->periods > TURN_CLOCK_PERIODS_MAX))
        return reason_refuse(ret_why, "periods: %" PRId64 ", allowed is 1 to %d", rules->periods,
                             TURN_CLOCK_PERIODS_MAX);
    return TOCSIN_OK;
}

enum tocsin_status turn_rules_valid(const struct turn_rules *rules, struct tocsin_why *ret_why)
{
    if (rules->mode < TURN_EACH || rules->mode > TURN_BYOYOMI)
        return reason_refuse(ret_why, "mode: there is none of number %d", (int)rules->mode);
    const struct {
        const char *name;
        int64_t ms, least;
    } rows[] = {
        {"bank", rules->bank_ms, rules->mode == TURN_EACH},
        {"extra", rules->extra_ms, rules->mode == TURN_BYOYOMI},
        {"lag of a move", rules->lag_move_ms, 0},
        {"lag quota", rules->lag_quota_ms, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum tocsin_status status = check_ms(rows[i].name, rows[i].ms, rows[i].least, ret_why);
        if (status != TOCSIN_OK)
            return status;
    }
    if (rules->mode == TURN_EACH && rules->extra_ms != 0)
        return reason_refuse(ret_why, "extra: %" PRId64 " ms, a time for each turn has none",
                             rules->extra_ms);
    if (rules->bank_ms == 0 && rules->extra_ms == 0)
        return reason_refuse(ret_why, "bank and extra: both 0, so that nobody could move");
    return check_periods(rules, ret_why);
}

void turn_clock_init(struct turn_clock *clock, const struct turn_rules *rules)
{
    assert(turn_rules_valid(rules, NULL) == TOCSIN_OK);
    *clock = (struct turn_clock){.rules = *rules, .phase = TURN_STOPPED};
    bool is_ahead = rules->mode == TURN_FISCHER || rules->mode == TURN_BRONSTEIN;
    for (int i = 0; i < TURN_CLOCK_SIDES; i++)
        clock->side[i] = (struct turn_side){
            .bank_ms = add_to_bank(rules->bank_ms, is_ahead ? rules->extra_ms : 0),
            .periods = rules->periods,
            .lag_ms = rules->lag_quota_ms,
        };
}

/* How long a turn of this side may take, from its begin. At most a thousand and one times
 * TURN_CLOCK_MAX_MS. */
static int64_t allowance_ms(const struct turn_clock *clock, const struct turn_side *side)
{
    switch (clock->rules.mode) {
    case TURN_EACH:
    case TURN_FISCHER:
    case TURN_BRONSTEIN:
        break;
    case TURN_DELAY:
        return side->bank_ms + clock->rules.extra_ms;
    case TURN_BYOYOMI:
        return side->bank_ms + side->periods * clock->rules.extra_ms;
    }
    return side->bank_ms;
}

/* How much of this turn has passed; no more than the turn may take. */
static int64_t passed_ms(const struct turn_clock *clock, int64_t now_ms)
{
    int64_t most_ms = allowance_ms(clock, &clock->side[clock->to_move]);
    if (clock->phase == TURN_FLAGGED)
        return most_ms;
    if (clock->phase != TURN_RUNNING || now_ms <= clock->started_ms)
        return lesser(clock->spent_ms, most_ms);
    uint64_t since_ms = (uint64_t)now_ms - (uint64_t)clock->started_ms;
    int64_t left_ms = most_ms - clock->spent_ms;
    return since_ms >= (uint64_t)left_ms ? most_ms : clock->spent_ms + (int64_t)since_ms;
}

int64_t turn_clock_deadline(const struct turn_clock *clock)
{
    if (clock->phase != TURN_RUNNING)
        return TURN_CLOCK_NEVER;
    int64_t left_ms = allowance_ms(clock, &clock->side[clock->to_move]) - clock->spent_ms;
    int64_t deadline_ms;
    if (__builtin_add_overflow(clock->started_ms, left_ms, &deadline_ms))
        return TURN_CLOCK_NEVER;
    return deadline_ms;
}

bool turn_clock_flag(struct turn_clock *clock, int64_t now_ms)
{
    if (clock->phase == TURN_RUNNING &&
        passed_ms(clock, now_ms) >= allowance_ms(clock, &clock->side[clock->to_move]))
        clock->phase = TURN_FLAGGED;
    return clock->phase == TURN_FLAGGED;
}

static void begin_turn(struct turn_clock *clock, int side, int64_t now_ms)
{
    struct turn_side *mover = &clock->side[side];
    if (clock->rules.mode == TURN_EACH) {
        mover->bank_ms = add_to_bank(clock->rules.bank_ms, mover->given_ms);
        mover->given_ms = 0;
    }
    clock->to_move = side;
    clock->phase = TURN_RUNNING;
    clock->started_ms = now_ms;
    clock->spent_ms = 0;
}

bool turn_clock_start(struct turn_clock *clock, int side, int64_t now_ms)
{
    assert(side >= 0 && side < TURN_CLOCK_SIDES);
    if (turn_clock_flag(clock, now_ms))
        return false;
    begin_turn(clock, side, now_ms);
    return true;
}

/* What the side has for its next turn, after one that took so long. */
static void settle(const struct turn_rules *rules, struct turn_side *side, int64_t used_ms)
{
    switch (rules->mode) {
    case TURN_EACH:
        break;
    case TURN_FISCHER:
        side->bank_ms = add_to_bank(side->bank_ms - used_ms, rules->extra_ms);
        break;
    case TURN_BRONSTEIN:
        side->bank_ms = side->bank_ms - used_ms + lesser(used_ms, rules->extra_ms);
        break;
    case TURN_DELAY:
        side->bank_ms -= greater(0, used_ms - rules->extra_ms);
        break;
    case TURN_BYOYOMI:
        if (used_ms > side->bank_ms)
            side->periods -= (used_ms - side->bank_ms) / rules->extra_ms;
        side->bank_ms = greater(0, side->bank_ms - used_ms);
        break;
    }
    assert(side->bank_ms >= 0 && side->periods >= 0);
}

struct turn_move turn_clock_move(struct turn_clock *clock, int64_t now_ms, int64_t lag_ms)
{
    assert(clock->phase == TURN_RUNNING || clock->phase == TURN_FLAGGED);
    struct turn_side *mover = &clock->side[clock->to_move];
    int64_t used_ms = passed_ms(clock, now_ms);
    if (turn_clock_flag(clock, now_ms))
        return (struct turn_move){.flagged = true, .used_ms = used_ms};
    int64_t credit_ms = lesser(greater(lag_ms, 0), clock->rules.lag_move_ms);
    credit_ms = lesser(lesser(credit_ms, mover->lag_ms), used_ms);
    mover->lag_ms -= credit_ms;
    used_ms -= credit_ms;
    settle(&clock->rules, mover, used_ms);
    begin_turn(clock, 1 - clock->to_move, now_ms);
    return (struct turn_move){.used_ms = used_ms, .credited_ms = credit_ms};
}

bool turn_clock_pause(struct turn_clock *clock, int64_t now_ms)
{
    if (turn_clock_flag(clock, now_ms) || clock->phase != TURN_RUNNING)
        return false;
    clock->spent_ms = passed_ms(clock, now_ms);
    clock->phase = TURN_PAUSED;
    return true;
}

bool turn_clock_resume(struct turn_clock *clock, int64_t now_ms)
{
    if (clock->phase != TURN_PAUSED)
        return false;
    clock->phase = TURN_RUNNING;
    clock->started_ms = now_ms;
    return true;
}

bool turn_clock_give(struct turn_clock *clock, int side, int64_t ms, int64_t now_ms)
{
    assert(side >= 0 && side < TURN_CLOCK_SIDES && ms >= 0);
    if (turn_clock_flag(clock, now_ms))
        return false;
    struct turn_side *taker = &clock->side[side];
    bool is_later =
        clock->rules.mode == TURN_EACH && (clock->phase == TURN_STOPPED || side != clock->to_move);
    int64_t *to = is_later ? &taker->given_ms : &taker->bank_ms;
    *to = add_to_bank(*to, ms);
    return true;
}

struct turn_reading turn_clock_read(const struct turn_clock *clock, int side, int64_t now_ms)
{
    assert(side >= 0 && side < TURN_CLOCK_SIDES);
    const struct turn_rules *rules = &clock->rules;
    const struct turn_side *shown = &clock->side[side];
    bool is_moving = clock->phase != TURN_STOPPED && side == clock->to_move;
    int64_t used_ms = is_moving ? passed_ms(clock, now_ms) : 0;
    struct turn_reading reading = {.flag_ms = allowance_ms(clock, shown) - used_ms};
    if (rules->mode == TURN_EACH && !is_moving) {
        reading.flag_ms = add_to_bank(rules->bank_ms, shown->given_ms);
        reading.bank_ms = reading.flag_ms;
        return reading;
    }
    if (rules->mode == TURN_DELAY) {
        reading.delay_ms = greater(0, rules->extra_ms - used_ms);
        used_ms = greater(0, used_ms - rules->extra_ms);
    }
    reading.bank_ms = greater(0, shown->bank_ms - used_ms);
    if (rules->mode == TURN_BYOYOMI) {
        int64_t over_ms = greater(0, used_ms - shown->bank_ms);
        reading.periods = shown->periods - over_ms / rules->extra_ms;
        reading.period_ms = reading.periods > 0 ? rules->extra_ms - over_ms % rules->extra_ms : 0;
    }
    return reading;
}
