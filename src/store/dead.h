/* SPDX-License-Identifier: MIT */
/* dead.h - which revs have died?
 *
 * As bytes, for one commit's list in a file; and as a set, for loading and sweeping.
 *
 * The bytes are the revs in ascending order, each as the distance from the one before
 * (from 0 for the first) less one, in groups of seven bits, the lowest first, the top bit of a
 * byte saying that another follows:
 *
 *     revs      7    8    9    300
 *     bytes    06   00   00   a2 02
 *
 * There is one way to write a list, and the reader refuses every other.
 *
 * Cost      a list has a byte or two a rev. The set has at most 2 bytes a rev, plus 32 for each
 *           stretch of 65 536 revs that holds any; less where the dead stand densely.
 * Threads   one at a time.
 */
#ifndef TOCSIN_STORE_DEAD_H
#define TOCSIN_STORE_DEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/buffer.h"
#include "base/bytes.h"

/* Revs stay below this, so that they fit SQLite's integers. */
#define DEAD_REV_MAX ((uint64_t)INT64_MAX)

/* Appends the list. The revs ascend strictly and are not 0. */
void dead_encode(struct buffer *buffer, const uint64_t *revs, size_t count);

struct dead_reader {
    const unsigned char *at;
    const unsigned char *end;
    uint64_t last;
};

void dead_reader_init(struct dead_reader *reader, struct bytes list);
/* OK and the next rev; NONE at the end; DAMAGED when this is no list. */
enum tocsin_status dead_read(struct dead_reader *reader, uint64_t *ret_rev);

struct dead_stretch;

struct dead_set {
    struct dead_stretch *stretches; /* ascending */
    size_t count;
    size_t room;
    size_t last; /* where the last rev was added: the next one is often near */
    uint64_t size;
};

void dead_set_init(struct dead_set *set);
void dead_set_release(struct dead_set *set);

/* OK, also when it was there already; NO_MEMORY leaves the set as it was. */
enum tocsin_status dead_set_add(struct dead_set *set, uint64_t rev);
/* Everything in a list. */
enum tocsin_status dead_set_add_list(struct dead_set *set, struct bytes list);

/* Walks a set in ascending order; a copy of a cursor is a place to come back to. The set
 * must not change meanwhile. */
struct dead_cursor {
    const struct dead_set *set;
    size_t stretch;
    uint32_t at;
};

void dead_cursor_init(struct dead_cursor *cursor, const struct dead_set *set);
/* False at the end. */
bool dead_cursor_next(struct dead_cursor *cursor, uint64_t *ret_rev);
/* The next revs as far as they follow each other without a gap, at most `max` of them. */
bool dead_cursor_next_run(struct dead_cursor *cursor, uint64_t max, uint64_t *ret_first,
                          uint64_t *ret_last);

#endif
