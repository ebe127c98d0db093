/* SPDX-License-Identifier: MIT */
/* mock_client.h - a key store that is not there.
 *
 * Keys in memory, by the engine's clock, for tests and for trying things out. It can be told to
 * fail, to hang, and to answer later.
 *
 * Threads   the engine's.
 */
#ifndef TOCSIN_SERVICE_RENEWAL_MOCK_CLIENT_H
#define TOCSIN_SERVICE_RENEWAL_MOCK_CLIENT_H

#include "engine/engine.h"
#include "service/renewal/key_client.h"
#include "service/renewal/key_provider.h"

struct mock_client;

enum mock_mood {
    MOCK_WELL,
    MOCK_DOWN,    /* every key FAILED */
    MOCK_REFUSES, /* every key REFUSED */
    MOCK_LOSES,   /* done, and every answer lost: UNKNOWN */
    MOCK_HANGS,   /* keeps every job until it is in another mood */
};

enum tocsin_status mock_client_create(struct engine *engine, struct mock_client **ret_client);
/* Another engine tells the time from now on. */
void mock_client_move(struct mock_client *client, struct engine *engine);
void mock_client_destroy(struct mock_client *client);
struct key_client mock_client_port(struct mock_client *client);
void mock_client_mood(struct mock_client *client, enum mock_mood mood);

/* From now on every key there could be is there, and lives for ever: for trying things out. */
void mock_client_take_all(struct mock_client *client);

/* ttl_ms -1: for ever. False: no memory. */
bool mock_client_set(struct mock_client *client, struct bytes key, struct bytes value,
                     int64_t ttl_ms);
void mock_client_drop(struct mock_client *client, struct bytes key);
/* -1 for ever, -2 missing. */
int64_t mock_client_ttl_ms(struct mock_client *client, struct bytes key);
/* Jobs it was given so far, and those of EXPIRE among the keys. */
uint64_t mock_client_jobs(const struct mock_client *client);
uint64_t mock_client_expired(const struct mock_client *client);

/* The provider `mock`: each of its stores has every key there could be, wherever it is said to be. */
enum tocsin_status mock_provider_create(struct engine *engine, struct key_provider *ret_provider);

#endif
