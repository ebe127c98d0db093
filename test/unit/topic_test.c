/* SPDX-License-Identifier: MIT */
/* Many sessions, and what is published to them. */
#include "support/session_world.h"

enum { CROWD = 300 };

static void publish(struct session_world *world, const char *destination, const char *body)
{
    assert_int_equal(
        topic_publish(world->topics, bytes_of(destination), "text/plain", bytes_of(body)),
        TOCSIN_OK);
}

#define MESSAGE(id, destination, number, size, body)                                               \
    "MESSAGE|subscription:" id "|destination:" destination                                         \
    "|content-type:text/plain|message-id:" number "|content-length:" size "||" body "\n"

static struct session_client *crowd_open(struct session_world *world, size_t count,
                                         const char *subscribe)
{
    struct session_client *crowd = calloc(count, sizeof *crowd);
    assert_non_null(crowd);
    for (size_t i = 0; i < count; i++) {
        session_client_connect(&crowd[i], world);
        session_client_says(&crowd[i], subscribe);
    }
    return crowd;
}

static void crowd_leave(struct session_client *crowd, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (crowd[i].session != NULL)
            session_client_leave(&crowd[i]);
    }
    free(crowd);
}

TEST(a_subscriber_hears_what_is_published_and_nobody_else_does)
{
    struct session_world world;
    struct session_client one;
    struct session_client other;
    session_world_start(&world, NULL);
    session_client_connect(&one, &world);
    session_client_connect(&other, &world);
    session_client_says(&one, "SUBSCRIBE|id:sub-0|destination:/topic/a||^");
    session_client_says(&other, "SUBSCRIBE|id:sub-0|destination:/topic/b||^");
    publish(&world, "/topic/a", "hello");
    publish(&world, "/topic/nobody", "hello");
    assert_int_equal(world.woken, 1);
    session_client_heard(&one, ""); /* not before it is run */
    session_world_run(&world);
    session_client_heard(&one, MESSAGE("sub-0", "/topic/a", "1", "5", "hello"));
    session_client_heard(&other, "");
    session_client_says(&one, "UNSUBSCRIBE|id:sub-0||^");
    publish(&world, "/topic/a", "again");
    session_world_run(&world);
    session_client_heard(&one, "");
    session_client_leave(&one);
    session_client_leave(&other);
    session_world_stop(&world);
}

TEST(two_subscriptions_of_one_session_each_get_the_message)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    session_client_says(&client, "SUBSCRIBE|id:a|destination:/topic/x||^"
                                 "SUBSCRIBE|id:b|destination:/topic/x||^");
    publish(&world, "/topic/x", "hi");
    session_world_run(&world);
    session_client_heard(&client, MESSAGE("a", "/topic/x", "1", "2", "hi")
                                      MESSAGE("b", "/topic/x", "1", "2", "hi"));
    session_world_part(&world, &client);
}

TEST(ids_and_destinations_are_escaped_on_their_way_back)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    session_client_says(&client, "SUBSCRIBE|id:a\\cb|destination:/topic/x\\\\\\ny||^");
    publish(&world, "/topic/x\\\ny", "hi");
    session_world_run(&world);
    session_client_heard(&client, MESSAGE("a\\cb", "/topic/x\\\\\\ny", "1", "2", "hi"));
    session_world_part(&world, &client);
}

TEST(what_is_encoded_is_encoded_once_and_shared)
{
    struct session_world world;
    session_world_start(&world, NULL);
    struct session_client *crowd =
        crowd_open(&world, CROWD, "SUBSCRIBE|id:sub-0|destination:/topic/a||^");
    for (size_t i = 0; i < CROWD; i++)
        crowd[i].keep = true;
    publish(&world, "/topic/a", "shared");
    session_world_run(&world);
    for (size_t i = 0; i < CROWD; i++) {
        session_client_heard(&crowd[i], MESSAGE("sub-0", "/topic/a", "1", "6", "shared"));
        assert_ptr_equal(crowd[i].tail, crowd[0].tail);
        assert_ptr_equal(crowd[i].head, crowd[0].head);
    }
    /* Once it is told, only those who hold it hold it. */
    assert_int_equal(crowd[0].tail->references, CROWD);
    assert_int_equal(crowd[0].head->references, CROWD);
    crowd_leave(crowd, CROWD);
    session_world_stop(&world);
}

TEST(a_head_is_never_taken_for_one_of_another_id)
{
    static const char *const ids[] = {"sub-0", "sub-00", "0", "sub-1", "x", "y", "sub-0", "b-0"};
    enum { COUNT = sizeof ids / sizeof ids[0] };
    struct session_world world;
    struct session_client clients[COUNT];
    session_world_start(&world, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        char text[100];
        session_client_connect(&clients[i], &world);
        (void)snprintf(text, sizeof text, "SUBSCRIBE|id:%s|destination:/topic/a||^", ids[i]);
        session_client_says(&clients[i], text);
    }
    publish(&world, "/topic/a", "hello");
    session_world_run(&world);
    for (size_t i = 0; i < COUNT; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "MESSAGE|subscription:%s|destination:/topic/a|%s%s",
                       ids[i], "content-type:text/plain|message-id:1|content-length:5||hello",
                       "\n");
        session_client_heard(&clients[i], text);
        session_client_leave(&clients[i]);
    }
    session_world_stop(&world);
}

TEST(a_broadcast_is_told_in_slices)
{
    struct session_world world;
    struct topics_counters counters;
    session_world_start(&world, NULL);
    struct session_client *crowd =
        crowd_open(&world, CROWD, "SUBSCRIBE|id:sub-0|destination:/topic/a||^");
    publish(&world, "/topic/a", "one");
    uint64_t before = 0;
    unsigned runs = 0;
    bool more;
    do {
        more = topics_run(world.topics, 10);
        topics_describe(world.topics, &counters);
        assert_true(counters.delivered - before <= 10);
        before = counters.delivered;
        runs++;
    } while (more);
    assert_int_equal(before, CROWD);
    assert_true(runs >= CROWD / 10);
    assert_int_equal(counters.pending, 0);
    assert_int_equal(counters.pending_bytes, 0);
    crowd_leave(crowd, CROWD);
    session_world_stop(&world);
}

TEST(a_small_topic_does_not_wait_for_a_large_one)
{
    struct session_world world;
    struct session_client small;
    session_world_start(&world, NULL);
    struct session_client *crowd =
        crowd_open(&world, CROWD, "SUBSCRIBE|id:sub-0|destination:/topic/large||^");
    session_client_connect(&small, &world);
    session_client_says(&small, "SUBSCRIBE|id:sub-0|destination:/topic/small||^");
    publish(&world, "/topic/large", "one");
    publish(&world, "/topic/small", "two");
    assert_true(topics_run(world.topics, 70));
    session_client_heard(&small, MESSAGE("sub-0", "/topic/small", "2", "3", "two"));
    session_client_leave(&small);
    session_world_run(&world);
    crowd_leave(crowd, CROWD);
    session_world_stop(&world);
}

TEST(each_subscriber_hears_all_of_a_topic_in_order)
{
    struct session_world world;
    session_world_start(&world, NULL);
    struct session_client *crowd =
        crowd_open(&world, CROWD, "SUBSCRIBE|id:s|destination:/topic/a||^");
    for (int i = 0; i < 5; i++) {
        char body[2] = {(char)('a' + i), '\0'};
        publish(&world, "/topic/a", body);
        (void)topics_run(world.topics, 100); /* the next comes before this one is told to all */
    }
    session_world_run(&world);
    for (size_t i = 0; i < CROWD; i++)
        session_client_heard(&crowd[i], MESSAGE("s", "/topic/a", "1", "1", "a")
                                            MESSAGE("s", "/topic/a", "2", "1", "b")
                                                MESSAGE("s", "/topic/a", "3", "1", "c")
                                                    MESSAGE("s", "/topic/a", "4", "1", "d")
                                                        MESSAGE("s", "/topic/a", "5", "1", "e"));
    crowd_leave(crowd, CROWD);
    session_world_stop(&world);
}

TEST(who_comes_in_the_middle_of_a_broadcast_gets_only_what_is_published_after)
{
    struct session_world world;
    struct session_client late;
    session_world_start(&world, NULL);
    struct session_client *crowd = crowd_open(&world, 20, "SUBSCRIBE|id:s|destination:/topic/a||^");
    publish(&world, "/topic/a", "before");
    assert_true(topics_run(world.topics, 5));
    session_client_connect(&late, &world);
    session_client_says(&late, "SUBSCRIBE|id:s|destination:/topic/a||^");
    publish(&world, "/topic/a", "after");
    session_world_run(&world);
    session_client_heard(&late, MESSAGE("s", "/topic/a", "2", "5", "after"));
    session_client_leave(&late);
    crowd_leave(crowd, 20);
    session_world_stop(&world);
}

/* Whoever leaves, and whenever: the others hear everything, once, in order. */
TEST(leaving_in_the_middle_of_a_broadcast_is_felt_by_nobody)
{
    enum { COUNT = 20 };
    for (size_t at = 0; at <= COUNT; at++) {
        for (size_t leaver = 0; leaver < COUNT; leaver++) {
            struct session_world world;
            session_world_start(&world, NULL);
            struct session_client *crowd =
                crowd_open(&world, COUNT, "SUBSCRIBE|id:s|destination:/topic/a||^");
            publish(&world, "/topic/a", "1");
            publish(&world, "/topic/a", "2");
            if (at > 0)
                (void)topics_run(world.topics, (uint32_t)at);
            session_world_check(&world);
            if (leaver % 2 == 0) {
                session_client_says(&crowd[leaver], "UNSUBSCRIBE|id:s||^");
            } else {
                session_client_leave(&crowd[leaver]);
                crowd[leaver].session = NULL;
            }
            session_world_check(&world);
            session_world_run(&world);
            for (size_t i = 0; i < COUNT; i++) {
                if (i != leaver)
                    session_client_heard(&crowd[i], MESSAGE("s", "/topic/a", "1", "1", "1")
                                                        MESSAGE("s", "/topic/a", "2", "1", "2"));
            }
            crowd_leave(crowd, COUNT);
            session_world_stop(&world);
        }
    }
}

TEST(all_leaving_in_the_middle_of_a_broadcast_leaves_nothing_behind)
{
    struct session_world world;
    struct topics_counters counters;
    session_world_start(&world, NULL);
    struct session_client *crowd = crowd_open(&world, 20, "SUBSCRIBE|id:s|destination:/topic/a||^");
    publish(&world, "/topic/a", "1");
    publish(&world, "/topic/a", "2");
    assert_true(topics_run(world.topics, 5));
    crowd_leave(crowd, 20);
    session_world_check(&world);
    session_world_run(&world);
    topics_describe(world.topics, &counters);
    assert_int_equal(counters.topics, 0);
    assert_int_equal(counters.pending, 0);
    session_world_stop(&world);
}

TEST(a_slow_reader_is_felt_by_nobody)
{
    struct session_world world;
    session_world_start(&world, NULL);
    struct session_client *crowd = crowd_open(&world, 10, "SUBSCRIBE|id:s|destination:/topic/a||^");
    crowd[3].unread_max = crowd[3].unread + 300;
    for (int i = 0; i < 10; i++) {
        publish(&world, "/topic/a", "x");
        session_world_run(&world);
    }
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(crowd[i].messages, i == 3 ? 2 : 10);
    assert_true(crowd[3].closed);
    assert_null(session_find(world.topics, session_id(crowd[3].session)));
    crowd_leave(crowd, 10);
    session_world_stop(&world);
}

TEST(what_is_not_told_yet_is_bounded)
{
    struct session_world world;
    struct session_client client;
    struct topics_limits limits = topics_limits_default;
    limits.pending_bytes = 10;
    session_world_meet(&world, &limits, &client);
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a||^");
    publish(&world, "/topic/a", "12345678");
    assert_int_equal(
        topic_publish(world.topics, bytes_of("/topic/a"), "text/plain", bytes_of("123")),
        TOCSIN_OVERLOADED);
    publish(&world, "/topic/a", "12");
    session_world_run(&world);
    publish(&world, "/topic/a", "123");
    session_world_run(&world);
    assert_int_equal(client.messages, 3);
    session_world_part(&world, &client);
}

TEST(a_body_that_is_no_text_is_sent_as_binary)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    client.keep = true;
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a||^");
    assert_int_equal(topic_publish(world.topics, bytes_of("/topic/a"), "application/octet-stream",
                                   (struct bytes){"\xff\0", 2}),
                     TOCSIN_OK);
    session_world_run(&world);
    assert_int_equal(client.head->data[0] & 0x0f, WEBSOCKET_BINARY);
    session_world_part(&world, &client);
}

TEST(messages_of_all_sizes_have_the_head_that_fits)
{
    static const size_t sizes[] = {0, 1, 20, 30, 40, 126, 65400, 65536, 70000};
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a||^");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *body = malloc(sizes[i] + 1);
        assert_non_null(body);
        memset(body, 'x', sizes[i]);
        assert_int_equal(topic_publish(world.topics, bytes_of("/topic/a"), "text/plain",
                                       (struct bytes){body, sizes[i]}),
                         TOCSIN_OK);
        session_world_run(&world); /* session_client_payload checks the length */
        assert_true(client.heard.size > sizes[i]);
        buffer_clear(&client.heard);
        free(body);
    }
    session_world_part(&world, &client);
}

/* ---- acknowledgements */

#define ACKED(ack, number, body)                                                                   \
    "MESSAGE|subscription:s|ack:" ack                                                              \
    "|destination:/topic/a|content-type:text/plain|message-id:" number "|content-length:1||" body  \
    "\n"

TEST(with_client_an_ack_covers_all_before_it)
{
    struct session_world world;
    struct session_client client;
    struct topics_limits limits = topics_limits_default;
    limits.unacknowledged = 3;
    session_world_meet(&world, &limits, &client);
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a|ack:client||^");
    publish(&world, "/topic/a", "a");
    publish(&world, "/topic/a", "b");
    publish(&world, "/topic/a", "c");
    session_world_run(&world);
    session_client_heard(&client,
                         ACKED("1.0", "1", "a") ACKED("1.1", "2", "b") ACKED("1.2", "3", "c"));
    session_client_says(&client, "ACK|id:1.1||^ACK|id:1.0||^"); /* the second says nothing new */
    publish(&world, "/topic/a", "d");
    publish(&world, "/topic/a", "e");
    session_world_run(&world);
    session_client_heard(&client, ACKED("1.3", "4", "d") ACKED("1.4", "5", "e"));
    assert_false(client.closed);
    publish(&world, "/topic/a", "f");
    session_world_run(&world);
    assert_true(client.closed);
    assert_int_equal(client.code, WEBSOCKET_POLICY);
    session_world_part(&world, &client);
}

TEST(with_client_individual_each_message_is_settled_by_itself)
{
    struct session_world world;
    struct session_client client;
    struct topics_limits limits = topics_limits_default;
    struct topics_counters counters;
    limits.unacknowledged = 3;
    session_world_meet(&world, &limits, &client);
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a|ack:client-individual||^");
    for (int i = 0; i < 3; i++)
        publish(&world, "/topic/a", "x");
    session_world_run(&world);
    /* The first still waits, so the window has not moved. */
    session_client_says(&client, "ACK|id:1.1||^NACK|id:1.2|receipt:n||^");
    session_client_says(&client, "ACK|id:1.0||^");
    for (int i = 0; i < 3; i++)
        publish(&world, "/topic/a", "x");
    session_world_run(&world);
    assert_false(client.closed);
    assert_int_equal(client.messages, 6);
    topics_describe(world.topics, &counters);
    assert_int_equal(counters.nacked, 1);
    session_client_says(&client, "ACK|id:1.4||^ACK|id:1.5||^");
    publish(&world, "/topic/a", "x");
    session_world_run(&world);
    assert_true(client.closed); /* 1.3 was never settled */
    session_world_part(&world, &client);
}

TEST(an_ack_of_what_was_never_sent_is_an_error_and_a_late_one_is_not)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a|ack:client||^");
    publish(&world, "/topic/a", "x");
    session_world_run(&world);
    session_client_says(&client, "UNSUBSCRIBE|id:s||^ACK|id:1.0|receipt:1||^");
    assert_false(client.closed);
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a|ack:client||^ACK|id:2.0||^");
    assert_true(client.closed);
    session_world_part(&world, &client);
}

TEST(acks_wait_in_a_transaction)
{
    struct session_world world;
    struct session_client client;
    struct topics_limits limits = topics_limits_default;
    limits.unacknowledged = 1;
    session_world_meet(&world, &limits, &client);
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a|ack:client||^");
    publish(&world, "/topic/a", "x");
    session_world_run(&world);
    session_client_says(&client, "BEGIN|transaction:t||^ACK|id:1.0|transaction:t||^"
                                 "COMMIT|transaction:t||^");
    publish(&world, "/topic/a", "x");
    session_world_run(&world);
    assert_false(client.closed);
    session_client_says(&client, "BEGIN|transaction:t||^ACK|id:1.1|transaction:t||^"
                                 "ABORT|transaction:t||^");
    publish(&world, "/topic/a", "x");
    session_world_run(&world);
    assert_true(client.closed);
    session_world_part(&world, &client);
}

/* ---- the clever against the obvious */

enum { MODEL_CLIENTS = 12, MODEL_TOPICS = 4 };

struct model {
    struct session_world world;
    struct session_client clients[MODEL_CLIENTS];
    bool subscribed[MODEL_CLIENTS][MODEL_TOPICS];
    struct buffer wanted[MODEL_CLIENTS][MODEL_TOPICS]; /* bodies, in order */
    struct test_random random;
};

static size_t choose(struct model *model, size_t limit)
{
    return (size_t)test_random_below(&model->random, limit);
}

static void model_toggle(struct model *model, size_t client, size_t topic)
{
    char text[100];
    bool *subscribed = &model->subscribed[client][topic];
    const char *form =
        *subscribed ? "UNSUBSCRIBE|id:%zu||^" : "SUBSCRIBE|id:%zu|destination:/topic/%zu||^";
    if (*subscribed)
        session_world_run(&model->world); /* so that what is wanted has come */
    (void)snprintf(text, sizeof text, form, topic, topic);
    session_client_says(&model->clients[client], text);
    *subscribed = !*subscribed;
}

static void model_publish(struct model *model, size_t topic, unsigned number)
{
    char destination[32];
    char body[32];
    (void)snprintf(destination, sizeof destination, "/topic/%zu", topic);
    (void)snprintf(body, sizeof body, "<%u>", number);
    publish(&model->world, destination, body);
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        if (model->subscribed[i][topic])
            buffer_append_text(&model->wanted[i][topic], body);
    }
}

/* The bodies of one subscription, out of all that was heard. */
static void model_compare(struct model *model, size_t client, size_t topic)
{
    struct buffer seen;
    char start[40];
    struct session_client *one = &model->clients[client];
    buffer_init(&seen, SESSION_WORLD_BYTES_MAX);
    (void)snprintf(start, sizeof start, "MESSAGE|subscription:%zu|", topic);
    for (char *at = one->heard.data; at != NULL && (at = strstr(at, start)) != NULL; at++) {
        char *body = strstr(at, "||<");
        assert_non_null(body);
        buffer_append(&seen, body + 2, (size_t)(strchr(body, '>') + 1 - body) - 2);
    }
    assert_int_equal(seen.size, model->wanted[client][topic].size);
    if (seen.size > 0)
        assert_memory_equal(seen.data, model->wanted[client][topic].data, seen.size);
    buffer_release(&seen);
}

static void model_end(struct model *model)
{
    session_world_run(&model->world);
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        buffer_append_byte(&model->clients[i].heard, '\0');
        for (size_t topic = 0; topic < MODEL_TOPICS; topic++) {
            model_compare(model, i, topic);
            buffer_release(&model->wanted[i][topic]);
        }
        session_client_leave(&model->clients[i]);
    }
    session_world_stop(&model->world);
}

TEST(whatever_comes_and_goes_each_hears_what_a_list_would_have_told_it)
{
    uint64_t seed = test_seed();
    for (uint64_t round = 0; round < test_effort(100); round++) {
        static struct model model;
        model = (struct model){.random = {seed + round}};
        session_world_start(&model.world, NULL);
        for (size_t i = 0; i < MODEL_CLIENTS; i++) {
            session_client_connect(&model.clients[i], &model.world);
            for (size_t topic = 0; topic < MODEL_TOPICS; topic++)
                buffer_init(&model.wanted[i][topic], SESSION_WORLD_BYTES_MAX);
        }
        for (unsigned step = 0; step < 300; step++) {
            size_t what = choose(&model, 10);
            if (what < 2)
                model_toggle(&model, choose(&model, MODEL_CLIENTS), choose(&model, MODEL_TOPICS));
            else if (what < 6)
                model_publish(&model, choose(&model, MODEL_TOPICS), step);
            else
                (void)topics_run(model.world.topics, 1 + (uint32_t)choose(&model, 12));
            session_world_check(&model.world);
        }
        model_end(&model);
    }
}

TEST(ten_thousand_hear_of_it_without_a_copy)
{
    enum { MANY = 10000, ROUNDS = 5 };
    struct session_world world;
    struct topics_counters counters;
    session_world_start(&world, NULL);
    struct session_client *crowd =
        crowd_open(&world, MANY, "SUBSCRIBE|id:sub-0|destination:/topic/a||^");
    for (size_t i = 0; i < MANY; i++)
        crowd[i].quiet = true;
    for (int i = 0; i < ROUNDS; i++)
        publish(&world, "/topic/a", "tick");
    while (topics_run(world.topics, 128)) {
    }
    topics_describe(world.topics, &counters);
    assert_int_equal(counters.delivered, MANY * ROUNDS);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(crowd[i].messages, ROUNDS);
    crowd_leave(crowd, MANY);
    session_world_stop(&world);
}
