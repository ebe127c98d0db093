/* SPDX-License-Identifier: MIT */
/* countdown_world.h - the countdown service on a clock and a disk that a test moves by hand.
 *
 * Two kinds live here: the default one, and "game", whose timeout writes a line in a book (a
 * record of its own) in the same group. Whatever is told is written down, a line each:
 *
 *     "started a v1", "tick a 30", "timeout a v1", "stopped a v1", …
 */
#ifndef TEST_COUNTDOWN_WORLD_H
#define TEST_COUNTDOWN_WORLD_H

#include "service/countdown/countdowns.h"
#include "support/mirror_book.h"
#include "support/sim_world.h"

enum { COUNTDOWN_LOG_BYTES = 1 << 16 };

struct countdown_world {
    struct clock_manual clock;
    struct sim_backend sim;
    struct engine *engine;
    struct idem *idem;
    struct countdowns *countdowns;
    struct countdowns_limits limits;
    bool shared;      /* the store is, with other nodes */
    const char *node; /* who we are */
    struct mirror_book book_of_names;
    uint64_t timeout_events; /* on disk */
    struct countdown_kind plain;
    struct countdown_kind game;
    struct engine_kind book_info;
    unsigned book;
    enum tocsin_status game_fails; /* what its handler answers; OK: it writes the book */
    bool next_turn;                /* its handler begins the next one: version + "'" for 5 s */
    size_t log_size;
    char log[COUNTDOWN_LOG_BYTES];
    uint64_t early; /* timeouts before their deadline, and ticks after it */
};

void countdown_world_start(struct countdown_world *world);
/* In a shared store, as node "n1". */
void countdown_world_start_shared(struct countdown_world *world);
void countdown_world_crash(struct countdown_world *world);
void countdown_world_again(struct countdown_world *world);
/* Without settling: what is to be done is still to be done. */
void countdown_world_load(struct countdown_world *world);
void countdown_world_release(struct countdown_world *world);
void countdown_world_turn(struct countdown_world *world);
void countdown_world_settle(struct countdown_world *world);
/* In steps, each at the moment something is due. */
void countdown_world_pass(struct countdown_world *world, int64_t ms);

/* What was told since the last time, without its last line break. */
void countdown_world_told(struct countdown_world *world, const char *wanted);

struct countdown_asked {
    struct countdown_call call;
    bool done;
    char text[2048];
};
/* Begun; it must not move until it is done. */
void countdown_ask(struct countdown_world *world, struct countdown_asked *asked,
                   enum countdown_verb verb, const char *key);
enum outcome countdown_world_ask(struct countdown_world *world, enum countdown_verb verb,
                                 const char *key);
/* "a": owner "me", this version, for so long, of the default kind. */
enum outcome countdown_world_run(struct countdown_world *world, const char *key,
                                 const char *version, int64_t for_ms);
/* One of the kind "game", by its service. */
void countdown_world_game(struct countdown_world *world, const char *key, const char *version,
                          int64_t for_ms);
/* The value of a field, as GET has it; "" when there is no such countdown. */
const char *countdown_world_field(struct countdown_world *world, const char *key,
                                  const char *field);
/* What a program finds by a name beside the records; "": there is no such name. */
const char *countdown_world_name(const struct countdown_world *world, const char *name);
/* Lines in the book: timeouts of games that are on disk. */
size_t countdown_world_book(struct countdown_world *world);

#endif
