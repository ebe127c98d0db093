/* SPDX-License-Identifier: MIT */
#include "base/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runner.h"

/* A socket as the service manager has it; name as $NOTIFY_SOCKET would have it. */
static int listen_on(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    memcpy(address.sun_path, name, size);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)),
                     0);
    return fd;
}

static void assert_arrives(const char *name)
{
    char text[100] = "";
    int fd = listen_on(name);
    assert_int_equal(notify_send(name, "READY=1\nSTATUS=7 tasks are waiting"), TOCSIN_OK);
    ssize_t size = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    assert_int_equal(size, strlen("READY=1\nSTATUS=7 tasks are waiting"));
    assert_string_equal(text, "READY=1\nSTATUS=7 tasks are waiting");
    (void)close(fd);
}

TEST(notify_reaches_a_socket_with_a_path)
{
    char folder[] = "/tmp/tocsin-notify-XXXXXX";
    char name[sizeof folder + 8];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(name, sizeof name, "%s/socket", folder);
    assert_arrives(name);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(notify_send(name, "STOPPING=1"), TOCSIN_UNAVAILABLE); /* nobody there */
    assert_int_equal(rmdir(folder), 0);
}

TEST(notify_reaches_a_socket_with_an_abstract_name)
{
    char name[60];
    (void)snprintf(name, sizeof name, "@tocsin/notify/%ld", (long)getpid());
    assert_arrives(name);
}

TEST(notify_without_a_socket_says_so_and_does_nothing)
{
    assert_int_equal(notify_send(NULL, "READY=1"), TOCSIN_NONE);
    assert_int_equal(notify_send("", "READY=1"), TOCSIN_NONE);
}

TEST(notify_refuses_what_is_no_socket_name)
{
    char long_name[200];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[0] = '/';
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(notify_send("relative", "READY=1"), TOCSIN_INVALID);
    assert_int_equal(notify_send("/", "READY=1"), TOCSIN_INVALID);
    assert_int_equal(notify_send(long_name, "READY=1"), TOCSIN_INVALID);
}

TEST(notify_does_not_wait_when_the_manager_is_busy)
{
    char name[60];
    (void)snprintf(name, sizeof name, "@tocsin/busy/%ld", (long)getpid());
    int fd = listen_on(name);
    enum tocsin_status status = TOCSIN_OK;
    for (int i = 0; i < 100000 && status == TOCSIN_OK; i++)
        status = notify_send(name, "STATUS=again");
    assert_int_equal(status, TOCSIN_UNAVAILABLE);
    (void)close(fd);
}
