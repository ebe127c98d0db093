/* SPDX-License-Identifier: MIT */
#include "service/gomoku/search.h"

#include <assert.h>

#include "service/gomoku/threat.h"

enum {
    VALUE_WIN = 1000000, /* less a point for each ply until then: sooner is better */
    VALUE_SURE = VALUE_WIN - 1000,
    DEPTH_MAX = 20,
    PLIES_MAX = 50,
    WIDTH = 14,       /* moves looked at, but for the first */
    FOURS_AT_END = 6, /* how deep fours are tried where the depth ends */
};

enum bound { BOUND_NONE, BOUND_EXACT, BOUND_LOWER, BOUND_UPPER };

/* What making or stopping such a thing is worth when moves are put in order. */
static const int level_urgency[LEVELS] = {
    [LEVEL_THREE] = 100,       [LEVEL_DOUBLE_THREE] = 500, [LEVEL_FOUR] = 120,
    [LEVEL_FOUR_THREE] = 2000, [LEVEL_WINNING] = 5000,     [LEVEL_FIVE] = 100000,
};

static int urgency(const struct field *field, enum gomoku_side side, int point)
{
    enum gomoku_side other = gomoku_other(side);
    return 2 * (field->score[side][point] + level_urgency[field->level[side][point]]) +
           field->score[other][point] + level_urgency[field->level[other][point]];
}

/* Does the other side stand to make a straight four? Then only fours, and points that are of
 * use for a four to him, are worth a look. */
static bool must_defend(const struct field *field, enum gomoku_side side)
{
    return field_find(field, gomoku_other(side), LEVEL_WINNING, 0) != GOMOKU_NOWHERE;
}

static bool is_worth_a_look(const struct field *field, enum gomoku_side side, int point,
                            bool defends)
{
    if (field->board.at[point] != GOMOKU_EMPTY)
        return false;
    if (!defends)
        return field->near[point] > 0;
    return field->level[side][point] >= LEVEL_FOUR ||
           field->level[gomoku_other(side)][point] >= LEVEL_FOUR;
}

static void insert(struct search_moves *moves, int most, int point, int value)
{
    if (moves->count == most && moves->value[most - 1] >= value)
        return;
    int i = moves->count < most ? moves->count++ : most - 1;
    for (; i > 0 && moves->value[i - 1] < value; i--) {
        moves->point[i] = moves->point[i - 1];
        moves->value[i] = moves->value[i - 1];
    }
    moves->point[i] = point;
    moves->value[i] = value;
}

/* Chance in [0, 4), different for each point. */
static int luck(uint64_t chance, int point)
{
    uint64_t z = (chance + (uint64_t)point) * UINT64_C(0x9e3779b97f4a7c15);
    return chance == 0 ? 0 : (int)((z ^ (z >> 29)) * UINT64_C(0xbf58476d1ce4e5b9) >> 62);
}

static void list_worthwhile(const struct field *field, enum gomoku_side side, int most,
                            uint64_t chance, bool defends, struct search_moves *moves)
{
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if (is_worth_a_look(field, side, point, defends) && field_legal(field, side, point))
            insert(moves, most, point, urgency(field, side, point) + luck(chance, point));
    }
}

void search_list(const struct think *think, enum gomoku_side side, int most, uint64_t chance,
                 struct search_moves *ret_moves)
{
    const struct field *field = &think->field;
    assert(most > 0 && most <= SEARCH_MOVES_MAX);
    ret_moves->count = 0;
    list_worthwhile(field, side, most, chance, must_defend(field, side), ret_moves);
    if (ret_moves->count == 0) /* nothing stops him, or all that does is forbidden */
        list_worthwhile(field, side, most, chance, false, ret_moves);
    for (int point = 0; point < GOMOKU_POINTS && ret_moves->count == 0; point++) {
        if (gomoku_legal(field->rule, &field->board, side, point))
            insert(ret_moves, most, point, 0);
    }
}

static int guess(const struct field *field, enum gomoku_side side)
{
    return field->worth[side] * 5 / 4 - field->worth[gomoku_other(side)];
}

static int value_of(struct think *think, enum gomoku_side side, int depth, int plies, int alpha,
                    int beta);

static int value_after(struct think *think, enum gomoku_side side, int point, int depth, int plies,
                       int alpha, int beta)
{
    think_put(think, side, point);
    int value = -value_of(think, gomoku_other(side), depth, plies + 1, -beta, -alpha);
    think_take(think, side, point);
    return value;
}

/* True when the value is plain without a search: somebody wins at once, or a five must be
 * stopped, which costs no depth. */
static bool is_plain(struct think *think, enum gomoku_side side, int depth, int plies, int alpha,
                     int beta, int *ret_value)
{
    const struct field *field = &think->field;
    enum gomoku_side other = gomoku_other(side);
    *ret_value = 0;
    if (field->left == 0)
        return true;
    if (field->count[side][LEVEL_FIVE] > 0) {
        *ret_value = VALUE_WIN - plies - 1;
        return true;
    }
    if (field->count[other][LEVEL_FIVE] > 0) {
        int forced = field_find(field, other, LEVEL_FIVE, 0);
        *ret_value = -(VALUE_WIN - plies - 2);
        if (field->count[other][LEVEL_FIVE] == 1 && field_legal(field, side, forced))
            *ret_value = plies >= PLIES_MAX
                             ? guess(field, side)
                             : value_after(think, side, forced, depth, plies, alpha, beta);
        return true;
    }
    if (field_find(field, side, LEVEL_WINNING, 0) != GOMOKU_NOWHERE) {
        *ret_value = VALUE_WIN - plies - 3;
        return true;
    }
    return false;
}

static uint64_t position_key(const struct think *think, enum gomoku_side side)
{
    return think->field.hash ^ (side == GOMOKU_X ? 0 : UINT64_C(0x5851f42d4c957f2d));
}

/* The value as kept or as asked for: wins are counted from the position, not from the root. */
static int shifted(int value, int plies)
{
    if (value >= VALUE_SURE)
        return value + plies;
    return value <= -VALUE_SURE ? value - plies : value;
}

static bool recall(const struct known_position *known, uint64_t key, int depth, int plies,
                   int alpha, int beta, int *ret_value)
{
    if (known->key != key || known->depth < depth)
        return false;
    *ret_value = shifted(known->value, -plies);
    return known->bound == BOUND_EXACT || (known->bound == BOUND_LOWER && *ret_value >= beta) ||
           (known->bound == BOUND_UPPER && *ret_value <= alpha);
}

/* Null windows for all but the first: most moves need only be shown not to be better. */
static int best_value(struct think *think, enum gomoku_side side, struct search_moves *moves,
                      int depth, int plies, int alpha, int beta, int *ret_best)
{
    int best = -VALUE_WIN;
    for (int i = 0; i < moves->count && best < beta; i++) {
        int point = moves->point[i];
        int value = 0;
        if (i > 0)
            value = value_after(think, side, point, depth - 1, plies, alpha, alpha + 1);
        if (i == 0 || (value > alpha && value < beta))
            value = value_after(think, side, point, depth - 1, plies, alpha, beta);
        if (think->is_over)
            break;
        if (value > best) {
            best = value;
            *ret_best = i;
        }
        alpha = value > alpha ? value : alpha;
    }
    return best;
}

static void put_first(struct search_moves *moves, int point)
{
    for (int i = 0; i < moves->count; i++) {
        if (moves->point[i] != point)
            continue;
        for (; i > 0; i--)
            moves->point[i] = moves->point[i - 1];
        moves->point[0] = point;
    }
}

/* By alpha-beta, from the view of the side to move. Without meaning when it is over. */
static int value_of(struct think *think, enum gomoku_side side, int depth, int plies, int alpha,
                    int beta)
{
    int value;
    if (think_over(think))
        return 0;
    if (is_plain(think, side, depth, plies, alpha, beta, &value))
        return value;
    uint64_t key = position_key(think, side);
    struct known_position *known = &think->positions[key % POSITIONS_SIZE];
    if (recall(known, key, depth, plies, alpha, beta, &value))
        return value;
    if (depth <= 0 || plies >= PLIES_MAX) {
        bool wins = threat_by_fours(think, side, FOURS_AT_END) != GOMOKU_NOWHERE;
        value = wins ? VALUE_WIN - plies - 5 : guess(&think->field, side);
        if (!think->is_over)
            *known =
                (struct known_position){key, shifted(value, plies), GOMOKU_NOWHERE, 0, BOUND_EXACT};
        return value;
    }
    struct search_moves moves;
    search_list(think, side, WIDTH, 0, &moves);
    if (moves.count == 0)
        return 0;
    if (known->key == key)
        put_first(&moves, known->point);
    int best = 0;
    value = best_value(think, side, &moves, depth, plies, alpha, beta, &best);
    if (think->is_over)
        return 0;
    enum bound bound = value >= beta ? BOUND_LOWER : value <= alpha ? BOUND_UPPER : BOUND_EXACT;
    *known = (struct known_position){key, shifted(value, plies), (int16_t)moves.point[best],
                                     (int8_t)depth, (uint8_t)bound};
    return value;
}

int search_best(struct think *think, enum gomoku_side side, struct search_moves *moves)
{
    assert(moves->count > 0);
    for (int depth = 1; depth <= DEPTH_MAX && moves->count > 1 && !think_over(think); depth++) {
        int best = 0;
        int value = best_value(think, side, moves, depth, 0, -VALUE_WIN, VALUE_WIN, &best);
        /* What was found before the effort ended counts when the best so far was looked at. */
        if (value > -VALUE_WIN)
            put_first(moves, moves->point[best]);
        if (think->is_over || value >= VALUE_SURE || value <= -VALUE_SURE)
            break;
    }
    return moves->point[0];
}
