/* SPDX-License-Identifier: MIT */
#include "service/gomoku/think.h"

void think_allow(struct think *think, unsigned hundredths)
{
    const struct gomoku_effort *effort = think->effort;
    think->is_over = false;
    think->look_nodes = 0;
    /* Of a few stones, each part may still try some; all is never more than all. */
    think->part_nodes = effort->nodes / 100 * hundredths + hundredths;
    if (hundredths == 100)
        think->part_nodes = effort->nodes;
    if (effort->nodes == 0)
        think->part_nodes = UINT64_MAX;
    if (effort->clock != NULL) {
        int64_t all_ns = effort->until.ns - think->started_ns;
        think->part_ns = think->started_ns + (all_ns > 0 ? all_ns / 100 * hundredths : 0);
        think->is_over = clock_elapsed(effort->clock).ns >= think->part_ns;
    }
}

bool think_over(struct think *think)
{
    if (think->is_over)
        return true;
    if (think->nodes >= think->part_nodes)
        think->is_over = true;
    if (think->nodes >= think->look_nodes) {
        const struct gomoku_effort *effort = think->effort;
        think->look_nodes = think->nodes + THINK_LOOK_EVERY;
        if (effort->cancel != NULL && atomic_load_explicit(effort->cancel, memory_order_relaxed))
            think->is_over = true;
        if (effort->clock != NULL && clock_elapsed(effort->clock).ns >= think->part_ns)
            think->is_over = true;
    }
    return think->is_over;
}
