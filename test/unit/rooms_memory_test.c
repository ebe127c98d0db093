/* SPDX-License-Identifier: MIT */
/* What if the n-th request for memory is refused, or some in a row? A game of two, one against the
 * AI, a spectator and a timeout are run once for each n. Who is told that it could not be done asks
 * again, and in the end all is as if nothing had been. */
#include "support/rooms_world.h"
#include "support/scarce_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 10 };

static struct rooms_world world;
static char key_of[8][ROOM_KEY_BYTES + 1]; /* by session */

static void sent(uint64_t session, const char *queue, struct bytes json)
{
    char text[200];
    if (strcmp(queue, "gomoku.seat") != 0)
        return;
    (void)snprintf(text, sizeof text, "%.*s", (int)json.size, json.at);
    const char *key = strstr(text, "\"seatKey\":\"");
    if (key != NULL)
        (void)snprintf(key_of[session], sizeof key_of[session], "%.32s", key + 11);
}

static void settle(void)
{
    (void)scarce_settle(&world.sim, world.engine, &world.clock);
    if (world.judge.verdict[0] != '\0')
        fail_msg("request %" PRIu64 ": %s", scarce.first, world.judge.verdict);
}

static void pass(int64_t ms)
{
    clock_manual_advance(&world.clock, ms * INT64_C(1000000));
    settle();
}

/* As often as it is refused for want of memory. */
static void ask(enum room_verb verb, uint64_t session, const char *room, int64_t x, int64_t y)
{
    static struct said said;
    char game_id[64];
    (void)snprintf(game_id, sizeof game_id, "%s-1", room);
    for (int i = 0; i < TRIES; i++) {
        struct room_command command = {
            .verb = verb,
            .session = session,
            .room_id = bytes_of(room),
            .seat_key = bytes_of(key_of[session]),
            .game_id = bytes_of(game_id),
            .x = x,
            .y = y,
        };
        scarce.on = true;
        rooms_world_begin(&world, &said, &command);
        scarce.on = false;
        settle();
        assert_true(said.done);
        if (said.outcome != OUTCOME_OVERLOADED)
            break;
    }
    /* What was done but could not be told: asked again, it has been done. */
    bool again = strcmp(said.code, "NOT_YOUR_TURN") == 0 || strcmp(said.code, "NOT_PLAYING") == 0;
    if (said.code[0] != '\0' && !again)
        fail_msg("request %" PRIu64 ": %s", scarce.first, said.code);
}

static void script(void)
{
    char pvp[WORLD_ID_BYTES];
    char pve[WORLD_ID_BYTES];
    memcpy(pvp, rooms_world_open(&world, "{}"), sizeof pvp);
    memcpy(pve, rooms_world_open(&world, "{\"mode\":\"PVE\"}"), sizeof pve);
    ask(ROOM_RESUME, 1, pvp, 0, 0);
    ask(ROOM_RESUME, 2, pvp, 0, 0);
    ask(ROOM_RESUME, 3, pvp, 0, 0);
    ask(ROOM_RESUME, 4, pve, 0, 0);
    ask(ROOM_READY, 4, pve, 0, 0);
    ask(ROOM_READY, 1, pvp, 0, 0);
    ask(ROOM_READY, 2, pvp, 0, 0);
    ask(ROOM_PLACE, 4, pve, 7, 7);
    ask(ROOM_PLACE, 1, pvp, 7, 7);
    scarce.on = true;
    rooms_gone(world.rooms, 3);
    scarce.on = false;
    for (int i = 0; i < 60; i++) {
        pass(1000);
        if (world.job_count > 0) {
            scarce.on = true;
            rooms_world_think(&world, gomoku_point(8, 8));
            scarce.on = false;
        }
    }
    scarce.first = 0;
    rooms_world_settle(&world);
    assert_string_equal(at(rooms_world_room(&world, pvp), "state.winner"), "\"X\"");
    assert_string_equal(at(rooms_world_room(&world, pvp), "state.step"), "1");
    assert_string_equal(at(rooms_world_room(&world, pvp), "spectators"), "0");
    assert_string_equal(at(rooms_world_room(&world, pve), "state.step"), "2");
    assert_string_equal(at(rooms_world_room(&world, pve), "state.winner"), "\"O\"");
    assert_string_equal(rooms_world_clock(&world, pvp), "");
    assert_string_equal(rooms_world_clock(&world, pve), "");
    assert_int_equal(world.judge.timeouts, 2);
}

static void sweep(bool shared)
{
    uint64_t runs = 0;
    for (uint64_t first = 1;; first++) {
        memset(key_of, 0, sizeof key_of);
        scarce = (struct scarcity){0};
        if (shared)
            rooms_world_start_shared(&world);
        else
            rooms_world_start(&world);
        world.forgetful = true;
        world.on_sent = sent;
        scarce = (struct scarcity){.first = first, .count = 1 + first % 3};
        script();
        rooms_world_release(&world);
        runs++;
        if (scarce.refused == 0)
            break;
        assert_true(first < 10000);
    }
    print_message("%" PRIu64 " runs\n", runs);
    assert_true(runs > 20);
}

TEST(a_refused_request_for_memory_loses_nothing)
{
    sweep(false);
}

/* C-13: nor between the two steps of a timeout. */
TEST(a_refused_request_for_memory_loses_nothing_that_is_shared)
{
    sweep(true);
}
