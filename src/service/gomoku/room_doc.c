/* SPDX-License-Identifier: MIT */
/* What a room is on disk: JSON, as its record's doc.
 *
 *   {"mode":"PVP","rule":"RENJU","aiTimed":false,"game":2,"phase":2,"winner":0,
 *    "board":"…225…","last":112,"draws":0,"createdMs":…,"touchedMs":…,
 *    "onTimeout":0,"grace":0,"passes":0,"passed":false,"overdue":false,"graced":false,
 *    "credited":0,"endedBy":0,"toldMs":…,
 *    "seats":[{"player":1,"taken":true,"ready":false,"ai":false,"wins":1,"keyHash":"…",
 *              "takerEpoch":3,"takerSession":17,"wantsRestart":false,"hadGrace":false},{…}],
 *    "clock":{"mode":0,"bank":30000,"extra":0,"periods":0,"phase":1,"side":0,
 *             "started":…,"spent":0,"banks":[30000,30000],"left":[0,0],
 *             "lag":[0,0],"lagLeft":[0,0]}}
 *
 * Seats X first. Phase, winner, onTimeout and endedBy are the numbers of room.h, the clock's
 * those of clock.h.
 */

#include <assert.h>
#include <limits.h>

#include "base/json_read.h"
#include "service/gomoku/rooms_inside.h"

/* ---- reading */

/* Where the fields of one object go; false: not what was written. */
struct fields {
    struct json_reader *reader;
    const char *const *names;
    size_t count;
    size_t later; /* the last so many may be missing: docs were written before there were any */
    bool (*read)(struct fields *fields, size_t which);
    struct room *room;
    struct room_seat *seat;
};

static bool read_object(struct fields *fields)
{
    struct json_keys keys = {fields->names, fields->count, 0};
    size_t which;
    if (!json_read_expect(fields->reader, JSON_READ_OBJECT))
        return false;
    while (json_read_field(fields->reader, &keys, &which)) {
        if (!fields->read(fields, which))
            return false;
    }
    uint64_t needed = (UINT64_C(1) << (fields->count - fields->later)) - 1;
    return (keys.seen & needed) == needed;
}

static bool read_number(struct json_reader *reader, int64_t least, int64_t most, int64_t *ret_value)
{
    int64_t value;
    if (!json_read_expect(reader, JSON_READ_NUMBER) || !json_read_int64(reader, &value) ||
        value < least || value > most)
        return false;
    *ret_value = value;
    return true;
}

static bool read_int(struct json_reader *reader, int least, int most, int *ret_value)
{
    int64_t value;
    bool ok = read_number(reader, least, most, &value);
    *ret_value = ok ? (int)value : *ret_value;
    return ok;
}

static bool read_count(struct json_reader *reader, uint64_t *ret_value)
{
    return json_read_expect(reader, JSON_READ_NUMBER) && json_read_uint64(reader, ret_value);
}

static bool read_bool(struct json_reader *reader, bool *ret_value)
{
    enum json_token token = json_read_next(reader);
    *ret_value = token == JSON_READ_TRUE;
    return token == JSON_READ_TRUE || token == JSON_READ_FALSE;
}

/* One of two words; which. */
static bool read_choice(struct json_reader *reader, const char *no, const char *yes, bool *ret_yes)
{
    if (!json_read_expect(reader, JSON_READ_STRING))
        return false;
    struct bytes word = {reader->span.at, reader->span.size};
    *ret_yes = bytes_are(word, yes);
    return *ret_yes || bytes_are(word, no);
}

static bool read_pair(struct json_reader *reader, int64_t most, int64_t *first, int64_t *second)
{
    return json_read_expect(reader, JSON_READ_ARRAY) && read_number(reader, 0, most, first) &&
           read_number(reader, 0, most, second) && json_read_expect(reader, JSON_READ_ARRAY_END);
}

static const char *const clock_names[] = {"mode",  "bank", "extra",   "periods",
                                          "phase", "side", "started", "spent",
                                          "banks", "left", "lag",     "lagLeft"};

static bool read_clock_field(struct fields *fields, size_t which)
{
    struct json_reader *reader = fields->reader;
    struct turn_clock *clock = &fields->room->clock;
    int number = 0;
    switch (which) {
    case 0:
        if (!read_int(reader, TURN_EACH, TURN_BYOYOMI, &number))
            return false;
        clock->rules.mode = (enum turn_mode)number;
        return true;
    case 1:
        return read_number(reader, 0, TURN_CLOCK_MAX_MS, &clock->rules.bank_ms);
    case 2:
        return read_number(reader, 0, TURN_CLOCK_MAX_MS, &clock->rules.extra_ms);
    case 3:
        return read_number(reader, 0, TURN_CLOCK_PERIODS_MAX, &clock->rules.periods);
    case 4:
        if (!read_int(reader, TURN_STOPPED, TURN_FLAGGED, &number))
            return false;
        clock->phase = (enum turn_phase)number;
        return true;
    case 5:
        return read_int(reader, 0, 1, &clock->to_move);
    case 6:
        return read_number(reader, INT64_MIN, INT64_MAX, &clock->started_ms);
    case 7:
        return read_number(reader, 0, INT64_MAX, &clock->spent_ms);
    case 8:
        return read_pair(reader, TURN_CLOCK_MAX_MS, &clock->side[0].bank_ms,
                         &clock->side[1].bank_ms);
    case 9:
        return read_pair(reader, TURN_CLOCK_PERIODS_MAX, &clock->side[0].periods,
                         &clock->side[1].periods);
    case 10:
        return read_pair(reader, TURN_CLOCK_MAX_MS, &clock->rules.lag_move_ms,
                         &clock->rules.lag_quota_ms);
    default:
        return read_pair(reader, TURN_CLOCK_MAX_MS, &clock->side[0].lag_ms, &clock->side[1].lag_ms);
    }
}

static const char *const seat_names[] = {"player",       "taken",   "ready",      "ai",
                                         "wins",         "keyHash", "takerEpoch", "takerSession",
                                         "wantsRestart", "hadGrace"};

static bool read_hash(struct json_reader *reader, char *to)
{
    size_t size;
    if (!json_read_expect(reader, JSON_READ_STRING) ||
        !json_read_string(reader, to, SHA256_HEX_BYTES, &size))
        return false;
    to[size] = '\0';
    return size == 0 || size == SHA256_HEX_BYTES;
}

static bool read_seat_field(struct fields *fields, size_t which)
{
    struct json_reader *reader = fields->reader;
    struct room_seat *seat = fields->seat;
    switch (which) {
    case 0:
        return read_int(reader, 0, 1, &seat->player);
    case 1:
        return read_bool(reader, &seat->taken);
    case 2:
        return read_bool(reader, &seat->ready);
    case 3:
        return read_bool(reader, &seat->ai);
    case 4:
        return read_count(reader, &seat->wins);
    case 5:
        return read_hash(reader, seat->key_hash);
    case 6:
        return read_count(reader, &seat->taker_epoch);
    case 7:
        return read_count(reader, &seat->taker_session);
    case 8:
        return read_bool(reader, &seat->wants_restart);
    default:
        return read_bool(reader, &seat->had_grace);
    }
}

static bool read_seats(struct fields *fields)
{
    struct fields seat = *fields;
    seat.names = seat_names;
    seat.count = sizeof seat_names / sizeof seat_names[0];
    seat.later = 0;
    seat.read = read_seat_field;
    if (!json_read_expect(fields->reader, JSON_READ_ARRAY))
        return false;
    for (int side = 0; side < ROOM_SIDES; side++) {
        seat.seat = &fields->room->seats[side];
        if (!read_object(&seat))
            return false;
    }
    return json_read_expect(fields->reader, JSON_READ_ARRAY_END);
}

static bool read_board(struct json_reader *reader, struct room *room)
{
    if (!json_read_expect(reader, JSON_READ_STRING) ||
        gomoku_board_read(reader->span.at, reader->span.size, &room->board, NULL) != TOCSIN_OK)
        return false;
    room->step = GOMOKU_POINTS - gomoku_board_left(&room->board);
    return true;
}

static bool read_clock(struct fields *fields)
{
    struct fields clock = *fields;
    clock.names = clock_names;
    clock.count = sizeof clock_names / sizeof clock_names[0];
    clock.later = 0;
    clock.read = read_clock_field;
    return read_object(&clock);
}

static const char *const room_names[] = {
    "mode",   "rule",      "aiTimed",   "game",     "phase",   "winner",    "board", "last",
    "draws",  "createdMs", "touchedMs", "seats",    "clock",   "onTimeout", "grace", "passes",
    "passed", "overdue",   "graced",    "credited", "endedBy", "toldMs"};

static bool read_flag_field(struct fields *fields, size_t which)
{
    struct json_reader *reader = fields->reader;
    struct room *room = fields->room;
    int number = 0;
    switch (which) {
    case 13:
        if (!read_int(reader, ROOM_FLAG_RESIGNS, ROOM_FLAG_IS_TOLD, &number))
            return false;
        room->on_timeout = (enum room_flag)number;
        return true;
    case 14:
        return read_number(reader, 0, ROOM_GRACE_MAX_MS, &room->grace_ms);
    case 15:
        return read_int(reader, 0, INT_MAX / 2, &room->passes);
    case 16:
        return read_bool(reader, &room->passed);
    case 17:
        return read_bool(reader, &room->overdue);
    case 18:
        return read_bool(reader, &room->graced);
    case 19:
        return read_number(reader, 0, TURN_CLOCK_MAX_MS, &room->credited_ms);
    case 20:
        if (!read_int(reader, ROOM_NO_ENDING, ROOM_BY_DRAW, &number))
            return false;
        room->ended_by = (enum room_ending)number;
        return true;
    default:
        return read_number(reader, INT64_MIN, INT64_MAX, &room->told_ms);
    }
}

static bool read_room_field(struct fields *fields, size_t which)
{
    struct json_reader *reader = fields->reader;
    struct room *room = fields->room;
    int number = 0;
    bool yes = false;
    bool ok = true;
    switch (which) {
    case 0:
        return read_choice(reader, "PVP", "PVE", &room->pve);
    case 1:
        ok = read_choice(reader, "STANDARD", "RENJU", &yes);
        room->rule = yes ? GOMOKU_RENJU : GOMOKU_STANDARD;
        return ok;
    case 2:
        return read_bool(reader, &room->ai_timed);
    case 3:
        return read_count(reader, &room->game);
    case 4:
        ok = read_int(reader, ROOM_WAITING, ROOM_ENDED, &number);
        room->phase = (enum room_phase)number;
        return ok;
    case 5:
        ok = read_int(reader, ROOM_NOT_OVER, ROOM_DRAWN, &number);
        room->winner = (enum room_winner)number;
        return ok;
    case 6:
        return read_board(reader, room);
    case 7:
        return read_int(reader, GOMOKU_NOWHERE, GOMOKU_POINTS - 1, &room->last);
    case 8:
        return read_count(reader, &room->draws);
    case 9:
        return read_number(reader, INT64_MIN, INT64_MAX, &room->created_ms);
    case 10:
        return read_number(reader, INT64_MIN, INT64_MAX, &room->touched_ms);
    case 11:
        return read_seats(fields);
    case 12:
        return read_clock(fields);
    default:
        return read_flag_field(fields, which);
    }
}

enum tocsin_status room_decode(const struct engine_record *record, struct room *ret_room)
{
    struct json_reader reader;
    *ret_room = (struct room){.rev = record->rev};
    if (record->key.size != ROOM_ID_BYTES)
        return TOCSIN_DAMAGED;
    memcpy(ret_room->id, record->key.at, ROOM_ID_BYTES);
    struct fields fields = {
        .reader = &reader,
        .names = room_names,
        .count = sizeof room_names / sizeof room_names[0],
        .later = 2,
        .read = read_room_field,
        .room = ret_room,
    };
    json_reader_init(&reader, record->doc.at, record->doc.size, 0);
    bool ok = read_object(&fields) && json_read_finish(&reader, NULL) == TOCSIN_OK &&
              turn_rules_valid(&ret_room->clock.rules, NULL) == TOCSIN_OK &&
              ret_room->seats[0].player != ret_room->seats[1].player;
    return ok ? TOCSIN_OK : TOCSIN_DAMAGED;
}

/* ---- writing */

static void write_pair(struct json_writer *writer, const char *name, int64_t first, int64_t second)
{
    json_write_key(writer, name);
    json_write_array(writer);
    json_write_int64(writer, first);
    json_write_int64(writer, second);
    json_write_array_end(writer);
}

static void write_seats(struct json_writer *writer, const struct room *room)
{
    json_write_key(writer, "seats");
    json_write_array(writer);
    for (int side = 0; side < ROOM_SIDES; side++) {
        const struct room_seat *seat = &room->seats[side];
        json_write_object(writer);
        json_field_int64(writer, "player", seat->player);
        json_field_bool(writer, "taken", seat->taken);
        json_field_bool(writer, "ready", seat->ready);
        json_field_bool(writer, "ai", seat->ai);
        json_field_uint64(writer, "wins", seat->wins);
        json_field_text(writer, "keyHash", seat->key_hash);
        json_field_uint64(writer, "takerEpoch", seat->taker_epoch);
        json_field_uint64(writer, "takerSession", seat->taker_session);
        json_field_bool(writer, "wantsRestart", seat->wants_restart);
        json_field_bool(writer, "hadGrace", seat->had_grace);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void write_clock(struct json_writer *writer, const struct turn_clock *clock)
{
    json_write_key(writer, "clock");
    json_write_object(writer);
    json_field_int64(writer, "mode", (int)clock->rules.mode);
    json_field_int64(writer, "bank", clock->rules.bank_ms);
    json_field_int64(writer, "extra", clock->rules.extra_ms);
    json_field_int64(writer, "periods", clock->rules.periods);
    json_field_int64(writer, "phase", (int)clock->phase);
    json_field_int64(writer, "side", clock->to_move);
    json_field_int64(writer, "started", clock->started_ms);
    json_field_int64(writer, "spent", clock->spent_ms);
    write_pair(writer, "banks", clock->side[0].bank_ms, clock->side[1].bank_ms);
    write_pair(writer, "left", clock->side[0].periods, clock->side[1].periods);
    write_pair(writer, "lag", clock->rules.lag_move_ms, clock->rules.lag_quota_ms);
    write_pair(writer, "lagLeft", clock->side[0].lag_ms, clock->side[1].lag_ms);
    json_write_object_end(writer);
}

static void room_encode(struct buffer *out, const struct room *room)
{
    struct json_writer writer;
    buffer_clear(out);
    json_writer_init(&writer, out);
    json_write_object(&writer);
    json_field_text(&writer, "mode", room->pve ? "PVE" : "PVP");
    json_field_text(&writer, "rule", room->rule == GOMOKU_RENJU ? "RENJU" : "STANDARD");
    json_field_bool(&writer, "aiTimed", room->ai_timed);
    json_field_uint64(&writer, "game", room->game);
    json_field_int64(&writer, "phase", (int)room->phase);
    json_field_int64(&writer, "winner", (int)room->winner);
    json_write_key(&writer, "board");
    json_write_string(&writer, room->board.at, GOMOKU_POINTS);
    json_field_int64(&writer, "last", room->last);
    json_field_uint64(&writer, "draws", room->draws);
    json_field_int64(&writer, "createdMs", room->created_ms);
    json_field_int64(&writer, "touchedMs", room->touched_ms);
    write_seats(&writer, room);
    write_clock(&writer, &room->clock);
    json_field_int64(&writer, "onTimeout", (int)room->on_timeout);
    json_field_int64(&writer, "grace", room->grace_ms);
    json_field_int64(&writer, "passes", room->passes);
    json_field_bool(&writer, "passed", room->passed);
    json_field_bool(&writer, "overdue", room->overdue);
    json_field_bool(&writer, "graced", room->graced);
    json_field_int64(&writer, "credited", room->credited_ms);
    json_field_int64(&writer, "endedBy", (int)room->ended_by);
    json_field_int64(&writer, "toldMs", room->told_ms);
    json_write_object_end(&writer);
}

static enum room_mark mark_of(const struct room *room)
{
    if (room->phase == ROOM_WAITING)
        return MARK_WAITING;
    if (room->phase == ROOM_ENDED)
        return MARK_ENDED;
    return room_ai_moves(room) ? MARK_AI_MOVES : MARK_PLAYING;
}

uint64_t room_marks_of(int phase)
{
    static const uint64_t marks[] = {
        [ROOM_WAITING] = UINT64_C(1) << MARK_WAITING,
        [ROOM_PLAYING] = UINT64_C(1) << MARK_PLAYING | UINT64_C(1) << MARK_AI_MOVES,
        [ROOM_ENDED] = UINT64_C(1) << MARK_ENDED,
    };
    return marks[phase];
}

int64_t room_idle_ms(const struct rooms *rooms, const struct room *room)
{
    return room_never_played(room) && rooms->limits.waiting_idle_ms < rooms->limits.idle_ms
               ? rooms->limits.waiting_idle_ms
               : rooms->limits.idle_ms;
}

enum tocsin_status room_put(struct rooms *rooms, struct change *change, struct room *room)
{
    return room_put_since(rooms, change, room, engine_now_up_ms(rooms->engine));
}

enum tocsin_status room_put_since(struct rooms *rooms, struct change *change, struct room *room,
                                  int64_t touched_ms)
{
    room->touched_ms = touched_ms;
    room_encode(&rooms->doc, room);
    if (buffer_status(&rooms->doc) != TOCSIN_OK)
        return buffer_status(&rooms->doc);
    /* A turn may be longer than a room is left alone: it is not dropped in the middle of one. */
    int64_t from = room_timed(room) ? turn_clock_deadline(&room->clock) : room->touched_ms;
    assert(from != TURN_CLOCK_NEVER); /* whoever is timed has a clock that runs */
    struct bytes id = {room->id, ROOM_ID_BYTES};
    struct change_put put = {
        .kind = rooms->kind,
        .key = id,
        .home = id,
        .due_ms = from + room_idle_ms(rooms, room),
        .basis = STORE_ELAPSED,
        .mark = (uint8_t)mark_of(room),
        .doc = {rooms->doc.data, rooms->doc.size},
    };
    return change_put(change, &put, &room->rev);
}

enum tocsin_status room_find(struct rooms *rooms, struct change *change, struct bytes id,
                             struct room *ret_room)
{
    struct engine_record record;
    enum tocsin_status status = change_get(change, rooms->kind, id, &record);
    return status == TOCSIN_OK ? room_decode(&record, ret_room) : status;
}
