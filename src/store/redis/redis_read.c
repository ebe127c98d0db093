/* SPDX-License-Identifier: MIT */
/* Reading beside the writer, on a connection of its own, without a snapshot: a version that was
 * seen may have died before its doc is asked for. It was born once and dies once, so one that is
 * there before and after that, and whose doc was not there in between, is damaged. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "schedule/reason.h"
#include "store/redis/packed.h"
#include "store/redis/redis_inside.h"

enum { NUMBER_BYTES = 24 };

static enum tocsin_status damaged(const char *where, const char *what, uint64_t number,
                                  struct tocsin_why *ret_why)
{
    return reason_say(ret_why, TOCSIN_DAMAGED,
                      "%s is damaged: %s %" PRIu64
                      " is not what was written, or is gone. Restore Redis's file",
                      where, what, number);
}

/* A list, of so many elements unless that is 0. What cannot be read is not there for the caller, but
 * the writer may go on. */
static enum tocsin_status ask(struct redis_store *store, const struct bytes *words, size_t count,
                              size_t elements, redisReply **ret_reply, struct tocsin_why *ret_why)
{
    redisReply *reply = NULL;
    if (wire_read(&store->reader, words, count, &reply, ret_why) != TOCSIN_OK)
        return TOCSIN_UNAVAILABLE;
    if (reply->type != REDIS_REPLY_ARRAY || (elements != 0 && reply->elements != elements)) {
        freeReplyObject(reply);
        (void)reason_say(ret_why, TOCSIN_UNAVAILABLE,
                         "Redis answered %.*s with something that makes no sense",
                         (int)words[0].size, words[0].at);
        return TOCSIN_UNAVAILABLE;
    }
    *ret_reply = reply;
    return TOCSIN_OK;
}

/* A page of heads: head, score, head, score, … */
static enum tocsin_status ask_heads(struct redis_store *store, uint64_t from_rev, bool one,
                                    size_t count, redisReply **ret_reply,
                                    struct tocsin_why *ret_why)
{
    char from[NUMBER_BYTES];
    char most[NUMBER_BYTES];
    (void)snprintf(from, sizeof from, "%" PRIu64, from_rev);
    (void)snprintf(most, sizeof most, "%zu", count);
    struct bytes words[] = {
        bytes_of("ZRANGEBYSCORE"),
        bytes_of(REDIS_STORE_REVS),
        bytes_of(from),
        bytes_of(one ? from : "+inf"),
        bytes_of("WITHSCORES"),
        bytes_of("LIMIT"),
        bytes_of("0"),
        bytes_of(most),
    };
    return ask(store, words, 8, 0, ret_reply, ret_why);
}

/* The head at a place of a page. False: it is damaged, and only rev is known. */
static bool read_head(const redisReply *page, size_t at, struct store_record *ret_record,
                      struct packed_doc *ret_doc)
{
    uint64_t rev = 0;
    (void)wire_number(page->element[2 * at + 1], &rev);
    bool whole = packed_head_read(wire_text(page->element[2 * at]), ret_record, ret_doc) &&
                 ret_record->rev == rev;
    if (!whole)
        *ret_record = (struct store_record){.rev = rev, .damaged = true};
    return whole;
}

/* ---- is it still ours? */

/* When something is not there: another may have taken over, all is gone, or what came last is. OK:
 * none of it. */
static enum tocsin_status check_owner(struct redis_store *store, struct tocsin_why *ret_why)
{
    struct bytes words[] = {bytes_of("HMGET"), bytes_of(REDIS_STORE_META), bytes_of("incarnation"),
                            bytes_of("token"), bytes_of("commit")};
    redisReply *reply = NULL;
    uint64_t answered = atomic_load(&store->last_commit);
    uint64_t commit = 0;
    enum tocsin_status status = ask(store, words, 5, 3, &reply, ret_why);
    if (status != TOCSIN_OK)
        return status;
    if (!bytes_are(wire_text(reply->element[0]), store->incarnation_text))
        status = reason_say(ret_why, TOCSIN_IO, "the records are gone from Redis");
    else if (!bytes_are(wire_text(reply->element[1]), store->token))
        status = reason_say(ret_why, TOCSIN_IO, "this node is not the owner any more");
    else if (!wire_number(reply->element[2], &commit) || commit < answered)
        status = redis_say_lost(wire_text(reply->element[2]), answered, ret_why);
    freeReplyObject(reply);
    return status;
}

/* ---- load */

static enum tocsin_status load_page(struct redis_store *store, const redisReply *page,
                                    bool (*visit)(void *arg, const struct store_record *record),
                                    void *arg, uint64_t *last_rev, bool *ret_wanted,
                                    struct tocsin_why *ret_why)
{
    for (size_t i = 0; i < page->elements / 2; i++) {
        struct store_record record;
        struct packed_doc doc;
        if (!read_head(page, i, &record, &doc) || record.rev <= *last_rev ||
            record.rev > store->books.high_rev)
            return damaged(REDIS_STORE_REVS, "the record with the rev", record.rev, ret_why);
        *last_rev = record.rev;
        if (!visit(arg, &record)) {
            *ret_wanted = false;
            return TOCSIN_OK;
        }
    }
    return TOCSIN_OK;
}

enum tocsin_status redis_load(struct store *handle,
                              bool (*visit)(void *arg, const struct store_record *record),
                              void *arg, struct tocsin_why *ret_why)
{
    struct redis_store *store = redis_inside(handle);
    enum tocsin_status status = redis_running(store, ret_why);
    uint64_t count = 0;
    uint64_t last = 0;
    bool wanted = true;
    bool more = true;
    while (status == TOCSIN_OK && wanted && more) {
        redisReply *page = NULL;
        status = ask_heads(store, last + 1, false, REDIS_LOAD_PAGE, &page, ret_why);
        if (status != TOCSIN_OK)
            break;
        more = page->elements == 2 * REDIS_LOAD_PAGE;
        count += page->elements / 2;
        status = load_page(store, page, visit, arg, &last, &wanted, ret_why);
        freeReplyObject(page);
    }
    if (status != TOCSIN_OK || !wanted)
        return status;
    status = check_owner(store, ret_why);
    if (status == TOCSIN_OK && count != store->books.living)
        status = reason_say(ret_why, TOCSIN_DAMAGED,
                            REDIS_STORE_REVS " is damaged: %" PRIu64 " records live, not %" PRIu64
                                             ". Restore Redis's file",
                            count, store->books.living);
    return status;
}

/* ---- docs */

/* OK, NONE: it has died meanwhile, or DAMAGED: it is there without a doc. */
static enum tocsin_status why_no_doc(struct redis_store *store, uint64_t rev,
                                     struct tocsin_why *ret_why)
{
    redisReply *page = NULL;
    enum tocsin_status status = ask_heads(store, rev, true, 1, &page, ret_why);
    if (status != TOCSIN_OK)
        return status;
    status = page->elements == 0 ? TOCSIN_NONE
                                 : damaged(REDIS_STORE_DOCS, "the doc with the rev", rev, ret_why);
    freeReplyObject(page);
    return status;
}

/* A doc into its record, borrowed from the reply. OK, NONE, or DAMAGED: the record says so. */
static enum tocsin_status take_doc(struct redis_store *store, const redisReply *reply,
                                   const struct packed_doc *doc, struct store_record *record,
                                   struct tocsin_why *ret_why)
{
    enum tocsin_status status = TOCSIN_OK;
    record->doc = wire_text(reply);
    if (reply != NULL && reply->type == REDIS_REPLY_NIL && doc->size > 0)
        status = why_no_doc(store, record->rev, ret_why);
    else if (!packed_doc_is(record->rev, record->doc, doc))
        status = damaged(REDIS_STORE_DOCS, "the doc with the rev", record->rev, ret_why);
    if (status != TOCSIN_OK)
        record->doc = (struct bytes){"", 0};
    record->damaged = status == TOCSIN_DAMAGED;
    return status;
}

/* The head and the doc of a version, in one go: the head is seen before the doc. */
static enum tocsin_status ask_record(struct redis_store *store, uint64_t rev,
                                     redisReply *ret_replies[2], struct tocsin_why *ret_why)
{
    char number[NUMBER_BYTES];
    (void)snprintf(number, sizeof number, "%" PRIu64, rev);
    struct bytes head[] = {bytes_of("ZRANGEBYSCORE"), bytes_of(REDIS_STORE_REVS), bytes_of(number),
                           bytes_of(number), bytes_of("WITHSCORES")};
    struct bytes doc[] = {bytes_of("HMGET"), bytes_of(REDIS_STORE_DOCS), bytes_of(number)};
    struct wire_command commands[] = {{head, 5}, {doc, 3}};
    if (wire_read_all(&store->reader, commands, 2, ret_replies, ret_why) != TOCSIN_OK)
        return TOCSIN_UNAVAILABLE;
    if (ret_replies[0]->type == REDIS_REPLY_ARRAY && ret_replies[1]->type == REDIS_REPLY_ARRAY &&
        ret_replies[1]->elements == 1)
        return TOCSIN_OK;
    wire_free(ret_replies, 2);
    return reason_say(ret_why, TOCSIN_UNAVAILABLE, "Redis answered something that makes no sense");
}

enum tocsin_status redis_get(struct store *handle, uint64_t rev,
                             void (*visit)(void *arg, const struct store_record *record), void *arg,
                             struct tocsin_why *ret_why)
{
    struct redis_store *store = redis_inside(handle);
    redisReply *replies[2] = {NULL, NULL};
    struct store_record record = {0};
    struct packed_doc doc = {0};
    bool whole = false;
    enum tocsin_status status = redis_running(store, ret_why);
    if (status == TOCSIN_OK)
        status = ask_record(store, rev, replies, ret_why);
    if (status != TOCSIN_OK)
        return status;
    if (replies[0]->elements == 0) {
        status = check_owner(store, ret_why);
        status = status == TOCSIN_OK ? TOCSIN_NONE : status;
    } else if (replies[0]->elements != 2 || !read_head(replies[0], 0, &record, &doc)) {
        status = damaged(REDIS_STORE_REVS, "the record with the rev", rev, ret_why);
    } else {
        whole = true;
        status = take_doc(store, replies[1]->element[0], &doc, &record, ret_why);
    }
    if (whole && (status == TOCSIN_OK || status == TOCSIN_DAMAGED))
        visit(arg, &record);
    wire_free(replies, 2);
    return status;
}

/* ---- list */

/* Docs of a page are asked for together, up to a number of bytes. */
struct listing {
    struct redis_store *store;
    struct bytes kind;
    bool (*visit)(void *arg, const struct store_record *record);
    void *arg;
    uint64_t at; /* the last rev that was looked at */
    bool wanted;
};

static bool has_doc(const struct listing *listing, const redisReply *page, size_t at,
                    struct packed_doc *ret_doc)
{
    struct store_record record;
    return read_head(page, at, &record, ret_doc) && bytes_equal(record.kind, listing->kind) &&
           ret_doc->size > 0;
}

/* Those from a place on; ret_end: up to where. NULL: none of them has one. */
static enum tocsin_status ask_docs(const struct listing *listing, const redisReply *page,
                                   size_t from, size_t *ret_end, redisReply **ret_reply,
                                   struct tocsin_why *ret_why)
{
    char numbers[REDIS_LIST_PAGE][NUMBER_BYTES];
    struct bytes words[2 + REDIS_LIST_PAGE] = {bytes_of("HMGET"), bytes_of(REDIS_STORE_DOCS)};
    size_t count = 0;
    size_t bytes = 0;
    size_t end = from;
    for (; end < page->elements / 2; end++) {
        struct packed_doc doc;
        if (!has_doc(listing, page, end, &doc))
            continue;
        bytes += doc.size;
        if (count > 0 && bytes > REDIS_LIST_DOC_BYTES)
            break;
        uint64_t rev = 0;
        (void)wire_number(page->element[2 * end + 1], &rev);
        (void)snprintf(numbers[count], sizeof numbers[count], "%" PRIu64, rev);
        words[2 + count] = bytes_of(numbers[count]);
        count++;
    }
    *ret_end = end;
    *ret_reply = NULL;
    if (count == 0)
        return TOCSIN_OK;
    return ask(listing->store, words, 2 + count, count, ret_reply, ret_why);
}

static enum tocsin_status visit_one(struct listing *listing, const redisReply *page, size_t at,
                                    const redisReply *docs, size_t *doc_at,
                                    struct tocsin_why *ret_why)
{
    struct store_record record;
    struct packed_doc doc = {0};
    bool whole = read_head(page, at, &record, &doc);
    if (record.rev <= listing->at)
        return damaged(REDIS_STORE_REVS, "the record with the rev", record.rev, ret_why);
    listing->at = record.rev;
    if (whole && !bytes_equal(record.kind, listing->kind))
        return TOCSIN_OK;
    if (whole) {
        const redisReply *reply = doc.size > 0 && docs != NULL ? docs->element[(*doc_at)++] : NULL;
        enum tocsin_status status = take_doc(listing->store, reply, &doc, &record, ret_why);
        if (status == TOCSIN_NONE)
            return TOCSIN_OK;
        if (status != TOCSIN_OK && status != TOCSIN_DAMAGED)
            return status;
    }
    listing->wanted = listing->visit(listing->arg, &record);
    return TOCSIN_OK;
}

static enum tocsin_status visit_page(struct listing *listing, const redisReply *page,
                                     struct tocsin_why *ret_why)
{
    enum tocsin_status status = TOCSIN_OK;
    for (size_t at = 0; status == TOCSIN_OK && at < page->elements / 2 && listing->wanted;) {
        redisReply *docs = NULL;
        size_t doc_at = 0;
        size_t end = at;
        status = ask_docs(listing, page, at, &end, &docs, ret_why);
        for (; status == TOCSIN_OK && at < end && listing->wanted; at++)
            status = visit_one(listing, page, at, docs, &doc_at, ret_why);
        if (docs != NULL)
            freeReplyObject(docs);
    }
    return status;
}

enum tocsin_status redis_list(struct store *handle, struct bytes kind, uint64_t after_rev,
                              size_t scan, bool (*visit)(void *arg, const struct store_record *),
                              void *arg, uint64_t *ret_next, struct tocsin_why *ret_why)
{
    struct redis_store *store = redis_inside(handle);
    struct listing listing = {store, kind, visit, arg, after_rev, true};
    enum tocsin_status status = redis_running(store, ret_why);
    bool more = true;
    while (status == TOCSIN_OK && more && listing.wanted && scan > 0) {
        size_t count = scan < REDIS_LIST_PAGE ? scan : REDIS_LIST_PAGE;
        redisReply *page = NULL;
        status = ask_heads(store, listing.at + 1, false, count + 1, &page, ret_why);
        if (status != TOCSIN_OK)
            break;
        more = page->elements > 2 * count; /* one more tells whether that was all */
        size_t elements = page->elements;
        page->elements = more ? 2 * count : elements;
        status = visit_page(&listing, page, ret_why);
        page->elements = elements;
        freeReplyObject(page);
        scan -= count;
    }
    if (status == TOCSIN_OK)
        *ret_next = more || !listing.wanted ? listing.at : 0;
    return status;
}

/* ---- events */

static const redisReply *event_of(const redisReply *entry)
{
    if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 ||
        entry->element[1]->type != REDIS_REPLY_ARRAY || entry->element[1]->elements != 2)
        return NULL;
    return entry->element[1]->element[1];
}

/* Where a run of events has come to. */
struct run {
    bool (*visit)(void *arg, const struct store_event *event);
    void *arg;
    uint64_t next; /* the seq that comes next */
    uint64_t first;
    size_t scan;
    bool wanted;
};

/* Seqs rise by one from the first kept to the last. The writer may give up old ones meanwhile, and
 * then the first that is here is the first that is kept: only that one may leave some out. */
static enum tocsin_status visit_events(struct run *run, const redisReply *page, bool is_first,
                                       struct tocsin_why *ret_why)
{
    for (size_t i = 0; i < page->elements && run->wanted && run->scan > 0; i++) {
        struct store_event event;
        if (!packed_event_read(wire_text(event_of(page->element[i])), &event) ||
            event.seq < run->next || (event.seq > run->next && (!is_first || i > 0)))
            return damaged(REDIS_STORE_EVENTS, "the event", run->next, ret_why);
        if (event.seq > run->next && event.seq > run->first)
            run->first = event.seq;
        run->next = event.seq + 1;
        run->scan--;
        run->wanted = run->visit(run->arg, &event);
    }
    return TOCSIN_OK;
}

static enum tocsin_status ask_events(struct redis_store *store, const struct run *run,
                                     redisReply **ret_reply, struct tocsin_why *ret_why)
{
    char from[NUMBER_BYTES];
    char most[NUMBER_BYTES];
    (void)snprintf(from, sizeof from, "%" PRIu64 "-0", run->next);
    (void)snprintf(most, sizeof most, "%zu",
                   run->scan < REDIS_EVENT_PAGE ? run->scan : (size_t)REDIS_EVENT_PAGE);
    struct bytes words[] = {bytes_of("XRANGE"), bytes_of(REDIS_STORE_EVENTS),
                            bytes_of(from),     bytes_of("+"),
                            bytes_of("COUNT"),  bytes_of(most)};
    return ask(store, words, 6, 0, ret_reply, ret_why);
}

enum tocsin_status redis_events(struct store *handle, uint64_t after_seq, size_t scan,
                                bool (*visit)(void *arg, const struct store_event *), void *arg,
                                uint64_t *ret_first, struct tocsin_why *ret_why)
{
    struct redis_store *store = redis_inside(handle);
    uint64_t high = atomic_load(&store->high_seq); /* events up to here were committed before */
    uint64_t first = atomic_load(&store->first_seq);
    struct run run = {visit, arg, after_seq < first ? first : after_seq + 1, first, scan, true};
    enum tocsin_status status = redis_running(store, ret_why);
    bool more = true;
    for (bool is_first = true; status == TOCSIN_OK && more && run.wanted && run.scan > 0;
         is_first = false) {
        redisReply *page = NULL;
        status = ask_events(store, &run, &page, ret_why);
        if (status != TOCSIN_OK)
            break;
        more = page->elements == REDIS_EVENT_PAGE;
        status = visit_events(&run, page, is_first, ret_why);
        freeReplyObject(page);
    }
    if (status == TOCSIN_OK && run.wanted && run.scan > 0 && run.next <= high) {
        status = check_owner(store, ret_why);
        if (status == TOCSIN_OK)
            status = damaged(REDIS_STORE_EVENTS, "the event", run.next, ret_why);
    }
    if (status == TOCSIN_OK)
        *ret_first = run.first <= high || run.next > run.first ? run.first : 0;
    return status;
}
