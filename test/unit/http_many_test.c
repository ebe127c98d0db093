/* SPDX-License-Identifier: MIT */
/* Starting, and many connections: what they cost, and what happens when descriptors run out. */
#include "support/http_world.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <uv.h>

static bool none_open(const struct world_seen *seen)
{
    return seen->counters.open == 0;
}

static size_t resident_bytes(void)
{
    char text[128];
    unsigned long total = 0;
    unsigned long resident = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, text, sizeof text - 1);
    (void)close(fd);
    assert_true(size > 0);
    text[size] = '\0';
    char *end;
    total = strtoul(text, &end, 10);
    resident = strtoul(end, NULL, 10);
    assert_true(total >= resident);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Each connection takes two descriptors here: the client's and the server's. */
static size_t affordable_connections(size_t wanted)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t needed = 2 * wanted + 100;
    if (limit.rlim_cur < needed) {
        struct rlimit more = {needed, limit.rlim_max < needed ? needed : limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &more) != 0) {
            more = (struct rlimit){limit.rlim_max, limit.rlim_max};
            (void)setrlimit(RLIMIT_NOFILE, &more);
        }
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    return limit.rlim_cur >= needed ? wanted : (size_t)(limit.rlim_cur - 100) / 2;
}

TEST(ten_thousand_idle_connections_are_cheap)
{
    enum { WANTED = 10000, BYTES_MAX = 2048 };
    struct world world = {0};
    size_t count = affordable_connections(WANTED);
    if (count < WANTED)
        (void)printf("Only %zu connections: the limit of open files is too low.\n", count);
    int *fds = calloc(count, sizeof *fds);
    assert_non_null(fds);
    world_start(&world);
    size_t before = resident_bytes();
    for (size_t i = 0; i < count; i++) {
        fds[i] = client_open(&world);
        client_send(fds[i], REQUEST("/echo"));
        client_expect(fds[i], 200, "0 /echo? ");
    }
    size_t each = (resident_bytes() - before) / count;
    (void)world_look(&world);
    assert_int_equal(world.seen.counters.open, count);
    (void)printf("%zu idle connections, %zu bytes each\n", count, each);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_in_range(each, 0, BYTES_MAX);
#endif
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
    assert_true(world_until(&world, none_open));
    world_stop(&world);
    free(fds);
}

/* Descriptors run out: those who wait are served when there are some again, and the loop does
 * not spin meanwhile. */
TEST(without_descriptors_connections_wait)
{
    enum { SPARE = 6 };
    struct world world = {0};
    struct rlimit limit;
    world_start(&world);
    int first = client_open(&world);
    client_send(first, REQUEST("/echo"));
    client_expect(first, 200, "0 /echo? ");
    int probe = dup(first);
    (void)close(probe);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit tight = {(rlim_t)probe + SPARE, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int fds[SPARE];
    for (int i = 0; i < SPARE; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0); /* takes the last ones */
    }
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *port = strrchr(http_server_address(world.server), ':') + 1;
    to.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fds[0], (struct sockaddr *)&to, sizeof to), 0);
    client_send(fds[0], REQUEST("/echo"));
    client_send(first, REQUEST("/echo"));
    client_expect(first, 200, "0 /echo? "); /* those who have one are served */
    (void)world_look(&world);
    assert_int_equal(world.seen.counters.accepted, 1);
    for (int i = 1; i < SPARE; i++) {
        if (fds[i] >= 0)
            (void)close(fds[i]);
    }
    client_expect(fds[0], 200, "0 /echo? ");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    (void)close(fds[0]);
    (void)close(first);
    world_stop(&world);
}

/* Creating. */

static enum tocsin_status try_create(struct http_server_options options, struct tocsin_why *why)
{
    struct loop *loop;
    struct http_server *server;
    struct loop_hooks hooks = {0};
    assert_int_equal(loop_create(&hooks, &loop, why), TOCSIN_OK);
    options.loop = loop;
    enum tocsin_status status = http_server_create(&options, &server, why);
    assert_int_not_equal(status, TOCSIN_OK);
    loop_destroy(loop);
    return status;
}

TEST(a_bad_address_is_a_clear_message)
{
    static const char *const bad[] = {"localhost:80",   "127.0.0.1",     "127.0.0.1:", ":80",
                                      "127.0.0.1:x",    "1.2.3.4:65536", "::1:80",     "[::1]",
                                      "[127.0.0.1]:80", "[::1:80",       "1.2.3.4:-1", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tocsin_why why = {""};
        struct http_server_options options = {.address = bad[i], .limits = http_limits_default};
        assert_int_equal(try_create(options, &why), TOCSIN_INVALID);
        assert_non_null(strstr(why.text, "give an IP address and a port"));
    }
}

TEST(an_ipv6_address_is_listened_on)
{
    struct loop *loop;
    struct http_server *server;
    struct loop_hooks hooks = {0};
    struct tocsin_why why = {""};
    assert_int_equal(loop_create(&hooks, &loop, &why), TOCSIN_OK);
    struct http_server_options options = {
        .loop = loop, .address = "[::1]:0", .limits = http_limits_default};
    if (http_server_create(&options, &server, &why) == TOCSIN_OK) {
        const char *address = http_server_address(server);
        assert_memory_equal(address, "[::1]:", 6);
        assert_true(strtoul(address + 6, NULL, 10) > 0);
        http_server_close(server, NULL, NULL);
        (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
        (void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
    } else {
        (void)printf("No IPv6 here: %s\n", why.text);
    }
    loop_destroy(loop);
}

TEST(an_address_in_use_is_a_clear_message)
{
    struct world world = {0};
    struct tocsin_why why = {""};
    char expected[128];
    world_start(&world);
    struct http_server_options options = {.address = http_server_address(world.server),
                                          .limits = http_limits_default};
    assert_int_equal(try_create(options, &why), TOCSIN_BUSY);
    (void)snprintf(expected, sizeof expected, "cannot listen on %s: Address already in use",
                   options.address);
    assert_string_equal(why.text, expected);
    world_stop(&world);
}
