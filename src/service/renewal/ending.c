/* SPDX-License-Identifier: MIT */
/* What changes without being asked for: a strategy that ends, too many failures, a lost key, and
 * counters that are saved. */

#include <stdio.h>
#include <stdlib.h>

#include "service/renewal/renewals_inside.h"

enum { AGAIN_MS = 1000, COUNTED_MS = 60000, SAVING_AT_ONCE = 256 };

/* One such change; it holds the renewal by its number, since that may go meanwhile. */
struct errand {
    struct renewals *all;
    struct engine_timer again;
    struct errand *next;
    struct errand *previous;
    uint64_t number;
    enum renewal_state state; /* ACTIVE: only its counters */
    bool last;                /* … for the last time */
    char why[WHY_BYTES];
};

static struct renewal *still_there(const struct errand *errand)
{
    uint32_t index;
    if (!number_map_get(&errand->all->by_id, errand->number, &index))
        return NULL;
    return errand->all->list[index];
}

static enum tocsin_status run(void *arg, struct change *change)
{
    struct errand *errand = arg;
    struct renewals *all = errand->all;
    struct renewal *renewal = still_there(errand);
    struct engine_record record;
    if (renewal == NULL)
        return TOCSIN_CONFLICT;
    struct bytes id = renewal_id(renewal);
    enum tocsin_status status = change_get(change, all->kind, id, &record);
    if (status != TOCSIN_OK)
        return status == TOCSIN_NONE ? TOCSIN_CONFLICT : status;
    /* Somebody has paused or cancelled it meanwhile: that counts. */
    if (record.mark != RENEWAL_ACTIVE)
        return TOCSIN_CONFLICT;
    status = renewal_put(all, change, renewal, errand->state, errand->why, NULL);
    if (status == TOCSIN_OK && errand->state != RENEWAL_ACTIVE) {
        static const char *const events[] = {[RENEWAL_COMPLETED] = "completed",
                                             [RENEWAL_FAILED] = "failed",
                                             [RENEWAL_LOST] = "lost"};
        renewal_event(all, change, renewal, events[errand->state], errand->why);
    }
    return status;
}

static void begin(void *arg);
static void save_more(struct renewals *all);

static void errand_free(struct errand *errand)
{
    if (errand->previous != NULL)
        errand->previous->next = errand->next;
    else
        errand->all->errands = errand->next;
    if (errand->next != NULL)
        errand->next->previous = errand->previous;
    free(errand);
}

static void ended(struct errand *errand, struct renewal *renewal)
{
    struct renewals *all = errand->all;
    if (all->watch.told != NULL && errand->state != RENEWAL_COMPLETED)
        all->watch.told(all->watch.arg, renewal_id(renewal), errand->state, errand->why);
    renewal_remove(renewal, errand->state);
}

static void done(void *arg, enum tocsin_status status)
{
    struct errand *errand = arg;
    struct renewals *all = errand->all;
    struct renewal *renewal = still_there(errand);
    bool ends = errand->state != RENEWAL_ACTIVE;
    if (renewal != NULL && ends && tocsin_status_retryable(status) && !all->stopped) {
        all->stats.unsaved++;
        if (renewal->round == NULL)
            renewal_refuse_waiting(renewal);
        errand->again.fn = begin;
        errand->again.arg = errand;
        if (engine_timer_arm(all->engine, &errand->again,
                             engine_now_up_ms(all->engine) + AGAIN_MS) == TOCSIN_OK)
            return;
    }
    if (renewal != NULL && status == TOCSIN_OK && ends) {
        ended(errand, renewal);
    } else if (renewal != NULL && ends) {
        renewal->ending = 0;
        if (renewal->round == NULL)
            renewal_answer_waiting(renewal);
        if (status != TOCSIN_CONFLICT && renewal->state == RENEWAL_ACTIVE)
            renewal_start_beats(
                renewal, renewal->spec->every_ms); /* it could not be written: it is found again */
    } else if (status != TOCSIN_OK && status != TOCSIN_CONFLICT) {
        all->stats.unsaved++;
    }
    bool last = errand->last;
    errand_free(errand);
    if (last) {
        all->saving_open--;
        save_more(all);
    }
}

static void begin(void *arg)
{
    struct errand *errand = arg;
    engine_change(errand->all->engine, errand->state != RENEWAL_ACTIVE, run, done, errand);
}

static bool send(struct renewal *renewal, enum renewal_state state, const char *why, bool last)
{
    struct renewals *all = renewal->all;
    struct errand *errand = calloc(1, sizeof *errand);
    if (errand == NULL)
        return false;
    errand->all = all;
    errand->number = renewal_number(all, renewal_id(renewal));
    errand->state = state;
    errand->last = last;
    (void)snprintf(errand->why, sizeof errand->why, "%s", why);
    errand->next = all->errands;
    if (errand->next != NULL)
        errand->next->previous = errand;
    all->errands = errand;
    begin(errand);
    return true;
}

void renewal_end(struct renewal *renewal, enum renewal_state state, const char *why)
{
    if (renewal->ending != 0)
        return;
    renewal->ending = state;
    renewal_stop_beats(renewal);
    if (send(renewal, state, why, false))
        return;
    /* No memory: with its next beat, again. */
    renewal->ending = 0;
    renewal->all->stats.unsaved++;
    if (beats_arm(renewal->all->beats, &renewal->beat, renewal->next_ms) == TOCSIN_OK)
        renewals_arm_wake(renewal->all);
}

/* Of those whose strategy counts rounds a crash is to lose no more than a minute. */
static int64_t save_every_ms(const struct renewal *renewal)
{
    enum strategy_type type = renewal->spec->strategy.type;
    int64_t usual = renewal->all->limits.save_ms;
    bool counts = type == STRATEGY_STEPS || type == STRATEGY_OWN;
    return counts && usual > COUNTED_MS ? COUNTED_MS : usual;
}

void renewal_save(struct renewal *renewal)
{
    struct renewals *all = renewal->all;
    int64_t now = engine_now_ms(all->engine);
    if (now < renewal->saved_ms + save_every_ms(renewal) || renewal->ending != 0)
        return;
    renewal->saved_ms = now;
    renewal->unsaved = false;
    if (!send(renewal, RENEWAL_ACTIVE, "", false))
        all->stats.unsaved++;
}

void renewal_save_last(struct renewal *renewal)
{
    struct renewals *all = renewal->all;
    bool wanted = renewal->unsaved && renewal->state == RENEWAL_ACTIVE && renewal->ending == 0;
    if (!wanted || renewal->round != NULL) /* after its round, then */
        return;
    renewal->unsaved = false;
    all->saving_open++;
    if (!send(renewal, RENEWAL_ACTIVE, "", true)) {
        all->saving_open--;
        all->stats.unsaved++;
    }
}

static void save_more(struct renewals *all)
{
    while (all->saving_open < SAVING_AT_ONCE && all->saving_next < all->by_id.count)
        renewal_save_last(all->list[all->saving_next++]);
}

void renewals_save_all(struct renewals *all)
{
    if (all->saving)
        return;
    all->saving = true;
    save_more(all);
}

void errands_release(struct renewals *all)
{
    struct errand *next;
    for (struct errand *it = all->errands; it != NULL; it = next) {
        next = it->next;
        free(it);
    }
    all->errands = NULL;
}

/* ---- by its record: the end of a strategy, the end of the grace */

static void completed(void *arg, enum tocsin_status status)
{
    struct renewal *renewal = arg;
    if (status != TOCSIN_OK)
        return;
    renewal_remove(renewal, RENEWAL_COMPLETED);
}

enum tocsin_status renewals_on_due(void *service, struct change *change,
                                   const struct engine_record *record)
{
    struct renewals *all = service;
    if (record->mark >= RENEWAL_COMPLETED)
        return change_drop(change, all->kind, record->key);
    struct renewal *renewal = renewal_find(all, record->key);
    enum tocsin_status status = TOCSIN_OK;
    if (renewal == NULL) /* a restart has not come to it yet, and will see that it is there */
        status = renewal_take_up(all, record, &renewal);
    if (status == TOCSIN_OK)
        status = renewal_put(all, change, renewal, RENEWAL_COMPLETED, "", NULL);
    if (status != TOCSIN_OK)
        return status;
    renewal_event(all, change, renewal, "completed", "");
    return change_then(change, completed, renewal);
}
