/* SPDX-License-Identifier: MIT */
/* frame.h - which bytes go out to many at once?
 *
 * Bytes that are encoded once and then shared: every connection that has them in its queue holds
 * a reference, and none has a copy. Whoever lets go last frees them.
 *
 * Promise   the bytes never change once the frame is shared.
 * Memory    one allocation a frame.
 * Threads   one: the count is not atomic.
 */
#ifndef TOCSIN_NET_FRAME_H
#define TOCSIN_NET_FRAME_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct frame {
    uint32_t references;
    uint32_t size;
    char data[];
};

enum { FRAME_SIZE_MAX = 1 << 30 };

/* With one reference, the caller's, who fills data. NULL: no memory. */
static inline struct frame *frame_create(size_t size)
{
    assert(size <= FRAME_SIZE_MAX);
    struct frame *frame = malloc(sizeof *frame + size);
    if (frame != NULL) {
        frame->references = 1;
        frame->size = (uint32_t)size;
    }
    return frame;
}

static inline struct frame *frame_share(struct frame *frame)
{
    assert(frame->references > 0 && frame->references < UINT32_MAX);
    frame->references++;
    return frame;
}

/* NULL is let go of at once. */
static inline void frame_release(struct frame *frame)
{
    if (frame == NULL)
        return;
    assert(frame->references > 0);
    if (--frame->references == 0)
        free(frame);
}

#endif
