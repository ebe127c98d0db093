/* SPDX-License-Identifier: MIT */
#include "service/gomoku/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A turn is over, and what was only about it. */
static void clear_turn(struct room *room)
{
    room->overdue = room->graced = false;
    for (int side = 0; side < ROOM_SIDES; side++)
        room->seats[side].wants_restart = false;
}

static void clear_board(struct room *room)
{
    gomoku_board_init(&room->board);
    room->step = 0;
    room->last = GOMOKU_NOWHERE;
    room->winner = ROOM_NOT_OVER;
    room->ended_by = ROOM_NO_ENDING;
    room->phase = ROOM_WAITING;
    room->passes = 0;
    room->passed = false;
    room->credited_ms = 0;
    clear_turn(room);
    for (int side = 0; side < ROOM_SIDES; side++) {
        room->seats[side].ready = room->seats[side].ai;
        room->seats[side].had_grace = false;
    }
    struct turn_rules rules = room->clock.rules;
    turn_clock_init(&room->clock, &rules);
}

void room_init(struct room *room, const char *id, const struct room_wish *wish)
{
    *room = (struct room){
        .pve = wish->pve,
        .ai_timed = wish->ai_timed,
        .rule = wish->rule,
        .on_timeout = wish->on_timeout,
        .grace_ms = wish->grace_ms,
        .game = 1,
        .clock = {.rules = wish->clock},
    };
    memcpy(room->id, id, ROOM_ID_BYTES);
    room->seats[GOMOKU_O].player = 1;
    room->seats[GOMOKU_O].ai = wish->pve;
    clear_board(room);
}

void room_game_id(const struct room *room, char ret_text[ROOM_WORD_BYTES])
{
    (void)snprintf(ret_text, ROOM_WORD_BYTES, "%s-%" PRIu64, room->id, room->game);
}

void room_version(const struct room *room, char ret_text[ROOM_WORD_BYTES])
{
    (void)snprintf(ret_text, ROOM_WORD_BYTES, "%s-%" PRIu64 ":%d%s", room->id, room->game,
                   room->step + room->passes, room->graced ? "+" : "");
}

bool room_ai_moves(const struct room *room)
{
    return room->phase == ROOM_PLAYING && room->seats[room_to_move(room)].ai;
}

bool room_timed(const struct room *room)
{
    return room->phase == ROOM_PLAYING && !room->overdue &&
           (room->ai_timed || !room_ai_moves(room));
}

int64_t room_turn_seconds(const struct room *room)
{
    struct turn_clock clock;
    turn_clock_init(&clock, &room->clock.rules);
    return (turn_clock_read(&clock, GOMOKU_X, 0).flag_ms + 999) / 1000;
}

/* ---- seats */

int room_side_of_key(const struct room *room, struct bytes key)
{
    char hash[SHA256_HEX_BYTES + 1];
    int found = ROOM_NO_SIDE;
    sha256_hex(key.at, key.size, hash);
    for (int side = 0; side < ROOM_SIDES; side++) {
        const struct room_seat *seat = &room->seats[side];
        unsigned differs = !seat->taken;
        for (int i = 0; i < SHA256_HEX_BYTES; i++)
            differs |= (unsigned char)(hash[i] ^ seat->key_hash[i]);
        found = differs == 0 ? side : found;
    }
    return found;
}

int room_side_of_player(const struct room *room, int player)
{
    for (int side = 0; side < ROOM_SIDES; side++) {
        if (room->seats[side].player == player)
            return side;
    }
    return ROOM_NO_SIDE;
}

int room_free_side(const struct room *room)
{
    for (int side = 0; side < ROOM_SIDES; side++) {
        if (!room->seats[side].taken && !room->seats[side].ai)
            return side;
    }
    return ROOM_NO_SIDE;
}

void room_vacate_seat(struct room *room, int side)
{
    room->seats[side].taken = room->seats[side].ready = false;
}

void room_take_seat(struct room *room, int side, struct bytes key)
{
    room->seats[side].taken = true;
    sha256_hex(key.at, key.size, room->seats[side].key_hash);
}

/* ---- a game's begin and end */

/* A turn begins at the next whole millisecond; nobody's, when it is not timed. */
static void turn_begun(struct room *room, struct room_time now)
{
    room->clock.started_ms = now.up_ms;
    room->told_ms = 0;
    if (!room_timed(room))
        (void)turn_clock_pause(&room->clock, now.up_ms);
}

static void begin(struct room *room, struct room_time now)
{
    room->phase = ROOM_PLAYING;
    (void)turn_clock_start(&room->clock, GOMOKU_X, now.up_ms);
    turn_begun(room, now);
}

static void end(struct room *room, enum room_winner winner, enum room_ending by,
                struct room_time now)
{
    room->phase = ROOM_ENDED;
    room->winner = winner;
    room->ended_by = by;
    if (winner == ROOM_DRAWN)
        room->draws++;
    else
        room->seats[winner == ROOM_X_WINS ? GOMOKU_X : GOMOKU_O].wins++;
    clear_turn(room);
    for (int side = 0; side < ROOM_SIDES; side++)
        room->seats[side].ready = room->seats[side].ai;
    (void)turn_clock_pause(&room->clock, now.down_ms); /* what was left stays to be seen */
}

static enum room_winner winner_of(int side)
{
    return side == GOMOKU_X ? ROOM_X_WINS : ROOM_O_WINS;
}

/* ---- commands */

enum room_answer room_ready(struct room *room, int side, struct room_time now)
{
    if (room->phase == ROOM_ENDED)
        return ROOM_NOT_WAITING;
    if (room->phase == ROOM_PLAYING || room->seats[side].ready)
        return ROOM_AS_IT_WAS;
    room->seats[side].ready = true;
    if (room->seats[GOMOKU_X].ready && room->seats[GOMOKU_O].ready)
        begin(room, now);
    return ROOM_DONE;
}

static enum room_answer foul_answer(const struct room *room, int point)
{
    switch (gomoku_foul(&room->board, point)) {
    case GOMOKU_NO_FOUL:
    case GOMOKU_OVERLINE:
        break;
    case GOMOKU_DOUBLE_FOUR:
        return ROOM_DOUBLE_FOUR;
    case GOMOKU_DOUBLE_THREE:
        return ROOM_DOUBLE_THREE;
    }
    return ROOM_OVERLINE;
}

/* The other side's turn begins; the count of turns has gone up. */
static void next_turn(struct room *room, bool was_timed, struct room_time now)
{
    if (room->overdue) /* a millisecond is left, and it stands still */
        was_timed = turn_clock_resume(&room->clock, now.down_ms);
    clear_turn(room);
    room->credited_ms = 0;
    if (was_timed)
        room->credited_ms = turn_clock_move(&room->clock, now.down_ms, now.lag_ms).credited_ms;
    else
        (void)turn_clock_start(&room->clock, (int)room_to_move(room), now.up_ms);
    turn_begun(room, now);
}

static void put_stone(struct room *room, int point, struct room_time now)
{
    bool was_timed = room_timed(room);
    room->board.at[point] = gomoku_stone(room_to_move(room));
    room->step++;
    room->last = point;
    room->passed = false;
    next_turn(room, was_timed, now);
}

enum room_answer room_place(struct room *room, int side, int point, struct room_time now)
{
    if (room->phase != ROOM_PLAYING)
        return ROOM_NOT_PLAYING;
    if (side != (int)room_to_move(room))
        return ROOM_NOT_YOUR_TURN;
    if (point == GOMOKU_NOWHERE)
        return ROOM_OFF_BOARD;
    enum gomoku_verdict verdict =
        gomoku_judge(room->rule, &room->board, (enum gomoku_side)side, point);
    if (verdict == GOMOKU_TAKEN)
        return ROOM_TAKEN;
    if (verdict == GOMOKU_FOUL)
        return foul_answer(room, point);
    if (room_timed(room) && now.down_ms >= turn_clock_deadline(&room->clock))
        return ROOM_TOO_LATE;
    put_stone(room, point, now);
    if (verdict == GOMOKU_WINS)
        end(room, winner_of(side), ROOM_BY_FIVE, now);
    else if (verdict == GOMOKU_DRAWN)
        end(room, ROOM_DRAWN, ROOM_BY_DRAW, now);
    return ROOM_DONE;
}

enum room_answer room_resign(struct room *room, int side, struct room_time now)
{
    if (room->phase != ROOM_PLAYING)
        return ROOM_NOT_PLAYING;
    end(room, winner_of(1 - side), ROOM_BY_RESIGNING, now);
    return ROOM_DONE;
}

static void swap_for_a_new_game(struct room *room)
{
    struct room_seat seat = room->seats[GOMOKU_X];
    room->seats[GOMOKU_X] = room->seats[GOMOKU_O];
    room->seats[GOMOKU_O] = seat;
    room->game++;
    clear_board(room);
}

static enum room_answer begin_anew(struct room *room, struct room_time now)
{
    swap_for_a_new_game(room);
    for (int side = 0; side < ROOM_SIDES; side++)
        room->seats[side].ready = true;
    begin(room, now);
    return ROOM_DONE;
}

/* The game is on: nobody is taken out of it against their will. */
static enum room_answer want_restart(struct room *room, int side, struct room_time now)
{
    const struct room_seat *other = &room->seats[1 - side];
    if (room->step == 0) /* both asked, and the other's wish has made this one */
        return ROOM_AS_IT_WAS;
    if (other->ai || other->wants_restart)
        return begin_anew(room, now);
    if (room->seats[side].wants_restart)
        return ROOM_AS_IT_WAS;
    room->seats[side].wants_restart = true;
    return ROOM_DONE;
}

enum room_answer room_restart(struct room *room, int side, bool other_here, struct room_time now)
{
    if (room->phase == ROOM_WAITING)
        return room_ready(room, side, now);
    if (room->phase == ROOM_PLAYING)
        return want_restart(room, side, now);
    if (other_here || room->seats[1 - side].ai)
        return begin_anew(room, now);
    swap_for_a_new_game(room);
    return room_ready(room, 1 - side, now);
}

/* ---- the flag falls */

/* What is done in place of a player is done in the last millisecond of the turn: a fallen flag
 * could not be taken back. */
static struct room_time last_moment(const struct room *room, struct room_time now)
{
    return (struct room_time){turn_clock_deadline(&room->clock) - 1, now.up_ms};
}

static int distance_from_centre(int point)
{
    int x = abs(point % GOMOKU_SIZE - GOMOKU_SIZE / 2);
    int y = abs(point / GOMOKU_SIZE - GOMOKU_SIZE / 2);
    return x > y ? x : y;
}

/* GOMOKU_NOWHERE: all that is free is forbidden. */
static int default_point(const struct room *room)
{
    int best = GOMOKU_NOWHERE;
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        if ((best == GOMOKU_NOWHERE || distance_from_centre(point) < distance_from_centre(best)) &&
            gomoku_legal(room->rule, &room->board, room_to_move(room), point))
            best = point;
    }
    return best;
}

static void pass(struct room *room, struct room_time now)
{
    bool both = room->passed;
    struct room_time last = last_moment(room, now);
    room->passes++;
    room->passed = true;
    next_turn(room, true, last);
    if (both)
        end(room, ROOM_DRAWN, ROOM_BY_DRAW, now);
}

void room_time_out(struct room *room, struct room_time now)
{
    assert(room_timed(room));
    int side = (int)room_to_move(room);
    int point = room->on_timeout == ROOM_FLAG_MOVES ? default_point(room) : GOMOKU_NOWHERE;
    if (room->on_timeout == ROOM_FLAG_PASSES) {
        pass(room, now);
    } else if (room->on_timeout == ROOM_FLAG_IS_TOLD) {
        (void)turn_clock_pause(&room->clock, last_moment(room, now).down_ms);
        room->overdue = true;
    } else if (point != GOMOKU_NOWHERE) {
        (void)room_place(room, side, point, last_moment(room, now));
    } else {
        (void)turn_clock_flag(&room->clock, now.down_ms);
        end(room, winner_of(1 - side), ROOM_BY_TIME, now);
    }
}

bool room_grant_grace(struct room *room)
{
    assert(room_timed(room));
    int side = (int)room_to_move(room);
    struct room_seat *seat = &room->seats[side];
    if (room->grace_ms == 0 || seat->had_grace || seat->ai)
        return false;
    int64_t before_ms = turn_clock_deadline(&room->clock) - 1;
    seat->had_grace = room->graced = true;
    room->told_ms = 0;
    return turn_clock_give(&room->clock, side, room->grace_ms, before_ms);
}
