/* SPDX-License-Identifier: MIT */
/* TLS with a certificate made here. */
#include "support/http_world.h"
#include "support/tls_client.h"

static void check_talk(const struct world *world, int version)
{
    char text[1024];
    struct tls_client client = tls_open(world, version);
    assert_int_equal(SSL_connect(client.ssl), 1);
    for (int i = 0; i < 3; i++) {
        static const char request[] = REQUEST("/echo?a") REQUEST("/echo?b");
        tls_send(&client, request, sizeof request - 1);
        tls_read_to(&client, "0 /echo?a ", text, sizeof text);
        tls_read_to(&client, "0 /echo?b ", text, sizeof text);
    }
    tls_close(&client);
}

TEST(requests_are_answered_over_tls_1_2_and_1_3)
{
    struct files files = make_files();
    struct world world = {.certificate = files.certificate, .key = files.key};
    world_start(&world);
    check_talk(&world, TLS1_2_VERSION);
    check_talk(&world, TLS1_3_VERSION);
    world_stop(&world);
    remove_files(&files);
}

TEST(large_bodies_and_answers_pass_through_tls)
{
    enum { SIZE = 1000000 };
    struct files files = make_files();
    struct world world = {.certificate = files.certificate, .key = files.key};
    char *body = malloc(SIZE + 1);
    assert_non_null(body);
    memset(body, 'a', SIZE);
    world_start(&world);
    struct tls_client client = tls_open(&world, TLS1_3_VERSION);
    assert_int_equal(SSL_connect(client.ssl), 1);
    static const char head[] = "POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
    tls_send(&client, head, sizeof head - 1);
    tls_send(&client, body, SIZE);
    char text[1024];
    tls_read_to(&client, "Content-Length: 1000006\r\n\r\n2 /e? ", text, sizeof text);
    memset(body, 0, SIZE);
    for (size_t at = 0; at < SIZE;) {
        size_t got;
        assert_int_equal(SSL_read_ex(client.ssl, body + at, SIZE - at, &got), 1);
        at += got;
    }
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(body[i], 'a');
    tls_close(&client);
    free(body);
    world_stop(&world);
    remove_files(&files);
}

TEST(the_end_of_a_connection_is_told_in_tls_too)
{
    struct files files = make_files();
    struct world world = {.certificate = files.certificate, .key = files.key};
    static const char request[] = "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    char text[1024];
    size_t got;
    world_start(&world);
    struct tls_client client = tls_open(&world, TLS1_3_VERSION);
    assert_int_equal(SSL_connect(client.ssl), 1);
    tls_send(&client, request, sizeof request - 1);
    tls_read_to(&client, "0 /echo? ", text, sizeof text);
    int result = SSL_read_ex(client.ssl, text, 1, &got);
    assert_int_equal(SSL_get_error(client.ssl, result), SSL_ERROR_ZERO_RETURN);
    tls_close(&client);
    world_stop(&world);
    remove_files(&files);
}

TEST(old_versions_are_refused)
{
    struct files files = make_files();
    struct world world = {.certificate = files.certificate, .key = files.key};
    world_start(&world);
    struct tls_client client = tls_open(&world, TLS1_1_VERSION);
    SSL_set_security_level(client.ssl, 0);
    assert_int_not_equal(SSL_connect(client.ssl), 1);
    tls_close(&client);
    world_stop(&world);
    remove_files(&files);
}

static bool none_open(const struct world_seen *seen)
{
    return seen->counters.open == 0;
}

/* Who speaks no TLS, stops in the middle of a handshake, or is there when the server closes. */
TEST(a_broken_handshake_ends_the_connection)
{
    struct files files = make_files();
    struct world world = {.certificate = files.certificate, .key = files.key};
    char byte;
    world.limits = http_limits_default;
    world.limits.head_timeout_ms = 100;
    world_start(&world);
    int plain = client_open(&world);
    client_send(plain, REQUEST("/echo"));
    while (recv(plain, &byte, 1, 0) > 0) { /* an alert, then the end */
    }
    int silent = client_open(&world);
    client_send_bytes(silent, "\026\003\001\002\000", 5);
    client_expect_end(silent);
    (void)close(plain);
    (void)close(silent);
    assert_true(world_until(&world, none_open));
    for (int i = 0; i < 20; i++) {
        struct tls_client client = tls_open(&world, TLS1_3_VERSION);
        BIO *memory = BIO_new(BIO_s_mem());
        SSL_set_bio(client.ssl, memory, memory);
        (void)SSL_connect(client.ssl);
        char hello[2048];
        int size = BIO_read(memory, hello, sizeof hello);
        assert_true(size > 0);
        client_send_bytes(client.fd, hello, (size_t)size);
        tls_close(&client);
    }
    world_stop(&world);
    remove_files(&files);
}

static void expect_refused(const char *certificate, const char *key, const char *expected)
{
    struct loop *loop;
    struct http_server *server;
    struct loop_hooks hooks = {0};
    struct tocsin_why why = {""};
    assert_int_equal(loop_create(&hooks, &loop, &why), TOCSIN_OK);
    struct http_server_options options = {.loop = loop,
                                          .address = "127.0.0.1:0",
                                          .tls_certificate = certificate,
                                          .tls_key = key,
                                          .limits = http_limits_default};
    assert_int_equal(http_server_create(&options, &server, &why), TOCSIN_INVALID);
    if (strstr(why.text, expected) == NULL)
        fail_msg("expected '%s', but it is '%s'", expected, why.text);
    loop_destroy(loop);
}

TEST(files_that_cannot_be_used_are_clear_messages)
{
    struct files one = make_files();
    struct files two = make_files();
    expect_refused("/nowhere.pem", one.key, "TLS: cannot use the certificate in '/nowhere.pem': ");
    expect_refused(one.certificate, "/nowhere.pem", "TLS: cannot use the key in '/nowhere.pem': ");
    expect_refused(one.key, one.key, "TLS: cannot use the certificate in");
    expect_refused(one.certificate, one.certificate, "TLS: cannot use the key in");
    expect_refused(one.certificate, two.key, "key values mismatch");
    remove_files(&one);
    remove_files(&two);
}
