/* SPDX-License-Identifier: MIT */
/* redis_work.h - which commands is a job, and what do their answers say of each key?
 *
 * Between a job (service/renewal/key_client.h) and a client of Redis (net/redis/redis.h). A key is
 * renewed by PEXPIRE … GT, so that a longer life is never shortened and one for ever never ends;
 * what answers 0 is told apart by a PTTL. With an owner, and with a Redis before version 7, one
 * script does it all. For redis_keys.c only.
 *
 * Promise   every job comes back once, through done.
 * Threads   one: that of the client's loop.
 */
#ifndef TOCSIN_SERVICE_REDIS_WORK_H
#define TOCSIN_SERVICE_REDIS_WORK_H

#include "service/renewal/key_client.h"

struct redis;

/* A server, as jobs see it. */
struct redis_place {
    const char *name;
    uint32_t timeout_ms; /* of a command */
    void (*done)(struct redis_place *place, struct key_job *job);
    struct redis *redis; /* NULL: it is being closed */
    bool old;            /* it knows no GT: the script does it */
};

/* For the client to load. */
enum { REDIS_WORK_SCRIPTS = 1 };
extern const char *const redis_work_scripts[REDIS_WORK_SCRIPTS];

void redis_work_begin(struct redis_place *place, struct key_job *job);
/* Each of its keys has failed, and nothing was sent. */
void redis_work_fail(struct redis_place *place, struct key_job *job, const char *why);

#endif
