/* SPDX-License-Identifier: MIT */
/* Both engines against an array that is searched from end to end. */
#include <inttypes.h>

#include "runner.h"
#include "service/renewal/beats.h"

enum { BEATS = 64 };

struct armed {
    struct beat beat;
    bool on;
    int64_t due_ms;
};

struct rig {
    struct beats *beats;
    struct armed list[BEATS];
    int64_t now_ms;
    int64_t tick_ms;
};

static void rig_init(struct rig *rig, enum beats_type type, uint32_t tick_ms, uint32_t slots)
{
    struct tocsin_why why = {""};
    *rig = (struct rig){.now_ms = 1000000, .tick_ms = type == BEATS_TIME_WHEEL ? tick_ms : 1};
    assert_int_equal(
        beats_create(&(struct beats_options){type, tick_ms, slots, rig->now_ms}, &rig->beats, &why),
        TOCSIN_OK);
}

static size_t count_on(const struct rig *rig)
{
    size_t count = 0;
    for (int i = 0; i < BEATS; i++)
        count += rig->list[i].on;
    return count;
}

/* Nothing early, nothing twice, nothing late by a tick. */
static void take_all(struct rig *rig)
{
    struct beat *beat;
    while ((beat = beats_take(rig->beats, rig->now_ms)) != NULL) {
        struct armed *it = (struct armed *)beat;
        assert_true(it->on);
        assert_true(it->due_ms <= rig->now_ms);
        it->on = false;
    }
    for (int i = 0; i < BEATS; i++) {
        if (rig->list[i].on)
            assert_true(rig->list[i].due_ms + rig->tick_ms > rig->now_ms);
    }
}

/* Whoever sleeps until then misses nothing by more than a tick. */
static void check_wake(const struct rig *rig)
{
    int64_t wake = 0;
    int64_t first = INT64_MAX;
    for (int i = 0; i < BEATS; i++) {
        if (rig->list[i].on && rig->list[i].due_ms < first)
            first = rig->list[i].due_ms;
    }
    assert_int_equal(beats_wake(rig->beats, &wake), first != INT64_MAX);
    if (first != INT64_MAX)
        assert_true(wake < (first > rig->now_ms ? first : rig->now_ms) + rig->tick_ms);
}

static void random_run(enum beats_type type, uint32_t tick_ms, uint32_t slots, uint64_t seed)
{
    static const uint64_t reach[] = {2, 50, 1000, 100000, UINT64_C(100000000)};
    struct test_random random = {seed};
    struct rig rig;
    rig_init(&rig, type, tick_ms, slots);
    for (int step = 0; step < 3000; step++) {
        struct armed *it = &rig.list[test_random_below(&random, BEATS)];
        uint64_t far = reach[test_random_below(&random, sizeof reach / sizeof reach[0])];
        uint64_t what = test_random_below(&random, 10);
        if (what < 5) {
            it->due_ms = rig.now_ms + (int64_t)test_random_below(&random, far) - 1;
            it->on = true;
            assert_int_equal(beats_arm(rig.beats, &it->beat, it->due_ms), TOCSIN_OK);
        } else if (what < 7) {
            it->on = false;
            beats_cancel(rig.beats, &it->beat);
        } else {
            rig.now_ms += (int64_t)test_random_below(&random, far);
            take_all(&rig);
        }
        assert_int_equal(beats_count(rig.beats), count_on(&rig));
        check_wake(&rig);
    }
    beats_destroy(rig.beats);
}

TEST(R_05_both_engines_mean_the_same)
{
    uint64_t seed = test_seed();
    uint64_t rounds = test_effort(50);
    for (uint64_t i = 0; i < rounds; i++) {
        random_run(BEATS_SCHEDULED, 0, 0, seed + i);
        random_run(BEATS_TIME_WHEEL, 100, 512, seed + i);
        random_run(BEATS_TIME_WHEEL, 1, 64, seed + i);
        random_run(BEATS_TIME_WHEEL, 1000, 60, seed + i);
    }
}

TEST(R_05_a_beat_moves_and_a_cancelled_one_never_comes)
{
    for (enum beats_type type = BEATS_TIME_WHEEL; type <= BEATS_SCHEDULED; type++) {
        struct rig rig;
        struct beat a = {0};
        struct beat b = {0};
        rig_init(&rig, type, 100, 512);
        assert_int_equal(beats_arm(rig.beats, &a, rig.now_ms + 500), TOCSIN_OK);
        assert_int_equal(beats_arm(rig.beats, &b, rig.now_ms + 500), TOCSIN_OK);
        assert_int_equal(beats_arm(rig.beats, &a, rig.now_ms + 5000), TOCSIN_OK);
        assert_null(beats_take(rig.beats, rig.now_ms + 499));
        assert_ptr_equal(beats_take(rig.beats, rig.now_ms + 600), &b);
        assert_null(beats_take(rig.beats, rig.now_ms + 4999));
        beats_cancel(rig.beats, &a);
        beats_cancel(rig.beats, &a);
        beats_cancel(rig.beats, &b);
        assert_null(beats_take(rig.beats, rig.now_ms + 100000));
        int64_t wake;
        assert_false(beats_wake(rig.beats, &wake));
        beats_destroy(rig.beats);
    }
}

TEST(R_07_a_geometry_that_makes_no_sense_is_refused)
{
    struct beats *beats;
    struct tocsin_why why = {""};
    assert_int_equal(
        beats_create(&(struct beats_options){BEATS_TIME_WHEEL, 100, 0, 0}, &beats, &why),
        TOCSIN_INVALID);
    assert_true(why.text[0] != '\0');
}
