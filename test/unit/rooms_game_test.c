/* SPDX-License-Identifier: MIT */
/* A game in a room, and one after another: turns, refusals, ends, what is told and when. */
#include "support/rooms_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rooms_world world;

static const char *const anything = "{}";

/* ---- a game */

TEST(play_begins_when_both_are_ready_and_x_moves_first)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_seat(&world, anything, &players);
    rooms_world_forget(&world);
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_READY), "");
    assert_string_equal(rooms_world_types(&world), "SNAPSHOT");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"WAITING\"");
    assert_string_equal(rooms_world_at(&world, &players, "seats.O.ready"), "true");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_READY), ""); /* again: as it was */
    assert_string_equal(rooms_world_types(&world), "");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_START), "");
    assert_string_equal(rooms_world_types(&world), "STATE SNAPSHOT TICK");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    assert_string_equal(rooms_world_at(&world, &players, "state.current"), "\"X\"");
    rooms_world_release(&world);
}

TEST(a_refused_command_changes_nothing_and_says_why)
{
    static const struct {
        const char *what;
        enum room_verb verb;
        uint64_t session;
        int key; /* of player 0 or 1; -1: none; -2: a made-up one */
        int64_t x, y;
        const char *game; /* NULL: the one that is on */
        const char *code;
    } rows[] = {
        {"not their turn", ROOM_PLACE, 2, 1, 3, 3, NULL, "NOT_YOUR_TURN"},
        {"the other's key", ROOM_PLACE, 2, 0, 3, 3, NULL, "FORBIDDEN"},
        {"no key", ROOM_PLACE, 1, -1, 3, 3, NULL, "BAD_SEAT"},
        {"a made-up key", ROOM_PLACE, 1, -2, 3, 3, NULL, "BAD_SEAT"},
        {"a spectator", ROOM_PLACE, 3, -1, 3, 3, NULL, "BAD_SEAT"},
        {"taken", ROOM_PLACE, 1, 0, 7, 7, NULL, "TAKEN"},
        {"off the board", ROOM_PLACE, 1, 0, 15, 0, NULL, "VALIDATE_FAILED"},
        {"off the board", ROOM_PLACE, 1, 0, 0, -1, NULL, "VALIDATE_FAILED"},
        {"far off", ROOM_PLACE, 1, 0, INT64_C(4294967296), 0, NULL, "VALIDATE_FAILED"},
        {"another game", ROOM_PLACE, 1, 0, 3, 3, "x-1", "STALE_GAME"},
        {"no game", ROOM_PLACE, 1, 0, 3, 3, "", "VALIDATE_FAILED"},
        {"restart of an old game", ROOM_RESTART, 1, 0, 0, 0, "x-0", "STALE_GAME"},
        {"restart without a key", ROOM_RESTART, 1, -1, 0, 0, "", "BAD_SEAT"},
        {"resign without a key", ROOM_RESIGN, 1, -1, 0, 0, "", "BAD_SEAT"},
        {"resign of an old game", ROOM_RESIGN, 1, 0, 0, 0, "x-1", "STALE_GAME"},
    };
    struct players players;
    char before[4096];
    char game_id[64];
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    assert_string_equal(rooms_world_resume(&world, 3, players.room, ""), "");
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    assert_string_equal(rooms_world_place(&world, &players, 2, 8, 8), "");
    rooms_world_pass(&world, 200);
    (void)snprintf(before, sizeof before, "%s", rooms_world_room(&world, players.room));
    (void)snprintf(game_id, sizeof game_id, "%s-1", players.room);
    uint64_t puts = world.sim.puts;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *key = rows[i].key >= 0 ? players.key[rows[i].key] : "";
        rooms_world_forget(&world);
        const char *code = rooms_world_do(
            &world, &(struct room_command){
                        .verb = rows[i].verb,
                        .session = rows[i].session,
                        .room_id = bytes_of(players.room),
                        .seat_key = bytes_of(rows[i].key == -2 ? "deadbeef" : key),
                        .game_id = bytes_of(rows[i].game == NULL ? game_id : rows[i].game),
                        .x = rows[i].x,
                        .y = rows[i].y,
                    });
        if (strcmp(code, rows[i].code) != 0)
            fail_msg("%s: %s", rows[i].what, code);
        const char *error = rooms_world_last(&world, rows[i].session, "errors");
        assert_string_equal(at(error, "type"), "\"ERROR\"");
        assert_int_equal(strncmp(at(error, "code") + 1, rows[i].code, strlen(rows[i].code)), 0);
        assert_true(strlen(at(error, "detail")) > 5);
        assert_int_equal(world.heard_count, 1);
        assert_string_equal(rooms_world_room(&world, players.room), before);
    }
    assert_int_equal(world.sim.puts, puts);
    rooms_world_release(&world);
}

TEST(what_does_not_fit_the_phase_is_refused)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_seat(&world, anything, &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 0, 0), "NOT_PLAYING");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "NOT_PLAYING");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_READY), "");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_READY), "");
    rooms_world_win(&world, &players, 1);
    assert_string_equal(rooms_world_place(&world, &players, 2, 9, 9), "NOT_PLAYING");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESIGN), "NOT_PLAYING");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_READY), "NOT_WAITING");
    rooms_world_release(&world);
}

TEST(five_in_a_row_win_and_the_line_is_told)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    rooms_world_win(&world, &players, 1);
    const char *snapshot = rooms_world_last(&world, 0, "/topic");
    assert_string_equal(at(snapshot, "payload.phase"), "\"ENDED\"");
    assert_string_equal(at(snapshot, "payload.state.winner"), "\"X\"");
    assert_string_equal(at(snapshot, "payload.state.over"), "true");
    assert_string_equal(at(snapshot, "payload.state.line"),
                        "[{\"x\":0,\"y\":0},{\"x\":1,\"y\":0},{\"x\":2,\"y\":0},"
                        "{\"x\":3,\"y\":0},{\"x\":4,\"y\":0}]");
    assert_string_equal(at(snapshot, "payload.series"), "{\"X\":1,\"O\":0,\"draws\":0}");
    assert_string_equal(at(snapshot, "payload.clock.running"), "false");
    assert_string_equal(rooms_world_clock(&world, players.room), ""); /* stopped (C-07) */
    rooms_world_release(&world);
}

TEST(a_forbidden_move_says_which_and_white_may)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"rule\":\"RENJU\"}", &players);
    static const int x_stones[][2] = {{7, 5}, {7, 6}, {5, 7}, {6, 7}};
    static const int o_stones[][2] = {{0, 0}, {2, 0}, {4, 0}, {6, 0}};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(rooms_world_place(&world, &players, 1, x_stones[i][0], x_stones[i][1]),
                            "");
        assert_string_equal(rooms_world_place(&world, &players, 2, o_stones[i][0], o_stones[i][1]),
                            "");
    }
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "FORBIDDEN_MOVE");
    assert_non_null(strstr(rooms_world_last(&world, 1, "errors"), "double-three"));
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "8");
    assert_string_equal(rooms_world_place(&world, &players, 1, 14, 14), "");
    assert_string_equal(rooms_world_place(&world, &players, 2, 7, 7), "");
    rooms_world_release(&world);
}

TEST(a_full_board_is_a_draw)
{
    struct room room;
    struct room_wish wish = {.clock = {.mode = TURN_EACH, .bank_ms = 30000}};
    struct room_time now = {1000, 1001};
    room_init(&room, "0123456789abcdef", &wish);
    assert_int_equal(room_ready(&room, GOMOKU_X, now), ROOM_DONE);
    assert_int_equal(room_ready(&room, GOMOKU_O, now), ROOM_DONE);
    for (int point = 0; point < GOMOKU_POINTS - 1; point++) {
        int shifted = point % GOMOKU_SIZE + 2 * (point / GOMOKU_SIZE);
        room.board.at[point] = shifted / 2 % 2 == 0 ? 'X' : 'O'; /* never more than two alike */
    }
    room.step = GOMOKU_POINTS - 1;
    assert_int_equal(room_place(&room, GOMOKU_X, GOMOKU_POINTS - 1, now), ROOM_DONE);
    assert_int_equal(room.winner, ROOM_DRAWN);
    assert_int_equal(room.phase, ROOM_ENDED);
    assert_int_equal(room.draws, 1);
    assert_int_equal(room.ended_by, ROOM_BY_DRAW);
    assert_int_equal(room.seats[GOMOKU_X].wins + room.seats[GOMOKU_O].wins, 0);
}

TEST(who_resigns_loses_whoever_is_to_move)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    rooms_world_forget(&world);
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESIGN), "");
    assert_string_equal(rooms_world_types(&world), "STATE SNAPSHOT");
    assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"X\"");
    assert_string_equal(rooms_world_at(&world, &players, "state.line"), "null");
    assert_string_equal(rooms_world_clock(&world, players.room), "");
    rooms_world_release(&world);
}

static void assert_ended_by(const struct players *players, const char *wanted)
{
    const char *snapshot = rooms_world_last(&world, 0, "/topic");
    if (strcmp(at(snapshot, "type"), "\"SNAPSHOT\"") == 0) /* else it is a tick */
        assert_string_equal(at(snapshot, "payload.endedBy"), wanted);
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_string_equal(rooms_world_at(&world, players, "endedBy"), wanted);
    assert_string_equal(rooms_world_at(&world, players, "state.endedBy"), "-");
}

/* Also to who comes after a crash. */
TEST(a_room_says_what_ended_its_game)
{
    static const char *const passing = "{\"turn_seconds\":10,\"on_timeout\":\"pass\"}";
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    assert_ended_by(&players, "null");
    rooms_world_win(&world, &players, 1);
    assert_ended_by(&players, "\"five\"");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_ended_by(&players, "null");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_READY), "");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    assert_ended_by(&players, "\"resign\"");
    rooms_world_play(&world, anything, &players);
    rooms_world_pass(&world, 60000);
    assert_ended_by(&players, "\"timeout\"");
    rooms_world_play(&world, passing, &players);
    rooms_world_pass(&world, 10000);
    rooms_world_pass(&world, 10000);
    assert_ended_by(&players, "\"draw\"");
    rooms_world_release(&world);
}

/* ---- one game after another */

TEST(a_restart_swaps_the_sides_and_the_wins_stay_with_their_player)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    uint64_t x_session = 1;
    int wins[2] = {0, 0};
    static const bool x_wins[] = {true, true, false, true, false};
    for (int game = 1; game <= 5; game++) {
        char wanted[100];
        uint64_t winner = x_wins[game - 1] ? x_session : 3 - x_session;
        rooms_world_four_each(&world, &players, x_session);
        if (winner == x_session)
            assert_string_equal(rooms_world_place(&world, &players, x_session, 4, 0), "");
        else
            assert_string_equal(rooms_world_by(&world, &players, x_session, ROOM_RESIGN), "");
        wins[winner - 1]++;
        (void)snprintf(wanted, sizeof wanted, "{\"X\":%d,\"O\":%d,\"draws\":0}",
                       wins[x_session - 1], wins[2 - x_session]);
        assert_string_equal(rooms_world_at(&world, &players, "series"), wanted);
        rooms_world_forget(&world);
        assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESTART), "");
        x_session = 3 - x_session;
        /* Both are told on which side they are, with the key they have. */
        assert_string_equal(rooms_world_side(&world, x_session), "\"X\"");
        assert_string_equal(rooms_world_side(&world, 3 - x_session), "\"O\"");
        char key[ROOM_KEY_BYTES + 1];
        rooms_world_key(&world, x_session, key);
        assert_string_equal(key, players.key[x_session - 1]);
        (void)snprintf(wanted, sizeof wanted, "{\"X\":%d,\"O\":%d,\"draws\":0}",
                       wins[x_session - 1], wins[2 - x_session]);
        assert_string_equal(rooms_world_at(&world, &players, "series"), wanted);
        /* Both are here: it is on at once. The other's wish for the same is met already. */
        assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
        (void)snprintf(wanted, sizeof wanted, "\"%s-%d\"", players.room, game + 1);
        rooms_world_forget(&world);
        assert_string_equal(
            rooms_world_by(&world, &players, 1, game % 2 == 0 ? ROOM_READY : ROOM_RESTART), "");
        assert_string_equal(rooms_world_types(&world), "");
        assert_string_equal(rooms_world_at(&world, &players, "gameId"), wanted);
    }
    rooms_world_release(&world);
}

TEST(a_restart_after_the_end_begins_a_turn_with_all_its_time)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":10}", &players);
    rooms_world_pass(&world, 7000);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    rooms_world_forget(&world);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_string_equal(rooms_world_types(&world), "STATE SNAPSHOT TICK");
    assert_string_equal(rooms_world_at(&world, &players, "clock.leftMs"), "10000");
    assert_string_equal(rooms_world_at(&world, &players, "clock.side"), "\"X\"");
    rooms_world_pass(&world, 9999);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    rooms_world_pass(&world, 1);
    assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"O\"");
    rooms_world_release(&world);
}

TEST(a_restart_waits_for_who_is_not_here)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    rooms_gone(world.rooms, 2);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"WAITING\"");
    assert_string_equal(rooms_world_at(&world, &players, "seats.O.ready"), "true");
    assert_string_equal(rooms_world_at(&world, &players, "seats.X.ready"), "false");
    assert_string_equal(rooms_world_clock(&world, players.room), "");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), ""); /* as it was */
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"WAITING\"");
    assert_string_equal(rooms_world_resume(&world, 2, players.room, players.key[1]), "");
    assert_string_equal(rooms_world_side(&world, 2), "\"X\"");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESTART), "");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    assert_non_null(strstr(rooms_world_at(&world, &players, "gameId"), "-2\""));
    rooms_world_release(&world);
}

/* C-07, C-17: the old turn's flag is stopped with it, and what was is not won by anybody. */
TEST(a_game_that_is_on_is_left_off_when_both_want_it)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":10}", &players);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), ""); /* no stone yet */
    assert_string_equal(rooms_world_at(&world, &players, "seats.X.wantsRestart"), "false");
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    rooms_world_forget(&world);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_string_equal(rooms_world_types(&world), "SNAPSHOT");
    assert_string_equal(rooms_world_at(&world, &players, "seats.X.wantsRestart"), "true");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), ""); /* as it was */
    assert_string_equal(rooms_world_types(&world), "");
    /* Who plays on has answered. */
    assert_string_equal(rooms_world_place(&world, &players, 2, 8, 8), "");
    assert_string_equal(rooms_world_at(&world, &players, "seats.X.wantsRestart"), "false");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESTART), "");
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "2");
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_string_equal(rooms_world_at(&world, &players, "seats.O.wantsRestart"), "true");
    rooms_world_pass(&world, 5000);
    rooms_world_forget(&world);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_string_equal(rooms_world_types(&world), "STATE SNAPSHOT TICK");
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "0");
    assert_string_equal(rooms_world_at(&world, &players, "seats.X.wantsRestart"), "false");
    assert_string_equal(rooms_world_at(&world, &players, "series"),
                        "{\"X\":0,\"O\":0,\"draws\":0}");
    rooms_world_pass(&world, 9999); /* the old flag would have fallen */
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    assert_string_equal(rooms_world_place(&world, &players, 2, 0, 0), ""); /* sides are swapped */
    rooms_world_release(&world);
}

TEST(a_game_against_the_machine_is_left_off_at_once)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"mode\":\"PVE\"}", &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "0");
    assert_string_equal(rooms_world_at(&world, &players, "seats.X.ai"), "true");
    assert_string_equal(rooms_world_at(&world, &players, "series"),
                        "{\"X\":0,\"O\":0,\"draws\":0}");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), ""); /* as it was */
    assert_string_equal(rooms_world_at(&world, &players, "seats.X.ai"), "true");
    rooms_world_think(&world, GOMOKU_CENTRE); /* about the game before: it comes to nothing */
    rooms_world_think(&world, GOMOKU_CENTRE);
    rooms_world_pass(&world, 1500);
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "1");
    rooms_world_release(&world);
}

TEST(a_move_of_the_game_before_is_stale)
{
    struct players players;
    char game_id[64];
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    (void)snprintf(game_id, sizeof game_id, "%s-1", players.room);
    assert_string_equal(
        rooms_world_do(&world, &(struct room_command){.verb = ROOM_PLACE,
                                                      .session = 2,
                                                      .room_id = bytes_of(players.room),
                                                      .seat_key = bytes_of(players.key[1]),
                                                      .game_id = bytes_of(game_id),
                                                      .x = 1,
                                                      .y = 1}),
        "STALE_GAME");
    assert_string_equal(rooms_world_place(&world, &players, 2, 1, 1), "");
    rooms_world_release(&world);
}

/* ---- what is told, and when */

/* Until a commit is handed over. */
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

/* C-19. */
TEST(nothing_is_told_before_the_commit_nor_when_it_fails)
{
    struct players players;
    struct said said;
    char game_id[64];
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    rooms_world_pass(&world, 150);
    (void)snprintf(game_id, sizeof game_id, "%s-1", players.room);
    struct room_command command = {
        .verb = ROOM_PLACE,
        .session = 1,
        .room_id = bytes_of(players.room),
        .seat_key = bytes_of(players.key[0]),
        .game_id = bytes_of(game_id),
        .x = 5,
        .y = 5,
    };
    rooms_world_forget(&world);
    rooms_world_begin(&world, &said, &command);
    to_the_disk();
    assert_int_equal(world.heard_count, 0);
    sim_commit(&world.sim, world.engine, TOCSIN_UNAVAILABLE);
    assert_true(said.done);
    assert_string_equal(said.code, "UNAVAILABLE");
    assert_string_equal(rooms_world_types(&world), "");
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "0");
    rooms_world_forget(&world);
    rooms_world_begin(&world, &said, &command);
    to_the_disk();
    sim_store(&world.sim);
    assert_int_equal(world.heard_count, 0);
    sim_commit(&world.sim, world.engine, TOCSIN_OK);
    assert_string_equal(rooms_world_types(&world), "STATE SNAPSHOT TICK");
    rooms_world_settle(&world);
    rooms_world_release(&world);
}

static size_t heard_when_done;

static void note_done(void *arg, enum outcome outcome, const char *code, const char *detail)
{
    (void)arg;
    (void)outcome;
    (void)detail;
    assert_null(code);
    heard_when_done = world.heard_count;
}

/* With the receipt of a move, what it made has been told. */
TEST(a_move_is_answered_when_the_room_has_heard_of_it)
{
    struct players players;
    char game_id[64];
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    rooms_world_pass(&world, 150);
    rooms_world_forget(&world);
    (void)snprintf(game_id, sizeof game_id, "%s-1", players.room);
    struct room_command command = {
        .verb = ROOM_PLACE,
        .session = 1,
        .room_id = bytes_of(players.room),
        .seat_key = bytes_of(players.key[0]),
        .game_id = bytes_of(game_id),
        .done = note_done,
    };
    heard_when_done = 0;
    rooms_command(world.rooms, &command);
    rooms_world_settle(&world);
    assert_int_equal(heard_when_done, 3);
    assert_string_equal(rooms_world_types(&world), "STATE SNAPSHOT TICK");
    rooms_world_release(&world);
}

/* C-24. */
TEST(frame_numbers_rise_also_over_a_restart)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    uint64_t before = strtoull(at(rooms_world_last(&world, 0, "/topic"), "seq"), NULL, 10);
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    uint64_t after = strtoull(at(rooms_world_last(&world, 0, "/topic"), "seq"), NULL, 10);
    assert_true(before > UINT64_C(1) << 32);
    assert_true(after >> 32 > before >> 32);
    assert_true(after < UINT64_C(1) << 53);
    rooms_world_release(&world);
}
