/* SPDX-License-Identifier: MIT */
/* redis_inside.h - what do the parts of the Redis store share?
 *
 * What is in Redis is told in scripts.h. Here is what the owner knows of it by heart: it is the only
 * one who writes, and every commit checks that it still is.
 *
 * Threads   the writer owns everything but `reader` and `scratch`; what is atomic belongs to both.
 */
#ifndef TOCSIN_STORE_REDIS_REDIS_INSIDE_H
#define TOCSIN_STORE_REDIS_REDIS_INSIDE_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "store/redis/event_room.h"
#include "store/redis/redis_store.h"
#include "store/redis/wire.h"

#define REDIS_STORE_META STORE_REDIS_PREFIX "meta"
#define REDIS_STORE_REVS STORE_REDIS_PREFIX "revs"
#define REDIS_STORE_DOCS STORE_REDIS_PREFIX "docs"
#define REDIS_STORE_EVENTS STORE_REDIS_PREFIX "events"
#define REDIS_STORE_PROBE STORE_REDIS_PREFIX "probe"

enum {
    REDIS_COMMIT_BYTES_MAX = 256 * 1024 * 1024,
    REDIS_LOAD_PAGE = 1000,             /* heads */
    REDIS_LIST_PAGE = 128,              /* heads, then docs of them: */
    REDIS_LIST_DOC_BYTES = 1024 * 1024, /* as many as have this together, at least one */
    REDIS_EVENT_PAGE = 64,              /* events */
    REDIS_BOOKS_WORDS = 18,             /* field and value */
};

/* How things stand after a commit. */
struct redis_books {
    uint64_t commit; /* its number, one above that before */
    uint64_t living;
    uint64_t high_rev;
    uint64_t high_seq;
    uint64_t first_seq; /* the oldest event kept; above high_seq: none is */
    uint64_t event_bytes;
    struct store_time time;
};

struct redis_store {
    struct store store; /* first */
    struct wire writer;
    struct wire reader;
    uint32_t outage_ms;
    char *node;
    uint64_t incarnation;
    char incarnation_text[20];
    char token[40]; /* of this open: no other has the same */
    char commit_sha[44];
    uint64_t epoch;
    uint64_t epoch_seen; /* before it was opened */
    uint64_t commit_seen;
    struct redis_books books;
    struct event_room room;
    struct buffer command;
    int64_t sized_ns; /* when Redis's memory was looked at */
    char durability[STORE_REDIS_DURABILITY_BYTES];

    atomic_int stopped; /* the status of all calls from now on; OK: none */
    struct tocsin_why stopped_why;
    _Atomic uint64_t living;
    _Atomic uint64_t high_seq;
    _Atomic uint64_t first_seq;
    _Atomic uint64_t redis_bytes;
    _Atomic uint64_t ended;
    _Atomic uint64_t commits;
    _Atomic uint64_t last_commit; /* its number */
    _Atomic uint64_t lost_commits;
    _Atomic uint64_t sync_ns_sum;
};

static inline struct redis_store *redis_inside(struct store *store)
{
    return (struct redis_store *)(void *)store;
}

/* ---- redis_books.c: the books as words, in the order of scripts.h */
struct redis_books_text {
    char values[REDIS_BOOKS_WORDS / 2][24];
};
void redis_books_write(const struct redis_books *books, uint64_t incarnation,
                       struct redis_books_text *text, struct bytes words[REDIS_BOOKS_WORDS]);
/* From the values alone. False: they are not what was written. */
bool redis_books_read(redisReply *const values[REDIS_BOOKS_WORDS / 2], uint64_t incarnation,
                      struct redis_books *ret_books);

/* ---- redis_open.c */
/* The sha by which Redis knows a script now. */
enum tocsin_status redis_load_script(struct wire *wire, const char *script, char *ret_sha,
                                     size_t size, struct tocsin_why *ret_why);
/* "a line:…\r\n" of INFO. Empty: there is none. */
struct bytes redis_info_field(struct bytes info, const char *name);
void redis_look_at_sizes(struct redis_store *store);

/* ---- redis_commit.c */
enum tocsin_status redis_commit(struct store *handle, const struct store_batch *batch,
                                struct tocsin_why *ret_why);
/* For good. */
enum tocsin_status redis_stop(struct redis_store *store, const struct tocsin_why *why);
enum tocsin_status redis_running(struct redis_store *store, struct tocsin_why *ret_why);
/* Redis has less than it has answered: this is the last it has. Always IO. */
enum tocsin_status redis_say_lost(struct bytes has, uint64_t answered, struct tocsin_why *ret_why);

/* ---- redis_read.c */
enum tocsin_status redis_load(struct store *handle,
                              bool (*visit)(void *arg, const struct store_record *record),
                              void *arg, struct tocsin_why *ret_why);
enum tocsin_status redis_get(struct store *handle, uint64_t rev,
                             void (*visit)(void *arg, const struct store_record *record), void *arg,
                             struct tocsin_why *ret_why);
enum tocsin_status redis_list(struct store *handle, struct bytes kind, uint64_t after_rev,
                              size_t scan, bool (*visit)(void *arg, const struct store_record *),
                              void *arg, uint64_t *ret_next, struct tocsin_why *ret_why);
enum tocsin_status redis_events(struct store *handle, uint64_t after_seq, size_t scan,
                                bool (*visit)(void *arg, const struct store_event *), void *arg,
                                uint64_t *ret_first, struct tocsin_why *ret_why);

#endif
