/* SPDX-License-Identifier: MIT */
/* loop.h - what happens next on this thread?
 *
 * libuv's loop with the one thing it lacks: a sleeper that is never early and hardly late.
 * It sleeps on an absolute timerfd of the boot-time clock, and notices when somebody sets
 * the wall clock.
 *
 * Order     every turn: due work first (on_wake when its time has come), then sockets. Whoever
 *           works through many sockets calls loop_breathe between two pieces, which runs
 *           on_wake when it has come due meanwhile.
 * Threads   one, but for loop_post, which any thread may call.
 */
#ifndef TOCSIN_NET_LOOP_H
#define TOCSIN_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <tocsin/status.h>

struct uv_loop_s;
struct loop;

struct loop_hooks {
    void (*on_wake)(void *arg);       /* the time that loop_wake_at named has come */
    void (*on_clock_step)(void *arg); /* the wall clock was set */
    void (*on_post)(void *arg);       /* somebody called loop_post since the last time */
    void (*on_turn_end)(void *arg);   /* once a turn: the last thing before it sleeps */
    void *arg;
}; /* those at NULL are not called */

enum tocsin_status loop_create(const struct loop_hooks *hooks, struct loop **ret_loop,
                               struct tocsin_why *ret_why);
/* Everything on the loop must be closed by then. */
void loop_destroy(struct loop *loop);

struct uv_loop_s *loop_uv(struct loop *loop);

/* Wake at this time of CLOCK_BOOTTIME, in ns; INT64_MAX: not at all. The last one counts, and
 * it is used up when on_wake is called. A time that is past wakes on the next turn. Cheap: the
 * timer is armed once a turn, and only when the time has changed. */
void loop_wake_at(struct loop *loop, int64_t elapsed_ns);

/* Calls on_wake when its time has come; inside on_wake it does nothing. Cheap: it reads the
 * clock. */
void loop_breathe(struct loop *loop);

/* How long it was at work, not asleep, since this was last asked; 0 at first. */
int64_t loop_busy_ns(struct loop *loop);

/* From any thread: on_post is called soon, once for any number of posts. Costs a system call
 * only when the loop sleeps. */
void loop_post(struct loop *loop);

/* Work for the end of this turn, after on_turn_end: writing out what the turn gathered. The
 * struct is the caller's and must stay until it has run. Deferred while it is waiting to run:
 * nothing happens; while it runs: again in the next turn, which then comes at once. */
struct loop_deferred {
    void (*run)(void *arg);
    void *arg;
    struct loop_deferred *next; /* the loop's */
    bool waiting;               /* the loop's */
};
void loop_defer(struct loop *loop, struct loop_deferred *deferred);

/* Until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif
