/* SPDX-License-Identifier: MIT */
/* http_server.h - who asks for what, and how do they get their answer?
 *
 * A strict HTTP/1.1 server on the loop: keep-alive, pipelining, chunked bodies, TLS. It
 * knows nothing of routes. A whole request (head and body) becomes an exchange; the handler
 * answers it at once or later, in any order; answers leave in the order of the requests.
 *
 * Promise   each request that reached the handler is answered once, or its `gone` is called
 *           once when the client went away first; never both. What could be read in two ways
 *           (both lengths, two lengths, bare LF, a bad chunk size, a folded header, a second
 *           Host …) is refused with 400 and the connection closed.
 *           http_parse.h has the list. After a refusal, which is a problem+json, our side is
 *           shut, and the connection closed when the client has shut its own, or 2 s later.
 * Limits    in struct http_limits, all of them enforced; who is slow in sending a head or a
 *           body, or in taking an answer, is cut off, up to 1 s after the time is over.
 * Memory    an idle connection is about 600 bytes (measured: 588) and no buffer; with TLS,
 *           what OpenSSL keeps beside it.
 * Signals   SIGPIPE is ignored from the first server on, unless somebody handles it.
 * Threads   the loop's. TLS handshakes are done in workers.
 */
#ifndef TOCSIN_NET_HTTP_SERVER_H
#define TOCSIN_NET_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tocsin/status.h>

#include "base/bytes.h"
#include "net/http_request.h"
#include "net/http_take.h"
#include "net/loop.h"

struct http_limits {
    uint32_t connections;      /* more are answered 503 and closed */
    uint32_t pipelined;        /* requests of one connection under way; then it is not read */
    uint32_t head_bytes;       /* then 431 */
    uint32_t headers;          /* then 431 */
    uint32_t body_bytes;       /* then 413 */
    uint64_t body_bytes_total; /* of all connections together; then 503 with Retry-After */
    uint64_t answer_bytes;     /* unsent, of one connection: then it is cut off. So an answer
                                    that is larger can be cut off too */
    uint32_t head_timeout_ms;  /* from the first byte of a head to its end; then 408 */
    uint32_t body_timeout_ms;  /* for a body to arrive; then 408 */
    uint32_t idle_timeout_ms;  /* between two requests */
    uint32_t write_timeout_ms; /* without any progress in sending */
};

extern const struct http_limits http_limits_default;

struct http_server;
struct http_exchange;

struct http_server_options {
    struct loop *loop;
    const char *address;         /* "127.0.0.1:7400", "[::1]:0" */
    int listen_fd;               /* 0: none; else it listens already (listener.h), and goes on
                                    doing so when this server is drained or closed */
    const char *tls_certificate; /* file names, PEM; NULL: no TLS */
    const char *tls_key;
    struct http_limits limits;
    /* Called with each whole request. The request's bytes stay until it is answered. */
    void (*on_request)(void *arg, struct http_exchange *exchange,
                       const struct http_request *request);
    /* Who wants another protocol than HTTP: http_upgrade.h. Else an Upgrade is ignored. */
    void *arg;
    struct http_taker taker; /* who passes connections on: http_take.h; not with TLS */
};

enum tocsin_status http_server_create(const struct http_server_options *options,
                                      struct http_server **ret_server, struct tocsin_why *ret_why);
/* "127.0.0.1:43017": where it really listens. */
const char *http_server_address(const struct http_server *server);

/* No new connections; those that are idle are closed; each other one closes after its answer
 * ("Connection: close"). on_drained is called once, when the last is gone, unless the server is
 * closed before. Streams are ended by whoever writes them. */
void http_server_drain(struct http_server *server, void (*on_drained)(void *arg), void *arg);
/* Closes everything now; gone is called for what was under way. The loop must run on until
 * on_closed. The server is freed by then. */
void http_server_close(struct http_server *server, void (*on_closed)(void *arg), void *arg);

/* Called once when the client is gone before the answer, never from inside a call of the
 * handler's own; the exchange must not be used after. That a client has only shut its sending
 * side counts as gone for who asks here, and not for who does not: they are still answered.
 * Without this an exchange stays valid until it is answered, and the answer of a client that is
 * gone is thrown away. When it is gone already, gone is called at once. */
void http_exchange_on_gone(struct http_exchange *exchange, void (*gone)(void *arg), void *arg);
const struct http_request *http_exchange_request(const struct http_exchange *exchange);

struct http_answer {
    int status;
    const char *content_type; /* NULL: no body */
    struct bytes body;        /* copied */
    const char *headers;      /* further ones, each line ended by \r\n; NULL: none. Copied. */
    bool close;
};
/* Ends the exchange: neither it nor its request may be used after. To HEAD the body is
 * counted and left out. */
void http_answer(struct http_exchange *exchange, const struct http_answer *answer);

/* An answer without end (server-sent events): begin, write any number of times, end. `gone`
 * tells when the client left; also when it reads too slowly for answer_bytes. */
void http_stream_begin(struct http_exchange *exchange, const char *content_type);
/* OK; OVERLOADED when this was too much for a slow reader, which is cut off now; UNAVAILABLE
 * when it has left, and gone comes soon. After one of these two: wait for gone, or end it. */
enum tocsin_status http_stream_write(struct http_exchange *exchange, struct bytes bytes);
void http_stream_end(struct http_exchange *exchange);

struct http_counters {
    uint64_t accepted;
    uint64_t open;
    uint64_t requests;
    uint64_t refused; /* malformed, too large, too slow */
    uint64_t bytes_in;
    uint64_t bytes_out;
};
void http_server_counters(const struct http_server *server, struct http_counters *ret_counters);

#endif
