/* SPDX-License-Identifier: MIT */
#include "store/redis/event_room.h"

#include <assert.h>
#include <string.h>

static uint64_t part_bytes(const struct event_room *room)
{
    return room->max_bytes == 0 ? UINT64_MAX : room->max_bytes / EVENT_ROOM_PARTS;
}

void event_room_init(struct event_room *room, uint64_t max_bytes, uint64_t first_seq,
                     uint64_t high_seq, uint64_t bytes)
{
    *room = (struct event_room){.max_bytes = max_bytes, .bytes = bytes, .next_seq = high_seq + 1};
    if (first_seq > high_seq)
        return;
    uint64_t events = high_seq - first_seq + 1;
    uint64_t each = part_bytes(room);
    uint64_t parts = each == 0 ? EVENT_ROOM_PARTS : bytes / each;
    if (parts > EVENT_ROOM_PARTS)
        parts = EVENT_ROOM_PARTS;
    if (parts > events)
        parts = events;
    if (parts == 0)
        parts = 1;
    for (uint64_t i = 0; i < parts; i++)
        room->parts[i] =
            (struct event_part){first_seq + events / parts * i + events % parts * i / parts,
                                bytes / parts + (i < bytes % parts)};
    room->count = (size_t)parts;
}

void event_room_add(struct event_room *room, uint64_t bytes)
{
    if (room->count == 0 || room->parts[room->count - 1].bytes >= part_bytes(room)) {
        assert(room->count < sizeof room->parts / sizeof room->parts[0]);
        room->parts[room->count++] = (struct event_part){.first_seq = room->next_seq};
    }
    room->parts[room->count - 1].bytes += bytes;
    room->bytes += bytes;
    room->next_seq++;
    size_t gone = 0;
    while (room->max_bytes > 0 && room->bytes > room->max_bytes && gone + 1 < room->count)
        room->bytes -= room->parts[gone++].bytes;
    if (gone == 0)
        return;
    room->count -= gone;
    memmove(room->parts, room->parts + gone, room->count * sizeof room->parts[0]);
}

uint64_t event_room_first(const struct event_room *room)
{
    return room->count > 0 ? room->parts[0].first_seq : room->next_seq;
}
