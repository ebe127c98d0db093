/* SPDX-License-Identifier: MIT */
/* redis_proxy.h - how does a test lose the answers of a Redis?
 *
 * A port in front of a server, with a thread of its own. As long as `cuts` is above zero, the answer to
 * each EVALSHA is waited for, so that Redis has done it, and then lost together with the
 * connection.
 */
#ifndef TEST_REDIS_PROXY_H
#define TEST_REDIS_PROXY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct redis_proxy {
    uint16_t port;
    uint16_t server_port;
    int listener;
    int stop[2];
    pthread_t thread;
    atomic_int cuts;     /* to come */
    atomic_int cut;      /* so far; counted after on_cut */
    atomic_int accepted; /* connections so far */
    /* After a cut, before the connection ends; may be NULL. On the proxy's thread. */
    void (*on_cut)(void *arg);
    void *arg;
};

void redis_proxy_start(struct redis_proxy *proxy, uint16_t server_port);
void redis_proxy_stop(struct redis_proxy *proxy);

#endif
