/* SPDX-License-Identifier: MIT */
/* reason.h - why was this input refused?
 *
 * One sentence into a struct tocsin_why. What the user wrote may be quoted in it:
 * bytes that are not printable ASCII become '?', so that a reason is safe to show on
 * a terminal and in JSON.
 */
#ifndef TOCSIN_SCHEDULE_REASON_H
#define TOCSIN_SCHEDULE_REASON_H

#include <stddef.h>

#include <tocsin/status.h>

/* Always INVALID, for `return reason_refuse(...)`. ret_why may be NULL. */
__attribute__((format(printf, 2, 3))) enum tocsin_status reason_refuse(struct tocsin_why *ret_why,
                                                                       const char *format, ...);

/* The same for another status than INVALID. */
__attribute__((format(printf, 3, 4))) enum tocsin_status
reason_say(struct tocsin_why *ret_why, enum tocsin_status status, const char *format, ...);

/* How much of a text is quoted, for "%.*s". */
int reason_quoted(size_t length);

#endif
