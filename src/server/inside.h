/* SPDX-License-Identifier: MIT */
/* inside.h - what the files of the server share. For src/server only. */
#ifndef TOCSIN_SERVER_INSIDE_H
#define TOCSIN_SERVER_INSIDE_H

#include <signal.h>

#include "base/log.h"
#include "delivery/session.h"
#include "engine/engine.h"
#include "engine/threads.h"
#include "net/http_server.h"
#include "net/http_target.h"
#include "net/loop.h"
#include "server/config.h"
#include "server/metric_list.h"
#include "service/countdown/countdowns.h"
#include "service/lease/leases.h"
#include "service/task/tasks.h"
#include "service/task/uuid.h"

enum server_phase {
    SERVER_FOLLOWING, /* another node owns the records: there is no engine */
    SERVER_STARTING,
    SERVER_READY,
    SERVER_DRAINING,
    SERVER_STOPPED
};

struct subscriber;
struct advance;
struct ws;
struct keeper;
struct shared;

struct server {
    const struct config *config;
    enum server_phase phase;
    struct log log;
    struct metrics metrics;
    struct loop *loop;
    struct clock clock;
    struct clock_manual manual;
    struct store *store;
    struct store_state store_state;
    struct engine_threads *threads;
    struct engine *engine;
    struct idem *idem;
    struct tasks *tasks;
    struct countdowns *countdowns;
    struct leases *leases;
    struct live *live;
    struct keeper *keeper;     /* keeper.c */
    struct http_server **http; /* one for each address */
    size_t http_count;
    size_t http_open;
    size_t closing;
    uint64_t wheel_start;
    struct uuid_source uuids;
    uint64_t chance_state[4];
    struct signals *signals;
    struct shared *shared; /* shared.c; NULL: this node is alone */
    bool stopping;         /* a signal came */
    bool said_ready;
    struct subscriber *subscribers;     /* events.c */
    struct advance *advances;           /* operations.c */
    struct ws *ws;                      /* routes_ws.c */
    struct task_request *free_requests; /* routes_task.c */
    uint32_t free_request_count;
    struct task_wish *free_wishes;
    uint32_t free_wish_count;
    bool running; /* the engine turns */
    bool disk_full;
    int64_t refused_told_ns;    /* when the log was told that the store refuses commits; 0: never */
    bool held;                  /* live claims are written */
    uint32_t under_way;         /* requests not answered yet, drained for */
    struct engine_timer second; /* once a second */
    enum tocsin_status failed;
    struct tocsin_why why;
};

uint64_t server_chance(void *server);
/* New work for the engine may have come in: its turn comes at the end of this one. */
void server_turn(struct server *server);
void server_stop(struct server *server);

/* ---- services (services.c) */

/* All of them, before anything is loaded; then what was under way is taken up. */
enum tocsin_status services_start(struct server *server);
enum tocsin_status services_recover(struct server *server);
bool services_recovering(const struct server *server);
void services_say_restored(struct server *server);
/* With the engine. */
void services_destroy(struct server *server);

/* ---- routes (route.c): who asks for what */

enum { ROUTE_PARAMS_MAX = 1, ROUTE_PARAM_BYTES_MAX = 256 };

struct route_request {
    struct server *server;
    struct http_exchange *exchange;
    const struct http_request *http;
    const struct route *route;
    const char *token; /* the name of who asks; "" without tokens */
    size_t param_size;
    char param[ROUTE_PARAM_BYTES_MAX]; /* of the path, decoded */
};

enum route_auth { ROUTE_TOKEN, ROUTE_OPEN };
enum route_body { ROUTE_NO_BODY, ROUTE_JSON, ROUTE_NDJSON };

struct route {
    enum http_method method;
    const char *pattern; /* "/v1/tasks/{}/pause" */
    enum route_body body;
    enum route_auth auth;
    enum metric_route metric;
    void (*handle)(const struct route_request *request);
};

extern const struct route server_routes[];
extern const size_t server_route_count;

enum metric_route route_metric(const struct http_request *http);
void route_on_request(void *server, struct http_exchange *exchange,
                      const struct http_request *http);

/* The name of a token; NULL: none of ours. In a time that does not tell how much of it was right. */
const char *route_token(const struct server *server, struct bytes word);

/* ---- answers (answer.c) */

#define ANSWER_REPLAYED "Idempotency-Replayed: true\r\n"

struct problem {
    int status;
    const char *code;
    const char *detail;
    const char *headers;  /* NULL: none */
    struct bytes members; /* further ones: a JSON object; size 0: none */
};
void answer_problem(struct server *server, struct http_exchange *exchange,
                    const struct problem *problem);
void answer_invalid(const struct route_request *request, const char *detail);
/* 400, BAD_REQUEST when it is not even JSON. */
void answer_bad_json(const struct route_request *request, bool malformed, const char *detail);
void answer_json(struct server *server, struct http_exchange *exchange, int status,
                 struct bytes json, uint64_t rev);
void answer_bytes(struct server *server, struct http_exchange *exchange, int status,
                  const char *content_type, struct bytes body, const char *headers);
/* The problem as an object on a line, for NDJSON and batches; `of` is the field that says whose it
 * is, unless the name is NULL. */
void answer_write_problem(struct buffer *out, int status, const char *code, const char *detail,
                          const char *of, struct bytes name);
int answer_status(enum outcome outcome);
const char *answer_code(enum outcome outcome);
void answer_outcome(struct server *server, struct http_exchange *exchange, enum outcome outcome,
                    uint64_t rev, struct bytes json, const char *why, bool replayed);
void answer_reply(struct server *server, struct http_exchange *exchange, const struct reply *reply);

/* ---- what requests have in common (request.c). False: answered, unless it says otherwise */

bool request_conditions(const struct route_request *request, struct conditions *ret_conditions);
bool request_idempotency_fits(const struct route_request *request);
/* The Idempotency-Key with who asks, the route and the line: the same words of another are
 * another's. The text, which may be NULL, is the caller's to free. False: no memory for it. */
bool request_idempotency(const struct route_request *request, size_t line, struct bytes body,
                         char **ret_text, struct idem_ask *ret_ask);
void request_overloaded(const struct route_request *request);
/* Zeroed, to be freed. NULL: answered. */
void *request_alloc(const struct route_request *request, size_t bytes);

/* What every change keeps until it is answered, with the bytes that its call points to. */
struct change_request {
    struct server *server;
    struct http_exchange *exchange;
    char *idem; /* to be freed, also when it could not begin */
    char id[ROUTE_PARAM_BYTES_MAX];
};
bool change_begin(const struct route_request *request, struct change_request *self,
                  struct bytes *ret_id, struct conditions *ret_conditions,
                  struct idem_ask *ret_idem);

enum { QUERY_LIMIT_MAX = 1000, QUERY_LIMIT_DEFAULT = 100 };
bool query_fits(const struct route_request *request, const char *const *names, size_t count);
bool query_text(const struct route_request *request, const char *name, char *room, size_t size,
                struct bytes *ret_text);
bool query_whole(const struct route_request *request, const char *name, uint64_t min, uint64_t max,
                 uint64_t *into);
/* limit and after; the second refuses anything else. */
bool query_page(const struct route_request *request, uint64_t *ret_limit, uint64_t *ret_after);
bool query_page_only(const struct route_request *request, uint64_t *ret_limit, uint64_t *ret_after);
/* Which of the words, which end with NULL, it is, from 1; 0: it is not given. False: refused. */
bool query_word(const struct route_request *request, const char *name, const char *const *words,
                const char *complaint, int *ret_which);

/* A GET that is answered by read_answered. */
struct read_request {
    struct server *server;
    struct http_exchange *exchange;
    const char *missing; /* what a 404 says */
    const char *broken;  /* what a 500 says */
};
struct read_request *read_begin(const struct route_request *request, const char *missing);
void read_answered(void *arg, enum outcome outcome, uint64_t rev, struct bytes json);

/* ---- handlers */

void room_create(const struct route_request *request);
void room_get(const struct route_request *request);
void room_list(const struct route_request *request);
void countdown_put_request(const struct route_request *request);
void countdown_delete(const struct route_request *request);
void countdown_get(const struct route_request *request);
void countdown_list(const struct route_request *request);
void countdown_pause(const struct route_request *request);
void countdown_resume(const struct route_request *request);
void countdown_give(const struct route_request *request);
void renewal_create_request(const struct route_request *request);
void renewal_get(const struct route_request *request);
void renewal_list(const struct route_request *request);
void renewal_delete(const struct route_request *request);
void renewal_pause(const struct route_request *request);
void renewal_resume(const struct route_request *request);
void renewal_renew(const struct route_request *request);

void lease_put_request(const struct route_request *request);
void lease_keepalive(const struct route_request *request);
void lease_delete(const struct route_request *request);
void lease_get_request(const struct route_request *request);
void lease_list_request(const struct route_request *request);

void task_create(const struct route_request *request);
void task_put(const struct route_request *request);
void task_delete(const struct route_request *request);
void task_pause(const struct route_request *request);
void task_resume(const struct route_request *request);
void task_fire(const struct route_request *request);
void task_get(const struct route_request *request);
void task_why(const struct route_request *request);
void task_list(const struct route_request *request);
void task_batch(const struct route_request *request);
void incident_list(const struct route_request *request);
void incident_retry(const struct route_request *request);
void incident_drop(const struct route_request *request);
void schedule_preview(const struct route_request *request);
void queue_lease(const struct route_request *request);
void queue_list(const struct route_request *request);
void run_ack(const struct route_request *request);
void run_nack(const struct route_request *request);
void run_extend(const struct route_request *request);
void run_ack_many(const struct route_request *request);
void operations_health(const struct route_request *request);
void operations_ready(const struct route_request *request);
void operations_metrics(const struct route_request *request);
void operations_info(const struct route_request *request);
void operations_openapi(const struct route_request *request);
void operations_advance(const struct route_request *request);
void page_index(const struct route_request *request);
void page_script(const struct route_request *request);
void page_style(const struct route_request *request);
void page_icon(const struct route_request *request);
void events_stream(const struct route_request *request);
void ws_connect(const struct route_request *request);

/* Nothing that is due by now is under way any more. */
void operations_settled(struct server *server);

void events_init(struct server *server);
void events_end(struct server *server);
void task_requests_release(struct server *server);

/* ---- WebSockets (routes_ws.c) */

enum tocsin_status ws_create(struct server *server);
/* After all connections are closed. */
void ws_destroy(struct server *server);
void ws_set_metrics(struct server *server);
/* For services to publish to. */
struct topics *ws_topics(const struct server *server);
/* A refusal that no room makes: ERROR with code, detail and destination on /user/queue/errors. */
void ws_tell_error(struct session *session, struct bytes destination, const char *code,
                   const char *detail);

/* ---- bodies (body.c): small JSON objects */

struct body_field {
    const char *name;
    enum { BODY_DURATION, BODY_INSTANT, BODY_WHOLE, BODY_TEXT, BODY_RAW, BODY_BOOL } type;
    void *into;      /* int64_t; struct bytes for TEXT and RAW; bool */
    bool *ret_given; /* may be NULL */
    int64_t min;
    int64_t max; /* of a number; bytes of a text */
    char *room;  /* TEXT: where it is unescaped to, max bytes of it */
};
/* An empty body is an empty object. False: it has been answered. */
bool body_read(const struct route_request *request, const struct body_field *fields, size_t count);
/* Without control characters. */
bool body_plain(struct bytes text);
/* The value that comes next, as one field. */
bool body_read_value(struct json_reader *reader, const struct body_field *field);

#endif
