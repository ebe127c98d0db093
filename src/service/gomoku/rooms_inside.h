/* SPDX-License-Identifier: MIT */
/* rooms_inside.h - what the files of the gomoku service share. For them only.
 *
 *   room.c          what a room is: a value (room.h)
 *   room_doc.c      … on disk
 *   room_view.c     … as it is shown
 *   room_wish.c     the body of POST /v1/rooms
 *   room_command.c  what sessions ask for, as changes
 *   coordinator.c   room and clock in one group; timeouts; what is told once it is durable
 *   room_frames.c   what goes out
 *   table.c         who is here, and the number of the next frame: in memory only
 *   room_ai.c       the AI's turns
 *   lobby.c         the newest rooms first
 *   rooms.c         the kind on the engine; opening, reading, dropping
 */
#ifndef TOCSIN_SERVICE_GOMOKU_ROOMS_INSIDE_H
#define TOCSIN_SERVICE_GOMOKU_ROOMS_INSIDE_H

#include "base/json_write.h"
#include "service/gomoku/rooms.h"
#include "service/gomoku/roster.h"
#include "service/recall.h"

/* Which of them the AI has to move in, is known without a doc: a restart reads only these. */
enum room_mark { MARK_WAITING = 1, MARK_PLAYING, MARK_AI_MOVES, MARK_ENDED };

enum { NO_PLAYER = -1, DESTINATION_BYTES = 12 + ROOM_ID_BYTES + 1 };

/* One session in one room. */
struct presence {
    struct presence *next_here; /* at the same table */
    struct presence *next_mine; /* of the same session */
    struct table *table;
    uint64_t session;
    int player; /* NO_PLAYER: it watches */
    char key[ROOM_KEY_BYTES + 1];
};

enum ai_state { AI_IDLE, AI_THINKS, AI_WAITS, AI_PLACES };

/* What is known of a room besides its record; there is one for each that was used since the
 * start, until it is dropped. */
struct table {
    struct rooms *rooms;
    uint64_t number; /* of its room's id */
    char id[ROOM_ID_BYTES + 1];
    uint32_t frames; /* numbered so far */
    struct presence *here;
    int64_t left_ms;             /* elapsed: when the last of them left */
    int64_t seen_ms[ROOM_SIDES]; /* … when each player was last known to be here; 0: not yet */
    struct engine_timer notice;  /* tells who is here */
    bool noticing;               /* the timer is armed, or what it has asked for is under way */
    struct engine_timer ai_timer;
    enum ai_state ai;
    struct room_job job; /* what it is about, unless it is idle */
    int64_t ai_due_ms;   /* before which its answer is kept */
    int ai_point;        /* its answer; GOMOKU_NOWHERE: there is none yet */
};

/* The rooms a session is in. */
struct visitor {
    struct presence *first;
    uint32_t count;
};

/* Rooms in the order in which they were made. */
struct lobby {
    struct lobby_entry *entries;
    size_t count;
    size_t room;
    size_t next_look; /* at this count, for some that were dropped */
};

/* What is under way and is the service's own memory; the engine gives it back, unless it is
 * destroyed before. First member of what it is for. */
struct errand {
    struct errand *next;
    struct errand *previous;
};

struct rooms {
    struct engine *engine;
    struct idem *idem;
    struct countdowns *countdowns;
    struct rooms_limits limits;
    struct rooms_port port;
    struct siphash_key hash_key;
    int64_t turn_seconds;
    bool ai_timed;
    struct engine_kind kind_info;
    unsigned kind;
    struct countdown_kind clock_kind;
    struct roster tables;
    struct roster visitors;
    struct errand errands; /* head of the ring */
    struct errand calls;   /* head of the ring of commands */
    uint64_t opening;      /* rooms that are being made */
    struct lobby lobby;
    int64_t started_ms;   /* elapsed: nobody can have come before */
    struct recall recall; /* where the AI is to move */
    bool load_failed;     /* there was no memory for the lobby */
    struct buffer doc;
    struct buffer event;
    struct buffer frame;
    uint64_t frames;
    uint64_t timeouts;
    uint64_t stale;
    uint64_t refused;
    uint64_t unpublished;
};

static inline struct room_time rooms_now(const struct rooms *rooms)
{
    return (struct room_time){engine_now_ms(rooms->engine), engine_now_up_ms(rooms->engine)};
}

static inline void errand_begin(struct errand *ring, struct errand *errand)
{
    errand->next = ring->next;
    errand->previous = ring;
    ring->next->previous = errand;
    ring->next = errand;
}

static inline void errand_end(struct errand *errand)
{
    errand->next->previous = errand->previous;
    errand->previous->next = errand->next;
}

/* So many hex digits of chance, terminated. */
void rooms_random_hex(struct rooms *rooms, char *ret_text, size_t digits);

/* ---- docs (room_doc.c) */

enum tocsin_status room_decode(const struct engine_record *record, struct room *ret_room);
enum tocsin_status room_put(struct rooms *rooms, struct change *change, struct room *room);
/* … as of a moment that is past: nothing has happened since. */
enum tocsin_status room_put_since(struct rooms *rooms, struct change *change, struct room *room,
                                  int64_t touched_ms);
/* How long it is kept when nobody is there. */
int64_t room_idle_ms(const struct rooms *rooms, const struct room *room);
/* A bit for each mark of this phase; 0 is any phase, and all of them. */
uint64_t room_marks_of(int phase);
/* NONE: there is no such room. BUSY: as change_get. */
enum tocsin_status room_find(struct rooms *rooms, struct change *change, struct bytes id,
                             struct room *ret_room);

/* ---- what is shown (room_view.c). Keys are in none of it. */

void room_view_field(struct json_writer *writer, const char *name, const char *text);
void room_view_side(struct json_writer *writer, const char *name, int side);
void room_view_game_id(struct json_writer *writer, const struct room *room);
const char *room_view_winner(const struct room *room);
/* When the turn that is timed ends, as its countdown says it. */
int64_t room_shown_ms(const struct rooms *rooms, const struct room *room);
const char *room_view_flag(const struct room *room); /* what a fallen one does */
void room_view_state(struct json_writer *writer, const struct room *room);
void room_view_series(struct json_writer *writer, const struct room *room);
/* The whole room. my_side: NULL when nobody asks. */
void room_view_whole(struct json_writer *writer, const struct rooms *rooms, const struct room *room,
                     const int *my_side, bool over_http);
/* {"room_id",…}: as a list has it, or as opening it is answered. */
void room_view_row(struct json_writer *writer, const struct rooms *rooms, const struct room *room,
                   bool in_list);

/* ---- who is here (table.c) */

struct table *table_find(const struct rooms *rooms, struct bytes id);
/* NULL: no memory. */
struct table *table_get(struct rooms *rooms, struct bytes id);
void table_drop(struct rooms *rooms, struct bytes id);
void tables_release(struct rooms *rooms);
uint64_t table_seq(const struct rooms *rooms, const struct table *table); /* the last one */
uint64_t table_next_seq(const struct rooms *rooms, struct table *table);
/* NULL: none of it is there. */
struct presence *table_player(const struct table *table, int player);
struct presence *table_session(const struct table *table, uint64_t session);
uint64_t table_spectators(const struct table *table);
/* This player, who may be none, is here now, or was until now. */
void table_saw(struct table *table, int player);
/* Takes the place of whatever this session was here before. Who held this player's place is
 * told, and is out. FULL: it is in too many rooms. */
enum tocsin_status table_join(struct table *table, const struct room *room, uint64_t session,
                              int player, struct bytes key);
/* Whoever listens is told in a moment who is here. */
void table_notice(struct table *table);

/* ---- what goes out (room_frames.c) */

void room_frame_tick(struct table *table, const struct countdown *countdown, int64_t left_ms);
void room_frame_timeout(struct table *table, const struct room *room, int side);
void room_frame_state(struct table *table, const struct room *room);
void room_frame_snapshot(struct table *table, const struct room *room);
/* NO_MEMORY: it was not sent. */
enum tocsin_status room_send_seat(struct rooms *rooms, uint64_t session, const struct room *room,
                                  int side, struct bytes key);
enum tocsin_status room_send_full(struct rooms *rooms, uint64_t session, const struct room *room,
                                  int side);
void room_send_kicked(struct rooms *rooms, uint64_t session, const struct room *room, int player);
/* room: NULL when there is none. */
void room_send_error(struct rooms *rooms, uint64_t session, struct bytes room_id,
                     const struct room *room, const char *code, const char *detail);

/* ---- room and clock (coordinator.c) */

enum bulletin_kind { BULLETIN_SNAPSHOT, BULLETIN_STATE, BULLETIN_SWAPPED, BULLETIN_TIMEOUT };

/* The room as it is now, its clock, and what is told when they are durable. */
enum tocsin_status coordinator_change(struct rooms *rooms, struct change *change, struct room *room,
                                      enum bulletin_kind kind);
/* The room, for a change of it, when its clock can be had as well: all such changes run in order
 * of arrival. NONE, BUSY: as room_find. */
enum tocsin_status coordinator_find(struct rooms *rooms, struct change *change, struct bytes id,
                                    struct room *ret_room);
enum tocsin_status coordinator_stop(struct rooms *rooms, struct change *change, struct bytes id);
void coordinator_register(struct rooms *rooms);

/* An event of this room; `more` (may be NULL) writes further fields. */
typedef void (*event_fields_fn)(struct json_writer *writer, const struct rooms *rooms,
                                const struct room *room, const void *arg);
void room_event(struct rooms *rooms, struct change *change, const struct room *room,
                const char *type, event_fields_fn more, const void *arg);
/* After a move or a resignation: "ended" when it has. */
void room_event_end(struct rooms *rooms, struct change *change, const struct room *room,
                    const char *reason);

struct moved {
    int side;
    int64_t deadline_ms; /* of the turn, elapsed; TURN_CLOCK_NEVER: it was not timed */
    bool by_default;     /* in place of a player whose flag has fallen */
};
/* A stone was put: "moved", and the end if it is one. */
void room_event_moved(struct rooms *rooms, struct change *change, const struct room *room,
                      const struct moved *moved);

/* ---- the AI (room_ai.c) */

/* The room is so, durably: if it is the AI's turn, it will move. */
void room_ai_consider(struct table *table, const struct room *room);
void room_ai_note_load(struct rooms *rooms, const struct engine_head *head);

/* ---- the newest first (lobby.c) */

/* False: no memory. They come in the order of their revs. */
bool lobby_note(struct rooms *rooms, struct engine_ref ref, uint64_t rev);
/* It is durable. */
void lobby_made(struct rooms *rooms, struct bytes id);
void lobby_list(struct rooms *rooms, const struct rooms_query *query, rooms_read_fn fn, void *arg);
void lobby_release(struct rooms *rooms);

/* ---- commands (room_command.c) */

void room_calls_forget(struct rooms *rooms, uint64_t session);

#endif
