/* SPDX-License-Identifier: MIT */
#include "cli/room_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/clock_face.h"
#include "cli/fields.h"
#include "schedule/duration.h"

static const char *const sides[2] = {"X", "O"};

/* ---- reading */

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
    fields_clean(state, "current", room->current, sizeof room->current);
    fields_clean(state, "winner", room->winner, sizeof room->winner);
    room->over = fields_true(state, "over");
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
        if (found && fields_true(seat, "ai"))
            text = "the computer";
        else if (found && fields_true(seat, "taken"))
            text = !fields_true(seat, "connected") ? "away"
                   : fields_true(seat, "ready")    ? "ready"
                                                   : "not ready";
        (void)snprintf(room->seats[i], sizeof room->seats[i], "%s", text);
    }
}

static void take_both(struct bytes json, const char *name, int64_t ret_values[2])
{
    struct bytes both;
    for (size_t i = 0; i < 2 && fields_raw(json, name, &both); i++)
        (void)fields_int64(both, sides[i], &ret_values[i]);
}

static void take_clock(struct bytes json, struct room_text *room)
{
    struct bytes clock = {0};
    struct bytes rules = {0};
    int64_t turn_seconds = 0;
    room->left_ms = -1;
    room->bank_ms[0] = -1;
    room->bank_ms[1] = -1;
    (void)fields_int64(json, "turnSeconds", &turn_seconds);
    if (fields_raw(json, "clock", &clock))
        (void)fields_raw(clock, "rules", &rules);
    room->rules = clock_rules_read(rules, turn_seconds);
    (void)fields_int64(clock, "leftMs", &room->left_ms);
    fields_clean(clock, "side", room->clock_side, sizeof room->clock_side);
    fields_clean(clock, "onTimeout", room->on_timeout, sizeof room->on_timeout);
    (void)fields_int64(clock, "graceMs", &room->grace_ms);
    room->clock_runs = fields_true(clock, "running");
    room->overdue = fields_true(clock, "overdue");
    take_both(clock, "banks", room->bank_ms);
    take_both(clock, "periods", room->periods);
    for (size_t i = 0; i < 2; i++) { /* never more than the rules have, which can be counted with */
        if (room->periods[i] < 0 || room->periods[i] > room->rules.periods)
            room->periods[i] = 0;
    }
}

bool room_text_read(struct bytes json, struct room_text *ret_room)
{
    struct room_text room = {.step = 0};
    struct bytes series;
    if (!take_state(json, &room))
        return false;
    fields_clean(json, "roomId", room.id, sizeof room.id);
    fields_clean(json, "gameId", room.game, sizeof room.game);
    fields_clean(json, "mode", room.mode, sizeof room.mode);
    fields_clean(json, "rule", room.rule, sizeof room.rule);
    fields_clean(json, "phase", room.phase, sizeof room.phase);
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
    else if (strcmp(room->phase, "WAITING") == 0)
        (void)snprintf(ret_text, size, "not begun, not all are ready");
    else if (room->overdue)
        (void)snprintf(ret_text, size, "%s to move, the time is up", room->current);
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

/* What runs down now, and the whole periods behind it: "0:42 + 3 x 10s", "0:07 + 2 x 10s", "3 x 10s"
 * before the first of them runs. */
static void say_byoyomi(const struct room_text *room, const struct screen_glyphs *glyphs, int side,
                        char *ret_text, size_t size)
{
    char length[DURATION_TEXT_BYTES];
    bool on = room->clock_runs && strcmp(room->clock_side, sides[side]) == 0;
    int64_t ms = room->bank_ms[side] > 0 ? room->bank_ms[side] : 0;
    int64_t whole = room->periods[side];
    if (on && ms == 0 && whole > 0) {
        int64_t behind_ms = --whole * room->rules.extra_ms;
        ms = room->left_ms > behind_ms ? room->left_ms - behind_ms : 0;
    }
    duration_format((uint64_t)room->rules.extra_ms, length);
    size_t used = 0;
    if (ms > 0 || whole == 0)
        used = (size_t)snprintf(ret_text, size, "%s%s",
                                clock_face_whole(ms > 0 ? (uint64_t)ms : 0).text,
                                whole > 0 ? " + " : "");
    if (whole > 0)
        (void)snprintf(ret_text + used, size - used, "%" PRId64 " %s %s", whole, glyphs->times,
                       length);
    else if (ms > 0)
        (void)snprintf(ret_text + used, size - used, ", the last period");
}

static void say_seat(const struct room_text *room, const struct screen_glyphs *glyphs, int side,
                     char ret_text[ROOM_TEXT_BYTES])
{
    bool stone = strcmp(glyphs->stones[side], sides[side]) != 0;
    bool on = room->clock_runs && strcmp(room->clock_side, sides[side]) == 0;
    int64_t ms = room->bank_ms[side] >= 0 ? room->bank_ms[side] : on ? room->left_ms : -1;
    char left[ROOM_TEXT_BYTES / 2] = "";
    if (room->rules.kind == CLOCK_BYOYOMI)
        say_byoyomi(room, glyphs, side, left, sizeof left);
    else if (ms >= 0)
        (void)snprintf(left, sizeof left, "%s", clock_face_whole((uint64_t)ms).text);
    (void)snprintf(ret_text, ROOM_TEXT_BYTES, "%s %s       %s%s%s", sides[side],
                   stone ? glyphs->stones[side] : " ", room->seats[side],
                   left[0] != '\0' ? ", " : "", left);
}

/* What is done when the time is up, where it is not what is usual. */
static void say_timeout(const struct room_text *room, char ret_text[ROOM_TEXT_BYTES])
{
    char grace[DURATION_TEXT_BYTES];
    bool usual = room->on_timeout[0] == '\0' || strcmp(room->on_timeout, "resign") == 0;
    if (usual && room->grace_ms <= 0)
        return;
    duration_format(room->grace_ms > 0 ? (uint64_t)room->grace_ms : 0, grace);
    (void)snprintf(ret_text, ROOM_TEXT_BYTES, "timeout   %s%s%s%s",
                   room->on_timeout[0] != '\0' ? room->on_timeout : "resign",
                   room->grace_ms > 0 ? ", " : "", room->grace_ms > 0 ? grace : "",
                   room->grace_ms > 0 ? " more for one who is away" : "");
}

void room_text_fact(const struct room_text *room, const struct screen_glyphs *glyphs, int fact,
                    char ret_text[ROOM_TEXT_BYTES])
{
    char turn[64];
    char clock[CLOCK_RULES_TEXT_BYTES];
    ret_text[0] = '\0';
    switch (fact) {
    case 0:
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "room      %.100s", room->id);
        break;
    case 1:
        clock_rules_say(&room->rules, glyphs->times, clock);
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "game      %s, %s, %.100s", room->mode,
                       room->rule, clock);
        break;
    case 2:
        (void)snprintf(ret_text, ROOM_TEXT_BYTES, "phase     %s, move %" PRId64, room->phase,
                       room->step);
        break;
    case 3:
        say_timeout(room, ret_text);
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
    static const char *const numbers[] = {"players", "spectators"};
    char clock[CLOCK_RULES_TEXT_BYTES];
    struct bytes json_rules = {0};
    int64_t turn_seconds = 0;
    (void)now_ms;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[ROOM_TEXT_BYTES];
        fields_clean(json, texts[i], text, sizeof text);
        table_put(table, i == 0 ? PAINT_BOLD : PAINT_PLAIN, "%s", text);
    }
    (void)fields_int64(json, "turn_seconds", &turn_seconds);
    (void)fields_raw(json, "clock", &json_rules);
    struct clock_rules rules = clock_rules_read(json_rules, turn_seconds);
    clock_rules_say(&rules, screen_glyphs_of_locale()->times, clock);
    table_put(table, PAINT_PLAIN, "%s", clock);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t number;
        if (fields_int64(json, numbers[i], &number))
            table_put(table, PAINT_PLAIN, "%" PRId64, number);
        else
            table_put(table, PAINT_PLAIN, "-");
    }
}
