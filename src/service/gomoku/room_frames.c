/* SPDX-License-Identifier: MIT */
/* What goes out: frames to a room's topic, answers to one session (C-09, C-10). */

#include <stdio.h>

#include "service/gomoku/rooms_inside.h"

static void begin(struct rooms *rooms, struct json_writer *writer)
{
    buffer_clear(&rooms->frame);
    json_writer_init(writer, &rooms->frame);
    json_write_object(writer);
}

static void destination_of(const char *id, char ret_text[DESTINATION_BYTES])
{
    (void)snprintf(ret_text, DESTINATION_BYTES, "/topic/room.%s", id);
}

/* ---- to the topic */

static void begin_frame(struct table *table, struct json_writer *writer, const char *game_id,
                        const char *type)
{
    begin(table->rooms, writer);
    room_view_field(writer, "roomId", table->id);
    room_view_field(writer, "gameId", game_id);
    room_view_field(writer, "type", type);
    json_field_uint64(writer, "seq", table_next_seq(table->rooms, table));
    json_write_key(writer, "payload");
}

static void publish(struct table *table, struct json_writer *writer)
{
    struct rooms *rooms = table->rooms;
    char destination[DESTINATION_BYTES];
    json_write_object_end(writer);
    if (buffer_status(&rooms->frame) != TOCSIN_OK) {
        rooms->unpublished++;
        return;
    }
    destination_of(table->id, destination);
    rooms->frames++;
    rooms->port.publish(rooms->port.arg, destination,
                        (struct bytes){rooms->frame.data, rooms->frame.size});
}

/* Nothing is made when nobody listens. */
void room_frame_tick(struct table *table, const struct countdown *countdown, int64_t left_ms)
{
    struct rooms *rooms = table->rooms;
    struct json_writer writer;
    char destination[DESTINATION_BYTES];
    char game_id[ROOM_WORD_BYTES];
    destination_of(table->id, destination);
    if (!rooms->port.has_subscribers(rooms->port.arg, destination))
        return;
    size_t size = countdown->version.size;
    while (size > 0 && countdown->version.at[size - 1] != ':')
        size--;
    (void)snprintf(game_id, sizeof game_id, "%.*s", size > 0 ? (int)size - 1 : 0,
                   countdown->version.at);
    begin_frame(table, &writer, game_id, "TICK");
    json_write_object(&writer);
    json_field_int64(&writer, "left", countdown_seconds(left_ms));
    json_field_int64(&writer, "leftMs", left_ms);
    json_field_bytes(&writer, "side", countdown->owner);
    json_field_int64(&writer, "deadlineEpochMs", countdown_shown_ms(rooms->engine, countdown));
    json_write_object_end(&writer);
    publish(table, &writer);
}

static void begin_of(struct table *table, struct json_writer *writer, const struct room *room,
                     const char *type)
{
    char game_id[ROOM_WORD_BYTES];
    room_game_id(room, game_id);
    begin_frame(table, writer, game_id, type);
}

void room_frame_timeout(struct table *table, const struct room *room, int side)
{
    struct json_writer writer;
    begin_of(table, &writer, room, "TIMEOUT");
    json_write_object(&writer);
    room_view_side(&writer, "side", side);
    json_write_object_end(&writer);
    publish(table, &writer);
}

void room_frame_state(struct table *table, const struct room *room)
{
    struct json_writer writer;
    begin_of(table, &writer, room, "STATE");
    json_write_object(&writer);
    json_write_key(&writer, "state");
    room_view_state(&writer, room);
    json_write_key(&writer, "series");
    room_view_series(&writer, room);
    json_write_object_end(&writer);
    publish(table, &writer);
}

void room_frame_snapshot(struct table *table, const struct room *room)
{
    struct json_writer writer;
    begin_of(table, &writer, room, "SNAPSHOT");
    room_view_whole(&writer, table->rooms, room, NULL, false);
    publish(table, &writer);
}

/* ---- to one session. Their seq is that of the last frame to the topic: it says what they are
 * as new as, and is not used up. */

static void begin_for_one(struct rooms *rooms, struct json_writer *writer, const struct room *room,
                          const char *type)
{
    begin(rooms, writer);
    room_view_field(writer, "roomId", room->id);
    room_view_game_id(writer, room);
    room_view_field(writer, "type", type);
    json_field_uint64(writer, "seq",
                      table_seq(rooms, table_find(rooms, (struct bytes){room->id, ROOM_ID_BYTES})));
}

static enum tocsin_status send(struct rooms *rooms, uint64_t session, const char *queue)
{
    enum tocsin_status status = buffer_status(&rooms->frame);
    if (status != TOCSIN_OK) {
        rooms->unpublished++;
        return status;
    }
    rooms->port.send_to(rooms->port.arg, session, queue,
                        (struct bytes){rooms->frame.data, rooms->frame.size});
    return TOCSIN_OK;
}

enum tocsin_status room_send_seat(struct rooms *rooms, uint64_t session, const struct room *room,
                                  int side, struct bytes key)
{
    struct json_writer writer;
    begin_for_one(rooms, &writer, room, "SEAT");
    room_view_side(&writer, "side", side);
    json_write_key(&writer, "seatKey");
    if (side == ROOM_NO_SIDE)
        json_write_null(&writer);
    else
        json_write_string(&writer, key.at, key.size);
    json_write_object_end(&writer);
    return send(rooms, session, "gomoku.seat");
}

enum tocsin_status room_send_full(struct rooms *rooms, uint64_t session, const struct room *room,
                                  int side)
{
    struct json_writer writer;
    buffer_clear(&rooms->frame);
    json_writer_init(&writer, &rooms->frame);
    room_view_whole(&writer, rooms, room, &side, false);
    return send(rooms, session, "gomoku.full");
}

void room_send_kicked(struct rooms *rooms, uint64_t session, const struct room *room, int player)
{
    struct json_writer writer;
    begin_for_one(rooms, &writer, room, "KICKED");
    room_view_side(&writer, "side", room_side_of_player(room, player));
    room_view_field(&writer, "detail", "the seat was taken up by another connection with its key");
    json_write_object_end(&writer);
    (void)send(rooms, session, "gomoku.kicked");
}

/* Code and detail stand by themselves, and in the payload that every frame has. */
void room_send_error(struct rooms *rooms, uint64_t session, struct bytes room_id,
                     const struct room *room, const char *code, const char *detail)
{
    struct json_writer writer;
    begin(rooms, &writer);
    json_write_key(&writer, "roomId");
    if (room_id.size > 0)
        json_write_string(&writer, room_id.at, room_id.size);
    else
        json_write_null(&writer);
    if (room != NULL)
        room_view_game_id(&writer, room);
    else
        room_view_field(&writer, "gameId", NULL);
    room_view_field(&writer, "type", "ERROR");
    json_field_uint64(&writer, "seq", table_seq(rooms, table_find(rooms, room_id)));
    room_view_field(&writer, "code", code);
    room_view_field(&writer, "detail", detail);
    json_write_key(&writer, "payload");
    json_write_object(&writer);
    room_view_field(&writer, "code", code);
    room_view_field(&writer, "detail", detail);
    json_write_object_end(&writer);
    json_write_object_end(&writer);
    (void)send(rooms, session, "errors");
}
