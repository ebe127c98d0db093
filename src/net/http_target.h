/* SPDX-License-Identifier: MIT */
/* http_target.h - what do the path and the query of a request say?
 *
 * The server hands both over as they were sent. They are split first and decoded after, piece
 * by piece, so that "a%2Fb" stays one segment and "%26" stays inside its value.
 *
 * Refused   a '%' without two hexadecimal digits, %00, what is not UTF-8 once decoded. A path
 *           segment that is "." or ".." after decoding is a segment like any other.
 * Memory    none; the pieces are in the caller's text.
 */
#ifndef TOCSIN_NET_HTTP_TARGET_H
#define TOCSIN_NET_HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include <tocsin/status.h>

#include "base/bytes.h"

enum { HTTP_QUERY_NAME_BYTES_MAX = 64 };

/* The next segment of a path, not decoded, taken off its front: "/v1/tasks/x" gives "v1", then
 * "tasks", then "x", then false. "/v1/" gives "v1", then an empty one. */
bool http_path_next(struct bytes *path, struct bytes *ret_segment);

/* A segment of a path. OK; INVALID; TOO_LARGE when it does not fit. */
enum tocsin_status http_path_decode(struct bytes segment, char *to, size_t room, size_t *ret_size);

/* The next "name=value" of a query, not decoded, taken off its front; empty ones ("a&&b") are
 * passed over. The value is at NULL when there is no '='. */
bool http_query_next(struct bytes *query, struct bytes *ret_name, struct bytes *ret_value);

/* The value of the first parameter of this name, not decoded; at NULL: it is not there. One
 * without '=' is there, and empty. */
struct bytes http_query_find(struct bytes query, const char *name);

/* A name or value of a query: as a path's segment, and a '+' is a blank. */
enum tocsin_status http_query_decode(struct bytes coded, char *to, size_t room, size_t *ret_size);

/* Are all parameters among these names, each there at most once, and well formed? INVALID, and
 * why: "parameter 'limti' is not known". So that no later call need look. At most 64 names. */
enum tocsin_status http_query_check(struct bytes query, const char *const *names, size_t count,
                                    struct tocsin_why *ret_why);

#endif
