/* SPDX-License-Identifier: MIT */
/* A ring of cells after D. Vyukov's bounded queue, with one addition: a free cell
 * holds a reserved timer of the wheel, whose handle is the ticket of the next
 * arming that is pushed there. So a ticket needs no table to be found again.
 *
 * A cell's turn, by its sequence number, for the push at position p:
 *
 *   p              free: a producer that moves the tail from p to p + 1 owns it
 *   p + 1          pushed: the owner of the wheel may carry it out
 *   p + capacity   free for the next lap
 *
 * Sleeping and waking: the owner sets `sleeping`, then looks at the tail; a
 * producer moves the tail, then looks at `sleeping`. Both in one total order, so
 * at least one of the two sees the other.
 */
#include <tocsin/inbox.h>

#include <stdatomic.h>
#include <stdio.h>

#include "wheel/core.h"

enum { CAPACITY_DEFAULT = 4096, RESTOCK_LOOKS = 4096, LINE_BYTES = 64 };

struct cell {
    _Alignas(LINE_BYTES) _Atomic uint64_t turn;
    _Atomic uint64_t ticket; /* reserved timer, or 0; written by the owner only */
    uint64_t cancels;        /* 0: the push arms the ticket, else it cancels this one */
    uint64_t due;
    uint64_t cookie;
};

struct tocsin_inbox {
    /* all threads read */
    struct cell *cells;
    uint64_t mask;
    void (*wake)(void *arg);
    void *wake_arg;
    /* producers */
    _Alignas(LINE_BYTES) _Atomic uint64_t tail;
    /* owner */
    _Alignas(LINE_BYTES) uint64_t head;
    struct tocsin_wheel *wheel;
    struct region region;
    uint64_t unstocked; /* cells for which no timer could be reserved */
    /* owner sets, producers clear */
    _Alignas(LINE_BYTES) atomic_bool sleeping;
};

/* Reserve a timer for a cell's next arming. False: there is none to be had. */
static bool cell_stock(struct tocsin_inbox *inbox, struct cell *cell)
{
    struct tocsin_timer timer = {0};
    bool stocked = wheel_reserve(inbox->wheel, &timer) == TOCSIN_OK;
    atomic_store_explicit(&cell->ticket, timer.id, memory_order_relaxed);
    return stocked;
}

static enum tocsin_status stock_all(struct tocsin_inbox *inbox)
{
    for (uint64_t i = 0; i <= inbox->mask; i++) {
        struct tocsin_timer timer;
        enum tocsin_status status = wheel_reserve(inbox->wheel, &timer);
        if (status != TOCSIN_OK)
            return status;
        atomic_init(&inbox->cells[i].turn, i);
        atomic_init(&inbox->cells[i].ticket, timer.id);
    }
    return TOCSIN_OK;
}

static void say(struct tocsin_why *ret_why, const char *text, unsigned long number)
{
    if (ret_why != NULL)
        (void)snprintf(ret_why->text, sizeof ret_why->text, text, number);
}

enum tocsin_status tocsin_inbox_create(struct tocsin_wheel *wheel,
                                       const struct tocsin_inbox_config *config,
                                       struct tocsin_inbox **ret_inbox, struct tocsin_why *ret_why)
{
    struct tocsin_inbox_config complete =
        config != NULL ? *config : (struct tocsin_inbox_config){0};
    if (complete.capacity > TOCSIN_INBOX_CAPACITY_MAX) {
        say(ret_why, "capacity is %lu, more than TOCSIN_INBOX_CAPACITY_MAX", complete.capacity);
        return TOCSIN_INVALID;
    }
    uint32_t wanted = complete.capacity != 0 ? complete.capacity : CAPACITY_DEFAULT;
    size_t capacity = 2;
    while (capacity < wanted)
        capacity *= 2;

    struct region region;
    size_t bytes = sizeof(struct tocsin_inbox) + capacity * sizeof(struct cell);
    if (!region_init(&region, wheel->body.memory, bytes)) {
        say(ret_why, "no memory for an inbox of %lu places", (unsigned long)capacity);
        return TOCSIN_NO_MEMORY;
    }
    if (!region_grow(&region, bytes)) {
        region_release(&region);
        say(ret_why, "no memory for an inbox of %lu places", (unsigned long)capacity);
        return TOCSIN_NO_MEMORY;
    }
    struct tocsin_inbox *inbox = region.base;
    inbox->cells = (struct cell *)(inbox + 1);
    inbox->mask = capacity - 1;
    inbox->wake = complete.wake;
    inbox->wake_arg = complete.wake_arg;
    inbox->wheel = wheel;
    inbox->region = region;
    enum tocsin_status status = stock_all(inbox);
    if (status != TOCSIN_OK) {
        tocsin_inbox_destroy(inbox);
        say(ret_why, "the wheel cannot reserve %lu timers", (unsigned long)capacity);
        return status;
    }
    *ret_inbox = inbox;
    return TOCSIN_OK;
}

void tocsin_inbox_destroy(struct tocsin_inbox *inbox)
{
    if (inbox == NULL)
        return;
    for (uint64_t i = 0; i <= inbox->mask; i++) {
        struct tocsin_timer timer = {atomic_load(&inbox->cells[i].ticket)};
        if (timer.id != 0)
            wheel_unreserve(inbox->wheel, timer);
    }
    struct region region = inbox->region; /* the inbox lies in it */
    region_release(&region);
}

/* After a lost race: let the winner's line rest for a moment, longer each time. Two
 * producers that try again at once take it from each other (measured: four times the
 * cost of a push). */
static void lost_a_race(unsigned *pauses)
{
    for (unsigned i = 0; i < *pauses; i++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
    if (*pauses < 64)
        *pauses *= 2;
}

/* Own the cell at the tail. NULL: the ring is full, or it is an arming and the
 * cell has no timer for it. */
static struct cell *cell_claim(struct tocsin_inbox *inbox, bool arms, uint64_t *ret_position)
{
    uint64_t at = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
    unsigned pauses = 4;
    for (;;) {
        struct cell *cell = &inbox->cells[at & inbox->mask];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
        if (turn == at) {
            if (arms && atomic_load_explicit(&cell->ticket, memory_order_relaxed) == 0)
                return NULL;
            if (atomic_compare_exchange_weak(&inbox->tail, &at, at + 1)) {
                *ret_position = at;
                return cell;
            }
            lost_a_race(&pauses);
        } else if ((int64_t)(turn - at) < 0) {
            return NULL;
        }
        at = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
    }
}

static void cell_publish(struct tocsin_inbox *inbox, struct cell *cell, uint64_t position)
{
    atomic_store_explicit(&cell->turn, position + 1, memory_order_release);
    if (atomic_load(&inbox->sleeping) && atomic_exchange(&inbox->sleeping, false) &&
        inbox->wake != NULL)
        inbox->wake(inbox->wake_arg);
}

enum tocsin_status tocsin_inbox_arm(struct tocsin_inbox *inbox, uint64_t due, uint64_t cookie,
                                    struct tocsin_timer *ret_ticket)
{
    uint64_t position;
    struct cell *cell = cell_claim(inbox, true, &position);
    if (cell == NULL)
        return TOCSIN_FULL;
    /* Before publishing: after that the owner may use the cell for the next lap. */
    if (ret_ticket != NULL)
        ret_ticket->id = atomic_load_explicit(&cell->ticket, memory_order_relaxed);
    cell->cancels = 0;
    cell->due = due;
    cell->cookie = cookie;
    cell_publish(inbox, cell, position);
    return TOCSIN_OK;
}

enum tocsin_status tocsin_inbox_cancel(struct tocsin_inbox *inbox, struct tocsin_timer ticket)
{
    if (ticket.id == 0)
        return TOCSIN_STALE;
    uint64_t position;
    struct cell *cell = cell_claim(inbox, false, &position);
    if (cell == NULL)
        return TOCSIN_FULL;
    cell->cancels = ticket.id;
    cell_publish(inbox, cell, position);
    return TOCSIN_OK;
}

static void cell_carry_out(struct tocsin_inbox *inbox, struct cell *cell,
                           struct tocsin_inbox_report *report)
{
    if (cell->cancels != 0) {
        struct tocsin_timer timer = {cell->cancels};
        if (tocsin_wheel_cancel(inbox->wheel, timer, NULL) == TOCSIN_OK ||
            wheel_doom(inbox->wheel, timer)) /* it is still in another inbox */
            report->cancelled++;
        else
            report->too_late++;
        return;
    }
    struct tocsin_timer timer = {atomic_load_explicit(&cell->ticket, memory_order_relaxed)};
    wheel_arm_reserved(inbox->wheel, timer, cell->due, cell->cookie);
    report->armed++;
    inbox->unstocked += !cell_stock(inbox, cell);
}

/* Try again where no timer could be reserved the last time, from where the next push goes: what lies further
 * ahead than RESTOCK_LOOKS can wait for the next call. Cells that producers use meanwhile are no danger: they
 * only read the ticket. */
static void restock(struct tocsin_inbox *inbox)
{
    uint64_t at = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
    for (uint64_t end = at + RESTOCK_LOOKS; at < end && inbox->unstocked > 0; at++) {
        struct cell *cell = &inbox->cells[at & inbox->mask];
        if (atomic_load_explicit(&cell->ticket, memory_order_relaxed) != 0)
            continue;
        if (!cell_stock(inbox, cell))
            return;
        inbox->unstocked--;
    }
}

enum tocsin_status tocsin_inbox_drain(struct tocsin_inbox *inbox, size_t max_pushes,
                                      struct tocsin_inbox_report *ret_report)
{
    struct tocsin_inbox_report report = {0};
    size_t left = max_pushes != 0 ? max_pushes : SIZE_MAX;
    enum tocsin_status status = TOCSIN_OK;
    atomic_store_explicit(&inbox->sleeping, false, memory_order_relaxed);
    if (inbox->unstocked > 0)
        restock(inbox);
    for (;; left--) {
        struct cell *cell = &inbox->cells[inbox->head & inbox->mask];
        if (atomic_load_explicit(&cell->turn, memory_order_acquire) != inbox->head + 1)
            break;
        if (left == 0) {
            status = TOCSIN_MORE;
            break;
        }
        cell_carry_out(inbox, cell, &report);
        atomic_store_explicit(&cell->turn, inbox->head + inbox->mask + 1, memory_order_release);
        inbox->head++;
    }
    if (ret_report != NULL)
        *ret_report = report;
    return status;
}

bool tocsin_inbox_sleeps(struct tocsin_inbox *inbox)
{
    /* Timers may have come out since the drain, and a push that is refused for want of
     * one does not wake anybody. */
    if (inbox->unstocked > 0)
        restock(inbox);
    atomic_store(&inbox->sleeping, true);
    if (atomic_load(&inbox->tail) == inbox->head)
        return true;
    atomic_store(&inbox->sleeping, false);
    return false;
}
