/* SPDX-License-Identifier: MIT */
/* http_head.h - what does this line of a head say?
 *
 * The half of http_parse.c that knows lines, not bytes: each function takes one line without
 * its CR LF, notes in the parser what it says, and is false when it is refused.
 */
#ifndef TOCSIN_NET_HTTP_HEAD_H
#define TOCSIN_NET_HTTP_HEAD_H

#include "net/http_parse.h"

/* False, always: so that a function can end with it. */
bool http_head_refuse(struct http_parser *parser, unsigned status, const char *detail);

/* May a request begin with this byte? */
bool http_head_may_begin(char byte);

bool http_head_request_line(struct http_parser *parser, const char *data, struct http_span line);
bool http_head_field(struct http_parser *parser, const char *data, struct http_span line);
/* A field after a chunked body: checked, and ignored. */
bool http_head_trailer(struct http_parser *parser, const char *data, struct http_span line);
/* The empty line: what the fields say together. */
bool http_head_end(struct http_parser *parser, const struct http_parse_limits *limits);

/* No control characters but tabs: what a field's value may hold. */
bool http_head_plain(const char *at, size_t size);

/* Without regard to case, as names of fields are compared. */
bool http_head_same(struct bytes one, const char *other, size_t other_size);

#endif
