/* SPDX-License-Identifier: MIT */
/* status.h - how did the call end?
 *
 * One enum for all of Tocsin, made from one table: the name, what it means for
 * a tired reader, and whether the same call may succeed later. A status is the
 * world's doing; what is our own mistake is an assert.
 */
#ifndef TOCSIN_STATUS_H
#define TOCSIN_STATUS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*        name       retryable  text */
#define TOCSIN_STATUS_TABLE(ROW)                                                                   \
    ROW(OK, false, "done")                                                                         \
    ROW(MORE, true, "the work limit was reached: call again to go on")                             \
    ROW(INVALID, false, "an argument is not valid")                                                \
    ROW(STALE, false, "no such timer: it has fired, was cancelled, or never was")                  \
    ROW(FULL, true, "the stated maximum is reached")                                               \
    ROW(NO_MEMORY, true, "the system gave no memory")                                              \
    ROW(BUSY, true, "not from here or not yet: it is in use")                                      \
    ROW(CORRUPT, false, "the recount does not agree with the books: a bug or a stray write")       \
    ROW(NONE, false, "there is none: the search has come to its end")                              \
    ROW(CONFLICT, false, "it was changed by somebody else, or is there already")                   \
    ROW(FENCED, false, "the right to do this was lost to somebody newer")                          \
    ROW(TOO_LARGE, false, "it is larger than the stated limit")                                    \
    ROW(OVERLOADED, true, "too much is under way: try again a little later")                       \
    ROW(UNAVAILABLE, true, "the store cannot take it now: nothing was changed")                    \
    ROW(NO_SPACE, true, "the disk is full: nothing was changed")                                   \
    ROW(UNKNOWN, true, "the answer was lost: it may have been done or not")                        \
    ROW(IO, false, "the disk failed")                                                              \
    ROW(DAMAGED, false, "what was read is not what was written")

enum tocsin_status {
#define TOCSIN_STATUS_ROW(name, retryable, text) TOCSIN_##name,
    TOCSIN_STATUS_TABLE(TOCSIN_STATUS_ROW)
#undef TOCSIN_STATUS_ROW
};

/* "STALE", and what it means. Never NULL, also for a number that is no status. */
const char *tocsin_status_name(enum tocsin_status status);
const char *tocsin_status_text(enum tocsin_status status);

/* True when the same call may succeed later without a change by the caller. */
bool tocsin_status_retryable(enum tocsin_status status);

/* A sentence that says what is wrong and where, for calls that can explain
 * themselves. Always terminated; cut when too long. */
struct tocsin_why {
    char text[200];
};

#ifdef __cplusplus
}
#endif

#endif
