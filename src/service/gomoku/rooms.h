/* SPDX-License-Identifier: MIT */
/* rooms.h - who plays gomoku here, whose turn is it, and who has run out of time?
 *
 * Rooms with two seats on the engine and the countdowns. Records: `room` (key and home: its id).
 * The clock of a room is the countdown "gomoku:<id>" with the room's home, so that a move, or a
 * timeout, changes room and clock in one group. What a room is: room.h.
 *
 * Promise   a command that is not refused is durable before anybody hears of it, and frames go
 *           out in the order of what they tell. A flag that falls ends the game it belongs to
 *           and no other, once, whenever the process dies (C-08, C-12, C-13, C-17, C-19).
 * Frames    {"roomId","gameId","type","seq","payload"} to /topic/room.<id>: STATE and SNAPSHOT
 *           after each change, TIMEOUT before them when a flag fell, SNAPSHOT alone when
 *           somebody came or went, TICK while time runs and somebody listens. seq rises in a
 *           room, also across a restart.
 * Seats     without a key, the next free one, then a place among the spectators; with one, its
 *           own again, and the connection that had it is told on gomoku.kicked. A seat stays
 *           with its key as long as there is the room; but before the first game has begun, one
 *           whose player has been away for 30 s goes to the next who comes without a key. Of the key only a digest is kept.
 * Memory    who is here, what frame comes next, and what the AI thinks about are not stored.
 * Threads   the engine's. The port must not call back in from inside its calls.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_ROOMS_H
#define TOCSIN_SERVICE_GOMOKU_ROOMS_H

#include "engine/engine.h"
#include "service/countdown/countdowns.h"
#include "service/gomoku/room.h"
#include "service/idem/idem.h"
#include "service/outcome.h"

struct rooms;

/* A position the AI is to find a move in. The rooms' own; what is here may be read. */
struct room_job {
    struct gomoku_board board;
    enum gomoku_side side;
    enum gomoku_rule rule;
    uint64_t seed;
    char room_id[ROOM_ID_BYTES + 1];
    uint64_t game;
    int step;
    struct room_job *next; /* of whoever has it */
    int64_t given_ns;      /* … and when he got it */
    int point;
};

/* How it reaches the outside. The JSON is borrowed until the call returns. */
struct rooms_port {
    /* To all who have subscribed to this destination. */
    void (*publish)(void *arg, const char *destination, struct bytes json);
    bool (*has_subscribers)(void *arg, const char *destination);
    /* To one session, at /user/queue/<queue>: gomoku.seat, .full, .kicked, errors. */
    void (*send_to)(void *arg, uint64_t session, const char *queue, struct bytes json);
    /* Off the loop; then rooms_thought, on it. Every job comes back. */
    void (*think)(void *arg, struct room_job *job);
    uint64_t (*chance)(void *arg); /* 64 bits that nobody can guess */
    void *arg;
};

struct rooms_limits {
    uint64_t rooms;
    uint32_t session_rooms;  /* that one session may be in */
    int64_t idle_ms;         /* nobody comes, moves or is here for so long: it is dropped */
    int64_t waiting_idle_ms; /* … before the first game has begun */
    int64_t waiting_seat_ms; /* … and so long a seat is kept for a player who is not here */
    uint32_t list_scan;      /* records one list call looks at */
};
extern const struct rooms_limits rooms_limits_default;

struct rooms_options {
    struct engine *engine;
    struct idem *idem;
    struct countdowns *countdowns;
    struct rooms_limits limits;
    int64_t turn_seconds; /* where a wish does not say (gomoku.turn.seconds) */
    bool ai_timed;        /* gomoku.turn.aiTimed */
    struct rooms_port port;
    struct siphash_key hash_key; /* chance */
};

enum { ROOM_TURN_SECONDS_MIN = 1, ROOM_TURN_SECONDS_MAX = 3600, ROOM_TURN_SECONDS = 30 };

/* Registers its kind and that of its countdowns: call it before engine_load. */
enum tocsin_status rooms_create(const struct rooms_options *options, struct rooms **ret_rooms);
/* After engine_destroy, and when no job is out. */
void rooms_destroy(struct rooms *rooms);

/* After engine_load and countdowns_recover: where it is the AI's turn, it thinks again.
 * NO_MEMORY: start again. */
enum tocsin_status rooms_recover(struct rooms *rooms);
bool rooms_recovering(const struct rooms *rooms);

/* ---- over HTTP */

/* The body of POST /v1/rooms:
 *   {"mode":"PVP"|"PVE","rule":"STANDARD"|"RENJU","turn_seconds":30,
 *    "clock":{"mode":"turn"|"fischer"|"bronstein"|"delay"|"byoyomi","bank":…,"extra":…,
 *             "periods":n,"lag_credit":duration,"lag_quota":duration},"ai_timed":bool,
 *    "on_timeout":"resign"|"pass"|"move"|"event","reconnect_grace":duration}
 * all optional. turn_seconds goes with no clock, or with one of mode turn that has no bank. */
enum tocsin_status rooms_read_wish(const struct rooms *rooms, struct bytes json,
                                   struct room_wish *ret_wish, struct tocsin_why *ret_why);

/* OK or MADE, and the JSON with the rev; now or later. */
typedef void (*rooms_read_fn)(void *arg, enum outcome outcome, uint64_t rev, struct bytes json);

/* A room asked for; the bytes of the key are kept by the caller until fn. */
struct room_opening {
    struct room_wish wish;
    struct idem_ask idem;
    void (*fn)(void *arg, enum outcome outcome, uint64_t rev, struct bytes json, const char *why,
               bool replayed);
    void *arg;
};
/* MADE; TOO_MANY: limits.rooms. */
void rooms_open(struct rooms *rooms, const struct room_opening *opening);
void rooms_get(struct rooms *rooms, struct bytes id, rooms_read_fn fn, void *arg);
struct rooms_query {
    uint64_t after; /* `next` of the page before; 0: from the beginning */
    uint32_t limit;
    int phase;   /* enum room_phase; 0: any */
    bool newest; /* the last that was made comes first; else the one that changed longest ago */
};
/* {"rooms":[…],"next":cursor or null} */
void rooms_list(struct rooms *rooms, const struct rooms_query *query, rooms_read_fn fn, void *arg);

/* ---- from a session */

enum room_verb { ROOM_RESUME, ROOM_READY, ROOM_START, ROOM_PLACE, ROOM_RESIGN, ROOM_RESTART };

enum { ROOM_COMMAND_WORD_MAX = 255 };

/* All of it is copied. */
struct room_command {
    enum room_verb verb;
    uint64_t session; /* not 0, never used for another one */
    struct bytes room_id;
    struct bytes seat_key; /* empty: none was given */
    struct bytes game_id;  /* PLACE; else it may be empty */
    int64_t x, y;          /* PLACE */
    int64_t lag_ms;        /* how long it takes to the client and back; 0: not known */
    /* Once, when it is durable or refused, and the session has been told; after what the topic
     * hears of it, but of a RESUME before that. `code` is NULL when it was done. May be NULL. */
    void (*done)(void *arg, enum outcome outcome, const char *code, const char *detail);
    void *arg;
};
/* A refusal goes to the session's errors as well. Codes: NOT_FOUND (the room), BAD_SEAT (it is
 * no seat's key), FORBIDDEN (another connection holds it), STALE_GAME, NOT_WAITING, NOT_PLAYING,
 * NOT_YOUR_TURN, TIMED_OUT, TAKEN, FORBIDDEN_MOVE (overline, double-four, double-three),
 * VALIDATE_FAILED, RATE_LIMITED, OVERLOADED, UNAVAILABLE. */
void rooms_command(struct rooms *rooms, const struct room_command *command);
/* One that could not be read: what is known of it, and what is wrong. VALIDATE_FAILED. */
void rooms_refuse(struct rooms *rooms, const struct room_command *command, const char *detail);
/* It has disconnected: nothing is sent to it any more. */
void rooms_gone(struct rooms *rooms, uint64_t session);

/* The AI's answer. GOMOKU_NOWHERE: it has none, and is asked again later. One for a position
 * that is past is dropped. The job is used up. */
void rooms_thought(struct rooms *rooms, struct room_job *job, int point);

struct rooms_stats {
    uint64_t waiting;
    uint64_t playing;
    uint64_t ended;
    uint64_t sessions;
    uint64_t frames;      /* since create: published */
    uint64_t timeouts;    /* since create: games lost on time */
    uint64_t stale;       /* since create: timeouts and thoughts of a turn that was past */
    uint64_t refused;     /* since create: commands */
    uint64_t unpublished; /* since create: frames there was no memory for */
};
void rooms_describe(const struct rooms *rooms, struct rooms_stats *ret_stats);

#endif
