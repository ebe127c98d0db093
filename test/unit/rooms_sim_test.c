/* SPDX-License-Identifier: MIT */
/* Rooms under chance: players, spectators and an AI who do what a seed says, on a disk that is
 * slow, fails and loses its process, with the judge (rooms_judge.h) watching. */
#include "support/rooms_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOMS = 6, SLOTS = 8, COMMANDS = 1000 };

struct sim {
    struct test_random random;
    char rooms[ROOMS][WORLD_ID_BYTES];
    char keys[ROOMS][4][ROOM_KEY_BYTES + 1]; /* the last that were given out */
    uint64_t holder[ROOMS][4];               /* who came with it last */
    int key_count[ROOMS];
    uint64_t sessions[SLOTS];
    uint64_t next_session;
    uint64_t asked; /* since the last crash */
    uint64_t answered;
    uint64_t done;
    uint64_t crashes;
};

static struct rooms_world world;
static struct sim sim;

static bool one_in(uint64_t n)
{
    return test_random_one_in(&sim.random, n);
}

static uint64_t below(uint64_t n)
{
    return test_random_below(&sim.random, n);
}

/* A seat message: whose key opens what. */
static void sent(uint64_t session, const char *queue, struct bytes json)
{
    char text[300];
    char room[32] = "";
    char key[ROOM_KEY_BYTES + 1] = "";
    if (strcmp(queue, "gomoku.seat") != 0)
        return;
    (void)snprintf(text, sizeof text, "%.*s", (int)json.size, json.at);
    (void)sscanf(at(text, "roomId"), "\"%31[0-9a-f]\"", room);
    if (sscanf(at(text, "seatKey"), "\"%32[0-9a-f]\"", key) != 1)
        return;
    for (int i = 0; i < ROOMS; i++) {
        if (strcmp(sim.rooms[i], room) != 0)
            continue;
        int which = 0;
        while (which < sim.key_count[i] && strcmp(sim.keys[i][which], key) != 0)
            which++;
        if (which == sim.key_count[i])
            sim.key_count[i] = which < 3 ? which + 1 : sim.key_count[i];
        memcpy(sim.keys[i][which], key, sizeof key);
        sim.holder[i][which] = session;
    }
}

static void command_done(void *arg, enum outcome outcome, const char *code, const char *detail)
{
    (void)arg;
    (void)detail;
    sim.answered++;
    sim.done += code == NULL;
    assert_true((code == NULL) == (outcome < OUTCOME_INVALID));
}

static enum room_verb any_verb(void)
{
    static const enum room_verb verbs[] = {
        ROOM_PLACE, ROOM_PLACE,  ROOM_PLACE,  ROOM_PLACE,   ROOM_PLACE, ROOM_PLACE,
        ROOM_READY, ROOM_START,  ROOM_RESUME, ROOM_RESTART, ROOM_READY, ROOM_PLACE,
        ROOM_PLACE, ROOM_RESUME, ROOM_PLACE,  ROOM_PLACE,
    };
    return one_in(60) ? ROOM_RESIGN : verbs[below(sizeof verbs / sizeof verbs[0])];
}

static struct judged_room judged(const char *room)
{
    for (int i = 0; i < world.judge.count; i++) {
        if (strcmp(world.judge.rooms[i].id, room) == 0)
            return world.judge.rooms[i];
    }
    return (struct judged_room){.game = 1};
}

static void any_command(void)
{
    size_t room = below(ROOMS);
    uint64_t session = sim.sessions[below(SLOTS)];
    char game_id[64];
    char key[ROOM_KEY_BYTES + 1] = "";
    enum room_verb verb = any_verb();
    if (sim.key_count[room] > 0 && !one_in(10)) {
        size_t which = below((uint64_t)sim.key_count[room]);
        memcpy(key, sim.keys[room][which], sizeof key);
        if (verb != ROOM_RESUME && !one_in(10))
            session = sim.holder[room][which];
    }
    (void)snprintf(game_id, sizeof game_id, "%s-%" PRIu64, sim.rooms[room],
                   judged(sim.rooms[room]).game - one_in(40));
    struct room_command command = {
        .verb = verb,
        .session = session,
        .room_id = bytes_of(one_in(100) ? "nowhere" : sim.rooms[room]),
        .seat_key = bytes_of(key),
        .game_id = bytes_of(verb == ROOM_PLACE || one_in(2) ? game_id : ""),
        .x = (int64_t)below(one_in(20) ? 20 : 6),
        .y = (int64_t)below(6),
        .done = command_done,
    };
    sim.asked++;
    rooms_command(world.rooms, &command);
}

static void someone_leaves(void)
{
    size_t slot = below(SLOTS);
    rooms_gone(world.rooms, sim.sessions[slot]);
    sim.sessions[slot] = ++sim.next_session;
}

static void crash(void)
{
    rooms_world_crash(&world);
    sim.crashes++;
    sim.asked = sim.answered = 0;
    if (one_in(3))
        clock_manual_advance(&world.clock, (int64_t)below(60) * INT64_C(1000000000));
    for (int slot = 0; slot < SLOTS; slot++)
        sim.sessions[slot] = ++sim.next_session;
    rooms_world_load(&world);
}

static void disk_goes_on(void)
{
    struct elapsed_time wake;
    engine_turn(world.engine, &wake);
    if (world.sim.read_count > 0 && !one_in(4))
        sim_read_done(&world.sim, world.engine, below(world.sim.read_count));
    if (world.sim.batch != NULL && one_in(3)) {
        if (!world.sim.stored && one_in(4))
            sim_store(&world.sim);
        else
            sim_commit(&world.sim, world.engine,
                       !world.sim.stored && one_in(20) ? TOCSIN_UNAVAILABLE : TOCSIN_OK);
    }
}

static void ai_goes_on(void)
{
    if (world.job_count > 0 && one_in(3))
        rooms_world_think(&world, one_in(10) ? GOMOKU_NOWHERE : (int)below(one_in(2) ? 90 : 225));
}

static void time_goes_on(void)
{
    static const uint64_t most_us[] = {1, 1000, 200000, 1000000, 4000000};
    uint64_t most = most_us[below(sizeof most_us / sizeof most_us[0])];
    uint64_t us = one_in(60) ? 35000000 : below(most);
    clock_manual_advance(&world.clock, (int64_t)us * 1000);
}

/* A clock runs when somebody is to move and is timed, for that turn, and not otherwise. */
static void check_rooms(void)
{
    for (int i = 0; i < ROOMS; i++) {
        char clock[4096];
        char room[8192];
        (void)snprintf(room, sizeof room, "%s", rooms_world_room(&world, sim.rooms[i]));
        (void)snprintf(clock, sizeof clock, "%s", rooms_world_clock(&world, sim.rooms[i]));
        bool runs = strcmp(at(room, "clock.running"), "true") == 0;
        bool playing = strcmp(at(room, "phase"), "\"PLAYING\"") == 0;
        bool over = strcmp(at(room, "state.over"), "true") == 0;
        assert_true(!runs || playing);
        assert_true(!over || !playing);
        assert_int_equal(runs, clock[0] != '\0');
        if (!runs)
            continue;
        char version[64];
        struct judged_room it = judged(sim.rooms[i]);
        (void)snprintf(version, sizeof version, "\"%s-%" PRIu64 ":%d", sim.rooms[i], it.game,
                       atoi(at(room, "state.step")) + it.passes);
        const char *told = at(clock, "version");
        assert_int_equal(strncmp(told, version, strlen(version)), 0);
        told += strlen(version); /* a turn that was made longer has a + */
        assert_true(strcmp(told, "\"") == 0 || strcmp(told, "+\"") == 0);
        assert_string_equal(at(clock, "deadline_ms"), at(room, "clock.deadlineEpochMs"));
        assert_string_equal(at(clock, "owner"), at(room, "state.current"));
    }
}

static void begin(uint64_t seed)
{
    static const char *const bodies[ROOMS] = {
        "{\"turn_seconds\":10}",
        "{\"mode\":\"PVE\",\"turn_seconds\":5}",
        "{\"rule\":\"RENJU\",\"clock\":{\"mode\":\"fischer\",\"bank\":\"20s\",\"extra\":\"2s\"}}",
        ("{\"mode\":\"PVE\",\"ai_timed\":true,\"clock\":{\"mode\":\"byoyomi\",\"bank\":3000,"
         "\"extra\":2500,\"periods\":2}}"),
        "{\"turn_seconds\":4,\"on_timeout\":\"pass\",\"reconnect_grace\":\"3s\"}",
        "{\"mode\":\"PVE\",\"turn_seconds\":6,\"on_timeout\":\"event\"}",
    };
    sim = (struct sim){.random = {seed}};
    if (seed % 2 == 0)
        rooms_world_start(&world);
    else
        rooms_world_start_shared(&world); /* a timeout takes two steps: C-12 */
    world.forgetful = true;
    world.on_sent = sent;
    world.chance = seed;
    for (int i = 0; i < ROOMS; i++)
        memcpy(sim.rooms[i], rooms_world_open(&world, bodies[i]), WORLD_ID_BYTES);
    for (int slot = 0; slot < SLOTS; slot++)
        sim.sessions[slot] = ++sim.next_session;
}

/* None is lost: with players who do nothing any more, every flag falls. */
static void end(void)
{
    for (int i = 0; i < 12; i++) {
        rooms_world_pass(&world, 10000);
        while (world.job_count > 0)
            rooms_world_think(&world, GOMOKU_CENTRE);
    }
    rooms_world_settle(&world);
    check_rooms();
    assert_int_equal(sim.answered, sim.asked);
    for (int i = 0; i < ROOMS; i++) {
        const char *room = rooms_world_room(&world, sim.rooms[i]);
        assert_true(strcmp(at(room, "phase"), "\"PLAYING\"") != 0 ||
                    strcmp(at(room, "clock.overdue"), "true") == 0);
    }
    rooms_world_release(&world);
}

static void run(uint64_t seed)
{
    begin(seed);
    for (int i = 0; i < COMMANDS; i++) {
        if (one_in(25))
            someone_leaves();
        else
            any_command();
        for (uint64_t left = below(8); left > 0; left--)
            disk_goes_on();
        ai_goes_on();
        time_goes_on();
        if (one_in(150))
            crash();
        if (one_in(50)) {
            rooms_world_settle(&world);
            check_rooms();
        }
        if (world.judge.verdict[0] != '\0')
            fail_msg("seed %" PRIu64 ", command %d: %s", seed, i, world.judge.verdict);
    }
    end();
}

TEST(chance_breaks_no_promise)
{
    uint64_t seed = test_seed();
    uint64_t rounds = test_effort(200);
    uint64_t done = 0;
    uint64_t crashes = 0;
    uint64_t timeouts = 0;
    uint64_t games = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        run(seed + i);
        done += sim.done;
        crashes += sim.crashes;
        timeouts += world.judge.timeouts;
        for (int room = 0; room < world.judge.count; room++)
            games += world.judge.rooms[room].game;
    }
    print_message("%" PRIu64 " seeds: %" PRIu64 " commands done, %" PRIu64 " games, %" PRIu64
                  " timeouts, %" PRIu64 " crashes\n",
                  rounds, done, games, timeouts, crashes);
    assert_true(done > 100 * rounds && games > 8 * rounds && timeouts > 4 * rounds);
}

/* ---- the judge itself: it must name what is wrong */

static void tell_event(struct rooms_judge *judge, const char *type, const char *doc)
{
    struct store_event event = {
        .kind = bytes_of("room"), .type = bytes_of(type), .doc = bytes_of(doc)};
    judge_event(judge, &event);
}

static void tell_frame(struct rooms_judge *judge, const char *frame)
{
    judge_frame(judge, bytes_of(frame), 1000);
}

TEST(the_judge_names_an_early_timeout_and_a_second_one)
{
    struct rooms_judge judge = {0};
    tell_event(&judge, "timeout",
               "{\"roomId\":\"r\",\"gameId\":\"r-1\",\"version\":\"r-1:0\",\"side\":\"X\","
               "\"at\":99,\"deadlineEpochMs\":100}");
    assert_non_null(strstr(judge.verdict, "an early timeout"));
    judge = (struct rooms_judge){0};
    for (int i = 0; i < 2; i++)
        tell_event(&judge, "timeout",
                   "{\"roomId\":\"r\",\"gameId\":\"r-1\",\"version\":\"r-1:0\",\"side\":\"X\","
                   "\"at\":100,\"deadlineEpochMs\":100}");
    assert_non_null(strstr(judge.verdict, "a second timeout"));
}

TEST(the_judge_names_what_was_told_too_soon_or_in_the_wrong_order)
{
    struct rooms_judge judge = {0};
    tell_frame(&judge, "{\"roomId\":\"r\",\"gameId\":\"r-1\",\"type\":\"STATE\",\"seq\":1,"
                       "\"payload\":{\"state\":{\"gameId\":\"r-1\",\"step\":1}}}");
    assert_non_null(strstr(judge.verdict, "told before it was durable"));
    judge = (struct rooms_judge){0};
    tell_event(&judge, "timeout",
               "{\"roomId\":\"r\",\"gameId\":\"r-1\",\"version\":\"r-1:0\",\"side\":\"X\","
               "\"at\":100,\"deadlineEpochMs\":100}");
    tell_frame(&judge, "{\"roomId\":\"r\",\"gameId\":\"r-1\",\"type\":\"TIMEOUT\",\"seq\":1,"
                       "\"payload\":{\"side\":\"X\"}}");
    assert_string_equal(judge.verdict, "");
    tell_frame(&judge, "{\"roomId\":\"r\",\"gameId\":\"r-1\",\"type\":\"SNAPSHOT\",\"seq\":2,"
                       "\"payload\":{\"state\":{\"gameId\":\"r-1\",\"step\":0}}}");
    assert_non_null(strstr(judge.verdict, "not STATE, which comes next"));
}
