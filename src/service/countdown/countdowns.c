/* SPDX-License-Identifier: MIT */
/* The countdown service: its kind on the engine, what happens at a deadline, what a restart
 * takes up, and the calls of other services. */

#include "service/countdown/countdowns_inside.h"

#include <assert.h>
#include <stdlib.h>

enum { DOC_BYTES_MAX = 8192 };

const struct countdowns_limits countdowns_limits_default = {
    .countdowns = 1000000,
    .grace_ms = INT64_C(3600) * 1000,
    .list_scan = 10000,
};

static const struct countdown_kind nobody = {.name = NULL};

const struct countdown_kind *countdown_kind_of(const struct countdowns *all, struct bytes name)
{
    for (size_t i = 0; i < all->kind_count; i++) {
        if (bytes_are(name, all->kinds[i]->name))
            return all->kinds[i];
    }
    return all->default_kind;
}

void countdowns_add_kind(struct countdowns *all, const struct countdown_kind *kind)
{
    if (kind->name == NULL) {
        all->default_kind = kind;
        return;
    }
    assert(all->kind_count < COUNTDOWN_KINDS_MAX);
    all->kinds[all->kind_count++] = kind;
}

void countdown_event(struct countdowns *all, struct change *change,
                     const struct countdown *countdown, const char *what)
{
    struct json_writer writer;
    buffer_clear(&all->doc);
    json_writer_init(&writer, &all->doc);
    countdown_write(&writer, all->engine, countdown);
    if (buffer_status(&all->doc) == TOCSIN_OK)
        change_event(change, all->kind, countdown->key, what,
                     (struct bytes){all->doc.data, all->doc.size});
    else
        change_event_lost(change, buffer_status(&all->doc));
}

/* ---- the deadline */

static void count_timeout(void *arg, enum tocsin_status status)
{
    ((struct countdowns *)arg)->timeouts += status == TOCSIN_OK;
}

/* Whether it is still this turn: its kind may have stopped it, or begun the next. */
static enum tocsin_status still_this(struct countdowns *all, struct change *change,
                                     const struct countdown *countdown, bool *ret_still)
{
    struct engine_record record;
    struct countdown_words words;
    struct countdown now;
    enum tocsin_status status = change_get(change, all->kind, countdown->key, &record);
    *ret_still = false;
    if (status == TOCSIN_NONE)
        return TOCSIN_OK;
    if (status == TOCSIN_OK)
        status = countdown_decode(&record, &words, &now);
    if (status == TOCSIN_OK)
        *ret_still = bytes_equal(now.version, countdown->version);
    return status;
}

/* The first of two steps where the store is shared: who takes over from us finds it. */
static enum tocsin_status claim(struct countdowns *all, struct change *change, struct countdown *it)
{
    it->state = COUNTDOWN_FIRING;
    it->fence = engine_next_fence(all->engine);
    enum tocsin_status status = countdown_put(all, change, it);
    return status == TOCSIN_OK ? live_after(all, change, it, LIVE_AS_IT_IS, NULL) : status;
}

/* By this process, and not by one that is gone. */
static bool is_claimed(const struct countdowns *all, const struct countdown *it)
{
    return it->state == COUNTDOWN_FIRING && it->fence >> 32 >= all->epoch;
}

static enum tocsin_status time_out(struct countdowns *all, struct change *change,
                                   const struct engine_record *record)
{
    struct countdown_words words;
    struct countdown it;
    bool still = true;
    enum tocsin_status status = countdown_decode(record, &words, &it);
    if (status != TOCSIN_OK)
        return status;
    const struct countdown_kind *kind = countdown_kind_of(all, it.kind);
    it.deadline_ms = countdown_shown_ms(all->engine, &it);
    it.basis = STORE_WALL;
    if (engine_shared(all->engine) && !is_claimed(all, &it))
        return claim(all, change, &it);
    if (it.state != COUNTDOWN_FIRING)
        it.fence = engine_next_fence(all->engine);
    it.state = COUNTDOWN_EXPIRED;
    it.expired_ms = engine_wall_ms(all->engine);
    if (it.expired_ms < it.deadline_ms) /* a clock that was steered meanwhile: it has come due */
        it.expired_ms = it.deadline_ms;
    if (kind->on_timeout != NULL) {
        all->timing_out = &it.key;
        status = kind->on_timeout(kind->service, change, &it);
        all->timing_out = NULL;
        if (status == TOCSIN_OK)
            status = still_this(all, change, &it, &still);
    }
    if (status == TOCSIN_OK && still)
        status = countdown_put(all, change, &it);
    if (status != TOCSIN_OK)
        return status;
    countdown_event(all, change, &it, "timeout");
    status = live_after(all, change, &it, still ? LIVE_AS_IT_IS : LIVE_SAME, "timeout");
    return status == TOCSIN_OK ? change_then(change, count_timeout, all) : status;
}

static enum tocsin_status on_due(void *service, struct change *change,
                                 const struct engine_record *record)
{
    struct countdowns *all = service;
    if (record->mark == COUNTDOWN_EXPIRED)
        return change_drop(change, all->kind, record->key);
    return time_out(all, change, record);
}

/* ---- for other services */

enum tocsin_status countdown_start(struct countdowns *all, struct change *change,
                                   const struct countdown_wish *wish)
{
    struct engine_record record;
    struct countdown_words words;
    struct countdown it;
    if (wish->owner.size == 0 || wish->deadline_ms == STORE_NEVER)
        return TOCSIN_INVALID;
    enum tocsin_status status = change_get(change, all->kind, wish->key, &record);
    if (status == TOCSIN_OK) {
        status = countdown_decode(&record, &words, &it);
        if (status == TOCSIN_OK && bytes_equal(it.version, wish->version))
            return it.state == COUNTDOWN_PAUSED ? countdown_run_on(all, change, &it) : TOCSIN_OK;
    }
    if (status != TOCSIN_OK && status != TOCSIN_NONE)
        return status;
    it = (struct countdown){
        .key = wish->key,
        .home = wish->home,
        .owner = wish->owner,
        .version = wish->version,
        .kind = wish->kind,
        .state = COUNTDOWN_RUNNING,
        .deadline_ms = wish->deadline_ms,
        .basis = wish->basis,
        .told_ms = wish->told_ms,
        .started_ms = engine_wall_ms(all->engine),
    };
    return countdown_change(all, change, &it, "started");
}

enum tocsin_status countdown_expect(struct countdowns *all, struct change *change, struct bytes key)
{
    struct engine_record record;
    enum tocsin_status status = change_get(change, all->kind, key, &record);
    return status == TOCSIN_NONE ? TOCSIN_OK : status;
}

enum tocsin_status countdown_stop(struct countdowns *all, struct change *change, struct bytes key)
{
    struct engine_record record;
    struct countdown_words words;
    struct countdown it;
    enum tocsin_status status = change_get(change, all->kind, key, &record);
    if (status == TOCSIN_NONE)
        return TOCSIN_OK;
    if (status == TOCSIN_OK)
        status = countdown_decode(&record, &words, &it);
    return status == TOCSIN_OK ? countdown_end(all, change, &it) : status;
}

enum tocsin_status countdown_change(struct countdowns *all, struct change *change,
                                    struct countdown *countdown, const char *what)
{
    enum tocsin_status status = countdown_put(all, change, countdown);
    if (status != TOCSIN_OK)
        return status;
    countdown_event(all, change, countdown, what);
    return live_after(all, change, countdown, LIVE_AS_IT_IS, what);
}

enum tocsin_status countdown_run_on(struct countdowns *all, struct change *change,
                                    struct countdown *countdown)
{
    countdown_run_for(all->engine, countdown, countdown->left_ms);
    return countdown_change(all, change, countdown, "resumed");
}

enum tocsin_status countdown_end(struct countdowns *all, struct change *change,
                                 const struct countdown *countdown)
{
    enum tocsin_status status = change_drop(change, all->kind, countdown->key);
    if (status != TOCSIN_OK)
        return status;
    names_drop(all, change, countdown);
    bool times_out = all->timing_out != NULL && bytes_equal(*all->timing_out, countdown->key);
    if (countdown->state != COUNTDOWN_EXPIRED && !times_out)
        countdown_event(all, change, countdown, "stopped");
    return live_after(all, change, countdown, LIVE_GONE, "stopped");
}

/* ---- a restart */

static void on_load(void *service, const struct engine_head *head)
{
    struct countdowns *all = service;
    if (head->mark == COUNTDOWN_PAUSED)
        all->restored.paused++;
    else
        recall_note(&all->recall, head->ref);
}

static void read_one(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct countdowns *all = arg;
    struct countdown_words words;
    struct countdown it;
    if (status == TOCSIN_OK && record->mark == COUNTDOWN_RUNNING)
        status = countdown_decode(record, &words, &it);
    else
        status = TOCSIN_NONE; /* it has timed out meanwhile, or cannot be read: then no ticks */
    if (status == TOCSIN_OK && live_take_up(all, &it) != TOCSIN_OK)
        all->unarmed++;
}

enum tocsin_status countdowns_recover(struct countdowns *all)
{
    all->epoch = engine_epoch(all->engine);
    struct recall *recall = &all->recall;
    size_t running = 0;
    for (size_t i = 0; i < recall->count; i++) {
        struct engine_head head;
        if (!engine_head(all->engine, recall->refs[i], &head))
            continue;
        int64_t now =
            head.basis == STORE_WALL ? engine_wall_ms(all->engine) : engine_now_ms(all->engine);
        bool passed = head.due_ms <= now;
        all->restored.expired_cleaned += passed && head.mark == COUNTDOWN_EXPIRED;
        all->restored.expired_handled +=
            passed && (head.mark == COUNTDOWN_RUNNING || head.mark == COUNTDOWN_FIRING);
        all->restored.restored += !passed && head.mark == COUNTDOWN_RUNNING;
        if (!passed && head.mark == COUNTDOWN_RUNNING)
            recall->refs[running++] = head.ref;
    }
    recall->count = running;
    return recall_read(recall, all->engine, read_one, all);
}

bool countdowns_recovering(const struct countdowns *all)
{
    return all->recall.count > 0;
}

struct countdowns_restored countdowns_restored(const struct countdowns *all)
{
    return all->restored;
}

/* ---- life */

enum tocsin_status countdowns_create(const struct countdowns_options *options,
                                     struct countdowns **ret_countdowns)
{
    struct countdowns *all = calloc(1, sizeof *all);
    if (all == NULL)
        return TOCSIN_NO_MEMORY;
    all->engine = options->engine;
    all->idem = options->idem;
    all->limits = options->limits;
    all->hash_key = options->hash_key;
    all->node = bytes_of(options->node != NULL ? options->node : "");
    all->holder_ttl_ms = options->holder_ttl_ms;
    assert(!engine_shared(all->engine) || (all->node.size > 0 && all->holder_ttl_ms > 0));
    all->default_kind = &nobody;
    buffer_init(&all->doc, DOC_BYTES_MAX);
    all->kind_info = (struct engine_kind){
        .name = "countdown", .on_due = on_due, .on_load = on_load, .service = all};
    all->kind = engine_add_kind(all->engine, &all->kind_info);
    *ret_countdowns = all;
    return TOCSIN_OK;
}

void countdowns_destroy(struct countdowns *all)
{
    if (all == NULL)
        return;
    lives_release(all);
    recall_release(&all->recall);
    buffer_release(&all->doc);
    free(all);
}

void countdowns_describe(const struct countdowns *all, struct countdowns_stats *ret_stats)
{
    *ret_stats = (struct countdowns_stats){
        .running = engine_mark_count(all->engine, all->kind, COUNTDOWN_RUNNING),
        .paused = engine_mark_count(all->engine, all->kind, COUNTDOWN_PAUSED),
        .expired = engine_mark_count(all->engine, all->kind, COUNTDOWN_EXPIRED),
        .firing = engine_mark_count(all->engine, all->kind, COUNTDOWN_FIRING),
        .ticks = all->ticks,
        .timeouts = all->timeouts,
        .unarmed = all->unarmed,
    };
}
