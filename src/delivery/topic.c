/* SPDX-License-Identifier: MIT */
/* A topic's publications wait in a list; the first of them is being told, and the cursor says to
 * whom next. So each subscriber hears them in order, and one who leaves in between is passed over.
 * Topics with something to tell stand in a line: each tells a slice, and goes to the end. Who is
 * owed a receipt does not stand in it: they have heard what led to it before (topic_catch_up). */
#include "delivery/topic.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/inside.h"

const struct topics_limits topics_limits_default = {
    .sessions = 10000,
    .topics = 100000,
    .subscriptions = 64,
    .unacknowledged = 1024,
    .unanswered = 256,
    .transactions = 16,
    .transaction_bytes = 256 * 1024,
    .connect_ms = 10000,
    .heart_beat_ms = 10000,
    .pending_bytes = 64 * 1024 * 1024,
    .frame_bytes = 256 * 1024 * 1024,
    .frame = {.headers = 64, .head_bytes = 16 * 1024, .body_bytes = 256 * 1024},
};

enum tocsin_status topics_create(const struct topics_options *options, struct topics **ret_topics)
{
    assert(options->limits.sessions > 0 && options->limits.unacknowledged > 0);
    struct topics *topics = calloc(1, sizeof *topics);
    if (topics == NULL)
        return TOCSIN_NO_MEMORY;
    topics->limits = options->limits;
    topics->hooks = options->hooks;
    topics->hash_key = options->hash_key;
    topics->server = options->server;
    topics->active_end = &topics->active;
    topics->slots = calloc(topics->limits.sessions, sizeof *topics->slots);
    if (topics->slots == NULL) {
        free(topics);
        return TOCSIN_NO_MEMORY;
    }
    for (uint32_t i = 0; i < topics->limits.sessions; i++)
        topics->slots[i].next_free = i + 1;
    *ret_topics = topics;
    return TOCSIN_OK;
}

void topics_destroy(struct topics *topics)
{
    if (topics == NULL)
        return;
    assert(topics->counters.sessions == 0);
    while (topics_run(topics, UINT32_MAX)) {
    }
    assert(topics->counters.topics == 0 && topics->counters.frame_bytes == 0);
    free(topics->slots);
    free(topics);
}

/* Finding. */

static struct topic **bucket_of(struct topics *topics, uint64_t hash)
{
    return &topics->buckets[hash % TOPIC_BUCKETS];
}

static struct topic *find(struct topics *topics, uint64_t hash, struct bytes destination)
{
    struct topic *topic = *bucket_of(topics, hash);
    while (topic != NULL &&
           (topic->hash != hash ||
            !bytes_equal((struct bytes){topic->destination, topic->size}, destination)))
        topic = topic->next;
    return topic;
}

static uint64_t hash_of(const struct topics *topics, struct bytes destination)
{
    return siphash_quick(topics->hash_key, destination.at, destination.size);
}

static struct topic *make(struct topics *topics, uint64_t hash, struct bytes destination)
{
    struct topic *topic = calloc(1, sizeof *topic + destination.size);
    if (topic == NULL)
        return NULL;
    topic->hash = hash;
    topic->pending_end = &topic->pending;
    topic->size = (uint32_t)destination.size;
    memcpy(topic->destination, destination.at, destination.size);
    struct topic **bucket = bucket_of(topics, hash);
    topic->next = *bucket;
    *bucket = topic;
    topics->counters.topics++;
    return topic;
}

static void forget(struct topics *topics, struct topic *topic)
{
    struct topic **at = bucket_of(topics, topic->hash);
    assert(topic->count == 0 && topic->pending == NULL && !topic->active);
    while (*at != topic)
        at = &(*at)->next;
    *at = topic->next;
    topics->counters.topics--;
    free(topic);
}

/* Coming and going. */

enum tocsin_status topic_join(struct topics *topics, struct subscription *subscription)
{
    struct bytes destination = subscription_destination(subscription);
    uint64_t hash = hash_of(topics, destination);
    struct topic *topic = find(topics, hash, destination);
    if (topic == NULL) {
        if (topics->counters.topics >= topics->limits.topics)
            return TOCSIN_FULL;
        topic = make(topics, hash, destination);
        if (topic == NULL)
            return TOCSIN_NO_MEMORY;
    }
    subscription->topic = topic;
    subscription->since = topics->numbers;
    subscription->next = NULL;
    subscription->previous = topic->last;
    if (topic->last == NULL)
        topic->first = subscription;
    else
        topic->last->next = subscription;
    topic->last = subscription;
    topic->count++;
    return TOCSIN_OK;
}

void topic_leave(struct topics *topics, struct subscription *subscription)
{
    struct topic *topic = subscription->topic;
    if (topic->cursor == subscription)
        topic->cursor = subscription->next;
    if (subscription->previous == NULL)
        topic->first = subscription->next;
    else
        subscription->previous->next = subscription->next;
    if (subscription->next == NULL)
        topic->last = subscription->previous;
    else
        subscription->next->previous = subscription->previous;
    topic->count--;
    subscription->topic = NULL;
    if (topic->count == 0 && !topic->active)
        forget(topics, topic);
}

/* Telling. */

static void put_in_line(struct topics *topics, struct topic *topic)
{
    topic->active = true;
    topic->next_active = NULL;
    *topics->active_end = topic;
    topics->active_end = &topic->next_active;
}

static void activate(struct topics *topics, struct topic *topic)
{
    bool first = topics->active == NULL;
    put_in_line(topics, topic);
    if (first && topics->hooks.wake != NULL)
        topics->hooks.wake(topics->hooks.arg);
}

static struct topic *take_active(struct topics *topics)
{
    struct topic *topic = topics->active;
    topics->active = topic->next_active;
    if (topics->active == NULL)
        topics->active_end = &topics->active;
    return topic;
}

bool topic_has_subscribers(struct topics *topics, struct bytes destination)
{
    const struct topic *topic = find(topics, hash_of(topics, destination), destination);
    return topic != NULL && topic->count > 0;
}

enum tocsin_status topic_publish(struct topics *topics, struct bytes destination,
                                 const char *content_type, struct bytes body)
{
    struct topic *topic = find(topics, hash_of(topics, destination), destination);
    topics->counters.published++;
    topics->numbers++;
    if (topic == NULL || topic->count == 0)
        return TOCSIN_OK;
    if (body.size > topics->limits.pending_bytes - topics->counters.pending_bytes)
        return TOCSIN_OVERLOADED;
    struct publication *publication = calloc(1, sizeof *publication);
    if (publication == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status =
        message_init(&publication->message, destination, content_type, topics->numbers, body);
    if (status != TOCSIN_OK) {
        free(publication);
        return status;
    }
    publication->number = topics->numbers;
    publication->body_bytes = body.size;
    if (topic->pending == NULL)
        topic->cursor = topic->first;
    *topic->pending_end = publication;
    topic->pending_end = &publication->next;
    topics->counters.pending++;
    topics->counters.pending_bytes += body.size;
    if (!topic->active)
        activate(topics, topic);
    return TOCSIN_OK;
}

/* The first publication is told to all. */
static void drop_first(struct topics *topics, struct topic *topic)
{
    struct publication *publication = topic->pending;
    topic->pending = publication->next;
    if (topic->pending == NULL)
        topic->pending_end = &topic->pending;
    topic->cursor = topic->first;
    topics->counters.pending--;
    topics->counters.pending_bytes -= publication->body_bytes;
    message_release(&publication->message);
    free(publication);
}

/* Once to each. */
static void hand_on(struct publication *publication, struct subscription *subscription)
{
    if (subscription->since >= publication->number)
        return;
    subscription->since = publication->number;
    message_deliver(&publication->message, subscription);
}

/* Answers how many steps it took, at most max. */
static uint32_t tell(struct topics *topics, struct topic *topic, uint32_t max)
{
    uint32_t done = 0;
    while (topic->pending != NULL && done < max) {
        struct publication *publication = topic->pending;
        struct subscription *subscription = topic->cursor;
        done++;
        if (subscription == NULL) {
            drop_first(topics, topic);
            continue;
        }
        topic->cursor = subscription->next;
        hand_on(publication, subscription);
    }
    return done;
}

/* The cursor comes by later, and has nothing to do there. */
void topic_catch_up(struct subscription *subscription)
{
    for (struct publication *at = subscription->topic->pending; at != NULL; at = at->next)
        hand_on(at, subscription);
}

bool topics_run(struct topics *topics, uint32_t max)
{
    while (topics->active != NULL && max > 0) {
        struct topic *topic = take_active(topics);
        max -= tell(topics, topic, max < TOPIC_SLICE ? max : TOPIC_SLICE);
        topic->active = false;
        if (topic->pending != NULL)
            put_in_line(topics, topic);
        else if (topic->count == 0)
            forget(topics, topic);
    }
    return topics->active != NULL;
}

void topics_describe(const struct topics *topics, struct topics_counters *ret_counters)
{
    *ret_counters = topics->counters;
}

/* Checking. */

static enum tocsin_status corrupt(struct tocsin_why *why, const char *what)
{
    (void)snprintf(why->text, sizeof why->text, "%s", what);
    return TOCSIN_CORRUPT;
}

static const char *wrong_topic(const struct topic *topic)
{
    uint32_t count = 0;
    bool cursor_found = topic->cursor == NULL || topic->pending == NULL;
    const struct subscription *previous = NULL;
    for (const struct subscription *at = topic->first; at != NULL; at = at->next) {
        if (at->topic != topic || at->previous != previous)
            return "a subscription is linked wrongly";
        cursor_found |= at == topic->cursor;
        previous = at;
        count++;
    }
    if (previous != topic->last || count != topic->count)
        return "the subscriptions of a topic are miscounted";
    if (!cursor_found)
        return "a cursor points at a subscription that has left";
    if ((topic->pending != NULL) != topic->active)
        return "a topic with something to tell is not in line, or one without is";
    if (count == 0 && !topic->active)
        return "a topic without subscriptions was kept";
    return NULL;
}

enum tocsin_status topics_check(const struct topics *topics, struct tocsin_why *ret_why)
{
    uint64_t count = 0;
    uint64_t pending = 0;
    for (size_t i = 0; i < TOPIC_BUCKETS; i++) {
        for (const struct topic *topic = topics->buckets[i]; topic != NULL; topic = topic->next) {
            const char *wrong = wrong_topic(topic);
            if (wrong != NULL)
                return corrupt(ret_why, wrong);
            for (const struct publication *at = topic->pending; at != NULL; at = at->next)
                pending++;
            count++;
        }
    }
    if (count != topics->counters.topics || pending != topics->counters.pending)
        return corrupt(ret_why, "topics or publications are miscounted");
    return TOCSIN_OK;
}
