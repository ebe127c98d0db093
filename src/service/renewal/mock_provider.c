/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "service/renewal/mock_client.h"

struct mock_provider {
    struct engine *engine;
    struct mock_client *clients[KEY_STORES_MAX];
    size_t count;
};

static enum tocsin_status open(void *self, const char *store, const char *where,
                               struct key_client *ret_client, struct tocsin_why *ret_why)
{
    struct mock_provider *provider = self;
    struct mock_client *client;
    (void)store;
    (void)where;
    (void)ret_why;
    if (provider->count == KEY_STORES_MAX)
        return TOCSIN_FULL;
    enum tocsin_status status = mock_client_create(provider->engine, &client);
    if (status != TOCSIN_OK)
        return status;
    mock_client_take_all(client);
    provider->clients[provider->count++] = client;
    *ret_client = mock_client_port(client);
    return TOCSIN_OK;
}

static void destroy(void *self)
{
    struct mock_provider *provider = self;
    for (size_t i = 0; i < provider->count; i++)
        mock_client_destroy(provider->clients[i]);
    free(provider);
}

enum tocsin_status mock_provider_create(struct engine *engine, struct key_provider *ret_provider)
{
    struct mock_provider *provider = calloc(1, sizeof *provider);
    if (provider == NULL)
        return TOCSIN_NO_MEMORY;
    provider->engine = engine;
    *ret_provider =
        (struct key_provider){.name = "mock", .open = open, .destroy = destroy, .self = provider};
    return TOCSIN_OK;
}
