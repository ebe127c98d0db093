/* SPDX-License-Identifier: MIT */
#include "cli/room_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/clock_face.h"
#include "cli/fields.h"

static const char *const sides[2] = {"X", "O"};

/* ---- reading */

static void take_text(struct bytes json, const char *name, char *ret_text, size_t room)
{
    char text[ROOM_TEXT_BYTES] = "";
    (void)fields_text(json, name, text, sizeof text);
    table_clean(text, ret_text, room);
}

static bool take_flag(struct bytes json, const char *name)
{
    struct bytes value;
    return fields_raw(json, name, &value) && bytes_are(value, "true");
}

static struct room_point take_point(struct bytes json)
{
    struct room_point none = {-1, -1};
    int64_t x;
    int64_t y;
    if (!fields_int64(json, "x", &x) || !fields_int64(json, "y", &y) || x < 0 || y < 0 ||
        x >= ROOM_SIDE || y >= ROOM_SIDE)
        return none;
    return (struct room_point){(int)x, (int)y};
}

static bool take_board(struct bytes state, struct room_text *room)
{
    struct bytes whole; /* with its quotes: a longer one is not cut, but refused */
    if (!fields_raw(state, "board", &whole) || whole.size != ROOM_SIDE * ROOM_SIDE + 2 ||
        !fields_text(state, "board", room->board, sizeof room->board))
        return false;
    return strspn(room->board, ".XO") == ROOM_SIDE * ROOM_SIDE;
}

static bool take_state(struct bytes json, struct room_text *room)
{
    struct bytes state;
    struct bytes value;
    struct bytes item;
    room->last.x = -1;
    if (!fields_raw(json, "state", &state) || !take_board(state, room))
        return false;
    take_text(state, "current", room->current, sizeof room->current);
    take_text(state, "winner", room->winner, sizeof room->winner);
    room->over = take_flag(state, "over");
    (void)fields_int64(state, "step", &room->step);
    if (fields_raw(state, "lastMove", &value))
        room->last = take_point(value);
    if (!fields_raw(state, "line", &value) || value.at[0] != '[')
        return true;
    while (room->line_count < ROOM_SIDE && fields_item(&value, &item))
        room->line[room->line_count++] = take_point(item);
    return true;
}

static void take_seats(struct bytes json, struct room_text *room)
{
    struct bytes seats;
    struct bytes seat;
    for (size_t i = 0; i < 2; i++) {
        const char *text = "free";
        bool found = fields_raw(json, "seats", &seats) && fields_raw(seats, sides[i], &seat);
        if (found && take_flag(seat, "ai"))
            text = "the computer";
        else if (found && take_flag(seat, "taken"))
            text = !take_flag(seat, "connected") ? "away"
                   : take_flag(seat, "ready")    ? "ready"
                                                 : "not ready";
        (void)snprintf(room->seats[i], sizeof room->seats[i], "%s", text);
    }
}

static void take_clock(struct bytes json, struct room_text *room)
{
    struct bytes clock;
    struct bytes banks;
    room->left_ms = -1;
    room->bank_ms[0] = -1;
    room->bank_ms[1] = -1;
    if (!fields_raw(json, "clock", &clock))
        return;
    (void)fields_int64(clock, "leftMs", &room->left_ms);
    take_text(clock, "side", room->clock_side, sizeof room->clock_side);
    room->clock_runs = take_flag(clock, "running");
    if (!fields_raw(clock, "banks", &banks))
        return;
    for (size_t i = 0; i < 2; i++)
        (void)fields_int64(banks, sides[i], &room->bank_ms[i]);
}

bool room_text_read(struct bytes json, struct room_text *ret_room)
{
    struct room_text room = {.step = 0};
    struct bytes series;
    if (!take_state(json, &room))
        return false;
    take_text(json, "roomId", room.id, sizeof room.id);
    take_text(json, "gameId", room.game, sizeof room.game);
    take_text(json, "mode", room.mode, sizeof room.mode);
    take_text(json, "rule", room.rule, sizeof room.rule);
    take_text(json, "phase", room.phase, sizeof room.phase);
    (void)fields_int64(json, "turnSeconds", &room.turn_seconds);
    (void)fields_int64(json, "spectators", &room.spectators);
    (void)fields_int64(json, "seq", &room.seq);
    take_seats(json, &room);
    take_clock(json, &room);
    if (fields_raw(json, "series", &series)) {
        (void)fields_int64(series, "X", &room.wins[0]);
        (void)fields_int64(series, "O", &room.wins[1]);
        (void)fields_int64(series, "draws", &room.draws);
    }
    *ret_room = room;
    return true;
}

/* ---- the board */

struct room_name room_text_point(struct room_point point)
{
    struct room_name name = {"-"};
    if (point.x >= 0 && point.x < ROOM_SIDE && point.y >= 0 && point.y < ROOM_SIDE)
        (void)snprintf(name.text, sizeof name.text, "%c%d", 'A' + point.x,
                       (ROOM_SIDE - point.y) % 100);
    return name;
}

static void letters(char ret_text[ROOM_TEXT_BYTES])
{
    size_t used = (size_t)snprintf(ret_text, ROOM_TEXT_BYTES, "  ");
    for (int x = 0; x < ROOM_SIDE; x++)
        used += (size_t)snprintf(ret_text + used, ROOM_TEXT_BYTES - used, " %c", 'A' + x);
}

void room_text_board(const struct room_text *room, const struct screen_glyphs *glyphs, int row,
                     char ret_text[ROOM_TEXT_BYTES])
{
    if (row == 0 || row == ROOM_ROWS - 1) {
        letters(ret_text);
        return;
    }
    int y = row - 1;
    size_t used = (size_t)snprintf(ret_text, ROOM_TEXT_BYTES, "%2d", ROOM_SIDE - y);
    for (int x = 0; x < ROOM_SIDE; x++) {
        char stone = room->board[y * ROOM_SIDE + x];
        bool here = room->last.x == x && room->last.y == y;
        bool before = x > 0 && room->last.x == x - 1 && room->last.y == y;
        used += (size_t)snprintf(ret_text + used, ROOM_TEXT_BYTES - used, "%s%s",
                                 here     ? "("
                                 : before ? ")"
                                          : " ",
                                 stone == 'X'   ? glyphs->stones[0]
                                 : stone == 'O' ? glyphs->stones[1]
                                                : glyphs->point);
    }
    if (room->last.y == y && room->last.x == ROOM_SIDE - 1)
        (void)snprintf(ret_text + used, ROOM_TEXT_BYTES - used, ")");
}

/* ---- what is told */

static void say_turn(const struct room_text *room, char *ret_text, size_t size)
{
    if (room->over && strcmp(room->winner, "DRAW") == 0)
        (void)snprintf(ret_text, size, "over, a draw");
    else if (room->over)
        (void)snprintf(ret_text, size, "over, %s has won", room->winner);
    else if (room->left_ms >= 0 && room->clock_runs)
        (void)snprintf(ret_text, size, "%s to move, %s left", room->current,
                       clock_face_whole((uint64_t)room->left_ms).text);
    else
        (void)snprintf(ret_text, size, "%s to move", room->current);
}

static void say_last(const struct room_text *room, char ret_text[ROOM_TEXT_BYTES])
{
    const struct room_point *last = &room->last;
    if (last->x < 0)
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "last      none yet");
    else
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "last      %c %s (x %d, y %d)",
                       room->board[last->y * ROOM_SIDE + last->x], room_text_point(*last).text,
                       last->x, last->y);
}

static void say_seat(const struct room_text *room, const struct screen_glyphs *glyphs, int side,
                     char ret_text[ROOM_TEXT_BYTES])
{
    bool stone = strcmp(glyphs->stones[side], sides[side]) != 0;
    bool on = room->clock_runs && strcmp(room->clock_side, sides[side]) == 0;
    int64_t ms = room->bank_ms[side] >= 0 ? room->bank_ms[side] : on ? room->left_ms : -1;
    (void)snprintf(ret_text, ROOM_TEXT_BYTES, "%s %s       %s%s%s", sides[side],
                   stone ? glyphs->stones[side] : " ", room->seats[side], ms >= 0 ? ", " : "",
                   ms >= 0 ? clock_face_whole((uint64_t)ms).text : "");
}

void room_text_fact(const struct room_text *room, const struct screen_glyphs *glyphs, int fact,
                    char ret_text[ROOM_TEXT_BYTES])
{
    char turn[64];
    ret_text[0] = '\0';
    switch (fact) {
    case 0:
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "room      %.100s", room->id);
        break;
    case 1:
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "game      %s, %s, %" PRId64 " s a turn",
                       room->mode, room->rule, room->turn_seconds);
        break;
    case 2:
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "phase     %s, move %" PRId64, room->phase,
                       room->step);
        break;
    case 4:
    case 5:
        say_seat(room, glyphs, fact - 4, ret_text);
        break;
    case 6:
        say_turn(room, turn, sizeof turn);
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "turn      %s", turn);
        break;
    case 7:
        say_last(room, ret_text);
        break;
    case 8:
        (void)snprintf(ret_text, ROOM_TEXT_BYTES,
                       "series    X %" PRId64 ", O %" PRId64 ", draws %" PRId64, room->wins[0],
                       room->wins[1], room->draws);
        break;
    case 9:
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "watching  %" PRId64, room->spectators);
        break;
    default:
        break;
    }
}

void room_text_say(const struct room_text *room, char ret_text[ROOM_TEXT_BYTES])
{
    char turn[64];
    char last[32] = "";
    say_turn(room, turn, sizeof turn);
    if (room->last.x >= 0)
        (void)snprintf(last, sizeof last, " %c %s",
                       room->board[room->last.y * ROOM_SIDE + room->last.x],
                       room_text_point(room->last).text);
    (void)snprintf(ret_text, ROOM_TEXT_BYTES, "%s, move %" PRId64 "%s: %s", room->phase, room->step,
                   last, turn);
}

/* ---- the list */

void room_text_row(struct bytes json, int64_t now_ms, struct table *table)
{
    static const char *const texts[] = {"room_id", "mode", "rule", "phase"};
    static const char *const numbers[] = {"turn_seconds", "players", "spectators"};
    (void)now_ms;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[ROOM_TEXT_BYTES];
        take_text(json, texts[i], text, sizeof text);
        table_put(table, i == 0 ? PAINT_BOLD : PAINT_PLAIN, "%s", text);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t number;
        if (fields_int64(json, numbers[i], &number))
            table_put(table, PAINT_PLAIN, "%" PRId64, number);
        else
            table_put(table, PAINT_PLAIN, "-");
    }
}
