/* SPDX-License-Identifier: MIT */
/* A commit is one call of a script, made whole in memory before it is sent, so that it can be sent
 * again as it was. What an attempt can end with:
 *
 *   done                    OK
 *   another owner, gone     IO: the store has stopped
 *   refused                 nothing was done by this attempt
 *   no answer               it may have been done, or may be done yet: in doubt
 *   not connected           nothing was sent
 *
 * Only when no attempt is in doubt does a refusal mean that nothing was changed; else it is tried
 * again until one of the first two is the answer, or the time is over. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "schedule/reason.h"
#include "store/redis/packed.h"
#include "store/redis/redis_inside.h"
#include "store/redis/scripts.h"

enum { PAUSE_FIRST_MS = 5, PAUSE_MAX_MS = 250, NUMBER_BYTES = 24 };

#define MS INT64_C(1000000)
#define SIZES_NS (10000 * MS)          /* between two looks at the memory of Redis */
#define NUMBER_END (UINT64_C(1) << 53) /* the scores of a sorted set are exact below */

enum tocsin_status redis_stop(struct redis_store *store, const struct tocsin_why *why)
{
    store->stopped_why = *why;
    atomic_store_explicit(&store->stopped, TOCSIN_IO, memory_order_release);
    return TOCSIN_IO;
}

enum tocsin_status redis_running(struct redis_store *store, struct tocsin_why *ret_why)
{
    enum tocsin_status status =
        (enum tocsin_status)atomic_load_explicit(&store->stopped, memory_order_acquire);
    if (status != TOCSIN_OK && ret_why != NULL)
        *ret_why = store->stopped_why;
    return status;
}

enum tocsin_status redis_say_lost(struct bytes has, uint64_t answered, struct tocsin_why *ret_why)
{
    return reason_say(ret_why, TOCSIN_IO,
                      "Redis has lost commits that it had answered: the last it has is %.*s, ours "
                      "was %" PRIu64,
                      reason_quoted(has.size), has.at, answered);
}

/* ---- the command */

static char *begin_word(struct buffer *command, size_t size)
{
    char head[NUMBER_BYTES];
    (void)snprintf(head, sizeof head, "$%zu\r\n", size);
    buffer_append_text(command, head);
    char *at = buffer_reserve(command, size + 2);
    if (at == NULL)
        return NULL;
    at[size] = '\r';
    at[size + 1] = '\n';
    buffer_advance(command, size + 2);
    return at;
}

static void add_word(struct buffer *command, struct bytes word)
{
    char *at = begin_word(command, word.size);
    if (at != NULL && word.size > 0)
        memcpy(at, word.at, word.size);
}

static void add_number(struct buffer *command, uint64_t number)
{
    char text[NUMBER_BYTES];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    add_word(command, bytes_of(text));
}

static size_t docs_of(const struct store_batch *batch)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->put_count; i++)
        count += batch->puts[i].doc.size > 0;
    return count;
}

static void add_keys(const struct redis_store *store, const struct store_batch *batch,
                     struct buffer *command)
{
    add_word(command, bytes_of("EVALSHA"));
    add_word(command, bytes_of(store->commit_sha));
    add_number(command, 4 + batch->mirror_count);
    add_word(command, bytes_of(REDIS_STORE_META));
    add_word(command, bytes_of(REDIS_STORE_REVS));
    add_word(command, bytes_of(REDIS_STORE_DOCS));
    add_word(command, bytes_of(REDIS_STORE_EVENTS));
    for (size_t i = 0; i < batch->mirror_count; i++)
        add_word(command, batch->mirrors[i].name);
}

static void add_records(const struct store_batch *batch, struct buffer *command)
{
    for (size_t i = 0; i < batch->put_count; i++) {
        if (batch->puts[i].doc.size == 0)
            continue;
        add_number(command, batch->puts[i].rev);
        add_word(command, batch->puts[i].doc);
    }
    for (size_t i = 0; i < batch->put_count; i++) {
        add_number(command, batch->puts[i].rev);
        char *at = begin_word(command, packed_head_size(&batch->puts[i]));
        if (at != NULL)
            packed_head_write(&batch->puts[i], at);
    }
    for (size_t i = 0; i < batch->dead_count; i++)
        add_number(command, batch->dead[i]);
}

static void add_events(const struct store_batch *batch, struct buffer *command)
{
    for (size_t i = 0; i < batch->event_count; i++) {
        char id[NUMBER_BYTES + 2];
        (void)snprintf(id, sizeof id, "%" PRIu64 "-0", batch->events[i].seq);
        add_word(command, bytes_of(id));
        char *at = begin_word(command, packed_event_size(&batch->events[i]));
        if (at != NULL)
            packed_event_write(&batch->events[i], at);
    }
}

static void add_mirrors(const struct store_batch *batch, struct buffer *command)
{
    for (size_t i = 0; i < batch->mirror_count; i++) {
        const struct store_mirror *mirror = &batch->mirrors[i];
        assert(mirror->expire_ms >= 0);
        if (mirror->value.at == NULL) {
            add_word(command, bytes_of(""));
            add_word(command, bytes_of("-"));
            continue;
        }
        add_word(command, mirror->value);
        add_number(command, (uint64_t)(mirror->expire_ms < STORE_REDIS_EXPIRE_MS_MAX
                                           ? mirror->expire_ms
                                           : STORE_REDIS_EXPIRE_MS_MAX));
    }
}

/* What will hold when it is done. */
struct plan {
    struct redis_books books;
    struct event_room room;
    uint64_t epoch;
};

static void make_plan(const struct redis_store *store, const struct store_batch *batch,
                      struct plan *ret_plan)
{
    struct plan plan = {store->books, store->room, store->epoch};
    for (size_t i = 0; i < batch->put_count; i++) {
        assert(batch->puts[i].rev > plan.books.high_rev && batch->puts[i].rev < NUMBER_END);
        plan.books.high_rev = batch->puts[i].rev;
    }
    assert(batch->high_rev >= plan.books.high_rev);
    for (size_t i = 0; i < batch->event_count; i++) {
        assert(batch->events[i].seq == plan.room.next_seq);
        event_room_add(&plan.room, packed_event_size(&batch->events[i]));
    }
    plan.books.commit++;
    plan.books.living += batch->put_count;
    assert(plan.books.living >= batch->dead_count);
    plan.books.living -= batch->dead_count;
    plan.books.high_rev = batch->high_rev;
    plan.books.high_seq += batch->event_count;
    plan.books.first_seq = event_room_first(&plan.room);
    plan.books.event_bytes = plan.room.bytes;
    plan.books.time = batch->time;
    if (batch->epoch > plan.epoch)
        plan.epoch = batch->epoch;
    *ret_plan = plan;
}

static enum tocsin_status make_command(struct redis_store *store, const struct store_batch *batch,
                                       const struct plan *plan)
{
    struct buffer *command = &store->command;
    struct redis_books_text text;
    struct bytes books[REDIS_BOOKS_WORDS];
    size_t docs = docs_of(batch);
    size_t words = 3 + 4 + batch->mirror_count + SCRIPTS_COMMIT_FIXED + batch->event_count * 2 +
                   REDIS_BOOKS_WORDS + 2 + docs * 2 + batch->put_count * 2 + batch->dead_count +
                   batch->mirror_count * 2;
    char head[NUMBER_BYTES];
    redis_books_write(&plan->books, store->incarnation, &text, books);
    buffer_clear(command);
    (void)snprintf(head, sizeof head, "*%zu\r\n", words);
    buffer_append_text(command, head);
    add_keys(store, batch, command);
    add_word(command, bytes_of(store->incarnation_text));
    add_word(command, bytes_of(store->token));
    add_number(command, plan->books.commit);
    add_number(command, store->books.commit);
    add_number(command, store->books.living);
    add_number(command, batch->urgent);
    add_number(command, batch->event_count);
    add_number(command, REDIS_BOOKS_WORDS + 2);
    add_number(command, docs * 2);
    add_number(command, batch->put_count * 2);
    add_number(command, batch->dead_count);
    if (plan->books.first_seq > store->books.first_seq)
        add_number(command, plan->books.high_seq + 1 - plan->books.first_seq);
    else
        add_word(command, bytes_of(""));
    add_events(batch, command);
    for (size_t i = 0; i < REDIS_BOOKS_WORDS; i++)
        add_word(command, books[i]);
    add_word(command, bytes_of("epoch"));
    add_number(command, plan->epoch);
    add_records(batch, command);
    add_mirrors(batch, command);
    return buffer_status(command);
}

/* ---- sending it */

enum attempt { DONE, STOPPED, REFUSED, FULL, NO_ANSWER, NOT_SENT };

static enum attempt stop(struct redis_store *store, const struct tocsin_why *why)
{
    (void)redis_stop(store, why);
    return STOPPED;
}

/* The words of Redis, or those of the first write, which the script passes on; an error inside of
 * the script is another matter. */
static enum attempt refused(struct redis_store *store, const char *error,
                            struct tocsin_why *ret_why)
{
    bool inside = strstr(error, "user_script") != NULL || strstr(error, "Error running script");
    if (!inside && wire_error_passes(error)) {
        (void)reason_say(ret_why, TOCSIN_UNAVAILABLE, "Redis refused the commit: %s", error);
        return wire_error_has(error, "OOM") ? FULL : REFUSED;
    }
    (void)reason_say(ret_why, TOCSIN_IO,
                     "a commit may have stopped half way in Redis; this node stops: %s", error);
    return stop(store, ret_why);
}

static void note_lost(struct redis_store *store, struct bytes has, struct tocsin_why *ret_why)
{
    uint64_t last = strtoull(has.at, NULL, 10);
    uint64_t answered = store->books.commit;
    (void)redis_say_lost(has, answered, ret_why);
    atomic_store(&store->last_commit, last);
    atomic_store(&store->lost_commits, answered > last ? answered - last : 0);
}

static enum attempt judge(struct redis_store *store, const redisReply *reply,
                          struct tocsin_why *ret_why)
{
    bool listed = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0;
    struct bytes word = wire_text(listed ? reply->element[0] : NULL);
    struct bytes more = wire_text(listed && reply->elements > 1 ? reply->element[1] : NULL);
    if (reply->type == REDIS_REPLY_ERROR)
        return refused(store, reply->str, ret_why);
    if (bytes_are(word, "done"))
        return DONE;
    if (bytes_are(word, "refused"))
        return refused(store, more.at, ret_why);
    if (bytes_are(word, "fenced"))
        (void)reason_say(ret_why, TOCSIN_IO,
                         "this node is not the owner any more: %.*s has taken over",
                         reason_quoted(more.size), more.size > 0 ? more.at : "another");
    else if (bytes_are(word, "gone"))
        (void)reason_say(ret_why, TOCSIN_IO,
                         "the records are gone from Redis: it was emptied, or put back to another "
                         "store's state; this node stops");
    else if (bytes_are(word, "lost"))
        note_lost(store, more, ret_why);
    else if (bytes_are(word, "count"))
        (void)reason_say(ret_why, TOCSIN_IO,
                         "somebody has changed " REDIS_STORE_REVS
                         ": it has %.*s records, not %llu; this node stops",
                         reason_quoted(more.size), more.at,
                         (unsigned long long)store->books.living);
    else
        (void)reason_say(
            ret_why, TOCSIN_IO,
            "Redis answered a commit with something that makes no sense; this node stops");
    return stop(store, ret_why);
}

static enum attempt attempt(struct redis_store *store, struct tocsin_why *ret_why)
{
    if (wire_connect(&store->writer, ret_why) != TOCSIN_OK)
        return NOT_SENT;
    redisReply *reply =
        wire_ask_formatted(&store->writer, store->command.data, store->command.size, ret_why);
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
        wire_error_has(reply->str, "NOSCRIPT")) {
        char sha[sizeof store->commit_sha];
        freeReplyObject(reply);
        if (redis_load_script(&store->writer, scripts_commit, sha, sizeof sha, ret_why) !=
            TOCSIN_OK)
            return NOT_SENT;
        reply =
            wire_ask_formatted(&store->writer, store->command.data, store->command.size, ret_why);
    }
    if (reply == NULL)
        return NO_ANSWER;
    enum attempt end = judge(store, reply, ret_why);
    freeReplyObject(reply);
    return end;
}

static void nap(uint32_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

static enum tocsin_status send_until_answered(struct redis_store *store, struct tocsin_why *ret_why)
{
    int64_t until_ns = clock_elapsed(&clock_system).ns + store->outage_ms * MS;
    uint32_t pause_ms = PAUSE_FIRST_MS;
    bool in_doubt = false;
    for (;;) {
        enum attempt end = attempt(store, ret_why);
        if (end == DONE)
            return TOCSIN_OK;
        if (end == STOPPED)
            return TOCSIN_IO;
        if (end == FULL && !in_doubt)
            return TOCSIN_NO_SPACE;
        if (end == REFUSED && !in_doubt)
            return TOCSIN_UNAVAILABLE;
        in_doubt = in_doubt || end == NO_ANSWER;
        if (clock_elapsed(&clock_system).ns + pause_ms * MS > until_ns)
            break;
        nap(pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
    if (!in_doubt)
        return TOCSIN_UNAVAILABLE;
    struct tocsin_why last = *ret_why;
    (void)reason_say(ret_why, TOCSIN_IO,
                     "whether a commit was done is unknown, Redis did not say for %" PRIu32
                     " ms; this node stops: %.100s",
                     store->outage_ms, last.text);
    return redis_stop(store, ret_why);
}

static void adopt(struct redis_store *store, const struct store_batch *batch,
                  const struct plan *plan)
{
    store->books = plan->books;
    store->room = plan->room;
    store->epoch = plan->epoch;
    atomic_store(&store->living, plan->books.living);
    atomic_store(&store->first_seq, plan->books.first_seq);
    atomic_store(&store->high_seq, plan->books.high_seq);
    atomic_fetch_add(&store->ended, batch->dead_count);
    atomic_fetch_add(&store->commits, 1);
    atomic_store(&store->last_commit, plan->books.commit);
}

enum tocsin_status redis_commit(struct store *handle, const struct store_batch *batch,
                                struct tocsin_why *ret_why)
{
    struct redis_store *store = redis_inside(handle);
    struct tocsin_why why = {""};
    struct plan plan;
    int64_t began_ns = clock_elapsed(&clock_system).ns;
    enum tocsin_status status = redis_running(store, &why);
    if (status == TOCSIN_OK) {
        make_plan(store, batch, &plan);
        if (make_command(store, batch, &plan) == TOCSIN_OK)
            status = send_until_answered(store, &why);
        else
            status = reason_say(&why, TOCSIN_UNAVAILABLE, "no memory for a commit to Redis");
    }
    if (status == TOCSIN_OK) {
        adopt(store, batch, &plan);
        int64_t now_ns = clock_elapsed(&clock_system).ns;
        atomic_fetch_add(&store->sync_ns_sum, (uint64_t)(now_ns - began_ns));
        if (now_ns - store->sized_ns > SIZES_NS)
            redis_look_at_sizes(store);
    }
    if (store->command.room > 4 * 1024 * 1024) /* a large one is rare */
        buffer_release(&store->command);
    if (status != TOCSIN_OK && ret_why != NULL)
        *ret_why = why;
    return status;
}
