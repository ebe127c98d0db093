/* SPDX-License-Identifier: MIT */
/* Giving memory back. A node cannot move, its index is in a handle somebody holds:
 * what can go is the free nodes behind the last one in use. */
#include "wheel/core.h"

/* A node's generation goes with it, so the nodes that come back in its place must
 * start above any that was given out. One that is half worn out is kept: the new
 * ones would start with its wear. */
static bool node_may_go(const struct node *node)
{
    return node_is_free(node) && node->generation <= UINT32_MAX / 2;
}

void tocsin_wheel_trim(struct tocsin_wheel *wheel)
{
    uint32_t used = wheel->used_nodes;
    wheel_settle(wheel);
    for (uint32_t i = 0; i < used; i++) {
        if (!node_is_pending(&wheel->nodes[i]) && wheel->nodes[i].link.next != 0)
            slot_remove(wheel, &wheel->nodes[i]);
    }
    for (; used > 0 && node_may_go(&wheel->nodes[used - 1]); used--) {
        if (wheel->first_generation < wheel->nodes[used - 1].generation)
            wheel->first_generation = wheel->nodes[used - 1].generation;
    }
    wheel->used_nodes = used;
    /* The lowest first, so that what is armed next fills the holes at the front. */
    wheel->free_node = NODE_NONE;
    wheel->free_count = 0;
    for (uint32_t i = used; i > 0; i--) {
        if (node_is_free(&wheel->nodes[i - 1])) {
            wheel->nodes[i - 1].due = wheel->free_node;
            wheel->free_node = i - 1;
            wheel->free_count++;
        }
    }
    region_shrink(&wheel->slab, slab_bytes(wheel, used));
    slab_set_room(wheel);
}
