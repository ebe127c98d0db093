/* SPDX-License-Identifier: MIT */
/* http_outcome.h - what does the parser make of these bytes, cut in these places?
 *
 * Feeds a stream of requests to http_parse as a connection would, and writes down all it says,
 * so that two ways of cutting can be compared as texts:
 *
 *     GET path=/a query=- host=x close=0 continue=0
 *       Host: x
 *       body=
 *     REFUSED 400 A header line has no colon.
 *
 * Input that is cut is parsed in two steps, the head and then the rest; whole input in one.
 * The last line is REFUSED, MORE (the input ends inside a request) or END. The bytes are kept in
 * an allocation of exactly their size, so that a sanitizer sees a read past their end.
 */
#ifndef TEST_HTTP_OUTCOME_H
#define TEST_HTTP_OUTCOME_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "net/http_parse.h"

static const struct http_parse_limits outcome_limits = {
    .head_bytes = 512,
    .headers = 8,
    .body_bytes = 64,
};

struct outcome_feed {
    struct http_parser parser;
    char *data;
    size_t size;
    bool over;
    bool head_first;
    struct buffer *out;
};

static inline void outcome_bytes(struct buffer *out, const char *label, struct bytes bytes)
{
    buffer_append_text(out, label);
    if (bytes.at == NULL)
        buffer_append_text(out, "-");
    else
        buffer_append(out, bytes.at, bytes.size);
}

static inline void outcome_request(struct outcome_feed *feed)
{
    static const char *const methods[] = {"GET",    "HEAD",    "POST", "PUT",
                                          "DELETE", "OPTIONS", "OTHER"};
    struct http_header headers[8];
    struct http_request request;
    struct buffer *out = feed->out;
    http_parser_request(&feed->parser, feed->data, headers, &request);
    buffer_append_text(out, methods[request.method]);
    outcome_bytes(out, " path=", request.path);
    outcome_bytes(out, " query=", request.query);
    outcome_bytes(out, " host=", request.host);
    buffer_append_text(out, feed->parser.wants_close ? " close=1" : " close=0");
    buffer_append_text(out, feed->parser.wants_continue ? " continue=1\n" : " continue=0\n");
    for (size_t i = 0; i < request.header_count; i++) {
        outcome_bytes(out, "  ", headers[i].name);
        outcome_bytes(out, ": ", headers[i].value);
        buffer_append_byte(out, '\n');
    }
    outcome_bytes(out, "  body=", request.body);
    buffer_append_byte(out, '\n');
}

static inline void outcome_refusal(struct outcome_feed *feed)
{
    char status[4] = {(char)('0' + feed->parser.status / 100),
                      (char)('0' + feed->parser.status / 10 % 10),
                      (char)('0' + feed->parser.status % 10), '\0'};
    buffer_append_text(feed->out, "REFUSED ");
    buffer_append_text(feed->out, status);
    buffer_append_byte(feed->out, ' ');
    buffer_append_text(feed->out, feed->parser.detail);
    feed->over = true;
}

/* Replaces the bytes by so many from there, in an allocation of just that size. */
static inline void outcome_keep(struct outcome_feed *feed, const char *from, size_t size,
                                const char *more, size_t more_size)
{
    char *data = malloc(size + more_size > 0 ? size + more_size : 1);
    if (data == NULL)
        abort();
    if (size > 0)
        memcpy(data, from, size);
    if (more_size > 0)
        memcpy(data + size, more, more_size);
    free(feed->data);
    feed->data = data;
    feed->size = size + more_size;
}

/* The head alone, when it is asked for; what lies behind it must stay as it is. */
static inline enum http_parse_end outcome_parse(struct outcome_feed *feed)
{
    if (feed->head_first && !http_parser_has_head(&feed->parser)) {
        char *before = malloc(feed->size);
        if (before == NULL)
            abort();
        memcpy(before, feed->data, feed->size);
        enum http_parse_end end =
            http_parse_head(&feed->parser, &outcome_limits, feed->data, feed->size);
        if (memcmp(before, feed->data, feed->size) != 0)
            abort();
        free(before);
        if (end != HTTP_PARSE_DONE)
            return end;
    }
    return http_parse(&feed->parser, &outcome_limits, feed->data, &feed->size);
}

static inline void outcome_take(struct outcome_feed *feed, const char *bytes, size_t size)
{
    if (feed->over)
        return;
    outcome_keep(feed, feed->data, feed->size, bytes, size);
    while (feed->size > 0) {
        switch (outcome_parse(feed)) {
        case HTTP_PARSE_MORE:
            return;
        case HTTP_PARSE_REFUSED:
            outcome_refusal(feed);
            return;
        case HTTP_PARSE_DONE: {
            size_t used = http_parser_used(&feed->parser);
            if (http_parser_kept(&feed->parser) > used || used > feed->size)
                abort();
            outcome_request(feed);
            outcome_keep(feed, feed->data + used, feed->size - used, NULL, 0);
            http_parser_init(&feed->parser);
            break;
        }
        }
    }
}

/* Cut after each `step` bytes, and once more after the first `first`. The buffer grows by the
 * text, which is terminated. */
static inline void outcome_of(const char *bytes, size_t size, size_t first, size_t step,
                              struct buffer *out)
{
    struct outcome_feed feed = {.out = out, .head_first = first > 0 || step < size};
    http_parser_init(&feed.parser);
    size_t at = 0;
    while (at < size) {
        size_t next = at == 0 && first > 0 ? first : at + step;
        if (next > size)
            next = size;
        outcome_take(&feed, bytes + at, next - at);
        at = next;
    }
    if (!feed.over)
        buffer_append_text(out, feed.size > 0 ? "MORE" : "END");
    buffer_append_byte(out, '\0');
    free(feed.data);
}

#endif
