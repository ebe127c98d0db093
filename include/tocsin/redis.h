/* SPDX-License-Identifier: MIT */
/* redis.h - the provider `redis` for renewals in your own program.
 *
 * In libtocsin-redis, which has all of libtocsin-engine and needs libuv, hiredis and libcrypto besides.
 *
 *     tocsin_redis_add(renewals, &why);
 *     tocsin_renewals_reach(renewals, "default", "redis", "redis://127.0.0.1:6379", &why);
 *
 * Where: redis://[[user]:password@]host[:port][/database]; NULL: by REDIS_HOST, REDIS_PORT and
 * REDIS_PASSWORD, or 127.0.0.1:6379. Connected when a key is first needed, and again whenever the
 * connection is lost. Commands go out as pipelines, on threads that are Redis's alone: at most
 * four for all servers.
 */
#ifndef TOCSIN_REDIS_H
#define TOCSIN_REDIS_H

#include <tocsin/renewal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Before tocsin_engine_open, as tocsin_renewals_add_provider. */
enum tocsin_status tocsin_redis_add(struct tocsin_renewals *renewals, struct tocsin_why *ret_why);

#ifdef __cplusplus
}
#endif

#endif
