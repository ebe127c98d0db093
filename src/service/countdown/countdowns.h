/* SPDX-License-Identifier: MIT */
/* countdowns.h - how long have they still got, and what happens when it is over?
 *
 * A countdown has a key, an owner whose time runs, a version that says which turn it is, and
 * an absolute deadline. Records: `countdown` (key: its key).
 *
 *              start                deadline                   grace
 *   (nothing) --------> running -------------------> expired --------> (nothing)
 *                        |  ^
 *                  pause |  | resume                 stop, from any of them: (nothing)
 *                        v  |
 *                       paused
 *
 * Where several nodes share the store (engine_shared) the deadline takes two commits, and what is
 * claimed there is seen by all of them:
 *
 *             deadline            its kind has been asked
 *   running -----------> firing ------------------------> expired
 *
 * The first is a claim: a fence, and the name of the node that holds it. It is not told. From then
 * on the deadline has passed for everybody: the same version is neither paused nor given time.
 * Another version, or a stop, still ends it. A node that takes over claims it anew. Other programs
 * can look: `countdown:KEY` while it runs or is firing, `countdown:holder:KEY` while it is firing
 * (names.c).
 *
 * It knows nothing of whom it counts for, and never broadcasts: what a tick shows and what a
 * timeout does is the business of its kind (struct countdown_kind). Kinds that nobody has
 * registered belong to the default kind, which only tells.
 *
 * Promise   one timeout for each version, at the deadline, never before it, also after a
 *           crash: what the kind's handler changes and the end of the countdown are one
 *           group. The same version again keeps its deadline, runs on with what was left when
 *           it was paused, and does not come back once it has expired; another version is
 *           another turn. From outside, the same version with another owner or kind is CONFLICTING.
 * Ticks     one at once when it starts, resumes or is taken up after a restart, then whenever a whole
 *           number of seconds is left. They are not written and carry no promise.
 * Threads   the engine's.
 */
#ifndef TOCSIN_SERVICE_COUNTDOWN_COUNTDOWNS_H
#define TOCSIN_SERVICE_COUNTDOWN_COUNTDOWNS_H

/* What all those names have in common, and how those of holders begin. */
#define COUNTDOWNS_NAMES "countdown:*"
#define COUNTDOWNS_HOLDER_NAME "countdown:holder:"

#include "base/buffer.h"
#include "base/json_write.h"
#include "engine/engine.h"
#include "service/idem/idem.h"
#include "service/outcome.h"

enum {
    COUNTDOWN_KEY_BYTES_MAX = 255,
    COUNTDOWN_WORD_BYTES_MAX = 255, /* owner, version */
    COUNTDOWN_KIND_BYTES_MAX = 64,
    COUNTDOWN_KINDS_MAX = 16,
};
#define COUNTDOWN_MS_MAX (INT64_C(100) * 366 * 24 * 3600 * 1000) /* a hundred years */

struct countdowns;

enum countdown_state {
    COUNTDOWN_RUNNING = 1,
    COUNTDOWN_PAUSED,
    COUNTDOWN_EXPIRED,
    COUNTDOWN_FIRING, /* its timeout is claimed, and not judged yet */
};

/* One of them, borrowed until the call returns. */
struct countdown {
    struct bytes key;
    struct bytes home;
    struct bytes owner;
    struct bytes version;
    struct bytes kind;
    enum countdown_state state;
    int64_t deadline_ms; /* by its basis; STORE_NEVER while it is paused */
    enum store_basis basis;
    int64_t told_ms;    /* wall: the deadline as it was first told; 0: not told yet */
    int64_t left_ms;    /* when it was paused */
    int64_t started_ms; /* wall */
    int64_t expired_ms; /* wall; EXPIRED */
    uint64_t fence;     /* of its timeout; FIRING, EXPIRED */
    uint64_t rev;
};

struct countdown_kind {
    const char *name; /* "gomoku"; NULL: the default kind */
    /* It has run out. Inside the change that ends it: what is staged here is committed with it,
     * or not at all. OK also when there is nothing to do any more, since the version is an old
     * one. NULL: nothing but the end. */
    enum tocsin_status (*on_timeout)(void *service, struct change *change,
                                     const struct countdown *countdown);
    /* left_ms is above 0. May be NULL. */
    void (*on_tick)(void *service, const struct countdown *countdown, int64_t left_ms);
    /* Something about it is durable: "started", "stopped", "paused", "resumed", "given",
     * "timeout". May be NULL. */
    void (*on_changed)(void *service, const struct countdown *countdown, const char *what);
    void *service;
};

struct countdowns_limits {
    uint64_t countdowns;
    int64_t grace_ms;   /* one that has expired can be read this long */
    uint32_t list_scan; /* records one list call looks at */
};
extern const struct countdowns_limits countdowns_limits_default;

/* What a start found (C-06). */
struct countdowns_restored {
    uint64_t restored;        /* run on */
    uint64_t paused;          /* wait on */
    uint64_t expired_handled; /* ran out meanwhile: their timeout comes now */
    uint64_t expired_cleaned; /* had been handled, and are forgotten now */
};

struct countdowns_options {
    struct engine *engine;
    struct idem *idem;
    struct countdowns_limits limits;
    struct siphash_key hash_key; /* chance */
    /* The rest matters where the store is shared. */
    const char *node;      /* who holds a timeout; kept by the caller */
    int64_t holder_ttl_ms; /* its name goes by itself after this long */
};
/* Registers its kind: call it before engine_load. */
enum tocsin_status countdowns_create(const struct countdowns_options *options,
                                     struct countdowns **ret_countdowns);
/* After the engine, whose last changes still end here. */
void countdowns_destroy(struct countdowns *countdowns);
/* Before engine_load; not copied. */
void countdowns_add_kind(struct countdowns *countdowns, const struct countdown_kind *kind);

/* After engine_load: ticks begin again. NO_MEMORY: start again. */
enum tocsin_status countdowns_recover(struct countdowns *countdowns);
bool countdowns_recovering(const struct countdowns *countdowns);
struct countdowns_restored countdowns_restored(const struct countdowns *countdowns);

/* ---- for a service, inside a change of its own: the same group, the same home */

struct countdown_wish {
    struct bytes key;
    struct bytes home;
    struct bytes owner;
    struct bytes version;
    struct bytes kind;
    int64_t deadline_ms;
    enum store_basis basis;
    int64_t told_ms; /* wall: the deadline, where the service has told it already; else 0 */
};
/* Starts it, or lets it be when it has this version already: it runs on, also if it was paused,
 * and stays expired. INVALID: no owner, or no end. BUSY and the rest as change_put. */
enum tocsin_status countdown_start(struct countdowns *countdowns, struct change *change,
                                   const struct countdown_wish *wish);
/* BUSY when its doc has to be read first, else OK. A service that asks this before anything else
 * in each of its changes reads the same docs in each, so that they run in order of arrival. */
enum tocsin_status countdown_expect(struct countdowns *countdowns, struct change *change,
                                    struct bytes key);
/* OK also when there is none. */
enum tocsin_status countdown_stop(struct countdowns *countdowns, struct change *change,
                                  struct bytes key);

/* What is left at this moment, rounded down, at least 0: never more than was given. */
int64_t countdown_left_ms(const struct engine *engine, const struct countdown *countdown);
/* Its deadline on the wall, as it is shown; STORE_NEVER while it is paused. A restart may make the
 * elapsed line late by a millisecond, which nobody is told: what was told first stays. */
int64_t countdown_shown_ms(const struct engine *engine, const struct countdown *countdown);
/* Seconds as a clock shows them: 30 000 ms and 29 001 ms are 30. */
static inline int64_t countdown_seconds(int64_t left_ms)
{
    return left_ms <= 0 ? 0 : (left_ms - 1) / 1000 + 1;
}
/* {"key":…,"owner":…,…} */
void countdown_write(struct json_writer *writer, const struct engine *engine,
                     const struct countdown *countdown);

/* ---- from outside */

enum countdown_verb {
    COUNTDOWN_START,
    COUNTDOWN_STOP,
    COUNTDOWN_PAUSE,
    COUNTDOWN_RESUME,
    COUNTDOWN_GIVE,
};

/* One change asked for from outside. The caller fills the upper part and keeps all of it, and
 * every byte it points to, until done. */
struct countdown_call {
    enum countdown_verb verb;
    struct conditions conditions;
    struct idem_ask idem;
    struct bytes key;
    struct bytes owner;   /* START */
    struct bytes version; /* START */
    struct bytes kind;    /* START */
    bool any_kind;        /* START: it was not asked for; one that is there may have another */
    int64_t for_ms;       /* START: from now on; below 0: see at_ms */
    int64_t at_ms;        /* START: wall */
    int64_t give_ms;      /* GIVE */
    void (*done)(struct countdown_call *call);

    struct reply reply;

    struct countdowns *countdowns; /* the service's own */
};
void countdowns_ask(struct countdowns *countdowns, struct countdown_call *call);

/* OK and the JSON with its rev, or MISSING, …; now or later. */
typedef void (*countdown_read_fn)(void *arg, enum outcome outcome, uint64_t rev, struct bytes json);
void countdowns_get(struct countdowns *countdowns, struct bytes key, countdown_read_fn fn,
                    void *arg);
/* {"countdowns":[…],"next":cursor or null} */
void countdowns_list(struct countdowns *countdowns, uint64_t after, uint32_t limit,
                     countdown_read_fn fn, void *arg);

struct countdowns_stats {
    uint64_t running;
    uint64_t paused;
    uint64_t expired;
    uint64_t firing;
    uint64_t ticks;    /* since create */
    uint64_t timeouts; /* since create */
    uint64_t unarmed;  /* ticks there was no memory for */
};
void countdowns_describe(const struct countdowns *countdowns, struct countdowns_stats *ret_stats);

#endif
