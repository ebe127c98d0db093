/* SPDX-License-Identifier: MIT */
/* embed_world.h - a program with an engine inside, and a key store of its own.
 *
 * The store is a shelf of a few keys, behind a structure of functions (tocsin/keys.h). It counts
 * what it is asked, and can be told to hang, to keep silent, or to fail. Time is the machine's:
 * whatever is waited for is told by a function of the test. */
#ifndef TEST_EMBED_WORLD_H
#define TEST_EMBED_WORLD_H

#include <pthread.h>

#include <tocsin/engine.h>
#include <tocsin/renewal.h>

#include "runner.h"

enum { SHELF_KEYS = 16, SHELF_LOG = 64 };

/* A key store of the test's own: what it is asked, and what it shall say. */
struct shelf {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        char key[32];
        char value[32];
        int64_t ttl_ms; /* -1 for ever; 0: not there */
    } keys[SHELF_KEYS];
    size_t count;
    int64_t ttls[SHELF_LOG]; /* of each key it was asked to renew */
    char asked[SHELF_LOG][32];
    unsigned asked_count;
    unsigned closed;
    bool hangs;
    bool mute; /* says nothing of its keys */
    const char *trouble;
    /* of the functions of strategies and generators */
    unsigned goes_on_calls;
    uint64_t goes_on_until; /* rounds */
    bool goes_on_hangs;
    unsigned generated;
    const char *generator_fails;
    /* told */
    unsigned told;
    enum tocsin_renewal_status told_status;
    char told_id[80];
    char told_why[200];
    unsigned worked; /* tasks */
};

struct program {
    struct shelf shelf;
    struct tocsin_renewals *renewals;
    struct tocsin_engine *engine;
};

/* Two names of keys. */
extern const char *const two_keys[2];

void shelf_init(struct shelf *shelf);
void shelf_put(struct shelf *shelf, const char *key, const char *value, int64_t ttl_ms);
/* Until one of its numbers has come so far; a minute at most. */
void shelf_await(struct shelf *shelf, const unsigned *number, unsigned least);
void shelf_set(struct shelf *shelf, bool *flag, bool value);
struct tocsin_key_client shelf_client(struct shelf *shelf);
/* Of a provider; arg: the shelf. "nowhere" is refused. */
enum tocsin_status shelf_create(void *arg, const char *where, struct tocsin_key_client *ret_client,
                                struct tocsin_why *ret_why);
/* Its renewals, with the shelf as a store; not open yet. */
void program_prepare(struct program *program);
/* The engine. dir NULL: in memory. */
void program_begin(struct program *program, const char *dir);
/* All of that. */
void program_start(struct program *program);
void program_add(struct program *program, const struct tocsin_renewal *renewal);
struct tocsin_renewal_metrics program_describe(struct program *program, const char *id);
void program_await(struct program *program, const char *id, enum tocsin_renewal_status wanted);
/* A handler of tasks: counts. arg: the shelf. */
enum tocsin_status shelf_work(void *arg, const struct tocsin_run *run);
/* Of its client. */
void shelf_expire(void *self, const struct tocsin_expiry *expiry, struct tocsin_key *keys,
                  size_t count, struct tocsin_why *ret_why);

#endif
