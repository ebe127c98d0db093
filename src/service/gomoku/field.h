/* SPDX-License-Identifier: MIT */
/* field.h - what would each point be worth to either side?
 *
 * A board for a program that tries out moves: beside the stones it keeps, for each side and
 * empty point, what a stone there would make (shape.h) in the four lines, what that comes to,
 * and how many points there are of each kind. Putting a stone and taking it back look only at
 * the points within reach of it.
 *
 * Order     field_put and field_take nest: the last stone put is the first taken.
 * Cost      about half a microsecond for a put or a take.
 * Memory    some kilobytes; nothing is allocated.
 * Threads   one at a time.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_FIELD_H
#define TOCSIN_SERVICE_GOMOKU_FIELD_H

#include <stdint.h>

#include "service/gomoku/rules.h"
#include "service/gomoku/shape.h"

/* What a stone on a point would be, all lines together. */
enum field_level {
    LEVEL_NOTHING,
    LEVEL_THREE,
    LEVEL_DOUBLE_THREE,
    LEVEL_FOUR,
    LEVEL_FOUR_THREE, /* a four and a three at once */
    LEVEL_WINNING,    /* a straight four, or two fours: no move but a five stops it */
    LEVEL_FIVE,
    LEVELS,
};

enum { FIELD_LINES = 2 * GOMOKU_SIZE - 1, FIELD_NEAR = 2 };

/* Made once and shared by any number of fields. */
struct field_tables {
    struct gomoku_shapes five_or_more;
    struct gomoku_shapes exactly_five;
    uint64_t key[2][GOMOKU_POINTS];
    uint32_t walls[GOMOKU_DIRECTIONS][FIELD_LINES];
    uint8_t line[GOMOKU_DIRECTIONS][GOMOKU_POINTS];
};

struct field {
    const struct field_tables *tables;
    const struct gomoku_shapes *shapes[2]; /* of each side, by the rule */
    enum gomoku_rule rule;
    struct gomoku_board board;
    int left;
    uint64_t hash; /* of the stones */
    int32_t worth[2];
    int16_t count[2][LEVELS];
    uint8_t level[2][GOMOKU_POINTS];
    int16_t score[2][GOMOKU_POINTS];
    uint8_t shape[2][GOMOKU_POINTS][GOMOKU_DIRECTIONS];
    int32_t tally[2][GOMOKU_POINTS]; /* of shapes, see field.c */
    uint8_t suspect[GOMOKU_POINTS];  /* may be forbidden to black */
    uint8_t near[GOMOKU_POINTS];     /* stones within FIELD_NEAR steps */
    uint32_t stones[2][GOMOKU_DIRECTIONS][FIELD_LINES];
};

void field_tables_init(struct field_tables *tables);

/* The tables must outlive the field. */
void field_init(struct field *field, const struct field_tables *tables, enum gomoku_rule rule,
                const struct gomoku_board *board);

/* The point must be empty; whether it is legal is not asked. */
void field_put(struct field *field, enum gomoku_side side, int point);
void field_take(struct field *field, enum gomoku_side side, int point);

/* By the rules: the exact ones, of which the levels are only a guess when black is suspect. */
bool field_legal(const struct field *field, enum gomoku_side side, int point);

/* The first legal point of that level from `from` on, or GOMOKU_NOWHERE. */
int field_find(const struct field *field, enum gomoku_side side, enum field_level level, int from);

#endif
