/* SPDX-License-Identifier: MIT */
/* redis.h - what does that Redis say?
 *
 * A client of one Redis server on a libuv loop: one connection, on which commands go out in the
 * order in which they were given, as many at once as there are, and a connection that comes back
 * by itself.
 *
 * Promise   every call that was given is done exactly once, in order, with one of four outcomes:
 *             ANSWERED  Redis did it; the reply is there
 *             REFUSED   Redis said no (an error reply: NOAUTH, READONLY, OOM, LOADING,
 *                       WRONGTYPE, …); nothing was done, unless it is a script's own error:
 *                       what that did before it failed stays done
 *             FAILED    it was never sent, or not a byte of it can have arrived: do it again as
 *                       you like
 *             UNKNOWN   it was sent, and no answer came in time or the connection broke: it may
 *                       have been done, or may be done yet
 * Order     those that were sent are done in the order they were given; one that was not sent may
 *           end before them, at its deadline. A script that Redis had forgotten is run again
 *           behind what was sent meanwhile.
 * Deadlines each call has one, from when it was given. Past it the call ends, and when it had
 *           been sent so does the connection, since answers come in order: whatever else was
 *           on it ends UNKNOWN, too.
 * Reconnect at once the first time, then after a delay that doubles up to a limit, with jitter
 *           (up to half of it less). Until it is there calls wait, within their deadlines and within
 *           the limit of calls. After each connect: AUTH, SELECT, the scripts are loaded, PING;
 *           only when Redis has said yes to all of them is a call sent.
 * Names     are resolved on libuv's pool, anew for each connect; never on this thread.
 * Bounds    calls_max; a command of 64 MiB, 256 MiB of them together: more are FAILED at once. A
 *           reply of 64 MiB, of a million elements, nested 7 deep: more ends the connection.
 * Cost      a command is copied once; neither it nor a short reply costs an allocation.
 * Threads   one: the loop's.
 */
#ifndef TOCSIN_NET_REDIS_REDIS_H
#define TOCSIN_NET_REDIS_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/bytes.h"

struct uv_loop_s;
struct redis;
struct redis_chunk;
struct redisReply; /* hiredis/hiredis.h */

struct redis_options {
    const char *host; /* a name or an address; copied, as are all of them */
    uint16_t port;
    const char *user;     /* NULL: none */
    const char *password; /* NULL or empty: none */
    unsigned database;
    const char *const *scripts; /* loaded on each connect, called by redis_give_script */
    size_t script_count;
    uint32_t connect_ms;   /* for name, connect and hello together; 0: 5 000 */
    uint32_t retry_ms;     /* first delay; 0: 100 */
    uint32_t retry_cap_ms; /* 0: 5 000 */
    uint32_t calls_max;    /* that wait or are on their way; 0: 100 000; more are FAILED at once */
    uint64_t seed;         /* of the jitter */
    /* It is connected (why is NULL); or it is not (any more) and why, told again when the reason
     * is another. May be NULL. */
    void (*on_state)(void *arg, bool connected, const char *why);
    void *arg;
};

enum redis_outcome { REDIS_ANSWERED, REDIS_REFUSED, REDIS_FAILED, REDIS_UNKNOWN };

/* One command. The caller keeps it until done; what the arguments point to may go when redis_give
 * returns. */
struct redis_call {
    void (*done)(struct redis_call *call, enum redis_outcome outcome,
                 const struct redisReply *reply, /* ANSWERED, REFUSED; gone when done returns */
                 const char *why);               /* the others, for a person */
    void *arg;
    /* the client's */
    struct redis_call *next;
    struct redis_call *previous;
    struct redis *redis;
    int64_t deadline;
    uint64_t number;
    bool sent;
    bool internal; /* the client's own: AUTH, SCRIPT LOAD, … */
    bool again;    /* Redis had forgotten its script once */
    size_t script; /* its place, from 1 on; 0: none */
    char *command; /* in the chunk */
    size_t size;
    struct redis_chunk *chunk;
};

enum tocsin_status redis_create(struct uv_loop_s *uv, const struct redis_options *options,
                                struct redis **ret_redis);
/* Ends: calls that have not been sent are FAILED, those that have are awaited for at most
 * wait_ms and then UNKNOWN; then closed is called, and the client is gone. None of it happens
 * before this returns, so it may be called from done and on_state. A name that is just being
 * resolved is waited for: libuv cannot call its thread back. */
void redis_close(struct redis *redis, uint32_t wait_ms, void (*closed)(void *arg), void *arg);

/* Goes out at the end of this turn of the loop, together with all others given in it. done may
 * be called before it returns only when it is FAILED. */
void redis_give(struct redis *redis, struct redis_call *call, const struct bytes *words,
                size_t count, uint32_t timeout_ms);
/* The script of that place, by its SHA-1; loaded again when Redis has forgotten it (NOSCRIPT). */
void redis_give_script(struct redis *redis, struct redis_call *call, size_t script,
                       const struct bytes *keys, size_t key_count, const struct bytes *words,
                       size_t count, uint32_t timeout_ms);

bool redis_connected(const struct redis *redis);

struct redis_stats {
    uint64_t given;
    uint64_t answered;
    uint64_t refused;
    uint64_t failed;
    uint64_t unknown;
    uint64_t connects;
    uint64_t waiting;  /* now: not sent */
    uint64_t flying;   /* now: sent, no answer yet */
    uint64_t retry_ms; /* now: the delay before the next connect; 0: there is none */
};
void redis_describe(const struct redis *redis, struct redis_stats *ret_stats);

#endif
