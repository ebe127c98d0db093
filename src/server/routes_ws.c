/* SPDX-License-Identifier: MIT */
/* GET /ws: STOMP 1.2 over WebSocket. Host and Origin were looked at as for every route; the token
 * comes with CONNECT, as its passcode, since a page cannot set headers on a WebSocket.
 *
 * Services take what clients send to their own destinations; what is sent to none of them is
 * answered with an error on /user/queue/errors. */
#include <stdlib.h>
#include <uv.h>

#include "base/json_write.h"
#include "delivery/stomp_socket.h"
#include "server/live.h"

enum {
    TOLD_PER_TURN = 64, /* subscribers: some 0.4 ms, with the writes it leads to */
    ERROR_BYTES_MAX = 4096,
};

struct ws {
    struct server *server;
    struct topics *topics;
    struct websocket_counters counters;
    struct loop_deferred run;
};

/* ---- what the topics ask for */

static const char *on_connect(void *arg, struct session *session, struct bytes login,
                              struct bytes passcode)
{
    struct ws *ws = arg;
    struct server *server = ws->server;
    (void)session;
    (void)login;
    if (server->config->tokens.count == 0)
        return NULL;
    if (passcode.at != NULL && route_token(server, passcode) != NULL)
        return NULL;
    metrics_count(&server->metrics, M_HTTP_REFUSED, REFUSED_UNAUTHORIZED, 1);
    return "passcode: a token of this server is needed";
}

static void write_error(struct json_writer *writer, const char *code, const char *detail)
{
    json_write_key(writer, "code");
    json_write_text(writer, code);
    json_write_key(writer, "detail");
    json_write_text(writer, detail);
}

/* As a room refuses something, though no room is known: every frame has these fields. */
void ws_tell_error(struct session *session, struct bytes destination, const char *code,
                   const char *detail)
{
    struct buffer out;
    struct json_writer writer;
    buffer_init(&out, ERROR_BYTES_MAX);
    json_writer_init(&writer, &out);
    json_write_object(&writer);
    json_write_key(&writer, "roomId");
    json_write_null(&writer);
    json_write_key(&writer, "gameId");
    json_write_null(&writer);
    json_write_key(&writer, "type");
    json_write_text(&writer, "ERROR");
    json_write_key(&writer, "seq");
    json_write_uint64(&writer, 0);
    write_error(&writer, code, detail);
    json_write_key(&writer, "destination");
    json_write_string(&writer, destination.at, destination.size);
    json_write_key(&writer, "payload");
    json_write_object(&writer);
    write_error(&writer, code, detail);
    json_write_object_end(&writer);
    json_write_object_end(&writer);
    if (buffer_status(&out) == TOCSIN_OK)
        (void)session_tell(session, bytes_of("/user/queue/errors"), "application/json",
                           (struct bytes){out.data, out.size});
    buffer_release(&out);
}

static enum session_when on_send(void *arg, struct session *session,
                                 const struct stomp_frame *frame, uint64_t ticket)
{
    return live_on_send(((struct ws *)arg)->server->live, session, frame, ticket);
}

static void on_end(void *arg, struct session *session)
{
    live_on_end(((struct ws *)arg)->server->live, session);
}

static uint64_t now_ms(void *arg)
{
    struct ws *ws = arg;
    return uv_now(loop_uv(ws->server->loop));
}

static void run(void *arg)
{
    struct ws *ws = arg;
    if (topics_run(ws->topics, TOLD_PER_TURN))
        loop_defer(ws->server->loop, &ws->run);
}

static void wake(void *arg)
{
    struct ws *ws = arg;
    loop_defer(ws->server->loop, &ws->run);
}

/* ---- the route */

static void refuse(const struct route_request *request, int status, const char *problem,
                   const char *headers)
{
    const char *code = status == 503 ? "OVERLOADED" : "BAD_REQUEST";
    answer_problem(request->server, request->exchange,
                   &(struct problem){.status = status,
                                     .code = code,
                                     .detail = problem,
                                     .headers = headers[0] != '\0' ? headers : NULL});
}

void ws_connect(const struct route_request *request)
{
    struct server *server = request->server;
    struct ws *ws = server->ws;
    char headers[WEBSOCKET_HEADERS_BYTES];
    const char *problem = "";
    int status = stomp_socket_open(request->exchange,
                                   &(struct stomp_socket_options){
                                       .topics = ws->topics,
                                       .message_bytes = server->config->ws.message_bytes,
                                       .queue_bytes = server->config->ws.queue_bytes,
                                       .counters = &ws->counters,
                                   },
                                   headers, &problem);
    if (status != 101) {
        refuse(request, status, problem, headers);
        return;
    }
    server->under_way--;
    metrics_count(
        &server->metrics, M_HTTP_REQUESTS,
        metrics_pair(&server->metrics, M_HTTP_REQUESTS, ROUTE_WS, METRIC_CLASS_OF(status)), 1);
}

/* ---- life */

enum tocsin_status ws_create(struct server *server)
{
    const struct config_ws *config = &server->config->ws;
    struct topics_limits limits = topics_limits_default;
    limits.sessions = (uint32_t)config->connections;
    limits.topics = (uint32_t)config->topics;
    limits.subscriptions = (uint32_t)config->subscriptions;
    limits.heart_beat_ms = (uint32_t)config->heart_beat;
    limits.connect_ms = (uint32_t)server->config->limits.head_timeout;
    limits.frame.body_bytes = (uint32_t)config->message_bytes;
    struct ws *ws = calloc(1, sizeof *ws);
    if (ws == NULL)
        return TOCSIN_NO_MEMORY;
    ws->server = server;
    ws->run = (struct loop_deferred){.run = run, .arg = ws};
    enum tocsin_status status = topics_create(
        &(struct topics_options){
            .limits = limits,
            .hooks = {.on_connect = on_connect,
                      .on_send = on_send,
                      .on_end = on_end,
                      .wake = wake,
                      .now_ms = now_ms,
                      .arg = ws},
            .hash_key = {server_chance(server), server_chance(server)},
            .server = "tocsin/" TOCSIN_VERSION,
        },
        &ws->topics);
    if (status != TOCSIN_OK) {
        free(ws);
        return status;
    }
    server->ws = ws;
    return TOCSIN_OK;
}

struct topics *ws_topics(const struct server *server)
{
    return server->ws->topics;
}

void ws_destroy(struct server *server)
{
    if (server->ws == NULL)
        return;
    topics_destroy(server->ws->topics);
    free(server->ws);
}

void ws_set_metrics(struct server *server)
{
    struct metrics *metrics = &server->metrics;
    const struct websocket_counters *sockets = &server->ws->counters;
    struct topics_counters topics;
    topics_describe(server->ws->topics, &topics);
    metrics_set(metrics, M_WS_CONNECTIONS, 0, (int64_t)sockets->open);
    metrics_set(metrics, M_WS_CONNECTIONS_LIMIT, 0, (int64_t)server->config->ws.connections);
    metrics_set(metrics, M_WS_OPENED, 0, (int64_t)sockets->opened);
    metrics_set(metrics, M_WS_DROPPED, WS_DROPPED_SLOW, (int64_t)sockets->slow);
    metrics_set(metrics, M_WS_DROPPED, WS_DROPPED_SILENT, (int64_t)topics.silent);
    metrics_set(metrics, M_WS_DROPPED, WS_DROPPED_BROKEN, (int64_t)sockets->broken);
    metrics_set(metrics, M_WS_DROPPED, WS_DROPPED_TOO_LARGE, (int64_t)sockets->too_large);
    metrics_set(metrics, M_WS_DROPPED, WS_DROPPED_REFUSED, (int64_t)topics.refused);
    metrics_set(metrics, M_WS_SESSIONS, 0, (int64_t)topics.connected);
    metrics_set(metrics, M_WS_SUBSCRIPTIONS, 0, (int64_t)topics.subscriptions);
    metrics_set(metrics, M_WS_TOPICS, 0, (int64_t)topics.topics);
    metrics_set(metrics, M_WS_RECEIVED, 0, (int64_t)topics.received);
    metrics_set(metrics, M_WS_PUBLISHED, 0, (int64_t)topics.published);
    metrics_set(metrics, M_WS_DELIVERED, 0, (int64_t)topics.delivered);
    metrics_set(metrics, M_WS_UNTOLD, 0, (int64_t)topics.untold);
    metrics_set(metrics, M_WS_NACKED, 0, (int64_t)topics.nacked);
    metrics_set(metrics, M_WS_PENDING, 0, (int64_t)topics.pending);
}
