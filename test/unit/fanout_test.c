/* SPDX-License-Identifier: MIT */
/* What is published, from the topic down to the sockets of many clients: some read, some do not,
 * some leave in the middle. */
#include "delivery/session.h"
#include "delivery/stomp_socket.h"
#include "support/websocket_world.h"

#include <poll.h>
#include <sys/resource.h>
#include <uv.h>

enum { CLIENTS = 100, MESSAGES = 150, BODY_BYTES = 40000 };

struct fanout {
    struct world http;
    struct topics *topics;
    struct websocket_counters counters;
    struct loop_deferred run;
    struct topics_counters seen;
    unsigned published;
};

static void run_topics(void *arg)
{
    struct fanout *fanout = arg;
    if (topics_run(fanout->topics, 128))
        loop_defer(fanout->http.loop, &fanout->run);
}

static void wake(void *arg)
{
    struct fanout *fanout = arg;
    loop_defer(fanout->http.loop, &fanout->run);
}

static uint64_t now_ms(void *arg)
{
    return uv_now(loop_uv(((struct fanout *)arg)->http.loop));
}

static enum session_when on_send(void *arg, struct session *session,
                                 const struct stomp_frame *frame, uint64_t ticket)
{
    (void)arg;
    (void)session;
    (void)frame;
    (void)ticket;
    return SESSION_DONE;
}

static void on_request(void *arg, struct http_exchange *exchange,
                       const struct http_request *request)
{
    struct fanout *fanout = arg;
    char headers[WEBSOCKET_HEADERS_BYTES];
    const char *problem = "";
    (void)request;
    struct stomp_socket_options options = {
        .topics = fanout->topics,
        .message_bytes = 64 * 1024,
        .queue_bytes = 256 * 1024,
        .counters = &fanout->counters,
    };
    assert_int_equal(stomp_socket_open(exchange, &options, headers, &problem), 101);
}

static void start(struct fanout *fanout)
{
    *fanout = (struct fanout){0};
    fanout->run = (struct loop_deferred){.run = run_topics, .arg = fanout};
    fanout->http.on_request = on_request;
    fanout->http.user = fanout;
    struct topics_options options = {
        .limits = topics_limits_default,
        .hooks = {.on_send = on_send, .wake = wake, .now_ms = now_ms, .arg = fanout},
        .hash_key = {1, 2},
        .server = "test",
    };
    assert_int_equal(topics_create(&options, &fanout->topics), TOCSIN_OK);
    world_start(&fanout->http);
}

static void stop(struct fanout *fanout)
{
    world_stop(&fanout->http);
    topics_destroy(fanout->topics);
}

static void publish_one(struct world *http)
{
    struct fanout *fanout = http->user;
    char body[BODY_BYTES];
    memset(body, 'x', sizeof body);
    (void)snprintf(body, sizeof body, "%06u", fanout->published++);
    assert_int_equal(topic_publish(fanout->topics, bytes_of("/topic/a"), "text/plain",
                                   (struct bytes){body, sizeof body}),
                     TOCSIN_OK);
}

static void look(struct world *http)
{
    struct fanout *fanout = http->user;
    struct tocsin_why why = {""};
    topics_describe(fanout->topics, &fanout->seen);
    if (topics_check(fanout->topics, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
}

static int subscriber(struct fanout *fanout, int receive_bytes)
{
    static const char hello[] = "CONNECT\naccept-version:1.2\n\n\0"
                                "SUBSCRIBE\nid:sub-0\ndestination:/topic/a\nreceipt:1\n\n";
    int fd = client_open(&fanout->http);
    if (receive_bytes > 0)
        assert_int_equal(
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes), 0);
    client_send(fd, WS_REQUEST);
    assert_int_equal(client_answer_without_body(fd).status, 101);
    ws_send(fd, WEBSOCKET_TEXT, hello, sizeof hello);
    unsigned opcode;
    size_t size;
    for (int i = 0; i < 2; i++)
        free(ws_receive(fd, &opcode, &size));
    return fd;
}

/* The number in the body of the next MESSAGE. */
static unsigned receive_message(int fd)
{
    unsigned opcode;
    size_t size;
    char *payload = ws_receive(fd, &opcode, &size);
    assert_int_equal(opcode, WEBSOCKET_TEXT);
    assert_int_equal(strncmp(payload, "MESSAGE\nsubscription:sub-0\n", 27), 0);
    const char *body = strstr(payload, "\n\n");
    assert_non_null(body);
    unsigned number = (unsigned)strtoul(body + 2, NULL, 10);
    assert_int_equal(size, (size_t)(body - payload) + 2 + BODY_BYTES + 1);
    free(payload);
    return number;
}

static void raise_file_limit(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(all_who_read_hear_everything_in_order_whatever_the_others_do)
{
    enum { DEAF = 7, LEAVER = 11 };
    struct fanout fanout;
    int fds[CLIENTS];
    raise_file_limit();
    start(&fanout);
    for (size_t i = 0; i < CLIENTS; i++)
        fds[i] = subscriber(&fanout, i == DEAF ? 4096 : 0);
    /* Each waits for the one before, as those who read do; the deaf one never reads. */
    for (unsigned message = 0; message < MESSAGES; message++) {
        world_do(&fanout.http, publish_one);
        if (message == MESSAGES / 2)
            (void)close(fds[LEAVER]);
        world_do(&fanout.http, look);
        for (size_t i = 0; i < CLIENTS; i++) {
            if (i != DEAF && (i != LEAVER || message < MESSAGES / 2))
                assert_int_equal(receive_message(fds[i]), message);
        }
    }
    /* Two are gone: one by itself, one cut off; and only they. */
    for (int i = 0; i < WORLD_WAIT_S * 1000 && fanout.seen.sessions != CLIENTS - 2; i++) {
        world_do(&fanout.http, look);
        (void)usleep(1000);
    }
    assert_int_equal(fanout.seen.sessions, CLIENTS - 2);
    assert_int_equal(fanout.seen.subscriptions, CLIENTS - 2);
    assert_int_equal(fanout.seen.pending, 0);
    assert_int_equal(fanout.counters.slow, 1);
    for (size_t i = 0; i < CLIENTS; i++) {
        if (i != LEAVER)
            (void)close(fds[i]);
    }
    stop(&fanout);
}

static void publish_many(struct world *http)
{
    for (int i = 0; i < 5; i++)
        publish_one(http);
}

TEST(what_is_published_faster_than_it_is_told_stays_in_order)
{
    struct fanout fanout;
    int fds[CLIENTS];
    start(&fanout);
    for (size_t i = 0; i < CLIENTS; i++)
        fds[i] = subscriber(&fanout, 0);
    world_do(&fanout.http, publish_many);
    for (size_t i = 0; i < CLIENTS; i++) {
        for (unsigned message = 0; message < 5; message++)
            assert_int_equal(receive_message(fds[i]), message);
        (void)close(fds[i]);
    }
    stop(&fanout);
}
