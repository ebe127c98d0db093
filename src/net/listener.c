/* SPDX-License-Identifier: MIT */
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static bool describe(int fd, char ret_address[ADDRESS_TEXT_BYTES])
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return false;
    address_format(&address, ret_address);
    return true;
}

enum tocsin_status listener_open(const char *text, int *ret_fd,
                                 char ret_address[ADDRESS_TEXT_BYTES], struct tocsin_why *ret_why)
{
    struct sockaddr_storage address;
    socklen_t size;
    int on = 1;
    enum tocsin_status status = address_parse(text, &address, &size, ret_why);
    if (status != TOCSIN_OK)
        return status;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, BACKLOG) == 0 &&
        describe(fd, ret_address)) {
        *ret_fd = fd;
        return TOCSIN_OK;
    }
    int error = errno;
    if (fd >= 0)
        (void)close(fd);
    (void)snprintf(ret_why->text, sizeof ret_why->text, "cannot listen on %s: %s", text,
                   strerror(error));
    return error == EADDRINUSE ? TOCSIN_BUSY : TOCSIN_INVALID;
}

int listener_again(int fd, char ret_address[ADDRESS_TEXT_BYTES])
{
    int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (again >= 0 && !describe(fd, ret_address)) {
        (void)close(again);
        return -1;
    }
    return again;
}
