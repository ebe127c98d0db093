/* SPDX-License-Identifier: MIT */
/* What a fallen flag does where it does not end the game, and grace for who is not there (C-31). */
#include "support/rooms_world.h"

#include <stdio.h>
#include <stdlib.h>

static struct rooms_world world;

static void fall(const struct players *players)
{
    int64_t left_ms = strtoll(rooms_world_at(&world, players, "clock.leftMs"), NULL, 10);
    assert_true(left_ms > 0);
    rooms_world_pass(&world, left_ms - 1);
    rooms_world_forget(&world);
    rooms_world_pass(&world, 1);
}

static void assert_at(const struct players *players, const char *path, const char *wanted)
{
    assert_string_equal(rooms_world_at(&world, players, path), wanted);
}

TEST(a_flag_that_passes_gives_the_turn_to_the_other)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":10,\"on_timeout\":\"pass\"}", &players);
    assert_at(&players, "clock.onTimeout", "\"pass\"");
    fall(&players);
    assert_string_equal(at(world.heard[0].text, "type"), "\"TIMEOUT\"");
    assert_string_equal(at(world.heard[0].text, "payload.side"), "\"X\"");
    assert_string_equal(rooms_world_types(&world), "TIMEOUT STATE SNAPSHOT TICK");
    assert_at(&players, "phase", "\"PLAYING\"");
    assert_at(&players, "state.current", "\"O\"");
    assert_at(&players, "state.step", "0");
    assert_at(&players, "clock.leftMs", "10000");
    assert_string_equal(rooms_world_place(&world, &players, 1, 0, 0), "NOT_YOUR_TURN");
    assert_string_equal(rooms_world_place(&world, &players, 2, 7, 7), "");
    fall(&players); /* of X again: only two in a row are too many */
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_at(&players, "state.current", "\"O\"");
    assert_at(&players, "series", "{\"X\":0,\"O\":0,\"draws\":0}");
    fall(&players);
    assert_at(&players, "phase", "\"ENDED\"");
    assert_at(&players, "state.winner", "\"DRAW\"");
    assert_at(&players, "series", "{\"X\":0,\"O\":0,\"draws\":1}");
    assert_int_equal(world.judge.timeouts, 3);
    rooms_world_release(&world);
}

TEST(a_flag_that_moves_puts_a_stone)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":10,\"on_timeout\":\"move\"}", &players);
    fall(&players);
    assert_string_equal(rooms_world_types(&world), "TIMEOUT STATE SNAPSHOT TICK");
    assert_at(&players, "state.lastMove", "{\"x\":7,\"y\":7}");
    assert_at(&players, "state.current", "\"O\"");
    assert_at(&players, "clock.leftMs", "10000");
    assert_string_equal(rooms_world_place(&world, &players, 2, 0, 0), "");
    for (int i = 2; i < 30; i++)
        fall(&players);
    assert_at(&players, "state.step", "30");
    assert_int_equal(world.judge.timeouts, 29);
    rooms_world_release(&world);
}

/* The bank is used up, and the increment is there for the next turn. */
TEST(a_flag_that_moves_leaves_no_bank)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world,
                     "{\"clock\":{\"mode\":\"fischer\",\"bank\":\"8s\",\"extra\":\"2s\"},"
                     "\"on_timeout\":\"move\"}",
                     &players);
    fall(&players);
    assert_at(&players, "state.step", "1");
    assert_at(&players, "clock.banks.X", "2001");
    assert_string_equal(rooms_world_place(&world, &players, 2, 0, 0), "");
    assert_at(&players, "clock.leftMs", "2001");
    rooms_world_release(&world);
}

TEST(a_flag_that_is_only_told_stops_the_clock_until_they_move)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":10,\"on_timeout\":\"event\"}", &players);
    fall(&players);
    assert_string_equal(rooms_world_types(&world), "TIMEOUT STATE SNAPSHOT");
    assert_at(&players, "phase", "\"PLAYING\"");
    assert_at(&players, "clock.overdue", "true");
    assert_at(&players, "clock.running", "false");
    assert_string_equal(rooms_world_clock(&world, players.room), "");
    rooms_world_pass(&world, 60000);
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    assert_at(&players, "clock.overdue", "false");
    assert_at(&players, "clock.side", "\"O\"");
    assert_at(&players, "clock.leftMs", "10000");
    fall(&players);
    assert_at(&players, "clock.overdue", "true");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESIGN), "");
    assert_at(&players, "state.winner", "\"X\"");
    assert_at(&players, "clock.overdue", "false");
    rooms_world_release(&world);
}

/* C-18 holds for a turn's version, and a turn that was made longer has another. */
TEST(who_is_not_there_has_grace_once_a_game)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":10,\"reconnect_grace\":\"5s\"}", &players);
    assert_at(&players, "clock.graceMs", "5000");
    rooms_gone(world.rooms, 1);
    rooms_world_pass(&world, 500);
    fall(&players);
    assert_string_equal(rooms_world_types(&world), "SNAPSHOT TICK");
    assert_at(&players, "phase", "\"PLAYING\"");
    assert_at(&players, "clock.leftMs", "5000");
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_string_equal(rooms_world_resume(&world, 1, players.room, players.key[0]), "");
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    assert_at(&players, "clock.leftMs", "10000");
    assert_string_equal(rooms_world_place(&world, &players, 2, 8, 8), "");
    rooms_gone(world.rooms, 1);
    fall(&players);
    assert_at(&players, "state.winner", "\"O\""); /* that was the second time */
    assert_int_equal(world.judge.timeouts, 1);
    rooms_world_release(&world);
}

TEST(grace_is_for_who_is_not_there_and_ends)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":10,\"reconnect_grace\":\"5s\"}", &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    rooms_gone(world.rooms, 2);
    fall(&players);
    assert_at(&players, "phase", "\"PLAYING\"");
    fall(&players); /* nobody came */
    assert_at(&players, "state.winner", "\"X\"");
    assert_string_equal(rooms_world_resume(&world, 2, players.room, players.key[1]), "");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESTART), "");
    fall(&players); /* here, and a new game */
    assert_at(&players, "state.winner", "\"O\"");
    rooms_world_release(&world);
}

/* ---- lag */

static const char *place(const struct players *players, uint64_t session, int x, int64_t lag_ms)
{
    char game_id[64];
    (void)snprintf(game_id, sizeof game_id, "%s-1", players->room);
    return rooms_world_do(&world, &(struct room_command){
                                      .verb = ROOM_PLACE,
                                      .session = session,
                                      .room_id = bytes_of(players->room),
                                      .seat_key = bytes_of(players->key[session - 1]),
                                      .game_id = bytes_of(game_id),
                                      .x = x,
                                      .y = (int64_t)session,
                                      .lag_ms = lag_ms,
                                  });
}

/* C-31: from a quota, and published with each move. */
TEST(lag_is_credited_from_a_quota)
{
    static const struct {
        int64_t lag_ms;
        const char *credited;
        const char *bank;
        const char *left;
    } rows[] = {
        {120, "120", "59120", "680"},                                /* of a second */
        {0, "0", "58120", "680"},     {9000, "300", "57420", "380"}, /* a move's limit */
        {300, "300", "56720", "80"},  {300, "80", "55800", "0"},     /* the quota is used up */
        {300, "0", "54800", "0"},
    };
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world,
                     "{\"clock\":{\"mode\":\"fischer\",\"bank\":\"1m\",\"lag_credit\":\"300ms\","
                     "\"lag_quota\":\"800ms\"}}",
                     &players);
    for (int i = 0; i < 6; i++) {
        rooms_world_pass(&world, 1000);
        assert_string_equal(place(&players, 1, 2 * i, rows[i].lag_ms), "");
        assert_at(&players, "clock.creditedMs", rows[i].credited);
        assert_at(&players, "clock.banks.X", rows[i].bank);
        assert_at(&players, "clock.lagLeft.X", rows[i].left);
        assert_string_equal(place(&players, 2, 2 * i, 0), "");
        assert_at(&players, "clock.lagLeft.O", "800");
        if (i == 2) {
            rooms_world_crash(&world);
            rooms_world_again(&world);
        }
    }
    rooms_world_release(&world);
}

TEST(lag_is_not_credited_where_nobody_asked_for_it)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"clock\":{\"mode\":\"fischer\",\"bank\":\"1m\"}}", &players);
    rooms_world_pass(&world, 1000);
    assert_string_equal(place(&players, 1, 0, 500), "");
    assert_at(&players, "clock.creditedMs", "0");
    assert_at(&players, "clock.banks.X", "59000");
    assert_at(&players, "clock.lagLeft", "-");
    rooms_world_release(&world);
}
