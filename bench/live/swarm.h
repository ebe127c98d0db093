/* SPDX-License-Identifier: MIT */
/* swarm.h - how do ten thousand clients listen in one thread?
 *
 * STOMP 1.2 over WebSocket on bare sockets and one epoll. A client costs an fd and, while a
 * frame has come in part, the bytes of that part. What is read of a message is what a row
 * needs; the clock is read when its bytes have been.
 *
 * Order     swarm_open, swarm_join for each client, swarm_turn, swarm_close.
 * Errors    a client that is refused, cut off or told ERROR ends the benchmark.
 */
#ifndef TOCSIN_BENCH_LIVE_SWARM_H
#define TOCSIN_BENCH_LIVE_SWARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct swarm;

struct swarm_hooks {
    /* CONNECTED has come: time to subscribe. */
    void (*connected)(void *arg, struct swarm *swarm, uint32_t client);
    /* A MESSAGE, whose body is borrowed. */
    void (*message)(void *arg, struct swarm *swarm, uint32_t client, const char *body, size_t size,
                    int64_t wall_ns);
    void *arg;
};

enum swarm_stage { SWARM_HANDSHAKE, SWARM_CONNECT, SWARM_OPEN };

struct swarm_client {
    int fd;
    enum swarm_stage stage;
    uint32_t part_size; /* of a frame that has not come in full */
    char *part;
};

struct swarm {
    int epoll;
    struct swarm_hooks hooks;
    uint32_t count, room;
    uint32_t waiting; /* that have joined, and have not got their receipt */
    uint64_t messages;
    struct swarm_client *clients;
};

void swarm_open(struct swarm *swarm, const struct swarm_hooks *hooks, uint32_t room);
/* Greets: with a handshake and CONNECT; else there is nothing but the frames that come. Waits
 * while too many others are on their way in. */
uint32_t swarm_join(struct swarm *swarm, unsigned short port, bool greets);
/* A STOMP frame, without its last byte. */
void swarm_send(struct swarm *swarm, uint32_t client, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* With the receipt that ends a client's way in, or without. */
void swarm_subscribe(struct swarm *swarm, uint32_t client, unsigned id, const char *destination,
                     bool receipt);
/* Waits at most so long, and takes what came. */
void swarm_turn(struct swarm *swarm, int timeout_ms);
/* Until everybody is in. */
void swarm_settle(struct swarm *swarm);
void swarm_close(struct swarm *swarm);

/* The number behind "name": in the body. False: there is none. */
bool body_number(const char *body, size_t size, const char *name, int64_t *ret_number);
/* The text behind it, in at most room bytes. */
bool body_text(const char *body, size_t size, const char *name, char *ret_text, size_t room);

#endif
