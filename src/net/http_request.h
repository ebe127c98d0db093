/* SPDX-License-Identifier: MIT */
/* http_request.h - what was asked?
 *
 * A whole request as the handler sees it: borrowed bytes, nothing decoded. http_target.h
 * decodes paths and queries.
 */
#ifndef TOCSIN_NET_HTTP_REQUEST_H
#define TOCSIN_NET_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_OTHER, /* a well-formed method that we do not know */
};

struct http_header {
    struct bytes name; /* as sent; compare without regard to case */
    struct bytes value;
};

struct http_request {
    enum http_method method;
    struct bytes path;  /* "/v1/tasks/a%2Fb": not decoded */
    struct bytes query; /* after the '?', not decoded; at NULL when there was none */
    struct bytes host;  /* "localhost:7400"; at NULL only in an HTTP/1.0 request without one */
    struct bytes body;
    const struct http_header *headers;
    size_t header_count;
    bool tls;
};

/* The value of the first header of this name; at NULL: it is not there. What may come only
 * once (Authorization, Content-Type, Idempotency-Key, Origin …) did. */
struct bytes http_request_header(const struct http_request *request, const char *name);

#endif
