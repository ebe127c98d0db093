/* SPDX-License-Identifier: MIT */
/* redis_world.h - how does a test talk to the client of Redis, and play Redis?
 *
 * A client on a loop, and a listener whose connections the test itself reads and writes, step by
 * step, on the same thread: whatever waits for the client runs its loop. Every wait has a limit.
 */
#ifndef TEST_REDIS_WORLD_H
#define TEST_REDIS_WORLD_H

#include "runner.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>
#include <uv.h>

#include "net/redis/redis.h"

enum { WORLD_CALLS_MAX = 20000, WORLD_WAIT_S = 30, LONG_MS = 60000 };

struct redis_world;

struct kept_call {
    struct redis_call call;
    struct redis_world *world;
    enum redis_outcome outcome;
    unsigned times;  /* done was called; 1 is right */
    unsigned place;  /* the how-manieth it was to be done, from 1 on */
    long long value; /* of an integer */
    char text[240];  /* of a text, an error, or why */
};

struct redis_world {
    uv_loop_t uv;
    struct redis_options options; /* set before redis_world_start; host and port are filled in */
    struct redis *redis;
    int listener;
    uint16_t port;
    struct kept_call *calls;
    unsigned given;
    unsigned done;
    unsigned ups; /* how often it was told to be connected */
    unsigned downs;
    char down_why[320];
    bool closed;
    void (*on_done)(struct kept_call *call); /* may be NULL */
};

/* With a listener of its own, unless options.port is set. */
void redis_world_start(struct redis_world *world);
/* Closes the client without a wait, and looks whether each call was done once. */
void redis_world_stop(struct redis_world *world);
void redis_world_close(struct redis_world *world, uint32_t wait_ms);
/* A turn of the loop, and a short nap. */
void redis_world_turn(struct redis_world *world);
/* Until it holds; fails when it does not come. */
#define WORLD_UNTIL(world, condition)                                                              \
    do {                                                                                           \
        uint64_t until_ns = uv_hrtime() + WORLD_WAIT_S * UINT64_C(1000000000);                     \
        while (!(condition)) {                                                                     \
            assert_true(uv_hrtime() < until_ns);                                                   \
            redis_world_turn(world);                                                               \
        }                                                                                          \
    } while (false)

/* The words are split at blanks. */
struct kept_call *redis_world_give(struct redis_world *world, const char *words,
                                   uint32_t timeout_ms);
struct kept_call *redis_world_give_script(struct redis_world *world, size_t script,
                                          const char *word, uint32_t timeout_ms);
void redis_world_until_done(struct redis_world *world, unsigned count);
void call_expect(const struct kept_call *call, enum redis_outcome outcome, const char *text);
struct redis_stats redis_world_stats(struct redis_world *world);

/* ---- Redis, played */

struct peer {
    struct redis_world *world;
    int fd;
    char in[1 << 16];
    size_t size;
};

void peer_accept(struct redis_world *world, struct peer *peer);
bool peer_try_accept(struct redis_world *world, struct peer *peer);
/* Accepts, and says +PONG to PING and +OK to all else. */
void peer_greet(struct redis_world *world, struct peer *peer);
/* Waits for the next command; its words with blanks between. */
void peer_read(struct peer *peer, char *ret_words, size_t room);
void peer_expect(struct peer *peer, const char *words);
bool peer_try_read(struct peer *peer, char *ret_words, size_t room);
void peer_send(struct peer *peer, const char *bytes);
void peer_close(struct peer *peer);
/* By RST. */
void peer_reset(struct peer *peer);
/* The client has closed its side. */
void peer_expect_end(struct peer *peer);

#endif
