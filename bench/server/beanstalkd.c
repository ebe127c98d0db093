/* SPDX-License-Identifier: MIT */
/* beanstalkd with its log, synced at each write. It makes its own ids and counts delays in
 * whole seconds. */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "peer.h"

static void launch(struct server *server, bool lax)
{
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)server->port);
    const char *argv[] = {"beanstalkd", "-l",           "127.0.0.1",        "-p", port,
                          "-b",         server->folder, lax ? "-F" : "-f0", NULL};
    child_start(&server->child, argv, server->folder, false);
}

static bool probe(struct server *server)
{
    char answer[64];
    return ask(server->port, "use tasks\r\n", 13, answer, sizeof answer) &&
           strncmp(answer, "USING", 5) == 0;
}

/* It is told at its start only: what fills it lax is not measured hard in the same process. */
static void harden(struct server *server)
{
    char folder[PATH_BYTES_MAX];
    uint64_t next_id = server->next_id;
    memcpy(folder, server->folder, sizeof folder);
    server_kill(server);
    server_start(server, &peer_beanstalkd, folder, false);
    server->next_id = next_id;
}

static struct answer frame(const char *in, size_t size, unsigned units)
{
    struct answer answer = {.good = true};
    const char *at = in, *end = in + size;
    for (unsigned i = 0; i < units; i++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            return answer;
        answer.good = answer.good && line_end - at > 9 && memcmp(at, "INSERTED ", 9) == 0;
        at = line_end + 1;
    }
    answer.size = (size_t)(at - in);
    return answer;
}

static void recipe(const struct server *server, enum wish wish, unsigned units, size_t id_bytes,
                   struct recipe *ret_recipe)
{
    (void)server;
    (void)wish;
    (void)id_bytes;
    *ret_recipe = (struct recipe){.units = units, .due_digits = 4, .frame = frame};
    struct recipe *self = ret_recipe;
    char payload[PAYLOAD_BYTES + 1];
    memset(payload, 'p', PAYLOAD_BYTES);
    payload[PAYLOAD_BYTES] = '\0';
    self->due_at = strlen("put 1000 ");
    self->unit_size = (size_t)snprintf(self->unit, sizeof self->unit,
                                       "put 1000 0000 60 %d\r\n%s\r\n", PAYLOAD_BYTES, payload);
}

const struct peer peer_beanstalkd = {"beanstalkd", launch, probe, harden, recipe};
