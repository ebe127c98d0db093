/* SPDX-License-Identifier: MIT */
/* bare.h - what does it cost to tell so many, when nothing else is done?
 *
 * The yardstick of a fan-out: a process that sleeps until the whole second and then sends the
 * same bytes, a MESSAGE as Tocsin's, on each of its sockets, one after the other.
 */
#ifndef TOCSIN_BENCH_LIVE_BARE_H
#define TOCSIN_BENCH_LIVE_BARE_H

#include "server/child.h"

/* It begins when so many have connected. */
void bare_start(struct child *child, unsigned clients, unsigned short *ret_port);

#endif
