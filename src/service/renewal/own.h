/* SPDX-License-Identifier: MIT */
/* own.h - strategies and generators of the program that has us inside.
 *
 * A renewal is stored with their names; the functions are brought along at each start
 * (tocsin/renewal.h). How long a key lives is asked on the service's thread; whatever may wait is
 * a job for a client with a thread of its own (key_thread.h).
 */
#ifndef TOCSIN_SERVICE_RENEWAL_OWN_H
#define TOCSIN_SERVICE_RENEWAL_OWN_H

#include <tocsin/renewal.h>

#include "service/renewal/key_client.h"
#include "service/renewal/spec.h"

enum { OWN_MAX = 32 };

struct own_functions {
    struct tocsin_strategy strategies[OWN_MAX];
    size_t strategy_count;
    struct tocsin_generator generators[OWN_MAX];
    size_t generator_count;
    const struct key_client *client; /* its work is own_work */
};

/* NULL: there is none of this name; own may be NULL. */
const struct tocsin_strategy *own_strategy(const struct own_functions *own, struct bytes name);
const struct tocsin_generator *own_generator(const struct own_functions *own, struct bytes name);

/* What a spec wants and nobody brought: for a person; false: nothing is missing. */
bool own_misses(const struct own_functions *own, const struct renewal_spec *spec,
                struct tocsin_why *ret_why);

/* As strategy_ttl_ms. One that is missing gives the TTL of the spec. */
int64_t own_ttl_ms(const struct own_functions *own, const struct renewal_strategy *strategy,
                   struct bytes id, const struct renewal_context *context);

/* A job for the program: a TEST of its strategy, or a SCAN by its generator, whole. One
 * allocation, freed by own_look_free. NULL: no memory. */
struct own_look {
    struct key_job job; /* first */
    const struct tocsin_strategy *strategy;
    const struct tocsin_generator *generator;
    struct tocsin_renewal_context context;
    uint64_t room; /* keys it may still find */
    bool refused;  /* a key of the generator's */
    char id[];
};
struct own_look *own_look_create(struct bytes id, const struct renewal_context *context);
void own_look_free(struct own_look *look);
void own_work(void *self, struct key_job *job);

#endif
