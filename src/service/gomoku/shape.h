/* SPDX-License-Identifier: MIT */
/* shape.h - what does a stone make of the line it lies in?
 *
 * The five points on either side of a stone decide that, so there are 3^10 cases for a line:
 * own stone, other's stone or edge, empty. They are worked out once, from the full lines
 * down: a four is what one more stone makes a five, a three what one more makes a straight
 * four, and so on. What the names mean is in rules.h; but a three of the table is one by its
 * own line alone: whether its way on is forbidden, only rules.h knows.
 *
 * Cost      a look into a table; making the table takes a few milliseconds.
 * Memory    59 049 bytes each.
 * Threads   any, once it is made.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_SHAPE_H
#define TOCSIN_SERVICE_GOMOKU_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

/* From worthless to winning. */
enum gomoku_shape {
    SHAPE_NOTHING, /* no five can hold this stone */
    SHAPE_ONE,
    SHAPE_TWO,           /* with no better way on than a stopped three */
    SHAPE_OPEN_TWO,      /* one more makes it a three */
    SHAPE_STOPPED_THREE, /* one more makes it a four */
    SHAPE_THREE,
    SHAPE_FOUR,
    SHAPE_DOUBLE_FOUR, /* in one line */
    SHAPE_STRAIGHT_FOUR,
    SHAPE_OVERLINE, /* where that is no win */
    SHAPE_FIVE,
    SHAPES,
};

enum {
    SHAPE_REACH = 5, /* points looked at on either side */
    SHAPE_NEIGHBOURS = 2 * SHAPE_REACH,
    SHAPE_CASES = 59049, /* 3^10 */
};

struct gomoku_shapes {
    uint16_t power[1 << SHAPE_NEIGHBOURS]; /* the number in base 3 with these digits 1 */
    uint8_t of[SHAPE_CASES];
};

/* With `exact`, six or more in a row are no win (black in renju). */
void gomoku_shapes_init(struct gomoku_shapes *shapes, bool exact);

/* `own` and `stopped` have a bit for each neighbour, the lowest for the furthest before the
 * stone; stopped are the other's stones and what is off the board. */
static inline enum gomoku_shape gomoku_shape_of(const struct gomoku_shapes *shapes, uint32_t own,
                                                uint32_t stopped)
{
    return (enum gomoku_shape)shapes->of[shapes->power[own] + 2 * shapes->power[stopped]];
}

#endif
