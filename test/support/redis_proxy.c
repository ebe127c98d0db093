/* SPDX-License-Identifier: MIT */
#include "support/redis_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS_MAX = 64, PIECE = 65536, SLOTS = 2 + 2 * PAIRS_MAX };

struct pair {
    int client; /* -1: free */
    int server;
    bool script; /* the last command was a script's */
};

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "redis_proxy: %s\n", what);
    abort();
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void end_pair(struct pair *pair)
{
    (void)close(pair->client);
    (void)close(pair->server);
    pair->client = -1;
}

static void take_in(struct redis_proxy *proxy, struct pair *pairs)
{
    int client = accept(proxy->listener, NULL, NULL);
    int server = connect_to(proxy->server_port);
    for (size_t i = 0; client >= 0 && server >= 0 && i < PAIRS_MAX; i++) {
        if (pairs[i].client >= 0)
            continue;
        pairs[i] = (struct pair){client, server, false};
        atomic_fetch_add(&proxy->accepted, 1);
        return;
    }
    (void)close(client);
    (void)close(server);
}

static bool pass(int from, int to, char *piece, ssize_t *ret_got)
{
    *ret_got = recv(from, piece, PIECE - 1, 0);
    for (ssize_t sent = 0; sent < *ret_got;) {
        ssize_t more = send(to, piece + sent, (size_t)(*ret_got - sent), MSG_NOSIGNAL);
        if (more <= 0)
            return false;
        sent += more;
    }
    return *ret_got > 0;
}

static void from_client(struct pair *pair, char *piece)
{
    ssize_t got = 0;
    bool fine = pass(pair->client, pair->server, piece, &got);
    if (fine && memmem(piece, (size_t)got, "\r\nEVALSHA\r\n", 11) != NULL)
        pair->script = true;
    if (!fine)
        end_pair(pair);
}

static void from_server(struct redis_proxy *proxy, struct pair *pair, char *piece)
{
    ssize_t got = 0;
    if (pair->script && atomic_load(&proxy->cuts) > 0) {
        atomic_fetch_sub(&proxy->cuts, 1);
        if (proxy->on_cut != NULL)
            proxy->on_cut(proxy->arg);
        atomic_fetch_add(&proxy->cut, 1);
        end_pair(pair);
        return;
    }
    pair->script = false;
    if (!pass(pair->server, pair->client, piece, &got))
        end_pair(pair);
}

static void *carry(void *arg)
{
    struct redis_proxy *proxy = arg;
    struct pair pairs[PAIRS_MAX];
    char *piece = malloc(PIECE);
    if (piece == NULL)
        give_up("no memory");
    for (size_t i = 0; i < PAIRS_MAX; i++)
        pairs[i] = (struct pair){-1, -1, false};
    for (;;) {
        struct pollfd polls[SLOTS] = {{proxy->stop[0], POLLIN, 0}, {proxy->listener, POLLIN, 0}};
        for (size_t i = 0; i < PAIRS_MAX; i++) {
            bool there = pairs[i].client >= 0;
            polls[2 + 2 * i] = (struct pollfd){there ? pairs[i].client : -1, POLLIN, 0};
            polls[3 + 2 * i] = (struct pollfd){there ? pairs[i].server : -1, POLLIN, 0};
        }
        if (poll(polls, SLOTS, -1) < 0)
            continue;
        if (polls[0].revents != 0)
            break;
        if (polls[1].revents != 0)
            take_in(proxy, pairs);
        for (size_t i = 0; i < PAIRS_MAX; i++) {
            if (pairs[i].client >= 0 && polls[3 + 2 * i].revents != 0)
                from_server(proxy, &pairs[i], piece);
            if (pairs[i].client >= 0 && polls[2 + 2 * i].revents != 0)
                from_client(&pairs[i], piece);
        }
    }
    for (size_t i = 0; i < PAIRS_MAX; i++)
        if (pairs[i].client >= 0)
            end_pair(&pairs[i]);
    free(piece);
    return NULL;
}

void redis_proxy_start(struct redis_proxy *proxy, uint16_t server_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    *proxy = (struct redis_proxy){.server_port = server_port};
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (struct sockaddr *)&at, size) != 0 ||
        listen(proxy->listener, 64) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&at, &size) != 0 || pipe(proxy->stop) != 0)
        give_up("cannot listen");
    proxy->port = ntohs(at.sin_port);
    if (pthread_create(&proxy->thread, NULL, carry, proxy) != 0)
        give_up("no thread");
}

void redis_proxy_stop(struct redis_proxy *proxy)
{
    if (write(proxy->stop[1], "x", 1) != 1)
        give_up("cannot stop");
    (void)pthread_join(proxy->thread, NULL);
    (void)close(proxy->listener);
    (void)close(proxy->stop[0]);
    (void)close(proxy->stop[1]);
}
