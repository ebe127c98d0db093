/* SPDX-License-Identifier: MIT */
/* zones.h - the time zones in use, read once.
 *
 * A zone is a file, and the loop reads no files: a zone that is not here yet is read on the
 * reader's thread. Those that were read stay.
 */
#ifndef TOCSIN_SERVICE_TASK_ZONES_H
#define TOCSIN_SERVICE_TASK_ZONES_H

#include "engine/engine.h"
#include "schedule/zone.h"

struct zones {
    struct zone **list;
    size_t count;
    size_t room;
};

void zones_release(struct zones *zones);

/* NULL: not read yet. */
const struct zone *zones_find(const struct zones *zones, struct bytes name);

/* fn when it is here, or with INVALID and why; at once when it is here already. */
typedef void (*zones_fn)(void *arg, enum tocsin_status status, const struct tocsin_why *why);
void zones_want(struct zones *zones, struct engine *engine, struct bytes name, zones_fn fn,
                void *arg);

#endif
