/* SPDX-License-Identifier: MIT */
/* The store that forgets: for tests, the simulator and the bare library.
 *
 * Revs ascend, so new versions are appended to one array and found by halving it. A version
 * that dies leaves a hole; when half of the array is holes, it closes up. A lock lets one
 * thread read while another commits.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

enum {
    ROOM_FIRST = 64,
    EVENT_BYTES_MAX = 64 * 1024 * 1024, /* older events are given up */
};

struct version {
    uint64_t rev;
    struct store_record *record; /* one block with its bytes; NULL: died */
};

struct memory_store {
    struct store store;
    pthread_mutex_t lock;
    struct version *versions; /* ascending revs */
    size_t version_count;
    size_t version_room;
    struct store_event **events; /* ascending seqs, one block each */
    size_t event_count;
    size_t event_room;
    uint64_t event_bytes;
    uint64_t high_rev;
    uint64_t high_seq;
    struct store_sizes sizes;
};

static struct memory_store *inside(struct store *store)
{
    return (struct memory_store *)(void *)store;
}

/* Copies bytes to where *at points, and moves it behind them. */
static struct bytes keep(char **at, struct bytes bytes)
{
    struct bytes kept = {*at, bytes.size};
    if (bytes.size > 0)
        memcpy(*at, bytes.at, bytes.size);
    *at += bytes.size;
    return kept;
}

static struct store_record *copy_record(const struct store_record *record)
{
    size_t size = record->kind.size + record->key.size + record->home.size + record->tag.size +
                  record->doc.size;
    struct store_record *copy = malloc(sizeof *copy + size);
    if (copy == NULL)
        return NULL;
    char *at = (char *)(copy + 1);
    *copy = *record;
    copy->kind = keep(&at, record->kind);
    copy->key = keep(&at, record->key);
    copy->home = keep(&at, record->home);
    copy->tag = keep(&at, record->tag);
    copy->doc = keep(&at, record->doc);
    return copy;
}

static size_t event_size(const struct store_event *event)
{
    return sizeof *event + event->kind.size + event->key.size + event->type.size + event->doc.size;
}

static struct store_event *copy_event(const struct store_event *event)
{
    struct store_event *copy = malloc(event_size(event));
    if (copy == NULL)
        return NULL;
    char *at = (char *)(copy + 1);
    *copy = *event;
    copy->kind = keep(&at, event->kind);
    copy->key = keep(&at, event->key);
    copy->type = keep(&at, event->type);
    copy->doc = keep(&at, event->doc);
    return copy;
}

static bool make_room(void **array, size_t *room, size_t needed, size_t each)
{
    size_t grown = *room == 0 ? ROOM_FIRST : *room;
    while (grown < needed)
        grown *= 2;
    if (grown == *room)
        return true;
    void *moved = realloc(*array, grown * each);
    if (moved == NULL)
        return false;
    *array = moved;
    *room = grown;
    return true;
}

/* The first version at or above this rev. */
static size_t place_of(const struct memory_store *memory, uint64_t rev)
{
    size_t low = 0;
    size_t high = memory->version_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->versions[middle].rev < rev)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void end_version(struct memory_store *memory, uint64_t rev)
{
    size_t at = place_of(memory, rev);
    assert(at < memory->version_count && memory->versions[at].rev == rev);
    assert(memory->versions[at].record != NULL);
    free(memory->versions[at].record);
    memory->versions[at].record = NULL;
    memory->sizes.living--;
    memory->sizes.dead++;
}

static void close_up(struct memory_store *memory)
{
    if (memory->sizes.dead < ROOM_FIRST || memory->sizes.dead * 2 < memory->version_count)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < memory->version_count; i++)
        if (memory->versions[i].record != NULL)
            memory->versions[kept++] = memory->versions[i];
    memory->version_count = kept;
    memory->sizes.swept += memory->sizes.dead;
    memory->sizes.dead = 0;
}

static void give_up_old_events(struct memory_store *memory)
{
    size_t gone = 0;
    while (memory->event_bytes > EVENT_BYTES_MAX && gone < memory->event_count) {
        memory->event_bytes -= event_size(memory->events[gone]);
        free(memory->events[gone++]);
    }
    if (gone == 0)
        return;
    memory->event_count -= gone;
    memmove(memory->events, memory->events + gone, memory->event_count * sizeof(void *));
}

/* Copies everything behind what counts; false leaves the store as it was. */
static bool take_in(struct memory_store *memory, const struct store_batch *batch)
{
    if (!make_room((void **)&memory->versions, &memory->version_room,
                   memory->version_count + batch->put_count, sizeof *memory->versions) ||
        !make_room((void **)&memory->events, &memory->event_room,
                   memory->event_count + batch->event_count, sizeof(void *)))
        return false;
    struct version *versions = memory->versions + memory->version_count;
    struct store_event **events = memory->events + memory->event_count;
    size_t puts = 0;
    size_t news = 0;
    for (; puts < batch->put_count; puts++) {
        struct store_record *copy = copy_record(&batch->puts[puts]);
        if (copy == NULL)
            goto refused;
        versions[puts] = (struct version){copy->rev, copy};
    }
    for (; news < batch->event_count; news++) {
        events[news] = copy_event(&batch->events[news]);
        if (events[news] == NULL)
            goto refused;
    }
    return true;
refused:
    while (puts > 0)
        free(versions[--puts].record);
    while (news > 0)
        free(events[--news]);
    return false;
}

static enum tocsin_status memory_commit(struct store *store, const struct store_batch *batch,
                                        struct tocsin_why *ret_why)
{
    struct memory_store *memory = inside(store);
    (void)pthread_mutex_lock(&memory->lock);
    uint64_t last = memory->high_rev;
    for (size_t i = 0; i < batch->put_count; i++) {
        assert(batch->puts[i].rev > last);
        last = batch->puts[i].rev;
    }
    assert(batch->high_rev >= last);
    for (size_t i = 0; i < batch->event_count; i++)
        assert(batch->events[i].seq == memory->high_seq + 1 + i);
    bool taken = take_in(memory, batch);
    if (taken) {
        memory->version_count += batch->put_count;
        memory->sizes.living += batch->put_count;
        for (size_t i = 0; i < batch->event_count; i++)
            memory->event_bytes += event_size(&batch->events[i]);
        memory->event_count += batch->event_count;
        for (size_t i = 0; i < batch->dead_count; i++)
            end_version(memory, batch->dead[i]);
        memory->high_rev = batch->high_rev;
        memory->high_seq += batch->event_count;
        memory->sizes.commits++;
        close_up(memory);
        give_up_old_events(memory);
    } else if (ret_why != NULL) {
        *ret_why = (struct tocsin_why){"the system gave no memory for the commit"};
    }
    (void)pthread_mutex_unlock(&memory->lock);
    return taken ? TOCSIN_OK : TOCSIN_UNAVAILABLE;
}

static enum tocsin_status memory_load(struct store *store,
                                      bool (*visit)(void *arg, const struct store_record *record),
                                      void *arg, struct tocsin_why *ret_why)
{
    struct memory_store *memory = inside(store);
    (void)ret_why;
    (void)pthread_mutex_lock(&memory->lock);
    for (size_t i = 0; i < memory->version_count; i++) {
        if (memory->versions[i].record == NULL)
            continue;
        struct store_record record = *memory->versions[i].record;
        record.doc = (struct bytes){"", 0};
        if (!visit(arg, &record))
            break;
    }
    (void)pthread_mutex_unlock(&memory->lock);
    return TOCSIN_OK;
}

static enum tocsin_status memory_get(struct store *store, uint64_t rev,
                                     void (*visit)(void *arg, const struct store_record *record),
                                     void *arg, struct tocsin_why *ret_why)
{
    struct memory_store *memory = inside(store);
    (void)ret_why;
    (void)pthread_mutex_lock(&memory->lock);
    size_t at = place_of(memory, rev);
    const struct store_record *found = NULL;
    if (at < memory->version_count && memory->versions[at].rev == rev)
        found = memory->versions[at].record;
    if (found != NULL)
        visit(arg, found);
    (void)pthread_mutex_unlock(&memory->lock);
    return found != NULL ? TOCSIN_OK : TOCSIN_NONE;
}

static enum tocsin_status memory_list(struct store *store, struct bytes kind, uint64_t after_rev,
                                      size_t scan,
                                      bool (*visit)(void *arg, const struct store_record *),
                                      void *arg, uint64_t *ret_next, struct tocsin_why *ret_why)
{
    struct memory_store *memory = inside(store);
    (void)ret_why;
    (void)pthread_mutex_lock(&memory->lock);
    uint64_t next = 0;
    for (size_t at = place_of(memory, after_rev + 1); at < memory->version_count; at++) {
        if (scan == 0) {
            next = after_rev;
            break;
        }
        scan--;
        after_rev = memory->versions[at].rev;
        const struct store_record *record = memory->versions[at].record;
        if (record != NULL && bytes_equal(record->kind, kind) && !visit(arg, record)) {
            next = after_rev;
            break;
        }
    }
    *ret_next = next;
    (void)pthread_mutex_unlock(&memory->lock);
    return TOCSIN_OK;
}

static enum tocsin_status memory_events(struct store *store, uint64_t after_seq, size_t scan,
                                        bool (*visit)(void *arg, const struct store_event *),
                                        void *arg, uint64_t *ret_first, struct tocsin_why *ret_why)
{
    struct memory_store *memory = inside(store);
    (void)ret_why;
    (void)pthread_mutex_lock(&memory->lock);
    *ret_first = memory->event_count > 0 ? memory->events[0]->seq : 0;
    /* Seqs rise by one, so the place of each is known. */
    uint64_t at = *ret_first > after_seq || *ret_first == 0 ? 0 : after_seq - *ret_first + 1;
    for (; at < memory->event_count && scan > 0; at++, scan--)
        if (!visit(arg, memory->events[at]))
            break;
    (void)pthread_mutex_unlock(&memory->lock);
    return TOCSIN_OK;
}

static void memory_sizes(struct store *store, struct store_sizes *ret_sizes)
{
    struct memory_store *memory = inside(store);
    (void)pthread_mutex_lock(&memory->lock);
    *ret_sizes = memory->sizes;
    (void)pthread_mutex_unlock(&memory->lock);
}

static void memory_close(struct store *store)
{
    struct memory_store *memory = inside(store);
    for (size_t i = 0; i < memory->version_count; i++)
        free(memory->versions[i].record);
    for (size_t i = 0; i < memory->event_count; i++)
        free(memory->events[i]);
    free(memory->versions);
    free(memory->events);
    (void)pthread_mutex_destroy(&memory->lock);
    free(memory);
}

enum tocsin_status store_memory_open(struct store **ret_store, struct store_state *ret_state)
{
    static const struct store_ops ops = {
        .name = "memory",
        .load = memory_load,
        .commit = memory_commit,
        .get = memory_get,
        .list = memory_list,
        .events = memory_events,
        .sizes = memory_sizes,
        .close = memory_close,
    };
    struct memory_store *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return TOCSIN_NO_MEMORY;
    memory->store.ops = &ops;
    if (pthread_mutex_init(&memory->lock, NULL) != 0) {
        free(memory);
        return TOCSIN_NO_MEMORY;
    }
    *ret_store = &memory->store;
    *ret_state = (struct store_state){.epoch = 1};
    return TOCSIN_OK;
}
