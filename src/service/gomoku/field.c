/* SPDX-License-Identifier: MIT */
#include "service/gomoku/field.h"

#include <assert.h>
#include <string.h>

/* What a shape adds to the worth of a point, and so of a side. */
static const int16_t shape_score[SHAPES] = {
    [SHAPE_NOTHING] = 0,
    [SHAPE_ONE] = 1,
    [SHAPE_TWO] = 4,
    [SHAPE_OPEN_TWO] = 14,
    [SHAPE_STOPPED_THREE] = 16,
    [SHAPE_THREE] = 60,
    [SHAPE_FOUR] = 70,
    [SHAPE_DOUBLE_FOUR] = 200,
    [SHAPE_STRAIGHT_FOUR] = 300,
    [SHAPE_OVERLINE] = 0,
    [SHAPE_FIVE] = 1000,
};

/* Which bit of its line a point is: x for all but columns. Bits have room for SHAPE_REACH
 * walls before the first. */
static int bit_of(int direction, int point)
{
    return SHAPE_REACH + (direction == 1 ? point / GOMOKU_SIZE : point % GOMOKU_SIZE);
}

static int line_of(int direction, int point)
{
    int x = point % GOMOKU_SIZE;
    int y = point / GOMOKU_SIZE;
    switch (direction) {
    case 0:
        return y;
    case 1:
        return x;
    case 2:
        return x - y + GOMOKU_SIZE - 1;
    default:
        return x + y;
    }
}

static uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void field_tables_init(struct field_tables *tables)
{
    gomoku_shapes_init(&tables->five_or_more, false);
    gomoku_shapes_init(&tables->exactly_five, true);
    memset(tables->walls, 0xff, sizeof tables->walls);
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        for (uint64_t side = 0; side < 2; side++)
            tables->key[side][point] =
                mixed(((uint64_t)point * 2 + side + 1) * UINT64_C(0x9e3779b97f4a7c15));
        for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++) {
            int line = line_of(direction, point);
            tables->line[direction][point] = (uint8_t)line;
            tables->walls[direction][line] &= ~(UINT32_C(1) << bit_of(direction, point));
        }
    }
}

/* The ten neighbours of a bit, without the bit itself. */
static uint32_t around(uint32_t line, int bit)
{
    uint32_t window = line >> (bit - SHAPE_REACH);
    return (window & 0x1f) | (window >> 1 & 0x3e0);
}

/* How often the shapes that matter come up in the four lines of a point: a number of 4 bits
 * for each, so that a change of one line is one addition. */
enum {
    TALLY_THREE = 1 << 0,
    TALLY_FOUR = 1 << 4,
    TALLY_STRAIGHT = 1 << 8,
    TALLY_OVERLINE = 1 << 12,
    TALLY_FIVE = 1 << 16,
    TALLY_ONE = 15, /* times any of these: all bits of it */
};

static const int32_t shape_tally[SHAPES] = {
    [SHAPE_THREE] = TALLY_THREE,          [SHAPE_FOUR] = TALLY_FOUR,
    [SHAPE_DOUBLE_FOUR] = 2 * TALLY_FOUR, [SHAPE_STRAIGHT_FOUR] = TALLY_FOUR + TALLY_STRAIGHT,
    [SHAPE_OVERLINE] = TALLY_OVERLINE,    [SHAPE_FIVE] = TALLY_FIVE,
};

static enum field_level level_of(int32_t tally)
{
    if (tally >= TALLY_FIVE)
        return LEVEL_FIVE;
    int32_t fours = tally & TALLY_ONE * TALLY_FOUR;
    int32_t threes = tally & TALLY_ONE * TALLY_THREE;
    if (fours > TALLY_FOUR || (tally & TALLY_ONE * TALLY_STRAIGHT) != 0)
        return LEVEL_WINNING;
    if (fours > 0)
        return threes > 0 ? LEVEL_FOUR_THREE : LEVEL_FOUR;
    if (threes > TALLY_THREE)
        return LEVEL_DOUBLE_THREE;
    return threes > 0 ? LEVEL_THREE : LEVEL_NOTHING;
}

static bool is_suspect(int32_t tally)
{
    return tally < TALLY_FIVE &&
           (tally >= TALLY_OVERLINE || (tally & TALLY_ONE * TALLY_FOUR) > TALLY_FOUR ||
            (tally & TALLY_ONE * TALLY_THREE) > TALLY_THREE);
}

static void grade(struct field *field, int side, int point)
{
    int32_t tally = field->tally[side][point];
    enum field_level level = level_of(tally);
    field->count[side][field->level[side][point]]--;
    field->count[side][level]++;
    field->level[side][point] = (uint8_t)level;
    if (side == GOMOKU_X)
        field->suspect[point] = is_suspect(tally);
}

/* What a stone of this side would make in one line of this empty point. */
static void reshape(struct field *field, int side, int point, int direction, int bit)
{
    int line = field->tables->line[direction][point];
    uint32_t own = field->stones[side][direction][line];
    uint32_t stopped =
        field->stones[1 - side][direction][line] | field->tables->walls[direction][line];
    uint8_t shape =
        (uint8_t)gomoku_shape_of(field->shapes[side], around(own, bit), around(stopped, bit));
    uint8_t *kept = &field->shape[side][point][direction];
    if (shape == *kept)
        return;
    int change = shape_score[shape] - shape_score[*kept];
    field->score[side][point] = (int16_t)(field->score[side][point] + change);
    field->worth[side] += change;
    int32_t regrade = shape_tally[shape] - shape_tally[*kept];
    *kept = shape;
    if (regrade == 0)
        return;
    field->tally[side][point] += regrade;
    grade(field, side, point);
}

/* From a point whose stone has changed, in one direction as far as it matters to a side: up to
 * the first stone that stops it, and where only five in a row count, one point further for
 * overlines. */
static void reshape_towards(struct field *field, int side, int point, int direction, int sign)
{
    static const int step[GOMOKU_DIRECTIONS] = {1, GOMOKU_SIZE, GOMOKU_SIZE + 1, 1 - GOMOKU_SIZE};
    int line = field->tables->line[direction][point];
    uint32_t stopped =
        field->stones[1 - side][direction][line] | field->tables->walls[direction][line];
    uint32_t own = field->stones[side][direction][line];
    bool is_exact = field->shapes[side] == &field->tables->exactly_five;
    int reach = is_exact ? SHAPE_REACH : SHAPE_REACH - 1;
    int bit = bit_of(direction, point);
    int at = point;
    for (int i = 0; i < reach; i++) {
        bit += sign;
        at += sign * step[direction];
        if (stopped >> bit & 1)
            return;
        if (!(own >> bit & 1))
            reshape(field, side, at, direction, bit);
    }
}

static void reshape_around(struct field *field, int point)
{
    for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++) {
        for (int side = 0; side < 2; side++) {
            reshape_towards(field, side, point, direction, -1);
            reshape_towards(field, side, point, direction, +1);
        }
    }
}

/* A point with a stone counts for neither side. */
static void count_point(struct field *field, int point, int sign)
{
    for (int side = 0; side < 2; side++) {
        field->worth[side] += sign * field->score[side][point];
        int16_t *count = &field->count[side][field->level[side][point]];
        *count = (int16_t)(*count + sign);
    }
}

static void flip(struct field *field, enum gomoku_side side, int point)
{
    for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++)
        field->stones[side][direction][field->tables->line[direction][point]] ^=
            UINT32_C(1) << bit_of(direction, point);
    field->hash ^= field->tables->key[side][point];
}

static void count_near(struct field *field, int point, int sign)
{
    int x = point % GOMOKU_SIZE;
    int y = point / GOMOKU_SIZE;
    for (int dy = -FIELD_NEAR; dy <= FIELD_NEAR; dy++) {
        for (int dx = -FIELD_NEAR; dx <= FIELD_NEAR; dx++) {
            int at = gomoku_point(x + dx, y + dy);
            if (at != GOMOKU_NOWHERE)
                field->near[at] = (uint8_t)(field->near[at] + sign);
        }
    }
}

void field_put(struct field *field, enum gomoku_side side, int point)
{
    assert(field->board.at[point] == GOMOKU_EMPTY);
    count_point(field, point, -1);
    field->board.at[point] = gomoku_stone(side);
    field->left--;
    flip(field, side, point);
    count_near(field, point, +1);
    reshape_around(field, point);
}

void field_take(struct field *field, enum gomoku_side side, int point)
{
    assert(field->board.at[point] == gomoku_stone(side));
    field->board.at[point] = GOMOKU_EMPTY;
    field->left++;
    flip(field, side, point);
    count_near(field, point, -1);
    /* Its own shapes are those of before: what was put after it has been taken. */
    count_point(field, point, +1);
    reshape_around(field, point);
}

void field_init(struct field *field, const struct field_tables *tables, enum gomoku_rule rule,
                const struct gomoku_board *board)
{
    memset(field, 0, sizeof *field);
    field->tables = tables;
    field->rule = rule;
    field->shapes[GOMOKU_X] = rule == GOMOKU_RENJU ? &tables->exactly_five : &tables->five_or_more;
    field->shapes[GOMOKU_O] = &tables->five_or_more;
    gomoku_board_init(&field->board);
    field->left = GOMOKU_POINTS;
    field->count[0][LEVEL_NOTHING] = GOMOKU_POINTS;
    field->count[1][LEVEL_NOTHING] = GOMOKU_POINTS;
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++) {
            reshape(field, GOMOKU_X, point, direction, bit_of(direction, point));
            reshape(field, GOMOKU_O, point, direction, bit_of(direction, point));
        }
    }
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if (board->at[point] != GOMOKU_EMPTY)
            field_put(field, board->at[point] == 'X' ? GOMOKU_X : GOMOKU_O, point);
    }
}

bool field_legal(const struct field *field, enum gomoku_side side, int point)
{
    if (field->rule != GOMOKU_RENJU || side != GOMOKU_X || !field->suspect[point])
        return true;
    return gomoku_foul(&field->board, point) == GOMOKU_NO_FOUL;
}

int field_find(const struct field *field, enum gomoku_side side, enum field_level level, int from)
{
    if (field->count[side][level] == 0)
        return GOMOKU_NOWHERE;
    for (int point = from; point < GOMOKU_POINTS; point++) {
        if (field->level[side][point] == level && field->board.at[point] == GOMOKU_EMPTY &&
            field_legal(field, side, point))
            return point;
    }
    return GOMOKU_NOWHERE;
}
