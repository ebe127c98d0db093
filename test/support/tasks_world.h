/* SPDX-License-Identifier: MIT */
/* tasks_world.h - the task service on a clock and a disk that a test moves by hand.
 *
 * What is asked for is begun with world_ask and friends; nothing becomes durable, and no
 * answer comes, before the test lets the disk go on (tasks_world_settle).
 */
#ifndef TEST_TASKS_WORLD_H
#define TEST_TASKS_WORLD_H

#include "service/task/tasks.h"
#include "support/sim_world.h"

enum { ASKED_TEXT_MAX = 8192 };

struct tasks_world {
    struct clock_manual clock;
    struct sim_backend sim;
    struct engine *engine;
    struct idem *idem;
    struct tasks *tasks;
    struct tasks_limits limits;
    uint64_t counts[TASKS_COUNTS];
    uint64_t chance;
};

/* The year 2024. */
void tasks_world_start(struct tasks_world *world);
/* What was under way is lost; the next start finds what was durable. */
void tasks_world_crash(struct tasks_world *world);
void tasks_world_again(struct tasks_world *world);
/* Nothing is settled; when it fails, as much is there as was made. */
enum tocsin_status tasks_world_try_again(struct tasks_world *world);
/* An orderly stop, and a start. */
void tasks_world_stop(struct tasks_world *world);
void tasks_world_release(struct tasks_world *world);
void tasks_world_turn(struct tasks_world *world);
/* The disk finishes all there is; the engine checks itself. */
void tasks_world_settle(struct tasks_world *world);
void tasks_world_pass(struct tasks_world *world, int64_t ms);

/* One call and its answer. */
struct asked {
    struct tasks_call call;
    struct task wish;
    struct task_scratch scratch;
    bool done;
    char text[ASKED_TEXT_MAX];
};

/* Begun. json: the task for CREATE and PUT, else NULL; change the call before, if more is
 * needed. It must not move until it is done. */
void asked_init(struct asked *asked, enum tasks_verb verb, const char *id, const char *json);
void asked_begin(struct tasks_world *world, struct asked *asked);
/* Begun, settled and released; the outcome. */
enum outcome tasks_world_ask(struct tasks_world *world, enum tasks_verb verb, const char *id,
                             const char *json);

/* One lease call. */
struct leased {
    struct tasks_lease lease;
    bool done;
    size_t count;
    char text[ASKED_TEXT_MAX];
    char run[32]; /* of the first */
    char task_id[64];
    uint64_t attempt;
    uint64_t fence;
};

void leased_begin(struct tasks_world *world, struct leased *leased, uint32_t max, int64_t wait_ms);
/* Begun and settled, from the queue "default", for 30 s. */
struct leased tasks_world_lease(struct tasks_world *world);
/* The status of a task as GET has it; "" when there is none. */
const char *tasks_world_status(struct tasks_world *world, const char *id);
/* The whole of it. */
const char *tasks_world_task(struct tasks_world *world, const char *id);

#endif
