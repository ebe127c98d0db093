/* SPDX-License-Identifier: MIT */
/* Who waits for a lease, and how they come to it.
 *
 *   in line     from the asking on; its own change sees whether the lease is free already
 *   promised    a change is under way that gives it the lease: its own, a release, an end, or
 *               that of another in line. It is answered when that is durable, and is as before
 *               when that is taken back.
 *   over        it has waited enough: one more change of its own says who has it
 *   gone        its client has left. If it was given the lease by this call, that is released at
 *               once, unless its holder has renewed it meanwhile.
 *
 * A call is answered, or forgotten, only while none of its changes is under way: look().
 */

#include <assert.h>
#include <stdlib.h>

#include "service/lease/leases_inside.h"

/* 64 secret bits: two names never share them. */
static uint64_t number_of(const struct leases *all, struct bytes name)
{
    return siphash(all->hash_key, name.at, name.size) | 1;
}

static struct lease_line *line_of(const struct leases *all, struct bytes name)
{
    uint32_t index;
    return number_map_get(&all->by_name, number_of(all, name), &index) ? all->lines[index] : NULL;
}

/* ---- in and out */

static struct lease_line *line_create(struct leases *all, struct bytes name)
{
    uint32_t index = all->by_name.count;
    if (index == all->line_room) {
        uint32_t room = all->line_room == 0 ? 64 : all->line_room * 2;
        struct lease_line **lines = realloc(all->lines, room * sizeof(struct lease_line *));
        if (lines == NULL)
            return NULL;
        all->lines = lines;
        all->line_room = room;
    }
    struct lease_line *line = calloc(1, sizeof *line);
    if (line == NULL)
        return NULL;
    line->number = number_of(all, name);
    line->index = index;
    if (!number_map_put(&all->by_name, line->number, index)) {
        free(line);
        return NULL;
    }
    all->lines[index] = line;
    return line;
}

static void line_destroy(struct leases *all, struct lease_line *line)
{
    number_map_drop(&all->by_name, line->number);
    /* The last one moves into its place. */
    struct lease_line *last = all->lines[all->by_name.count];
    if (last != line) {
        all->lines[line->index] = last;
        last->index = line->index;
        (void)number_map_put(&all->by_name, last->number, last->index);
    }
    free(line);
}

static bool join(struct leases *all, struct lease_call *call)
{
    struct lease_line *line = line_of(all, call->name);
    if (line == NULL)
        line = line_create(all, call->name);
    if (line == NULL)
        return false;
    call->line = line;
    call->before = line->last;
    call->after = NULL;
    *(line->last != NULL ? &line->last->after : &line->first) = call;
    line->last = call;
    line->count++;
    all->waiting++;
    return true;
}

static void leave(struct lease_call *call)
{
    struct leases *all = call->leases;
    struct lease_line *line = call->line;
    engine_timer_cancel(all->engine, &call->timer);
    if (line == NULL)
        return;
    *(call->before != NULL ? &call->before->after : &line->first) = call->after;
    *(call->after != NULL ? &call->after->before : &line->last) = call->before;
    call->before = call->after = NULL;
    call->line = NULL;
    all->waiting--;
    if (--line->count == 0)
        line_destroy(all, line);
}

uint32_t line_count(const struct leases *all, struct bytes name)
{
    const struct lease_line *line = line_of(all, name);
    return line == NULL ? 0 : line->count;
}

struct lease_call *line_next(struct leases *all, struct bytes name)
{
    struct lease_line *line = line_of(all, name);
    struct lease_call *call = line == NULL ? NULL : line->first;
    while (call != NULL && (call->promised || call->gone || call->refused))
        call = call->after;
    return call;
}

/* ---- its own change */

static void look(struct lease_call *call);

static enum tocsin_status run(void *arg, struct change *change)
{
    struct lease_call *call = arg;
    if (call->promised || call->gone)
        return TOCSIN_CONFLICT; /* somebody else's change has served it */
    call->told = call->refused = false;
    buffer_clear(&call->reply.answer);
    enum tocsin_status status = lease_acquire(call, change);
    if (status != TOCSIN_OK || call->reply.outcome < OUTCOME_INVALID)
        return status;
    call->refused = !call->told;
    return TOCSIN_CONFLICT;
}

static void asked(void *arg, enum tocsin_status status)
{
    struct lease_call *call = arg;
    call->asking = false;
    if (status != TOCSIN_OK && status != TOCSIN_CONFLICT)
        call->ask_status = status;
    look(call);
}

static void ask(struct lease_call *call)
{
    call->asking = true;
    engine_change(call->leases->engine, false, run, asked, call);
}

static void answer(struct lease_call *call, enum outcome outcome, const char *why)
{
    if (why != NULL) {
        buffer_clear(&call->reply.answer);
        (void)reply_refuse(&call->reply, outcome, "%s", why);
    }
    leave(call);
    call->done(call);
}

/* Whether there is something to tell it. */
static void look(struct lease_call *call)
{
    if (call->asking || call->promised)
        return;
    if (call->gone || call->refused)
        answer(call, call->reply.outcome, NULL);
    else if (call->ask_status != TOCSIN_OK)
        answer(call, outcome_of_status(call->ask_status), tocsin_status_text(call->ask_status));
    else if (call->leases->holding)
        answer(call, OUTCOME_UNAVAILABLE, "the server stops: ask again");
    else if (call->over && call->told)
        answer(call, OUTCOME_CONFLICTING, NULL);
    else if (call->over)
        ask(call);
}

static void waited_enough(void *arg)
{
    struct lease_call *call = arg;
    call->over = true;
    call->told = false; /* who has it by now? */
    look(call);
}

/* ---- promises */

static enum tocsin_status give_back(void *arg, struct change *change)
{
    struct lease_call *call = arg;
    struct leases *all = call->leases;
    char holder[LEASE_HOLDER_BYTES_MAX];
    struct lease lease;
    bool over;
    enum tocsin_status status = lease_find(all, change, call->name, holder, &lease, &over);
    if (status == TOCSIN_OK && lease.rev != call->reply.rev)
        status = TOCSIN_CONFLICT; /* its holder has asked again, and counts on it */
    if (status != TOCSIN_OK)
        return status;
    return lease_end(all, change, &lease, LEASE_END_RELEASED, line_next(all, call->name));
}

static void given_back(void *arg, enum tocsin_status status)
{
    struct lease_call *call = arg;
    (void)status; /* if it could not be: it ends by itself */
    call->asking = false;
    call->done(call);
}

/* The same holder may stand in line twice, since its first connection broke: it has it now. */
static void serve_same(const struct lease_call *served)
{
    const struct lease_line *line = line_of(served->leases, served->name);
    struct lease_call *next;
    for (struct lease_call *call = line == NULL ? NULL : line->first; call != NULL; call = next) {
        next = call->after;
        if (!call->asking && !call->promised && !call->gone &&
            bytes_equal(call->holder, served->holder))
            ask(call);
    }
}

static void settled(void *arg, enum tocsin_status status)
{
    struct lease_call *call = arg;
    call->promised = false;
    if (status == TOCSIN_BUSY)
        return; /* the change runs again */
    if (status != TOCSIN_OK) {
        look(call);
        return;
    }
    leave(call); /* before anybody else is served */
    if (!call->gone) {
        serve_same(call);
        answer(call, call->reply.outcome, NULL);
        return;
    }
    if (call->reply.outcome != OUTCOME_MADE) { /* its holder had it before, by another call */
        call->done(call);
        return;
    }
    call->asking = true;
    engine_change(call->leases->engine, true, give_back, given_back, call);
}

enum tocsin_status line_promise(struct change *change, struct lease_call *call)
{
    assert(call->line != NULL && !call->promised);
    enum tocsin_status status = change_then(change, settled, call);
    call->promised = status == TOCSIN_OK;
    call->told = false;
    return status;
}

/* ---- from outside */

void line_ask(struct leases *all, struct lease_call *call)
{
    struct engine_timer timer = {.fn = waited_enough, .arg = call};
    call->timer = timer;
    call->line = NULL;
    call->asking = call->promised = call->told = call->over = call->gone = call->refused = false;
    call->ask_status = TOCSIN_OK;
    call->reply.outcome = OUTCOME_OK;
    if (all->holding) {
        answer(call, OUTCOME_UNAVAILABLE, "the server stops: ask again");
    } else if (all->waiting >= all->limits.waiting) {
        answer(call, OUTCOME_TOO_MANY,
               "as many wait for leases as may (limits.leases_in_line): try again later");
    } else if (!join(all, call) ||
               engine_timer_arm(all->engine, &call->timer,
                                engine_now_up_ms(all->engine) + call->wait_ms) != TOCSIN_OK) {
        answer(call, OUTCOME_OVERLOADED, tocsin_status_text(TOCSIN_NO_MEMORY));
    } else {
        ask(call);
    }
}

bool leases_gone(struct leases *all, struct lease_call *call)
{
    (void)all;
    call->gone = true;
    if (call->asking || call->promised)
        return false;
    leave(call);
    return true;
}

void leases_close_lines(struct leases *all)
{
    all->holding = true;
    for (uint32_t i = all->by_name.count; i > 0; i--) {
        struct lease_call *next;
        /* A line goes with its last call, and another may take its place: from the end on,
         * that is one that has been looked at. */
        for (struct lease_call *call = all->lines[i - 1]->first; call != NULL; call = next) {
            next = call->after;
            look(call);
        }
    }
}

void lines_release(struct leases *all)
{
    for (uint32_t i = 0; i < all->by_name.count; i++)
        free(all->lines[i]);
    free(all->lines);
    number_map_release(&all->by_name);
}
