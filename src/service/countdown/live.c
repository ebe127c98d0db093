/* SPDX-License-Identifier: MIT */
/* Which countdowns run, and their ticks: in memory only, made anew by a restart.
 *
 * What a change makes of a countdown takes its place here when the change is durable, and not
 * before. Room for it is made while the change is staged, so that nothing can fail then.
 */

#include <assert.h>
#include <stdlib.h>

#include "service/countdown/countdowns_inside.h"

/* What is to be, until the change is settled. */
struct after {
    struct live *live; /* with the view that is told */
    bool gone;
    bool only_tell;
    const char *what;
};

/* By its key, and not by its record: one that is dropped and made again is another record, but
 * the same clock. 64 secret bits: two keys never share them. */
static uint64_t number_of(const struct countdowns *all, struct bytes key)
{
    return siphash(all->hash_key, key.at, key.size) | 1;
}

static struct bytes copy_word(char **at, struct bytes word)
{
    if (word.size > 0)
        memcpy(*at, word.at, word.size);
    struct bytes copy = {*at, word.size};
    *at += word.size;
    return copy;
}

static struct live *live_create(struct countdowns *all, const struct countdown *countdown)
{
    size_t words = countdown->key.size + countdown->home.size + countdown->owner.size +
                   countdown->version.size + countdown->kind.size;
    struct live *live = malloc(sizeof *live + words);
    if (live == NULL)
        return NULL;
    *live = (struct live){
        .all = all,
        .number = number_of(all, countdown->key),
        .kind = countdown_kind_of(all, countdown->kind),
        .view = *countdown,
    };
    char *at = live->words;
    live->view.key = copy_word(&at, countdown->key);
    live->view.home = copy_word(&at, countdown->home);
    live->view.owner = copy_word(&at, countdown->owner);
    live->view.version = copy_word(&at, countdown->version);
    live->view.kind = copy_word(&at, countdown->kind);
    return live;
}

/* For one more than there are, with those that are being staged. */
static bool make_room(struct countdowns *all)
{
    uint32_t wanted = all->by_key.count + all->live_staged + 1;
    if (!number_map_make_room(&all->by_key, wanted))
        return false;
    if (wanted <= all->live_room)
        return true;
    uint32_t room = all->live_room == 0 ? 64 : all->live_room * 2;
    struct live **lives = realloc(all->lives, room * sizeof(struct live *));
    if (lives == NULL)
        return false;
    all->lives = lives;
    for (uint32_t i = all->live_room; i < room; i++)
        all->lives[i] = NULL;
    all->live_room = room;
    return true;
}

/* ---- ticks */

static void arm_next(struct live *live, int64_t left_ms)
{
    struct engine *engine = live->all->engine;
    /* When a whole number of seconds is left; and once more when none is, since the wall clock
     * may be set back. */
    int64_t delay = left_ms <= 0 ? 1000 : (left_ms - 1) % 1000 + 1;
    if (engine_timer_arm(engine, &live->tick, engine_now_up_ms(engine) + delay) != TOCSIN_OK)
        live->all->unarmed++;
}

static void ticked(void *arg)
{
    struct live *live = arg;
    struct countdowns *all = live->all;
    int64_t left = countdown_left_ms(all->engine, &live->view);
    arm_next(live, left);
    if (left <= 0)
        return;
    all->ticks++;
    if (live->kind->on_tick != NULL)
        live->kind->on_tick(live->kind->service, &live->view, left);
}

/* ---- in and out */

static void live_remove(struct countdowns *all, uint64_t number)
{
    uint32_t index;
    if (!number_map_get(&all->by_key, number, &index))
        return;
    struct live *live = all->lives[index];
    number_map_drop(&all->by_key, number);
    engine_timer_cancel(all->engine, &live->tick);
    /* The last one moves into its place. */
    uint32_t last = all->by_key.count;
    if (index != last) {
        all->lives[index] = all->lives[last];
        (void)number_map_put(&all->by_key, all->lives[index]->number, index);
    }
    all->lives[last] = NULL;
    free(live);
}

static void live_install(struct countdowns *all, struct live *live)
{
    uint32_t index = all->by_key.count;
    assert(index < all->live_room);
    all->lives[index] = live;
    bool fits = number_map_put(&all->by_key, live->number, index);
    assert(fits);
    (void)fits;
    live->tick.fn = ticked;
    live->tick.arg = live;
}

static void settled(void *arg, enum tocsin_status status)
{
    struct after *after = arg;
    struct live *live = after->live;
    struct countdowns *all = live->all;
    bool runs = live->view.state == COUNTDOWN_RUNNING && !after->gone && !after->only_tell;
    all->live_staged--;
    if (status != TOCSIN_OK) {
        free(live);
        free(after);
        return;
    }
    if (!after->only_tell)
        live_remove(all, live->number);
    if (runs)
        live_install(all, live);
    if (live->kind->on_changed != NULL && after->what != NULL)
        live->kind->on_changed(live->kind->service, &live->view, after->what);
    if (runs)
        ticked(live);
    else
        free(live);
    free(after);
}

enum tocsin_status live_after(struct countdowns *all, struct change *change,
                              const struct countdown *countdown, enum live_then then,
                              const char *what)
{
    struct after *after = malloc(sizeof *after);
    struct live *live = live_create(all, countdown);
    if (after == NULL || live == NULL || !make_room(all)) {
        free(after);
        free(live);
        return TOCSIN_NO_MEMORY;
    }
    *after = (struct after){live, then == LIVE_GONE, then == LIVE_SAME, what};
    enum tocsin_status status = change_then(change, settled, after);
    if (status == TOCSIN_OK) {
        all->live_staged++;
        return TOCSIN_OK;
    }
    free(after);
    free(live);
    return status;
}

enum tocsin_status live_take_up(struct countdowns *all, const struct countdown *countdown)
{
    struct live *live = make_room(all) ? live_create(all, countdown) : NULL;
    if (live == NULL)
        return TOCSIN_NO_MEMORY;
    live_remove(all, live->number);
    live_install(all, live);
    ticked(live);
    return TOCSIN_OK;
}

void lives_release(struct countdowns *all)
{
    for (uint32_t i = 0; i < all->by_key.count; i++)
        free(all->lives[i]);
    free(all->lives);
    number_map_release(&all->by_key);
}
