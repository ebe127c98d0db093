/* SPDX-License-Identifier: MIT */
#include "net/http_take.h"

#include <fcntl.h>

#include "net/http_inside.h"

enum http_parse_end http_take_look(struct http_connection *connection, char *data, size_t size)
{
    struct http_server *server = connection->server;
    const struct http_taker *taker = &server->options.taker;
    if (taker->wants == NULL || connection->looked)
        return HTTP_PARSE_DONE;
    enum http_parse_end end =
        http_parse_head(&connection->parser, &server->parse_limits, data, size);
    if (end != HTTP_PARSE_DONE)
        return end;
    struct http_request request;
    http_parser_request(&connection->parser, data, server->look_headers, &request);
    connection->looked = true;
    connection->wanted = taker->wants(taker->arg, &request);
    return HTTP_PARSE_DONE;
}

bool http_take(struct http_connection *connection, const char *data, size_t size)
{
    const struct http_taker *taker = &connection->server->options.taker;
    uv_os_fd_t own;
    if (connection->first != NULL || connection->unsent > 0)
        return false;
    /* A handle cannot be moved, and closing it closes its descriptor. */
    int fd =
        uv_fileno((uv_handle_t *)&connection->tcp, &own) == 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0) {
        http_connection_refuse(connection, 503,
                               "Too many connections are open; try again a little later.");
        return true;
    }
    http_connection_close(connection);
    taker->take(taker->arg, fd, (struct bytes){data, size}, connection->parser.head_end);
    return true;
}
