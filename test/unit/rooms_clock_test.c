/* SPDX-License-Identifier: MIT */
/* Turn clocks of rooms: ticks, timeouts, races, clock modes, and crashes between any two steps.
 * The judge (rooms_judge.h) watches all of it. */
#include "support/rooms_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rooms_world world;

static const char *const thirty = "{\"turn_seconds\":30}";

static int64_t deadline_of(const struct players *players)
{
    return strtoll(rooms_world_at(&world, players, "clock.deadlineEpochMs"), NULL, 10);
}

static struct room_command placing(const struct players *players, uint64_t session, char *game_id,
                                   uint64_t game, int64_t x, int64_t y)
{
    (void)snprintf(game_id, 64, "%s-%" PRIu64, players->room, game);
    return (struct room_command){
        .verb = ROOM_PLACE,
        .session = session,
        .room_id = bytes_of(players->room),
        .seat_key = bytes_of(players->key[session - 1]),
        .game_id = bytes_of(game_id),
        .x = x,
        .y = y,
    };
}

static struct room_command asking(const struct players *players, uint64_t session,
                                  enum room_verb verb)
{
    return (struct room_command){
        .verb = verb,
        .session = session,
        .room_id = bytes_of(players->room),
        .seat_key = bytes_of(players->key[session - 1]),
    };
}

/* ---- ticks */

/* C-02, C-09, C-22: a turn of 30 s opens at 30, and counts whole seconds. */
TEST(a_turn_ticks_at_once_and_every_second)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, thirty, &players);
    char wanted[200];
    (void)snprintf(wanted, sizeof wanted,
                   "{\"left\":30,\"leftMs\":30000,\"side\":\"X\",\"deadlineEpochMs\":%" PRId64 "}",
                   deadline_of(&players));
    const char *tick = rooms_world_last(&world, 0, "/topic");
    assert_string_equal(at(tick, "type"), "\"TICK\"");
    assert_string_equal(at(tick, "payload"), wanted);
    rooms_world_pass(&world, 200);
    rooms_world_forget(&world);
    for (int left = 29; left > 0; left--) {
        rooms_world_pass(&world, left == 29 ? 800 : 1000);
        tick = rooms_world_last(&world, 0, "/topic");
        assert_int_equal(atoi(at(tick, "payload.left")), left);
        assert_int_equal(atoi(at(tick, "payload.leftMs")), left * 1000);
    }
    assert_int_equal(world.heard_count, 29);
    rooms_world_pass(&world, 1000);
    assert_int_equal(world.heard_count, 29 + 3);
    rooms_world_pass(&world, 10000);
    assert_int_equal(world.heard_count, 29 + 3); /* a stopped clock stays so (C-11) */
    rooms_world_release(&world);
}

TEST(ticks_that_nobody_hears_are_not_made)
{
    struct players players;
    rooms_world_start(&world);
    world.deaf = true;
    rooms_world_play(&world, thirty, &players);
    rooms_world_pass(&world, 1000);
    const char *before = rooms_world_at(&world, &players, "seq");
    rooms_world_forget(&world);
    rooms_world_pass(&world, 5000);
    assert_int_equal(world.heard_count, 0);
    assert_string_equal(rooms_world_at(&world, &players, "seq"), before);
    rooms_world_release(&world);
}

/* ---- the flag falls */

struct look {
    const char *type;
    char doc[1000];
    int count;
};

static bool look_for(void *arg, const struct store_event *event)
{
    struct look *look = arg;
    if (bytes_are(event->kind, "room") && bytes_are(event->type, look->type)) {
        look->count++;
        (void)snprintf(look->doc, sizeof look->doc, "%.*s", (int)event->doc.size, event->doc.at);
    }
    return true;
}

static struct look events_of(const char *type)
{
    struct look look = {.type = type};
    uint64_t first;
    struct tocsin_why why;
    struct store *disk = world.sim.under;
    assert_int_equal(disk->ops->events(disk, 0, 100000, look_for, &look, &first, &why), TOCSIN_OK);
    return look;
}

/* C-08, C-32. */
TEST(a_fallen_flag_loses_the_game_and_is_in_the_log)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, thirty, &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    int64_t deadline = deadline_of(&players);
    rooms_world_pass(&world, 29000);
    rooms_world_forget(&world);
    rooms_world_pass(&world, 1500); /* the loop was late */
    assert_string_equal(at(world.heard[0].text, "payload"), "{\"side\":\"O\"}");
    assert_string_equal(rooms_world_types(&world), "TIMEOUT STATE SNAPSHOT");
    struct look look = events_of("timeout");
    assert_int_equal(look.count, 1);
    char version[64];
    (void)snprintf(version, sizeof version, "\"%s-1:1\"", players.room);
    assert_string_equal(at(look.doc, "version"), version);
    assert_string_equal(at(look.doc, "side"), "\"O\"");
    assert_int_equal(strtoll(at(look.doc, "deadlineEpochMs"), NULL, 10), deadline);
    assert_int_equal(strtoll(at(look.doc, "at"), NULL, 10), deadline + 500);
    assert_true(strtoull(at(look.doc, "fence"), NULL, 10) > 0);
    look = events_of("ended");
    assert_string_equal(at(look.doc, "reason"), "\"timeout\"");
    assert_string_equal(at(look.doc, "winner"), "\"X\"");
    look = events_of("moved");
    (void)snprintf(version, sizeof version, "\"%s-1:0\"", players.room);
    assert_string_equal(at(look.doc, "version"), version);
    rooms_world_release(&world);
}

TEST(a_move_at_the_deadline_is_late_and_one_before_it_is_not)
{
    struct players players;
    char game_id[64];
    struct said said;
    rooms_world_start(&world);
    rooms_world_play(&world, thirty, &players);
    rooms_world_pass(&world, 29999);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    rooms_world_pass(&world, 29999);
    clock_manual_advance(&world.clock, 1000000); /* the loop has not turned yet */
    struct room_command command = placing(&players, 2, game_id, 1, 8, 8);
    rooms_world_begin(&world, &said, &command);
    rooms_world_settle(&world);
    assert_true(strcmp(said.code, "TIMED_OUT") == 0 || strcmp(said.code, "NOT_PLAYING") == 0);
    assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"X\"");
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "1");
    rooms_world_release(&world);
}

/* Law 2: also when it begins in the middle of a millisecond. */
TEST(a_turn_is_never_cut_short)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, thirty, &players);
    clock_manual_advance(&world.clock, 400000);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    clock_manual_advance(&world.clock, INT64_C(29999999999));
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    rooms_world_pass(&world, 1);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"ENDED\"");
    rooms_world_release(&world);
}

static void to_the_disk(void)
{
    struct elapsed_time wake;
    engine_turn(world.engine, &wake);
    while (world.sim.batch == NULL) {
        assert_true(world.sim.read_count > 0);
        sim_read_done(&world.sim, world.engine, 0);
        engine_turn(world.engine, &wake);
    }
}

/* The deadline passes while a move is on its way to the disk. */
TEST(a_move_in_time_beats_the_flag_if_it_becomes_durable_and_only_then)
{
    static const enum tocsin_status ends[] = {TOCSIN_OK, TOCSIN_UNAVAILABLE};
    for (int i = 0; i < 2; i++) {
        struct players players;
        struct said said;
        char game_id[64];
        rooms_world_start(&world);
        rooms_world_play(&world, thirty, &players);
        rooms_world_pass(&world, 29990);
        struct room_command command = placing(&players, 1, game_id, 1, 8, 8);
        rooms_world_begin(&world, &said, &command);
        to_the_disk();
        clock_manual_advance(&world.clock, 500 * INT64_C(1000000));
        struct elapsed_time wake;
        engine_turn(world.engine, &wake);
        assert_false(said.done);
        sim_commit(&world.sim, world.engine, ends[i]);
        rooms_world_pass(&world, 2000); /* a due that waited for a failed commit comes again */
        assert_string_equal(rooms_world_at(&world, &players, "state.over"),
                            i == 0 ? "false" : "true");
        assert_int_equal(world.judge.timeouts, i);
        rooms_world_release(&world);
    }
}

/* C-17: whatever the countdown holds, a turn that is past loses nothing. */
struct plant {
    struct players *players;
    char version[64];
    char owner[2];
};

static enum tocsin_status plant(void *arg, struct change *change)
{
    struct plant *it = arg;
    char key[64];
    (void)snprintf(key, sizeof key, "gomoku:%s", it->players->room);
    struct countdown_wish wish = {
        .key = bytes_of(key),
        .home = bytes_of(it->players->room),
        .owner = bytes_of(it->owner),
        .version = bytes_of(it->version),
        .kind = bytes_of("gomoku"),
        .deadline_ms = engine_now_up_ms(change_engine(change)) + 1000,
        .basis = STORE_ELAPSED,
    };
    return countdown_start(world.countdowns, change, &wish);
}

TEST(a_stale_timeout_never_touches_a_later_turn_or_game)
{
    static const struct {
        const char *version;
        const char *owner;
        int timeouts;
    } rows[] = {
        {"-1:0", "X", 0},                   /* the first game */
        {"-2:0", "X", 0},                   /* an earlier turn of the same side */
        {"-2:1", "O", 0}, {"-2:3", "O", 0}, /* one that has not come */
        {"-3:2", "X", 0}, {"", "X", 0},
        {"-2:2", "X", 1}, /* the one that is on: the test would notice */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct players players;
        rooms_world_start(&world);
        rooms_world_play(&world, thirty, &players);
        assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
        assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
        assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESTART), "");
        assert_string_equal(rooms_world_place(&world, &players, 2, 1, 1), "");
        assert_string_equal(rooms_world_place(&world, &players, 1, 2, 2), "");
        struct plant it = {.players = &players};
        (void)snprintf(it.version, sizeof it.version, "%s%s",
                       rows[i].version[0] == '\0' ? "" : players.room, rows[i].version);
        (void)snprintf(it.owner, sizeof it.owner, "%s", rows[i].owner);
        world.unjudged = true; /* a clock that no move has started */
        engine_change(world.engine, false, plant, NULL, &it);
        rooms_world_settle(&world);
        rooms_world_pass(&world, rows[i].timeouts == 1 ? 30000 : 2000);
        struct rooms_stats stats;
        rooms_describe(world.rooms, &stats);
        assert_int_equal(stats.timeouts, rows[i].timeouts);
        assert_int_equal(stats.stale, 1 - rows[i].timeouts);
        assert_string_equal(rooms_world_at(&world, &players, "phase"),
                            rows[i].timeouts == 1 ? "\"ENDED\"" : "\"PLAYING\"");
        rooms_world_release(&world);
    }
}

/* C-11, C-14: a change that stops the clock, and one that starts it, in one commit. */
TEST(starts_and_stops_in_one_commit_leave_the_clock_of_the_last)
{
    struct players players;
    struct said said[6];
    char game_id[64];
    rooms_world_start(&world);
    rooms_world_play(&world, thirty, &players);
    struct room_command commands[] = {
        placing(&players, 1, game_id, 1, 7, 7), asking(&players, 2, ROOM_RESIGN),
        asking(&players, 1, ROOM_RESTART),      asking(&players, 2, ROOM_RESTART),
        asking(&players, 2, ROOM_START),        asking(&players, 1, ROOM_READY),
    };
    rooms_world_forget(&world);
    for (int i = 0; i < 6; i++)
        rooms_world_begin(&world, &said[i], &commands[i]);
    rooms_world_settle(&world);
    for (int i = 0; i < 6; i++)
        assert_string_equal(said[i].code, "");
    char version[64];
    (void)snprintf(version, sizeof version, "\"%s-2:0\"", players.room);
    assert_string_equal(at(rooms_world_clock(&world, players.room), "version"), version);
    rooms_world_pass(&world, 29999);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    rooms_world_pass(&world, 1);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"ENDED\"");
    assert_int_equal(world.judge.timeouts, 1);
    assert_string_equal(rooms_world_clock(&world, players.room), "");
    rooms_world_release(&world);
}

/* C-18. */
TEST(nothing_but_a_move_gives_a_turn_new_time)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, thirty, &players);
    int64_t deadline = deadline_of(&players);
    rooms_world_pass(&world, 10000);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_READY), "");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_START), "");
    assert_string_equal(rooms_world_resume(&world, 9, players.room, players.key[0]), "");
    assert_string_equal(rooms_world_resume(&world, 10, players.room, ""), "");
    assert_int_equal(deadline_of(&players), deadline);
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_int_equal(deadline_of(&players), deadline);
    assert_string_equal(rooms_world_resume(&world, 1, players.room, players.key[0]), "");
    assert_int_equal(strtoll(at(rooms_world_clock(&world, players.room), "deadline_ms"), NULL, 10),
                     deadline);
    rooms_world_pass(&world, 19999);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    rooms_world_pass(&world, 1);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"ENDED\"");
    rooms_world_release(&world);
}

/* C-11: unexpired ones go on, expired ones are judged once. */
TEST(a_restart_takes_up_what_runs_and_judges_what_ran_out)
{
    struct players two[2];
    rooms_world_start(&world);
    rooms_world_play(&world, thirty, &two[0]);
    rooms_world_play(&world, "{\"turn_seconds\":300}", &two[1]);
    rooms_world_crash(&world);
    clock_manual_advance(&world.clock, 60 * INT64_C(1000000000));
    rooms_world_forget(&world);
    rooms_world_again(&world);
    struct countdowns_restored restored = countdowns_restored(world.countdowns);
    assert_int_equal(restored.restored, 1);
    assert_int_equal(restored.expired_handled, 1);
    assert_string_equal(rooms_world_at(&world, &two[0], "state.winner"), "\"O\"");
    assert_string_equal(rooms_world_at(&world, &two[1], "phase"), "\"PLAYING\"");
    for (int i = 0; i < 3; i++) {
        rooms_world_crash(&world);
        rooms_world_again(&world);
    }
    assert_int_equal(world.judge.timeouts, 1); /* never punished twice */
    assert_string_equal(rooms_world_at(&world, &two[0], "series"), "{\"X\":0,\"O\":1,\"draws\":0}");
    rooms_world_pass(&world, 240000);
    assert_int_equal(world.judge.timeouts, 2);
    rooms_world_release(&world);
}

/* The clocks are some microseconds further apart at each start (countdown_test.c). */
TEST(a_room_shows_the_deadline_of_its_countdown_over_restarts)
{
    struct test_random random = {test_seed()};
    for (int life = 0; life < 30; life++) {
        struct players players;
        char shown[32];
        rooms_world_start(&world);
        world.unjudged = true; /* it knows of one difference between the clocks */
        clock_manual_advance(&world.clock, (int64_t)test_random_below(&random, 1000000));
        world.clock.wall.ns += (int64_t)test_random_below(&random, 3000000);
        engine_clock_stepped(world.engine);
        rooms_world_play(&world, "{\"turn_seconds\":60}", &players);
        assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
        (void)snprintf(shown, sizeof shown, "%s",
                       rooms_world_at(&world, &players, "clock.deadlineEpochMs"));
        for (int start = 0; start < 10; start++) {
            rooms_world_pass(&world, (int64_t)test_random_below(&random, 1000));
            world.clock.wall.ns += 1 + (int64_t)test_random_below(&random, 100000);
            rooms_world_crash(&world);
            rooms_world_again(&world);
            assert_string_equal(at(rooms_world_clock(&world, players.room), "deadline_ms"), shown);
            assert_string_equal(rooms_world_at(&world, &players, "clock.deadlineEpochMs"), shown);
            rooms_world_forget(&world);
            rooms_world_pass(&world, 1010); /* a second, however it is rounded */
            const char *tick = rooms_world_last(&world, 0, "/topic");
            assert_string_equal(at(tick, "payload.deadlineEpochMs"), shown);
            if (start == 5) { /* the same turn, put again */
                assert_string_equal(rooms_world_resume(&world, 1, players.room, players.key[0]),
                                    "");
                assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
            }
        }
        assert_string_equal(rooms_world_place(&world, &players, 2, 7, 8), "");
        assert_string_equal(rooms_world_at(&world, &players, "clock.deadlineEpochMs"),
                            at(rooms_world_clock(&world, players.room), "deadline_ms"));
        rooms_world_release(&world);
    }
}

/* Turns are durations: who sets the wall clock gives nobody time, and takes none. */
TEST(a_step_of_the_wall_clock_moves_no_deadline)
{
    for (int i = 0; i < 2; i++) {
        struct players players;
        rooms_world_start(&world);
        rooms_world_play(&world, thirty, &players);
        rooms_world_pass(&world, 10000);
        world.clock.wall.ns += (i == 0 ? 1 : -1) * INT64_C(3600000000000);
        world.unjudged = true; /* it holds deadlines against the wall */
        engine_clock_stepped(world.engine);
        rooms_world_settle(&world);
        assert_string_equal(rooms_world_at(&world, &players, "clock.leftMs"), "20000");
        assert_int_equal(deadline_of(&players) - rooms_world_wall_ms(&world), 20000);
        rooms_world_pass(&world, 19999);
        assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
        rooms_world_pass(&world, 1);
        assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"ENDED\"");
        rooms_world_release(&world);
    }
}

/* ---- other clocks (C-30) */

TEST(a_fischer_clock_keeps_its_banks)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"clock\":{\"mode\":\"fischer\",\"bank\":\"1m\",\"extra\":\"5s\"}}",
                     &players);
    assert_string_equal(rooms_world_at(&world, &players, "turnSeconds"), "65");
    assert_string_equal(rooms_world_at(&world, &players, "clock.mode"), "\"fischer\"");
    assert_string_equal(rooms_world_at(&world, &players, "clock.banks"),
                        "{\"X\":65000,\"O\":65000}");
    rooms_world_pass(&world, 20000);
    assert_string_equal(rooms_world_place(&world, &players, 1, 0, 0), "");
    assert_string_equal(rooms_world_at(&world, &players, "clock.banks"),
                        "{\"X\":50000,\"O\":65000}");
    rooms_world_pass(&world, 1000);
    assert_string_equal(rooms_world_place(&world, &players, 2, 1, 0), "");
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_string_equal(rooms_world_at(&world, &players, "clock.banks"),
                        "{\"X\":50000,\"O\":69000}");
    rooms_world_pass(&world, 49999);
    assert_string_equal(rooms_world_at(&world, &players, "clock.leftMs"), "1");
    rooms_world_pass(&world, 1);
    assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"O\"");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_READY), "");
    assert_string_equal(rooms_world_at(&world, &players, "clock.banks"),
                        "{\"X\":65000,\"O\":65000}"); /* a new game, new banks */
    rooms_world_release(&world);
}

TEST(every_mode_lets_the_flag_fall_when_its_time_is_over)
{
    static const struct {
        const char *clock;
        int64_t first_ms;
        int64_t second_ms; /* X's second turn, when each before took 10 s */
    } rows[] = {
        {"{\"mode\":\"turn\",\"bank\":\"20s\"}", 20000, 20000},
        {"{\"mode\":\"fischer\",\"bank\":\"20s\",\"extra\":\"3s\"}", 23000, 16000},
        {"{\"mode\":\"bronstein\",\"bank\":\"20s\",\"extra\":\"3s\"}", 23000, 16000},
        {"{\"mode\":\"delay\",\"bank\":\"20s\",\"extra\":\"3s\"}", 23000, 16000},
        {"{\"mode\":\"byoyomi\",\"bank\":\"5s\",\"extra\":\"4s\",\"periods\":3}", 17000, 8000},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        struct players players;
        char body[200];
        bool second = i % 2 == 1;
        rooms_world_start(&world);
        (void)snprintf(body, sizeof body, "{\"clock\":%s}", rows[i / 2].clock);
        rooms_world_play(&world, body, &players);
        for (uint64_t session = 1; second && session <= 2; session++) {
            rooms_world_pass(&world, 10000);
            assert_string_equal(rooms_world_place(&world, &players, session, (int)session, 0), "");
        }
        rooms_world_pass(&world, (second ? rows[i / 2].second_ms : rows[i / 2].first_ms) - 1);
        assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
        rooms_world_pass(&world, 1);
        assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"O\"");
        rooms_world_release(&world);
    }
}

/* ---- a crash between any two steps */

struct crashing {
    int steps_left; /* then it crashes; below 0: never */
    bool crashed;
};

static struct crashing crashing;

/* True when the process is still the same. */
static bool step(void)
{
    if (crashing.crashed || crashing.steps_left-- != 0)
        return true;
    rooms_world_crash(&world);
    crashing.crashed = true;
    rooms_world_load(&world);
    return false;
}

static void work(void)
{
    struct elapsed_time wake;
    do {
        engine_turn(world.engine, &wake);
        (void)step();
        if (world.sim.read_count > 0) {
            sim_read_run(&world.sim, 0);
            if (step())
                sim_read_done(&world.sim, world.engine, 0);
        }
        if (world.sim.batch != NULL && step()) {
            sim_store(&world.sim);
            if (step())
                sim_commit(&world.sim, world.engine, TOCSIN_OK);
        }
        (void)step();
    } while (world.sim.batch != NULL || world.sim.read_count > 0 || !engine_idle(world.engine));
    assert_string_equal(world.judge.verdict, "");
}

static void send_by(const struct players *players, uint64_t session, enum room_verb verb)
{
    static struct said said;
    struct room_command command = asking(players, session, verb);
    rooms_world_begin(&world, &said, &command);
    work();
}

/* C-13. Players who hear nothing ask again; the flag falls all the same, once. */
TEST(a_game_and_its_timeout_survive_a_crash_between_any_two_steps)
{
    int crashes = 0;
    for (int when = 0; when < 2000; when++) {
        struct players players;
        char game_id[64];
        static struct said said;
        rooms_world_start(&world);
        rooms_world_seat(&world, thirty, &players);
        crashing = (struct crashing){.steps_left = when};
        for (int i = 0; i < 2; i++) {
            send_by(&players, 1, ROOM_READY);
            send_by(&players, 2, ROOM_READY);
            struct room_command command = placing(&players, 1, game_id, 1, 7, 7);
            rooms_world_begin(&world, &said, &command);
            work();
        }
        for (int i = 0; i < 40; i++) {
            clock_manual_advance(&world.clock, INT64_C(1000000000));
            work();
        }
        rooms_world_settle(&world);
        assert_string_equal(rooms_world_at(&world, &players, "state.step"), "1");
        assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"X\"");
        assert_string_equal(rooms_world_at(&world, &players, "series"),
                            "{\"X\":1,\"O\":0,\"draws\":0}");
        assert_string_equal(rooms_world_clock(&world, players.room), "");
        assert_int_equal(world.judge.timeouts, 1);
        rooms_world_release(&world);
        if (!crashing.crashed)
            break;
        crashes++;
    }
    print_message("%d crashes\n", crashes);
    assert_true(crashes > 20 && crashes < 2000);
}
