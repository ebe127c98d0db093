/* SPDX-License-Identifier: MIT */
/* Both searches are of the and-or kind: the attacker needs one move that works, against every
 * answer. A node of the attacker is remembered with the depth to which it was tried. */
#include "service/gomoku/threat.h"

enum {
    FOURS_IN_THREES = 2, /* how deep fours are tried at each node of a search by threes */
    FORCED_MAX = 30,     /* answers to fours of the defender, along one line of play */
};

/* Which search an entry belongs to, and whose. */
static uint64_t key_of(const struct think *think, enum gomoku_side side, bool by_threes)
{
    static const uint64_t salt[2][2] = {
        {UINT64_C(0x3c79ac492ba7b653), UINT64_C(0x1c69b3f74ac4ae35)},
        {UINT64_C(0x8a5cd789635d2dff), UINT64_C(0x121fd2155c472f96)},
    };
    return think->field.hash ^ salt[by_threes][side];
}

/* True when it is known what comes of an attack that may go so deep: its first move, or
 * GOMOKU_NOWHERE. */
static bool recall(const struct think *think, uint64_t key, int depth, int *ret_point)
{
    const struct known_threat *known = &think->threats[key % THREATS_SIZE];
    if (known->key != key || (known->point == GOMOKU_NOWHERE && known->depth < depth))
        return false;
    *ret_point = known->point;
    return true;
}

static void remember(struct think *think, uint64_t key, int depth, int point)
{
    think->threats[key % THREATS_SIZE] = (struct known_threat){key, (int16_t)depth, (int16_t)point};
}

/* The point where the defender stands to make a five, which the attacker must take; NOWHERE
 * when there is none. False when there are two, or the one is forbidden to him. */
static bool must_stop(const struct field *field, enum gomoku_side attacker, int *ret_point)
{
    enum gomoku_side defender = gomoku_other(attacker);
    *ret_point = field_find(field, defender, LEVEL_FIVE, 0);
    if (*ret_point == GOMOKU_NOWHERE)
        return true;
    return field_find(field, defender, LEVEL_FIVE, *ret_point + 1) == GOMOKU_NOWHERE &&
           field_legal(field, attacker, *ret_point);
}

static int fours_count(const struct field *field, enum gomoku_side side)
{
    return field->count[side][LEVEL_FOUR] + field->count[side][LEVEL_FOUR_THREE] +
           field->count[side][LEVEL_WINNING];
}

static bool is_four(const struct field *field, enum gomoku_side side, int point)
{
    uint8_t level = field->level[side][point];
    return field->board.at[point] == GOMOKU_EMPTY && level >= LEVEL_FOUR && level <= LEVEL_WINNING;
}

static int by_fours(struct think *think, enum gomoku_side side, int depth);

/* The attacker's four at `point`, which is legal: does it win? */
static bool four_wins(struct think *think, enum gomoku_side side, int point, int depth)
{
    struct field *field = &think->field;
    enum gomoku_side other = gomoku_other(side);
    bool wins = false;
    think_put(think, side, point);
    int answer = field_find(field, side, LEVEL_FIVE, 0);
    if (field->count[other][LEVEL_FIVE] > 0 || answer == GOMOKU_NOWHERE) {
        wins = false;
    } else if (field->count[side][LEVEL_FIVE] > 1 || !field_legal(field, other, answer)) {
        wins = true;
    } else {
        think_put(think, other, answer);
        wins = by_fours(think, side, depth - 1) != GOMOKU_NOWHERE;
        think_take(think, other, answer);
    }
    think_take(think, side, point);
    return wins;
}

static int by_fours(struct think *think, enum gomoku_side side, int depth)
{
    const struct field *field = &think->field;
    int forced;
    int five = field_find(field, side, LEVEL_FIVE, 0);
    if (five != GOMOKU_NOWHERE)
        return five;
    if (think_over(think) || !must_stop(field, side, &forced))
        return GOMOKU_NOWHERE;
    if (forced == GOMOKU_NOWHERE) {
        int winning = field_find(field, side, LEVEL_WINNING, 0);
        if (winning != GOMOKU_NOWHERE)
            return winning;
    }
    if (depth <= 0 || fours_count(field, side) == 0)
        return GOMOKU_NOWHERE;
    uint64_t key = key_of(think, side, false);
    int known;
    if (recall(think, key, depth, &known))
        return known;
    int first = forced == GOMOKU_NOWHERE ? 0 : forced;
    int last = forced == GOMOKU_NOWHERE ? GOMOKU_POINTS - 1 : forced;
    /* Fours that make a three as well come first. */
    for (int level = LEVEL_WINNING; level >= LEVEL_FOUR; level--) {
        for (int point = first; point <= last; point++) {
            if (field->level[side][point] == level && is_four(field, side, point) &&
                field_legal(field, side, point) && four_wins(think, side, point, depth))
                return point;
        }
    }
    if (!think->is_over)
        remember(think, key, depth, GOMOKU_NOWHERE);
    return GOMOKU_NOWHERE;
}

int threat_by_fours(struct think *think, enum gomoku_side side, int depth)
{
    return by_fours(think, side, depth);
}

struct moves {
    int point[GOMOKU_POINTS];
    int value[GOMOKU_POINTS];
    int count;
};

/* Kept sorted, the most valuable first. */
static void insert(struct moves *moves, int point, int value)
{
    int i = moves->count++;
    for (; i > 0 && moves->value[i - 1] < value; i--) {
        moves->point[i] = moves->point[i - 1];
        moves->value[i] = moves->value[i - 1];
    }
    moves->point[i] = point;
    moves->value[i] = value;
}

/* What a search by threes is about. */
struct attack {
    struct think *think;
    enum gomoku_side side;
    int forced_left;
};

static bool attack_works(struct attack *attack, int depth, int *ret_point);

/* Every answer to a threatened straight four at `goal`: to take a point of one of its lines, or
 * to make a four first. What is worth most to both comes first: it fails an attack soonest. */
static void list_defences(const struct attack *attack, int goal, struct moves *moves)
{
    const struct field *field = &attack->think->field;
    enum gomoku_side defender = gomoku_other(attack->side);
    bool is_listed[GOMOKU_POINTS] = {false};
    moves->count = 0;
    for (int direction = 0; direction < GOMOKU_DIRECTIONS; direction++) {
        if (field->shape[attack->side][goal][direction] < SHAPE_FOUR)
            continue;
        for (int steps = -4; steps <= 4; steps++) {
            int point = gomoku_along(goal, direction, steps);
            if (point != GOMOKU_NOWHERE && field->board.at[point] == GOMOKU_EMPTY)
                is_listed[point] = true;
        }
    }
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if ((is_listed[point] || is_four(field, defender, point)) &&
            field_legal(field, defender, point))
            insert(moves, point, field->score[0][point] + field->score[1][point]);
    }
}

static bool answer_fails(struct attack *attack, int answer, int depth)
{
    enum gomoku_side defender = gomoku_other(attack->side);
    int next;
    think_put(attack->think, defender, answer);
    bool works = attack_works(attack, depth, &next);
    think_take(attack->think, defender, answer);
    return works;
}

/* The defender is to move: does the attack work whatever he does? */
static bool defence_fails(struct attack *attack, int depth)
{
    const struct field *field = &attack->think->field;
    enum gomoku_side defender = gomoku_other(attack->side);
    if (field->count[defender][LEVEL_FIVE] > 0)
        return false;
    int five = field_find(field, attack->side, LEVEL_FIVE, 0);
    if (five != GOMOKU_NOWHERE) {
        if (field->count[attack->side][LEVEL_FIVE] > 1 || !field_legal(field, defender, five))
            return true;
        return answer_fails(attack, five, depth);
    }
    int goal = field_find(field, attack->side, LEVEL_WINNING, 0);
    if (goal == GOMOKU_NOWHERE || field_find(field, defender, LEVEL_WINNING, 0) != GOMOKU_NOWHERE)
        return false;
    struct moves moves;
    list_defences(attack, goal, &moves);
    for (int i = 0; i < moves.count; i++) {
        if (!answer_fails(attack, moves.point[i], depth))
            return false;
    }
    return true;
}

static bool move_works(struct attack *attack, int point, int depth)
{
    think_put(attack->think, attack->side, point);
    bool works = defence_fails(attack, depth);
    think_take(attack->think, attack->side, point);
    return works;
}

/* Threes and fours, the best first. */
static void list_threats(const struct attack *attack, struct moves *moves)
{
    const struct field *field = &attack->think->field;
    moves->count = 0;
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if (field->board.at[point] == GOMOKU_EMPTY &&
            field->level[attack->side][point] >= LEVEL_THREE)
            insert(moves, point, field->score[attack->side][point]);
    }
}

static bool try_threats(struct attack *attack, int depth, int *ret_point)
{
    struct moves moves;
    list_threats(attack, &moves);
    for (int i = 0; i < moves.count; i++) {
        if (think_over(attack->think))
            return false;
        if (field_legal(&attack->think->field, attack->side, moves.point[i]) &&
            move_works(attack, moves.point[i], depth - 1)) {
            *ret_point = moves.point[i];
            return true;
        }
    }
    return false;
}

/* The attacker is to move. */
static bool attack_works(struct attack *attack, int depth, int *ret_point)
{
    struct think *think = attack->think;
    int forced;
    *ret_point = by_fours(think, attack->side, FOURS_IN_THREES);
    if (*ret_point != GOMOKU_NOWHERE)
        return true;
    if (think_over(think) || !must_stop(&think->field, attack->side, &forced))
        return false;
    if (forced != GOMOKU_NOWHERE) {
        if (attack->forced_left == 0)
            return false;
        attack->forced_left--;
        *ret_point = forced;
        bool works = move_works(attack, forced, depth);
        attack->forced_left++;
        return works;
    }
    if (depth <= 0)
        return false;
    uint64_t key = key_of(think, attack->side, true);
    if (recall(think, key, depth, ret_point))
        return *ret_point != GOMOKU_NOWHERE;
    bool works = try_threats(attack, depth, ret_point);
    if (!think->is_over || works)
        remember(think, key, depth, works ? *ret_point : GOMOKU_NOWHERE);
    return works;
}

int threat_by_threes(struct think *think, enum gomoku_side side, int depth)
{
    struct attack attack = {think, side, FORCED_MAX};
    int point = GOMOKU_NOWHERE;
    for (int limit = 1; limit <= depth && !think_over(think); limit++) {
        if (attack_works(&attack, limit, &point))
            return point;
    }
    return GOMOKU_NOWHERE;
}
