/* SPDX-License-Identifier: MIT */
#include "service/renewal/key_provider.h"

#include <stdio.h>

enum tocsin_status key_providers_add(struct key_providers *providers,
                                     const struct key_provider *provider)
{
    if (providers->count > 0 && key_providers_find(providers, provider->name) != NULL)
        return TOCSIN_CONFLICT;
    if (providers->count == KEY_PROVIDERS_MAX)
        return TOCSIN_FULL;
    providers->items[providers->count++] = *provider;
    return TOCSIN_OK;
}

const struct key_provider *key_providers_find(const struct key_providers *providers,
                                              const char *name)
{
    for (size_t i = 0; i < providers->count; i++) {
        if (name == NULL || strcmp(providers->items[i].name, name) == 0)
            return &providers->items[i];
    }
    return NULL;
}

enum tocsin_status key_providers_open(struct key_providers *providers, const char *provider,
                                      const char *store, const char *where,
                                      const struct key_client **ret_client,
                                      struct tocsin_why *ret_why)
{
    const struct key_provider *found = key_providers_find(providers, provider);
    if (found == NULL) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "there is no provider %.64s",
                       provider == NULL ? "at all" : provider);
        return TOCSIN_NONE;
    }
    if (providers->client_count == KEY_STORES_MAX) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%d key stores are the most",
                       (int)KEY_STORES_MAX);
        return TOCSIN_FULL;
    }
    struct key_client *client = &providers->clients[providers->client_count];
    enum tocsin_status status = found->open(found->self, store, where, client, ret_why);
    if (status != TOCSIN_OK)
        return status;
    providers->client_count++;
    *ret_client = client;
    return TOCSIN_OK;
}

bool key_providers_take(struct key_providers *providers)
{
    bool more = false;
    for (size_t i = 0; i < providers->count; i++) {
        if (providers->items[i].take != NULL)
            more |= providers->items[i].take(providers->items[i].self);
    }
    return more;
}

void key_providers_stop(struct key_providers *providers, uint32_t wait_ms)
{
    for (size_t i = 0; i < providers->count; i++) {
        if (providers->items[i].stop != NULL)
            providers->items[i].stop(providers->items[i].self, wait_ms);
    }
}

void key_providers_join(struct key_providers *providers)
{
    for (size_t i = 0; i < providers->count; i++) {
        if (providers->items[i].join != NULL)
            providers->items[i].join(providers->items[i].self);
    }
}

void key_providers_destroy(struct key_providers *providers)
{
    for (size_t i = 0; i < providers->count; i++) {
        if (providers->items[i].destroy != NULL)
            providers->items[i].destroy(providers->items[i].self);
    }
    *providers = (struct key_providers){.count = 0};
}
