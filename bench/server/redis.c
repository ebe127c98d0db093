/* SPDX-License-Identifier: MIT */
/* Redis as a queue of delayed jobs: a hash from id to payload and a sorted set from id to due
 * time, both changed by one script, every write synced before its answer. Its log is not
 * rewritten while it is measured, which would only slow it down. */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "peer.h"

static const char schedule[] = "redis.call('HSET',KEYS[1],ARGV[1],ARGV[3]) "
                               "redis.call('ZADD',KEYS[2],ARGV[2],ARGV[1]) return 1";

static void launch(struct server *server, bool lax)
{
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)server->port);
    const char *argv[] = {"redis-server",
                          "--port",
                          port,
                          "--bind",
                          "127.0.0.1",
                          "--dir",
                          server->folder,
                          "--save",
                          "",
                          "--appendonly",
                          "yes",
                          "--appendfsync",
                          lax ? "no" : "always",
                          "--auto-aof-rewrite-percentage",
                          "0",
                          NULL};
    child_start(&server->child, argv, server->folder, false);
}

void redis_load_script(const struct server *server, const char *script,
                       char ret_name[REDIS_SCRIPT_BYTES])
{
    char text[256], answer[128];
    snprintf(text, sizeof text, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
             strlen(script), script);
    if (!ask(server->port, text, 47, answer, sizeof answer) ||
        sscanf(answer, "$40\r\n%40s", ret_name) != 1)
        child_failed(&server->child, "redis-server does not take the script");
}

static bool probe(struct server *server)
{
    char answer[64];
    if (!ask(server->port, "PING\r\n", 7, answer, sizeof answer) ||
        strncmp(answer, "+PONG", 5) != 0)
        return false;
    redis_load_script(server, schedule, server->script);
    return true;
}

static void harden(struct server *server)
{
    char answer[256];
    if (!ask(server->port, "CONFIG SET appendfsync always\r\n", 5, answer, sizeof answer) ||
        strncmp(answer, "+OK", 3) != 0)
        child_failed(&server->child, "redis-server does not sync always");
}

static struct answer frame(const char *in, size_t size, unsigned units)
{
    struct answer answer = {.good = true};
    if (size > 0 && in[0] == '-') {
        answer = (struct answer){.size = size};
        return answer;
    }
    if (size < units * 4)
        return answer;
    answer.size = units * 4;
    for (unsigned i = 0; i < units; i++)
        answer.good = answer.good && memcmp(in + (size_t)i * 4, ":1\r\n", 4) == 0;
    return answer;
}

static void recipe(const struct server *server, enum wish wish, unsigned units, size_t id_bytes,
                   struct recipe *ret_recipe)
{
    (void)wish;
    *ret_recipe =
        (struct recipe){.units = units, .id_bytes = id_bytes, .due_digits = 13, .frame = frame};
    struct recipe *self = ret_recipe;
    char payload[PAYLOAD_BYTES + 1];
    memset(payload, 'p', PAYLOAD_BYTES);
    payload[PAYLOAD_BYTES] = '\0';
    int at = snprintf(self->unit, sizeof self->unit,
                      "*8\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n2\r\n$4\r\njobs\r\n$3\r\ndue\r\n"
                      "$%zu\r\n",
                      server->script, id_bytes);
    self->id_at = (size_t)at;
    at += snprintf(self->unit + at, sizeof self->unit - (size_t)at, "%*s\r\n$13\r\n", (int)id_bytes,
                   "");
    self->due_at = (size_t)at;
    at += snprintf(self->unit + at, sizeof self->unit - (size_t)at, "%13s\r\n$%d\r\n%s\r\n", "",
                   PAYLOAD_BYTES, payload);
    self->unit_size = (size_t)at;
}

const struct peer peer_redis = {"redis", launch, probe, harden, recipe};
