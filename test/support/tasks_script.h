/* SPDX-License-Identifier: MIT */
/* tasks_script.h - one worker and one client of the task service, while memory is scarce.
 *
 * Whoever is told OVERLOADED asks again till it is answered, as a client would, and is told then
 * what the script wants: so a refusal has left nothing behind. A refusal without a request for
 * memory that was refused (scarce_memory.h) fails the test. The disk has memory of its own; the
 * engine is recounted after every refusal.
 */
#ifndef TEST_TASKS_SCRIPT_H
#define TEST_TASKS_SCRIPT_H

#include "support/tasks_world.h"

enum { SCRIPT_TRIES_MAX = 200 };

extern struct tasks_world script_world;
extern int64_t script_idle_ms;    /* till the engine wants a turn by itself */
extern struct asked script_asked; /* the last call */

void script_start(void);
void script_settle(void);
void script_pass(int64_t ms);

void script_ask(enum tasks_verb verb, const char *id, const char *json, enum outcome wanted);
void script_make(const char *id, const char *json);
/* Made for two hours later, under one Idempotency-Key. */
void script_ask_with_key(const char *id, uint64_t body, enum outcome wanted);

/* One lease call that does not wait. What is answered is whole. */
void script_lease_once(struct leased *leased, uint32_t max);
/* It is ready: whoever asks for long enough is given it. */
struct leased script_take(const char *id);
void script_none_ready(void);
void script_ack(const struct leased *leased);
void script_nack(const struct leased *leased);
/* Each attempt fails, until there are none left. */
void script_fail_for_good(const char *id);

const char *script_status_of(const char *id);
enum looking { LOOK_TASK, LOOK_WHY, LOOK_LIST, LOOK_ENDED, LOOK_INCIDENTS };

/* The answer has this text in it. */
void script_look(enum looking what, const char *id, const char *wanted);
void script_look_at_queues(const char *wanted);

#endif
