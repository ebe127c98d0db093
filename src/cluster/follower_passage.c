/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cluster/follower_inside.h"

enum { ANSWER_BYTES_MAX = 8 * 1024 };

/* ---- rings */

static void ring_add(struct passage **ring, struct passage *passage)
{
    if (*ring == NULL) {
        passage->next = passage;
        passage->previous = passage;
        *ring = passage;
        return;
    }
    passage->next = *ring;
    passage->previous = (*ring)->previous;
    passage->previous->next = passage;
    (*ring)->previous = passage;
}

static void ring_remove(struct passage **ring, struct passage *passage)
{
    passage->previous->next = passage->next;
    passage->next->previous = passage->previous;
    if (*ring == passage)
        *ring = passage->next != passage ? passage->next : NULL;
}

static bool is_pending(const struct passage *passage)
{
    return passage->state == PASSAGE_WAITS || passage->state == PASSAGE_CONNECTS;
}

static void settle(struct passage *passage, enum passage_state state)
{
    struct follower *follower = passage->follower;
    ring_remove(&follower->pending, passage);
    follower->pending_count--;
    passage->state = (uint8_t)state;
    ring_add(&follower->others, passage);
}

/* ---- refusing */

/* The request is with us and its server knows it no more: so the answer is made here. */
static void answer(struct passage *passage, const char *code, const char *detail)
{
    char head[256];
    struct buffer body;
    struct buffer all;
    buffer_init(&body, ANSWER_BYTES_MAX);
    buffer_init(&all, ANSWER_BYTES_MAX);
    follower_problem(&body, code, detail);
    (void)snprintf(head, sizeof head,
                   "HTTP/1.1 503 Service Unavailable\r\n"
                   "Content-Type: application/problem+json\r\n"
                   "Content-Length: %zu\r\nRetry-After: 1\r\nConnection: close\r\n\r\n",
                   body.size);
    buffer_append_text(&all, head);
    if (!passage->without_body)
        buffer_append(&all, body.data, body.size);
    if (buffer_status(&body) == TOCSIN_OK && buffer_status(&all) == TOCSIN_OK)
        tunnel_answer(passage->tunnel, (struct bytes){all.data, all.size});
    else
        tunnel_cut(passage->tunnel);
    buffer_release(&body);
    buffer_release(&all);
}

static void refuse(struct passage *passage, const char *code)
{
    struct follower *follower = passage->follower;
    char detail[FOLLOWER_DETAIL_BYTES];
    follower->stats.refused++;
    settle(passage, PASSAGE_ENDS);
    if (follower->options.tls) {
        tunnel_cut(passage->tunnel); /* we are not whom it speaks to */
        return;
    }
    owner_say(follower, detail);
    answer(passage, code, detail);
}

/* ---- finding a way */

static void wait_for_owner(struct passage *passage, uint32_t at_least_ms)
{
    struct follower *follower = passage->follower;
    passage->state = PASSAGE_WAITS;
    passage->again_ms = follower_now_ms(follower) + at_least_ms;
    if (!passage->counted_waiting)
        follower->stats.waited++;
    passage->counted_waiting = true;
}

static void failed(struct passage *passage, const char *reason)
{
    owner_note(passage->follower, reason);
    passage->tries++;
    wait_for_owner(passage, FOLLOWER_RETRY_MS);
    probe_hurry(passage->follower);
}

static void try_now(struct passage *passage)
{
    struct follower *follower = passage->follower;
    const struct sockaddr *place = owner_place(follower, passage->tries);
    if (place == NULL) {
        wait_for_owner(passage, 0);
        return;
    }
    passage->state = PASSAGE_CONNECTS;
    passage->since_ms = follower_now_ms(follower);
    int error = tunnel_connect(passage->tunnel, place);
    if (error != 0)
        failed(passage, uv_strerror(error));
}

static void on_connected(void *arg, int error)
{
    struct passage *passage = arg;
    struct follower *follower = passage->follower;
    if (error != 0) {
        failed(passage, uv_strerror(error));
        return;
    }
    follower->stats.forwarded++;
    follower->owner.reason[0] = '\0';
    settle(passage, PASSAGE_THROUGH);
}

static void on_closed(void *arg)
{
    struct passage *passage = arg;
    struct follower *follower = passage->follower;
    bool pending = is_pending(passage);
    ring_remove(pending ? &follower->pending : &follower->others, passage);
    follower->pending_count -= pending;
    follower->open--;
    free(passage);
    follower_end_when_through(follower);
}

/* ---- what is due */

static void tick_one(struct passage *passage, uint64_t now_ms)
{
    const struct follower_options *options = &passage->follower->options;
    if (passage->state == PASSAGE_CONNECTS) {
        if (now_ms - passage->since_ms < options->connect_ms)
            return;
        tunnel_disconnect(passage->tunnel);
        failed(passage, "no answer in time to the attempt to connect");
    }
    if (now_ms >= passage->until_ms)
        refuse(passage, "UNAVAILABLE");
    else if (now_ms >= passage->again_ms)
        try_now(passage);
}

void passages_tick(struct follower *follower)
{
    uint64_t now_ms = follower_now_ms(follower);
    struct passage *passage = follower->pending;
    for (uint64_t count = follower->pending_count; count > 0; count--) {
        struct passage *next = passage->next;
        tick_one(passage, now_ms);
        passage = next; /* nobody else is let in between: the owner might change */
    }
    uint64_t others = follower->open - follower->pending_count;
    uint64_t part = (others + FOLLOWER_LOOK_PARTS - 1) / FOLLOWER_LOOK_PARTS;
    for (; part > 0 && follower->others != NULL; part--) {
        tunnel_look(follower->others->tunnel, now_ms);
        follower->others = follower->others->next;
    }
}

void passages_turn(struct follower *follower)
{
    struct passage *passage = follower->others;
    uint64_t others = follower->open - follower->pending_count;
    for (uint64_t count = others; count > 0; count--) {
        if (passage->state == PASSAGE_THROUGH) {
            follower->stats.cut++;
            passage->state = PASSAGE_ENDS;
            tunnel_cut(passage->tunnel);
        }
        passage = passage->next;
    }
    passage = follower->pending;
    for (uint64_t count = follower->pending_count; count > 0; count--) {
        if (passage->state == PASSAGE_CONNECTS)
            tunnel_disconnect(passage->tunnel);
        passage->tries = 0;
        wait_for_owner(passage, 0);
        passage = passage->next;
    }
    passages_tick(follower);
}

void passages_cut(struct follower *follower)
{
    struct passage *rings[] = {follower->pending, follower->others};
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        struct passage *passage = rings[i];
        while (passage != NULL) {
            tunnel_cut(passage->tunnel);
            passage = passage->next != rings[i] ? passage->next : NULL;
        }
    }
}

/* ---- beginning */

/* The head as it came, our line before its empty one, and what else has come. False: no memory. */
static bool add_header(const struct follower *follower, struct bytes bytes, size_t head_bytes,
                       struct buffer *out)
{
    size_t lines = head_bytes - 2;
    buffer_append(out, bytes.at, lines);
    buffer_append_text(out, follower->header);
    buffer_append(out, bytes.at + lines, bytes.size - lines);
    return buffer_status(out) == TOCSIN_OK;
}

static bool is_head(struct bytes bytes)
{
    size_t at = bytes.size > 2 && bytes.at[0] == '\r' ? 2 : 0; /* one empty line is forgiven */
    return bytes.size - at > 5 && memcmp(bytes.at + at, "HEAD ", 5) == 0;
}

void passage_begin(struct follower *follower, int fd, struct bytes bytes, size_t head_bytes)
{
    struct buffer first;
    bool full = follower->open >= follower->options.limits.connections || follower->closing;
    struct passage *passage = full ? NULL : calloc(1, sizeof *passage);
    buffer_init(&first, bytes.size + sizeof follower->header);
    if (passage == NULL || (head_bytes > 0 && !add_header(follower, bytes, head_bytes, &first))) {
        free(passage);
        buffer_release(&first);
        follower->stats.refused++;
        (void)close(fd);
        return;
    }
    passage->follower = follower;
    passage->without_body = is_head(bytes);
    passage->until_ms = follower_now_ms(follower) + follower->options.wait_ms;
    passage->tunnel = tunnel_create(&follower->tunnels, fd, (struct bytes){first.data, first.size},
                                    &(struct tunnel_hooks){on_connected, on_closed, passage});
    buffer_release(&first);
    if (passage->tunnel == NULL) {
        free(passage);
        follower->stats.refused++;
        return;
    }
    follower->open++;
    follower->pending_count++;
    ring_add(&follower->pending, passage);
    follower_tick_on(follower);
    bool reachable = owner_place(follower, 0) != NULL && follower->owner.reason[0] == '\0';
    if (!reachable && follower->pending_count > follower->options.waiting_max)
        refuse(passage, "OVERLOADED");
    else
        try_now(passage);
}
