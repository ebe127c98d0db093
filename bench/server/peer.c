/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness.h"

enum { START_TRIES = 3, START_SECONDS = 300, PROBE_EVERY_US = 500 };
enum { HOUR_MS = 3600 * 1000 };

static bool wait_until_ready(struct server *server, uint64_t from_ns)
{
    while (!server->peer->probe(server)) {
        if (!child_lives(&server->child))
            return false;
        if (bench_now_ns() - from_ns > START_SECONDS * UINT64_C(1000000000))
            child_failed(&server->child, "a server does not become ready");
        usleep(PROBE_EVERY_US);
    }
    server->serving_s = (double)(bench_now_ns() - from_ns) / 1e9;
    return true;
}

void server_start(struct server *server, const struct peer *peer, const char *folder, bool lax)
{
    *server = (struct server){.peer = peer, .random = 1};
    if (folder != NULL)
        snprintf(server->folder, sizeof server->folder, "%s", folder);
    else
        scratch_folder(peer->name, server->folder);
    for (unsigned i = 0; i < START_TRIES; i++) {
        server->port = port_free(); /* it may be taken before the server binds it */
        uint64_t from_ns = bench_now_ns();
        peer->launch(server, lax);
        if (wait_until_ready(server, from_ns))
            return;
    }
    char what[96];
    snprintf(what, sizeof what, "%s does not start", peer->name);
    child_failed(&server->child, what);
}

void server_kill(struct server *server)
{
    child_kill(&server->child);
}

void server_drop(struct server *server)
{
    child_kill(&server->child);
    scratch_remove(server->folder);
}

/* ---- requests */

static void digits(char *out, size_t count, uint64_t number)
{
    while (count > 0) {
        out[--count] = (char)('0' + number % 10);
        number /= 10;
    }
}

void id_write(char *out, size_t bytes, uint64_t number)
{
    enum { DIGITS = 12 };
    memset(out, 'k', bytes - DIGITS);
    digits(out + bytes - DIGITS, DIGITS, number);
}

uint64_t id_read(const char *text, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] >= '0' && text[i] <= '9')
            number = number * 10 + (uint64_t)(text[i] - '0');
    }
    return number;
}

size_t recipe_bytes(const struct recipe *recipe)
{
    return recipe->head_size + recipe->units * recipe->unit_size;
}

size_t recipe_write_due(const struct recipe *recipe, struct server *server, const int64_t *due_ms,
                        char *out)
{
    char *at = out;
    memcpy(at, recipe->head, recipe->head_size);
    at += recipe->head_size;
    for (unsigned i = 0; i < recipe->units; i++) {
        memcpy(at, recipe->unit, recipe->unit_size);
        if (recipe->id_bytes > 0)
            id_write(at + recipe->id_at, recipe->id_bytes, server->next_id);
        server->next_id++;
        digits(at + recipe->due_at, recipe->due_digits, (uint64_t)due_ms[i]);
        at += recipe->unit_size;
    }
    return (size_t)(at - out);
}

size_t recipe_write(const struct recipe *recipe, struct server *server, char *out)
{
    enum { UNITS_MAX = 10000 };
    int64_t due[UNITS_MAX];
    /* four digits: seconds of delay; else milliseconds of the clock */
    bool delay = recipe->due_digits == 4;
    int64_t base = delay ? HOUR_MS / 1000 : bench_wall_ns() / 1000000 + HOUR_MS;
    uint32_t width = delay ? HOUR_MS / 1000 : HOUR_MS;
    for (unsigned i = 0; i < recipe->units && i < UNITS_MAX; i++)
        due[i] = base + bench_random_below(&server->random, width);
    return recipe_write_due(recipe, server, due, out);
}

/* ---- one question */

bool ask(unsigned short port, const char *text, size_t enough, char *ret_answer, size_t room)
{
    struct timeval patience = {.tv_sec = 20};
    int fd = port_connect(port);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    size_t size = strlen(text), got = 0;
    if (send(fd, text, size, MSG_NOSIGNAL) == (ssize_t)size) {
        while (got < enough && got + 1 < room) {
            ssize_t more = recv(fd, ret_answer + got, room - 1 - got, 0);
            if (more <= 0)
                break;
            got += (size_t)more;
        }
    }
    close(fd);
    ret_answer[got] = '\0';
    return got > 0;
}
