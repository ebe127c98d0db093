/* SPDX-License-Identifier: MIT */
/* A gomoku room as `tocsin room show` draws it. */
#include "runner.h"

#include <stdio.h>
#include <string.h>

#include "cli/room_text.h"

static const struct screen_glyphs glyphs = {.stones = {"X", "O"}, .point = ".", .times = "x"};

static const char usual_clock[] =
    "\"side\":\"X\",\"leftMs\":22100,\"deadlineEpochMs\":1,\"running\":true,"
    "\"mode\":\"turn\",\"banks\":null";

static struct bytes clock_json(const char *board, const char *last, const char *more,
                               const char *clock)
{
    static char json[2000];
    int size = snprintf(
        json, sizeof json,
        "{\"roomId\":\"r1\",\"gameId\":\"g1\",\"mode\":\"PVE\",\"rule\":\"RENJU\","
        "\"turnSeconds\":30,\"phase\":\"PLAYING\",\"seats\":{\"X\":{\"taken\":true,\"ready\":true,"
        "\"connected\":true,\"ai\":false},\"O\":{\"taken\":true,\"ready\":true,\"connected\":true,"
        "\"ai\":true}},\"state\":{\"gameId\":\"g1\",\"step\":2,\"board\":\"%s\",\"lastMove\":%s,%s}"
        ","
        "\"series\":{\"X\":2,\"O\":1,\"draws\":3},\"spectators\":4,\"clock\":{%s},\"seq\":17}",
        board, last, more, clock);
    assert_in_range(size, 1, sizeof json - 1);
    return bytes_of(json);
}

/* A room in play; some fields can be other than usual. */
static struct bytes room_json(const char *board, const char *last, const char *more)
{
    return clock_json(board, last, more, usual_clock);
}

static const char *board_of(const char *stones)
{
    static char board[ROOM_SIDE * ROOM_SIDE + 1];
    memset(board, '.', ROOM_SIDE * ROOM_SIDE);
    for (; *stones != '\0'; stones += 3) /* "XH8" with letters for rows, too: "Xhh" */
        board[(stones[2] - 'a') * ROOM_SIDE + stones[1] - 'a'] = stones[0];
    return board;
}

static const char usual[] = "\"current\":\"X\",\"over\":false,\"winner\":null,\"line\":null";

TEST(a_point_is_named_from_below_on_the_left)
{
    assert_string_equal(room_text_point((struct room_point){0, 14}).text, "A1");
    assert_string_equal(room_text_point((struct room_point){7, 7}).text, "H8");
    assert_string_equal(room_text_point((struct room_point){14, 0}).text, "O15");
    assert_string_equal(room_text_point((struct room_point){-1, 0}).text, "-");
}

TEST(the_board_has_coordinates_and_marks_the_last_stone)
{
    struct room_text room;
    char text[ROOM_TEXT_BYTES];
    struct bytes json = room_json(board_of("XhhOihXoa"), "{\"x\":8,\"y\":7}", usual);
    assert_true(room_text_read(json, &room));
    room_text_board(&room, &glyphs, 0, text);
    assert_string_equal(text, "   A B C D E F G H I J K L M N O");
    room_text_board(&room, &glyphs, 1, text);
    assert_string_equal(text, "15 . . . . . . . . . . . . . . X");
    room_text_board(&room, &glyphs, 8, text);
    assert_string_equal(text, " 8 . . . . . . . X(O). . . . . .");
    room_text_board(&room, &glyphs, 15, text);
    assert_string_equal(text, " 1 . . . . . . . . . . . . . . .");
    room_text_board(&room, &glyphs, 16, text);
    assert_string_equal(text, "   A B C D E F G H I J K L M N O");
}

TEST(a_last_stone_at_the_edge_is_marked_on_both_sides)
{
    struct room_text room;
    char text[ROOM_TEXT_BYTES];
    assert_true(room_text_read(room_json(board_of("Xoa"), "{\"x\":14,\"y\":0}", usual), &room));
    room_text_board(&room, &glyphs, 1, text);
    assert_string_equal(text, "15 . . . . . . . . . . . . . .(X)");
    assert_true(room_text_read(room_json(board_of("Xaa"), "{\"x\":0,\"y\":0}", usual), &room));
    room_text_board(&room, &glyphs, 1, text);
    assert_string_equal(text, "15(X). . . . . . . . . . . . . .");
}

TEST(what_stands_beside_the_board_tells_the_rest)
{
    static const char *const facts[] = {
        "room      r1",
        "game      PVE, RENJU, 30s a move",
        "phase     PLAYING, move 2",
        "",
        "X         ready, 0:23",
        "O         the computer",
        "turn      X to move, 0:23 left",
        "last      O I8 (x 8, y 7)",
        "series    X 2, O 1, draws 3",
        "watching  4",
        "",
    };
    struct room_text room;
    char text[ROOM_TEXT_BYTES];
    assert_true(room_text_read(room_json(board_of("XhhOih"), "{\"x\":8,\"y\":7}", usual), &room));
    assert_int_equal(room.seq, 17);
    for (int i = 0; i < (int)(sizeof facts / sizeof facts[0]); i++) {
        room_text_fact(&room, &glyphs, i, text);
        assert_string_equal(text, facts[i]);
    }
    room_text_say(&room, text);
    assert_string_equal(text, "PLAYING, move 2 O I8: X to move, 0:23 left");
}

/* Facts 1, 3, 4, 5 and 6 of a room with such a clock. */
static void assert_clock(const char *clock, const char *const expected[5])
{
    static const int facts[] = {1, 3, 4, 5, 6};
    struct room_text room;
    char text[ROOM_TEXT_BYTES];
    assert_true(room_text_read(clock_json(board_of("Xhh"), "null", usual, clock), &room));
    for (size_t i = 0; i < 5; i++) {
        room_text_fact(&room, &glyphs, facts[i], text);
        assert_string_equal(text, expected[i]);
    }
}

TEST(a_clock_with_banks_shows_what_is_left_to_each_side)
{
    assert_clock("\"side\":\"X\",\"leftMs\":291000,\"running\":true,\"onTimeout\":\"resign\","
                 "\"rules\":{\"mode\":\"fischer\",\"bankMs\":300000,\"extraMs\":3000,"
                 "\"periods\":0},\"banks\":{\"X\":291000,\"O\":303000}",
                 (const char *const[]){"game      PVE, RENJU, 5m + 3s a move", "",
                                       "X         ready, 4:51", "O         the computer, 5:03",
                                       "turn      X to move, 4:51 left"});
    assert_clock("\"side\":\"X\",\"leftMs\":0,\"running\":false,\"overdue\":true,"
                 "\"onTimeout\":\"event\",\"graceMs\":30000,"
                 "\"rules\":{\"mode\":\"delay\",\"bankMs\":300000,\"extraMs\":3000,"
                 "\"periods\":0},\"banks\":{\"X\":0,\"O\":303000}",
                 (const char *const[]){"game      PVE, RENJU, 5m, delay 3s",
                                       "timeout   event, 30s more for one who is away",
                                       "X         ready, 0:00", "O         the computer, 5:03",
                                       "turn      X to move, the time is up"});
}

TEST(byoyomi_shows_what_runs_and_the_whole_periods_behind_it)
{
    static const char form[] = "\"side\":\"X\",\"leftMs\":%s,\"running\":true,\"rules\":{"
                               "\"mode\":\"byoyomi\",\"bankMs\":60000,\"extraMs\":10000,"
                               "\"periods\":3},\"banks\":{\"X\":%s,\"O\":0},"
                               "\"periods\":{\"X\":%s,\"O\":2}";
    static const char *const rows[][5] = {
        {"72000", "42000", "3", "0:42 + 3 x 10s", "1:12"},
        {"17000", "0", "2", "0:07 + 1 x 10s", "0:17"},
        {"7000", "0", "1", "0:07, the last period", "0:07"},
        {"7000", "0", "9223372036854775807", "0:00", "0:07"}, /* nonsense does no harm */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char clock[500];
        char seat[100];
        char turn[100];
        (void)snprintf(clock, sizeof clock, form, rows[i][0], rows[i][1], rows[i][2]);
        (void)snprintf(seat, sizeof seat, "X         ready, %s", rows[i][3]);
        (void)snprintf(turn, sizeof turn, "turn      X to move, %s left", rows[i][4]);
        assert_clock(clock, (const char *const[]){"game      PVE, RENJU, 1m + 3 x 10s", "", seat,
                                                  "O         the computer, 2 x 10s", turn});
    }
}

TEST(a_game_that_is_over_says_who_has_won)
{
    struct room_text room;
    char text[ROOM_TEXT_BYTES];
    assert_true(room_text_read(room_json(board_of("Xhh"), "null",
                                         "\"current\":\"O\",\"over\":true,\"winner\":\"X\","
                                         "\"line\":[{\"x\":7,\"y\":7},{\"x\":8,\"y\":7}]"),
                               &room));
    assert_int_equal(room.line_count, 2);
    assert_int_equal(room.line[1].x, 8);
    room_text_say(&room, text);
    assert_string_equal(text, "PLAYING, move 2: over, X has won");
    assert_true(room_text_read(
        room_json(board_of(""), "null", "\"over\":true,\"winner\":\"DRAW\",\"line\":null"), &room));
    room_text_fact(&room, &glyphs, 6, text);
    assert_string_equal(text, "turn      over, a draw");
    room_text_fact(&room, &glyphs, 7, text);
    assert_string_equal(text, "last      none yet");
}

TEST(before_the_first_game_it_is_nobodys_turn)
{
    struct room_text room;
    char text[ROOM_TEXT_BYTES];
    assert_true(room_text_read(room_json(board_of(""), "null", usual), &room));
    (void)snprintf(room.phase, sizeof room.phase, "WAITING");
    room_text_fact(&room, &glyphs, 6, text);
    assert_string_equal(text, "turn      not begun, not all are ready");
    room_text_say(&room, text);
    assert_string_equal(text, "WAITING, move 2: not begun, not all are ready");
}

TEST(a_board_of_another_size_or_of_other_stones_is_refused)
{
    struct room_text room;
    char board[ROOM_SIDE * ROOM_SIDE + 2];
    assert_false(room_text_read(room_json(".", "null", usual), &room));
    (void)snprintf(board, sizeof board, "%s", board_of("Zhh"));
    assert_false(room_text_read(room_json(board, "null", usual), &room));
    (void)snprintf(board, sizeof board, "%s.", board_of(""));
    assert_false(room_text_read(room_json(board, "null", usual), &room));
    assert_false(room_text_read(bytes_of("{}"), &room));
    assert_false(room_text_read(bytes_of("no JSON"), &room));
    assert_true(room_text_read(room_json(board_of(""), "{\"x\":15,\"y\":-1}", usual), &room));
    assert_int_equal(room.last.x, -1);
}
