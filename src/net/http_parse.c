/* SPDX-License-Identifier: MIT */
/* What comes next:
 *
 *   state        the bytes at line_at                        then
 *   START        perhaps one empty line                      REQUEST_LINE
 *   REQUEST_LINE method, target, version                     FIELDS
 *   FIELDS       a field, or the empty line                  FIELDS, or BODY, or CHUNK_SIZE
 *   BODY         as many bytes as Content-Length says        DONE
 *   CHUNK_SIZE   a hexadecimal number, perhaps extensions    CHUNK_DATA, or TRAILERS after 0
 *   CHUNK_DATA   that many bytes                             CHUNK_END
 *   CHUNK_END    CR LF                                       CHUNK_SIZE
 *   TRAILERS     a field, or the empty line                  TRAILERS, or DONE
 *
 * Lines are judged in their order and only when they are whole, or when they can no longer fit
 * their limit: so where the input was cut makes no difference. */
#include "net/http_parse.h"

#include <assert.h>
#include <string.h>

#include "net/http_head.h"

enum {
    CHUNK_DIGITS_MAX = 8,
    LINE_END_BYTES = 2,
};

enum state {
    START,
    REQUEST_LINE,
    FIELDS,
    BODY,
    CHUNK_SIZE,
    CHUNK_DATA,
    CHUNK_END,
    TRAILERS,
    DONE,
};

/* How a step ended: go on with the next state, wait for bytes, or give up. */
enum step { STEP_NEXT, STEP_MORE, STEP_REFUSED };

struct input {
    char *data;
    size_t size;
    const struct http_parse_limits *limits;
};

void http_parser_init(struct http_parser *parser)
{
    *parser = (struct http_parser){.state = START};
}

static enum step step_of(bool fine)
{
    return fine ? STEP_NEXT : STEP_REFUSED;
}

/* The line at line_at, without its end, when it is whole and ends at or before limit. */
static enum step read_line(struct http_parser *parser, const struct input *input, size_t limit,
                           struct http_span *ret_line)
{
    size_t end = input->size < limit ? input->size : limit;
    size_t from = parser->scanned > parser->line_at ? parser->scanned : parser->line_at;
    const char *feed = from < end ? memchr(input->data + from, '\n', end - from) : NULL;
    if (feed == NULL) {
        parser->scanned = (uint32_t)(from < end ? end : from);
        if (input->size < limit)
            return STEP_MORE;
        (void)http_head_refuse(parser, 431, "The head is larger than this server takes.");
        return STEP_REFUSED;
    }
    uint32_t feed_at = (uint32_t)(feed - input->data);
    if (feed_at == parser->line_at || feed[-1] != '\r') {
        (void)http_head_refuse(parser, 400, "A line ends with LF alone; it must be CR LF.");
        return STEP_REFUSED;
    }
    *ret_line = (struct http_span){parser->line_at, feed_at - 1 - parser->line_at};
    parser->line_at = feed_at + 1;
    return STEP_NEXT;
}

/* One empty line before a request is forgiven, since old clients send it after a body. */
static enum step read_start(struct http_parser *parser, const struct input *input)
{
    const char *data = input->data;
    if (input->size == 0 || (data[0] == '\r' && input->size < 3))
        return STEP_MORE;
    size_t at = data[0] == '\r' && data[1] == '\n' ? LINE_END_BYTES : 0;
    if (!http_head_may_begin(data[at]))
        return step_of(http_head_refuse(parser, 400, "The request does not begin with a method."));
    parser->line_at = (uint32_t)at;
    parser->state = REQUEST_LINE;
    return STEP_NEXT;
}

static enum step read_request_line(struct http_parser *parser, const struct input *input)
{
    struct http_span line;
    enum step step = read_line(parser, input, input->limits->head_bytes, &line);
    if (step == STEP_REFUSED && parser->status == 431)
        (void)http_head_refuse(parser, 414, "The request target is longer than this server takes.");
    if (step != STEP_NEXT)
        return step;
    parser->state = FIELDS;
    return step_of(http_head_request_line(parser, input->data, line));
}

static enum step end_head(struct http_parser *parser, const struct input *input)
{
    if (!http_head_end(parser, input->limits))
        return STEP_REFUSED;
    parser->head_end = parser->line_at;
    parser->state = parser->chunked ? CHUNK_SIZE : BODY;
    return STEP_NEXT;
}

static enum step read_field(struct http_parser *parser, const struct input *input)
{
    struct http_span line;
    enum step step = read_line(parser, input, input->limits->head_bytes, &line);
    if (step != STEP_NEXT)
        return step;
    if (line.size == 0)
        return end_head(parser, input);
    if (parser->header_count >= input->limits->headers)
        return step_of(
            http_head_refuse(parser, 431, "There are more headers than this server takes."));
    return step_of(http_head_field(parser, input->data, line));
}

static enum step read_body(struct http_parser *parser, const struct input *input)
{
    if (input->size - parser->line_at < parser->length)
        return STEP_MORE;
    parser->body_size = (uint32_t)parser->length;
    parser->line_at += parser->body_size;
    parser->state = DONE;
    return STEP_NEXT;
}

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    char letter = (char)(byte | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static enum step refuse_size(struct http_parser *parser)
{
    return step_of(http_head_refuse(parser, 400,
                                    "The size of a chunk must be one to eight hexadecimal digits "
                                    "and nothing else."));
}

/* How far the line at line_at may reach: extensions and trailers share what a head may have. */
static size_t ignored_limit(const struct http_parser *parser, const struct input *input)
{
    return parser->line_at + LINE_END_BYTES + (size_t)input->limits->head_bytes - parser->ignored;
}

static enum step read_chunk_size(struct http_parser *parser, const struct input *input)
{
    struct http_span line;
    size_t limit = ignored_limit(parser, input) + CHUNK_DIGITS_MAX;
    enum step step = read_line(parser, input, limit, &line);
    if (step != STEP_NEXT)
        return step;
    const char *text = input->data + line.at;
    uint32_t size = 0;
    uint32_t digits = 0;
    while (digits < line.size && hex_value(text[digits]) >= 0) {
        if (digits == CHUNK_DIGITS_MAX)
            return refuse_size(parser);
        size = size << 4 | (uint32_t)hex_value(text[digits]);
        digits++;
    }
    uint32_t rest = line.size - digits;
    if (digits == 0 || (rest > 0 && text[digits] != ';') || !http_head_plain(text + digits, rest))
        return refuse_size(parser);
    if (rest > input->limits->head_bytes - parser->ignored)
        return step_of(http_head_refuse(parser, 431, "The extensions of the chunks are too long."));
    parser->ignored += rest;
    if (size > input->limits->body_bytes - parser->body_size)
        return step_of(http_head_refuse(parser, 413, "The body is larger than this server takes."));
    parser->chunk_left = size;
    parser->state = size > 0 ? CHUNK_DATA : TRAILERS;
    return STEP_NEXT;
}

static enum step read_chunk_data(struct http_parser *parser, const struct input *input)
{
    size_t here = input->size - parser->line_at;
    uint32_t take = here < parser->chunk_left ? (uint32_t)here : parser->chunk_left;
    char *to = input->data + http_parser_kept(parser);
    memmove(to, input->data + parser->line_at, take);
    parser->body_size += take;
    parser->line_at += take;
    parser->chunk_left -= take;
    if (parser->chunk_left > 0)
        return STEP_MORE;
    parser->state = CHUNK_END;
    return STEP_NEXT;
}

static enum step read_chunk_end(struct http_parser *parser, const struct input *input)
{
    const char *at = input->data + parser->line_at;
    size_t here = input->size - parser->line_at;
    if ((here > 0 && at[0] != '\r') || (here > 1 && at[1] != '\n'))
        return step_of(http_head_refuse(parser, 400,
                                        "A chunk is longer than its size says, or its end is not "
                                        "CR LF."));
    if (here < LINE_END_BYTES)
        return STEP_MORE;
    parser->line_at += LINE_END_BYTES;
    parser->state = CHUNK_SIZE;
    return STEP_NEXT;
}

static enum step read_trailer(struct http_parser *parser, const struct input *input)
{
    struct http_span line;
    enum step step = read_line(parser, input, ignored_limit(parser, input), &line);
    if (step != STEP_NEXT)
        return step;
    if (line.size == 0) {
        parser->state = DONE;
        return STEP_NEXT;
    }
    parser->ignored += line.size;
    if (parser->trailer_count >= input->limits->headers)
        return step_of(
            http_head_refuse(parser, 431, "There are more trailers than this server takes."));
    return step_of(http_head_trailer(parser, input->data, line));
}

/* The bytes that frame the chunks are dead: what follows moves up to the body. */
static void close_up(struct http_parser *parser, char *data, size_t *size)
{
    size_t kept = http_parser_kept(parser);
    if (!parser->chunked || parser->head_end == 0 || parser->line_at == kept)
        return;
    uint32_t gap = (uint32_t)(parser->line_at - kept);
    memmove(data + kept, data + parser->line_at, *size - parser->line_at);
    parser->line_at -= gap;
    parser->scanned = parser->scanned > gap ? parser->scanned - gap : 0;
    *size -= gap;
}

static enum step read_next(struct http_parser *parser, const struct input *input)
{
    static enum step (*const steps[])(struct http_parser *, const struct input *) = {
        [START] = read_start,           [REQUEST_LINE] = read_request_line,
        [FIELDS] = read_field,          [BODY] = read_body,
        [CHUNK_SIZE] = read_chunk_size, [CHUNK_DATA] = read_chunk_data,
        [CHUNK_END] = read_chunk_end,   [TRAILERS] = read_trailer,
    };
    return steps[parser->state](parser, input);
}

enum http_parse_end http_parse(struct http_parser *parser, const struct http_parse_limits *limits,
                               char *data, size_t *size)
{
    assert(*size < UINT32_MAX && parser->status == 0);
    struct input input = {data, *size, limits};
    while (parser->state != DONE) {
        enum step step = read_next(parser, &input);
        if (step == STEP_REFUSED)
            return HTTP_PARSE_REFUSED;
        if (step == STEP_MORE) {
            close_up(parser, data, size);
            return HTTP_PARSE_MORE;
        }
    }
    return HTTP_PARSE_DONE;
}

enum http_parse_end http_parse_head(struct http_parser *parser,
                                    const struct http_parse_limits *limits,
                                    char *data, // NOLINT(readability-non-const-parameter)
                                    size_t size)
{
    assert(size < UINT32_MAX && parser->status == 0);
    struct input input = {data, size, limits};
    while (!http_parser_has_head(parser)) {
        enum step step = read_next(parser, &input);
        if (step != STEP_NEXT)
            return step == STEP_MORE ? HTTP_PARSE_MORE : HTTP_PARSE_REFUSED;
    }
    return HTTP_PARSE_DONE;
}

static struct bytes bytes_at(const char *data, struct http_span span)
{
    return (struct bytes){data + span.at, span.size};
}

/* The lines were judged before: each has a colon and ends with CR LF. */
static void list_headers(const struct http_parser *parser, const char *data,
                         struct http_header *headers)
{
    const char *at = data + parser->first_header.at;
    const char *head_end = data + parser->head_end;
    for (size_t i = 0; i < parser->header_count; i++) {
        const char *end = memchr(at, '\r', (size_t)(head_end - at));
        const char *colon = memchr(at, ':', (size_t)(head_end - at));
        const char *value = colon + 1;
        const char *value_end = end;
        while (value < value_end && (*value == ' ' || *value == '\t'))
            value++;
        while (value < value_end && (value_end[-1] == ' ' || value_end[-1] == '\t'))
            value_end--;
        headers[i].name = (struct bytes){at, (size_t)(colon - at)};
        headers[i].value = (struct bytes){value, (size_t)(value_end - value)};
        at = end + LINE_END_BYTES;
    }
}

void http_parser_request(const struct http_parser *parser, const char *data,
                         struct http_header *headers, struct http_request *ret_request)
{
    assert(http_parser_has_head(parser));
    list_headers(parser, data, headers);
    *ret_request = (struct http_request){
        .method = (enum http_method)parser->method,
        .path = parser->path.size > 0 ? bytes_at(data, parser->path) : bytes_of("/"),
        .query = parser->has_query ? bytes_at(data, parser->query) : (struct bytes){NULL, 0},
        .host = parser->host.size > 0 ? bytes_at(data, parser->host) : (struct bytes){NULL, 0},
        .body = {data + parser->head_end, parser->body_size},
        .headers = headers,
        .header_count = parser->header_count,
    };
}

struct bytes http_request_header(const struct http_request *request, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < request->header_count; i++) {
        if (http_head_same(request->headers[i].name, name, size))
            return request->headers[i].value;
    }
    return (struct bytes){NULL, 0};
}
