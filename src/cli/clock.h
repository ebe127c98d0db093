/* SPDX-License-Identifier: MIT */
/* clock.h - what time is it, and how do I sleep until then?
 *
 * The real, monotonic clock in microseconds since the machine started. An alarm
 * is a timerfd set to an absolute time of that clock: however late the setting,
 * the wake-up does not move.
 */
#ifndef TOCSIN_CLI_CLOCK_H
#define TOCSIN_CLI_CLOCK_H

#include <stdint.h>

uint64_t clock_now_us(void);

/* The same, with the time the machine slept: for what must not outlive its time. */
uint64_t clock_boot_us(void);

/* A file descriptor to poll for reading; -1 and errno. */
int clock_alarm_open(void);
int clock_boot_alarm_open(void); /* set by that other clock */
void clock_alarm_set(int alarm, uint64_t at_us);

#endif
