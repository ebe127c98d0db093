/* SPDX-License-Identifier: MIT */
#include "service/redis_keys/redis_provider.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/redis/redis_url.h"

struct redis_provider {
    struct redis_provider_options options;
    char *standard_words;
    struct redis_keys *threads[REDIS_THREADS_MAX];
    size_t thread_count;
    size_t store_count;
    char *words[KEY_STORES_MAX]; /* of each store */
    bool joined;                 /* that connections end now is no news */
};

static char *put_word(char **at, struct bytes word)
{
    char *copy = *at;
    if (word.size > 0)
        memcpy(copy, word.at, word.size);
    copy[word.size] = '\0';
    *at += word.size + 1;
    return copy;
}

/* The server, and the words it points to, to be freed; NULL: no memory. */
static char *copy_place(const struct redis_url *url, struct redis_server *ret_server)
{
    char *words = malloc(url->host.size + url->user.size + url->password.size + 3);
    char *at = words;
    if (words == NULL)
        return NULL;
    ret_server->host = put_word(&at, url->host);
    ret_server->user = put_word(&at, url->user);
    ret_server->password = put_word(&at, url->password);
    ret_server->port = (uint16_t)url->port;
    ret_server->database = url->database;
    return words;
}

static enum tocsin_status read_place(struct redis_provider *provider, const char *where,
                                     struct redis_server *ret_server, struct tocsin_why *ret_why)
{
    struct redis_url url;
    if (!redis_url_split(where, &url)) {
        (void)snprintf(ret_why->text, sizeof ret_why->text,
                       "must be redis://[[user]:password@]host[:port][/database]");
        return TOCSIN_INVALID;
    }
    provider->words[provider->store_count] = copy_place(&url, ret_server);
    return provider->words[provider->store_count] != NULL ? TOCSIN_OK : TOCSIN_NO_MEMORY;
}

/* The thread of the next store. */
static enum tocsin_status find_thread(struct redis_provider *provider, struct redis_keys **ret_keys)
{
    const struct redis_provider_options *options = &provider->options;
    size_t which = provider->store_count % options->threads;
    if (which == provider->thread_count) {
        enum tocsin_status status =
            redis_keys_create(&(struct redis_keys_options){.timeout_ms = options->timeout_ms,
                                                           .seed = options->seed + (which << 32),
                                                           .post = options->post,
                                                           .arg = options->arg},
                              &provider->threads[which]);
        if (status != TOCSIN_OK)
            return status;
        provider->thread_count++;
    }
    *ret_keys = provider->threads[which];
    return TOCSIN_OK;
}

static enum tocsin_status open(void *self, const char *store, const char *where,
                               struct key_client *ret_client, struct tocsin_why *ret_why)
{
    struct redis_provider *provider = self;
    struct redis_server server = provider->options.standard;
    struct redis_keys *keys;
    if (provider->store_count == KEY_STORES_MAX)
        return TOCSIN_FULL;
    enum tocsin_status status =
        where == NULL ? TOCSIN_OK : read_place(provider, where, &server, ret_why);
    if (status == TOCSIN_OK)
        status = find_thread(provider, &keys);
    server.name = store;
    if (status == TOCSIN_OK)
        status = redis_keys_add(keys, &server, ret_client);
    if (status != TOCSIN_OK) {
        free(provider->words[provider->store_count]);
        provider->words[provider->store_count] = NULL;
        return status;
    }
    provider->store_count++;
    return TOCSIN_OK;
}

static bool take(void *self)
{
    struct redis_provider *provider = self;
    bool more = false;
    for (size_t i = 0; i < provider->thread_count; i++)
        more |=
            redis_keys_take(provider->threads[i], provider->joined ? NULL : provider->options.told,
                            provider->options.arg);
    return more;
}

/* All of them are told before any is waited for. */
static void stop(void *self, uint32_t wait_ms)
{
    struct redis_provider *provider = self;
    for (size_t i = 0; i < provider->thread_count; i++)
        redis_keys_stop(provider->threads[i], wait_ms);
}

static void join(void *self)
{
    struct redis_provider *provider = self;
    for (size_t i = 0; i < provider->thread_count; i++)
        redis_keys_join(provider->threads[i]);
    provider->joined = true;
}

static void destroy(void *self)
{
    struct redis_provider *provider = self;
    for (size_t i = 0; i < provider->thread_count; i++)
        redis_keys_destroy(provider->threads[i]);
    for (size_t i = 0; i < provider->store_count; i++)
        free(provider->words[i]);
    free(provider->standard_words);
    free(provider);
}

enum tocsin_status redis_provider_create(const struct redis_provider_options *options,
                                         struct key_provider *ret_provider)
{
    struct redis_provider *provider = calloc(1, sizeof *provider);
    if (provider == NULL)
        return TOCSIN_NO_MEMORY;
    provider->options = *options;
    const struct redis_server *standard = &options->standard;
    struct redis_url url = {.host = bytes_of(standard->host),
                            .user = bytes_of(standard->user),
                            .password = bytes_of(standard->password),
                            .port = standard->port,
                            .database = standard->database};
    provider->standard_words = copy_place(&url, &provider->options.standard);
    if (provider->standard_words == NULL) {
        free(provider);
        return TOCSIN_NO_MEMORY;
    }
    if (provider->options.threads > REDIS_THREADS_MAX)
        provider->options.threads = REDIS_THREADS_MAX;
    *ret_provider = (struct key_provider){.name = "redis",
                                          .open = open,
                                          .take = take,
                                          .stop = stop,
                                          .join = join,
                                          .destroy = destroy,
                                          .self = provider};
    return TOCSIN_OK;
}
