/* SPDX-License-Identifier: MIT */
/* sim_world.h - what the worlds of the services share: an engine on a disk and a clock that do
 * what the test says, and what a call was told, as text. */
#ifndef TEST_SIM_WORLD_H
#define TEST_SIM_WORLD_H

#include "runner.h"
#include "service/idem/idem.h"
#include "support/sim_backend.h"

/* The clocks as a test begins: up for two hours, on the first of January 2024. */
#define SIM_CLOCK                                                                                  \
    {                                                                                              \
        {7200 * INT64_C(1000000000)},                                                              \
        {                                                                                          \
            1704067200 * INT64_C(1000000000)                                                       \
        }                                                                                          \
    }

/* An engine that may not fail for good, and its Idempotency-Keys. */
enum tocsin_status sim_create_engine(struct sim_backend *sim, struct clock_manual *clock,
                                     bool shared, struct engine **ret_engine,
                                     struct idem **ret_idem);
/* Until nothing is under way and nothing is due. When it wants to be woken, in ns. */
int64_t sim_settle(struct sim_backend *sim, struct engine *engine,
                   const struct clock_manual *clock);
void sim_check(const struct engine *engine);
/* Time passes, from one wake to the next. */
void sim_pass(struct sim_backend *sim, struct engine *engine, struct clock_manual *clock,
              int64_t ms);

/* The lines told since the last time. */
void sim_told(char *log, size_t *log_size, const char *wanted);
void sim_copy(char *to, size_t room, struct bytes from);
/* The answer, whose buffer is released. */
void sim_take_answer(struct reply *reply, char *to, size_t room);
/* The first of this name, without quotes; "": there is none. Until the next call. */
const char *sim_field(const char *json, const char *field);

#endif
