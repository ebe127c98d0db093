/* SPDX-License-Identifier: MIT */
/* Room and clock in one group, what a fallen flag does, and what is told when it is durable.
 *
 * After every change of a room (C-07):
 *
 *   the game is not on, or over                stop the clock
 *   the AI is to move, and is not timed        stop the clock
 *   else                                       start it for the side to move; the same turn
 *                                              keeps its deadline (C-18)
 *
 * Only this file broadcasts changes (C-11), and only when they are committed (C-19).
 */

#include <stdio.h>
#include <stdlib.h>

#include "service/gomoku/rooms_inside.h"

enum { CLOCK_KEY_BYTES = 7 + ROOM_ID_BYTES + 1 };

static struct bytes clock_key(struct bytes id, char to[CLOCK_KEY_BYTES])
{
    (void)snprintf(to, CLOCK_KEY_BYTES, "gomoku:%.*s", (int)id.size, id.at);
    return bytes_of(to);
}

/* ---- telling */

struct bulletin {
    struct rooms *rooms;
    struct room room;
    enum bulletin_kind kind;
    int flag; /* TIMEOUT: whose has fallen */
};

/* Each player who is here hears on which side. */
static void tell_sides(struct table *table, const struct room *room)
{
    for (const struct presence *it = table->here; it != NULL; it = it->next_here) {
        if (it->player != NO_PLAYER)
            (void)room_send_seat(table->rooms, it->session, room,
                                 room_side_of_player(room, it->player), bytes_of(it->key));
    }
}

static void tell(const struct bulletin *bulletin)
{
    const struct room *room = &bulletin->room;
    struct table *table = table_find(bulletin->rooms, (struct bytes){room->id, ROOM_ID_BYTES});
    if (table == NULL)
        return;
    if (bulletin->kind == BULLETIN_TIMEOUT)
        room_frame_timeout(table, room, bulletin->flag);
    if (bulletin->kind == BULLETIN_SWAPPED)
        tell_sides(table, room);
    if (bulletin->kind != BULLETIN_SNAPSHOT)
        room_frame_state(table, room);
    room_frame_snapshot(table, room);
    room_ai_consider(table, room);
}

static void bulletin_settled(void *arg, enum tocsin_status status)
{
    struct bulletin *bulletin = arg;
    if (status == TOCSIN_OK) {
        bulletin->rooms->timeouts += bulletin->kind == BULLETIN_TIMEOUT;
        tell(bulletin);
    }
    free(bulletin);
}

static enum tocsin_status tell_after(struct rooms *rooms, struct change *change,
                                     const struct room *room, enum bulletin_kind kind, int flag)
{
    struct bulletin *bulletin = malloc(sizeof *bulletin);
    if (bulletin == NULL || table_get(rooms, (struct bytes){room->id, ROOM_ID_BYTES}) == NULL) {
        free(bulletin);
        return TOCSIN_NO_MEMORY;
    }
    *bulletin = (struct bulletin){rooms, *room, kind, flag};
    enum tocsin_status status = change_then(change, bulletin_settled, bulletin);
    if (status != TOCSIN_OK)
        free(bulletin);
    return status;
}

/* ---- room and clock */

enum tocsin_status coordinator_stop(struct rooms *rooms, struct change *change, struct bytes id)
{
    char key[CLOCK_KEY_BYTES];
    return countdown_stop(rooms->countdowns, change, clock_key(id, key));
}

enum tocsin_status coordinator_find(struct rooms *rooms, struct change *change, struct bytes id,
                                    struct room *ret_room)
{
    char key[CLOCK_KEY_BYTES];
    enum tocsin_status status = room_find(rooms, change, id, ret_room);
    return status == TOCSIN_OK ? countdown_expect(rooms->countdowns, change, clock_key(id, key))
                               : status;
}

static enum tocsin_status sync_clock(struct rooms *rooms, struct change *change,
                                     const struct room *room)
{
    struct bytes id = {room->id, ROOM_ID_BYTES};
    char key[CLOCK_KEY_BYTES];
    char version[ROOM_WORD_BYTES];
    if (!room_timed(room))
        return coordinator_stop(rooms, change, id);
    room_version(room, version);
    struct countdown_wish wish = {
        .key = clock_key(id, key),
        .home = id,
        .owner = bytes_of(room_to_move(room) == GOMOKU_X ? "X" : "O"),
        .version = bytes_of(version),
        .kind = bytes_of("gomoku"),
        .deadline_ms = turn_clock_deadline(&room->clock),
        .basis = STORE_ELAPSED,
        .told_ms = room->told_ms,
    };
    return countdown_start(rooms->countdowns, change, &wish);
}

/* Told before the clock's own: a turn's first tick comes after the state it belongs to. */
static enum tocsin_status change_room(struct rooms *rooms, struct change *change, struct room *room,
                                      enum bulletin_kind kind, int flag)
{
    if (room_timed(room) && room->told_ms == 0)
        room->told_ms = room_shown_ms(rooms, room);
    enum tocsin_status status = room_put(rooms, change, room);
    if (status == TOCSIN_OK)
        status = tell_after(rooms, change, room, kind, flag);
    return status == TOCSIN_OK ? sync_clock(rooms, change, room) : status;
}

enum tocsin_status coordinator_change(struct rooms *rooms, struct change *change, struct room *room,
                                      enum bulletin_kind kind)
{
    return change_room(rooms, change, room, kind, ROOM_NO_SIDE);
}

/* ---- events: what happened, for the log */

void room_event(struct rooms *rooms, struct change *change, const struct room *room,
                const char *type, event_fields_fn more, const void *arg)
{
    struct json_writer writer;
    buffer_clear(&rooms->event);
    json_writer_init(&writer, &rooms->event);
    json_write_object(&writer);
    room_view_field(&writer, "roomId", room->id);
    room_view_game_id(&writer, room);
    json_field_int64(&writer, "step", room->step);
    json_field_int64(&writer, "at", engine_wall_ms(rooms->engine));
    if (more != NULL)
        more(&writer, rooms, room, arg);
    json_write_object_end(&writer);
    if (buffer_status(&rooms->event) == TOCSIN_OK)
        change_event(change, rooms->kind, (struct bytes){room->id, ROOM_ID_BYTES}, type,
                     (struct bytes){rooms->event.data, rooms->event.size});
    else
        change_event_lost(change, buffer_status(&rooms->event));
}

static void end_fields(struct json_writer *writer, const struct rooms *rooms,
                       const struct room *room, const void *arg)
{
    (void)rooms;
    room_view_field(writer, "winner", room_view_winner(room));
    room_view_field(writer, "reason", arg);
    json_write_key(writer, "series");
    room_view_series(writer, room);
}

void room_event_end(struct rooms *rooms, struct change *change, const struct room *room,
                    const char *reason)
{
    if (room->phase == ROOM_ENDED)
        room_event(rooms, change, room, "ended", end_fields, reason);
}

static void moved_fields(struct json_writer *writer, const struct rooms *rooms,
                         const struct room *room, const void *arg)
{
    const struct moved *moved = arg;
    char version[ROOM_WORD_BYTES];
    struct room turn = {.game = room->game, .step = room->step - 1, .passes = room->passes};
    memcpy(turn.id, room->id, sizeof turn.id);
    room_version(&turn, version);
    room_view_field(writer, "version", version);
    room_view_side(writer, "side", moved->side);
    json_field_int64(writer, "x", room->last % GOMOKU_SIZE);
    json_field_int64(writer, "y", room->last / GOMOKU_SIZE);
    if (moved->by_default)
        json_field_bool(writer, "byDefault", true);
    json_write_key(writer, "deadlineEpochMs");
    if (moved->deadline_ms == TURN_CLOCK_NEVER) {
        json_write_null(writer);
        return;
    }
    json_write_int64(writer, engine_wall_of(rooms->engine, moved->deadline_ms, STORE_ELAPSED));
    json_field_int64(writer, "creditedMs", room->credited_ms);
    json_field_int64(writer, "leftMs", moved->deadline_ms - engine_now_ms(rooms->engine));
}

void room_event_moved(struct rooms *rooms, struct change *change, const struct room *room,
                      const struct moved *moved)
{
    room_event(rooms, change, room, "moved", moved_fields, moved);
    room_event_end(rooms, change, room, room->winner == ROOM_DRAWN ? "draw" : "line");
}

/* Which flag fell, of which turn, when it was to fall and when it was seen (C-32). The room is as
 * it was before. */
static void timeout_fields(struct json_writer *writer, const struct rooms *rooms,
                           const struct room *room, const void *arg)
{
    const struct countdown *countdown = arg;
    (void)rooms;
    json_field_bytes(writer, "version", countdown->version);
    room_view_side(writer, "side", (int)room_to_move(room));
    room_view_field(writer, "onTimeout", room_view_flag(room));
    json_field_int64(writer, "deadlineEpochMs", countdown->deadline_ms);
    json_field_uint64(writer, "fence", countdown->fence);
}

/* The turn that goes on, and until when. */
static void grace_fields(struct json_writer *writer, const struct rooms *rooms,
                         const struct room *room, const void *arg)
{
    char version[ROOM_WORD_BYTES];
    room_version(room, version);
    room_view_field(writer, "version", version);
    room_view_side(writer, "side", *(const int *)arg);
    json_field_int64(
        writer, "deadlineEpochMs",
        engine_wall_of(rooms->engine, turn_clock_deadline(&room->clock), STORE_ELAPSED));
}

static void passed_fields(struct json_writer *writer, const struct rooms *rooms,
                          const struct room *room, const void *arg)
{
    (void)rooms;
    (void)room;
    room_view_side(writer, "side", *(const int *)arg);
}

/* ---- the flag falls */

static bool is_here(const struct rooms *rooms, const struct room *room, int side)
{
    const struct table *table = table_find(rooms, (struct bytes){room->id, ROOM_ID_BYTES});
    return table != NULL && table_player(table, room->seats[side].player) != NULL;
}

static void count_stale(void *arg, enum tocsin_status status)
{
    ((struct rooms *)arg)->stale += status == TOCSIN_OK;
}

/* Inside the change that ends the countdown. The turn it was for may be over (C-17). */
static enum tocsin_status on_timeout(void *service, struct change *change,
                                     const struct countdown *countdown)
{
    struct rooms *rooms = service;
    struct room room;
    char version[ROOM_WORD_BYTES];
    enum tocsin_status status = room_find(rooms, change, countdown->home, &room);
    if (status == TOCSIN_NONE)
        return TOCSIN_OK;
    if (status != TOCSIN_OK)
        return status;
    room_version(&room, version);
    if (!room_timed(&room) || !bytes_are(countdown->version, version))
        return change_then(change, count_stale, rooms);
    int side = (int)room_to_move(&room);
    if (!is_here(rooms, &room, side) && room_grant_grace(&room)) {
        room_event(rooms, change, &room, "grace", grace_fields, &side);
        return coordinator_change(rooms, change, &room, BULLETIN_SNAPSHOT);
    }
    room_event(rooms, change, &room, "timeout", timeout_fields, countdown);
    struct moved moved = {side, turn_clock_deadline(&room.clock), true};
    struct room before = room;
    room_time_out(&room, rooms_now(rooms));
    if (room.step > before.step)
        room_event_moved(rooms, change, &room, &moved);
    else if (room.passes > before.passes)
        room_event(rooms, change, &room, "passed", passed_fields, &side);
    if (room.step == before.step)
        room_event_end(rooms, change, &room, room.winner == ROOM_DRAWN ? "passes" : "timeout");
    return change_room(rooms, change, &room, BULLETIN_TIMEOUT, side);
}

static void on_tick(void *service, const struct countdown *countdown, int64_t left_ms)
{
    struct rooms *rooms = service;
    struct table *table = table_get(rooms, countdown->home);
    if (table != NULL)
        room_frame_tick(table, countdown, left_ms);
    else
        rooms->unpublished++;
}

void coordinator_register(struct rooms *rooms)
{
    rooms->clock_kind = (struct countdown_kind){
        .name = "gomoku", .on_timeout = on_timeout, .on_tick = on_tick, .service = rooms};
    countdowns_add_kind(rooms->countdowns, &rooms->clock_kind);
}
