/* SPDX-License-Identifier: MIT */
/* Which handler, and may they? In this order: Host and Origin, the route, the method, the
 * token, the content type. */

#include <assert.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <strings.h>

#include "net/address.h"
#include "server/inside.h"
#include "server/shared.h"

const struct route server_routes[] = {
    {HTTP_POST, "/v1/tasks", ROUTE_JSON, ROUTE_TOKEN, ROUTE_TASKS, task_create},
    {HTTP_POST, "/v1/queues/{}/lease", ROUTE_JSON, ROUTE_TOKEN, ROUTE_LEASE, queue_lease},
    {HTTP_POST, "/v1/runs/ack", ROUTE_JSON, ROUTE_TOKEN, ROUTE_RUNS, run_ack_many},
    {HTTP_POST, "/v1/runs/{}/ack", ROUTE_JSON, ROUTE_TOKEN, ROUTE_RUNS, run_ack},
    {HTTP_POST, "/v1/runs/{}/nack", ROUTE_JSON, ROUTE_TOKEN, ROUTE_RUNS, run_nack},
    {HTTP_POST, "/v1/runs/{}/extend", ROUTE_JSON, ROUTE_TOKEN, ROUTE_RUNS, run_extend},
    {HTTP_GET, "/v1/tasks", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_TASKS, task_list},
    {HTTP_POST, "/v1/tasks/batch", ROUTE_NDJSON, ROUTE_TOKEN, ROUTE_BATCH, task_batch},
    {HTTP_PUT, "/v1/tasks/{}", ROUTE_JSON, ROUTE_TOKEN, ROUTE_TASKS, task_put},
    {HTTP_GET, "/v1/tasks/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_TASKS, task_get},
    {HTTP_DELETE, "/v1/tasks/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_TASKS, task_delete},
    {HTTP_POST, "/v1/tasks/{}/pause", ROUTE_JSON, ROUTE_TOKEN, ROUTE_TASKS, task_pause},
    {HTTP_POST, "/v1/tasks/{}/resume", ROUTE_JSON, ROUTE_TOKEN, ROUTE_TASKS, task_resume},
    {HTTP_POST, "/v1/tasks/{}/fire", ROUTE_JSON, ROUTE_TOKEN, ROUTE_TASKS, task_fire},
    {HTTP_GET, "/v1/tasks/{}/why", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_TASKS, task_why},
    {HTTP_GET, "/v1/schedules/preview", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_SCHEDULES,
     schedule_preview},
    {HTTP_GET, "/v1/queues", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_QUEUES, queue_list},
    {HTTP_GET, "/v1/incidents", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_INCIDENTS, incident_list},
    {HTTP_POST, "/v1/incidents/{}/retry", ROUTE_JSON, ROUTE_TOKEN, ROUTE_INCIDENTS, incident_retry},
    {HTTP_DELETE, "/v1/incidents/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_INCIDENTS, incident_drop},
    {HTTP_POST, "/v1/rooms", ROUTE_JSON, ROUTE_TOKEN, ROUTE_ROOMS, room_create},
    {HTTP_GET, "/v1/rooms", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_ROOMS, room_list},
    {HTTP_GET, "/v1/rooms/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_ROOMS, room_get},
    {HTTP_GET, "/v1/countdowns", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_COUNTDOWNS, countdown_list},
    {HTTP_PUT, "/v1/countdowns/{}", ROUTE_JSON, ROUTE_TOKEN, ROUTE_COUNTDOWNS,
     countdown_put_request},
    {HTTP_GET, "/v1/countdowns/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_COUNTDOWNS, countdown_get},
    {HTTP_DELETE, "/v1/countdowns/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_COUNTDOWNS,
     countdown_delete},
    {HTTP_POST, "/v1/countdowns/{}/pause", ROUTE_JSON, ROUTE_TOKEN, ROUTE_COUNTDOWNS,
     countdown_pause},
    {HTTP_POST, "/v1/countdowns/{}/resume", ROUTE_JSON, ROUTE_TOKEN, ROUTE_COUNTDOWNS,
     countdown_resume},
    {HTTP_POST, "/v1/countdowns/{}/give", ROUTE_JSON, ROUTE_TOKEN, ROUTE_COUNTDOWNS,
     countdown_give},
    {HTTP_POST, "/v1/renewals", ROUTE_JSON, ROUTE_TOKEN, ROUTE_RENEWALS, renewal_create_request},
    {HTTP_GET, "/v1/renewals", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_RENEWALS, renewal_list},
    {HTTP_GET, "/v1/renewals/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_RENEWALS, renewal_get},
    {HTTP_DELETE, "/v1/renewals/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_RENEWALS, renewal_delete},
    {HTTP_POST, "/v1/renewals/{}/pause", ROUTE_JSON, ROUTE_TOKEN, ROUTE_RENEWALS, renewal_pause},
    {HTTP_POST, "/v1/renewals/{}/resume", ROUTE_JSON, ROUTE_TOKEN, ROUTE_RENEWALS, renewal_resume},
    {HTTP_POST, "/v1/renewals/{}/renew", ROUTE_JSON, ROUTE_TOKEN, ROUTE_RENEWALS, renewal_renew},
    {HTTP_GET, "/v1/leases", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_LEASES, lease_list_request},
    {HTTP_PUT, "/v1/leases/{}", ROUTE_JSON, ROUTE_TOKEN, ROUTE_LEASES, lease_put_request},
    {HTTP_GET, "/v1/leases/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_LEASES, lease_get_request},
    {HTTP_DELETE, "/v1/leases/{}", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_LEASES, lease_delete},
    {HTTP_POST, "/v1/leases/{}/keepalive", ROUTE_JSON, ROUTE_TOKEN, ROUTE_LEASES, lease_keepalive},
    {HTTP_GET, "/v1/events", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_EVENTS, events_stream},
    {HTTP_GET, "/v1/info", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_OPERATIONS, operations_info},
    {HTTP_GET, "/healthz", ROUTE_NO_BODY, ROUTE_OPEN, ROUTE_OPERATIONS, operations_health},
    {HTTP_GET, "/readyz", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_OPERATIONS, operations_ready},
    {HTTP_GET, "/metrics", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_OPERATIONS, operations_metrics},
    {HTTP_GET, "/openapi.json", ROUTE_NO_BODY, ROUTE_TOKEN, ROUTE_OPERATIONS, operations_openapi},
    {HTTP_GET, "/ws", ROUTE_NO_BODY, ROUTE_OPEN, ROUTE_WS, ws_connect},
    {HTTP_GET, "/", ROUTE_NO_BODY, ROUTE_OPEN, ROUTE_PAGE, page_index},
    {HTTP_GET, "/app.js", ROUTE_NO_BODY, ROUTE_OPEN, ROUTE_PAGE, page_script},
    {HTTP_GET, "/app.css", ROUTE_NO_BODY, ROUTE_OPEN, ROUTE_PAGE, page_style},
    {HTTP_GET, "/favicon.svg", ROUTE_NO_BODY, ROUTE_OPEN, ROUTE_PAGE, page_icon},
    {HTTP_POST, "/v1/clock/advance", ROUTE_JSON, ROUTE_TOKEN, ROUTE_OPERATIONS, operations_advance},
};

const size_t server_route_count = sizeof server_routes / sizeof server_routes[0];

/* ---- matching */

/* {} stands for one segment, which is given back, not decoded. */
static bool matches(const char *pattern, struct bytes path, struct bytes *ret_param)
{
    struct bytes left = path;
    struct bytes wanted = bytes_of(pattern);
    struct bytes segment;
    struct bytes piece;
    while (http_path_next(&wanted, &piece)) {
        if (!http_path_next(&left, &segment))
            return false;
        if (bytes_are(piece, "{}")) {
            if (segment.size == 0)
                return false;
            *ret_param = segment;
        } else if (!bytes_equal(piece, segment)) {
            return false;
        }
    }
    return left.size == 0;
}

/* NULL: no such path (ret_allow empty), or not by this method. HEAD is a GET. */
static const struct route *find(const struct http_request *http, struct bytes *ret_param,
                                char ret_allow[64])
{
    static const char *const names[] = {"GET, HEAD", "HEAD",    "POST", "PUT",
                                        "DELETE",    "OPTIONS", "?"};
    enum http_method method = http->method == HTTP_HEAD ? HTTP_GET : http->method;
    const struct route *fallback = NULL;
    ret_allow[0] = '\0';
    for (size_t i = 0; i < server_route_count; i++) {
        const struct route *route = &server_routes[i];
        struct bytes param = {0};
        if (!matches(route->pattern, http->path, &param))
            continue;
        if (route->method == method && fallback == NULL) {
            *ret_param = param;
            fallback = route;
            if (param.size == 0)
                return route; /* named in full: /v1/runs/ack is no run */
        }
        size_t size = strlen(ret_allow);
        (void)snprintf(ret_allow + size, 64 - size, "%s%s", size > 0 ? ", " : "",
                       names[route->method]);
    }
    return fallback;
}

enum metric_route route_metric(const struct http_request *http)
{
    char allow[64];
    struct bytes param;
    const struct route *route = find(http, &param, allow);
    return route == NULL ? ROUTE_OTHER : route->metric;
}

/* ---- who asks */

static bool same_name(struct bytes one, struct bytes other)
{
    return one.size == other.size && strncasecmp(one.at, other.at, one.size) == 0;
}

/* The name without its port. */
static struct bytes without_port(struct bytes host)
{
    size_t end = host.size;
    if (end > 0 && host.at[0] == '[') {
        const char *close = memchr(host.at, ']', host.size);
        return close == NULL ? host : (struct bytes){host.at, (size_t)(close - host.at) + 1};
    }
    for (size_t i = 0; i < host.size; i++) {
        if (host.at[i] == ':')
            end = i;
    }
    return (struct bytes){host.at, end};
}

/* None at all comes with HTTP/1.0 only, which no browser speaks: nobody's page is behind it. */
static bool host_allowed(const struct server *server, struct bytes host)
{
    static const char *const loopback[] = {"localhost", "127.0.0.1", "[::1]"};
    if (host.at == NULL)
        return true;
    struct bytes name = without_port(host);
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++) {
        if (same_name(name, bytes_of(loopback[i])))
            return true;
    }
    for (size_t i = 0; i < server->http_count; i++) {
        if (server->http[i] != NULL &&
            same_name(host, bytes_of(http_server_address(server->http[i]))))
            return true;
    }
    for (size_t i = 0; server->shared != NULL && i < server->config->listen.count; i++) {
        if (same_name(host, bytes_of(shared_address(server, i))))
            return true;
    }
    const struct config_list *allowed = &server->config->allowed_hosts;
    for (size_t i = 0; i < allowed->count; i++) {
        struct bytes item = bytes_of(allowed->items[i]);
        if (same_name(host, item) || same_name(name, item))
            return true;
    }
    return false;
}

/* A page from elsewhere says where it is from; one of ours, or a program, need not. */
static bool origin_allowed(const struct server *server, const struct http_request *http)
{
    struct bytes origin = http_request_header(http, "Origin");
    if (origin.at == NULL)
        return true;
    const struct config_list *allowed = &server->config->allowed_origins;
    for (size_t i = 0; i < allowed->count; i++) {
        if (same_name(origin, bytes_of(allowed->items[i])))
            return true;
    }
    const char *scheme = http->tls ? "https://" : "http://";
    size_t size = strlen(scheme);
    return origin.size > size && strncasecmp(origin.at, scheme, size) == 0 &&
           same_name((struct bytes){origin.at + size, origin.size - size}, http->host);
}

const char *route_token(const struct server *server, struct bytes word)
{
    const struct config_tokens *tokens = &server->config->tokens;
    const char *found = NULL;
    for (size_t i = 0; i < tokens->count; i++) {
        struct bytes token = bytes_of(tokens->items[i].token);
        if (token.size == word.size && CRYPTO_memcmp(token.at, word.at, word.size) == 0)
            found = tokens->items[i].name;
    }
    return found;
}

static const char *token_of(const struct server *server, const struct http_request *http)
{
    struct bytes given = http_request_header(http, "Authorization");
    if (given.at == NULL || given.size < 7 || strncasecmp(given.at, "Bearer ", 7) != 0)
        return NULL;
    return route_token(server, (struct bytes){given.at + 7, given.size - 7});
}

static bool content_type_fits(const struct http_request *http, enum route_body body)
{
    if (http->body.size == 0)
        return true;
    struct bytes type = http_request_header(http, "Content-Type");
    if (type.at == NULL)
        return false;
    size_t end = 0;
    while (end < type.size && type.at[end] != ';' && type.at[end] != ' ')
        end++;
    type.size = end;
    return same_name(type, bytes_of("application/json")) ||
           (body == ROUTE_NDJSON && same_name(type, bytes_of("application/x-ndjson")));
}

/* ---- the gate */

static bool refuse(struct server *server, struct http_exchange *exchange, int status,
                   const char *code, const char *detail, const char *headers,
                   enum metric_refused why)
{
    metrics_count(&server->metrics, M_HTTP_REFUSED, why, 1);
    answer_problem(
        server, exchange,
        &(struct problem){.status = status, .code = code, .detail = detail, .headers = headers});
    return false;
}

static bool from_here(struct server *server, struct http_exchange *exchange,
                      const struct http_request *http)
{
    if (!host_allowed(server, http->host))
        return refuse(server, exchange, 403, "FORBIDDEN",
                      "Host: this name is not ours; allowed_hosts in the configuration lists "
                      "further ones",
                      NULL, REFUSED_FOREIGN);
    if (!origin_allowed(server, http))
        return refuse(server, exchange, 403, "FORBIDDEN",
                      "Origin: pages from there may not call; allowed_origins in the "
                      "configuration lists those that may",
                      NULL, REFUSED_FOREIGN);
    return true;
}

static bool may_ask(struct route_request *request)
{
    struct server *server = request->server;
    request->token = "";
    if (server->config->tokens.count == 0 || request->route->auth == ROUTE_OPEN)
        return true;
    const char *token = token_of(server, request->http);
    if (token == NULL)
        return refuse(server, request->exchange, 401, "UNAUTHORIZED",
                      "Authorization: a bearer token of this server is needed",
                      "WWW-Authenticate: Bearer realm=\"tocsin\"\r\n", REFUSED_UNAUTHORIZED);
    request->token = token;
    return true;
}

/* In the contract, and not built yet. */
static bool to_come(struct bytes path)
{
    static const char *const starts[] = {"/v1/courts",   "/v1/slots", "/v1/sales", "/v1/holds",
                                         "/v1/bookings", "/v1/games", "/reserve"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        size_t size = strlen(starts[i]);
        if (path.size >= size && memcmp(path.at, starts[i], size) == 0 &&
            (path.size == size || path.at[size] == '/'))
            return true;
    }
    return false;
}

static bool known(struct route_request *request, struct bytes *ret_param)
{
    char allow[64];
    request->route = find(request->http, ret_param, allow);
    if (request->route != NULL)
        return true;
    if (to_come(request->http->path))
        return refuse(request->server, request->exchange, 400, "VALIDATE_FAILED",
                      "path: not in this version", NULL, REFUSED_MALFORMED);
    if (allow[0] == '\0')
        return refuse(request->server, request->exchange, 404, "NOT_FOUND",
                      "there is nothing under this path; /openapi.json lists what there is", NULL,
                      REFUSED_MALFORMED);
    char header[80];
    (void)snprintf(header, sizeof header, "Allow: %s\r\n", allow);
    return refuse(request->server, request->exchange, 405, "BAD_REQUEST",
                  "this path is there, but not for this method; see the Allow header", header,
                  REFUSED_MALFORMED);
}

/* Tasks, queues and runs are named by one rule. False: answered. */
static bool param_fits(struct route_request *request, struct bytes param)
{
    const char *pattern = request->route->pattern;
    const char *name = strncmp(pattern, "/v1/queues/", 11) == 0       ? "queue"
                       : strncmp(pattern, "/v1/runs/", 9) == 0        ? "run"
                       : strncmp(pattern, "/v1/countdowns/", 15) == 0 ? "key"
                       : strncmp(pattern, "/v1/leases/", 11) == 0     ? "name"
                                                                      : "id";
    struct tocsin_why why;
    if (http_path_decode(param, request->param, sizeof request->param, &request->param_size) !=
        TOCSIN_OK) {
        (void)snprintf(why.text, sizeof why.text,
                       "%s: over 255 bytes, or not well-formed UTF-8 in the path", name);
        answer_invalid(request, why.text);
        return false;
    }
    struct bytes text = {request->param, request->param_size};
    if (text.size == 0 || task_id_valid(text, name, &why) == TOCSIN_OK)
        return true;
    answer_invalid(request, why.text);
    return false;
}

void route_on_request(void *arg, struct http_exchange *exchange, const struct http_request *http)
{
    struct server *server = arg;
    struct route_request request = {.server = server, .exchange = exchange, .http = http};
    struct bytes param = {0};
    server->under_way++;
    if (server->phase != SERVER_FOLLOWING && !shared_may_act(server)) {
        (void)refuse(server, exchange, 503, "UNAVAILABLE",
                     "this node does not own the records any more; try again", "Retry-After: 1\r\n",
                     REFUSED_UNAVAILABLE);
        return;
    }
    if (!from_here(server, exchange, http) || !known(&request, &param) || !may_ask(&request))
        return;
    if (!content_type_fits(http, request.route->body)) {
        (void)refuse(server, exchange, 415, "BAD_REQUEST",
                     request.route->body == ROUTE_NDJSON
                         ? "Content-Type: application/x-ndjson or application/json is needed"
                         : "Content-Type: application/json is needed",
                     NULL, REFUSED_MALFORMED);
        return;
    }
    if (param_fits(&request, param))
        request.route->handle(&request);
}
