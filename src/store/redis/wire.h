/* SPDX-License-Identifier: MIT */
/* wire.h - what does Redis say, to one who waits for it?
 *
 * A connection that blocks, for a thread that has nothing else to do. It does not come back by
 * itself: what was under way when it broke is for the caller to judge.
 *
 * Bounds    each step (connect, a write, a read) takes timeout_ms at most; looking up a name takes
 *           what the system allows.
 * Memory    replies are the caller's, to be freed with freeReplyObject.
 * Threads   one at a time.
 */
#ifndef TOCSIN_STORE_REDIS_WIRE_H
#define TOCSIN_STORE_REDIS_WIRE_H

#include <stdint.h>

#include <hiredis/hiredis.h>
#include <tocsin/status.h>

#include "base/bytes.h"
#include "net/redis/redis_url.h"

struct wire {
    char *host;
    char *user;     /* NULL: none */
    char *password; /* NULL: none */
    unsigned port;
    unsigned database;
    uint32_t timeout_ms;
    redisContext *context; /* NULL: not connected */
};

/* False: no memory. */
bool wire_init(struct wire *wire, const struct redis_url *where, uint32_t timeout_ms);
void wire_release(struct wire *wire);

/* OK, also when it is connected already and, as far as can be seen, still is; UNAVAILABLE: cannot
 * be reached; INVALID: Redis does not let us in. */
enum tocsin_status wire_connect(struct wire *wire, struct tocsin_why *ret_why);
void wire_drop(struct wire *wire);

/* Sends a command and waits for its reply, which may be an error of Redis. NULL: there is none, and
 * whether it was done is unknown; the connection is dropped. */
redisReply *wire_ask_formatted(struct wire *wire, const char *command, size_t size,
                               struct tocsin_why *ret_why);
redisReply *wire_ask(struct wire *wire, const struct bytes *words, size_t count,
                     struct tocsin_why *ret_why);

/* For what may be done twice: connects when needed, and asks once more when the connection breaks.
 * OK: a reply that is no error; UNAVAILABLE: none, or Redis cannot answer now; INVALID: it refused. */
enum tocsin_status wire_read(struct wire *wire, const struct bytes *words, size_t count,
                             redisReply **ret_reply, struct tocsin_why *ret_why);

/* The same of several commands in one go, done in this order; their replies, or none. */
struct wire_command {
    const struct bytes *words;
    size_t count;
};
enum tocsin_status wire_read_all(struct wire *wire, const struct wire_command *commands,
                                 size_t count, redisReply **ret_replies,
                                 struct tocsin_why *ret_why);
/* Those that are there. */
void wire_free(redisReply **replies, size_t count);

/* Is one of these words in the error, at its beginning or behind the words that scripts add? A
 * refusal that may pass: LOADING, BUSY, READONLY, MISCONF, … */
bool wire_error_has(const char *error, const char *word);
bool wire_error_passes(const char *error);

/* A text of a reply; empty when it is something else. */
struct bytes wire_text(const redisReply *reply);
/* A number in decimal, of a text or an integer. False: it is something else. */
bool wire_number(const redisReply *reply, uint64_t *ret_number);

#endif
