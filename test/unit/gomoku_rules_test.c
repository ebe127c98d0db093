/* SPDX-License-Identifier: MIT */
/* C-10: what wins and what renju forbids, from boards in a file and against an oracle. */
#include "service/gomoku/rules.h"

#include <string.h>

#include "runner.h"
#include "support/gomoku_cases.h"
#include "support/gomoku_oracle.h"

static struct gomoku_board empty_board(void)
{
    struct gomoku_board board;
    gomoku_board_init(&board);
    return board;
}

/* Stones from a point on, in a direction, one for each letter; '.' leaves the point alone. */
static void lay(struct gomoku_board *board, int x, int y, int direction, const char *stones)
{
    int point = gomoku_point(x, y);
    for (int i = 0; stones[i] != '\0'; i++) {
        int at = gomoku_along(point, direction, i);
        assert_true(at != GOMOKU_NOWHERE);
        if (stones[i] != '.')
            board->at[at] = stones[i];
    }
}

enum { RIGHT, DOWN, FALLING, RISING };

static char mark_of(const struct gomoku_board *board, int point)
{
    if (gomoku_judge(GOMOKU_RENJU, board, GOMOKU_X, point) == GOMOKU_WINS)
        return '5';
    switch (gomoku_foul(board, point)) {
    case GOMOKU_OVERLINE:
        return '6';
    case GOMOKU_DOUBLE_FOUR:
        return '4';
    case GOMOKU_DOUBLE_THREE:
        return '3';
    case GOMOKU_NO_FOUL:
        break;
    }
    return '.';
}

/* C-10 */
TEST(every_point_that_the_boards_mark_is_forbidden_and_no_other)
{
    static struct gomoku_cases cases;
    assert_true(gomoku_cases_load(TEST_DATA "/gomoku-fouls.txt", &cases));
    assert_true(cases.count >= 40);
    for (size_t i = 0; i < cases.count; i++) {
        struct gomoku_board board = gomoku_case_board(&cases.at[i]);
        for (int point = 0; point < GOMOKU_POINTS; point++) {
            if (board.at[point] != GOMOKU_EMPTY)
                continue;
            char mark = mark_of(&board, point);
            if (mark != cases.at[i].art[point])
                fail_msg("%s: x %d, y %d is '%c', the board says '%c'", cases.at[i].name,
                         point % GOMOKU_SIZE, point / GOMOKU_SIZE, mark, cases.at[i].art[point]);
            /* White, and black by the other rule, may go anywhere. */
            assert_true(gomoku_legal(GOMOKU_RENJU, &board, GOMOKU_O, point));
            assert_true(gomoku_legal(GOMOKU_STANDARD, &board, GOMOKU_X, point));
            bool is_foul = mark == '3' || mark == '4' || mark == '6';
            assert_true(gomoku_legal(GOMOKU_RENJU, &board, GOMOKU_X, point) == !is_foul);
            enum gomoku_verdict verdict = gomoku_judge(GOMOKU_RENJU, &board, GOMOKU_X, point);
            assert_true((verdict == GOMOKU_FOUL) == is_foul);
        }
    }
}

/* The same boards turned and mirrored: no direction is special. */
TEST(the_rules_do_not_depend_on_how_one_looks_at_the_board)
{
    static struct gomoku_cases cases;
    assert_true(gomoku_cases_load(TEST_DATA "/gomoku-fouls.txt", &cases));
    for (size_t i = 0; i < cases.count; i++) {
        for (int turn = 0; turn < 8; turn++) {
            struct gomoku_case turned = cases.at[i];
            for (int y = 0; y < GOMOKU_SIZE; y++) {
                for (int x = 0; x < GOMOKU_SIZE; x++) {
                    int to_x = turn & 1 ? GOMOKU_SIZE - 1 - x : x;
                    int to_y = turn & 2 ? GOMOKU_SIZE - 1 - y : y;
                    int to = turn & 4 ? gomoku_point(to_y, to_x) : gomoku_point(to_x, to_y);
                    turned.art[to] = cases.at[i].art[gomoku_point(x, y)];
                }
            }
            struct gomoku_board board = gomoku_case_board(&turned);
            for (int point = 0; point < GOMOKU_POINTS; point++) {
                if (board.at[point] == GOMOKU_EMPTY)
                    assert_int_equal(mark_of(&board, point), turned.art[point]);
            }
        }
    }
}

static struct gomoku_board random_board(struct test_random *random)
{
    struct gomoku_board board = empty_board();
    /* Stones close together, mostly black, are where fouls are. */
    int side = 5 + (int)test_random_below(random, 11);
    int room = GOMOKU_SIZE - side + 1;
    int left = (int)test_random_below(random, (uint64_t)room);
    int top = (int)test_random_below(random, (uint64_t)room);
    uint64_t black_of_16 = 2 + test_random_below(random, 6);
    uint64_t white_of_16 = test_random_below(random, 5);
    for (int y = top; y < top + side; y++) {
        for (int x = left; x < left + side; x++) {
            uint64_t draw = test_random_below(random, 16);
            if (draw < black_of_16)
                board.at[gomoku_point(x, y)] = 'X';
            else if (draw < black_of_16 + white_of_16)
                board.at[gomoku_point(x, y)] = 'O';
        }
    }
    return board;
}

/* C-10 */
TEST(fouls_are_those_of_the_oracle_on_random_boards)
{
    struct test_random random = {test_seed()};
    int seen[4] = {0};
    uint64_t least = test_effort(200);
    for (uint64_t round = 0; round < least || seen[GOMOKU_DOUBLE_FOUR] == 0; round++) {
        struct gomoku_board board = random_board(&random);
        assert_true(round < 100000);
        if (oracle_five(&board, 'X', false))
            continue; /* such a game is over */
        for (int point = 0; point < GOMOKU_POINTS; point++) {
            if (board.at[point] != GOMOKU_EMPTY || !test_random_one_in(&random, 4))
                continue;
            enum gomoku_foul foul = gomoku_foul(&board, point);
            if (foul != oracle_foul(&board, point))
                fail_msg("x %d, y %d of %.225s", point % GOMOKU_SIZE, point / GOMOKU_SIZE,
                         board.at);
            seen[foul]++;
        }
    }
    assert_true(seen[GOMOKU_NO_FOUL] > 0);
}

TEST(fives_are_those_of_the_oracle_on_random_boards)
{
    struct test_random random = {test_seed()};
    for (uint64_t round = test_effort(1000); round > 0; round--) {
        struct gomoku_board board = random_board(&random);
        bool black = oracle_five(&board, 'X', false);
        bool black_exact = oracle_five(&board, 'X', true);
        bool white = oracle_five(&board, 'O', false);
        assert_true((gomoku_line_anywhere(GOMOKU_STANDARD, &board).count > 0) == (black || white));
        assert_true((gomoku_line_anywhere(GOMOKU_RENJU, &board).count > 0) ==
                    (black_exact || white));
    }
}

static void expect_line(enum gomoku_rule rule, const struct gomoku_board *board, int through,
                        const int *points, int count)
{
    struct gomoku_line line = gomoku_line_through(rule, board, through);
    assert_int_equal(line.count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(line.point[i], points[i]);
}

TEST(a_winning_line_is_given_with_its_points_ascending)
{
    static const struct {
        int x, y, direction;
        int points[5];
    } rows[] = {
        {0, 0, RIGHT, {0, 1, 2, 3, 4}},
        {10, 14, RIGHT, {220, 221, 222, 223, 224}},
        {14, 10, DOWN, {164, 179, 194, 209, 224}},
        {0, 0, FALLING, {0, 16, 32, 48, 64}},
        {10, 10, FALLING, {160, 176, 192, 208, 224}},
        {0, 14, RISING, {154, 168, 182, 196, 210}},
        {10, 4, RISING, {14, 28, 42, 56, 70}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < 5; k++) {
            struct gomoku_board board = empty_board();
            lay(&board, rows[i].x, rows[i].y, rows[i].direction, "XXXXX");
            expect_line(GOMOKU_RENJU, &board, rows[i].points[k], rows[i].points, 5);
            board.at[rows[i].points[k]] = GOMOKU_EMPTY;
            assert_int_equal(gomoku_judge(GOMOKU_RENJU, &board, GOMOKU_X, rows[i].points[k]),
                             GOMOKU_WINS);
            assert_int_equal(gomoku_line_anywhere(GOMOKU_RENJU, &board).count, 0);
        }
    }
}

TEST(a_row_does_not_go_on_in_the_next_row)
{
    struct gomoku_board board = empty_board();
    lay(&board, 12, 3, RIGHT, "OOO");
    lay(&board, 0, 4, RIGHT, "OO");
    lay(&board, 0, 9, FALLING, "XX");
    lay(&board, 12, 6, FALLING, "XXX");
    assert_int_equal(gomoku_line_anywhere(GOMOKU_STANDARD, &board).count, 0);
    assert_int_equal(gomoku_judge(GOMOKU_STANDARD, &board, GOMOKU_O, gomoku_point(11, 3)),
                     GOMOKU_GOES_ON);
}

TEST(six_win_for_all_but_black_in_renju)
{
    static const int points[] = {48, 49, 50, 51, 52, 53};
    struct gomoku_board board = empty_board();
    lay(&board, 3, 3, RIGHT, "OOO.OO");
    assert_int_equal(gomoku_judge(GOMOKU_RENJU, &board, GOMOKU_O, 51), GOMOKU_WINS);
    assert_int_equal(gomoku_judge(GOMOKU_STANDARD, &board, GOMOKU_O, 51), GOMOKU_WINS);
    board.at[51] = 'O';
    expect_line(GOMOKU_RENJU, &board, 53, points, 6);
    lay(&board, 3, 3, RIGHT, "XXX");
    lay(&board, 7, 3, RIGHT, "XX");
    board.at[51] = GOMOKU_EMPTY;
    assert_int_equal(gomoku_judge(GOMOKU_STANDARD, &board, GOMOKU_X, 51), GOMOKU_WINS);
    assert_int_equal(gomoku_judge(GOMOKU_RENJU, &board, GOMOKU_X, 51), GOMOKU_FOUL);
    board.at[51] = 'X';
    expect_line(GOMOKU_STANDARD, &board, 51, points, 6);
    assert_int_equal(gomoku_line_through(GOMOKU_RENJU, &board, 51).count, 0);
}

/* All points but the last, such that nobody has three in a row. */
static struct gomoku_board nearly_full(int left_empty)
{
    struct gomoku_board board;
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        int x = point % GOMOKU_SIZE;
        int y = point / GOMOKU_SIZE;
        board.at[point] = (x + 2 * y) % 4 < 2 ? 'X' : 'O';
    }
    board.at[left_empty] = GOMOKU_EMPTY;
    return board;
}

TEST(a_full_board_is_drawn)
{
    struct gomoku_board board = nearly_full(224);
    assert_int_equal(gomoku_board_left(&board), 1);
    assert_int_equal(gomoku_judge(GOMOKU_STANDARD, &board, GOMOKU_X, 224), GOMOKU_DRAWN);
    assert_int_equal(gomoku_judge(GOMOKU_RENJU, &board, GOMOKU_O, 224), GOMOKU_DRAWN);
    assert_int_equal(gomoku_judge(GOMOKU_RENJU, &board, GOMOKU_O, 223), GOMOKU_TAKEN);
}

TEST(a_game_in_which_every_point_is_forbidden_to_black_is_drawn)
{
    /* Two points are left. White takes one; the other would be an overline. */
    struct gomoku_board board = nearly_full(0);
    lay(&board, 4, 7, RIGHT, "OXXX.XXO");
    board.at[gomoku_point(8, 7)] = GOMOKU_EMPTY;
    assert_int_equal(gomoku_foul(&board, gomoku_point(8, 7)), GOMOKU_OVERLINE);
    assert_int_equal(gomoku_judge(GOMOKU_RENJU, &board, GOMOKU_O, 0), GOMOKU_DRAWN);
    assert_int_equal(gomoku_judge(GOMOKU_STANDARD, &board, GOMOKU_O, 0), GOMOKU_GOES_ON);
}

TEST(a_taken_point_and_one_off_the_board_are_refused)
{
    struct gomoku_board board = empty_board();
    board.at[7] = 'O';
    static const int points[] = {7, -1, 225, 100000, -100000};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        assert_int_equal(gomoku_judge(GOMOKU_RENJU, &board, GOMOKU_X, points[i]), GOMOKU_TAKEN);
        assert_false(gomoku_legal(GOMOKU_RENJU, &board, GOMOKU_X, points[i]));
    }
}

TEST(a_text_that_is_no_board_is_refused_with_the_place)
{
    struct gomoku_board board;
    struct tocsin_why why;
    char text[GOMOKU_POINTS];
    memset(text, '.', sizeof text);
    text[3] = 'X';
    text[224] = 'O';
    assert_int_equal(gomoku_board_read(text, sizeof text, &board, &why), TOCSIN_OK);
    assert_memory_equal(board.at, text, sizeof text);
    assert_int_equal(gomoku_board_left(&board), 223);
    assert_int_equal(gomoku_board_read(text, 224, &board, &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "board: 224 characters, it must have 225");
    text[16] = 'x';
    assert_int_equal(gomoku_board_read(text, sizeof text, &board, &why), TOCSIN_INVALID);
    assert_string_equal(why.text, "board: 'x' at x 1, y 1, allowed are '.', 'X' and 'O'");
}
