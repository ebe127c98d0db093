/* SPDX-License-Identifier: MIT */
/* redis_server.h - how does a test start a real Redis, ask it, and take it away?
 *
 * On a free port of 127.0.0.1, in a folder of its own, with nothing saved unless asked. It dies
 * with the test.
 */
#ifndef TEST_REDIS_SERVER_H
#define TEST_REDIS_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/temp_dir.h"

struct redis_server {
    struct temp_dir dir;
    uint16_t port;
    pid_t pid;
};

/* The arguments end with NULL. The first makes the folder and chooses the port; after
 * redis_server_kill the second starts it again, there. Ready means that it listens. */
void redis_server_start(struct redis_server *server, const char *const arguments[]);
void redis_server_again(struct redis_server *server, const char *const arguments[]);
void redis_server_signal(const struct redis_server *server, int number);
/* kill -9 */
void redis_server_kill(struct redis_server *server);
void redis_server_stop(struct redis_server *server);

/* On a connection of its own, waits for the answer: the integer of it, or of its text; -1 when
 * there is none. The password may be NULL. */
long long redis_server_ask(const struct redis_server *server, const char *password,
                           const char *command);
/* The same without waiting for an answer. The connection stays until the test ends it. */
struct redisContext *redis_server_tell(const struct redis_server *server, const char *command);

#endif
