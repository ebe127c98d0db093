/* SPDX-License-Identifier: MIT */
/* think.h - what do the searches of one move share, and when must they end?
 *
 * The field they try stones on, what they have found out about positions, and the effort. A
 * search asks think_over before it goes deeper; once that is true it stays so until
 * think_allow opens the next part of the effort, and results found meanwhile count for nothing.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_THINK_H
#define TOCSIN_SERVICE_GOMOKU_THINK_H

#include "service/gomoku/ai.h"
#include "service/gomoku/field.h"

enum {
    THREATS_SIZE = 1 << 18,
    POSITIONS_SIZE = 1 << 17,
    THINK_LOOK_EVERY = 256, /* stones tried between two looks at the clock */
};

/* Whether an attack works; see threat.c. */
struct known_threat {
    uint64_t key;
    int16_t depth; /* how deep it was tried */
    int16_t point; /* its first move; GOMOKU_NOWHERE: it failed */
};

/* What alpha-beta has found; see search.c. */
struct known_position {
    uint64_t key;
    int32_t value;
    int16_t point;
    int8_t depth;
    uint8_t bound;
};

struct think {
    struct field field;
    const struct gomoku_effort *effort;
    uint64_t nodes;
    uint64_t look_nodes; /* when to look at the clock again */
    uint64_t part_nodes; /* up to which this part of the effort goes */
    int64_t part_ns;
    int64_t started_ns;
    bool is_over;
    struct known_threat threats[THREATS_SIZE];
    struct known_position positions[POSITIONS_SIZE];
};

/* The searches up to the next call may use the effort up to so many hundredths of it all. */
void think_allow(struct think *think, unsigned hundredths);

bool think_over(struct think *think);

static inline void think_put(struct think *think, enum gomoku_side side, int point)
{
    think->nodes++;
    field_put(&think->field, side, point);
}

static inline void think_take(struct think *think, enum gomoku_side side, int point)
{
    field_take(&think->field, side, point);
}

#endif
