/* SPDX-License-Identifier: MIT */
/* The ai plays by the rules, sees what a player sees, and wins what can be won. Efforts are in
 * stones tried, so that a run does not depend on the machine; bench/gomoku.c measures by time. */
#include "service/gomoku/ai.h"

#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "service/gomoku/threat.h"
#include "support/gomoku_cases.h"
#include "support/gomoku_players.h"

static struct gomoku_ai *new_ai(void)
{
    struct gomoku_ai *ai = NULL;
    assert_int_equal(gomoku_ai_create(&ai), TOCSIN_OK);
    return ai;
}

static int choose(struct gomoku_ai *ai, enum gomoku_rule rule, const struct gomoku_board *board,
                  enum gomoku_side side, uint64_t nodes)
{
    struct gomoku_effort effort = {.nodes = nodes};
    int point = GOMOKU_NOWHERE;
    assert_int_equal(gomoku_ai_choose(ai, rule, board, side, &effort, 1, &point), TOCSIN_OK);
    return point;
}

/* A board from rows of art; rows that are not given are empty. */
static struct gomoku_board drawn(const char *const *rows)
{
    struct gomoku_board board;
    gomoku_board_init(&board);
    for (size_t y = 0; rows[y] != NULL; y++)
        memcpy(board.at + y * GOMOKU_SIZE, rows[y], strlen(rows[y]));
    return board;
}

TEST(the_first_stone_goes_into_the_centre)
{
    struct gomoku_ai *ai = new_ai();
    struct gomoku_board board;
    gomoku_board_init(&board);
    assert_int_equal(choose(ai, GOMOKU_RENJU, &board, GOMOKU_X, 1), GOMOKU_CENTRE);
    assert_int_equal(choose(ai, GOMOKU_STANDARD, &board, GOMOKU_X, 1), GOMOKU_CENTRE);
    gomoku_ai_destroy(ai);
}

TEST(a_win_in_one_is_taken_before_a_loss_in_one_is_stopped)
{
    static const char *const rows[] = {
        "...............", "...............", "...............",
        "...............", "...............", "...OOOO........",
        "...............", "...XXXX........", NULL,
    };
    struct gomoku_ai *ai = new_ai();
    struct gomoku_board board = drawn(rows);
    for (int rule = GOMOKU_STANDARD; rule <= GOMOKU_RENJU; rule++) {
        int black = choose(ai, (enum gomoku_rule)rule, &board, GOMOKU_X, 500);
        int white = choose(ai, (enum gomoku_rule)rule, &board, GOMOKU_O, 500);
        assert_true(black == gomoku_point(2, 7) || black == gomoku_point(7, 7));
        assert_true(white == gomoku_point(2, 5) || white == gomoku_point(7, 5));
    }
    gomoku_ai_destroy(ai);
}

TEST(a_four_is_stopped_and_so_is_a_three)
{
    static const char *const four[] = {
        "...............", "...............", "...............",
        "...............", "...............", "..XOOOO........",
        "....X..........", ".....X.........", NULL,
    };
    static const char *const three[] = {
        "...............", "...............", "...............",
        "...............", "...............", "....OOO........",
        "...............", ".....X.X.......", NULL,
    };
    struct gomoku_ai *ai = new_ai();
    struct gomoku_board board = drawn(four);
    assert_int_equal(choose(ai, GOMOKU_RENJU, &board, GOMOKU_X, 500), gomoku_point(7, 5));
    board = drawn(three);
    for (uint64_t nodes = 1; nodes <= 10000; nodes *= 10) {
        int point = choose(ai, GOMOKU_RENJU, &board, GOMOKU_X, nodes);
        assert_true(point / GOMOKU_SIZE == 5 && point % GOMOKU_SIZE >= 2 &&
                    point % GOMOKU_SIZE <= 8);
    }
    gomoku_ai_destroy(ai);
}

TEST(white_wins_by_a_point_that_is_forbidden_to_black)
{
    /* The four can only be stopped where black would make an overline. */
    static const char *const rows[] = {
        "...............",
        "...............",
        "......X........",
        "......X........",
        "......X........",
        "...............",
        "......X........",
        "......X........",
        "...............",
        "...............",
        NULL,
    };
    struct gomoku_ai *ai = new_ai();
    struct gomoku_board board = drawn(rows);
    memcpy(board.at + 5 * GOMOKU_SIZE, "..XOOO.........", GOMOKU_SIZE);
    board.at[gomoku_point(8, 5)] = 'O';
    board.at[gomoku_point(9, 5)] = 'X';
    assert_int_equal(gomoku_foul(&board, gomoku_point(6, 5)), GOMOKU_OVERLINE);
    assert_int_equal(choose(ai, GOMOKU_RENJU, &board, GOMOKU_O, 2000), gomoku_point(7, 5));
    gomoku_ai_destroy(ai);
}

/* From game to game, to positions that play can lead to. */
static bool random_position(enum gomoku_rule rule, struct test_random *random,
                            struct gomoku_board *board, enum gomoku_side *side)
{
    gomoku_board_init(board);
    *side = GOMOKU_X;
    uint64_t plies = test_random_below(random, test_random_one_in(random, 4) ? 225 : 60);
    bool is_greedy = test_random_one_in(random, 2);
    for (uint64_t ply = 0; ply < plies; ply++) {
        int point = is_greedy && !test_random_one_in(random, 5)
                        ? gomoku_greedy_move(rule, board, *side, random)
                        : gomoku_random_move(rule, board, *side, random);
        if (point == GOMOKU_NOWHERE || gomoku_judge(rule, board, *side, point) != GOMOKU_GOES_ON)
            return false;
        board->at[point] = gomoku_stone(*side);
        *side = gomoku_other(*side);
    }
    return true;
}

TEST(no_point_is_ever_illegal)
{
    struct test_random random = {test_seed()};
    struct gomoku_ai *ai = new_ai();
    for (uint64_t round = test_effort(600); round > 0; round--) {
        enum gomoku_rule rule = (enum gomoku_rule)(round % 2);
        struct gomoku_board board;
        enum gomoku_side side;
        if (!random_position(rule, &random, &board, &side))
            continue;
        struct gomoku_effort effort = {.nodes = 1 + test_random_below(&random, 3000)};
        int point = GOMOKU_NOWHERE;
        uint64_t seed = test_random_next(&random);
        enum tocsin_status status = gomoku_ai_choose(ai, rule, &board, side, &effort, seed, &point);
        assert_int_equal(status, TOCSIN_OK);
        if (!gomoku_legal(rule, &board, side, point))
            fail_msg("point %d, side %d of %.225s", point, (int)side, board.at);
        int again = GOMOKU_NOWHERE;
        (void)gomoku_ai_choose(ai, rule, &board, side, &effort, seed, &again);
        assert_int_equal(point, again); /* the same, when asked the same */
    }
    gomoku_ai_destroy(ai);
}

TEST(where_every_point_is_forbidden_there_is_none_to_choose)
{
    struct gomoku_board board;
    for (int point = 0; point < GOMOKU_POINTS; point++)
        board.at[point] = (point % GOMOKU_SIZE + 2 * (point / GOMOKU_SIZE)) % 4 < 2 ? 'X' : 'O';
    memcpy(board.at + 7 * GOMOKU_SIZE + 4, "OXXX.XXO", 8);
    struct gomoku_ai *ai = new_ai();
    struct gomoku_effort effort = {.nodes = 100};
    int point = 77;
    assert_int_equal(gomoku_ai_choose(ai, GOMOKU_RENJU, &board, GOMOKU_X, &effort, 1, &point),
                     TOCSIN_NONE);
    assert_int_equal(point, 77);
    assert_int_equal(gomoku_ai_choose(ai, GOMOKU_RENJU, &board, GOMOKU_O, &effort, 1, &point),
                     TOCSIN_OK);
    assert_int_equal(point, gomoku_point(8, 7));
    gomoku_ai_destroy(ai);
}

/* Without these limits it would think for hours. */
TEST(thinking_ends_at_once_when_cancelled_and_at_the_deadline)
{
    struct gomoku_ai *ai = new_ai();
    struct gomoku_board board;
    gomoku_board_init(&board);
    board.at[GOMOKU_CENTRE] = 'X';
    atomic_bool cancel = true;
    struct gomoku_effort effort = {.nodes = UINT64_MAX, .cancel = &cancel};
    int point = GOMOKU_NOWHERE;
    assert_int_equal(gomoku_ai_choose(ai, GOMOKU_RENJU, &board, GOMOKU_O, &effort, 1, &point),
                     TOCSIN_OK);
    assert_true(gomoku_legal(GOMOKU_RENJU, &board, GOMOKU_O, point));

    struct clock_manual manual = {.elapsed = {1000}};
    struct clock clock = clock_of_manual(&manual);
    effort = (struct gomoku_effort){.clock = &clock, .until = {1000}};
    assert_int_equal(gomoku_ai_choose(ai, GOMOKU_RENJU, &board, GOMOKU_O, &effort, 1, &point),
                     TOCSIN_OK);
    assert_true(gomoku_legal(GOMOKU_RENJU, &board, GOMOKU_O, point));
    gomoku_ai_destroy(ai);
}

static bool fields_agree(const struct field *a, const struct field *b)
{
    bool same = a->left == b->left && a->hash == b->hash &&
                memcmp(a->worth, b->worth, sizeof a->worth) == 0 &&
                memcmp(a->count, b->count, sizeof a->count) == 0 &&
                memcmp(a->near, b->near, sizeof a->near) == 0 &&
                memcmp(a->stones, b->stones, sizeof a->stones) == 0;
    for (int point = 0; point < GOMOKU_POINTS && same; point++) {
        if (a->board.at[point] != GOMOKU_EMPTY)
            continue; /* what a taken point was worth is nobody's business */
        for (int side = 0; side < 2; side++)
            same &= a->level[side][point] == b->level[side][point] &&
                    a->score[side][point] == b->score[side][point];
        same &= a->suspect[point] == b->suspect[point];
    }
    return same;
}

/* What the levels say, by the rules alone. */
static void check_level(const struct field *field, enum gomoku_side side, int point)
{
    enum field_level level = (enum field_level)field->level[side][point];
    struct gomoku_board board = field->board;
    bool wins = gomoku_judge(field->rule, &board, side, point) == GOMOKU_WINS;
    assert_true((level == LEVEL_FIVE) == wins);
    bool is_strict = field->rule == GOMOKU_RENJU && side == GOMOKU_X;
    if (is_strict)
        assert_true(field_legal(field, side, point) ==
                    (gomoku_foul(&board, point) == GOMOKU_NO_FOUL));
    /* Where a five stands already, one more way to it is not seen by counting. */
    if (wins || field->count[side][LEVEL_FIVE] > 0 || !field_legal(field, side, point))
        return;
    board.at[point] = gomoku_stone(side);
    int fives = 0;
    for (int next = 0; next < GOMOKU_POINTS; next++)
        fives += gomoku_judge(field->rule, &board, side, next) == GOMOKU_WINS;
    assert_true((level >= LEVEL_FOUR) == (fives > 0));
    if (level == LEVEL_WINNING)
        assert_true(fives > 1);
}

TEST(a_field_knows_after_any_puts_and_takes_what_a_fresh_one_knows)
{
    struct test_random random = {test_seed()};
    struct field_tables *tables = malloc(sizeof *tables);
    struct field *field = malloc(2 * sizeof *field);
    assert_non_null(tables);
    assert_non_null(field);
    field_tables_init(tables);
    for (uint64_t round = test_effort(100); round > 0; round--) {
        enum gomoku_rule rule = (enum gomoku_rule)(round % 2);
        struct gomoku_board board;
        enum gomoku_side side;
        if (!random_position(rule, &random, &board, &side))
            continue;
        field_init(&field[0], tables, rule, &board);
        int put[8];
        int count = 0;
        while (count < 8 && field[0].left > 0) {
            put[count] = gomoku_random_move(GOMOKU_STANDARD, &field[0].board, side, &random);
            field_put(&field[0], (enum gomoku_side)(count % 2), put[count]);
            count++;
            field_init(&field[1], tables, rule, &field[0].board);
            assert_true(fields_agree(&field[0], &field[1]));
        }
        while (count-- > 0)
            field_take(&field[0], (enum gomoku_side)(count % 2), put[count]);
        field_init(&field[1], tables, rule, &board);
        assert_true(fields_agree(&field[0], &field[1]));
        for (int point = 0; point < GOMOKU_POINTS; point++) {
            if (board.at[point] == GOMOKU_EMPTY && test_random_one_in(&random, 8))
                check_level(&field[0], (enum gomoku_side)(point % 2), point);
        }
    }
    free(field);
    free(tables);
}

enum opponent { RANDOM, GREEDY };

/* Does the ai win as this side? */
static bool ai_wins(struct gomoku_ai *ai, enum gomoku_rule rule, enum gomoku_side side,
                    enum opponent opponent, uint64_t nodes, struct test_random *random)
{
    struct gomoku_board board;
    gomoku_board_init(&board);
    for (enum gomoku_side mover = GOMOKU_X;; mover = gomoku_other(mover)) {
        int point = mover == side        ? choose(ai, rule, &board, mover, nodes)
                    : opponent == GREEDY ? gomoku_greedy_move(rule, &board, mover, random)
                                         : gomoku_random_move(rule, &board, mover, random);
        enum gomoku_verdict verdict = gomoku_judge(rule, &board, mover, point);
        assert_true(verdict != GOMOKU_TAKEN && verdict != GOMOKU_FOUL);
        if (verdict != GOMOKU_GOES_ON)
            return verdict == GOMOKU_WINS && mover == side;
        board.at[point] = gomoku_stone(mover);
    }
}

TEST(random_and_greedy_play_lose_from_either_side)
{
    struct test_random random = {7};
    struct gomoku_ai *ai = new_ai();
    for (int i = 0; i < 4; i++) {
        enum gomoku_rule rule = (enum gomoku_rule)(i % 2);
        enum gomoku_side side = (enum gomoku_side)(i / 2);
        assert_true(ai_wins(ai, rule, side, RANDOM, 1000, &random));
        assert_true(ai_wins(ai, rule, side, GREEDY, 4000, &random));
    }
    gomoku_ai_destroy(ai);
}

/* Does the side to move win within its moves against greedy defence? */
static bool solved(struct gomoku_ai *ai, const struct gomoku_case *puzzle, uint64_t nodes)
{
    struct test_random random = {3};
    struct gomoku_board board = gomoku_case_board(puzzle);
    for (int moves = 1; moves <= puzzle->moves; moves++) {
        int point = choose(ai, puzzle->rule, &board, puzzle->side, nodes);
        enum gomoku_verdict verdict = gomoku_judge(puzzle->rule, &board, puzzle->side, point);
        if (verdict != GOMOKU_GOES_ON)
            return verdict == GOMOKU_WINS;
        board.at[point] = gomoku_stone(puzzle->side);
        enum gomoku_side other = gomoku_other(puzzle->side);
        point = gomoku_greedy_move(puzzle->rule, &board, other, &random);
        if (gomoku_judge(puzzle->rule, &board, other, point) != GOMOKU_GOES_ON)
            return false;
        board.at[point] = gomoku_stone(other);
    }
    return false;
}

TEST(most_puzzles_are_solved_with_little_effort)
{
    static struct gomoku_cases puzzles;
    assert_true(gomoku_cases_load(TEST_DATA "/gomoku-puzzles.txt", &puzzles));
    assert_int_equal(puzzles.count, 25);
    struct gomoku_ai *ai = new_ai();
    int count = 0;
    for (size_t i = 0; i < puzzles.count; i++)
        count += solved(ai, &puzzles.at[i], 10000);
    gomoku_ai_destroy(ai);
    if (count < 20)
        fail_msg("%d of 25 solved", count);
}

/* A puzzle's win, proved by the rules alone: the attacker plays what the ai's search for threats
 * says, whatever that is worth, against every legal answer. */
struct prover {
    struct think *think;
    struct field_tables *tables;
    struct gomoku_effort effort;
    const struct gomoku_case *puzzle;
    int depth;
};

static int suggestion(struct prover *prover, const struct gomoku_board *board)
{
    struct think *think = prover->think;
    field_init(&think->field, prover->tables, prover->puzzle->rule, board);
    think->effort = &prover->effort;
    think->nodes = 0;
    think_allow(think, 100);
    int point = threat_by_fours(think, prover->puzzle->side, 100);
    return point != GOMOKU_NOWHERE ? point
                                   : threat_by_threes(think, prover->puzzle->side, prover->depth);
}

static bool is_won(struct prover *prover, struct gomoku_board *board, int moves);

static bool beats_every_answer(struct prover *prover, struct gomoku_board *board, int moves)
{
    const struct gomoku_case *puzzle = prover->puzzle;
    enum gomoku_side other = gomoku_other(puzzle->side);
    int five = GOMOKU_NOWHERE;
    int fives = 0;
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if (gomoku_judge(puzzle->rule, board, puzzle->side, point) == GOMOKU_WINS) {
            five = point;
            fives++;
        }
    }
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if (!gomoku_legal(puzzle->rule, board, other, point))
            continue;
        if (gomoku_judge(puzzle->rule, board, other, point) != GOMOKU_GOES_ON)
            return false;
        if (fives > 1 || (fives == 1 && point != five))
            continue; /* there is a five that this does not stop */
        board->at[point] = gomoku_stone(other);
        bool still = is_won(prover, board, moves);
        board->at[point] = GOMOKU_EMPTY;
        if (!still)
            return false;
    }
    return true;
}

static bool is_won(struct prover *prover, struct gomoku_board *board, int moves)
{
    const struct gomoku_case *puzzle = prover->puzzle;
    int point = moves == 0 ? GOMOKU_NOWHERE : suggestion(prover, board);
    enum gomoku_verdict verdict = gomoku_judge(puzzle->rule, board, puzzle->side, point);
    if (verdict != GOMOKU_GOES_ON)
        return verdict == GOMOKU_WINS;
    board->at[point] = gomoku_stone(puzzle->side);
    bool won = beats_every_answer(prover, board, moves - 1);
    board->at[point] = GOMOKU_EMPTY;
    return won;
}

TEST(puzzles_are_won_against_every_legal_answer)
{
    /* Under a sanitizer only those by fours; the longest with TOCSIN_EFFORT=10. */
    static const struct {
        const char *name;
        uint64_t effort; /* of test_effort(1000): from which on */
    } rows[] = {
        {"renjuportal.com puzzle 3040", 0},
        {"renjuportal.com puzzle 2990", 0},
        {"Shadows and Fog", 0},
        {"quintet: fours, past", 0},
        {"quintet: fours, one of", 0},
        {"Okabe 2:", 1000},
        {"quintet: white, threes", 1000},
        {"Okabe 63:", 1000},
        {"Okabe 68:", 1000},
        {"quintet: white, two points", 1000},
        {"mintaka", 0},
    };
    static struct gomoku_cases puzzles;
    assert_true(gomoku_cases_load(TEST_DATA "/gomoku-puzzles.txt", &puzzles));
    struct prover prover = {.effort = {.nodes = 400000}, .depth = 8};
    prover.think = calloc(1, sizeof *prover.think);
    prover.tables = malloc(sizeof *prover.tables);
    assert_non_null(prover.think);
    assert_non_null(prover.tables);
    field_tables_init(prover.tables);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < puzzles.count && test_effort(1000) >= rows[i].effort; k++) {
            if (strncmp(puzzles.at[k].name, rows[i].name, strlen(rows[i].name)) != 0)
                continue;
            struct gomoku_board board = gomoku_case_board(&puzzles.at[k]);
            prover.puzzle = &puzzles.at[k];
            memset(prover.think->threats, 0, sizeof prover.think->threats);
            if (!is_won(&prover, &board, puzzles.at[k].moves + 10))
                fail_msg("not proved: %s", puzzles.at[k].name);
        }
    }
    free(prover.tables);
    free(prover.think);
}
