/* SPDX-License-Identifier: MIT */
#include "service/gomoku/ai.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "service/gomoku/search.h"
#include "service/gomoku/threat.h"

enum {
    FOURS_DEPTH = 100,
    THREES_DEPTH = 20,
    CANDIDATES = 30,
    /* How much of the effort, in hundredths, has gone when each part is done. */
    PART_FOURS = 20,
    PART_THREES = 40,
    PART_DEFENCE = 55,
    PART_SEARCH = 100,
};

struct gomoku_ai {
    struct field_tables tables;
    struct think think;
};

_Static_assert(sizeof(struct gomoku_ai) <= GOMOKU_AI_BYTES, "GOMOKU_AI_BYTES");

enum tocsin_status gomoku_ai_create(struct gomoku_ai **ret_ai)
{
    struct gomoku_ai *ai = calloc(1, sizeof *ai);
    if (ai == NULL)
        return TOCSIN_NO_MEMORY;
    field_tables_init(&ai->tables);
    *ret_ai = ai;
    return TOCSIN_OK;
}

void gomoku_ai_destroy(struct gomoku_ai *ai)
{
    free(ai);
}

static void begin(struct gomoku_ai *ai, enum gomoku_rule rule, const struct gomoku_board *board,
                  const struct gomoku_effort *effort)
{
    struct think *think = &ai->think;
    memset(think->threats, 0, sizeof think->threats);
    memset(think->positions, 0, sizeof think->positions);
    field_init(&think->field, &ai->tables, rule, board);
    think->effort = effort;
    think->nodes = 0;
    think->started_ns = effort->clock == NULL ? 0 : clock_elapsed(effort->clock).ns;
    think_allow(think, 0);
}

/* The first move of an attack that cannot be stopped, or GOMOKU_NOWHERE. */
static int attack(struct think *think, enum gomoku_side side)
{
    think_allow(think, PART_FOURS);
    int point = threat_by_fours(think, side, FOURS_DEPTH);
    if (point != GOMOKU_NOWHERE)
        return point;
    think_allow(think, PART_THREES);
    return threat_by_threes(think, side, THREES_DEPTH);
}

/* Drop the moves after which the other side has an attack that cannot be stopped, if any are
 * left then. */
static void drop_refuted(struct think *think, enum gomoku_side side, struct search_moves *moves,
                         int (*find)(struct think *, enum gomoku_side, int), int depth)
{
    enum gomoku_side other = gomoku_other(side);
    struct search_moves kept = {.count = 0};
    for (int i = 0; i < moves->count; i++) {
        think_put(think, side, moves->point[i]);
        bool is_refuted = !think_over(think) && find(think, other, depth) != GOMOKU_NOWHERE;
        think_take(think, side, moves->point[i]);
        if (is_refuted)
            continue;
        kept.point[kept.count] = moves->point[i];
        kept.value[kept.count++] = moves->value[i];
    }
    if (kept.count > 0)
        *moves = kept;
}

static int deliberate(struct think *think, enum gomoku_side side, struct search_moves *moves)
{
    enum { DEFENCE_FOURS = 20, DEFENCE_THREES = 5 };
    enum gomoku_side other = gomoku_other(side);
    think_allow(think, PART_DEFENCE);
    drop_refuted(think, side, moves, threat_by_fours, DEFENCE_FOURS);
    if (threat_by_threes(think, other, DEFENCE_THREES) != GOMOKU_NOWHERE)
        drop_refuted(think, side, moves, threat_by_threes, DEFENCE_THREES);
    think_allow(think, PART_SEARCH);
    return search_best(think, side, moves);
}

enum tocsin_status gomoku_ai_choose(struct gomoku_ai *ai, enum gomoku_rule rule,
                                    const struct gomoku_board *board, enum gomoku_side side,
                                    const struct gomoku_effort *effort, uint64_t seed,
                                    int *ret_point)
{
    assert(effort->clock != NULL || effort->nodes > 0);
    struct think *think = &ai->think;
    struct search_moves moves;
    begin(ai, rule, board, effort);
    const struct field *field = &think->field;
    if (field->left == GOMOKU_POINTS) {
        *ret_point = GOMOKU_CENTRE;
        return TOCSIN_OK;
    }
    search_list(think, side, CANDIDATES, seed | 1, &moves);
    if (moves.count == 0)
        return TOCSIN_NONE;
    int point = field_find(field, side, LEVEL_FIVE, 0);
    if (point == GOMOKU_NOWHERE) {
        point = field_find(field, gomoku_other(side), LEVEL_FIVE, 0);
        if (point != GOMOKU_NOWHERE && !field_legal(field, side, point))
            point = moves.point[0]; /* lost: the one point that would help is forbidden */
    }
    if (point == GOMOKU_NOWHERE)
        point = attack(think, side);
    if (point == GOMOKU_NOWHERE)
        point = deliberate(think, side, &moves);
    assert(gomoku_legal(rule, board, side, point));
    *ret_point = point;
    return TOCSIN_OK;
}
