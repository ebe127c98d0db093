/* SPDX-License-Identifier: MIT */
#include "base/notify.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

enum tocsin_status notify_send(const char *socket_name, const char *lines)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (socket_name == NULL || socket_name[0] == '\0')
        return TOCSIN_NONE;
    size_t size = strlen(socket_name);
    if ((socket_name[0] != '/' && socket_name[0] != '@') || size < 2 || size >= sizeof to.sun_path)
        return TOCSIN_INVALID;
    memcpy(to.sun_path, socket_name, size);
    if (to.sun_path[0] == '@')
        to.sun_path[0] = '\0'; /* the abstract name space; its names do not end with a zero */
    socklen_t to_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return TOCSIN_UNAVAILABLE;
    ssize_t sent = sendto(fd, lines, strlen(lines), MSG_DONTWAIT | MSG_NOSIGNAL,
                          (const struct sockaddr *)&to, to_size);
    (void)close(fd);
    return sent == (ssize_t)strlen(lines) ? TOCSIN_OK : TOCSIN_UNAVAILABLE;
}
