/* SPDX-License-Identifier: MIT */
/* tls_client.h - how does a test talk TLS to a server of http_world.h?
 *
 * With a certificate made here, and blocking sockets.
 */
#ifndef TEST_TLS_CLIENT_H
#define TEST_TLS_CLIENT_H

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "support/http_world.h"

enum { PATH_BYTES = 200 };

struct files {
    char folder[64];
    char certificate[PATH_BYTES];
    char key[PATH_BYTES];
};

static inline void write_pair(EVP_PKEY *key, X509 *certificate, const struct files *files)
{
    FILE *file = fopen(files->key, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
    file = fopen(files->certificate, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    assert_int_equal(fclose(file), 0);
}

static inline struct files make_files(void)
{
    struct files files = {.folder = "/tmp/tocsin-tls-XXXXXX"};
    assert_non_null(mkdtemp(files.folder));
    (void)snprintf(files.certificate, PATH_BYTES, "%s/certificate.pem", files.folder);
    (void)snprintf(files.key, PATH_BYTES, "%s/key.pem", files.folder);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    assert_non_null(key);
    assert_non_null(certificate);
    X509_NAME *name = X509_get_subject_name(certificate);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                                (const unsigned char *)"localhost", -1, -1, 0),
                     1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(certificate), -3600));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(certificate), 3600));
    assert_int_equal(X509_set_issuer_name(certificate, name), 1);
    assert_int_equal(X509_set_pubkey(certificate, key), 1);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    write_pair(key, certificate, &files);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return files;
}

static inline void remove_files(const struct files *files)
{
    (void)unlink(files->certificate);
    (void)unlink(files->key);
    (void)rmdir(files->folder);
}

struct tls_client {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
};

static inline struct tls_client tls_open_fd(int fd, int version)
{
    struct tls_client client = {.fd = fd};
    client.context = SSL_CTX_new(TLS_client_method());
    assert_non_null(client.context);
    assert_int_equal(SSL_CTX_set_min_proto_version(client.context, version), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(client.context, version), 1);
    client.ssl = SSL_new(client.context);
    assert_non_null(client.ssl);
    assert_int_equal(SSL_set_fd(client.ssl, client.fd), 1);
    return client;
}

static inline struct tls_client tls_open(const struct world *world, int version)
{
    return tls_open_fd(client_open(world), version);
}

static inline void tls_close(struct tls_client *client)
{
    SSL_free(client->ssl);
    SSL_CTX_free(client->context);
    (void)close(client->fd);
    ERR_clear_error();
}

static inline void tls_send(struct tls_client *client, const char *bytes, size_t size)
{
    size_t sent;
    assert_int_equal(SSL_write_ex(client->ssl, bytes, size, &sent), 1);
    assert_int_equal(sent, size);
}

/* Up to and with this text. */
static inline void tls_read_to(struct tls_client *client, const char *end, char *to, size_t room)
{
    size_t size = 0;
    do {
        size_t got;
        assert_true(size + 1 < room);
        assert_int_equal(SSL_read_ex(client->ssl, to + size, 1, &got), 1);
        size += got;
        to[size] = '\0';
    } while (size < strlen(end) || strcmp(to + size - strlen(end), end) != 0);
}

#endif
