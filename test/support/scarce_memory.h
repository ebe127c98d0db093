/* SPDX-License-Identifier: MIT */
/* scarce_memory.h - what if malloc, calloc or realloc has none?
 *
 * Only in a binary that is linked with --wrap for these (cmake/tests.cmake): there all requests of
 * our own code come by here, and some are refused. Those of other libraries do not. One thread.
 */
#ifndef TEST_SCARCE_MEMORY_H
#define TEST_SCARCE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "support/sim_backend.h"

struct scarcity {
    bool on;
    uint64_t asked;
    uint64_t first; /* the first that is refused, from 1; 0: none */
    uint64_t count; /* … and so many in all */
    uint64_t refused;
};

extern struct scarcity scarce;

/* There is enough from here on, for the test itself; whether it was scarce, to put back. */
bool scarce_off(void);

/* As sim_settle: only the service and the engine are short of memory, not the disk. */
int64_t scarce_settle(struct sim_backend *sim, struct engine *engine,
                      const struct clock_manual *clock);

#endif
