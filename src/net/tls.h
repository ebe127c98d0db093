/* SPDX-License-Identifier: MIT */
/* tls.h - what do these bytes say when nobody else may read them?
 *
 * TLS 1.2 and later, without I/O: what came from the wire is fed in, what has to go to the wire
 * is taken out. Whatever a call may have left for the wire is to be taken after it.
 *
 * Threads   one at a time per session, but any thread: the handshake, which is what costs, is
 *           meant for a worker. A context is shared by all of them.
 */
#ifndef TOCSIN_NET_TLS_H
#define TOCSIN_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include <tocsin/status.h>

struct tls_context;
struct tls_session;

/* File names, PEM; the certificate's file may hold the chain. */
enum tocsin_status tls_context_create(const char *certificate, const char *key,
                                      struct tls_context **ret_context, struct tocsin_why *ret_why);
void tls_context_destroy(struct tls_context *context);

/* NULL: no memory. The context must outlive it. */
struct tls_session *tls_session_create(struct tls_context *context);
void tls_session_destroy(struct tls_session *session);

enum tls_end {
    TLS_DONE,
    TLS_MORE,   /* bytes from the wire are needed */
    TLS_CLOSED, /* the other side said good-bye */
    TLS_FAILED,
};

/* From the wire. False: no memory. */
bool tls_feed(struct tls_session *session, const char *bytes, size_t size);
enum tls_end tls_handshake(struct tls_session *session);
/* Plain bytes that have come. DONE: *ret_size, more than 0. */
enum tls_end tls_read(struct tls_session *session, char *to, size_t room, size_t *ret_size);
/* Plain bytes that are to go. */
bool tls_write(struct tls_session *session, const char *bytes, size_t size);
/* Says good-bye. */
void tls_finish(struct tls_session *session);

/* For the wire: how many bytes, and the first of them. */
size_t tls_outgoing(const struct tls_session *session);
size_t tls_take(struct tls_session *session, char *to, size_t room);

#endif
