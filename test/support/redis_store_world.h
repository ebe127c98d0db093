/* SPDX-License-Identifier: MIT */
/* redis_store_world.h - how does a test have a store in a real Redis, and see into both?
 *
 * Commits here are small: put one record, or end one.
 */
#ifndef TEST_REDIS_STORE_WORLD_H
#define TEST_REDIS_STORE_WORLD_H

#include "runner.h"

#include <stdio.h>
#include <string.h>

#include "store/redis/redis_store.h"
#include "support/redis_server.h"

struct store_node {
    struct store *store;
    struct store_state state;
    struct tocsin_why why; /* of the last commit */
};

static inline struct store_redis_options store_node_options(uint16_t port, const char *name)
{
    return (struct store_redis_options){
        .where = {.host = bytes_of("127.0.0.1"), .port = port},
        .node = name,
    };
}

static inline void store_node_open_with(struct store_node *node,
                                        const struct store_redis_options *options)
{
    *node = (struct store_node){0};
    if (store_redis_open(options, &node->store, &node->state, &node->why) != TOCSIN_OK)
        fail_msg("open: %s", node->why.text);
}

static inline void store_node_open(struct store_node *node, uint16_t port, const char *name)
{
    struct store_redis_options options = store_node_options(port, name);
    store_node_open_with(node, &options);
}

static inline void store_node_close(struct store_node *node)
{
    node->store->ops->close(node->store);
}

static inline enum tocsin_status store_node_commit(struct store_node *node,
                                                   const struct store_batch *batch)
{
    node->why.text[0] = '\0';
    return node->store->ops->commit(node->store, batch, &node->why);
}

static inline struct store_record store_node_record(uint64_t rev, const char *key, const char *doc)
{
    return (struct store_record){
        .rev = rev,
        .kind = bytes_of("task"),
        .key = bytes_of(key),
        .home = bytes_of(key),
        .tag = bytes_of("default"),
        .due_ms = 1000,
        .doc = bytes_of(doc),
    };
}

/* With an event of the same number. */
static inline enum tocsin_status store_node_put(struct store_node *node, uint64_t rev)
{
    struct store_record record = store_node_record(rev, "key", "a doc");
    struct store_event event = {.seq = rev, .kind = bytes_of("task"), .type = bytes_of("made")};
    return store_node_commit(
        node,
        &(struct store_batch){
            .puts = &record, .put_count = 1, .events = &event, .event_count = 1, .high_rev = rev});
}

static inline bool store_node_count_one(void *arg, const struct store_record *record)
{
    (void)record;
    ++*(uint64_t *)arg;
    return true;
}

static inline enum tocsin_status store_node_load(struct store_node *node, uint64_t *ret_count)
{
    *ret_count = 0;
    return node->store->ops->load(node->store, store_node_count_one, ret_count, &node->why);
}

static inline void store_node_see(void *arg, const struct store_record *record)
{
    if (arg != NULL)
        *(bool *)arg = record->damaged;
}

static inline enum tocsin_status store_node_get(struct store_node *node, uint64_t rev,
                                                bool *ret_damaged)
{
    return node->store->ops->get(node->store, rev, store_node_see, ret_damaged, &node->why);
}

#define assert_says(node, words)                                                                   \
    do {                                                                                           \
        if (strstr((node)->why.text, words) == NULL)                                               \
            fail_msg("it says \"%s\", not \"%s\"", (node)->why.text, words);                       \
    } while (0)

#endif
