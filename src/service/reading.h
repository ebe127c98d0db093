/* SPDX-License-Identifier: MIT */
/* reading.h - what does this record look like, and which are there?
 *
 * One record of a kind as JSON, or a page of them in the order of their revs, as every service
 * answers GET. How a record is written is the service's business.
 *
 * Answers   fn is called once, now or later; the JSON is borrowed until it returns.
 * Threads   the engine's.
 */
#ifndef TOCSIN_SERVICE_READING_H
#define TOCSIN_SERVICE_READING_H

#include "base/json_write.h"
#include "engine/engine.h"
#include "service/outcome.h"

struct reading_kind {
    struct engine *engine;
    unsigned kind;
    const char *name; /* of a page's list: "countdowns" */
    uint32_t scan;    /* records one look of the store passes over */
    uint64_t marks;   /* of a page: a bit for each mark that is wanted; 0: whatever it is */
    /* One value. DAMAGED: it cannot be read. */
    enum tocsin_status (*write)(void *service, struct json_writer *writer,
                                const struct engine_record *record);
    void *service;
};

typedef void (*reading_fn)(void *arg, enum outcome outcome, uint64_t rev, struct bytes json);

/* MISSING: there is none. */
void reading_one(const struct reading_kind *kind, struct bytes key, reading_fn fn, void *arg);
/* {"<name>":[…],"next":rev or null}: at most `limit` after this rev. */
void reading_page(const struct reading_kind *kind, uint64_t after, uint32_t limit, reading_fn fn,
                  void *arg);

#endif
