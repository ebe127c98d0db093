/* SPDX-License-Identifier: MIT */
/* requests.h - how is a server filled before it is measured?
 *
 * So many HTTP requests on 64 connections, one on its way on each. A failed answer ends the
 * benchmark.
 */
#ifndef TOCSIN_BENCH_LIVE_REQUESTS_H
#define TOCSIN_BENCH_LIVE_REQUESTS_H

#include "server/peer.h"

enum { REQUEST_BYTES_MAX = 1024 };

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
