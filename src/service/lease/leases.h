/* SPDX-License-Identifier: MIT */
/* leases.h - who has this name now, until when, and who is next?
 *
 * A named lease has one holder at a time, who keeps it alive or lets it go. Records: `lease`
 * (key: its name), due at its end.
 *
 *              acquire           release, or the end, and nobody waits
 *   (nothing) ---------> held ----------------------------------------> (nothing)
 *                        |  ^
 *                        +--+  keepalive, or acquire by the same holder: the same fence
 *                        +--+  release, or the end, and somebody waits: the next holder
 *
 * Promise   never two holders. A lease does not end for others before the end its holder was
 *           told, also after a crash; no call makes it shorter. Each holder has a higher fence
 *           than the one before. One that has ended does not come back: a keepalive that came
 *           too late is refused.
 * Line      who waits is served in the order of asking. The next holder is in the same group
 *           as the end of the one before: in between it is nobody's. One who has left while
 *           waiting gets nothing; it is handed on.
 * Memory    the line is in memory only; who waits over a restart asks again.
 * Bounds    struct leases_limits.
 * Threads   the engine's.
 */
#ifndef TOCSIN_SERVICE_LEASE_LEASES_H
#define TOCSIN_SERVICE_LEASE_LEASES_H

#include "base/buffer.h"
#include "base/json_write.h"
#include "engine/engine.h"
#include "service/idem/idem.h"
#include "service/outcome.h"

enum {
    LEASE_NAME_BYTES_MAX = 255,
    LEASE_HOLDER_BYTES_MAX = 255,
    LEASE_TTL_MS_MIN = 100,
    LEASE_TTL_MS_MAX = 24 * 3600 * 1000,
    LEASE_TTL_MS_DEFAULT = 30 * 1000,
    LEASE_WAIT_MS_MAX = 24 * 3600 * 1000,
};

struct leases;
struct lease_line;

struct leases_limits {
    uint64_t leases;    /* held */
    uint64_t waiting;   /* calls in all lines together */
    uint32_t list_scan; /* records one list call looks at */
};
extern const struct leases_limits leases_limits_default;

/* Registers its kind: call it before engine_load. */
enum tocsin_status leases_create(struct engine *engine, struct idem *idem,
                                 const struct leases_limits *limits,
                                 struct siphash_key hash_key, /* chance */
                                 struct leases **ret_leases);
/* After the engine, whose last changes still end here. */
void leases_destroy(struct leases *leases);

enum lease_verb { LEASE_ACQUIRE, LEASE_KEEPALIVE, LEASE_RELEASE };

/* One change asked for from outside. The caller fills the upper part and keeps all of it, and
 * every byte it points to, until done. */
struct lease_call {
    enum lease_verb verb;
    struct conditions conditions;
    struct idem_ask idem;
    struct bytes name;
    struct bytes holder; /* RELEASE: size 0: whoever has it */
    uint64_t fence;      /* KEEPALIVE, RELEASE; 0 with RELEASE: whichever it has */
    int64_t ttl_ms;      /* ACQUIRE; KEEPALIVE: 0 is as before */
    int64_t wait_ms;     /* ACQUIRE: 0: does not stand in line */
    void (*done)(struct lease_call *call);

    /* Its answer is the lease as JSON. When it is refused as CONFLICTING or LOST: the further
     * members of the problem, as an object. */
    struct reply reply;

    /* the service's own */
    struct leases *leases;
    struct lease_line *line; /* NULL: not in one */
    struct lease_call *before;
    struct lease_call *after;
    struct engine_timer timer;
    uint64_t given_fence;
    bool asking;   /* a change of its own is under way */
    bool promised; /* a change that gives it the lease is under way */
    bool told;     /* the answer says who has it */
    bool over;     /* it has waited long enough */
    bool gone;     /* its client has left */
    bool refused;  /* for another reason than that somebody has it; outcome and why say which */
    enum tocsin_status ask_status; /* of its own change, when that failed */
};
void leases_ask(struct leases *leases, struct lease_call *call);
/* Whoever asked has left. True: it is forgotten, and done is not called. */
bool leases_gone(struct leases *leases, struct lease_call *call);
/* The server stops: who waits is answered, and nobody waits any more. Before the engine is
 * destroyed, unless all callers are gone. */
void leases_close_lines(struct leases *leases);

/* OK and the JSON with its rev, or MISSING, …; now or later. */
typedef void (*lease_read_fn)(void *arg, enum outcome outcome, uint64_t rev, struct bytes json);
void leases_get(struct leases *leases, struct bytes name, lease_read_fn fn, void *arg);
/* {"leases":[…],"next":cursor or null} */
void leases_list(struct leases *leases, uint64_t after, uint32_t limit, lease_read_fn fn,
                 void *arg);

struct leases_stats {
    uint64_t held;
    uint64_t waiting;
    uint64_t acquired; /* this and the rest since create */
    uint64_t renewed;
    uint64_t released;
    uint64_t expired;
    uint64_t fenced;
};
void leases_describe(const struct leases *leases, struct leases_stats *ret_stats);

#endif
