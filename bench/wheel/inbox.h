/* SPDX-License-Identifier: MIT */
/* inbox.h - what does a push from another thread cost?
 *
 * Two producers, one owner. Each call measures in a child process of its own.
 *
 * burst     the producers, each on its core, push into an inbox that has room for
 *           all of it; the owner drains when they are through. Nobody but the
 *           other producer is in the way: this is the push itself.
 * drained   the owner drains all the while: three threads, whatever the number of
 *           cores. What a producer waits for room is counted apart.
 */
#ifndef TOCSIN_BENCH_WHEEL_INBOX_H
#define TOCSIN_BENCH_WHEEL_INBOX_H

struct inbox_figures {
    double burst_push_ns; /* CPU time, the mean of the two producers */
    double burst_fair; /* the part of the bursts in which both had their processor: these count */
    double burst_drain_ns;  /* owner, per push carried out */
    double drained_push_ns; /* the same, without waiting for room */
    double drained_wall_ns; /* all that passed, per push */
    double drained_full;    /* pushes answered FULL, per push that was taken */
};

void inbox_measure(struct inbox_figures *ret_figures);

#endif
