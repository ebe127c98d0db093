/* SPDX-License-Identifier: MIT */
/* A room as it is shown: in frames, and over HTTP. Seat keys are not known here. */

#include "service/gomoku/rooms_inside.h"

void room_view_field(struct json_writer *writer, const char *name, const char *text)
{
    json_write_key(writer, name);
    if (text == NULL)
        json_write_null(writer);
    else
        json_write_text(writer, text);
}

static const char *side_name(int side)
{
    if (side == ROOM_NO_SIDE)
        return NULL;
    return side == GOMOKU_X ? "X" : "O";
}

void room_view_side(struct json_writer *writer, const char *name, int side)
{
    room_view_field(writer, name, side_name(side));
}

void room_view_game_id(struct json_writer *writer, const struct room *room)
{
    char game_id[ROOM_WORD_BYTES];
    room_game_id(room, game_id);
    room_view_field(writer, "gameId", game_id);
}

const char *room_view_winner(const struct room *room)
{
    static const char *const names[] = {
        [ROOM_NOT_OVER] = NULL,
        [ROOM_X_WINS] = "X",
        [ROOM_O_WINS] = "O",
        [ROOM_DRAWN] = "DRAW",
    };
    return names[room->winner];
}

static const char *ending_name(const struct room *room)
{
    static const char *const names[] = {
        [ROOM_NO_ENDING] = NULL,    [ROOM_BY_FIVE] = "five", [ROOM_BY_RESIGNING] = "resign",
        [ROOM_BY_TIME] = "timeout", [ROOM_BY_DRAW] = "draw",
    };
    return names[room->ended_by];
}

const char *room_view_flag(const struct room *room)
{
    static const char *const flags[] = {
        [ROOM_FLAG_RESIGNS] = "resign",
        [ROOM_FLAG_PASSES] = "pass",
        [ROOM_FLAG_MOVES] = "move",
        [ROOM_FLAG_IS_TOLD] = "event",
    };
    return flags[room->on_timeout];
}

static const char *phase_name(const struct room *room)
{
    static const char *const names[] = {
        [ROOM_WAITING] = "WAITING", [ROOM_PLAYING] = "PLAYING", [ROOM_ENDED] = "ENDED"};
    return names[room->phase];
}

static const char *mode_name(const struct room *room)
{
    return room->pve ? "PVE" : "PVP";
}

static const char *rule_name(const struct room *room)
{
    return room->rule == GOMOKU_RENJU ? "RENJU" : "STANDARD";
}

/* ---- the game */

static void view_point(struct json_writer *writer, int point)
{
    json_write_object(writer);
    json_field_int64(writer, "x", point % GOMOKU_SIZE);
    json_field_int64(writer, "y", point / GOMOKU_SIZE);
    json_write_object_end(writer);
}

static void view_line(struct json_writer *writer, const struct room *room)
{
    struct gomoku_line line = {.count = 0};
    json_write_key(writer, "line");
    if (room->phase == ROOM_ENDED && room->last != GOMOKU_NOWHERE)
        line = gomoku_line_through(room->rule, &room->board, room->last);
    if (line.count == 0) {
        json_write_null(writer);
        return;
    }
    json_write_array(writer);
    for (int i = 0; i < line.count; i++)
        view_point(writer, line.point[i]);
    json_write_array_end(writer);
}

void room_view_state(struct json_writer *writer, const struct room *room)
{
    json_write_object(writer);
    room_view_game_id(writer, room);
    json_field_int64(writer, "step", room->step);
    json_write_key(writer, "board");
    json_write_string(writer, room->board.at, GOMOKU_POINTS);
    room_view_side(writer, "current", (int)room_to_move(room));
    json_field_bool(writer, "over", room->winner != ROOM_NOT_OVER);
    room_view_field(writer, "winner", room_view_winner(room));
    json_write_key(writer, "lastMove");
    if (room->last == GOMOKU_NOWHERE)
        json_write_null(writer);
    else
        view_point(writer, room->last);
    view_line(writer, room);
    json_write_object_end(writer);
}

void room_view_series(struct json_writer *writer, const struct room *room)
{
    json_write_object(writer);
    json_field_int64(writer, "X", (int64_t)room->seats[GOMOKU_X].wins);
    json_field_int64(writer, "O", (int64_t)room->seats[GOMOKU_O].wins);
    json_field_int64(writer, "draws", (int64_t)room->draws);
    json_write_object_end(writer);
}

/* ---- the room */

static void view_seats(struct json_writer *writer, const struct room *room,
                       const struct table *table)
{
    json_write_key(writer, "seats");
    json_write_object(writer);
    for (int side = 0; side < ROOM_SIDES; side++) {
        const struct room_seat *seat = &room->seats[side];
        bool here = table != NULL && table_player(table, seat->player) != NULL;
        json_write_key(writer, side_name(side));
        json_write_object(writer);
        json_field_bool(writer, "taken", seat->taken || seat->ai);
        json_field_bool(writer, "ready", seat->ready);
        json_field_bool(writer, "connected", here || seat->ai);
        json_field_bool(writer, "ai", seat->ai);
        json_field_bool(writer, "wantsRestart", seat->wants_restart);
        json_write_object_end(writer);
    }
    json_write_object_end(writer);
}

static void view_both(struct json_writer *writer, const char *name, int64_t x, int64_t o)
{
    json_write_key(writer, name);
    json_write_object(writer);
    json_field_int64(writer, "X", x);
    json_field_int64(writer, "O", o);
    json_write_object_end(writer);
}

static const char *const mode_names[] = {
    [TURN_EACH] = "turn",   [TURN_FISCHER] = "fischer", [TURN_BRONSTEIN] = "bronstein",
    [TURN_DELAY] = "delay", [TURN_BYOYOMI] = "byoyomi",
};

/* As the room was made: 5 min and 3 s a move, 3 periods of 30 s. */
static void view_rules(struct json_writer *writer, const char *name, const struct turn_rules *rules)
{
    json_write_key(writer, name);
    json_write_object(writer);
    room_view_field(writer, "mode", mode_names[rules->mode]);
    json_field_int64(writer, "bankMs", rules->bank_ms);
    json_field_int64(writer, "extraMs", rules->extra_ms);
    json_field_int64(writer, "periods", rules->periods);
    json_write_object_end(writer);
}

int64_t room_shown_ms(const struct rooms *rooms, const struct room *room)
{
    struct countdown turn = {
        .deadline_ms = turn_clock_deadline(&room->clock),
        .basis = STORE_ELAPSED,
        .told_ms = room->told_ms,
    };
    return countdown_shown_ms(rooms->engine, &turn);
}

static void view_clock(struct json_writer *writer, const struct rooms *rooms,
                       const struct room *room)
{
    const struct turn_clock *clock = &room->clock;
    int64_t now = engine_now_ms(rooms->engine);
    bool runs = room_timed(room);
    struct turn_reading x = turn_clock_read(clock, GOMOKU_X, now);
    struct turn_reading o = turn_clock_read(clock, GOMOKU_O, now);
    json_write_key(writer, "clock");
    json_write_object(writer);
    room_view_side(writer, "side", runs ? (int)room_to_move(room) : ROOM_NO_SIDE);
    json_field_int64(writer, "leftMs", !runs ? 0 : (clock->to_move == GOMOKU_X ? x : o).flag_ms);
    json_write_key(writer, "deadlineEpochMs");
    if (runs)
        json_write_int64(writer, room_shown_ms(rooms, room));
    else
        json_write_null(writer);
    json_field_bool(writer, "running", runs);
    json_field_bool(writer, "overdue", room->overdue);
    room_view_field(writer, "onTimeout", room_view_flag(room));
    json_field_int64(writer, "graceMs", room->grace_ms);
    json_field_int64(writer, "creditedMs", room->credited_ms);
    room_view_field(writer, "mode", mode_names[clock->rules.mode]);
    view_rules(writer, "rules", &clock->rules);
    if (clock->rules.mode == TURN_EACH)
        room_view_field(writer, "banks", NULL);
    else
        view_both(writer, "banks", x.bank_ms, o.bank_ms);
    if (clock->rules.lag_move_ms > 0)
        view_both(writer, "lagLeft", clock->side[GOMOKU_X].lag_ms, clock->side[GOMOKU_O].lag_ms);
    if (clock->rules.mode == TURN_BYOYOMI)
        view_both(writer, "periods", x.periods, o.periods);
    json_write_object_end(writer);
}

void room_view_whole(struct json_writer *writer, const struct rooms *rooms, const struct room *room,
                     const int *my_side, bool over_http)
{
    const struct table *table = table_find(rooms, (struct bytes){room->id, ROOM_ID_BYTES});
    json_write_object(writer);
    room_view_field(writer, "roomId", room->id);
    room_view_game_id(writer, room);
    room_view_field(writer, "mode", mode_name(room));
    room_view_field(writer, "rule", rule_name(room));
    json_field_int64(writer, "turnSeconds", room_turn_seconds(room));
    room_view_field(writer, "phase", phase_name(room));
    room_view_field(writer, "endedBy", ending_name(room));
    view_seats(writer, room, table);
    json_write_key(writer, "state");
    room_view_state(writer, room);
    json_write_key(writer, "series");
    room_view_series(writer, room);
    json_field_int64(writer, "spectators", table == NULL ? 0 : (int64_t)table_spectators(table));
    view_clock(writer, rooms, room);
    json_field_uint64(writer, "seq", table_seq(rooms, table));
    if (my_side != NULL) {
        room_view_field(writer, "type", "FULL");
        room_view_side(writer, "mySide", *my_side);
    }
    if (over_http) { /* under the names that the list has, too */
        char game_id[ROOM_WORD_BYTES];
        room_game_id(room, game_id);
        room_view_field(writer, "room_id", room->id);
        room_view_field(writer, "game_id", game_id);
        json_field_int64(writer, "turn_seconds", room_turn_seconds(room));
    }
    json_write_object_end(writer);
}

void room_view_row(struct json_writer *writer, const struct rooms *rooms, const struct room *room,
                   bool in_list)
{
    char game_id[ROOM_WORD_BYTES];
    room_game_id(room, game_id);
    json_write_object(writer);
    room_view_field(writer, "room_id", room->id);
    room_view_field(writer, "game_id", game_id);
    room_view_field(writer, "mode", mode_name(room));
    room_view_field(writer, "rule", rule_name(room));
    json_field_int64(writer, "turn_seconds", room_turn_seconds(room));
    room_view_field(writer, "phase", phase_name(room));
    if (in_list) {
        view_rules(writer, "clock", &room->clock.rules);
        const struct table *table = table_find(rooms, (struct bytes){room->id, ROOM_ID_BYTES});
        int64_t players = 0;
        for (int side = 0; side < ROOM_SIDES; side++)
            players += room->seats[side].taken || room->seats[side].ai;
        json_field_int64(writer, "players", players);
        json_field_int64(writer, "spectators",
                         table == NULL ? 0 : (int64_t)table_spectators(table));
    }
    json_write_object_end(writer);
}
