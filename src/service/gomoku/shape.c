/* SPDX-License-Identifier: MIT */
#include "service/gomoku/shape.h"

#include <assert.h>

enum { EMPTY, OWN, FIVE = 5, CELLS = SHAPE_NEIGHBOURS + 1, CENTRE = SHAPE_REACH };

static int power_of_three(int exponent)
{
    int power = 1;
    while (exponent-- > 0)
        power *= 3;
    return power;
}

/* The digits of a case, with the stone itself in the middle. */
static void spread(int number, uint8_t cells[CELLS])
{
    for (int i = 0; i < CELLS; i++) {
        cells[i] = OWN;
        if (i == CENTRE)
            continue;
        cells[i] = (uint8_t)(number % 3);
        number /= 3;
    }
}

static int row_length(const uint8_t cells[CELLS])
{
    int first = CENTRE;
    int last = CENTRE;
    while (first > 0 && cells[first - 1] == OWN)
        first--;
    while (last < CELLS - 1 && cells[last + 1] == OWN)
        last++;
    return last - first + 1;
}

/* Of the shapes that one more stone can make: how many fives, and the best that is none. Such
 * a case has a greater number than the one it comes from. */
struct next {
    int fives;
    enum gomoku_shape best;
    bool has_straight_four;
    bool has_three;
};

static struct next look_ahead(const struct gomoku_shapes *shapes, int number,
                              const uint8_t cells[CELLS])
{
    struct next next = {.best = SHAPE_NOTHING};
    for (int i = 0; i < CELLS; i++) {
        if (cells[i] != EMPTY)
            continue;
        int digit = i < CENTRE ? i : i - 1;
        enum gomoku_shape shape = (enum gomoku_shape)shapes->of[number + power_of_three(digit)];
        next.fives += shape == SHAPE_FIVE;
        next.has_straight_four |= shape == SHAPE_STRAIGHT_FOUR;
        next.has_three |= shape == SHAPE_THREE;
        if (shape != SHAPE_FIVE && shape != SHAPE_OVERLINE && shape > next.best)
            next.best = shape;
    }
    return next;
}

static enum gomoku_shape classify(const struct gomoku_shapes *shapes, int number, bool exact)
{
    uint8_t cells[CELLS];
    spread(number, cells);
    int length = row_length(cells);
    if (length >= FIVE)
        return exact && length > FIVE ? SHAPE_OVERLINE : SHAPE_FIVE;
    struct next next = look_ahead(shapes, number, cells);
    if (next.fives >= 2)
        return length == FIVE - 1 ? SHAPE_STRAIGHT_FOUR : SHAPE_DOUBLE_FOUR;
    if (next.fives == 1)
        return SHAPE_FOUR;
    /* Two fours in one line are as good as a straight one to those who may make them. */
    if (next.has_straight_four || (!exact && next.best == SHAPE_DOUBLE_FOUR))
        return SHAPE_THREE;
    if (next.best >= SHAPE_FOUR)
        return SHAPE_STOPPED_THREE;
    if (next.has_three)
        return SHAPE_OPEN_TWO;
    if (next.best >= SHAPE_STOPPED_THREE)
        return SHAPE_TWO;
    return next.best >= SHAPE_TWO ? SHAPE_ONE : SHAPE_NOTHING;
}

void gomoku_shapes_init(struct gomoku_shapes *shapes, bool exact)
{
    assert(power_of_three(SHAPE_NEIGHBOURS) == SHAPE_CASES);
    for (uint32_t bits = 0; bits < 1u << SHAPE_NEIGHBOURS; bits++) {
        int power = 0;
        for (int digit = 0; digit < SHAPE_NEIGHBOURS; digit++)
            power += bits >> digit & 1 ? power_of_three(digit) : 0;
        shapes->power[bits] = (uint16_t)power;
    }
    for (int number = SHAPE_CASES - 1; number >= 0; number--)
        shapes->of[number] = (uint8_t)classify(shapes, number, exact);
}
