/* SPDX-License-Identifier: MIT */
/* simulated.h - what time is it for the peers?
 *
 * libuv, libev and libevent read the clock and ask the kernel for events in each
 * turn of their loops. Here the time is simulated and there are no events: this
 * file's clock_gettime, epoll_wait and epoll_pwait stand in front of the C
 * library's for the whole program, so that a turn of a peer's loop costs what its
 * own code costs, without a system call. That flatters the peers a little; it
 * keeps the kernel's noise out of the comparison.
 *
 * It works because the peers are shared libraries that look these names up in the
 * program first. The measurement checks it: see measure.c, check_clock.
 *
 * Threads   one at a time.
 */
#ifndef TOCSIN_BENCH_WHEEL_SIMULATED_H
#define TOCSIN_BENCH_WHEEL_SIMULATED_H

#include <stdint.h>

/* From now on every clock of this process shows this time. */
void simulated_set_ms(uint64_t now_ms);

#endif
