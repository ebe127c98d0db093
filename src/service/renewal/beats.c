/* SPDX-License-Identifier: MIT */
#include "service/renewal/beats.h"

#include <stdlib.h>

struct engine_ops {
    enum tocsin_status (*arm)(struct beats *beats, struct beat *beat, int64_t due_ms);
    void (*cancel)(struct beats *beats, struct beat *beat);
    struct beat *(*take)(struct beats *beats, int64_t now_ms);
    bool (*wake)(const struct beats *beats, int64_t *ret_ms);
    size_t (*count)(const struct beats *beats);
    bool (*make_room)(struct beats *beats, size_t count);
};

struct beats {
    const struct engine_ops *ops;
    struct tocsin_wheel *wheel;
    int64_t tick_ms;
    struct beat **heap; /* the children of n are 2n and 2n + 1; the first is at 1 */
    size_t size;
    size_t room;
};

static uint64_t tick_of(int64_t ms)
{
    return ms > 0 ? (uint64_t)ms : 0;
}

/* ---- the wheel */

static enum tocsin_status wheel_arm(struct beats *beats, struct beat *beat, int64_t due_ms)
{
    if (tocsin_wheel_rearm(beats->wheel, beat->timer, tick_of(due_ms)) == TOCSIN_OK)
        return TOCSIN_OK;
    return tocsin_wheel_arm(beats->wheel, tick_of(due_ms), tocsin_cookie(beat), &beat->timer);
}

static void wheel_cancel(struct beats *beats, struct beat *beat)
{
    (void)tocsin_wheel_cancel(beats->wheel, beat->timer, NULL);
}

static struct beat *wheel_take(struct beats *beats, int64_t now_ms)
{
    struct tocsin_due due;
    size_t count;
    (void)tocsin_wheel_take(beats->wheel, tick_of(now_ms), 0, &due, 1, &count);
    return count == 1 ? tocsin_cookie_pointer(due.cookie) : NULL;
}

static bool wheel_wake(const struct beats *beats, int64_t *ret_ms)
{
    uint64_t at;
    if (!tocsin_wheel_wake(beats->wheel, &at))
        return false;
    *ret_ms = at > INT64_MAX ? INT64_MAX : (int64_t)at;
    return true;
}

static size_t wheel_count(const struct beats *beats)
{
    return tocsin_wheel_count(beats->wheel);
}

/* It takes its memory by the page, from the system. */
static bool wheel_make_room(struct beats *beats, size_t count)
{
    (void)beats;
    (void)count;
    return true;
}

/* ---- the queue */

static void put_at(struct beats *beats, size_t place, struct beat *beat)
{
    beats->heap[place] = beat;
    beat->place = place;
}

/* To where it belongs, from a place that is free. */
static void settle(struct beats *beats, size_t place, struct beat *beat)
{
    for (; place > 1 && beats->heap[place / 2]->due_ms > beat->due_ms; place /= 2)
        put_at(beats, place, beats->heap[place / 2]);
    for (size_t child; (child = place * 2) <= beats->size; place = child) {
        if (child < beats->size && beats->heap[child + 1]->due_ms < beats->heap[child]->due_ms)
            child++;
        if (beats->heap[child]->due_ms >= beat->due_ms)
            break;
        put_at(beats, place, beats->heap[child]);
    }
    put_at(beats, place, beat);
}

static void queue_cancel(struct beats *beats, struct beat *beat)
{
    size_t place = beat->place;
    if (place == 0)
        return;
    struct beat *last = beats->heap[beats->size--];
    beat->place = 0;
    if (last != beat)
        settle(beats, place, last);
}

static bool queue_make_room(struct beats *beats, size_t count)
{
    size_t room = beats->room == 0 ? 64 : beats->room;
    while (room <= count) /* the place 0 is not used */
        room *= 2;
    if (room == beats->room)
        return true;
    struct beat **heap = realloc(beats->heap, room * sizeof(struct beat *));
    if (heap == NULL)
        return false;
    beats->heap = heap;
    beats->room = room;
    return true;
}

static enum tocsin_status queue_arm(struct beats *beats, struct beat *beat, int64_t due_ms)
{
    if (beat->place == 0 && !queue_make_room(beats, beats->size + 1))
        return TOCSIN_NO_MEMORY;
    beat->due_ms = due_ms;
    settle(beats, beat->place == 0 ? ++beats->size : beat->place, beat);
    return TOCSIN_OK;
}

static struct beat *queue_take(struct beats *beats, int64_t now_ms)
{
    if (beats->size == 0 || beats->heap[1]->due_ms > now_ms)
        return NULL;
    struct beat *beat = beats->heap[1];
    queue_cancel(beats, beat);
    return beat;
}

static bool queue_wake(const struct beats *beats, int64_t *ret_ms)
{
    if (beats->size == 0)
        return false;
    *ret_ms = beats->heap[1]->due_ms;
    return true;
}

static size_t queue_count(const struct beats *beats)
{
    return beats->size;
}

/* ---- either */

static const struct engine_ops engines[] = {
    [BEATS_TIME_WHEEL] = {wheel_arm, wheel_cancel, wheel_take, wheel_wake, wheel_count,
                          wheel_make_room},
    [BEATS_SCHEDULED] = {queue_arm, queue_cancel, queue_take, queue_wake, queue_count,
                         queue_make_room},
};

enum tocsin_status beats_create(const struct beats_options *options, struct beats **ret_beats,
                                struct tocsin_why *ret_why)
{
    struct beats *beats = calloc(1, sizeof *beats);
    if (beats == NULL)
        return TOCSIN_NO_MEMORY;
    beats->ops = &engines[options->type];
    beats->tick_ms = options->type == BEATS_TIME_WHEEL ? options->tick_ms : 1;
    if (options->type == BEATS_TIME_WHEEL) {
        const struct tocsin_wheel_level level = {options->tick_ms, options->slots};
        enum tocsin_status status = tocsin_wheel_create(
            &(struct tocsin_wheel_config){
                .levels = &level, .level_count = 1, .now = tick_of(options->now_ms)},
            &beats->wheel, ret_why);
        if (status != TOCSIN_OK) {
            free(beats);
            return status;
        }
    }
    *ret_beats = beats;
    return TOCSIN_OK;
}

void beats_destroy(struct beats *beats)
{
    if (beats == NULL)
        return;
    tocsin_wheel_destroy(beats->wheel);
    free(beats->heap);
    free(beats);
}

bool beats_make_room(struct beats *beats, size_t count)
{
    return beats->ops->make_room(beats, count);
}

enum tocsin_status beats_arm(struct beats *beats, struct beat *beat, int64_t due_ms)
{
    return beats->ops->arm(beats, beat, due_ms);
}

void beats_cancel(struct beats *beats, struct beat *beat)
{
    beats->ops->cancel(beats, beat);
}

struct beat *beats_take(struct beats *beats, int64_t now_ms)
{
    return beats->ops->take(beats, now_ms);
}

bool beats_wake(const struct beats *beats, int64_t *ret_ms)
{
    return beats->ops->wake(beats, ret_ms);
}

size_t beats_count(const struct beats *beats)
{
    return beats->ops->count(beats);
}

int64_t beats_tick(const struct beats *beats, int64_t ms)
{
    return ms - ms % beats->tick_ms;
}
