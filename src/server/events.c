/* SPDX-License-Identifier: MIT */
/* GET /v1/events?after=seq&kind=&key=: what happened, as server-sent events, first from the store
 * and then as it happens; of one kind, or of one record, if that is all they want. Who reads too slowly is cut off, and goes on from the last id it has. */

#include <stdio.h>
#include <stdlib.h>

#include "server/live.h"

enum { EVENTS_A_READ = 256, FRAME_BYTES_MAX = 4 * 1024 * 1024, SUBSCRIBERS_MAX = 1000 };

struct subscriber {
    struct engine_read read; /* first: of what is in the store */
    struct server *server;
    struct http_exchange *exchange; /* NULL: it has left */
    struct subscriber *next;
    uint64_t seq; /* the last one it has */
    bool reading;
    bool live;      /* has all there is: what comes is written at once */
    uint64_t first; /* of the store, as last read */
    uint64_t high;  /* the last of all, as that was begun */
    size_t count;
    uint64_t last;
    struct buffer frames;
    struct bytes kind; /* of these only; size 0: of all */
    struct bytes key;
    char kind_text[STORE_KIND_BYTES_MAX];
    char key_text[ROUTE_PARAM_BYTES_MAX];
};

static void unlink_subscriber(struct subscriber *self)
{
    struct subscriber **link = &self->server->subscribers;
    while (*link != NULL && *link != self)
        link = &(*link)->next;
    if (*link != NULL)
        *link = self->next;
}

static void subscriber_free(struct subscriber *self)
{
    if (self->reading)
        return; /* when that has ended */
    unlink_subscriber(self);
    buffer_release(&self->frames);
    free(self);
}

static void gone(void *arg)
{
    struct subscriber *self = arg;
    self->exchange = NULL;
    self->server->under_way--;
    subscriber_free(self);
}

static bool wants(const struct subscriber *self, const struct store_event *event)
{
    return (self->kind.size == 0 || bytes_equal(self->kind, event->kind)) &&
           (self->key.size == 0 || bytes_equal(self->key, event->key));
}

static void write_frame(struct buffer *out, const struct store_event *event)
{
    char head[64];
    struct json_writer writer;
    (void)snprintf(head, sizeof head, "id: %llu\nevent: ", (unsigned long long)event->seq);
    buffer_append_text(out, head);
    buffer_append(out, event->type.at, event->type.size);
    buffer_append_text(out, "\ndata: ");
    json_writer_init(&writer, out);
    json_write_object(&writer);
    json_write_key(&writer, "seq");
    json_write_uint64(&writer, event->seq);
    json_write_key(&writer, "at_ms");
    json_write_int64(&writer, event->at_ms);
    json_write_key(&writer, "kind");
    json_write_string(&writer, event->kind.at, event->kind.size);
    json_write_key(&writer, "key");
    json_write_string(&writer, event->key.at, event->key.size);
    json_write_key(&writer, "type");
    json_write_string(&writer, event->type.at, event->type.size);
    json_write_key(&writer, "doc");
    if (event->doc.size > 0)
        json_write_raw_on_a_line(&writer, event->doc.at, event->doc.size);
    else
        json_write_null(&writer);
    json_write_object_end(&writer);
    buffer_append_text(out, "\n\n");
}

static void send_frames(struct subscriber *self)
{
    if (self->exchange != NULL && self->frames.size > 0)
        (void)http_stream_write(self->exchange,
                                (struct bytes){self->frames.data, self->frames.size});
    buffer_clear(&self->frames);
}

/* ---- from the store */

static bool take_event(void *arg, const struct store_event *event)
{
    struct subscriber *self = arg;
    if (wants(self, event))
        write_frame(&self->frames, event);
    self->last = event->seq;
    self->count++;
    return buffer_status(&self->frames) == TOCSIN_OK;
}

static void read_run(struct engine_read *read, struct store *store)
{
    struct subscriber *self = (struct subscriber *)read;
    struct tocsin_why why;
    self->count = 0;
    self->last = self->seq;
    (void)store->ops->events(store, self->seq, EVENTS_A_READ, take_event, self, &self->first, &why);
}

static void read_more(struct subscriber *self)
{
    struct engine_stats stats;
    engine_describe(self->server->engine, &stats);
    self->high = stats.high_seq;
    self->reading = true;
    engine_read(self->server->engine, &self->read);
}

/* Some it asked for have been given up: it is told, once. */
static void tell_gap(struct subscriber *self)
{
    char text[160];
    if (self->first <= self->seq + 1)
        return;
    (void)snprintf(text, sizeof text,
                   "event: gap\ndata: {\"type\":\"gap\",\"after\":%llu,\"next\":%llu}\n\n",
                   (unsigned long long)self->seq, (unsigned long long)self->first);
    if (self->exchange != NULL)
        (void)http_stream_write(self->exchange, bytes_of(text));
    metrics_count(&self->server->metrics, M_EVENTS_DROPPED, 0, self->first - self->seq - 1);
}

static void read_done(struct engine_read *read)
{
    struct subscriber *self = (struct subscriber *)read;
    struct engine_stats stats;
    self->reading = false;
    if (self->exchange == NULL) {
        subscriber_free(self);
        return;
    }
    tell_gap(self);
    send_frames(self);
    self->seq = self->last;
    engine_describe(self->server->engine, &stats);
    /* What happened while the store was read was told to nobody who was not live. */
    if (self->seq < stats.high_seq && (self->count > 0 || stats.high_seq > self->high)) {
        read_more(self);
        return;
    }
    self->live = true;
}

/* ---- as they happen */

static void on_event(void *arg, const struct store_event *event)
{
    struct server *server = arg;
    live_tell_event(server->live, event);
    for (struct subscriber *self = server->subscribers; self != NULL; self = self->next) {
        if (!self->live || self->exchange == NULL || event->seq <= self->seq)
            continue;
        self->seq = event->seq;
        if (!wants(self, event))
            continue;
        write_frame(&self->frames, event);
        send_frames(self);
    }
}

void events_init(struct server *server)
{
    engine_on_event(server->engine, on_event, server);
}

void events_end(struct server *server)
{
    for (struct subscriber *self = server->subscribers; self != NULL;) {
        struct subscriber *next = self->next;
        if (self->exchange != NULL) {
            http_stream_end(self->exchange);
            server->under_way--;
            self->exchange = NULL;
        }
        subscriber_free(self);
        self = next;
    }
}

static bool read_after(const struct route_request *request, uint64_t *ret_after)
{
    static const char *const names[] = {"after", "kind", "key"};
    if (!query_fits(request, names, sizeof names / sizeof names[0]))
        return false;
    struct bytes text = http_query_find(request->http->query, "after");
    if (text.at == NULL)
        text = http_request_header(request->http, "Last-Event-ID");
    uint64_t value = 0;
    bool good = text.size < 20;
    for (size_t i = 0; i < text.size && good; i++) {
        good = text.at[i] >= '0' && text.at[i] <= '9';
        value = value * 10 + (uint64_t)(text.at[i] - '0');
    }
    if (!good) {
        answer_invalid(request, "after: the seq of an event, a whole number");
        return false;
    }
    *ret_after = value;
    return true;
}

/* False: answered. */
static bool read_filter(const struct route_request *request, const char *name, char *room,
                        size_t size, struct bytes *ret_word)
{
    char detail[64];
    if (!query_text(request, name, room, size, ret_word))
        return false;
    if (ret_word->size > 0 || http_query_find(request->http->query, name).at == NULL)
        return true;
    (void)snprintf(detail, sizeof detail, "%s: is empty: of which?", name);
    answer_invalid(request, detail);
    return false;
}

void events_stream(const struct route_request *request)
{
    struct server *server = request->server;
    uint64_t after;
    size_t count = 0;
    if (!read_after(request, &after))
        return;
    for (const struct subscriber *self = server->subscribers; self != NULL; self = self->next)
        count++;
    struct subscriber *self = count >= SUBSCRIBERS_MAX ? NULL : calloc(1, sizeof *self);
    if (self == NULL) {
        answer_problem(server, request->exchange,
                       &(struct problem){.status = 503,
                                         .code = "OVERLOADED",
                                         .detail = "too many follow the events already"});
        return;
    }
    self->read = (struct engine_read){.run = read_run, .done = read_done};
    self->server = server;
    self->exchange = request->exchange;
    self->seq = after;
    if (!read_filter(request, "kind", self->kind_text, sizeof self->kind_text, &self->kind) ||
        !read_filter(request, "key", self->key_text, sizeof self->key_text, &self->key)) {
        free(self);
        return;
    }
    buffer_init(&self->frames, FRAME_BYTES_MAX);
    self->next = server->subscribers;
    server->subscribers = self;
    self->reading = true; /* not freed before it has begun */
    http_stream_begin(request->exchange, "text/event-stream");
    http_exchange_on_gone(request->exchange, gone, self);
    read_more(self);
}
