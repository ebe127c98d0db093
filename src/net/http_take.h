/* SPDX-License-Identifier: MIT */
/* http_take.h - does somebody else speak with this client?
 *
 * Whoever passes connections on, instead of answering them, is asked for each request as soon as
 * its head is whole, and before any of its body is looked at. A connection that is wanted is given
 * away as it is: the descriptor, and the bytes that were read, untouched.
 *
 * Promise   a connection is given away once, when all its earlier requests are answered and their
 *           answers sent; the server knows it no more, and does not count it. Nothing that came
 *           is missing from the bytes, and no byte of them has been changed.
 * Limits    a head is bounded and timed as ever, and what is no HTTP is refused as ever.
 * Threads   the loop's.
 */
#ifndef TOCSIN_NET_HTTP_TAKE_H
#define TOCSIN_NET_HTTP_TAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "net/http_request.h"

struct http_taker {
    /* A request that begins; its body is empty as yet. True: its connection is to be taken. NULL,
     * with take set: all are, as they are accepted, and no HTTP is read. */
    bool (*wants)(void *arg, const struct http_request *head);
    /* The descriptor is the callee's from now on, and does not block. The bytes are borrowed; the
     * first head_bytes of them are the head, with the empty line at its end. NULL: nobody takes. */
    void (*take)(void *arg, int fd, struct bytes bytes, size_t head_bytes);
    void *arg;
};

#endif
