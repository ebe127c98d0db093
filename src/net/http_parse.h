/* SPDX-License-Identifier: MIT */
/* http_parse.h - is this a request, where does it end, and what is wrong with it?
 *
 * A strict reader of HTTP/1.1 requests (RFC 9112), without I/O and without memory. It is
 * handed all bytes of one request that have come so far, and says whether they are enough:
 *
 *     http_parser_init(&parser);
 *     do {
 *         append more bytes to data, size
 *         end = http_parse(&parser, &limits, data, &size);
 *     } while (end == HTTP_PARSE_MORE);
 *
 * Promise   the outcome does not depend on where the bytes were cut. What could be read in two
 *           ways is refused. Nothing past the request's own bytes is looked at.
 * Refused   both Content-Length and Transfer-Encoding, or one of them twice; a length that is
 *           not digits only; a Transfer-Encoding other than chunked; line ends other than CR
 *           LF; blanks before a colon; folded lines; control characters; no Host, two, or one
 *           that is no host name; a header of the list in the .c file twice; chunk sizes with
 *           anything but hexadecimal digits, at most eight.
 * Accepted  one empty line before the request; chunk extensions after a ';' and trailers, both
 *           bounded and ignored; HTTP/1.0, also without Host, but not with Transfer-Encoding.
 * Chunks    are put together in place: the body follows the head in data. While more is
 *           needed, the bytes between are closed up and size shrinks.
 * Cost      each byte is looked at a fixed number of times, also when they come one by one.
 * Memory    none. The parser holds offsets, so the bytes may move between two calls.
 */
#ifndef TOCSIN_NET_HTTP_PARSE_H
#define TOCSIN_NET_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/http_request.h"

enum http_parse_end {
    HTTP_PARSE_MORE, /* so far it is fine */
    HTTP_PARSE_DONE,
    HTTP_PARSE_REFUSED,
};

struct http_parse_limits {
    uint32_t head_bytes;
    uint32_t headers;
    uint32_t body_bytes;
};

struct http_span {
    uint32_t at; /* from the first byte of the request */
    uint32_t size;
};

struct http_parser {
    uint32_t line_at;  /* the line, or chunk, under way starts here */
    uint32_t scanned;  /* no line end before this */
    uint32_t head_end; /* after the empty line; 0: not there yet */
    uint32_t body_size;
    uint32_t chunk_left;
    uint32_t ignored; /* bytes of chunk extensions and trailers */
    uint64_t length;  /* Content-Length */
    struct http_span path;
    struct http_span query;
    struct http_span host;
    struct http_span first_header; /* its line; size is not used */
    uint16_t header_count;
    uint16_t trailer_count;
    uint16_t seen; /* bit n: row n of the table of headers that may come once */
    uint8_t state;
    uint8_t method;
    bool has_query;
    bool has_authority; /* the target named the host */
    bool has_length;
    bool chunked;
    bool version_1_0;
    bool wants_close;
    bool wants_continue;
    uint16_t status; /* after HTTP_PARSE_REFUSED: 400, 413, 414, 417, 431 or 505 */
    const char *detail;
};

void http_parser_init(struct http_parser *parser);

/* data: from the first byte of the request; *size: how many there are, perhaps with the next
 * request's behind them. Bytes after the head may be moved, see above. */
enum http_parse_end http_parse(struct http_parser *parser, const struct http_parse_limits *limits,
                               char *data, size_t *size);

/* The head alone: DONE when it is whole; what lies behind it is neither looked at nor moved.
 * http_parse goes on from there. */
enum http_parse_end http_parse_head(struct http_parser *parser,
                                    const struct http_parse_limits *limits, char *data,
                                    size_t size);

/* True from the end of the head on. */
static inline bool http_parser_has_head(const struct http_parser *parser)
{
    return parser->head_end > 0;
}

/* After HTTP_PARSE_DONE: how many bytes of data were the request. */
static inline size_t http_parser_used(const struct http_parser *parser)
{
    return parser->line_at;
}

/* After HTTP_PARSE_DONE: how many of them the request needs kept, from the start on: its head
 * and its body. */
static inline size_t http_parser_kept(const struct http_parser *parser)
{
    return (size_t)parser->head_end + parser->body_size;
}

/* After HTTP_PARSE_DONE: the request, in these bytes, which may be a copy of what is kept; its body
 * is empty when only the head was parsed. headers has room for parser->header_count. */
void http_parser_request(const struct http_parser *parser, const char *data,
                         struct http_header *headers, struct http_request *ret_request);

#endif
