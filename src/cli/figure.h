/* SPDX-License-Identifier: MIT */
/* figure.h - how is a number written for a reader?
 *
 * Each answer is a small struct by value, so a call can stand right in a
 * printf: printf("%s", figure_count(n).text). ASCII only.
 */
#ifndef TOCSIN_CLI_FIGURE_H
#define TOCSIN_CLI_FIGURE_H

#include <stdint.h>

struct figure {
    char text[40];
};

struct figure figure_count(uint64_t count);  /* "31 204" */
struct figure figure_short(uint64_t count);  /* "31 204", "3.12 M" from a million on */
struct figure figure_span(uint64_t span_ms); /* "256 ms", "65.5 s", "4.66 h", "34.8 y" */
struct figure figure_late(uint64_t late_us); /* "0.061 ms", "1.24 ms", "512 ms", "1.02 s" */
struct figure figure_left(uint64_t left_ms); /* "2.4 s", "1 min 05 s", "7 h 59 min" */
struct figure figure_bytes(uint64_t size_bytes);

#endif
