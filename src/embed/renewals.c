/* SPDX-License-Identifier: MIT */
/* Renewals of a program: what is set up before the engine is opened, and how they begin and end
 * with it. */

#include "embed/renewals.h"

#include <stdio.h>
#include <stdlib.h>

#include "service/renewal/mock_client.h"

enum { TICK_MS = 100, TICKS = 512, TTL_MS = 300000, EVERY_MS = 30000, WAIT_MS = 10000 };

/* Of the provider for clients that are there already: its name is one that nobody can ask for. */
#define GIVEN ""

_Static_assert((int)TOCSIN_RENEWAL_ACTIVE == (int)RENEWAL_ACTIVE, "states");
_Static_assert((int)TOCSIN_RENEWAL_LOST == (int)RENEWAL_LOST, "states");

const char *tocsin_renewal_status_name(enum tocsin_renewal_status status)
{
    bool known = status >= TOCSIN_RENEWAL_ACTIVE && status <= TOCSIN_RENEWAL_LOST;
    return known ? renewal_state_names[status] : "no status";
}

/* ---- set up */

static bool is_name(const char *name)
{
    return name != NULL && name[0] != '\0' && strlen(name) <= RENEWAL_REDIS_BYTES_MAX;
}

enum tocsin_status tocsin_renewals_create(const struct tocsin_renewals_options *options,
                                          struct tocsin_renewals **ret_renewals,
                                          struct tocsin_why *ret_why)
{
    struct tocsin_renewals *renewals = calloc(1, sizeof *renewals);
    (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", tocsin_status_text(TOCSIN_NO_MEMORY));
    if (renewals == NULL)
        return TOCSIN_NO_MEMORY;
    if (options != NULL)
        renewals->options = *options;
    if (renewals->options.tick_ms == 0)
        renewals->options.tick_ms = TICK_MS;
    if (renewals->options.ticks_per_wheel == 0)
        renewals->options.ticks_per_wheel = TICKS;
    renewals->defaults = (struct renewal_defaults){
        .ttl_ms = TTL_MS,
        .every_ms = EVERY_MS,
        .least_every_ms = renewals->options.scheduled ? 1 : (int64_t)renewals->options.tick_ms};
    struct beats *beats; /* made for good when the engine is opened, which is late to be told */
    enum tocsin_status status =
        beats_create(&(struct beats_options){BEATS_TIME_WHEEL, renewals->options.tick_ms,
                                             renewals->options.ticks_per_wheel, 0},
                     &beats, ret_why);
    if (status != TOCSIN_OK) {
        free(renewals);
        return status;
    }
    beats_destroy(beats);
    ret_why->text[0] = '\0';
    *ret_renewals = renewals;
    return TOCSIN_OK;
}

void tocsin_renewals_destroy(struct tocsin_renewals *renewals)
{
    if (renewals == NULL)
        return;
    renewals_destroy(renewals->service);
    key_providers_destroy(&renewals->providers);
    if (renewals->own_thread != NULL)
        key_thread_destroy(renewals->own_thread);
    for (size_t i = 0; i < renewals->wish_count; i++) {
        free(renewals->wishes[i].store);
        free(renewals->wishes[i].provider);
        free(renewals->wishes[i].where);
    }
    free(renewals);
}

enum tocsin_status tocsin_renewals_add_strategy(struct tocsin_renewals *renewals,
                                                const struct tocsin_strategy *strategy)
{
    struct own_functions *own = &renewals->own;
    if (renewals->engine != NULL)
        return TOCSIN_BUSY;
    if (!is_name(strategy->name) || (strategy->ttl_ms == NULL && strategy->goes_on == NULL))
        return TOCSIN_INVALID;
    if (own_strategy(own, bytes_of(strategy->name)) != NULL)
        return TOCSIN_CONFLICT;
    if (own->strategy_count == OWN_MAX)
        return TOCSIN_FULL;
    own->strategies[own->strategy_count++] = *strategy;
    return TOCSIN_OK;
}

enum tocsin_status tocsin_renewals_add_generator(struct tocsin_renewals *renewals,
                                                 const struct tocsin_generator *generator)
{
    struct own_functions *own = &renewals->own;
    if (renewals->engine != NULL)
        return TOCSIN_BUSY;
    if (!is_name(generator->name) || generator->keys == NULL)
        return TOCSIN_INVALID;
    if (own_generator(own, bytes_of(generator->name)) != NULL)
        return TOCSIN_CONFLICT;
    if (own->generator_count == OWN_MAX)
        return TOCSIN_FULL;
    own->generators[own->generator_count++] = *generator;
    return TOCSIN_OK;
}

enum tocsin_status embed_renewals_add_provider(struct tocsin_renewals *renewals,
                                               const struct key_provider *provider)
{
    if (renewals->engine != NULL)
        return TOCSIN_BUSY;
    if (renewals->providers.count == OWN_MAX)
        return TOCSIN_FULL; /* two more are ours */
    return strcmp(provider->name, "mock") == 0 ? TOCSIN_CONFLICT
                                               : key_providers_add(&renewals->providers, provider);
}

enum tocsin_status tocsin_renewals_add_provider(struct tocsin_renewals *renewals,
                                                const struct tocsin_key_provider *provider)
{
    struct key_provider foreign;
    if (!is_name(provider->name) || provider->create == NULL)
        return TOCSIN_INVALID;
    enum tocsin_status status = foreign_create(provider, renewals, &foreign);
    if (status != TOCSIN_OK)
        return status;
    status = embed_renewals_add_provider(renewals, &foreign);
    if (status != TOCSIN_OK)
        foreign.destroy(foreign.self);
    return status;
}

static struct store_wish *find_wish(struct tocsin_renewals *renewals, const char *store)
{
    for (size_t i = 0; i < renewals->wish_count; i++) {
        if (strcmp(renewals->wishes[i].store, store) == 0)
            return &renewals->wishes[i];
    }
    return NULL;
}

static bool copy_word(const char *word, char **ret_copy)
{
    *ret_copy = word == NULL ? NULL : strdup(word);
    return word == NULL || *ret_copy != NULL;
}

static enum tocsin_status add_wish(struct tocsin_renewals *renewals, const char *store,
                                   const char *provider, const char *where,
                                   struct store_wish **ret_wish)
{
    if (renewals->engine != NULL)
        return TOCSIN_BUSY;
    if (!is_name(store))
        return TOCSIN_INVALID;
    if (find_wish(renewals, store) != NULL)
        return TOCSIN_CONFLICT;
    if (renewals->wish_count == KEY_STORES_MAX)
        return TOCSIN_FULL;
    struct store_wish *wish = &renewals->wishes[renewals->wish_count];
    *wish = (struct store_wish){.store = NULL};
    bool copied = copy_word(store, &wish->store);
    copied = copy_word(provider, &wish->provider) && copied;
    copied = copy_word(where, &wish->where) && copied;
    if (!copied) {
        free(wish->store);
        free(wish->provider);
        free(wish->where);
        return TOCSIN_NO_MEMORY;
    }
    renewals->wish_count++;
    *ret_wish = wish;
    return TOCSIN_OK;
}

enum tocsin_status tocsin_renewals_reach(struct tocsin_renewals *renewals, const char *store,
                                         const char *provider, const char *where,
                                         struct tocsin_why *ret_why)
{
    struct store_wish *wish;
    bool known = provider == NULL || strcmp(provider, "mock") == 0 ||
                 key_providers_find(&renewals->providers, provider) != NULL;
    if (!known) {
        (void)snprintf(ret_why->text, sizeof ret_why->text,
                       "there is no provider %.64s: add it first", provider);
        return TOCSIN_NONE;
    }
    enum tocsin_status status = add_wish(renewals, store, provider, where, &wish);
    if (status != TOCSIN_OK)
        (void)snprintf(
            ret_why->text, sizeof ret_why->text, "store %.64s: %s", store == NULL ? "" : store,
            status == TOCSIN_CONFLICT ? "there is one of this name" : tocsin_status_text(status));
    return status;
}

enum tocsin_status tocsin_renewals_add_client(struct tocsin_renewals *renewals, const char *store,
                                              const struct tocsin_key_client *client)
{
    struct store_wish *wish;
    if (client->expire == NULL)
        return TOCSIN_INVALID;
    enum tocsin_status status = add_wish(renewals, store, GIVEN, store, &wish);
    if (status == TOCSIN_OK)
        wish->client = *client;
    return status;
}

/* ---- beginning */

static enum tocsin_status give_client(void *arg, const char *where,
                                      struct tocsin_key_client *ret_client,
                                      struct tocsin_why *ret_why)
{
    (void)ret_why;
    *ret_client = find_wish(arg, where)->client;
    return TOCSIN_OK;
}

/* After those of the program, so that the first one is its own if it has any. */
static enum tocsin_status add_ours(struct tocsin_renewals *renewals)
{
    struct key_provider provider;
    enum tocsin_status status = mock_provider_create(renewals->engine->engine, &provider);
    if (status == TOCSIN_OK)
        status = key_providers_add(&renewals->providers, &provider);
    if (status == TOCSIN_OK)
        status = foreign_create(
            &(struct tocsin_key_provider){.name = GIVEN, .create = give_client, .arg = renewals},
            renewals, &provider);
    if (status == TOCSIN_OK)
        status = key_providers_add(&renewals->providers, &provider);
    return status;
}

static void told(void *arg, struct bytes id, enum renewal_state state, const char *why)
{
    const struct tocsin_renewals *renewals = arg;
    char word[RENEWAL_ID_BYTES_MAX + 1];
    (void)snprintf(word, sizeof word, "%.*s", (int)id.size, id.at);
    if (renewals->options.told != NULL)
        renewals->options.told(renewals->options.arg, word, (enum tocsin_renewal_status)state, why);
}

static enum tocsin_status start_service(struct tocsin_renewals *renewals,
                                        uint64_t (*chance)(void *arg), struct tocsin_why *ret_why)
{
    struct tocsin_engine *engine = renewals->engine;
    const struct tocsin_renewals_options *options = &renewals->options;
    renewals->own_client = key_thread_client(renewals->own_thread);
    renewals->own.client = &renewals->own_client;
    return renewals_create(
        &(struct renewals_options){
            .engine = engine->engine,
            .idem = engine->idem,
            .limits = renewals_limits_default,
            .defaults = renewals->defaults,
            .beats = {.type = options->scheduled ? BEATS_SCHEDULED : BEATS_TIME_WHEEL,
                      .tick_ms = options->tick_ms,
                      .slots = options->ticks_per_wheel},
            .watch = {.told = told, .arg = renewals},
            .own = &renewals->own,
            .hash_key = {chance(engine), chance(engine)},
            .chance = chance,
            .chance_arg = engine,
        },
        &renewals->service, ret_why);
}

static enum tocsin_status reach(struct tocsin_renewals *renewals, struct store_wish *wish,
                                struct tocsin_why *ret_why)
{
    struct tocsin_why why = {""};
    enum tocsin_status status = key_providers_open(&renewals->providers, wish->provider,
                                                   wish->store, wish->where, &wish->opened, &why);
    if (status == TOCSIN_OK)
        status = renewals_add_client(renewals->service, wish->store, wish->opened);
    if (status != TOCSIN_OK)
        (void)snprintf(ret_why->text, sizeof ret_why->text, "store %.64s: %.120s", wish->store,
                       why.text[0] != '\0' ? why.text : tocsin_status_text(status));
    return status;
}

enum tocsin_status embed_renewals_open(struct tocsin_renewals *renewals,
                                       struct tocsin_engine *engine, uint64_t (*chance)(void *arg),
                                       struct tocsin_why *ret_why)
{
    renewals->engine = engine;
    enum tocsin_status status = add_ours(renewals);
    if (status == TOCSIN_OK)
        status = key_thread_create(&(struct key_thread_options){.work = own_work,
                                                                .post = embed_renewals_post,
                                                                .arg = renewals},
                                   &renewals->own_thread);
    if (status == TOCSIN_OK)
        status = start_service(renewals, chance, ret_why);
    for (size_t i = 0; status == TOCSIN_OK && i < renewals->wish_count; i++)
        status = reach(renewals, &renewals->wishes[i], ret_why);
    return status;
}

/* ---- while it runs */

void embed_renewals_post(void *arg)
{
    embed_wake(((struct tocsin_renewals *)arg)->engine);
}

/* True: there is more to take. */
static bool take(struct tocsin_renewals *renewals)
{
    bool more = key_providers_take(&renewals->providers);
    if (renewals->own_thread != NULL)
        key_thread_take(renewals->own_thread);
    return more;
}

void embed_renewals_turn(struct tocsin_renewals *renewals)
{
    if (take(renewals))
        embed_wake(renewals->engine); /* in the next turn: others want to be served, too */
    struct order *closing = renewals->closing;
    bool quiet = renewals_under_way(renewals->service) == 0 && renewals->by_hand == 0;
    if (closing != NULL && quiet) {
        renewals->closing = NULL;
        embed_order_done(renewals->engine, closing);
    }
}

/* ---- ending */

static void stop_all(struct tocsin_renewals *renewals)
{
    key_providers_stop(&renewals->providers, WAIT_MS); /* */
    if (renewals->own_thread != NULL)
        key_thread_stop(renewals->own_thread);
}

static void stop(struct tocsin_engine *engine, struct order *order)
{
    struct tocsin_renewals *renewals = engine->renewals;
    renewals_stop(renewals->service);
    renewals_save_all(renewals->service);
    stop_all(renewals);
    renewals->closing = order;
}

void embed_renewals_stop(struct tocsin_renewals *renewals)
{
    struct order order = {.run = stop};
    embed_order(renewals->engine, &order);
}

void embed_renewals_join(struct tocsin_renewals *renewals)
{
    if (renewals->service != NULL)
        renewals_stop(renewals->service);
    stop_all(renewals);
    key_providers_join(&renewals->providers);
    if (renewals->own_thread != NULL)
        key_thread_join(renewals->own_thread);
    while (take(renewals)) {
    }
}
