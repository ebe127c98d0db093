/* SPDX-License-Identifier: MIT */
/* Playing against the AI, with an AI that says what the test wants. */
#include "support/rooms_world.h"

#include <stdlib.h>
#include <string.h>

static struct rooms_world world;

static const char *const against_ai = "{\"mode\":\"PVE\",\"turn_seconds\":30}";

static void ai_places(int x, int y)
{
    rooms_world_pass(&world, 1500);
    assert_int_equal(world.job_count, 1);
    rooms_world_think(&world, gomoku_point(x, y));
    rooms_world_settle(&world);
}

TEST(one_player_has_the_human_seat_and_play_begins_when_he_is_ready)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_seat(&world, against_ai, &players);
    assert_string_equal(rooms_world_side(&world, 1), "\"X\"");
    assert_string_equal(rooms_world_side(&world, 2), "null");
    assert_string_equal(rooms_world_at(&world, &players, "seats.O"),
                        "{\"taken\":true,\"ready\":true,\"connected\":true,\"ai\":true,"
                        "\"wantsRestart\":false}");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_READY), "");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    rooms_world_release(&world);
}

/* C-10. */
TEST(the_ai_answers_after_1_to_1_5_seconds)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, against_ai, &players);
    int64_t least = 10000;
    int64_t most = 0;
    for (int i = 0; i < 20; i++) {
        int x = 2 * (i % 7);
        int y = 4 * (i / 7);
        assert_string_equal(rooms_world_place(&world, &players, 1, x, y), "");
        int64_t waited = 999;
        rooms_world_pass(&world, waited);
        assert_int_equal(world.job_count, 0);
        for (; world.job_count == 0 && waited < 2000; waited += 20)
            rooms_world_pass(&world, 20);
        assert_int_equal(world.job_count, 1);
        assert_int_equal(world.jobs[0]->side, GOMOKU_O);
        assert_int_equal(world.jobs[0]->board.at[gomoku_point(x, y)], 'X');
        least = waited < least ? waited : least;
        most = waited > most ? waited : most;
        rooms_world_think(&world, gomoku_point(x + 1, y + 2));
        rooms_world_settle(&world);
    }
    assert_true(most <= 1520 && most > least);
    rooms_world_release(&world);
}

/* C-05, C-07. */
TEST(the_time_of_an_ai_is_not_counted)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, against_ai, &players);
    rooms_world_pass(&world, 10000);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    assert_string_equal(rooms_world_clock(&world, players.room), "");
    assert_string_equal(rooms_world_at(&world, &players, "clock.side"), "null");
    rooms_world_pass(&world, 100000); /* it thinks for long */
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    rooms_world_think(&world, gomoku_point(8, 8));
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "2");
    assert_string_equal(rooms_world_at(&world, &players, "clock.leftMs"), "30000");
    rooms_world_pass(&world, 30000);
    assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"O\"");
    rooms_world_release(&world);
}

TEST(an_ai_that_is_timed_can_run_out_of_time)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"mode\":\"PVE\",\"turn_seconds\":10,\"ai_timed\":true}", &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    assert_string_equal(rooms_world_at(&world, &players, "clock.side"), "\"O\"");
    rooms_world_pass(&world, 10000);
    assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"X\"");
    rooms_world_think(&world, gomoku_point(8, 8)); /* too late */
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "1");
    rooms_world_release(&world);
}

TEST(after_a_restart_of_the_game_the_ai_begins)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, against_ai, &players);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    rooms_world_forget(&world);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_string_equal(rooms_world_types(&world), "STATE SNAPSHOT");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    assert_string_equal(rooms_world_at(&world, &players, "series"),
                        "{\"X\":1,\"O\":0,\"draws\":0}"); /* the AI's win, on its new side */
    assert_string_equal(rooms_world_place(&world, &players, 1, 0, 0), "NOT_YOUR_TURN");
    ai_places(7, 7);
    assert_string_equal(rooms_world_at(&world, &players, "state.lastMove"), "{\"x\":7,\"y\":7}");
    assert_string_equal(rooms_world_at(&world, &players, "clock.side"), "\"O\"");
    rooms_world_release(&world);
}

TEST(an_answer_for_a_position_that_is_past_is_dropped)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, against_ai, &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    rooms_world_pass(&world, 1500);
    assert_int_equal(world.job_count, 1); /* it thinks */
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    rooms_world_think(&world, gomoku_point(3, 3)); /* about game 1, as O at step 1 */
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "0");
    ai_places(5, 5); /* game 2, as X at step 0 */
    assert_string_equal(rooms_world_at(&world, &players, "state.lastMove"), "{\"x\":5,\"y\":5}");
    /* Both sides of the change: here the resignation is staged, and not yet durable. */
    assert_string_equal(rooms_world_place(&world, &players, 1, 6, 6), "");
    rooms_world_pass(&world, 1500);
    struct said said;
    struct room_command resign = {.verb = ROOM_RESIGN,
                                  .session = 1,
                                  .room_id = bytes_of(players.room),
                                  .seat_key = bytes_of(players.key[0])};
    rooms_world_begin(&world, &said, &resign);
    rooms_world_think(&world, gomoku_point(3, 3));
    rooms_world_settle(&world);
    assert_string_equal(said.code, "");
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "2");
    struct rooms_stats stats;
    rooms_describe(world.rooms, &stats);
    assert_int_equal(stats.stale, 2);
    rooms_world_release(&world);
}

TEST(a_restart_of_the_server_finds_the_ai_to_move)
{
    struct players players[3];
    rooms_world_start(&world);
    for (int i = 0; i < 3; i++)
        rooms_world_play(&world, against_ai, &players[i]);
    assert_string_equal(rooms_world_place(&world, &players[0], 1, 7, 7), "");
    assert_string_equal(rooms_world_place(&world, &players[1], 1, 7, 7), "");
    rooms_world_pass(&world, 1500);
    assert_int_equal(world.job_count, 2);
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_int_equal(world.job_count, 0);
    rooms_world_pass(&world, 1501);
    assert_int_equal(world.job_count, 2);
    rooms_world_think(&world, gomoku_point(1, 1));
    rooms_world_think(&world, gomoku_point(1, 1));
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players[0], "state.step"), "2");
    assert_string_equal(rooms_world_at(&world, &players[1], "state.step"), "2");
    assert_string_equal(rooms_world_at(&world, &players[2], "state.step"), "0");
    rooms_world_release(&world);
}

TEST(an_ai_without_an_answer_is_asked_again)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, against_ai, &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    rooms_world_pass(&world, 1500);
    rooms_world_think(&world, GOMOKU_NOWHERE);
    rooms_world_pass(&world, 1000);
    assert_int_equal(world.job_count, 1);
    rooms_world_think(&world, gomoku_point(7, 7)); /* against the rules: taken */
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "2");
    rooms_world_release(&world);
}

TEST(an_answer_that_could_not_be_stored_is_thought_of_again)
{
    struct players players;
    struct elapsed_time wake;
    rooms_world_start(&world);
    rooms_world_play(&world, against_ai, &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    rooms_world_pass(&world, 1500);
    rooms_world_think(&world, gomoku_point(6, 6));
    engine_turn(world.engine, &wake);
    while (world.sim.batch == NULL) {
        sim_read_done(&world.sim, world.engine, 0);
        engine_turn(world.engine, &wake);
    }
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "1");
    rooms_world_pass(&world, 1000);
    rooms_world_think(&world, gomoku_point(6, 6));
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "2");
    rooms_world_release(&world);
}
