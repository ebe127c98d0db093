/* SPDX-License-Identifier: MIT */
/* spec.h - which keys are kept alive, how long and how often?
 *
 * What a renewal was asked to do. It is read from the JSON of a request, written into the
 * record in the same form, and read again from there.
 *
 *   {"name":…, "keys":["a","b"] | "prefix":"x:" | "pattern":"x:*" | "generator":"g"
 *            | "any":[{"keys":[…]},…],
 *    "strategy":{"type":"fixed","ttl":"5m"}
 *             | {"type":"steps","steps":[{"count":10,"ttl":"5m"},{"ttl":"10m"}]}
 *             | {"type":"until","at":…,"ttl":"5m"}
 *             | {"type":"while","ttl":"5m","key":"k","exists":true | "equals":"v"}
 *             | {"type":"own","ttl":"5m","name":"s"},
 *    "every":"2m", "max_retries":3, "redis":"default", "owner":"v" or a fence,
 *    "shorten":false, "persistent":false}
 *
 * Generators and strategies of the type "own" are functions of the program (own.h).
 */
#ifndef TOCSIN_SERVICE_RENEWAL_SPEC_H
#define TOCSIN_SERVICE_RENEWAL_SPEC_H

#include <tocsin/status.h>

#include "base/bytes.h"
#include "base/json_read.h"
#include "base/json_write.h"

enum {
    RENEWAL_KEYS_MAX = 10000,
    RENEWAL_STEPS_MAX = 100,
    RENEWAL_SPEC_BYTES_MAX = 512 * 1024,
    RENEWAL_NAME_BYTES_MAX = 255,
    RENEWAL_KEY_BYTES_MAX = 4096,
    RENEWAL_REDIS_BYTES_MAX = 64,
    RENEWAL_RETRIES_MAX = 1000000,
    RENEWAL_RETRIES_DEFAULT = 3,
};
#define RENEWAL_REDIS_DEFAULT "default"
#define RENEWAL_MS_MAX (INT64_C(100) * 366 * 24 * 3600 * 1000) /* a hundred years */

enum source_type { SOURCE_KEY, SOURCE_PREFIX, SOURCE_PATTERN, SOURCE_GENERATOR, SOURCE_TYPES };
extern const char *const source_type_names[SOURCE_TYPES]; /* as in the JSON */
struct key_source {
    enum source_type type;
    struct bytes text;
};

struct renewal_step {
    int64_t ttl_ms;
    uint64_t count; /* of renewals; 0: all that follow */
};

struct renewal_test {
    struct bytes key;   /* OWN: the name of the strategy */
    struct bytes value; /* at NULL: whether it is there */
    bool exists;        /* it must be there, or must not */
};

enum strategy_type {
    STRATEGY_FIXED,
    STRATEGY_STEPS,
    STRATEGY_UNTIL,
    STRATEGY_WHILE,
    STRATEGY_OWN,
    STRATEGY_TYPES
};
extern const char *const strategy_type_names[STRATEGY_TYPES];
struct renewal_strategy {
    enum strategy_type type;
    uint32_t step_count; /* STEPS */
    int64_t ttl_ms;
    int64_t until_ms; /* UNTIL: wall */
    union {
        const struct renewal_step *steps; /* STEPS */
        const struct renewal_test *test;  /* WHILE, OWN */
    };
};

/* What most are asked without. */
struct renewal_more {
    struct bytes name;
    struct bytes redis;
    struct bytes owner; /* at NULL: not checked */
};

/* One piece of memory, small when it is a plain one: there are as many as renewals. */
struct renewal_spec {
    struct renewal_strategy strategy;
    int64_t every_ms;
    const struct renewal_more *more; /* those who are asked for none of it share one */
    uint32_t max_retries;            /* rounds in a row that may fail */
    uint16_t source_count;
    bool scans : 1; /* there are sources that are not keys */
    bool may_shorten : 1;
    bool may_limit : 1; /* "persistent": a key that lives for ever gets a TTL, too */
    struct key_source sources[];
};

struct renewal_defaults {
    int64_t ttl_ms;
    int64_t every_ms;
    int64_t least_every_ms; /* a tick of the wheel */
};

/* Reads an object, all of it; one allocation, freed with free(). INVALID, and why names the
 * field; ret_malformed (may be NULL): it is not even JSON. NO_MEMORY. */
enum tocsin_status renewal_spec_read(struct bytes json, const struct renewal_defaults *defaults,
                                     struct renewal_spec **ret_spec, bool *ret_malformed,
                                     struct tocsin_why *ret_why);
/* Its fields, into an object that is open: all of them, or without those that are as they are
 * when nobody says. */
enum spec_detail { SPEC_WHOLE, SPEC_BRIEF };
void renewal_spec_write(struct json_writer *writer, const struct renewal_spec *spec,
                        enum spec_detail detail);

/* ---- strategies: pure functions of the spec and of what has been */

struct renewal_context {
    uint64_t count;  /* rounds that have succeeded */
    int64_t last_ms; /* wall; 0: none yet */
    int64_t now_ms;  /* wall */
};
/* At least 1; 0: there is nothing more to renew. */
int64_t strategy_ttl_ms(const struct renewal_strategy *strategy,
                        const struct renewal_context *context);
static inline bool strategy_goes_on(const struct renewal_strategy *strategy,
                                    const struct renewal_context *context)
{
    return strategy_ttl_ms(strategy, context) > 0;
}
/* The shortest TTL it ever gives, but for the end of UNTIL. */
int64_t strategy_least_ttl_ms(const struct renewal_strategy *strategy);

/* The glob that matches what begins with this; room for twice its size and one more. */
size_t prefix_to_pattern(struct bytes prefix, char *to);

#endif
