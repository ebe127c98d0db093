/* SPDX-License-Identifier: MIT */
/* What no single row can tell: do the values make sense together? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "server/config.h"
#include "server/config_form.h"
#include "server/config_table.h"
#include "server/config_value.h"

static struct config_spot spot_of(const char *name)
{
    return (struct config_spot){.source = CONFIG_DEFAULT, .name = name};
}

static enum tocsin_status check_listen(const struct config *config, struct config_why *ret_why)
{
    struct config_spot spot = spot_of("listen");
    for (size_t i = 0; i < config->listen.count; i++) {
        const char *address = config->listen.items[i];
        bool loopback = config_form_loopback(address);
        bool any_port = strcmp(strrchr(address, ':'), ":0") == 0;
        if (!loopback && config->tokens.count == 0)
            return config_refuse(ret_why, &spot,
                                 "%s can be reached from other machines: that needs tokens; "
                                 "without, only loopback addresses (127.0.0.1, [::1]) are allowed",
                                 address);
        if (!loopback && config->clock == CONFIG_CLOCK_MANUAL)
            return config_refuse(ret_why, &spot,
                                 "%s can be reached from other machines, and the clock is manual: "
                                 "that is for tests on loopback addresses only",
                                 address);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(address, config->listen.items[j]) == 0 && !any_port)
                return config_refuse(ret_why, &spot, "%s is there twice", address);
        }
    }
    return TOCSIN_OK;
}

static enum tocsin_status check_tls(const struct config *config, struct config_why *ret_why)
{
    struct config_spot spot = spot_of("tls");
    bool certificate = config->tls.certificate[0] != '\0';
    bool key = config->tls.key[0] != '\0';
    if (certificate == key)
        return TOCSIN_OK;
    return config_refuse(ret_why, &spot, "%s is given without %s: TLS needs both files",
                         certificate ? "certificate" : "key", certificate ? "key" : "certificate");
}

static enum tocsin_status check_limits(const struct config_limits *limits,
                                       struct config_why *ret_why)
{
    const struct {
        const char *less, *more;
        uint64_t less_bytes, more_bytes;
    } pairs[] = {
        {"limits.payload_bytes", "limits.body_bytes", limits->payload_bytes, limits->body_bytes},
        {"limits.batch_bytes", "limits.body_bytes", limits->batch_bytes, limits->body_bytes},
        {"limits.body_bytes", "limits.body_bytes_total", limits->body_bytes,
         limits->body_bytes_total},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char less[CONFIG_NUMBER_BYTES];
        char more[CONFIG_NUMBER_BYTES];
        struct config_spot spot = spot_of(pairs[i].less);
        if (pairs[i].less_bytes <= pairs[i].more_bytes)
            continue;
        config_value_format_number(CONFIG_SIZE, pairs[i].less_bytes, less);
        config_value_format_number(CONFIG_SIZE, pairs[i].more_bytes, more);
        return config_refuse(ret_why, &spot, "%s is more than %s (%s) lets in", less, pairs[i].more,
                             more);
    }
    return TOCSIN_OK;
}

/* One line, without its end. */
static enum tocsin_status read_token_file(struct config_token *token, struct config_why *ret_why)
{
    struct config_spot spot = spot_of("tokens");
    size_t size;
    char *text = config_read_whole(token->file, CONFIG_TOKEN_BYTES_MAX + 2, &size);
    if (text == NULL)
        return config_refuse(ret_why, &spot, "token %s: %.200s: %s", token->name, token->file,
                             errno == EFBIG ? "it is too long for a token" : strerror(errno));
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        size--;
    bool whole = memchr(text, 0, size) == NULL;
    text[size] = '\0';
    if (!whole || !config_form_token(text)) {
        free(text);
        return config_refuse(ret_why, &spot,
                             "token %s: %.200s holds %zu characters; a token has %d to %d letters, "
                             "digits and -._~+/=",
                             token->name, token->file, size, CONFIG_TOKEN_BYTES_MIN,
                             CONFIG_TOKEN_BYTES_MAX);
    }
    free(token->token);
    token->token = text;
    return TOCSIN_OK;
}

static enum tocsin_status check_tokens(struct config *config, struct config_why *ret_why)
{
    struct config_spot spot = spot_of("tokens");
    for (size_t i = 0; i < config->tokens.count; i++) {
        struct config_token *token = &config->tokens.items[i];
        enum tocsin_status status = TOCSIN_OK;
        if (token->file != NULL)
            status = read_token_file(token, ret_why);
        if (status != TOCSIN_OK)
            return status;
        for (size_t j = 0; j < i; j++) {
            const struct config_token *other = &config->tokens.items[j];
            if (strcmp(token->name, other->name) == 0)
                return config_refuse(ret_why, &spot, "the name %s is there twice", token->name);
            if (strcmp(token->token, other->token) == 0)
                return config_refuse(ret_why, &spot, "%s and %s have the same token", other->name,
                                     token->name);
        }
    }
    return TOCSIN_OK;
}

/* A renewal names its server: a name means one. */
static enum tocsin_status check_redis(const struct config_list *servers, struct config_why *ret_why)
{
    struct config_spot spot = spot_of("redis.servers");
    for (size_t i = 0; i < servers->count; i++) {
        struct bytes name;
        struct bytes other;
        (void)config_form_redis_url(servers->items[i], &name); /* it fits: config_form.h */
        if (bytes_are(name, "mock"))
            return config_refuse(ret_why, &spot,
                                 "the name mock is taken, by a server for trying things out");
        for (size_t j = 0; j < i; j++) {
            (void)config_form_redis_url(servers->items[j], &other);
            if (bytes_equal(name, other))
                return config_refuse(ret_why, &spot, "the name %.*s is there twice", (int)name.size,
                                     name.at);
        }
    }
    return TOCSIN_OK;
}

static uint8_t source_of(const struct config *config, const char *path)
{
    return config->sources[config_row_find(bytes_of(path)) - config_table];
}

/* instance.id is the node's name under another name: where both are given, the stronger source
 * counts, and in one source they must agree. */
static enum tocsin_status name_node(struct config *config, struct config_why *ret_why)
{
    struct config_spot spot = spot_of("instance.id");
    uint8_t id_from = source_of(config, "instance.id");
    uint8_t node_from = source_of(config, "node");
    if (config->instance.id[0] == '\0' || node_from > id_from ||
        strcmp(config->instance.id, config->node) == 0)
        return TOCSIN_OK;
    if (node_from == id_from)
        return config_refuse(ret_why, &spot, "%s, but node is %s: give one of the two",
                             config->instance.id, config->node);
    char *name = strdup(config->instance.id);
    if (name == NULL)
        return TOCSIN_NO_MEMORY;
    free(config->node);
    config->node = name;
    return TOCSIN_OK;
}

/* ---- several nodes */

enum config_store config_store_kind(const struct config *config)
{
    return strcmp(config->store, "sqlite") == 0   ? CONFIG_SQLITE
           : strcmp(config->store, "memory") == 0 ? CONFIG_MEMORY
                                                  : CONFIG_REDIS;
}

void config_store_shown(const struct config *config, char ret_text[CONFIG_STORE_SHOWN_BYTES])
{
    config_form_hide(config->store, ret_text, CONFIG_STORE_SHOWN_BYTES);
}

/* C-05. Two nodes that are both n1 would be hard to tell apart. */
static enum tocsin_status name_by_chance(struct config *config)
{
    uint32_t chance;
    char name[24];
    if (source_of(config, "node") != CONFIG_DEFAULT || config->instance.id[0] != '\0')
        return TOCSIN_OK;
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return TOCSIN_NO_MEMORY;
    (void)snprintf(name, sizeof name, "tocsin-%08x", chance);
    char *copy = strdup(name);
    if (copy == NULL)
        return TOCSIN_NO_MEMORY;
    free(config->node);
    config->node = copy;
    return TOCSIN_OK;
}

static enum tocsin_status check_cluster(struct config *config, struct config_why *ret_why)
{
    struct config_spot address = spot_of("cluster.address");
    struct config_spot renew = spot_of("cluster.renew");
    struct config_spot clock = spot_of("clock");
    char times[2][CONFIG_NUMBER_BYTES];
    if (3 * config->cluster.renew > config->cluster.lease) {
        config_value_format_number(CONFIG_TIME, config->cluster.renew, times[0]);
        config_value_format_number(CONFIG_TIME, config->cluster.lease, times[1]);
        return config_refuse(ret_why, &renew,
                             "%s is more than a third of cluster.lease (%s): a renewal or two that "
                             "fail must not lose the lease",
                             times[0], times[1]);
    }
    if (config_store_kind(config) != CONFIG_REDIS)
        return TOCSIN_OK;
    if (config->clock == CONFIG_CLOCK_MANUAL)
        return config_refuse(ret_why, &clock,
                             "manual, but the store is a Redis that nodes share, whose time is the "
                             "time of all: the manual clock is for sqlite and memory");
    if (config->cluster.address[0] == '\0' && config_form_wildcard(config->listen.items[0]))
        return config_refuse(ret_why, &address,
                             "is not given, and %s (listen) does not say where other nodes reach "
                             "this one: give a name or an address with a port",
                             config->listen.items[0]);
    return name_by_chance(config);
}

enum tocsin_status config_finish(struct config *config, struct config_why *ret_why)
{
    enum tocsin_status status = check_tokens(config, ret_why);
    if (status == TOCSIN_OK)
        status = name_node(config, ret_why);
    if (status == TOCSIN_OK)
        status = check_listen(config, ret_why);
    if (status == TOCSIN_OK)
        status = check_tls(config, ret_why);
    if (status == TOCSIN_OK)
        status = check_limits(&config->limits, ret_why);
    if (status == TOCSIN_OK)
        status = check_redis(&config->redis.servers, ret_why);
    if (status == TOCSIN_OK)
        status = check_cluster(config, ret_why);
    return status;
}
