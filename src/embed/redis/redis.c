/* SPDX-License-Identifier: MIT */
#include <tocsin/redis.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "embed/renewals.h"
#include "service/redis_keys/redis_provider.h"

enum { THREADS = 4, TIMEOUT_MS = 2000, PORT = 6379 };

static const char *from_environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : otherwise;
}

static enum tocsin_status read_environment(struct redis_server *ret_server,
                                           struct tocsin_why *ret_why)
{
    const char *port = from_environment("REDIS_PORT", NULL);
    char *end = NULL;
    long number = port == NULL ? PORT : strtol(port, &end, 10);
    if (port != NULL && (*end != '\0' || number < 1 || number > 65535)) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "REDIS_PORT: %.32s is not a port",
                       port);
        return TOCSIN_INVALID;
    }
    *ret_server = (struct redis_server){.host = from_environment("REDIS_HOST", "127.0.0.1"),
                                        .port = (uint16_t)number,
                                        .user = "",
                                        .password = from_environment("REDIS_PASSWORD", "")};
    return TOCSIN_OK;
}

enum tocsin_status tocsin_redis_add(struct tocsin_renewals *renewals, struct tocsin_why *ret_why)
{
    struct redis_server standard;
    struct key_provider provider;
    uint64_t seed = 0;
    enum tocsin_status status = read_environment(&standard, ret_why);
    if (status != TOCSIN_OK)
        return status;
    (void)!getrandom(&seed, sizeof seed, 0); /* for jitter only */
    status = redis_provider_create(&(struct redis_provider_options){.threads = THREADS,
                                                                    .standard = standard,
                                                                    .timeout_ms = TIMEOUT_MS,
                                                                    .seed = seed,
                                                                    .post = embed_renewals_post,
                                                                    .arg = renewals},
                                   &provider);
    if (status == TOCSIN_OK) {
        status = embed_renewals_add_provider(renewals, &provider);
        if (status != TOCSIN_OK)
            provider.destroy(provider.self);
    }
    if (status != TOCSIN_OK)
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", tocsin_status_text(status));
    return status;
}
