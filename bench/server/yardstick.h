/* SPDX-License-Identifier: MIT */
/* yardstick.h - how fast is this machine right now?
 *
 * What no server can beat: a write and an fdatasync in a loop, a timer that wakes a thread
 * which wakes another through a socket, and a load from memory that waits for the one before.
 */
#ifndef TOCSIN_BENCH_SERVER_YARDSTICK_H
#define TOCSIN_BENCH_SERVER_YARDSTICK_H

#include "harness.h"

/* The median time of appending 512 bytes to a file of its own and syncing it, over so long. */
double yardstick_fdatasync_ms(double seconds);

/* From the moment a timerfd was set for, one each millisecond, until another thread has read
 * a byte that the first one sent it. */
struct bench_ranks yardstick_wakeups(double seconds);

/* A load from a random place of 256 MiB, when where it is stands in the one before. */
double yardstick_miss_ns(void);

#endif
