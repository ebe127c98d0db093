/* SPDX-License-Identifier: MIT */
/* duration.h - how many milliseconds is "1h30m"?
 *
 * Three ways to write one, never mixed:
 *
 *     1h30m  500ms  2d     units w d h m s ms, the larger first, each once at most
 *     PT5M   P1DT2H        ISO 8601 with W and D, after the T with H, M and S; seconds
 *                          may have up to three decimals (PT0.5S); no months and years,
 *                          which have no fixed length
 *     1500                 milliseconds
 *
 * Promise   what is not exactly this is refused with the place: spaces, signs, an
 *           empty text, repeated or unordered units, more than 64 bits.
 * Memory    none.
 */
#ifndef TOCSIN_SCHEDULE_DURATION_H
#define TOCSIN_SCHEDULE_DURATION_H

#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

/* Room for the longest text of duration_format, its zero included. */
enum { DURATION_TEXT_BYTES = 40 };

enum tocsin_status duration_parse(const char *text, size_t length, uint64_t *ret_ms,
                                  struct tocsin_why *ret_why);

/* The first of the three ways, shortest: "1h30m", "0ms". Parsing it gives ms again. */
void duration_format(uint64_t ms, char ret_text[DURATION_TEXT_BYTES]);

#endif
