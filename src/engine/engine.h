/* SPDX-License-Identifier: MIT */
/* engine.h - what is true, what comes due, and who may change it?
 *
 * Records with a revision and a due time, a wheel that says which are due, and a store that
 * keeps them. Everything a service needs is in this header; a service never sees the wheel
 * or the store.
 *
 *   kind      registered by a service: a name, and what to do when a record comes due
 *   change    a function that reads records and answers with a group: puts, drops and events
 *             of one home, all or nothing. It runs on the tip (the newest version, durable
 *             or not), in order of arrival, without waiting for anybody's fsync; its `done`
 *             is called when the group is durable, or has been rolled back.
 *   get       reads what is committed, and only that
 *   timer     a volatile timer, never stored; a kind's on_load makes it anew
 *
 * Promise   durable before visible: `done` with OK, get, list, the wheel and on_due see only
 *           what is committed. A refused change (its function answered other than OK) writes
 *           nothing, and is answered only when what it read is durable, or UNAVAILABLE.
 *           A record that is being changed does not come due until that is settled.
 *           Never early; revs and fences only rise.
 * Cold      a waiting record keeps no doc and no key in memory. A change that touches one is
 *           told BUSY by change_get, must return BUSY at once, and is run again when it has
 *           been read: a change function has no effect before it returns OK.
 * Time      milliseconds. `elapsed` is a line that only goes forward, also across restarts;
 *           `wall` is the world's. engine_wall_of turns the first into the second.
 * Bounds    struct engine_limits. Past them a change ends with OVERLOADED or FULL.
 * Threads   one: the loop's. The backend (backend.h) does the disk's work elsewhere.
 */
#ifndef TOCSIN_ENGINE_ENGINE_H
#define TOCSIN_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>
#include <tocsin/wheel.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/siphash.h"
#include "store/store.h"

struct engine;
struct change;

/* A living record. It goes stale with the record: every call takes it and says NONE. */
struct engine_ref {
    uint32_t index;
    uint32_t born;
};

/* A version of a record, borrowed until the call returns. */
struct engine_record {
    struct engine_ref ref;
    uint64_t rev;
    struct bytes key;
    struct bytes home;
    struct bytes tag;
    int64_t due_ms; /* by its basis; STORE_NEVER: none */
    enum store_basis basis;
    uint8_t mark;
    bool own; /* the doc is as this process has put it, and has never been on a disk since */
    struct bytes doc;
};

/* What is in memory of every record. */
struct engine_head {
    struct engine_ref ref;
    unsigned kind;
    uint64_t rev;
    struct bytes tag;
    struct bytes home; /* given to on_load only: it is not kept */
    int64_t due_ms;
    enum store_basis basis;
    uint8_t mark;
};

struct engine_kind {
    const char *name;
    /* A record has come due; it is off the wheel until it is put again. First on_due_head is
     * asked: true when it needs no doc to deal with it. Else on_due runs as a change does. One
     * of the two may be NULL. */
    bool (*on_due_head)(void *service, const struct engine_head *head);
    enum tocsin_status (*on_due)(void *service, struct change *change,
                                 const struct engine_record *record);
    /* Called for each record while loading, before anything comes due, and before the record can
     * be found by its key. May be NULL. */
    void (*on_load)(void *service, const struct engine_head *head);
    void *service;
};

enum { ENGINE_KINDS_MAX = 31, ENGINE_MARKS_MAX = 63, ENGINE_TAGS_MAX = 65535 };

struct engine_limits {
    uint32_t records;        /* living */
    uint32_t commit_changes; /* in one commit */
    uint32_t waiting;        /* that wait for their turn or for a doc; then OVERLOADED */
    uint64_t doc_bytes;      /* of docs kept in memory because they are due soon or just were */
    uint32_t ahead_ms;       /* docs are read this long before they are due */
    uint32_t turn_work;      /* wheel work in one go */
    uint64_t epoch_fences;   /* fences of one epoch, at most 2^32 - 1; fewer in a test */
};

extern const struct engine_limits engine_limits_default;

struct engine_backend;

struct engine_options {
    struct engine_limits limits;
    struct clock clock;
    const struct engine_backend *backend;
    struct siphash_key hash_key; /* chance: not known to anybody outside */
    bool shared; /* several nodes share the store: mirrors are written, and a claim is a commit of
                    its own */
    /* The store has failed for good (IO, DAMAGED): nothing was answered, stop and recover. */
    void (*on_fatal)(void *arg, enum tocsin_status status, const char *why);
    void *arg;
};

enum tocsin_status engine_create(const struct engine_options *options, struct engine **ret_engine,
                                 struct tocsin_why *ret_why);
void engine_destroy(struct engine *engine);
/* Before that, when those who wait for changes and gets live on: each is told UNAVAILABLE, whatever
 * becomes of what the store was given. Nothing is run or handed over any more; the backend has
 * ended what it had. */
void engine_abandon(struct engine *engine);
bool engine_shared(const struct engine *engine);

/* Before engine_load. The kind is not copied. */
unsigned engine_add_kind(struct engine *engine, const struct engine_kind *kind);

/* Takes in every record of the store and puts what has a due time on the wheel. A record of a
 * kind nobody registered is INVALID and names it. */
enum tocsin_status engine_load(struct engine *engine, struct store *store,
                               const struct store_state *state, struct tocsin_why *ret_why);

/* What is due, and what may be handed to the store. Call it when time has come, after new
 * work, and when the backend posted. ret_wake: when to call again at the latest. */
void engine_turn(struct engine *engine, struct elapsed_time *ret_wake);
/* The wall clock was set. */
void engine_clock_stepped(struct engine *engine);

/* ---- time, chance, fences */

int64_t engine_now_ms(const struct engine *engine);    /* elapsed line, rounded down */
int64_t engine_now_up_ms(const struct engine *engine); /* … up: base of a delay */
int64_t engine_wall_ms(const struct engine *engine);   /* rounded down */
int64_t engine_wall_up_ms(const struct engine *engine);
int64_t engine_wall_ns(const struct engine *engine);
int64_t engine_wall_of(const struct engine *engine, int64_t due_ms, enum store_basis basis);
uint64_t engine_next_fence(struct engine *engine);
uint64_t engine_epoch(const struct engine *engine);

/* ---- changes */

typedef enum tocsin_status (*change_fn)(void *arg, struct change *change);
typedef void (*change_done_fn)(void *arg, enum tocsin_status status);

/* Runs fn now or when its turn comes. `done` may be NULL. An urgent one ends work or makes
 * room: it may use the ballast of a full disk. */
void engine_change(struct engine *engine, bool urgent, change_fn fn, change_done_fn done,
                   void *arg);

/* Inside a change function. OK; NONE: there is no such record; BUSY: return BUSY at once.
 * DAMAGED: there is one, as far as 64 bits of its key can tell, and what the store has of it is
 * not what was written: ret_record is as it is in memory, without a doc. It can be dropped, and
 * put anew. What this change has put before is seen. */
enum tocsin_status change_get(struct change *change, unsigned kind, struct bytes key,
                              struct engine_record *ret_record);
/* … and DAMAGED: ret_record has no key either. */
enum tocsin_status change_get_ref(struct change *change, struct engine_ref ref,
                                  struct engine_record *ret_record);

struct change_put {
    unsigned kind;
    struct bytes key;
    struct bytes home;
    struct bytes tag;
    int64_t due_ms;
    enum store_basis basis;
    uint8_t mark;
    struct bytes doc;
};
/* Makes the record or a new version of it. ret_rev (may be NULL): its rev, should the group
 * be committed. BUSY: as change_get. FULL: too many records or tags. All are copied. */
enum tocsin_status change_put(struct change *change, const struct change_put *put,
                              uint64_t *ret_rev);
/* NONE: there is none. BUSY as above. */
enum tocsin_status change_drop(struct change *change, unsigned kind, struct bytes key);
/* Committed with the group. */
void change_event(struct change *change, unsigned kind, struct bytes key, const char *type,
                  struct bytes doc);
/* One could not be made: the change is not written without it, and ends with this status. */
void change_event_lost(struct change *change, enum tocsin_status status);
/* A name for other programs that look into a shared store (store.h), committed with the group. A
 * value whose at is NULL: the name goes. expire_ms: it goes by itself; 0: it stays. What cannot be
 * kept ends the change as a lost event does. Nothing is done where the store is not shared. */
void change_mirror(struct change *change, struct bytes name, struct bytes value, int64_t expire_ms);
/* Called once with how the change ended, after its `done`; with BUSY when this run of the
 * function did not count. Any number of them, in order. NO_MEMORY: it is not called. */
enum tocsin_status change_then(struct change *change, change_done_fn then, void *arg);
struct engine *change_engine(struct change *change);

/* ---- reading what is committed */

typedef void (*engine_get_fn)(void *arg, enum tocsin_status status,
                              const struct engine_record *record);
/* OK and the record, or NONE, or DAMAGED; OVERLOADED when too many wait; now or later. */
void engine_get(struct engine *engine, unsigned kind, struct bytes key, engine_get_fn fn,
                void *arg);
void engine_get_ref(struct engine *engine, struct engine_ref ref, engine_get_fn fn, void *arg);
/* Reads its doc in soon, if there is room, because it will be asked for. */
void engine_warm(struct engine *engine, struct engine_ref ref);
/* This key will be asked for in a moment, after a few others: where it would be is brought into
 * the cache meanwhile. No more than a hint. */
void engine_expect(struct engine *engine, unsigned kind, struct bytes key);

/* Living records of a kind in rev order after a rev, at most `scan` versions looked at. fn is
 * called with each (false: enough), then with NULL: next is where to go on, 0 at the end. One
 * that is damaged is left out, and told to engine_on_damage. */
typedef bool (*engine_list_fn)(void *arg, enum tocsin_status status,
                               const struct engine_record *record, uint64_t next);
void engine_list(struct engine *engine, unsigned kind, uint64_t after_rev, size_t scan,
                 engine_list_fn fn, void *arg);

/* False when it is gone. */
bool engine_head(const struct engine *engine, struct engine_ref ref, struct engine_head *ret_head);
/* A version of it is on its way to the store: what is committed may be the past. */
bool engine_changing(const struct engine *engine, struct engine_ref ref);

/* It has come due, and there is no memory to deal with it: it comes due once more in a second,
 * unless it is another version by then. */
void engine_due_again(struct engine *engine, struct engine_ref ref);

/* A number the service hangs on a record; 0 at first. It stays when the record changes. */
uint32_t engine_attached(const struct engine *engine, struct engine_ref ref);
void engine_attach(struct engine *engine, struct engine_ref ref, uint32_t value);

/* Each event once it is durable, in order. */
void engine_on_event(struct engine *engine, void (*fn)(void *arg, const struct store_event *event),
                     void *arg);

/* In every turn, after what was due and before the commit is handed over. */
void engine_on_turn(struct engine *engine, void (*fn)(void *arg), void *arg);

/* After every commit, how it ended, why when it is not OK, and how long it took. */
void engine_on_commit(struct engine *engine,
                      void (*fn)(void *arg, enum tocsin_status status, const char *why,
                                 int64_t took_ns),
                      void *arg);

/* Each damaged record once, when it is first met: read because it is due soon, asked for, or
 * listed. Past ENGINE_DAMAGES_MAX of them they are told without why, and maybe more than once. */
struct engine_damage {
    uint64_t rev;     /* 0: not one record, but the store cannot be read on */
    struct bytes key; /* empty: it is not known */
    const char *why;  /* where, and what to do; NULL: as above */
};
enum { ENGINE_DAMAGES_MAX = 1000 };
void engine_on_damage(struct engine *engine,
                      void (*fn)(void *arg, const struct engine_damage *damage), void *arg);

/* Records, with those that are not committed yet. */
uint64_t engine_count(const struct engine *engine);

/* Whether a record with this key is committed, as far as 64 bits of it can tell. */
bool engine_has(struct engine *engine, unsigned kind, struct bytes key);

/* Committed records of a kind with this mark. */
uint64_t engine_mark_count(const struct engine *engine, unsigned kind, uint8_t mark);

/* Committed records that carry this tag, and all tags that any carries. */
uint64_t engine_tag_count(const struct engine *engine, struct bytes word);
void engine_each_tag(const struct engine *engine,
                     void (*fn)(void *arg, struct bytes word, uint64_t count), void *arg);

/* Anything slow that only reads: run on the reader's thread, then done on the loop. */
struct engine_read {
    void (*run)(struct engine_read *read, struct store *store);
    void (*done)(struct engine_read *read);
    struct engine_read *next;
};
void engine_read(struct engine *engine, struct engine_read *read);

/* ---- volatile timers */

struct engine_timer {
    struct tocsin_timer handle;
    void (*fn)(void *arg);
    void *arg;
};
/* Also moves one that is armed. FULL or NO_MEMORY: it is not armed. */
enum tocsin_status engine_timer_arm(struct engine *engine, struct engine_timer *timer,
                                    int64_t due_ms);
void engine_timer_cancel(struct engine *engine, struct engine_timer *timer);

/* ---- looking inside */

struct engine_stats {
    uint64_t records; /* committed and living */
    uint64_t armed;   /* of these, on the wheel */
    uint64_t docs;    /* in memory */
    uint64_t doc_bytes;
    uint64_t waiting; /* changes not run yet */
    uint64_t open;    /* changes run, their commit not begun */
    uint64_t flying;  /* changes in the commit under way */
    uint64_t changes; /* since create: committed */
    uint64_t refused;
    uint64_t rolled_back;
    uint64_t commits;
    uint64_t puts;
    uint64_t drops;
    uint64_t events;
    uint64_t fired;
    uint64_t fetched;
    uint64_t steps;   /* of the wall clock */
    uint64_t damaged; /* as told to engine_on_damage */
    uint64_t high_rev;
    uint64_t high_seq;
    int64_t skew_ms;
    enum tocsin_status store; /* of the last commit */
};
void engine_describe(const struct engine *engine, struct engine_stats *ret_stats); /* some µs */
bool engine_idle(const struct engine *engine); /* nothing waits, or is on its way to the store */
enum tocsin_status engine_store_status(const struct engine *engine);  /* of the last commit */
const struct tocsin_wheel *engine_wheel(const struct engine *engine); /* to be looked at */

/* Recounts everything the slow way. CORRUPT, and ret_why says what is wrong. Not from inside a
 * change or a callback. */
enum tocsin_status engine_check(const struct engine *engine, struct tocsin_why *ret_why);

#endif
