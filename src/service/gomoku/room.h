/* SPDX-License-Identifier: MIT */
/* room.h - what is a room, and what do its players' commands make of it?
 *
 *              all ready            five, full board, resign, flag
 *   WAITING --------------> PLAYING -------------------------------> ENDED
 *      ^                     ^   ^                                     |
 *      |                     |   +-- both are here --+                 |
 *      |         both want another game              +---- restart ----+
 *      +----------------------- one is not here -----+
 *
 * A value: no engine, no clock of its own. Time comes in as an argument.
 *
 * Seats     X moves first. A seat goes with its player: when the sides are swapped, key, wins
 *           and readiness move over with whoever holds them. So the wins under X are those of
 *           the player who has X now.
 * Game      a room plays one game after another; a game has a number, which only rises. Its
 *           id is "<room>-<number>", a turn's version "<game>:<turns before it>" (C-17), with a
 *           "+" when it was made longer, since a version keeps its deadline (C-18).
 * Clock     runs for the side to move while the game is on, but not for an AI that is not
 *           timed. A turn begins at the next whole millisecond, and ends when all of its time
 *           has passed: never early.
 * Refused   a command leaves the room as it was.
 * Memory    none: a room is a value, to be copied.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_ROOM_H
#define TOCSIN_SERVICE_GOMOKU_ROOM_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/sha256.h"
#include "service/countdown/clock.h"
#include "service/gomoku/rules.h"

enum {
    ROOM_ID_BYTES = 16, /* hex */
    ROOM_KEY_BYTES = 32,
    ROOM_WORD_BYTES = 48, /* a game id or a version, terminated */
    ROOM_SIDES = 2,
    ROOM_NO_SIDE = -1,
    ROOM_GRACE_MAX_MS = 5 * 60 * 1000,
    ROOM_LAG_MOVE_MAX_MS = 500,
    ROOM_LAG_QUOTA_MAX_MS = 60 * 1000,
    ROOM_LAG_QUOTA_MS = 5000,
};

enum room_phase { ROOM_WAITING = 1, ROOM_PLAYING, ROOM_ENDED };

/* What a fallen flag does (C-31). */
enum room_flag {
    ROOM_FLAG_RESIGNS, /* the game is lost */
    ROOM_FLAG_PASSES,  /* the other side moves; two in a row, and it is a draw */
    ROOM_FLAG_MOVES,   /* a stone is put for them: the legal point that is nearest to the centre */
    ROOM_FLAG_IS_TOLD, /* nothing: the clock stands until they move */
};

enum room_winner { ROOM_NOT_OVER, ROOM_X_WINS, ROOM_O_WINS, ROOM_DRAWN };

/* What ended it. */
enum room_ending { ROOM_NO_ENDING, ROOM_BY_FIVE, ROOM_BY_RESIGNING, ROOM_BY_TIME, ROOM_BY_DRAW };

struct room_seat {
    int player; /* 0 or 1: stays with whoever sits here when the sides are swapped */
    bool taken;
    bool ready;
    bool wants_restart; /* of a game that is on; until the next stone */
    bool had_grace;     /* in this game */
    bool ai;
    uint64_t wins;
    char key_hash[SHA256_HEX_BYTES + 1]; /* of the seat key, which is not kept */
    /* The connection that took it, for one that asks again since the answer was lost. */
    uint64_t taker_epoch;
    uint64_t taker_session;
};

struct room {
    char id[ROOM_ID_BYTES + 1];
    bool pve;
    bool ai_timed;
    enum gomoku_rule rule;
    enum room_flag on_timeout;
    int64_t grace_ms; /* for who is not connected when the flag falls, once a game */
    uint64_t game;    /* from 1 */
    enum room_phase phase;
    struct gomoku_board board;
    int step;            /* stones on the board */
    int last;            /* the last one, or GOMOKU_NOWHERE */
    int passes;          /* turns of this game without a stone */
    bool passed;         /* the last turn was one */
    bool overdue;        /* ROOM_FLAG_IS_TOLD: it has fallen in this turn */
    bool graced;         /* this turn has been made longer */
    int64_t credited_ms; /* for lag, to the last move */
    enum room_winner winner;
    enum room_ending ended_by;
    struct room_seat seats[ROOM_SIDES];
    uint64_t draws;
    struct turn_clock clock; /* on the elapsed line */
    int64_t told_ms;         /* wall: the deadline of this turn as it is told; 0: not told yet */
    int64_t created_ms;      /* wall */
    int64_t touched_ms;      /* elapsed: somebody came or did something */
    uint64_t rev;
};

struct room_wish {
    bool pve;
    bool ai_timed;
    enum gomoku_rule rule;
    enum room_flag on_timeout;
    int64_t grace_ms;
    struct turn_rules clock; /* valid */
};

/* This moment on the elapsed line, in milliseconds: how many are full, and the next full one. */
struct room_time {
    int64_t down_ms;
    int64_t up_ms;
    int64_t lag_ms; /* so long the command was on its way, as far as it is believed */
};

enum room_answer {
    ROOM_DONE,
    ROOM_AS_IT_WAS, /* nothing to do */
    ROOM_NOT_PLAYING,
    ROOM_NOT_WAITING,
    ROOM_NOT_YOUR_TURN,
    ROOM_OFF_BOARD,
    ROOM_TAKEN,
    ROOM_OVERLINE,
    ROOM_DOUBLE_FOUR,
    ROOM_DOUBLE_THREE,
    ROOM_TOO_LATE, /* the flag has fallen: its timeout is on the way */
};

/* The id has ROOM_ID_BYTES. */
void room_init(struct room *room, const char *id, const struct room_wish *wish);

void room_game_id(const struct room *room, char ret_text[ROOM_WORD_BYTES]);
void room_version(const struct room *room, char ret_text[ROOM_WORD_BYTES]);

static inline enum gomoku_side room_to_move(const struct room *room)
{
    return (room->step + room->passes) % 2 == 0 ? GOMOKU_X : GOMOKU_O;
}
/* No game has begun in it. */
static inline bool room_never_played(const struct room *room)
{
    return room->phase == ROOM_WAITING && room->game == 1;
}
/* The game is on, and the AI has to move. */
bool room_ai_moves(const struct room *room);
/* The game is on, and time runs. */
bool room_timed(const struct room *room);
/* What the first turn of a game may take, in seconds as a clock shows them. */
int64_t room_turn_seconds(const struct room *room);

/* Whose seat this key opens, or ROOM_NO_SIDE; as long whatever the key. */
int room_side_of_key(const struct room *room, struct bytes key);
int room_side_of_player(const struct room *room, int player);
/* The next seat that nobody has, or ROOM_NO_SIDE. */
int room_free_side(const struct room *room);
/* Nobody has it, and its key opens it no more. */
void room_vacate_seat(struct room *room, int side);
void room_take_seat(struct room *room, int side, struct bytes key);

enum room_answer room_ready(struct room *room, int side, struct room_time now);
enum room_answer room_place(struct room *room, int side, int point, struct room_time now);
enum room_answer room_resign(struct room *room, int side, struct room_time now);
/* A new game with the sides swapped; room->game tells whether there is one. After the end it
 * begins at once when the other is here, else when they are ready. Before it, when both want it,
 * and nobody scores. One without a stone is new enough: as it was. */
enum room_answer room_restart(struct room *room, int side, bool other_here, struct room_time now);
/* The flag of the side to move has fallen, and what is to be done then is. */
void room_time_out(struct room *room, struct room_time now);
/* It has fallen while they were not connected: false when that is as if they were. Else the turn
 * goes on. */
bool room_grant_grace(struct room *room);

#endif
