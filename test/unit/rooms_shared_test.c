/* SPDX-License-Identifier: MIT */
/* A flag that has fallen in a store that several nodes share: claimed first, judged then. What a
 * player does in between is judged as after the deadline. */
#include "support/rooms_world.h"

#include <stdio.h>
#include <string.h>

static struct rooms_world world;

static struct room_command asking(const struct players *players, uint64_t session,
                                  enum room_verb verb, char game_id[64])
{
    (void)snprintf(game_id, 64, "%s-1", players->room);
    return (struct room_command){
        .verb = verb,
        .session = session,
        .room_id = bytes_of(players->room),
        .seat_key = bytes_of(players->key[session - 1]),
        .game_id = bytes_of(game_id),
        .x = 8,
        .y = 8,
    };
}

/* X has moved; the time of O is over, which is claimed, and nobody has judged it yet. */
static void let_claim(struct players *ret_players)
{
    struct elapsed_time wake;
    rooms_world_start_shared(&world);
    rooms_world_play(&world, "{\"turn_seconds\":30}", ret_players);
    assert_string_equal(rooms_world_place(&world, ret_players, 1, 7, 7), "");
    rooms_world_pass(&world, 29999);
    clock_manual_advance(&world.clock, 1000000);
    engine_turn(world.engine, &wake);
    while (world.sim.read_count > 0)
        sim_read_done(&world.sim, world.engine, 0);
    engine_turn(world.engine, &wake);
    assert_non_null(world.sim.batch);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    struct countdowns_stats stats;
    countdowns_describe(world.countdowns, &stats);
    assert_int_equal(stats.firing, 1);
}

static void lost_by_o(const struct players *players)
{
    assert_string_equal(rooms_world_at(&world, players, "state.winner"), "\"X\"");
    assert_string_equal(rooms_world_at(&world, players, "state.step"), "1");
    assert_string_equal(rooms_world_at(&world, players, "endedBy"), "\"timeout\"");
    assert_int_equal(world.judge.timeouts, 1);
}

/* C-12, C-17 */
TEST(C_12_a_move_after_the_claim_is_too_late)
{
    struct players players;
    struct said said;
    char game_id[64];
    let_claim(&players);
    struct room_command command = asking(&players, 2, ROOM_PLACE, game_id);
    rooms_world_begin(&world, &said, &command);
    rooms_world_settle(&world);
    assert_string_equal(said.code, "TIMED_OUT");
    lost_by_o(&players);
    rooms_world_release(&world);
}

/* C-13: by another node too, whose clock may be another. */
TEST(C_13_a_move_is_too_late_also_for_who_takes_over)
{
    struct players players;
    struct said said;
    char game_id[64];
    let_claim(&players);
    rooms_world_crash(&world);
    world.clock.elapsed.ns = INT64_C(5000000000); /* a machine that was just started */
    rooms_world_load(&world);
    struct room_command resume = asking(&players, 2, ROOM_RESUME, game_id);
    rooms_world_begin(&world, &said, &resume);
    while (!said.done) {
        struct elapsed_time wake;
        engine_turn(world.engine, &wake);
        if (world.sim.batch != NULL)
            sim_commit(&world.sim, world.engine, TOCSIN_OK);
        if (world.sim.read_count > 0)
            sim_read_done(&world.sim, world.engine, 0);
    }
    struct room_command command = asking(&players, 2, ROOM_PLACE, game_id);
    rooms_world_begin(&world, &said, &command);
    rooms_world_settle(&world);
    assert_true(strcmp(said.code, "TIMED_OUT") == 0 || strcmp(said.code, "NOT_PLAYING") == 0);
    lost_by_o(&players);
    rooms_world_release(&world);
}

/* As before the flag was looked at: who gives up has given up, and the stale timeout does nothing. */
TEST(C_17_who_resigns_after_the_claim_has_resigned)
{
    struct players players;
    struct said said;
    char game_id[64];
    let_claim(&players);
    struct room_command command = asking(&players, 2, ROOM_RESIGN, game_id);
    rooms_world_begin(&world, &said, &command);
    rooms_world_settle(&world);
    rooms_world_pass(&world, 60000);
    assert_string_equal(said.code, "");
    assert_string_equal(rooms_world_at(&world, &players, "endedBy"), "\"resign\"");
    assert_int_equal(world.judge.timeouts, 0);
    assert_string_equal(rooms_world_clock(&world, players.room), "");
    rooms_world_release(&world);
}
