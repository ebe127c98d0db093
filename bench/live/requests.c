/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { CONNECTIONS = 64, REQUEST_BYTES_MAX = 1024 };

struct run {
    const struct requests *requests;
    uint64_t count, sent, answered;
};

struct lane {
    struct run *run;
    uint64_t number; /* of the request that is on its way */
};

void request_send(struct connection *connection, const char *method, const char *path,
                  const char *body)
{
    int size = snprintf(load_room(connection, REQUEST_BYTES_MAX), REQUEST_BYTES_MAX,
                        "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n%s",
                        method, path, strlen(body), body);
    load_request(connection, (size_t)size);
}

static void send_next(struct lane *lane, struct connection *connection)
{
    struct run *run = lane->run;
    struct request_text text = {0};
    if (run->sent == run->count)
        return;
    lane->number = run->sent++;
    run->requests->write(run->requests->arg, lane->number, &text);
    request_send(connection, text.method, text.path, text.body);
}

static void answered(void *arg, struct connection *connection, const struct answer *answer)
{
    struct lane *lane = arg;
    const struct requests *requests = lane->run->requests;
    lane->run->answered++;
    if (requests->taken != NULL)
        requests->taken(requests->arg, lane->number, answer->body, answer->body_size);
    send_next(lane, connection);
}

void requests_run(const struct server *server, uint64_t count, const struct requests *requests)
{
    static struct load load;
    static struct lane lanes[CONNECTIONS];
    struct run run = {.requests = requests, .count = count};
    load_open(&load);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        lanes[i] = (struct lane){.run = &run};
        send_next(&lanes[i], load_connect(&load, server->port, http_frame, answered, &lanes[i]));
    }
    while (run.answered < count)
        load_turn(&load, 1000);
    load_close(&load);
}

double metric_read(const struct server *server, const char *name)
{
    enum { ROOM = 256 * 1024 };
    char *answer = bench_alloc(1, ROOM), line[128];
    if (!ask(server->port, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
             ROOM, answer, ROOM))
        bench_die("no metrics");
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(answer, line);
    if (at == NULL)
        bench_die("no metric %s", name);
    double value = strtod(at + strlen(line), NULL);
    free(answer);
    return value;
}
