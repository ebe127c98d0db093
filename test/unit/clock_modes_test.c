/* SPDX-License-Identifier: MIT */
/* C-30, C-31: the modes of a game clock, from published examples and against a clock that is
 * stepped through millisecond by millisecond. */
#include "service/countdown/clock.h"

#include <string.h>

#include "runner.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define NOON INT64_C(1767268800000) /* 2026-01-01T12:00:00Z */

enum { TURNS_MAX = 6 };

/* Side 0 makes these moves, side 1 answers at once. */
struct example {
    const char *what;
    struct turn_rules rules;
    int64_t used_ms[TURNS_MAX]; /* -1 ends the list */
    int64_t bank_ms[TURNS_MAX]; /* after the move */
    int64_t periods[TURNS_MAX]; /* after the move */
    bool flagged;               /* the last move is too late */
};

static const struct example examples[] = {
    {"30 s a turn: the next turn has 30 s again",
     {.mode = TURN_EACH, .bank_ms = 30 * SECOND},
     {29 * SECOND, 0, 29999, -1},
     {30 * SECOND, 30 * SECOND, 30 * SECOND},
     {0},
     false},
    {"30 s a turn: a move at 30 s is too late",
     {.mode = TURN_EACH, .bank_ms = 30 * SECOND},
     {0, 30 * SECOND, -1},
     {30 * SECOND},
     {0},
     true},
    {"FIDE 90 min + 30 s from move one: begins at 90:30, and quick moves add up",
     {.mode = TURN_FISCHER, .bank_ms = 90 * MINUTE, .extra_ms = 30 * SECOND},
     {0, 10 * SECOND, 60 * SECOND, 90 * MINUTE, -1},
     {91 * MINUTE, 91 * MINUTE + 20 * SECOND, 90 * MINUTE + 50 * SECOND, 80 * SECOND},
     {0},
     false},
    {"blitz 3 min + 2 s: the increment comes after the move, so it does not save one",
     {.mode = TURN_FISCHER, .bank_ms = 3 * MINUTE, .extra_ms = 2 * SECOND},
     {3 * MINUTE, 4 * SECOND, -1},
     {4 * SECOND},
     {0},
     true},
    {"sudden death: no increment",
     {.mode = TURN_FISCHER, .bank_ms = 5 * MINUTE},
     {2 * MINUTE, 2 * MINUTE, 59999, 1, -1},
     {3 * MINUTE, MINUTE, 1},
     {0},
     true},
    {"Bronstein 10 s: five used are given back, of twenty ten are",
     {.mode = TURN_BRONSTEIN, .bank_ms = 5 * MINUTE, .extra_ms = 10 * SECOND},
     {5 * SECOND, 10 * SECOND, 20 * SECOND, 0, -1},
     {5 * MINUTE + 10 * SECOND, 5 * MINUTE + 10 * SECOND, 5 * MINUTE, 5 * MINUTE},
     {0},
     false},
    {"Bronstein: what is given back comes after the move, so it does not save one",
     {.mode = TURN_BRONSTEIN, .bank_ms = 10 * SECOND, .extra_ms = 10 * SECOND},
     {19 * SECOND, 11 * SECOND, -1},
     {11 * SECOND},
     {0},
     true},
    {"US delay 5 s, G/5 d5: within the delay nothing is used",
     {.mode = TURN_DELAY, .bank_ms = 5 * MINUTE, .extra_ms = 5 * SECOND},
     {4 * SECOND, 5 * SECOND, 6 * SECOND, 64 * SECOND, -1},
     {5 * MINUTE, 5 * MINUTE, 5 * MINUTE - 1 * SECOND, 4 * MINUTE},
     {0},
     false},
    {"US delay 5 s: an empty bank still has the delay",
     {.mode = TURN_DELAY, .bank_ms = 0, .extra_ms = 5 * SECOND},
     {4999, 4999, 5 * SECOND, -1},
     {0, 0},
     {0},
     true},
    {"byo-yomi 10 min + 3 x 30 s: 29 s keep the period, 31 s lose one",
     {.mode = TURN_BYOYOMI, .bank_ms = 10 * MINUTE, .extra_ms = 30 * SECOND, .periods = 3},
     {9 * MINUTE, 89 * SECOND, 29 * SECOND, 31 * SECOND, 29999, -1},
     {1 * MINUTE, 0, 0, 0, 0},
     {3, 3, 3, 2, 2},
     false},
    {"byo-yomi 10 min + 3 x 30 s: 30 s are a whole period",
     {.mode = TURN_BYOYOMI, .bank_ms = 10 * MINUTE, .extra_ms = 30 * SECOND, .periods = 3},
     {10 * MINUTE, 30 * SECOND, 59999, 29999, -1},
     {0, 0, 0, 0},
     {3, 2, 1, 1},
     false},
    {"byo-yomi 10 min + 3 x 30 s: the last period must not be used up",
     {.mode = TURN_BYOYOMI, .bank_ms = 10 * MINUTE, .extra_ms = 30 * SECOND, .periods = 3},
     {10 * MINUTE + 61 * SECOND, 29999, 30 * SECOND, -1},
     {0, 0},
     {1, 1},
     true},
    {"byo-yomi 0 + 1 x 10 s: no main time",
     {.mode = TURN_BYOYOMI, .bank_ms = 0, .extra_ms = 10 * SECOND, .periods = 1},
     {9999, 0, 10 * SECOND, -1},
     {0, 0},
     {1, 1},
     true},
};

/* C-30 */
TEST(published_examples_come_out_as_published)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const struct example *one = &examples[i];
        struct tocsin_why why = {""};
        if (turn_rules_valid(&one->rules, &why) != TOCSIN_OK)
            fail_msg("%s: %s", one->what, why.text);
        struct turn_clock clock;
        turn_clock_init(&clock, &one->rules);
        assert_true(turn_clock_deadline(&clock) == TURN_CLOCK_NEVER);
        int64_t now_ms = NOON;
        assert_true(turn_clock_start(&clock, 0, now_ms));
        for (size_t turn = 0; one->used_ms[turn] >= 0; turn++) {
            bool is_late = one->flagged && one->used_ms[turn + 1] < 0;
            now_ms += one->used_ms[turn];
            assert_true((turn_clock_deadline(&clock) <= now_ms) == is_late);
            struct turn_move move = turn_clock_move(&clock, now_ms, 0);
            if (move.flagged != is_late)
                fail_msg("%s: move %zu", one->what, turn + 1);
            assert_true((clock.phase == TURN_FLAGGED) == is_late);
            if (is_late)
                break;
            assert_true(move.used_ms == one->used_ms[turn]);
            struct turn_reading reading = turn_clock_read(&clock, 0, now_ms);
            if (reading.bank_ms != one->bank_ms[turn] || reading.periods != one->periods[turn])
                fail_msg("%s: after move %zu %lld ms, %lld periods", one->what, turn + 1,
                         (long long)reading.bank_ms, (long long)reading.periods);
            assert_false(turn_clock_move(&clock, now_ms, 0).flagged);
        }
    }
}

/* The oracle: a clock that goes millisecond by millisecond, with a delay, a bank and periods
 * that are used up one after the other. */
struct stepped {
    int64_t delay_ms, bank_ms, period_ms, periods;
};

static bool step(struct stepped *clock, int64_t period_length_ms)
{
    if (clock->delay_ms > 0) {
        clock->delay_ms--;
    } else if (clock->bank_ms > 0) {
        clock->bank_ms--;
    } else if (clock->periods > 0 && --clock->period_ms == 0) {
        clock->periods--;
        clock->period_ms = period_length_ms;
    }
    return clock->delay_ms > 0 || clock->bank_ms > 0 || clock->periods > 0;
}

/* Up to the move or to the fall of the flag; true when it was still up. */
static bool stepped_move(const struct turn_rules *rules, struct stepped *clock, int64_t used_ms)
{
    if (rules->mode == TURN_EACH)
        clock->bank_ms = rules->bank_ms;
    clock->delay_ms = rules->mode == TURN_DELAY ? rules->extra_ms : 0;
    clock->period_ms = rules->extra_ms;
    bool is_up = clock->delay_ms > 0 || clock->bank_ms > 0 || clock->periods > 0;
    for (int64_t ms = 0; ms < used_ms && is_up; ms++)
        is_up = step(clock, rules->extra_ms);
    if (is_up && rules->mode == TURN_FISCHER)
        clock->bank_ms += rules->extra_ms;
    if (is_up && rules->mode == TURN_BRONSTEIN)
        clock->bank_ms += used_ms < rules->extra_ms ? used_ms : rules->extra_ms;
    return is_up;
}

static struct turn_rules small_rules(struct test_random *random)
{
    struct turn_rules rules;
    do {
        rules = (struct turn_rules){
            .mode = (enum turn_mode)test_random_below(random, 5),
            .bank_ms = (int64_t)test_random_below(random, 200),
            .extra_ms = (int64_t)test_random_below(random, 40),
            .periods = (int64_t)test_random_below(random, 4),
        };
    } while (turn_rules_valid(&rules, NULL) != TOCSIN_OK);
    return rules;
}

/* C-30 */
TEST(every_mode_is_as_if_stepped_through)
{
    struct test_random random = {test_seed()};
    for (uint64_t round = test_effort(20000); round > 0; round--) {
        struct turn_rules rules = small_rules(&random);
        struct turn_clock clock;
        turn_clock_init(&clock, &rules);
        bool is_ahead = rules.mode == TURN_FISCHER || rules.mode == TURN_BRONSTEIN;
        struct stepped sides[2];
        for (int i = 0; i < 2; i++)
            sides[i] = (struct stepped){.bank_ms = rules.bank_ms + (is_ahead ? rules.extra_ms : 0),
                                        .periods = rules.periods};
        int64_t now_ms = -100 + (int64_t)test_random_below(&random, 200);
        assert_true(turn_clock_start(&clock, 0, now_ms));
        for (int turn = 0; turn < 40; turn++) {
            int side = turn % 2;
            int64_t used_ms = (int64_t)test_random_below(&random, 50);
            now_ms += used_ms;
            bool is_up = stepped_move(&rules, &sides[side], used_ms);
            assert_true((turn_clock_deadline(&clock) > now_ms) == is_up);
            struct turn_reading before = turn_clock_read(&clock, side, now_ms);
            assert_true((before.flag_ms > 0) == is_up && before.flag_ms >= 0);
            assert_true(turn_clock_move(&clock, now_ms, 0).flagged == !is_up);
            if (!is_up)
                break;
            struct turn_reading after = turn_clock_read(&clock, side, now_ms);
            assert_true(after.periods == sides[side].periods);
            assert_true(rules.mode == TURN_EACH || after.bank_ms == sides[side].bank_ms);
        }
    }
}

TEST(bronstein_never_gives_more_than_was_used)
{
    struct turn_rules rules = {.mode = TURN_BRONSTEIN, .bank_ms = MINUTE, .extra_ms = 10 * SECOND};
    struct turn_clock clock;
    turn_clock_init(&clock, &rules);
    struct test_random random = {test_seed()};
    int64_t now_ms = NOON;
    (void)turn_clock_start(&clock, 0, now_ms);
    for (int i = 0; i < 1000; i++) {
        int64_t before_ms = clock.side[clock.to_move].bank_ms;
        int side = clock.to_move;
        now_ms += (int64_t)test_random_below(&random, 10 * SECOND);
        assert_false(turn_clock_move(&clock, now_ms, 0).flagged);
        assert_true(clock.side[side].bank_ms == before_ms);
    }
}

TEST(bronstein_and_delay_allow_the_same)
{
    struct test_random random = {test_seed()};
    for (int round = 0; round < 1000; round++) {
        struct turn_rules rules = {.mode = TURN_BRONSTEIN, .bank_ms = 100, .extra_ms = 10};
        struct turn_clock bronstein;
        struct turn_clock delay;
        turn_clock_init(&bronstein, &rules);
        rules.mode = TURN_DELAY;
        turn_clock_init(&delay, &rules);
        (void)turn_clock_start(&bronstein, 0, 0);
        (void)turn_clock_start(&delay, 0, 0);
        for (int64_t now_ms = 0; bronstein.phase == TURN_RUNNING;) {
            assert_true(turn_clock_deadline(&bronstein) == turn_clock_deadline(&delay));
            now_ms += (int64_t)test_random_below(&random, 40);
            bool flagged = turn_clock_move(&bronstein, now_ms, 0).flagged;
            assert_true(turn_clock_move(&delay, now_ms, 0).flagged == flagged);
        }
    }
}

/* C-31 */
TEST(lag_is_credited_up_to_the_limit_of_a_move_and_the_quota_of_the_game)
{
    struct turn_rules rules = {
        .mode = TURN_FISCHER, .bank_ms = MINUTE, .lag_move_ms = 500, .lag_quota_ms = 1200};
    static const struct {
        int64_t used_ms, lag_ms, credited_ms;
    } rows[] = {
        {1000, 300, 300}, {1000, 9999, 500}, {1000, -50, 0}, {100, 300, 100},
        {1000, 500, 300}, {1000, 500, 0},    {1000, 1, 0},
    };
    struct turn_clock clock;
    turn_clock_init(&clock, &rules);
    int64_t now_ms = NOON;
    int64_t bank_ms = MINUTE;
    int64_t total_ms = 0;
    (void)turn_clock_start(&clock, 0, now_ms);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        now_ms += rows[i].used_ms;
        struct turn_move move = turn_clock_move(&clock, now_ms, rows[i].lag_ms);
        assert_true(move.credited_ms == rows[i].credited_ms);
        assert_true(move.used_ms == rows[i].used_ms - rows[i].credited_ms);
        bank_ms -= move.used_ms;
        total_ms += move.credited_ms;
        assert_true(clock.side[0].bank_ms == bank_ms);
        assert_true(clock.side[0].lag_ms == 1200 - total_ms);
        /* The other side has a quota of its own. */
        assert_true(clock.side[1].lag_ms == 1200);
        assert_true(turn_clock_move(&clock, now_ms, 500).credited_ms == 0);
    }
    assert_true(total_ms == 1200);
}

TEST(lag_never_raises_a_fallen_flag)
{
    struct turn_rules rules = {
        .mode = TURN_EACH, .bank_ms = SECOND, .lag_move_ms = MINUTE, .lag_quota_ms = MINUTE};
    struct turn_clock clock;
    turn_clock_init(&clock, &rules);
    (void)turn_clock_start(&clock, 1, NOON);
    struct turn_move move = turn_clock_move(&clock, NOON + SECOND, 500);
    assert_true(move.flagged && move.credited_ms == 0 && move.used_ms == SECOND);
    /* And it stays down, whatever is tried. */
    assert_true(turn_clock_flag(&clock, NOON));
    assert_true(turn_clock_move(&clock, NOON, 500).flagged);
    assert_false(turn_clock_give(&clock, 1, MINUTE, NOON));
    assert_false(turn_clock_pause(&clock, NOON));
    assert_false(turn_clock_resume(&clock, NOON));
    assert_false(turn_clock_start(&clock, 0, NOON));
    assert_int_equal(clock.to_move, 1);
    assert_true(turn_clock_deadline(&clock) == TURN_CLOCK_NEVER);
    assert_true(turn_clock_read(&clock, 1, NOON).flag_ms == 0);
}

/* C-30 */
TEST(a_pause_takes_no_time_in_any_mode)
{
    struct test_random random = {test_seed()};
    for (uint64_t round = test_effort(5000); round > 0; round--) {
        struct turn_rules rules = small_rules(&random);
        struct turn_clock plain;
        struct turn_clock paused;
        turn_clock_init(&plain, &rules);
        turn_clock_init(&paused, &rules);
        int64_t lost_ms = 0; /* by pauses */
        int64_t now_ms = 0;
        (void)turn_clock_start(&plain, 0, 0);
        (void)turn_clock_start(&paused, 0, 0);
        for (int turn = 0; turn < 20 && plain.phase == TURN_RUNNING; turn++) {
            for (uint64_t pauses = test_random_below(&random, 3); pauses > 0; pauses--) {
                now_ms += (int64_t)test_random_below(&random, 20);
                bool is_up = turn_clock_deadline(&plain) > now_ms;
                assert_true(turn_clock_pause(&paused, now_ms + lost_ms) == is_up);
                if (!is_up)
                    break;
                assert_false(turn_clock_pause(&paused, now_ms + lost_ms));
                assert_true(turn_clock_deadline(&paused) == TURN_CLOCK_NEVER);
                struct turn_reading reading = turn_clock_read(&paused, turn % 2, INT64_MAX);
                lost_ms += (int64_t)test_random_below(&random, 1000);
                assert_true(turn_clock_resume(&paused, now_ms + lost_ms));
                assert_false(turn_clock_resume(&paused, now_ms + lost_ms));
                assert_true(turn_clock_read(&paused, turn % 2, now_ms + lost_ms).flag_ms ==
                            reading.flag_ms);
                assert_true(turn_clock_deadline(&paused) == turn_clock_deadline(&plain) + lost_ms);
            }
            now_ms += (int64_t)test_random_below(&random, 20);
            bool flagged = turn_clock_move(&plain, now_ms, 0).flagged;
            assert_true(turn_clock_move(&paused, now_ms + lost_ms, 0).flagged == flagged);
        }
    }
}

/* C-30 */
TEST(given_time_moves_the_deadline_of_the_side_to_move_and_fills_the_other_bank)
{
    static const enum turn_mode modes[] = {TURN_FISCHER, TURN_BRONSTEIN, TURN_DELAY, TURN_BYOYOMI};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct turn_rules rules = {.mode = modes[i], .bank_ms = MINUTE, .extra_ms = SECOND};
        rules.periods = modes[i] == TURN_BYOYOMI ? 2 : 0;
        struct turn_clock clock;
        turn_clock_init(&clock, &rules);
        (void)turn_clock_start(&clock, 0, NOON);
        int64_t deadline_ms = turn_clock_deadline(&clock);
        assert_true(turn_clock_give(&clock, 0, 15 * SECOND, NOON + SECOND));
        assert_true(turn_clock_deadline(&clock) == deadline_ms + 15 * SECOND);
        int64_t bank_ms = turn_clock_read(&clock, 1, NOON).bank_ms;
        assert_true(turn_clock_give(&clock, 1, 15 * SECOND, NOON + SECOND));
        assert_true(turn_clock_read(&clock, 1, NOON).bank_ms == bank_ms + 15 * SECOND);
        assert_true(turn_clock_deadline(&clock) == deadline_ms + 15 * SECOND);
    }
}

TEST(time_given_for_a_turn_to_come_is_in_that_turn_and_no_other)
{
    struct turn_rules rules = {.mode = TURN_EACH, .bank_ms = 30 * SECOND};
    struct turn_clock clock;
    turn_clock_init(&clock, &rules);
    assert_true(turn_clock_give(&clock, 0, SECOND, NOON));
    (void)turn_clock_start(&clock, 0, NOON);
    assert_true(turn_clock_deadline(&clock) == NOON + 31 * SECOND);
    assert_true(turn_clock_give(&clock, 1, 5 * SECOND, NOON));
    assert_true(turn_clock_read(&clock, 1, NOON).flag_ms == 35 * SECOND);
    assert_true(turn_clock_give(&clock, 0, 9 * SECOND, NOON));
    assert_true(turn_clock_deadline(&clock) == NOON + 40 * SECOND);
    (void)turn_clock_move(&clock, NOON, 0);
    assert_true(turn_clock_deadline(&clock) == NOON + 35 * SECOND);
    (void)turn_clock_move(&clock, NOON, 0);
    assert_true(turn_clock_deadline(&clock) == NOON + 30 * SECOND);
    (void)turn_clock_move(&clock, NOON, 0);
    assert_true(turn_clock_deadline(&clock) == NOON + 30 * SECOND);
}

TEST(what_a_clock_shows_runs_down_part_by_part)
{
    struct turn_rules rules = {
        .mode = TURN_BYOYOMI, .bank_ms = MINUTE, .extra_ms = 30 * SECOND, .periods = 3};
    struct turn_clock clock;
    turn_clock_init(&clock, &rules);
    (void)turn_clock_start(&clock, 0, NOON);
    struct turn_reading reading = turn_clock_read(&clock, 0, NOON + 20 * SECOND);
    assert_true(reading.bank_ms == 40 * SECOND && reading.periods == 3);
    assert_true(reading.period_ms == 30 * SECOND && reading.flag_ms == 130 * SECOND);
    reading = turn_clock_read(&clock, 0, NOON + 100 * SECOND);
    assert_true(reading.bank_ms == 0 && reading.periods == 2);
    assert_true(reading.period_ms == 20 * SECOND && reading.flag_ms == 50 * SECOND);
    reading = turn_clock_read(&clock, 0, NOON + 1000 * SECOND);
    assert_true(reading.periods == 0 && reading.period_ms == 0 && reading.flag_ms == 0);

    rules = (struct turn_rules){.mode = TURN_DELAY, .bank_ms = MINUTE, .extra_ms = 5 * SECOND};
    turn_clock_init(&clock, &rules);
    (void)turn_clock_start(&clock, 0, NOON);
    reading = turn_clock_read(&clock, 0, NOON + 2 * SECOND);
    assert_true(reading.delay_ms == 3 * SECOND && reading.bank_ms == MINUTE);
    reading = turn_clock_read(&clock, 0, NOON + 7 * SECOND);
    assert_true(reading.delay_ms == 0 && reading.bank_ms == 58 * SECOND);
}

TEST(nothing_overflows_at_the_ends_of_time)
{
    static const int64_t times_ms[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
    enum { TIMES = sizeof times_ms / sizeof times_ms[0] };
    struct turn_rules rules = {.bank_ms = TURN_CLOCK_MAX_MS,
                               .lag_move_ms = TURN_CLOCK_MAX_MS,
                               .lag_quota_ms = TURN_CLOCK_MAX_MS};
    for (int mode = TURN_EACH; mode <= TURN_BYOYOMI; mode++) {
        rules.mode = (enum turn_mode)mode;
        rules.extra_ms = mode == TURN_EACH ? 0 : TURN_CLOCK_MAX_MS;
        rules.periods = mode == TURN_BYOYOMI ? TURN_CLOCK_PERIODS_MAX : 0;
        assert_int_equal(turn_rules_valid(&rules, NULL), TOCSIN_OK);
        for (int from = 0; from < TIMES; from++) {
            for (int to = 0; to < TIMES; to++) {
                struct turn_clock clock;
                turn_clock_init(&clock, &rules);
                assert_true(turn_clock_start(&clock, 0, times_ms[from]));
                assert_true(turn_clock_give(&clock, 0, INT64_MAX, times_ms[from]));
                assert_true(turn_clock_give(&clock, 1, INT64_MAX, times_ms[from]));
                assert_true(clock.side[0].bank_ms <= TURN_CLOCK_MAX_MS);
                assert_true(turn_clock_deadline(&clock) > times_ms[from] ||
                            turn_clock_deadline(&clock) == TURN_CLOCK_NEVER);
                (void)turn_clock_read(&clock, 0, times_ms[to]);
                struct turn_move move = turn_clock_move(&clock, times_ms[to], INT64_MAX);
                assert_true(move.used_ms >= 0 && move.credited_ms >= 0);
                assert_true(clock.side[0].bank_ms <= TURN_CLOCK_MAX_MS);
            }
        }
    }
}

TEST(rules_that_make_no_sense_are_refused_with_the_field)
{
    static const struct {
        struct turn_rules rules;
        const char *why;
    } rows[] = {
        {{.mode = (enum turn_mode)9}, "mode: there is none of number 9"},
        {{.mode = TURN_EACH}, "bank: 0 ms, allowed is 1 to 31622400000"},
        {{.mode = TURN_EACH, .bank_ms = -1}, "bank: -1 ms"},
        {{.mode = TURN_EACH, .bank_ms = INT64_MAX}, "bank: 9223372036854775807 ms"},
        {{.mode = TURN_EACH, .bank_ms = 1, .extra_ms = 1}, "extra: 1 ms, a time for each turn"},
        {{.mode = TURN_FISCHER}, "bank and extra: both 0"},
        {{.mode = TURN_FISCHER, .bank_ms = 1, .extra_ms = -1}, "extra: -1 ms"},
        {{.mode = TURN_DELAY, .bank_ms = 1, .periods = 1}, "periods: 1, only byo-yomi"},
        {{.mode = TURN_BYOYOMI, .bank_ms = 1, .extra_ms = 1}, "periods: 0, allowed is 1 to 1000"},
        {{.mode = TURN_BYOYOMI, .bank_ms = 1, .extra_ms = 1, .periods = 1001}, "periods: 1001"},
        {{.mode = TURN_BYOYOMI, .bank_ms = 1, .periods = 1}, "extra: 0 ms, allowed is 1"},
        {{.mode = TURN_EACH, .bank_ms = 1, .lag_move_ms = -1}, "lag of a move: -1 ms"},
        {{.mode = TURN_EACH, .bank_ms = 1, .lag_quota_ms = -1}, "lag quota: -1 ms"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tocsin_why why = {""};
        assert_int_equal(turn_rules_valid(&rows[i].rules, &why), TOCSIN_INVALID);
        if (strstr(why.text, rows[i].why) == NULL)
            fail_msg("'%s' instead of '%s'", why.text, rows[i].why);
    }
}
