/* SPDX-License-Identifier: MIT */
/* requests.h - how is a server filled before it is measured?
 *
 * So many HTTP requests on 64 connections, one on its way on each. A failed answer ends the
 * benchmark.
 */
#ifndef TOCSIN_BENCH_LIVE_REQUESTS_H
#define TOCSIN_BENCH_LIVE_REQUESTS_H

#include "server/peer.h"

/* One of them, on a connection of a load of the caller's. */
void request_send(struct connection *connection, const char *method, const char *path,
                  const char *body);

/* Method, path and body of the request with this number. */
struct request_text {
    const char *method;
    char path[128];
    char body[512];
};
struct requests {
    void (*write)(void *arg, uint64_t number, struct request_text *ret_text);
    /* May be NULL. */
    void (*taken)(void *arg, uint64_t number, const char *body, size_t size);
    void *arg;
};
void requests_run(const struct server *server, uint64_t count, const struct requests *requests);

/* A figure of /metrics. */
double metric_read(const struct server *server, const char *name);

#endif
