/* SPDX-License-Identifier: MIT */
/* idem.h - has this been asked before, and what was the answer?
 *
 * The answers given under an Idempotency-Key, for every service. Records: `idem` (key: the
 * caller's, with whoever asks and the route in it), dropped when their time is over. What is
 * kept is committed with what the call changed, in one group.
 *
 * Keys      with another body: refused as CONFLICTING.
 * Refusals  by what was found are kept (outcome_stands). What is wrong in itself is refused
 *           again anyway; what there was no room for is to be tried again.
 * Bounds    as many entries as the limit says, then refused as TOO_MANY.
 * Threads   the engine's.
 */
#ifndef TOCSIN_SERVICE_IDEM_IDEM_H
#define TOCSIN_SERVICE_IDEM_IDEM_H

#include "base/buffer.h"
#include "engine/engine.h"
#include "service/outcome.h"

struct idem;

struct idem_limits {
    uint32_t entries;
    int64_t keep_ms;
};
extern const struct idem_limits idem_limits_default;

/* Registers its kind: call it before engine_load. */
enum tocsin_status idem_create(struct engine *engine, const struct idem_limits *limits,
                               struct idem **ret_idem);
/* After the engine, whose last changes still end here. */
void idem_destroy(struct idem *idem);

struct idem_ask {
    struct bytes key; /* size 0: none, and then nothing is found or kept */
    uint64_t body;    /* hash of it */
};

/* The first a call does in its change, however often that runs: the reply begins anew. NONE: it was
 * never asked before, go on. OK: it was, and is told the same again; or it is refused for its key.
 * Else as change_get. */
enum tocsin_status idem_replay(struct idem *idem, struct change *change, const struct idem_ask *ask,
                               struct reply *reply);
/* The last it does: what is replied is kept with what this change changes, and CONFLICT is for a
 * refusal that is not kept: nothing is written. The home is that of the other records. */
enum tocsin_status idem_keep(struct idem *idem, struct change *change, const struct idem_ask *ask,
                             struct bytes home, const struct reply *reply);

/* Entries, with those that are not committed yet. */
uint64_t idem_count(const struct idem *idem);

#endif
