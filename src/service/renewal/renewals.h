/* SPDX-License-Identifier: MIT */
/* renewals.h - are they still alive, and who says so when they are not?
 *
 * A renewal keeps keys of a key store alive: it gives them a new time to live every so often,
 * until its strategy ends, somebody ends it, or it has failed too often. Records: `renewal`
 * (key: its id).
 *
 *              register                     strategy ends
 *   (nothing) ----------> ACTIVE ---------------------------> COMPLETED
 *                         |  ^  \__ not the owner's any more -> LOST       each of them is
 *                   pause |  | resume\_ too many failures ----> FAILED     forgotten after
 *                         v  |                                             the grace
 *                        PAUSED      cancel, from both: CANCELLED
 *
 * A round   is one renewal of all its keys: the keys that are named or found by a scan go to the
 *           client in batches (round.c). The service's thread does no I/O and never waits: the
 *           next beat is armed before a round begins. One round at a time; a beat that finds one
 *           under way is skipped and counted. What failed is tried again quickly, a few times.
 * Promise   a renewal that was registered goes on after a crash, and begins at once. PAUSED and
 *           what has ended means that no command of it reaches the key store any more: calls
 *           that end it are answered when the round under way is over. Each key has a true
 *           result.
 * Written   are changes of state, and the counters with them and every few minutes; never a
 *           round.
 * Threads   the engine's.
 */
#ifndef TOCSIN_SERVICE_RENEWAL_RENEWALS_H
#define TOCSIN_SERVICE_RENEWAL_RENEWALS_H

#include "engine/engine.h"
#include "service/idem/idem.h"
#include "service/outcome.h"
#include "service/renewal/beats.h"
#include "service/renewal/key_client.h"
#include "service/renewal/own.h"
#include "service/renewal/spec.h"

enum { RENEWAL_ID_BYTES_MAX = 64 };

struct renewals;

enum renewal_state {
    RENEWAL_ACTIVE = 1,
    RENEWAL_PAUSED,
    RENEWAL_COMPLETED,
    RENEWAL_FAILED,
    RENEWAL_CANCELLED,
    RENEWAL_LOST,
};
extern const char *const renewal_state_names[];

struct renewals_limits {
    uint64_t renewals;  /* that have not ended */
    uint64_t scan_keys; /* one round may find */
    uint32_t batch;     /* keys of one job */
    uint32_t list_scan; /* records one list call looks at */
    int64_t grace_ms;   /* one that has ended can be read this long */
    int64_t save_ms;    /* between two savings of its counters */
};
extern const struct renewals_limits renewals_limits_default;

/* Who looks on. Any may be NULL. */
struct renewals_watch {
    /* It has ended by itself, or does not work: FAILED, LOST; ACTIVE: keys were refused or are
     * gone, for the first time since it last worked. */
    void (*told)(void *arg, struct bytes id, enum renewal_state state, const char *why);
    /* A round is over: ns from its beat to the last answer. */
    void (*rounded)(void *arg, uint64_t good, uint64_t bad, int64_t late_ns, int64_t took_ns);
    void *arg;
};

struct renewals_options {
    struct engine *engine;
    struct idem *idem;
    struct renewals_limits limits;
    struct renewal_defaults defaults;
    struct beats_options beats;
    struct renewals_watch watch;
    const struct own_functions *own; /* NULL: none */
    struct siphash_key hash_key;     /* chance */
    uint64_t (*chance)(void *arg);
    void *chance_arg;
};

/* Registers its kind: call it before engine_load. */
enum tocsin_status renewals_create(const struct renewals_options *options,
                                   struct renewals **ret_renewals, struct tocsin_why *ret_why);
/* A key store by its name, which is not copied. Before renewals_recover. The client stays the
 * caller's, to be closed after renewals_stop. */
enum tocsin_status renewals_add_client(struct renewals *renewals, const char *name,
                                       const struct key_client *client);
bool renewals_has_client(const struct renewals *renewals, struct bytes name);

/* After engine_load: what was active goes on, paced. NO_MEMORY: start again. */
enum tocsin_status renewals_recover(struct renewals *renewals);
bool renewals_recovering(const struct renewals *renewals);
/* For a stop in good order, while the engine runs: what was counted is written. Over when none is
 * under way. Before renewals_stop or after. */
void renewals_save_all(struct renewals *renewals);
/* No more rounds. Before the clients are closed. */
void renewals_stop(struct renewals *renewals);
/* Rounds that have not come back yet, and last savings. */
uint64_t renewals_under_way(const struct renewals *renewals);
/* After the clients are closed, and after the engine. */
void renewals_destroy(struct renewals *renewals);

/* ---- from outside */

enum renewal_verb {
    RENEWAL_REGISTER,
    RENEWAL_CANCEL,
    RENEWAL_PAUSE,
    RENEWAL_RESUME,
    RENEWAL_RENEW, /* now; answered when the round is over, with what became of the keys */
};

/* One call. The caller fills the upper part and keeps all of it, and every byte it points to,
 * until done. */
struct renewal_call {
    enum renewal_verb verb;
    struct conditions conditions;
    struct idem_ask idem;
    struct bytes id;
    struct renewal_spec *spec; /* REGISTER; the service's from then on */
    void (*done)(struct renewal_call *call);

    struct reply reply;

    struct renewals *renewals; /* the service's own, as are those below */
    struct renewal_call *next;
    struct renewal *made;
    bool changed;
};
void renewals_ask(struct renewals *renewals, struct renewal_call *call);

typedef void (*renewal_read_fn)(void *arg, enum outcome outcome, uint64_t rev, struct bytes json);
void renewals_get(struct renewals *renewals, struct bytes id, renewal_read_fn fn, void *arg);
/* {"renewals":[…],"next":cursor or null}; state 0: whatever it is. */
void renewals_list(struct renewals *renewals, enum renewal_state state, uint64_t after,
                   uint32_t limit, renewal_read_fn fn, void *arg);

/* The same in numbers. NONE, UNAVAILABLE, … */
typedef void (*renewal_look_fn)(void *arg, enum tocsin_status status,
                                const struct tocsin_renewal_metrics *metrics);
void renewals_look(struct renewals *renewals, struct bytes id, renewal_look_fn fn, void *arg);
/* Those that have not ended, until fn answers false. */
void renewals_each(const struct renewals *renewals,
                   bool (*fn)(void *arg, struct bytes id,
                              const struct tocsin_renewal_metrics *metrics),
                   void *arg);

/* ---- looking at all of them */

enum renewals_health { RENEWALS_UP, RENEWALS_WARNING, RENEWALS_DOWN };
struct renewals_stats {
    uint64_t active;
    uint64_t paused;
    uint64_t unhealthy; /* less than 80 % of their recent rounds were good */
    uint64_t dead;      /* none was */
    uint64_t sampled;   /* active, with a round in the window */
    uint64_t rounds;    /* since create, as all below */
    uint64_t rounds_failed;
    uint64_t keys_renewed;
    uint64_t keys_failed;
    uint64_t skipped; /* beats that found a round under way */
    uint64_t retried; /* quick retries */
    uint64_t unarmed; /* wakes there was no memory for */
    uint64_t unread;  /* that a restart could not take up */
    uint64_t unsaved; /* counters and ends that could not be written at once */
    uint64_t ended[RENEWAL_LOST + 1];
    uint64_t under_way; /* rounds, now */
};
void renewals_describe(const struct renewals *renewals, struct renewals_stats *ret_stats);
/* No samples is not a failure. */
enum renewals_health renewals_health(const struct renewals *renewals);
/* Active ones that are not well, at most `most`: for a report. */
void renewals_each_unhealthy(const struct renewals *renewals, size_t most,
                             void (*fn)(void *arg, struct bytes id, unsigned good_percent,
                                        const char *why),
                             void *arg);

#endif
