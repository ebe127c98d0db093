/* SPDX-License-Identifier: MIT */
/* renewals.h - renewals in a program of somebody else's. For src/embed only.
 *
 * They live on the engine's thread. Functions of the program that may wait are called by threads
 * of their own: one for each client (foreign.c), one for strategies and generators. */
#ifndef TOCSIN_EMBED_RENEWALS_H
#define TOCSIN_EMBED_RENEWALS_H

#include <tocsin/renewal.h>

#include "embed/inside.h"
#include "service/renewal/key_provider.h"
#include "service/renewal/key_thread.h"
#include "service/renewal/renewals.h"

/* A store that renewals shall reach, from the time it is asked for. */
struct store_wish {
    char *store;
    char *provider;                  /* NULL: the first */
    char *where;                     /* NULL: the provider's default */
    struct tocsin_key_client client; /* when it was brought along */
    const struct key_client *opened;
};

struct tocsin_renewals {
    struct tocsin_renewals_options options;
    struct renewal_defaults defaults;
    struct own_functions own;
    struct key_thread *own_thread;
    struct key_client own_client;
    struct key_providers providers;
    struct store_wish wishes[KEY_STORES_MAX];
    size_t wish_count;
    struct tocsin_engine *engine; /* NULL: not given to one yet */
    struct renewals *service;
    /* the engine's thread only */
    uint64_t by_hand; /* calls of keys under way */
    struct order *closing;
};

/* Before engine_load: its kind, its clients. */
enum tocsin_status embed_renewals_open(struct tocsin_renewals *renewals,
                                       struct tocsin_engine *engine, uint64_t (*chance)(void *arg),
                                       struct tocsin_why *ret_why);
/* Each turn of the engine's thread: what the clients have done. */
void embed_renewals_turn(struct tocsin_renewals *renewals);
/* Waits for rounds under way; then no more are begun. While the engine's thread runs. */
void embed_renewals_stop(struct tocsin_renewals *renewals);
/* When it does not any more; before the engine is destroyed … */
void embed_renewals_join(struct tocsin_renewals *renewals);
/* … and after: tocsin_renewals_destroy. */

/* By its name; NULL: "default". NULL: there is none, or the engine is not open. */
const struct key_client *embed_renewals_store(const struct tocsin_renewals *renewals,
                                              const char *store);
/* For clients: there is something to take. arg: the renewals. */
void embed_renewals_post(void *arg);
/* As tocsin_renewals_add_provider, of one that waits for nothing. */
enum tocsin_status embed_renewals_add_provider(struct tocsin_renewals *renewals,
                                               const struct key_provider *provider);

/* foreign.c: clients whose functions may wait, as a provider. */
enum tocsin_status foreign_create(const struct tocsin_key_provider *provider,
                                  struct tocsin_renewals *renewals,
                                  struct key_provider *ret_provider);

#endif
