/* SPDX-License-Identifier: MIT */
/* Answers: JSON, and problems (RFC 9457) with a code a program can go by and a sentence for a
 * person. */

#include <stdio.h>

#include "base/json_write.h"
#include "server/inside.h"

static const struct {
    int status;
    const char *title;
} titles[] = {
    {400, "Bad Request"},         {401, "Unauthorized"},         {403, "Forbidden"},
    {404, "Not Found"},           {405, "Method Not Allowed"},   {409, "Conflict"},
    {412, "Precondition Failed"}, {413, "Content Too Large"},    {415, "Unsupported Media Type"},
    {426, "Upgrade Required"},    {429, "Too Many Requests"},    {500, "Internal Server Error"},
    {503, "Service Unavailable"}, {507, "Insufficient Storage"},
};

static const char *title_of(int status)
{
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (titles[i].status == status)
            return titles[i].title;
    }
    return "Error";
}

static const struct {
    int status;
    const char *code;
} outcomes[] = {
    [OUTCOME_OK] = {200, ""},
    [OUTCOME_MADE] = {201, ""},
    [OUTCOME_REQUESTED] = {202, ""},
    [OUTCOME_INVALID] = {400, "VALIDATE_FAILED"},
    [OUTCOME_MISSING] = {404, "NOT_FOUND"},
    [OUTCOME_CONFLICTING] = {409, "CONFLICT"},
    [OUTCOME_LOST] = {409, "FENCED"},
    [OUTCOME_TO_CANCEL] = {409, "CANCEL_REQUESTED"},
    [OUTCOME_UNMATCHED] = {412, "CONFLICT"},
    [OUTCOME_TOO_MANY] = {429, "RATE_LIMITED"},
    [OUTCOME_OVERLOADED] = {503, "OVERLOADED"},
    [OUTCOME_UNAVAILABLE] = {503, "UNAVAILABLE"},
    [OUTCOME_NO_SPACE] = {507, "UNAVAILABLE"},
    [OUTCOME_BROKEN] = {500, "UNAVAILABLE"},
};

int answer_status(enum outcome outcome)
{
    return outcomes[outcome].status;
}

const char *answer_code(enum outcome outcome)
{
    return outcomes[outcome].code;
}

void answer_write_problem(struct buffer *out, int status, const char *code, const char *detail,
                          const char *of, struct bytes name)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    if (name.at != NULL) {
        json_write_key(&writer, of);
        json_write_string(&writer, name.at, name.size);
    }
    json_write_key(&writer, "status");
    json_write_int64(&writer, status);
    json_write_key(&writer, "code");
    json_write_text(&writer, code);
    json_write_key(&writer, "title");
    json_write_text(&writer, title_of(status));
    json_write_key(&writer, "detail");
    json_write_text(&writer, detail);
    json_write_object_end(&writer);
}

static void count(struct server *server, struct http_exchange *exchange, int status)
{
    enum metric_route metric = route_metric(http_exchange_request(exchange));
    metrics_count(&server->metrics, M_HTTP_REQUESTS,
                  metrics_pair(&server->metrics, M_HTTP_REQUESTS, metric, METRIC_CLASS_OF(status)),
                  1);
    if (status == 429)
        metrics_count(&server->metrics, M_HTTP_REFUSED, REFUSED_LIMITED, 1);
    else if (status == 503)
        metrics_count(&server->metrics, M_HTTP_REFUSED, REFUSED_UNAVAILABLE, 1);
}

void answer_bytes(struct server *server, struct http_exchange *exchange, int status,
                  const char *content_type, struct bytes body, const char *headers)
{
    count(server, exchange, status);
    server->under_way--;
    http_answer(exchange, &(struct http_answer){.status = status,
                                                .content_type = content_type,
                                                .body = body,
                                                .headers = headers});
}

void answer_problem(struct server *server, struct http_exchange *exchange,
                    const struct problem *problem)
{
    char room[1024];
    struct buffer out;
    buffer_init(&out, 4096);
    answer_write_problem(&out, problem->status, problem->code, problem->detail, "",
                         (struct bytes){0});
    if (problem->members.size > 2 && buffer_status(&out) == TOCSIN_OK) {
        out.data[out.size - 1] = ','; /* instead of the end of the one and the begin of the other */
        buffer_append(&out, problem->members.at + 1, problem->members.size - 1);
    }
    const char *headers = problem->headers;
    bool later = problem->status == 503 || problem->status == 429 || problem->status == 507;
    if (headers == NULL && later) {
        (void)snprintf(room, sizeof room, "Retry-After: 1\r\n");
        headers = room;
    }
    answer_bytes(server, exchange, problem->status, "application/problem+json",
                 (struct bytes){out.data, out.size}, headers);
    buffer_release(&out);
}

void answer_invalid(const struct route_request *request, const char *detail)
{
    answer_bad_json(request, false, detail);
}

void answer_bad_json(const struct route_request *request, bool malformed, const char *detail)
{
    answer_problem(request->server, request->exchange,
                   &(struct problem){.status = 400,
                                     .code = malformed ? "BAD_REQUEST" : "VALIDATE_FAILED",
                                     .detail = detail});
}

enum { ETAG_BYTES = 40 };

/* By hand: nearly every answer has one. */
static size_t write_etag(uint64_t rev, char ret_header[ETAG_BYTES])
{
    char digits[20];
    size_t count = 0;
    static const char before[] = {'E', 'T', 'a', 'g', ':', ' ', '"'};
    memcpy(ret_header, before, sizeof before);
    do {
        digits[count++] = (char)('0' + rev % 10);
        rev /= 10;
    } while (rev > 0);
    size_t size = sizeof before;
    while (count > 0)
        ret_header[size++] = digits[--count];
    memcpy(ret_header + size, "\"\r\n", 4);
    return size + 3;
}

void answer_json(struct server *server, struct http_exchange *exchange, int status,
                 struct bytes json, uint64_t rev)
{
    char etag[ETAG_BYTES];
    if (rev != 0)
        (void)write_etag(rev, etag);
    answer_bytes(server, exchange, status, "application/json", json, rev != 0 ? etag : NULL);
}

void answer_outcome(struct server *server, struct http_exchange *exchange, enum outcome outcome,
                    uint64_t rev, struct bytes json, const char *why, bool replayed)
{
    int status = answer_status(outcome);
    if (status >= 400) {
        answer_problem(server, exchange,
                       &(struct problem){.status = status,
                                         .code = answer_code(outcome),
                                         .detail = why[0] != '\0' ? why : "there is no such task",
                                         .headers = replayed ? ANSWER_REPLAYED : NULL});
        return;
    }
    char headers[96] = "";
    size_t size = 0;
    if (rev != 0)
        size = write_etag(rev, headers);
    if (replayed)
        (void)snprintf(headers + size, sizeof headers - size, ANSWER_REPLAYED);
    answer_bytes(server, exchange, status, "application/json", json,
                 headers[0] != '\0' ? headers : NULL);
}

void answer_reply(struct server *server, struct http_exchange *exchange, const struct reply *reply)
{
    answer_outcome(server, exchange, reply->outcome, reply->rev,
                   (struct bytes){reply->answer.data, reply->answer.size}, reply->why.text,
                   reply->replayed);
}
