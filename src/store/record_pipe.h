/* SPDX-License-Identifier: MIT */
/* record_pipe.h - how do records get from the thread that reads them to the one that takes
 * them in?
 *
 * As copies, many to a block, through a ring of a few blocks. Who puts waits when all blocks
 * are full, who takes when all are empty, and both till half of them are: waking somebody for
 * each block costs more than filling it.
 *
 * Promise   every record that was put is taken once, in the order it was put; unless the taker
 *           closes the pipe, which ends the waiting of the other side too.
 * Memory    the blocks, some 650 KB, from init on.
 * Threads   one puts, another takes. Neither init nor release may run beside anything else.
 */
#ifndef TOCSIN_STORE_RECORD_PIPE_H
#define TOCSIN_STORE_RECORD_PIPE_H

#include <pthread.h>

#include "store/store.h"

enum {
    RECORD_PIPE_BLOCKS = 16,
    RECORD_BLOCK_RECORDS = 256,
    RECORD_BLOCK_BYTES = 12 * 1024,
};

struct record_block {
    struct store_record records[RECORD_BLOCK_RECORDS]; /* their docs are left out */
    size_t count;
    size_t used;
    char bytes[RECORD_BLOCK_BYTES]; /* kinds, keys, homes and tags */
};

struct record_pipe {
    struct record_block *blocks; /* a ring */
    pthread_mutex_t lock;        /* over all below */
    pthread_cond_t changed;
    uint64_t put;   /* blocks that are full: the one after them is being filled */
    uint64_t taken; /* blocks that are empty again */
    bool holding;   /* the taker has the one after them */
    bool ended;
    bool closed;
};

bool record_pipe_init(struct record_pipe *pipe); /* false: no memory */
void record_pipe_release(struct record_pipe *pipe);

/* OK; BUSY: the taker wants no more; TOO_LARGE: all but its doc is more than a block has room
 * for, many times what a record may have. */
enum tocsin_status record_pipe_put(struct record_pipe *pipe, const struct store_record *record);
/* That was all. Once, also after a failure. */
void record_pipe_end(struct record_pipe *pipe);

/* The next block, borrowed until the next call; NULL: that was all. */
const struct record_block *record_pipe_take(struct record_pipe *pipe);
/* Wants no more. */
void record_pipe_close(struct record_pipe *pipe);

#endif
