/* SPDX-License-Identifier: MIT */
/* roster.h - which of ours has this number?
 *
 * Pointers by a 64-bit number that is not 0, without holes, so that all can be walked.
 *
 * Cost      O(1). Dropping one moves the last into its place.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_ROSTER_H
#define TOCSIN_SERVICE_GOMOKU_ROSTER_H

#include "base/number_map.h"

struct roster {
    struct number_map places;
    struct roster_row {
        uint64_t number;
        void *item;
    } * rows; /* as many as places has */
    uint32_t room;
};

/* All zero is an empty one. The items are the caller's. */
void roster_release(struct roster *roster);
void *roster_get(const struct roster *roster, uint64_t number);
/* There must be none of this number. False: no memory. */
bool roster_add(struct roster *roster, uint64_t number, void *item);
void roster_drop(struct roster *roster, uint64_t number);

#endif
