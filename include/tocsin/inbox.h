/* SPDX-License-Identifier: MIT */
/* inbox.h - how do other threads arm and cancel on my wheel?
 *
 * A bounded queue in front of one wheel. Any thread pushes; the thread that owns
 * the wheel drains. Arming gives a ticket at once: it is the handle the timer
 * will have, so once it is drained the owner may use it with the wheel's own calls.
 *
 * Promise   a push that answers OK is carried out by a later drain, in the order
 *           of the pushes; one that answers FULL has done nothing. A cancel that
 *           was pushed after its arming finds the timer, drained or not, unless
 *           it has come out already. A thread that is stopped in the middle of a
 *           push holds up what was pushed after it: until it goes on, drain leaves
 *           that, and sleeps answers false.
 * Cost      a push is one compare-and-swap and one store when nobody is in the
 *           way; it never takes a lock, never allocates, never waits.
 * Memory    64 bytes and one reserved timer per place, from create on. Reserved
 *           timers count against the wheel's max_timers.
 * Threads   arm and cancel: any. Everything else: the owner of the wheel.
 */
#ifndef TOCSIN_INBOX_H
#define TOCSIN_INBOX_H

#include <tocsin/wheel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tocsin_inbox;

struct tocsin_inbox_config {
    uint32_t capacity; /* rounded up to a power of two, 2 at least; 0: 4096 */
    /* Called by a pushing thread when the owner has said that it sleeps, once per
     * sleep: write an eventfd, signal a condition. May be NULL. */
    void (*wake)(void *arg);
    void *wake_arg;
};

#define TOCSIN_INBOX_CAPACITY_MAX 16777216u

/* INVALID, NO_MEMORY, FULL (the wheel cannot reserve so many timers). config and
 * ret_why may be NULL. */
enum tocsin_status tocsin_inbox_create(struct tocsin_wheel *wheel,
                                       const struct tocsin_inbox_config *config,
                                       struct tocsin_inbox **ret_inbox, struct tocsin_why *ret_why);
/* When no thread pushes any more. What was not drained is dropped. NULL is fine. */
void tocsin_inbox_destroy(struct tocsin_inbox *inbox);

/* FULL: the queue is, or the wheel could not reserve a timer for this place. Once it can again, each drain and
 * each sleeps makes up for 4096 places at most. */
enum tocsin_status tocsin_inbox_arm(struct tocsin_inbox *inbox, uint64_t due, uint64_t cookie,
                                    struct tocsin_timer *ret_ticket);
enum tocsin_status tocsin_inbox_cancel(struct tocsin_inbox *inbox, struct tocsin_timer ticket);

struct tocsin_inbox_report {
    size_t armed;
    size_t cancelled;
    size_t too_late; /* cancels that found nothing to cancel */
};

/* Carry out at most max_pushes (0: all there are). MORE: some are left. ret_report
 * may be NULL. */
enum tocsin_status tocsin_inbox_drain(struct tocsin_inbox *inbox, size_t max_pushes,
                                      struct tocsin_inbox_report *ret_report);

/* Say so before going to sleep. True: nothing is waiting, and the next push calls
 * wake. False: do not sleep, drain. */
bool tocsin_inbox_sleeps(struct tocsin_inbox *inbox);

#ifdef __cplusplus
}
#endif

#endif
