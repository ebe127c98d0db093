/* SPDX-License-Identifier: MIT */
/* Looking at tasks, incidents, queues and schedules; and leases, which wait. */

#include <stdio.h>
#include <stdlib.h>

#include "schedule/cron.h"
#include "schedule/duration.h"
#include "schedule/instant.h"
#include "server/inside.h"

enum { PREVIEW_MAX = 1000, LEASE_BYTES_MAX = 64 * 1024 * 1024 };

static struct read_request *task_read_begin(const struct route_request *request)
{
    struct read_request *self = read_begin(request, "there is no such task");
    if (self != NULL)
        self->broken = TASKS_BROKEN_TEXT;
    return self;
}

void task_get(const struct route_request *request)
{
    struct read_request *self = task_read_begin(request);
    if (self != NULL)
        tasks_get(request->server->tasks, (struct bytes){request->param, request->param_size},
                  read_answered, self);
}

void task_why(const struct route_request *request)
{
    struct read_request *self = task_read_begin(request);
    if (self != NULL)
        tasks_why(request->server->tasks, (struct bytes){request->param, request->param_size},
                  read_answered, self);
}

static bool status_known(struct bytes status)
{
    static const char *const names[] = {"",          "pending", "running", "completed",
                                        "cancelled", "failed",  "paused"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (bytes_are(status, names[i]))
            return true;
    }
    return false;
}

void task_list(const struct route_request *request)
{
    static const char *const names[] = {"status", "prefix", "queue", "limit", "after"};
    char status[16];
    char prefix[TASK_ID_BYTES_MAX];
    char queue[TASK_QUEUE_BYTES_MAX];
    struct tasks_filter filter = {0};
    uint64_t limit;
    if (!query_fits(request, names, 5) ||
        !query_text(request, "status", status, sizeof status, &filter.status) ||
        !query_text(request, "prefix", prefix, sizeof prefix, &filter.prefix) ||
        !query_text(request, "queue", queue, sizeof queue, &filter.queue) ||
        !query_page(request, &limit, &filter.after))
        return;
    if (!status_known(filter.status)) {
        answer_invalid(request, "status: must be pending, running, completed, failed, cancelled "
                                "or paused");
        return;
    }
    filter.limit = limit;
    struct read_request *self = task_read_begin(request);
    if (self != NULL)
        tasks_list(request->server->tasks, &filter, read_answered, self);
}

void incident_list(const struct route_request *request)
{
    uint64_t limit;
    uint64_t after;
    if (!query_page_only(request, &limit, &after))
        return;
    struct read_request *self = task_read_begin(request);
    if (self != NULL)
        tasks_incidents(request->server->tasks, after, limit, read_answered, self);
}

void queue_list(const struct route_request *request)
{
    struct buffer out;
    buffer_init(&out, LEASE_BYTES_MAX);
    tasks_queues(request->server->tasks, &out);
    answer_json(request->server, request->exchange, 200, (struct bytes){out.data, out.size}, 0);
    buffer_release(&out);
}

/* ---- preview: the zone is a file, so it is read elsewhere */

struct preview {
    struct engine_read read; /* first */
    struct read_request base;
    struct cron cron;
    struct cron_policy policy;
    size_t zone_size;
    char zone[ZONE_NAME_MAX];
    uint64_t n;
    int64_t after_ms;
    enum tocsin_status status;
    struct tocsin_why why;
    struct buffer out;
    int64_t times_ms[PREVIEW_MAX];
};

static void preview_run(struct engine_read *read, struct store *store)
{
    struct preview *self = (struct preview *)read;
    struct zone *zone = NULL;
    struct json_writer writer;
    (void)store;
    self->status = zone_create(NULL, self->zone, self->zone_size, &zone, &self->why);
    if (self->status != TOCSIN_OK)
        return;
    json_writer_init(&writer, &self->out);
    json_write_object(&writer);
    json_write_key(&writer, "times");
    json_write_array(&writer);
    int64_t at = self->after_ms;
    uint64_t found = 0;
    for (; found < self->n; found++) {
        struct tocsin_why why;
        char text[INSTANT_TEXT_BYTES];
        if (cron_next(&self->cron, zone, self->policy, at, &at, &why) != TOCSIN_OK)
            break;
        int64_t second = at >= 0 ? at / 1000 : (at - 999) / 1000;
        instant_format(at, zone_offset_at(zone, second), text);
        json_write_text(&writer, text);
        self->times_ms[found] = at;
    }
    json_write_array_end(&writer);
    json_write_key(&writer, "times_ms");
    json_write_array(&writer);
    for (uint64_t i = 0; i < found; i++)
        json_write_int64(&writer, self->times_ms[i]);
    json_write_array_end(&writer);
    json_write_object_end(&writer);
    zone_destroy(zone);
}

static void preview_done(struct engine_read *read)
{
    struct preview *self = (struct preview *)read;
    char detail[240];
    (void)snprintf(detail, sizeof detail, "tz: %s", self->why.text);
    answer_outcome(self->base.server, self->base.exchange,
                   self->status == TOCSIN_OK ? OUTCOME_OK : OUTCOME_INVALID, 0,
                   (struct bytes){self->out.data, self->out.size}, detail, false);
    buffer_release(&self->out);
    free(self);
}

void schedule_preview(const struct route_request *request)
{
    static const char *const names[] = {"cron", "tz", "n", "after"};
    char cron_text[CRON_TEXT_MAX];
    char zone_text[ZONE_NAME_MAX];
    char after_text[48];
    struct bytes cron;
    struct bytes zone;
    struct bytes after;
    struct tocsin_why why = {""};
    struct cron parsed;
    uint64_t n = 5;
    int64_t after_ms = clock_wall(&request->server->clock).ns / 1000000;
    char detail[240];
    if (!query_fits(request, names, 4) ||
        !query_text(request, "cron", cron_text, sizeof cron_text, &cron) ||
        !query_text(request, "tz", zone_text, sizeof zone_text, &zone) ||
        !query_text(request, "after", after_text, sizeof after_text, &after) ||
        !query_whole(request, "n", 1, PREVIEW_MAX, &n))
        return;
    if (after.size > 0 &&
        instant_parse_either(after.at, after.size, &after_ms, &why) != TOCSIN_OK) {
        (void)snprintf(detail, sizeof detail, "after: %s", why.text);
        answer_invalid(request, detail);
        return;
    }
    if (cron_parse(cron.at, cron.size, &parsed, &why) != TOCSIN_OK) {
        (void)snprintf(detail, sizeof detail, "cron: %s", why.text);
        answer_invalid(request, detail);
        return;
    }
    struct preview *self = calloc(1, sizeof *self);
    if (self == NULL) {
        answer_invalid(request, "no memory for this request now: try again");
        return;
    }
    self->read = (struct engine_read){.run = preview_run, .done = preview_done};
    self->base = (struct read_request){request->server, request->exchange};
    self->cron = parsed;
    if (zone.size == 0)
        zone = bytes_of("UTC");
    memcpy(self->zone, zone.at, zone.size);
    self->zone_size = zone.size;
    self->n = n;
    self->after_ms = after_ms;
    buffer_init(&self->out, 256 * 1024);
    engine_read(request->server->engine, &self->read);
}

/* ---- leases */

struct lease_request {
    struct tasks_lease lease; /* first */
    struct server *server;
    struct http_exchange *exchange; /* NULL: the client has left */
    bool starting;
    char queue[ROUTE_PARAM_BYTES_MAX];
};

static void lease_free(struct lease_request *self)
{
    buffer_release(&self->lease.answer);
    free(self);
}

static void lease_answered(struct tasks_lease *lease)
{
    struct lease_request *self = (struct lease_request *)lease;
    enum outcome outcome = lease->outcome;
    if (self->exchange != NULL) {
        if (outcome == OUTCOME_OK && buffer_status(&lease->answer) != TOCSIN_OK)
            outcome = OUTCOME_OVERLOADED;
        answer_outcome(self->server, self->exchange, outcome, 0,
                       (struct bytes){lease->answer.data, lease->answer.size},
                       outcome == OUTCOME_TOO_MANY
                           ? "too many queues, or lease calls that wait: try again later"
                           : tocsin_status_text(TOCSIN_NO_MEMORY),
                       false);
    }
    lease_free(self);
}

static void lease_gone(void *arg)
{
    struct lease_request *self = arg;
    self->server->under_way--;
    self->exchange = NULL;
    if (!self->starting && tasks_lease_gone(self->server->tasks, &self->lease))
        lease_free(self);
}

void queue_lease(const struct route_request *request)
{
    struct server *server = request->server;
    int64_t max = 1;
    int64_t wait = 0;
    int64_t ttl = 30000;
    struct tocsin_why why;
    const struct body_field fields[] = {
        {.name = "max",
         .type = BODY_WHOLE,
         .into = &max,
         .min = 1,
         .max = (int64_t)server->config->limits.runs_per_lease},
        {.name = "wait", .type = BODY_DURATION, .into = &wait, .max = 3600000},
        {.name = "ttl", .type = BODY_DURATION, .into = &ttl, .min = 1, .max = 86400000},
    };
    struct bytes queue = {request->param, request->param_size};
    if (task_id_valid(queue, "queue", &why) != TOCSIN_OK) {
        answer_invalid(request, why.text);
        return;
    }
    if (!body_read(request, fields, 3))
        return;
    struct lease_request *self = request_alloc(request, sizeof *self);
    if (self == NULL)
        return;
    self->server = server;
    self->exchange = request->exchange;
    memcpy(self->queue, queue.at, queue.size);
    self->lease.queue = (struct bytes){self->queue, queue.size};
    self->lease.max = (uint32_t)max;
    self->lease.wait_ms = wait;
    self->lease.ttl_ms = ttl;
    self->lease.done = lease_answered;
    buffer_init(&self->lease.answer, LEASE_BYTES_MAX);
    self->starting = true;
    http_exchange_on_gone(request->exchange, lease_gone, self);
    self->starting = false;
    if (self->exchange == NULL)
        lease_free(self);
    else
        tasks_lease(server->tasks, &self->lease);
}
