/* SPDX-License-Identifier: MIT */
#include "delivery/stomp_socket.h"

#include <stdlib.h>

#include "delivery/session.h"

struct stomp_socket {
    struct websocket *websocket;
    struct session *session;
};

static bool link_send(void *arg, struct frame *head, struct frame *tail)
{
    return websocket_send(((struct stomp_socket *)arg)->websocket, head, tail);
}

static void link_ping(void *arg)
{
    websocket_ping(((struct stomp_socket *)arg)->websocket);
}

static void link_close(void *arg, enum websocket_code code, const char *reason)
{
    websocket_close(((struct stomp_socket *)arg)->websocket, code, reason);
}

static int64_t link_round_trip_ms(void *arg)
{
    return websocket_round_trip_ms(((struct stomp_socket *)arg)->websocket);
}

static void on_heard(void *arg)
{
    session_heard(((struct stomp_socket *)arg)->session);
}

static void on_data(void *arg, struct bytes piece)
{
    session_take(((struct stomp_socket *)arg)->session, piece);
}

static void on_look(void *arg, uint64_t now_ms)
{
    (void)now_ms;
    session_look(((struct stomp_socket *)arg)->session);
}

static void on_gone(void *arg)
{
    struct stomp_socket *socket = arg;
    session_destroy(socket->session);
    free(socket);
}

int stomp_socket_open(struct http_exchange *exchange, const struct stomp_socket_options *options,
                      char ret_headers[WEBSOCKET_HEADERS_BYTES], const char **ret_problem)
{
    static const char *const protocols[] = {"v12.stomp", NULL};
    struct stomp_socket *socket = calloc(1, sizeof *socket);
    struct session_link link = {link_send, link_ping, link_close, socket, link_round_trip_ms};
    ret_headers[0] = '\0';
    if (socket == NULL || session_create(options->topics, &link, &socket->session) != TOCSIN_OK) {
        free(socket);
        *ret_problem = "as many WebSockets are open as may be (ws.connections)";
        return 503;
    }
    struct websocket_options websocket = {
        .message_bytes = options->message_bytes,
        .queue_bytes = options->queue_bytes,
        .counters = options->counters,
        .on_heard = on_heard,
        .on_data = on_data,
        .on_look = on_look,
        .on_gone = on_gone,
        .arg = socket,
    };
    int status = websocket_open(exchange, protocols, &websocket, &socket->websocket, ret_headers,
                                ret_problem);
    if (status != 101) {
        session_destroy(socket->session);
        free(socket);
    }
    return status;
}
