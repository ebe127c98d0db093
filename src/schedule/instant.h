/* SPDX-License-Identifier: MIT */
/* instant.h - which millisecond is "2026-11-15T13:00:00+08:00"?
 *
 * RFC 3339 and milliseconds since 1970-01-01T00:00:00Z, both ways, for the years 0001 to
 * 9999 of UTC.
 *
 * Promise   strict: date, T, time and offset (Z or +hh:mm, -00:00 counts as Z) are all
 *           needed; t and z may be small, as the RFC says; nothing may follow. Decimals
 *           of seconds beyond the third are rounded up, so that a parsed instant is never
 *           earlier than the one written. Second 60 is refused: epoch time has no leap
 *           seconds.
 * Memory    none.
 */
#ifndef TOCSIN_SCHEDULE_INSTANT_H
#define TOCSIN_SCHEDULE_INSTANT_H

#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

/* 0001-01-01T00:00:00Z, and the last millisecond of 9999. */
#define INSTANT_FIRST_MS INT64_C(-62135596800000)
#define INSTANT_LAST_MS INT64_C(253402300799999)

/* Room for the longest text of instant_format, its zero included. */
enum { INSTANT_TEXT_BYTES = 48 };

enum tocsin_status instant_parse(const char *text, size_t length, int64_t *ret_ms,
                                 struct tocsin_why *ret_why);

/* The same, or the milliseconds themselves: digits and nothing else, but perhaps a '-' before. */
enum tocsin_status instant_parse_either(const char *text, size_t length, int64_t *ret_ms,
                                        struct tocsin_why *ret_why);

/* In the local time of this offset from UTC; Z when that is 0. Milliseconds appear only
 * when there are some. An offset with seconds (local mean time of old) is written without
 * them, and the time moved along, so that it is the same instant still. The instant must
 * be in range, and its local year too. */
void instant_format(int64_t ms, int32_t offset_s, char ret_text[INSTANT_TEXT_BYTES]);

#endif
