/* SPDX-License-Identifier: MIT */
/* rooms_world.h - the gomoku service on a clock and a disk that a test moves by hand.
 *
 * What goes out is recorded, and judged on its way (rooms_judge.h). The AI thinks when the test
 * says so. Nothing becomes durable before the test lets the disk go on (rooms_world_settle).
 */
#ifndef TEST_ROOMS_WORLD_H
#define TEST_ROOMS_WORLD_H

#include "service/gomoku/rooms.h"
#include "support/rooms_judge.h"
#include "support/sim_world.h"

enum { HEARD_MAX = 4096, JOBS_MAX = 256, WORLD_ID_BYTES = ROOM_ID_BYTES + 1 };

/* One message that went out. */
struct heard {
    uint64_t session; /* 0: it was published */
    char where[48];   /* a destination, or a queue */
    char *text;
    int64_t wall_ms;
};

struct rooms_world {
    struct clock_manual clock;
    struct sim_backend sim;
    struct engine *engine;
    struct idem *idem;
    struct countdowns *countdowns;
    struct rooms *rooms;
    struct rooms_limits limits;
    bool ai_timed;
    bool shared;    /* the store is, with other nodes */
    bool deaf;      /* nobody has subscribed */
    bool forgetful; /* what was heard is not kept */
    /* What is sent to a session, as it is sent; may be NULL. */
    void (*on_sent)(uint64_t session, const char *queue, struct bytes json);
    struct rooms_judge judge;
    bool unjudged; /* what it says does not count */
    struct heard heard[HEARD_MAX];
    size_t heard_count;
    struct room_job *jobs[JOBS_MAX];
    size_t job_count;
    uint64_t chance;
};

void rooms_world_start(struct rooms_world *world);
/* In a store that several nodes share. */
void rooms_world_start_shared(struct rooms_world *world);
/* What was under way is lost; rooms_world_again finds what was durable. */
void rooms_world_crash(struct rooms_world *world);
void rooms_world_again(struct rooms_world *world);
/* Without settling: what is to be read is still to be read. */
void rooms_world_load(struct rooms_world *world);
void rooms_world_release(struct rooms_world *world);
/* The disk finishes all there is; the engine checks itself, and the judge must be content. */
void rooms_world_settle(struct rooms_world *world);
void rooms_world_pass(struct rooms_world *world, int64_t ms);
int64_t rooms_world_wall_ms(const struct rooms_world *world);

/* POST, settled: its id. */
const char *rooms_world_open(struct rooms_world *world, const char *body);
/* … what it was answered with; NULL when it was refused. */
const char *rooms_world_opened(struct rooms_world *world, const char *body,
                               enum outcome *ret_outcome);
/* GET, settled. "" when there is none. */
const char *rooms_world_room(struct rooms_world *world, const char *id);
/* GET of the countdown of a room. */
const char *rooms_world_clock(struct rooms_world *world, const char *id);

/* A command and its answer. */
struct said {
    bool done;
    enum outcome outcome;
    char code[32]; /* "": it was not refused */
    char detail[200];
};
/* Begun; `said` must not move until it is done. */
void rooms_world_begin(struct rooms_world *world, struct said *said,
                       const struct room_command *command);
/* Settled; the code. */
const char *rooms_world_do(struct rooms_world *world, const struct room_command *command);

/* Two sessions, 1 and 2, with a seat each, X and O. */
struct players {
    char room[WORLD_ID_BYTES];
    char key[2][ROOM_KEY_BYTES + 1]; /* of session 1 and 2 */
};
void rooms_world_seat(struct rooms_world *world, const char *body, struct players *ret_players);
/* … and ready: the game is on. */
void rooms_world_play(struct rooms_world *world, const char *body, struct players *ret_players);
/* The key that a session was sent last. */
void rooms_world_key(struct rooms_world *world, uint64_t session, char ret_key[ROOM_KEY_BYTES + 1]);
/* A verb of session 1 or 2 with its key; the code. */
const char *rooms_world_by(struct rooms_world *world, const struct players *players,
                           uint64_t session, enum room_verb verb);
const char *rooms_world_place(struct rooms_world *world, const struct players *players,
                              uint64_t session, int x, int y);
const char *rooms_world_resume(struct rooms_world *world, uint64_t session, const char *room,
                               const char *key);
/* X makes a row at the top, O one below it: four stones each; and the fifth of X. Of the two
 * sessions, this one is X. */
void rooms_world_four_each(struct rooms_world *world, const struct players *players,
                           uint64_t x_session);
void rooms_world_win(struct rooms_world *world, const struct players *players, uint64_t x_session);
/* The value at a path of their room as GET has it. */
const char *rooms_world_at(struct rooms_world *world, const struct players *players,
                           const char *path);
/* The side that a session was told last, as JSON. */
const char *rooms_world_side(struct rooms_world *world, uint64_t session);

/* The last that was heard there, or "". Session 0: published. */
const char *rooms_world_last(struct rooms_world *world, uint64_t session, const char *where);
/* The types of what was published, in order, since the last time: "STATE SNAPSHOT TICK". */
const char *rooms_world_types(struct rooms_world *world);
void rooms_world_forget(struct rooms_world *world);
/* The first job goes back to the rooms with this answer. */
void rooms_world_think(struct rooms_world *world, int point);

/* The value at a path ("payload.state.step") as JSON; "-" when there is none. Good until four
 * more were asked for. */
const char *at(const char *json, const char *path);

#endif
