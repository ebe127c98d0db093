/* SPDX-License-Identifier: MIT */
#include "net/tls.h"

#include <assert.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

struct tls_context {
    SSL_CTX *ssl;
};

struct tls_session {
    SSL *ssl;
    BIO *in;  /* from the wire; the SSL owns both */
    BIO *out; /* to the wire */
};

static enum tocsin_status refuse(struct tocsin_why *why, const char *what, const char *file)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);
    (void)snprintf(why->text, sizeof why->text, "TLS: %s '%.100s': %s", what, file,
                   reason != NULL ? reason : "no reason was given");
    ERR_clear_error();
    return TOCSIN_INVALID;
}

static enum tocsin_status load(SSL_CTX *ssl, const char *certificate, const char *key,
                               struct tocsin_why *ret_why)
{
    if (SSL_CTX_use_certificate_chain_file(ssl, certificate) != 1)
        return refuse(ret_why, "cannot use the certificate in", certificate);
    if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
        return refuse(ret_why, "cannot use the key in", key);
    if (SSL_CTX_check_private_key(ssl) != 1)
        return refuse(ret_why, "the certificate does not belong to the key in", key);
    return TOCSIN_OK;
}

enum tocsin_status tls_context_create(const char *certificate, const char *key,
                                      struct tls_context **ret_context, struct tocsin_why *ret_why)
{
    static const unsigned char session_id[] = "tocsin";
    struct tls_context *context = calloc(1, sizeof *context);
    if (context == NULL)
        return TOCSIN_NO_MEMORY;
    ERR_clear_error();
    context->ssl = SSL_CTX_new(TLS_server_method());
    if (context->ssl == NULL) {
        free(context);
        return TOCSIN_NO_MEMORY;
    }
    (void)SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(context->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                                SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_mode(context->ssl, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_id_context(context->ssl, session_id, sizeof session_id - 1);
    enum tocsin_status status = load(context->ssl, certificate, key, ret_why);
    if (status != TOCSIN_OK) {
        tls_context_destroy(context);
        return status;
    }
    *ret_context = context;
    return TOCSIN_OK;
}

void tls_context_destroy(struct tls_context *context)
{
    if (context == NULL)
        return;
    SSL_CTX_free(context->ssl);
    free(context);
}

struct tls_session *tls_session_create(struct tls_context *context)
{
    struct tls_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->ssl = SSL_new(context->ssl);
    session->in = BIO_new(BIO_s_mem());
    session->out = BIO_new(BIO_s_mem());
    if (session->ssl == NULL || session->in == NULL || session->out == NULL) {
        (void)BIO_free(session->in);
        (void)BIO_free(session->out);
        SSL_free(session->ssl);
        free(session);
        ERR_clear_error();
        return NULL;
    }
    /* Empty means "later", not "the end". */
    (void)BIO_set_mem_eof_return(session->in, -1);
    (void)BIO_set_mem_eof_return(session->out, -1);
    SSL_set_bio(session->ssl, session->in, session->out);
    SSL_set_accept_state(session->ssl);
    return session;
}

void tls_session_destroy(struct tls_session *session)
{
    if (session == NULL)
        return;
    SSL_free(session->ssl);
    free(session);
}

bool tls_feed(struct tls_session *session, const char *bytes, size_t size)
{
    assert(size <= INT_MAX);
    return BIO_write(session->in, bytes, (int)size) == (int)size;
}

static enum tls_end end_of(struct tls_session *session, int result)
{
    int error = SSL_get_error(session->ssl, result);
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ)
        return TLS_MORE;
    return error == SSL_ERROR_ZERO_RETURN ? TLS_CLOSED : TLS_FAILED;
}

enum tls_end tls_handshake(struct tls_session *session)
{
    ERR_clear_error();
    int result = SSL_do_handshake(session->ssl);
    return result == 1 ? TLS_DONE : end_of(session, result);
}

enum tls_end tls_read(struct tls_session *session, char *to, size_t room, size_t *ret_size)
{
    ERR_clear_error();
    int result = SSL_read_ex(session->ssl, to, room, ret_size);
    return result == 1 ? TLS_DONE : end_of(session, result);
}

bool tls_write(struct tls_session *session, const char *bytes, size_t size)
{
    size_t written;
    ERR_clear_error();
    /* The wire is memory here: all of it is taken, or something is broken. */
    bool fine = SSL_write_ex(session->ssl, bytes, size, &written) == 1 && written == size;
    ERR_clear_error();
    return fine;
}

void tls_finish(struct tls_session *session)
{
    ERR_clear_error();
    (void)SSL_shutdown(session->ssl);
    ERR_clear_error();
}

size_t tls_outgoing(const struct tls_session *session)
{
    return BIO_ctrl_pending(session->out);
}

size_t tls_take(struct tls_session *session, char *to, size_t room)
{
    int taken = BIO_read(session->out, to, room > INT_MAX ? INT_MAX : (int)room);
    return taken > 0 ? (size_t)taken : 0;
}
