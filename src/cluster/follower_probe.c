/* SPDX-License-Identifier: MIT */
/* Is the owner reached, also while nobody asks for anything? One attempt at a time; the timer is the
 * end of the one that is under way, or the beginning of the next. It asks for /healthz as one that
 * was passed on: an owner answers whatever it is, a follower that it is none either. With TLS a
 * connection is all that can be had. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/follower_inside.h"

enum {
    AGAIN_MS = 500,     /* while it is not reached */
    PATIENCE_MS = 2000, /* so long that is nobody's business: an owner may be changing */
    ANSWER_BYTES_MAX = 2048,
};

struct probe {
    struct follower *follower;
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    uint64_t since_ms;
    bool ended;
    char request[FOLLOWER_NODE_BYTES_MAX + 128];
    char answer[ANSWER_BYTES_MAX + 1];
    size_t size;
};

static void on_timer(uv_timer_t *timer);

static void arm(struct follower *follower, uint64_t ms)
{
    (void)uv_timer_start(&follower->reach.timer, on_timer, ms, 0);
}

/* ---- what it means */

static void judge(struct follower *follower, uint64_t since_ms, const char *why)
{
    struct reach *reach = &follower->reach;
    const struct follower_options *options = &follower->options;
    if (why == NULL) {
        bool told = reach->told;
        reach->told = false;
        reach->failing = false;
        if (told && options->on_reach != NULL)
            options->on_reach(options->arg, NULL);
        return;
    }
    if (!reach->failing)
        reach->failing_ms = since_ms;
    reach->failing = true;
    reach->tries++;
    (void)snprintf(reach->why, sizeof reach->why, "the owner at %.255s cannot be reached: %.200s",
                   follower->owner.address, why);
    if (reach->told || follower_now_ms(follower) - reach->failing_ms < PATIENCE_MS)
        return;
    reach->told = true;
    if (options->on_reach != NULL)
        options->on_reach(options->arg, reach->why);
}

const char *follower_unreached(const struct follower *follower)
{
    return follower->reach.told ? follower->reach.why : NULL;
}

/* ---- one attempt */

static void on_closed(uv_handle_t *handle)
{
    struct probe *probe = handle->data;
    struct follower *follower = probe->follower;
    free(probe);
    follower->parts--;
    follower_end_when_through(follower);
}

static void abandon(struct probe *probe)
{
    if (probe->ended)
        return;
    probe->ended = true;
    probe->follower->reach.probe = NULL;
    uv_close((uv_handle_t *)&probe->tcp, on_closed);
}

static void finish(struct probe *probe, const char *why)
{
    struct follower *follower = probe->follower;
    abandon(probe);
    arm(follower, why != NULL ? AGAIN_MS : follower->options.probe_ms);
    judge(follower, probe->since_ms, why);
}

static void read_answer(struct probe *probe, bool whole)
{
    static const char begin[] = "HTTP/1.1 ";
    size_t status_end = sizeof begin - 1 + 3;
    probe->answer[probe->size] = '\0';
    if (probe->size == 0 && whole)
        finish(probe, "it closes the connection without an answer");
    else if (probe->size < status_end && !whole)
        return;
    else if (memcmp(probe->answer, begin, sizeof begin - 1) != 0)
        finish(probe, "what answers there is no tocsin");
    else if (memcmp(probe->answer + sizeof begin - 1, "503", 3) != 0)
        finish(probe, NULL);
    else if (whole)
        finish(probe, strstr(probe->answer, FOLLOWER_NOT_OWNER) != NULL
                          ? "the node there does not own the records either; is its "
                            "cluster.address right?"
                          : NULL); /* an owner that is not well says so itself */
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_room)
{
    struct probe *probe = handle->data;
    (void)wanted;
    *ret_room =
        uv_buf_init(probe->answer + probe->size, (unsigned)(ANSWER_BYTES_MAX - probe->size));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *room)
{
    struct probe *probe = stream->data;
    (void)room;
    if (probe->ended || count == 0)
        return;
    if (count < 0 && count != UV_EOF) {
        finish(probe, uv_strerror((int)count));
        return;
    }
    if (count > 0)
        probe->size += (size_t)count;
    read_answer(probe, count < 0 || probe->size == ANSWER_BYTES_MAX);
}

static void on_written(uv_write_t *write, int error)
{
    struct probe *probe = write->data;
    if (!probe->ended && error != 0)
        finish(probe, uv_strerror(error));
}

static void on_connected(uv_connect_t *connect, int error)
{
    struct probe *probe = connect->data;
    struct follower *follower = probe->follower;
    if (probe->ended)
        return;
    if (error != 0 || follower->options.tls) {
        finish(probe, error != 0 ? uv_strerror(error) : NULL);
        return;
    }
    int size = snprintf(probe->request, sizeof probe->request,
                        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n",
                        follower->header);
    assert(size > 0 && (size_t)size < sizeof probe->request);
    uv_buf_t bytes = uv_buf_init(probe->request, (unsigned)size);
    uv_stream_t *stream = (uv_stream_t *)&probe->tcp;
    error = uv_write(&probe->write, stream, &bytes, 1, on_written);
    if (error == 0)
        error = uv_read_start(stream, on_room, on_read);
    if (error != 0)
        finish(probe, uv_strerror(error));
}

static void begin(struct follower *follower)
{
    struct reach *reach = &follower->reach;
    uint64_t now_ms = follower_now_ms(follower);
    bool idle = follower->retired || follower->closing || follower->options.probe_ms == 0;
    if (idle || follower->owner.address[0] == '\0')
        return; /* another owner begins it anew */
    owner_tick(follower);
    const struct sockaddr *place = owner_place(follower, reach->tries);
    if (place == NULL) {
        arm(follower, AGAIN_MS);
        judge(follower, now_ms,
              follower->owner.reason[0] != '\0' ? follower->owner.reason
                                                : "its name is being looked up");
        return;
    }
    struct probe *probe = calloc(1, sizeof *probe);
    arm(follower, probe != NULL ? follower->options.connect_ms : AGAIN_MS);
    if (probe == NULL)
        return;
    probe->follower = follower;
    probe->since_ms = now_ms;
    probe->tcp.data = probe->connect.data = probe->write.data = probe;
    (void)uv_tcp_init(loop_uv(follower->loop), &probe->tcp);
    follower->parts++;
    reach->probe = probe;
    int error = uv_tcp_connect(&probe->connect, &probe->tcp, place, on_connected);
    if (error != 0)
        finish(probe, uv_strerror(error));
}

static void on_timer(uv_timer_t *timer)
{
    struct follower *follower = timer->data;
    if (follower->reach.probe != NULL)
        finish(follower->reach.probe, "it does not answer in time");
    else
        begin(follower);
}

/* ---- life */

void probe_init(struct follower *follower)
{
    (void)uv_timer_init(loop_uv(follower->loop), &follower->reach.timer);
    follower->reach.timer.data = follower;
}

void probe_turn(struct follower *follower)
{
    struct reach *reach = &follower->reach;
    if (reach->probe != NULL)
        abandon(reach->probe);
    reach->failing = reach->told = false;
    reach->tries = 0;
    arm(follower, 0);
}

void probe_hurry(struct follower *follower)
{
    struct reach *reach = &follower->reach;
    if (!reach->failing && reach->probe == NULL)
        begin(follower);
}

void probe_close(struct follower *follower, void (*closed)(uv_handle_t *timer))
{
    if (follower->reach.probe != NULL)
        abandon(follower->reach.probe);
    uv_close((uv_handle_t *)&follower->reach.timer, closed);
}
