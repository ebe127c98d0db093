/* SPDX-License-Identifier: MIT */
/* A stranger's program with tocsin/redis.h: there is no Redis, and that is told. */
#include <stdio.h>

#include <tocsin/engine.h>
#include <tocsin/redis.h>

int main(void)
{
    struct tocsin_renewals *renewals;
    struct tocsin_engine *engine;
    struct tocsin_why why = {""};
    struct tocsin_key key = {.at = "a", .size = 1};
    struct tocsin_expiry expiry = {.ttl_ms = 1000};
    if (tocsin_renewals_create(NULL, &renewals, &why) != TOCSIN_OK ||
        tocsin_redis_add(renewals, &why) != TOCSIN_OK ||
        tocsin_renewals_reach(renewals, "default", NULL, "redis://127.0.0.1:1", &why) !=
            TOCSIN_OK ||
        tocsin_engine_open(&(struct tocsin_engine_options){.renewals = renewals}, &engine, &why) !=
            TOCSIN_OK ||
        tocsin_keys_expire(renewals, NULL, &expiry, &key, 1, &why) != TOCSIN_OK) {
        (void)fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    printf("%s\n", tocsin_key_result_name(key.result));
    tocsin_engine_close(engine);
    return 0;
}
