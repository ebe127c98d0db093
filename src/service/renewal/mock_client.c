/* SPDX-License-Identifier: MIT */
#include "service/renewal/mock_client.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

struct mock_key {
    struct bytes key; /* both in `words`, each ended by a zero */
    struct bytes value;
    int64_t until_ms; /* elapsed; -1: for ever */
    char words[];
};

struct mock_client {
    struct engine *engine;
    struct mock_key **keys;
    size_t count;
    size_t room;
    enum mock_mood mood;
    bool answering;
    bool takes_all;
    struct key_job *held;
    struct key_job **held_end;
    uint64_t jobs;
    uint64_t expired;
};

static bool is_alive(const struct mock_client *client, const struct mock_key *it)
{
    return it->until_ms < 0 || it->until_ms > engine_now_ms(client->engine);
}

static struct mock_key **find(struct mock_client *client, struct bytes key)
{
    for (size_t i = 0; i < client->count; i++) {
        struct mock_key *it = client->keys[i];
        if (!bytes_equal(it->key, key))
            continue;
        if (is_alive(client, it))
            return &client->keys[i];
        client->keys[i] = client->keys[--client->count];
        free(it);
        return NULL;
    }
    return NULL;
}

bool mock_client_set(struct mock_client *client, struct bytes key, struct bytes value,
                     int64_t ttl_ms)
{
    mock_client_drop(client, key);
    if (client->count == client->room) {
        size_t room = client->room == 0 ? 16 : client->room * 2;
        struct mock_key **keys = realloc(client->keys, room * sizeof(struct mock_key *));
        if (keys == NULL)
            return false;
        client->keys = keys;
        client->room = room;
    }
    struct mock_key *it = calloc(1, sizeof *it + key.size + value.size + 2);
    if (it == NULL)
        return false;
    memcpy(it->words, key.at, key.size);
    if (value.size > 0)
        memcpy(it->words + key.size + 1, value.at, value.size);
    it->key = (struct bytes){it->words, key.size};
    it->value = (struct bytes){it->words + key.size + 1, value.size};
    it->until_ms = ttl_ms < 0 ? -1 : engine_now_ms(client->engine) + ttl_ms;
    client->keys[client->count++] = it;
    return true;
}

void mock_client_drop(struct mock_client *client, struct bytes key)
{
    struct mock_key **at = find(client, key);
    if (at == NULL)
        return;
    free(*at);
    *at = client->keys[--client->count];
}

int64_t mock_client_ttl_ms(struct mock_client *client, struct bytes key)
{
    struct mock_key **at = find(client, key);
    if (at == NULL)
        return -2;
    return (*at)->until_ms < 0 ? -1 : (*at)->until_ms - engine_now_ms(client->engine);
}

static enum key_result expire(struct mock_client *client, const struct key_job *job,
                              struct bytes key)
{
    struct mock_key **at = find(client, key);
    int64_t until = engine_now_ms(client->engine) + job->ttl_ms;
    client->expired++;
    if (at == NULL)
        return client->takes_all ? KEY_RENEWED : KEY_MISSING;
    if (job->value.at != NULL && !bytes_equal((*at)->value, job->value))
        return KEY_FOREIGN;
    if ((*at)->until_ms < 0 && !job->may_limit)
        return KEY_PERSISTENT;
    if ((*at)->until_ms > until && !job->may_shorten)
        return KEY_LONGER;
    (*at)->until_ms = until;
    return KEY_RENEWED;
}

/* From the last key to the first: a key moves to a smaller place only, so that one that is there
 * all the time is found at least once, as Redis has it. */
static void scan(struct mock_client *client, struct key_job *job)
{
    char pattern[1024];
    bool first = job->cursor == 0;
    size_t at = first || job->cursor > client->count ? client->count : (size_t)job->cursor;
    size_t end = at > job->page ? at - job->page : 0;
    (void)snprintf(pattern, sizeof pattern, "%.*s", (int)job->pattern.size, job->pattern.at);
    for (; at > end; at--) {
        const struct mock_key *it = client->keys[at - 1];
        if (is_alive(client, it) && fnmatch(pattern, it->key.at, 0) == 0)
            key_found(job, it->key);
    }
    job->cursor = end;
}

static void do_it(struct mock_client *client, struct key_job *job)
{
    for (uint32_t i = 0; job->verb == KEY_EXPIRE && i < job->count; i++)
        job->items[i].result = expire(client, job, job->items[i].key);
    for (uint32_t i = 0; job->verb == KEY_TTL && i < job->count; i++)
        job->items[i].ttl_ms = mock_client_ttl_ms(client, job->items[i].key);
    if (job->verb == KEY_SCAN)
        scan(client, job);
    if (job->verb == KEY_TEST) {
        struct mock_key **at = find(client, job->items[0].key);
        job->holds = at != NULL && (job->value.at == NULL || bytes_equal((*at)->value, job->value));
    }
    job->whole = KEY_RENEWED;
}

static void answer(struct mock_client *client, struct key_job *job)
{
    static const struct {
        enum key_result result;
        const char *why;
    } moods[] = {
        [MOCK_DOWN] = {KEY_FAILED, "mock: it is down"},
        [MOCK_REFUSES] = {KEY_REFUSED, "mock: READONLY"},
        [MOCK_LOSES] = {KEY_UNKNOWN, "mock: the answer was lost"},
        [MOCK_HANGS] = {KEY_UNKNOWN, "mock: it was closed"},
    };
    if (client->mood == MOCK_WELL || client->mood == MOCK_LOSES)
        do_it(client, job);
    if (client->mood != MOCK_WELL)
        key_job_fail(job, moods[client->mood].result, moods[client->mood].why);
    job->done(job);
}

static void give(void *self, struct key_job *job)
{
    struct mock_client *client = self;
    client->jobs++;
    job->next = NULL;
    *client->held_end = job;
    client->held_end = &job->next;
}

static void answer_held(struct mock_client *client)
{
    if (client->answering)
        return; /* whoever is told gives more: the loop below goes on */
    client->answering = true;
    while (client->held != NULL) {
        struct key_job *job = client->held;
        client->held = job->next;
        if (client->held == NULL)
            client->held_end = &client->held;
        answer(client, job);
    }
    client->answering = false;
}

static void flush(void *self)
{
    struct mock_client *client = self;
    if (client->mood != MOCK_HANGS)
        answer_held(client);
}

static bool reached(void *self)
{
    const struct mock_client *client = self;
    return client->mood != MOCK_DOWN;
}

static void close(void *self, uint32_t wait_ms)
{
    (void)wait_ms;
    answer_held(self);
}

void mock_client_take_all(struct mock_client *client)
{
    client->takes_all = true;
}

void mock_client_mood(struct mock_client *client, enum mock_mood mood)
{
    client->mood = mood;
    flush(client);
}

enum tocsin_status mock_client_create(struct engine *engine, struct mock_client **ret_client)
{
    struct mock_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return TOCSIN_NO_MEMORY;
    client->engine = engine;
    client->held_end = &client->held;
    *ret_client = client;
    return TOCSIN_OK;
}

void mock_client_move(struct mock_client *client, struct engine *engine)
{
    client->engine = engine;
}

void mock_client_destroy(struct mock_client *client)
{
    for (size_t i = 0; i < client->count; i++)
        free(client->keys[i]);
    free(client->keys);
    free(client);
}

struct key_client mock_client_port(struct mock_client *client)
{
    return (struct key_client){
        .give = give, .flush = flush, .reached = reached, .close = close, .self = client};
}

uint64_t mock_client_jobs(const struct mock_client *client)
{
    return client->jobs;
}

uint64_t mock_client_expired(const struct mock_client *client)
{
    return client->expired;
}
