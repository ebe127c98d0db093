/* SPDX-License-Identifier: MIT */
/* The gomoku service: its kind on the engine; rooms opened, read, and dropped when nobody has
 * come for long. */

#include "service/gomoku/rooms.h"

#include <assert.h>
#include <stdlib.h>

#include "service/gomoku/rooms_inside.h"
#include "service/reading.h"

enum { DOC_BYTES_MAX = 4096, FRAME_BYTES_MAX = 16384 };

const struct rooms_limits rooms_limits_default = {
    .rooms = 100000,
    .session_rooms = 16,
    .idle_ms = INT64_C(24) * 3600 * 1000,
    .waiting_idle_ms = INT64_C(10) * 60 * 1000,
    .waiting_seat_ms = INT64_C(30) * 1000,
    .list_scan = 10000,
};

void rooms_random_hex(struct rooms *rooms, char *ret_text, size_t digits)
{
    static const char hex[] = "0123456789abcdef";
    uint64_t bits = 0;
    for (size_t i = 0; i < digits; i++) {
        if (i % 16 == 0)
            bits = rooms->port.chance(rooms->port.arg);
        ret_text[i] = hex[bits & 15];
        bits >>= 4;
    }
    ret_text[digits] = '\0';
}

/* ---- opening one */

struct opening {
    struct errand errand;
    struct rooms *rooms;
    struct room_opening asked;
    struct room room;
    struct reply reply;
};

static bool is_full(const struct rooms *rooms)
{
    uint64_t count = rooms->opening - 1; /* this one */
    for (int mark = MARK_WAITING; mark <= MARK_ENDED; mark++)
        count += engine_mark_count(rooms->engine, rooms->kind, (uint8_t)mark);
    return count >= rooms->limits.rooms;
}

static enum tocsin_status make_new(struct opening *opening, struct change *change)
{
    struct rooms *rooms = opening->rooms;
    struct room *room = &opening->room;
    struct bytes id = {room->id, ROOM_ID_BYTES};
    struct engine_record record;
    struct json_writer writer;
    if (is_full(rooms))
        return reply_refuse(&opening->reply, OUTCOME_TOO_MANY,
                            "as many rooms as may be (gomoku.rooms): try again later");
    enum tocsin_status status = change_get(change, rooms->kind, id, &record);
    if (status == TOCSIN_OK)
        return TOCSIN_UNAVAILABLE; /* 64 bits of chance have come twice */
    if (status != TOCSIN_NONE)
        return status;
    room->created_ms = engine_wall_ms(rooms->engine);
    status = room_put(rooms, change, room);
    if (status != TOCSIN_OK)
        return status;
    room_event(rooms, change, room, "created", NULL, NULL);
    json_writer_init(&writer, &opening->reply.answer);
    room_view_row(&writer, rooms, room, false);
    opening->reply.outcome = OUTCOME_MADE;
    opening->reply.rev = room->rev;
    return TOCSIN_OK;
}

static enum tocsin_status make(void *arg, struct change *change)
{
    struct opening *opening = arg;
    struct idem *idem = opening->rooms->idem;
    const struct idem_ask *ask = &opening->asked.idem;
    struct bytes id = {opening->room.id, ROOM_ID_BYTES};
    enum tocsin_status status = idem_replay(idem, change, ask, &opening->reply);
    if (status != TOCSIN_NONE)
        return status;
    status = make_new(opening, change);
    return status == TOCSIN_OK ? idem_keep(idem, change, ask, id, &opening->reply) : status;
}

static void made(void *arg, enum tocsin_status status)
{
    struct opening *opening = arg;
    opening->rooms->opening--;
    if (status == TOCSIN_OK && !opening->reply.replayed)
        lobby_made(opening->rooms, (struct bytes){opening->room.id, ROOM_ID_BYTES});
    reply_settle(&opening->reply, status);
    opening->asked.fn(opening->asked.arg, opening->reply.outcome, opening->reply.rev,
                      (struct bytes){opening->reply.answer.data, opening->reply.answer.size},
                      opening->reply.why.text, opening->reply.replayed);
    errand_end(&opening->errand);
    buffer_release(&opening->reply.answer);
    free(opening);
}

void rooms_open(struct rooms *rooms, const struct room_opening *asked)
{
    struct opening *opening = calloc(1, sizeof *opening);
    char id[ROOM_ID_BYTES + 1];
    if (opening == NULL) {
        asked->fn(asked->arg, OUTCOME_OVERLOADED, 0, (struct bytes){0},
                  tocsin_status_text(TOCSIN_NO_MEMORY), false);
        return;
    }
    rooms_random_hex(rooms, id, ROOM_ID_BYTES);
    opening->rooms = rooms;
    opening->asked = *asked;
    buffer_init(&opening->reply.answer, FRAME_BYTES_MAX);
    room_init(&opening->room, id, &asked->wish);
    errand_begin(&rooms->errands, &opening->errand);
    rooms->opening++;
    engine_change(rooms->engine, false, make, made, opening);
}

/* ---- reading */

static enum tocsin_status write_whole(void *service, struct json_writer *writer,
                                      const struct engine_record *record)
{
    struct room room;
    enum tocsin_status status = room_decode(record, &room);
    if (status == TOCSIN_OK)
        room_view_whole(writer, service, &room, NULL, true);
    return status;
}

static enum tocsin_status write_row(void *service, struct json_writer *writer,
                                    const struct engine_record *record)
{
    struct room room;
    enum tocsin_status status = room_decode(record, &room);
    if (status == TOCSIN_OK)
        room_view_row(writer, service, &room, true);
    return status;
}

static struct reading_kind kind_of(struct rooms *rooms)
{
    return (struct reading_kind){
        .engine = rooms->engine,
        .kind = rooms->kind,
        .name = "rooms",
        .scan = rooms->limits.list_scan,
        .service = rooms,
    };
}

void rooms_get(struct rooms *rooms, struct bytes id, rooms_read_fn fn, void *arg)
{
    struct reading_kind kind = kind_of(rooms);
    kind.write = write_whole;
    reading_one(&kind, id, fn, arg);
}

void rooms_list(struct rooms *rooms, const struct rooms_query *query, rooms_read_fn fn, void *arg)
{
    if (query->newest) {
        lobby_list(rooms, query, fn, arg);
        return;
    }
    struct reading_kind kind = kind_of(rooms);
    kind.write = write_row;
    kind.marks = room_marks_of(query->phase);
    reading_page(&kind, query->after, query->limit, fn, arg);
}

/* ---- dropping */

struct dropped {
    struct rooms *rooms;
    char id[ROOM_ID_BYTES];
};

static void drop_settled(void *arg, enum tocsin_status status)
{
    struct dropped *dropped = arg;
    if (status == TOCSIN_OK)
        table_drop(dropped->rooms, (struct bytes){dropped->id, ROOM_ID_BYTES});
    free(dropped);
}

static enum tocsin_status forget_after(struct rooms *rooms, struct change *change, struct bytes id)
{
    struct dropped *dropped = malloc(sizeof *dropped);
    if (dropped == NULL)
        return TOCSIN_NO_MEMORY;
    dropped->rooms = rooms;
    memcpy(dropped->id, id.at, ROOM_ID_BYTES);
    enum tocsin_status status = change_then(change, drop_settled, dropped);
    if (status != TOCSIN_OK)
        free(dropped);
    return status;
}

/* Since when nobody has been here or done anything: not before the server could be reached. */
static int64_t idle_since(const struct rooms *rooms, const struct room *room,
                          const struct table *table)
{
    int64_t since = room->touched_ms;
    int64_t reachable_ms =
        rooms->started_ms + rooms->limits.waiting_idle_ms - room_idle_ms(rooms, room);
    if (table != NULL && table->left_ms > since)
        since = table->left_ms;
    return reachable_ms > since ? reachable_ms : since;
}

/* Nobody has done anything for long. While somebody is here, it stays. */
static enum tocsin_status on_due(void *service, struct change *change,
                                 const struct engine_record *record)
{
    struct rooms *rooms = service;
    struct room room;
    const struct table *table = table_find(rooms, record->key);
    enum tocsin_status status = room_decode(record, &room);
    if (status != TOCSIN_OK)
        return status;
    if (table != NULL && table->here != NULL)
        return room_put(rooms, change, &room);
    int64_t since_ms = idle_since(rooms, &room, table);
    if (since_ms + room_idle_ms(rooms, &room) > engine_now_ms(rooms->engine))
        return room_put_since(rooms, change, &room, since_ms);
    status = coordinator_stop(rooms, change, record->key);
    if (status == TOCSIN_OK)
        status = change_drop(change, rooms->kind, record->key);
    if (status == TOCSIN_OK)
        status = forget_after(rooms, change, record->key);
    if (status == TOCSIN_OK)
        room_event(rooms, change, &room, "dropped", NULL, NULL);
    return status;
}

static void on_load(void *service, const struct engine_head *head)
{
    struct rooms *rooms = service;
    room_ai_note_load(rooms, head);
    if (!lobby_note(rooms, head->ref, head->rev))
        rooms->load_failed = true;
}

/* ---- life */

static void ring_init(struct errand *ring)
{
    ring->next = ring->previous = ring;
}

static void ring_release(struct errand *ring)
{
    struct errand *next;
    for (struct errand *errand = ring->next; errand != ring; errand = next) {
        next = errand->next;
        free(errand);
    }
}

enum tocsin_status rooms_create(const struct rooms_options *options, struct rooms **ret_rooms)
{
    assert(options->turn_seconds >= ROOM_TURN_SECONDS_MIN &&
           options->turn_seconds <= ROOM_TURN_SECONDS_MAX);
    struct rooms *rooms = calloc(1, sizeof *rooms);
    if (rooms == NULL)
        return TOCSIN_NO_MEMORY;
    rooms->engine = options->engine;
    rooms->idem = options->idem;
    rooms->countdowns = options->countdowns;
    rooms->limits = options->limits;
    rooms->port = options->port;
    rooms->hash_key = options->hash_key;
    rooms->turn_seconds = options->turn_seconds;
    rooms->ai_timed = options->ai_timed;
    ring_init(&rooms->errands);
    ring_init(&rooms->calls);
    buffer_init(&rooms->doc, DOC_BYTES_MAX);
    buffer_init(&rooms->event, DOC_BYTES_MAX);
    buffer_init(&rooms->frame, FRAME_BYTES_MAX);
    /* Who has been seated must be told the key: a frame never waits for memory. */
    if (buffer_reserve(&rooms->frame, FRAME_BYTES_MAX) == NULL) {
        free(rooms);
        return TOCSIN_NO_MEMORY;
    }
    rooms->kind_info = (struct engine_kind){
        .name = "room", .on_due = on_due, .on_load = on_load, .service = rooms};
    rooms->kind = engine_add_kind(rooms->engine, &rooms->kind_info);
    coordinator_register(rooms);
    *ret_rooms = rooms;
    return TOCSIN_OK;
}

void rooms_destroy(struct rooms *rooms)
{
    if (rooms == NULL)
        return;
    ring_release(&rooms->errands);
    ring_release(&rooms->calls);
    tables_release(rooms);
    lobby_release(rooms);
    recall_release(&rooms->recall);
    buffer_release(&rooms->doc);
    buffer_release(&rooms->event);
    buffer_release(&rooms->frame);
    free(rooms);
}

void rooms_describe(const struct rooms *rooms, struct rooms_stats *ret_stats)
{
    *ret_stats = (struct rooms_stats){
        .waiting = engine_mark_count(rooms->engine, rooms->kind, MARK_WAITING),
        .playing = engine_mark_count(rooms->engine, rooms->kind, MARK_PLAYING) +
                   engine_mark_count(rooms->engine, rooms->kind, MARK_AI_MOVES),
        .ended = engine_mark_count(rooms->engine, rooms->kind, MARK_ENDED),
        .sessions = rooms->visitors.places.count,
        .frames = rooms->frames,
        .timeouts = rooms->timeouts,
        .stale = rooms->stale,
        .refused = rooms->refused,
        .unpublished = rooms->unpublished,
    };
}
