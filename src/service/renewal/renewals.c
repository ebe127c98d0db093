/* SPDX-License-Identifier: MIT */
/* The renewal service: its kind on the engine, which renewals there are, and what a restart
 * takes up. */

#include "service/renewal/renewals_inside.h"

#include <assert.h>
#include <stdlib.h>

enum { DOC_BYTES_MAX = STORE_DOC_BYTES_MAX };

const struct renewals_limits renewals_limits_default = {
    .renewals = 1000000,
    .scan_keys = 1000000,
    .batch = 1000,
    .list_scan = 10000,
    .grace_ms = INT64_C(3600) * 1000,
    .save_ms = INT64_C(600) * 1000,
};

/* ---- key stores */

/* Stand for what is not there any more since the renewal was registered. */
static void no_store(void *self, struct key_job *job)
{
    (void)self;
    key_job_fail(job, KEY_FAILED, "its redis is not in the configuration any more");
    job->done(job);
}

static void no_function(void *self, struct key_job *job)
{
    (void)self;
    key_job_fail(job, KEY_FAILED, "its strategy or generator is not in this program any more");
    job->done(job);
}

static void no_flush(void *self)
{
    (void)self;
}

static const struct key_client nobody = {.give = no_store, .flush = no_flush};
static const struct key_client stranger = {.give = no_function, .flush = no_flush};

enum tocsin_status renewals_add_client(struct renewals *all, const char *name,
                                       const struct key_client *client)
{
    if (all->client_count == CLIENTS_MAX)
        return TOCSIN_FULL;
    all->clients[all->client_count++] = (struct client_name){name, client};
    return TOCSIN_OK;
}

static uint8_t find_client(const struct renewals *all, struct bytes name)
{
    for (size_t i = 0; i < all->client_count; i++) {
        if (bytes_are(name, all->clients[i].name))
            return (uint8_t)i;
    }
    return NO_CLIENT;
}

bool renewals_has_client(const struct renewals *all, struct bytes name)
{
    return find_client(all, name) != NO_CLIENT;
}

void renewals_flush(struct renewals *all)
{
    for (size_t i = 0; all->flushing != 0 && i < all->client_count; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if ((all->flushing & bit) == 0)
            continue;
        all->flushing &= ~bit; /* first: whoever is answered now may give more, and flush */
        all->clients[i].client->flush(all->clients[i].client->self);
    }
}

/* ---- which there are */

/* 64 secret bits: two ids never share them. */
uint64_t renewal_number(const struct renewals *all, struct bytes id)
{
    return siphash(all->hash_key, id.at, id.size) | 1;
}

struct renewal *renewal_find(const struct renewals *all, struct bytes id)
{
    uint32_t index;
    if (!number_map_get(&all->by_id, renewal_number(all, id), &index))
        return NULL;
    return all->list[index];
}

struct renewal *renewal_create(struct renewals *all, struct bytes id, struct renewal_spec *spec)
{
    assert(id.size <= RENEWAL_ID_BYTES_MAX);
    struct renewal *renewal = calloc(1, offsetof(struct renewal, id) + id.size);
    if (renewal == NULL)
        return NULL;
    renewal->all = all;
    renewal->spec = spec;
    struct tocsin_why why;
    renewal->client =
        own_misses(all->own, spec, &why) ? NO_FUNCTION : find_client(all, spec->more->redis);
    renewal->state = RENEWAL_ACTIVE;
    renewal->created_ms = engine_wall_ms(all->engine);
    renewal->next_ms = engine_now_ms(all->engine);
    /* Those that are made or taken up together are not saved together for ever. */
    renewal->saved_ms =
        renewal->next_ms - (int64_t)(all->chance(all->chance_arg) % (uint64_t)all->limits.save_ms);
    renewal->id_size = (uint8_t)id.size;
    memcpy(renewal->id, id.at, id.size);
    return renewal;
}

void renewal_release(struct renewal *renewal)
{
    trouble_release(renewal->trouble);
    free(renewal->spec);
    free(renewal);
}

/* As it was stored. */
static enum tocsin_status renewal_from_record(struct renewals *all,
                                              const struct engine_record *record,
                                              struct renewal **ret_renewal)
{
    struct renewal_record it;
    struct renewal_spec *spec;
    enum tocsin_status status = renewal_decode(record, &it);
    if (status == TOCSIN_OK)
        status = renewal_read_spec(&it, &spec);
    if (status != TOCSIN_OK)
        return status;
    *ret_renewal = renewal_create(all, it.id, spec);
    if (*ret_renewal == NULL) {
        free(spec);
        return TOCSIN_NO_MEMORY;
    }
    (*ret_renewal)->state = it.state;
    (*ret_renewal)->counters = it.counters;
    (*ret_renewal)->created_ms = it.created_ms;
    return TOCSIN_OK;
}

bool renewals_make_room(struct renewals *all)
{
    uint32_t wanted = all->by_id.count + all->staged + 1;
    if (!number_map_make_room(&all->by_id, wanted) || !beats_make_room(all->beats, wanted))
        return false;
    if (wanted <= all->list_room)
        return true;
    uint32_t room = all->list_room == 0 ? 64 : all->list_room * 2;
    struct renewal **list = realloc(all->list, room * sizeof(struct renewal *));
    if (list == NULL)
        return false;
    all->list = list;
    all->list_room = room;
    return true;
}

void renewal_install(struct renewals *all, struct renewal *renewal)
{
    renewal->index = all->by_id.count;
    assert(renewal->index < all->list_room);
    all->list[renewal->index] = renewal;
    bool fits =
        number_map_put(&all->by_id, renewal_number(all, renewal_id(renewal)), renewal->index);
    assert(fits);
    (void)fits;
}

void renewal_remove(struct renewal *renewal, enum renewal_state state)
{
    struct renewals *all = renewal->all;
    all->stats.ended[state]++;
    renewal->state = state;
    renewal_stop_beats(renewal);
    renewal_count_health(renewal, -1);
    number_map_drop(&all->by_id, renewal_number(all, renewal_id(renewal)));
    uint32_t last = all->by_id.count; /* it moves into the free place */
    if (renewal->index != last) {
        struct renewal *moved = all->list[last];
        all->list[renewal->index] = moved;
        moved->index = renewal->index;
        (void)number_map_put(&all->by_id, renewal_number(all, renewal_id(moved)), moved->index);
    }
    renewal->gone = true;
    if (renewal->round == NULL) {
        renewal_answer_waiting(renewal);
        renewal_release(renewal);
    }
}

/* ---- a restart */

static void on_load(void *service, const struct engine_head *head)
{
    struct renewals *all = service;
    if (head->mark < RENEWAL_COMPLETED)
        recall_note(&all->recall, head->ref);
}

enum tocsin_status renewal_take_up(struct renewals *all, const struct engine_record *record,
                                   struct renewal **ret_renewal)
{
    struct renewal *renewal;
    enum tocsin_status status = renewal_from_record(all, record, &renewal);
    if (status != TOCSIN_OK)
        return status;
    if (!renewals_make_room(all)) {
        renewal_release(renewal);
        return TOCSIN_NO_MEMORY;
    }
    renewal_install(all, renewal);
    *ret_renewal = renewal;
    return TOCSIN_OK;
}

static void take_up_one(struct renewals *all, const struct engine_record *record)
{
    struct renewal *renewal;
    if (record->mark >= RENEWAL_COMPLETED || renewal_find(all, record->key) != NULL)
        return; /* it has ended, or its end is being written */
    if (renewal_take_up(all, record, &renewal) != TOCSIN_OK)
        all->stats.unread++;
    else if (renewal->state == RENEWAL_ACTIVE)
        renewal_start_beats(renewal, renewal_spread_ms(renewal)); /* all of them begin together */
}

static void read_one(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct renewals *all = arg;
    if (status == TOCSIN_OK)
        take_up_one(all, record);
    else
        all->stats.unread += status != TOCSIN_NONE;
}

enum tocsin_status renewals_recover(struct renewals *all)
{
    return recall_read(&all->recall, all->engine, read_one, all);
}

bool renewals_recovering(const struct renewals *all)
{
    return all->recall.count > 0;
}

/* ---- life */

enum tocsin_status renewals_create(const struct renewals_options *options,
                                   struct renewals **ret_renewals, struct tocsin_why *ret_why)
{
    struct renewals *all = calloc(1, sizeof *all);
    if (all == NULL)
        return TOCSIN_NO_MEMORY;
    struct beats_options beats = options->beats;
    beats.now_ms = engine_now_ms(options->engine);
    enum tocsin_status status = beats_create(&beats, &all->beats, ret_why);
    if (status != TOCSIN_OK) {
        free(all);
        return status;
    }
    all->engine = options->engine;
    all->idem = options->idem;
    all->limits = options->limits;
    all->defaults = options->defaults;
    all->watch = options->watch;
    all->own = options->own;
    if (all->own != NULL) /* under a name that no renewal can have */
        (void)renewals_add_client(all, "", all->own->client);
    all->hash_key = options->hash_key;
    all->chance = options->chance;
    all->chance_arg = options->chance_arg;
    all->clients[NO_CLIENT].client = &nobody;
    all->clients[NO_FUNCTION].client = &stranger;
    all->wake.fn = renewals_woken;
    all->wake.arg = all;
    buffer_init(&all->doc, DOC_BYTES_MAX);
    all->kind_info = (struct engine_kind){
        .name = "renewal", .on_due = renewals_on_due, .on_load = on_load, .service = all};
    all->kind = engine_add_kind(all->engine, &all->kind_info);
    *ret_renewals = all;
    return TOCSIN_OK;
}

void renewals_stop(struct renewals *all)
{
    all->stopped = true;
    engine_timer_cancel(all->engine, &all->wake);
}

uint64_t renewals_under_way(const struct renewals *all)
{
    return all->stats.under_way + all->saving_open;
}

void renewals_destroy(struct renewals *all)
{
    if (all == NULL)
        return;
    assert(all->stats.under_way == 0);
    for (uint32_t i = 0; i < all->by_id.count; i++)
        renewal_release(all->list[i]);
    free(all->list);
    number_map_release(&all->by_id);
    errands_release(all);
    recall_release(&all->recall);
    buffer_release(&all->doc);
    beats_destroy(all->beats);
    free(all);
}

void renewals_describe(const struct renewals *all, struct renewals_stats *ret_stats)
{
    *ret_stats = all->stats;
    ret_stats->active = engine_mark_count(all->engine, all->kind, RENEWAL_ACTIVE);
    ret_stats->paused = engine_mark_count(all->engine, all->kind, RENEWAL_PAUSED);
}
