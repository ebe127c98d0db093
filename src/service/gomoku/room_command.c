/* SPDX-License-Identifier: MIT */
/* What sessions ask for, as changes. Each verb may run several times (engine.h) and has no effect
 * but what it stages and what it writes into its call; who is here changes, and answers go out,
 * when it is durable (settled). What was done is told to the room first, and then to whoever
 * asked: with the receipt of a move its STATE has been seen. But a resume is answered first, so
 * that the room hears of somebody who is there. */

#include <stdio.h>
#include <stdlib.h>

#include "service/gomoku/rooms_inside.h"

/* Its bytes are in `words`. */
struct room_call {
    struct errand errand;
    struct rooms *rooms;
    struct room_command command;
    bool gone; /* the session is: nobody is told */
    char new_key[ROOM_KEY_BYTES + 1];

    /* What the last run came to. */
    bool found;
    struct room room;
    char own_key[ROOM_KEY_BYTES + 1]; /* RESUME: that this connection came with before */
    bool told;                        /* a bulletin follows */
    bool answered_last;               /* … and then the answer */
    bool settled;
    int player;       /* RESUME */
    struct bytes key; /* RESUME: of this player */
    enum outcome outcome;
    const char *code;
    struct tocsin_why why;

    char words[];
};

static enum tocsin_status refuse(struct room_call *call, enum outcome outcome, const char *code,
                                 const char *detail)
{
    call->outcome = outcome;
    call->code = code;
    (void)snprintf(call->why.text, sizeof call->why.text, "%s", detail);
    return TOCSIN_CONFLICT; /* nothing is written */
}

static enum tocsin_status refuse_answer(struct room_call *call, enum room_answer answer)
{
    static const struct {
        enum outcome outcome;
        const char *code;
        const char *detail;
    } rows[] = {
        [ROOM_NOT_PLAYING] = {OUTCOME_CONFLICTING, "NOT_PLAYING", "no game is on"},
        [ROOM_NOT_WAITING] = {OUTCOME_CONFLICTING, "NOT_WAITING",
                              "the game is over: restart for another"},
        [ROOM_NOT_YOUR_TURN] = {OUTCOME_CONFLICTING, "NOT_YOUR_TURN", "the other side is to move"},
        [ROOM_OFF_BOARD] = {OUTCOME_INVALID, "VALIDATE_FAILED", "x, y: from 0 to 14 each"},
        [ROOM_TAKEN] = {OUTCOME_CONFLICTING, "TAKEN", "a stone lies there"},
        [ROOM_OVERLINE] = {OUTCOME_CONFLICTING, "FORBIDDEN_MOVE",
                           "overline: six or more in a row are forbidden to black"},
        [ROOM_DOUBLE_FOUR] = {OUTCOME_CONFLICTING, "FORBIDDEN_MOVE",
                              "double-four: two fours at once are forbidden to black"},
        [ROOM_DOUBLE_THREE] = {OUTCOME_CONFLICTING, "FORBIDDEN_MOVE",
                               "double-three: two threes at once are forbidden to black"},
        [ROOM_TOO_LATE] = {OUTCOME_CONFLICTING, "TIMED_OUT", "the time of this turn is over"},
    };
    return refuse(call, rows[answer].outcome, rows[answer].code, rows[answer].detail);
}

static struct room_seat *seat_of(struct room_call *call, int side)
{
    return &call->room.seats[side];
}

/* ---- resume: a seat, or a place to watch from */

/* Somebody came: that counts, but is not worth a write each time. */
static enum tocsin_status touch(struct room_call *call, struct change *change)
{
    struct rooms *rooms = call->rooms;
    int64_t since_ms = engine_now_ms(rooms->engine) - call->room.touched_ms;
    bool lately = since_ms < room_idle_ms(rooms, &call->room) / 24;
    return lately ? TOCSIN_OK : room_put(rooms, change, &call->room);
}

/* The seat that this very connection took, when its answer was lost: unless somebody else came
 * with the key since. */
static int side_taken_before(struct room_call *call)
{
    const struct table *table = table_find(call->rooms, call->command.room_id);
    for (int side = 0; side < ROOM_SIDES; side++) {
        const struct room_seat *seat = seat_of(call, side);
        const struct presence *holder = table == NULL ? NULL : table_player(table, seat->player);
        if (seat->taken && seat->taker_epoch == engine_epoch(call->rooms->engine) &&
            seat->taker_session == call->command.session &&
            (holder == NULL || holder->session == call->command.session))
            return side;
    }
    return ROOM_NO_SIDE;
}

/* Somebody who was earlier is about to sit there. */
static bool is_coming(const struct room_call *call, int player)
{
    const struct errand *end = &call->rooms->calls;
    for (const struct errand *it = call->errand.next; it != end; it = it->next) {
        const struct room_call *earlier = (const struct room_call *)it;
        if (earlier->command.verb == ROOM_RESUME && earlier->player == player &&
            bytes_equal(earlier->command.room_id, call->command.room_id))
            return true;
    }
    return false;
}

/* Before the first game nothing is lost with a seat: one whose player has left goes to who is
 * here. After a restart they are waited for from the start on. */
static int abandoned_side(struct room_call *call)
{
    const struct rooms *rooms = call->rooms;
    const struct table *table = table_find(rooms, call->command.room_id);
    for (int side = 0; side < ROOM_SIDES && room_never_played(&call->room); side++) {
        int player = seat_of(call, side)->player;
        int64_t seen_ms = rooms->started_ms;
        if (seat_of(call, side)->ai || is_coming(call, player) ||
            (table != NULL && table_player(table, player) != NULL))
            continue;
        if (table != NULL && table->seen_ms[player] > seen_ms)
            seen_ms = table->seen_ms[player];
        if (engine_now_ms(rooms->engine) - seen_ms >= rooms->limits.waiting_seat_ms)
            return side;
    }
    return ROOM_NO_SIDE;
}

static void seated_fields(struct json_writer *writer, const struct rooms *rooms,
                          const struct room *room, const void *arg)
{
    (void)rooms;
    (void)room;
    room_view_side(writer, "side", *(const int *)arg);
}

static enum tocsin_status take_seat(struct room_call *call, struct change *change, int side)
{
    struct rooms *rooms = call->rooms;
    struct room_seat *seat = seat_of(call, side);
    bool again = seat->taken;
    call->key = bytes_of(call->new_key);
    call->player = seat->player;
    room_take_seat(&call->room, side, call->key);
    seat->taker_epoch = engine_epoch(rooms->engine);
    seat->taker_session = call->command.session;
    if (!again)
        room_event(rooms, change, &call->room, "seated", seated_fields, &side);
    call->told = true;
    return coordinator_change(rooms, change, &call->room, BULLETIN_SNAPSHOT);
}

static bool in_too_many_rooms(const struct room_call *call)
{
    const struct rooms *rooms = call->rooms;
    const struct visitor *visitor = roster_get(&rooms->visitors, call->command.session);
    const struct table *table = table_find(rooms, call->command.room_id);
    bool here = table != NULL && table_session(table, call->command.session) != NULL;
    return !here && visitor != NULL && visitor->count >= rooms->limits.session_rooms;
}

static enum tocsin_status resume(struct room_call *call, struct change *change)
{
    struct bytes key = call->command.seat_key;
    call->player = NO_PLAYER;
    call->key = (struct bytes){0};
    if (in_too_many_rooms(call))
        return refuse(call, OUTCOME_TOO_MANY, "RATE_LIMITED",
                      "this connection is in as many rooms as one may be: open another");
    if (key.size > 0) {
        int side = room_side_of_key(&call->room, key);
        if (side == ROOM_NO_SIDE)
            return refuse(call, OUTCOME_CONFLICTING, "BAD_SEAT",
                          "seatKey: it opens no seat in this room");
        call->player = seat_of(call, side)->player;
        call->key = key;
        return touch(call, change);
    }
    const struct table *table = table_find(call->rooms, call->command.room_id);
    const struct presence *mine =
        table == NULL ? NULL : table_session(table, call->command.session);
    if (mine != NULL && mine->player != NO_PLAYER) {
        call->player = mine->player;
        (void)snprintf(call->own_key, sizeof call->own_key, "%s", mine->key);
        call->key = bytes_of(call->own_key);
        return touch(call, change);
    }
    int side = side_taken_before(call);
    if (side == ROOM_NO_SIDE)
        side = room_free_side(&call->room);
    if (side == ROOM_NO_SIDE) {
        side = abandoned_side(call);
        if (side != ROOM_NO_SIDE)
            room_vacate_seat(&call->room, side);
    }
    return side == ROOM_NO_SIDE ? touch(call, change) : take_seat(call, change, side);
}

static enum tocsin_status join(struct room_call *call)
{
    struct rooms *rooms = call->rooms;
    const struct room *room = &call->room;
    struct table *table = table_get(rooms, call->command.room_id);
    uint64_t session = call->command.session;
    if (table != NULL)
        table_saw(table, call->player); /* also if there is no memory for them: they ask again */
    enum tocsin_status status = table == NULL
                                    ? TOCSIN_NO_MEMORY
                                    : table_join(table, room, session, call->player, call->key);
    if (status != TOCSIN_OK)
        return status;
    int side = call->player == NO_PLAYER ? ROOM_NO_SIDE : room_side_of_player(room, call->player);
    if (!call->told)
        table_notice(table);
    /* Who has not got the key asks again, and gets the same seat. */
    status = room_send_seat(rooms, session, room, side, call->key);
    return status == TOCSIN_OK ? room_send_full(rooms, session, room, side) : status;
}

/* ---- what players do */

static void resigned_fields(struct json_writer *writer, const struct rooms *rooms,
                            const struct room *room, const void *arg)
{
    char version[ROOM_WORD_BYTES];
    (void)rooms;
    room_version(room, version);
    room_view_field(writer, "version", version);
    room_view_side(writer, "side", *(const int *)arg);
}

/* Whether the game before was left off, with nobody's win. */
static void restarted_fields(struct json_writer *writer, const struct rooms *rooms,
                             const struct room *room, const void *arg)
{
    (void)rooms;
    (void)room;
    json_field_bool(writer, "abandoned", *(const bool *)arg);
}

static void started_fields(struct json_writer *writer, const struct rooms *rooms,
                           const struct room *room, const void *arg)
{
    char version[ROOM_WORD_BYTES];
    (void)arg;
    room_version(room, version);
    room_view_field(writer, "version", version);
    json_write_key(writer, "deadlineEpochMs");
    if (room_timed(room))
        json_write_int64(writer, engine_wall_of(rooms->engine, turn_clock_deadline(&room->clock),
                                                STORE_ELAPSED));
    else
        json_write_null(writer);
}

/* A seat has become ready, in this game or in a new one; or its wish for a new one is kept. */
static enum tocsin_status stage_ready(struct room_call *call, struct change *change, bool was_on,
                                      bool swapped)
{
    struct rooms *rooms = call->rooms;
    bool begins = call->room.phase == ROOM_PLAYING && (swapped || !was_on);
    if (swapped && was_on) { /* the log says so, too (C-07) */
        enum tocsin_status status = coordinator_stop(rooms, change, call->command.room_id);
        if (status != TOCSIN_OK)
            return status;
    }
    if (swapped)
        room_event(rooms, change, &call->room, "restarted", restarted_fields, &was_on);
    if (begins)
        room_event(rooms, change, &call->room, "started", started_fields, NULL);
    enum bulletin_kind kind = begins ? BULLETIN_STATE : BULLETIN_SNAPSHOT;
    return coordinator_change(rooms, change, &call->room, swapped ? BULLETIN_SWAPPED : kind);
}

/* Whoever asks is here: they have just asked. */
static enum room_answer restart(struct room_call *call, int side, struct room_time now)
{
    const struct table *table = table_find(call->rooms, call->command.room_id);
    int other = seat_of(call, 1 - side)->player;
    bool other_here = table != NULL && table_player(table, other) != NULL;
    return room_restart(&call->room, side, other_here, now);
}

static enum room_answer place(struct room_call *call, int side, struct room_time now)
{
    const struct room_command *command = &call->command;
    bool on =
        command->x >= 0 && command->x < GOMOKU_SIZE && command->y >= 0 && command->y < GOMOKU_SIZE;
    int point = on ? gomoku_point((int)command->x, (int)command->y) : GOMOKU_NOWHERE;
    return room_place(&call->room, side, point, now);
}

static enum tocsin_status play(struct room_call *call, struct change *change, int side)
{
    struct rooms *rooms = call->rooms;
    struct room *room = &call->room;
    struct room_time now = rooms_now(rooms);
    now.lag_ms = call->command.lag_ms;
    struct moved moved = {side, turn_clock_deadline(&room->clock)};
    uint64_t game = room->game;
    bool was_on = room->phase == ROOM_PLAYING;
    enum room_answer answer = ROOM_AS_IT_WAS;
    enum room_verb verb = call->command.verb;
    if (verb == ROOM_PLACE)
        answer = place(call, side, now);
    else if (verb == ROOM_RESIGN)
        answer = room_resign(room, side, now);
    else if (verb == ROOM_RESTART)
        answer = restart(call, side, now);
    else
        answer = room_ready(room, side, now);
    if (answer == ROOM_AS_IT_WAS)
        return TOCSIN_OK;
    if (answer != ROOM_DONE)
        return refuse_answer(call, answer);
    if (verb == ROOM_PLACE) {
        room_event_moved(rooms, change, room, &moved);
    } else if (verb == ROOM_RESIGN) {
        room_event(rooms, change, room, "resigned", resigned_fields, &side);
        room_event_end(rooms, change, room, "resigned");
    } else {
        return stage_ready(call, change, was_on, room->game != game);
    }
    return coordinator_change(rooms, change, room, BULLETIN_STATE);
}

/* ---- running one */

static void finish(struct room_call *call, enum tocsin_status status);

static void all_told(void *arg, enum tocsin_status status)
{
    struct room_call *call = arg;
    if (call->settled) /* else that run did not count, or the engine is gone */
        finish(call, status);
}

/* What this change tells the room has been staged. */
static enum tocsin_status answer_last(struct room_call *call, struct change *change)
{
    enum tocsin_status status = change_then(change, all_told, call);
    call->answered_last = status == TOCSIN_OK;
    return status;
}

static enum tocsin_status run_seated(struct room_call *call, struct change *change)
{
    const struct table *table = table_find(call->rooms, call->command.room_id);
    int side = room_side_of_key(&call->room, call->command.seat_key);
    if (side == ROOM_NO_SIDE)
        return refuse(call, OUTCOME_CONFLICTING, "BAD_SEAT",
                      "seatKey: it opens no seat in this room");
    const struct presence *holder =
        table == NULL ? NULL : table_player(table, seat_of(call, side)->player);
    if (holder != NULL && holder->session != call->command.session)
        return refuse(call, OUTCOME_CONFLICTING, "FORBIDDEN",
                      "another connection holds this seat now: resume to have it back");
    enum tocsin_status status = play(call, change, side);
    return status == TOCSIN_OK ? answer_last(call, change) : status;
}

static enum tocsin_status run(void *arg, struct change *change)
{
    struct room_call *call = arg;
    char game_id[ROOM_WORD_BYTES];
    struct bytes wanted = call->command.game_id;
    call->outcome = OUTCOME_OK;
    call->code = NULL;
    call->why.text[0] = '\0';
    call->told = call->found = call->answered_last = false;
    enum tocsin_status status =
        coordinator_find(call->rooms, change, call->command.room_id, &call->room);
    if (status == TOCSIN_NONE)
        return refuse(call, OUTCOME_MISSING, "NOT_FOUND", "there is no such room");
    if (status != TOCSIN_OK)
        return status;
    call->found = true;
    if (call->command.verb == ROOM_RESUME)
        return resume(call, change);
    room_game_id(&call->room, game_id);
    if (wanted.size > 0 && !bytes_are(wanted, game_id))
        return refuse(call, OUTCOME_CONFLICTING, "STALE_GAME",
                      "gameId: that game is not the one in this room now");
    return run_seated(call, change);
}

static const char *code_of(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_MISSING:
        return "NOT_FOUND";
    case OUTCOME_TOO_MANY:
        return "RATE_LIMITED";
    case OUTCOME_OVERLOADED:
        return "OVERLOADED";
    default:
        return "UNAVAILABLE";
    }
}

static void answer(struct room_call *call)
{
    struct rooms *rooms = call->rooms;
    const struct room_command *command = &call->command;
    rooms->refused += call->code != NULL;
    if (call->code != NULL && !call->gone)
        room_send_error(rooms, command->session, command->room_id, call->found ? &call->room : NULL,
                        call->code, call->why.text);
    if (command->done != NULL)
        command->done(command->arg, call->outcome, call->code, call->why.text);
    errand_end(&call->errand);
    free(call);
}

static void finish(struct room_call *call, enum tocsin_status status)
{
    if (status == TOCSIN_OK && call->command.verb == ROOM_RESUME && !call->gone)
        status = join(call);
    bool ours = status == TOCSIN_CONFLICT && call->code != NULL;
    if (status != TOCSIN_OK && !ours) {
        enum outcome outcome = outcome_of_status(status);
        (void)refuse(call, outcome, code_of(outcome), tocsin_status_text(status));
    }
    answer(call);
}

static void settled(void *arg, enum tocsin_status status)
{
    struct room_call *call = arg;
    call->settled = true;
    if (!call->answered_last)
        finish(call, status);
}

/* ---- taking one in */

static struct bytes copy_word(char **at, struct bytes word)
{
    if (word.size > 0)
        memcpy(*at, word.at, word.size);
    struct bytes copy = {*at, word.size};
    *at += word.size;
    return copy;
}

/* What is wrong with it in itself; NULL: nothing. */
static const char *fault_of(const struct room_command *command)
{
    if (command->room_id.size == 0)
        return "roomId: is missing";
    if (command->room_id.size > ROOM_COMMAND_WORD_MAX)
        return "roomId: longer than 255 bytes";
    if (command->seat_key.size > ROOM_COMMAND_WORD_MAX)
        return "seatKey: longer than 255 bytes";
    if (command->game_id.size > ROOM_COMMAND_WORD_MAX)
        return "gameId: longer than 255 bytes";
    if (command->verb == ROOM_PLACE && command->game_id.size == 0)
        return "gameId: is missing";
    return NULL;
}

static void refuse_at_once(struct rooms *rooms, const struct room_command *command,
                           enum outcome outcome, const char *code, const char *detail)
{
    struct bytes id = command->room_id;
    id.size = id.size > ROOM_COMMAND_WORD_MAX ? ROOM_COMMAND_WORD_MAX : id.size;
    rooms->refused++;
    room_send_error(rooms, command->session, id, NULL, code, detail);
    if (command->done != NULL)
        command->done(command->arg, outcome, code, detail);
}

void rooms_refuse(struct rooms *rooms, const struct room_command *command, const char *detail)
{
    refuse_at_once(rooms, command, OUTCOME_INVALID, "VALIDATE_FAILED", detail);
}

void rooms_command(struct rooms *rooms, const struct room_command *command)
{
    const char *fault = fault_of(command);
    if (fault != NULL) {
        refuse_at_once(rooms, command, OUTCOME_INVALID, "VALIDATE_FAILED", fault);
        return;
    }
    size_t words = command->room_id.size + command->seat_key.size + command->game_id.size;
    struct room_call *call = malloc(sizeof *call + words);
    if (call == NULL) {
        refuse_at_once(rooms, command, OUTCOME_OVERLOADED, "OVERLOADED",
                       tocsin_status_text(TOCSIN_NO_MEMORY));
        return;
    }
    *call = (struct room_call){.rooms = rooms, .command = *command};
    char *at = call->words;
    call->command.room_id = copy_word(&at, command->room_id);
    call->command.seat_key = copy_word(&at, command->seat_key);
    call->command.game_id = copy_word(&at, command->game_id);
    if (command->verb == ROOM_RESUME)
        rooms_random_hex(rooms, call->new_key, ROOM_KEY_BYTES);
    errand_begin(&rooms->calls, &call->errand);
    engine_change(rooms->engine, false, run, settled, call);
}

void room_calls_forget(struct rooms *rooms, uint64_t session)
{
    for (struct errand *it = rooms->calls.next; it != &rooms->calls; it = it->next) {
        struct room_call *call = (struct room_call *)it;
        if (call->command.session == session)
            call->gone = true;
    }
}
