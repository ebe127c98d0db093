/* SPDX-License-Identifier: MIT */
/* What one STOMP client says and hears. */
#include "support/session_world.h"

#define HELLO "CONNECTED|version:1.2|heart-beat:10000,10000|server:test|session:100000000||\n"
#define ERROR(message, receipt, size, detail)                                                      \
    "ERROR|message:" message "|version:1.2|" receipt                                               \
    "content-type:text/plain|content-length:" size "||" detail "\n"

struct script {
    const char *name;
    const char *says;
    const char *hears; /* after HELLO, unless it begins with '!' */
    const char *events;
    unsigned code; /* 0: it is still open */
};

static const struct script scripts[] = {
    {"CONNECT", CONNECT, "", "connect\n", 0},
    {"STOMP", "STOMP|accept-version:1.0,1.1,1.2|host:x||^", "", "connect\n", 0},
    {"login", "CONNECT|accept-version:1.2|login:me|passcode:pw||^", "", "connect me pw\n", 0},
    {"wrong passcode", "CONNECT|accept-version:1.2|passcode:wrong||^",
     "!" ERROR("not allowed", "", "15", "passcode: wrong"), "connect wrong\n", 1008},
    {"no version", "CONNECT|host:x||^",
     "!" ERROR("no version in common", "", "39", "accept-version: only 1.2 is spoken here"), "",
     1002},
    {"other versions", "CONNECT|accept-version:1.0,1.1,1.20||^",
     "!" ERROR("no version in common", "", "39", "accept-version: only 1.2 is spoken here"), "",
     1002},
    {"heart-beat", "CONNECT|accept-version:1.2|heart-beat:5,||^",
     "!" ERROR("heart-beat is malformed", "", "71",
               "heart-beat: two numbers of milliseconds are needed, such as 10000,10000"),
     "", 1002},
    {"SEND first", "SEND|destination:/app/x||^" CONNECT,
     "!" ERROR("CONNECT comes first", "", "48", "nothing is taken before a CONNECT or STOMP frame"),
     "", 1002},
    {"CONNECT twice", CONNECT CONNECT, ERROR("connected already", "", "18", "CONNECT comes once"),
     "connect\n", 1002},
    {"garbage", CONNECT "GET / HTTP/1.1|",
     ERROR("malformed frame", "", "40", "this is no command of a STOMP 1.2 client"), "connect\n",
     1002},
    {"an unknown command", CONNECT "DANCE|a:b|receipt:a:b||^",
     ERROR("malformed frame", "receipt-id:a\\cb|", "40",
           "this is no command of a STOMP 1.2 client"),
     "connect\n", 1002},
    {"malformed behind its receipt", CONNECT "SEND|receipt:7|no colon||^",
     ERROR("malformed frame", "receipt-id:7|", "34", "a header without a name or a colon"),
     "connect\n", 1002},
    {"malformed before its receipt", CONNECT "SEND|no colon|receipt:7||^",
     ERROR("malformed frame", "", "34", "a header without a name or a colon"), "connect\n", 1002},
    {"SEND", CONNECT "SEND|destination:/app/x||hello^", "", "connect\nsend /app/x hello\n", 0},
    {"SEND with a receipt", CONNECT "SEND|destination:/app/x|receipt:a:b||hello^",
     "RECEIPT|receipt-id:a\\cb||\n", "connect\nsend /app/x hello\n", 0},
    {"SEND to nowhere", CONNECT "SEND|receipt:7||hello^",
     ERROR("SEND is refused", "receipt-id:7|", "50",
           "destination: a name of at most 256 bytes is needed"),
     "connect\n", 1002},
    {"nothing after an error", CONNECT "SEND||^SEND|destination:/app/x||^",
     ERROR("SEND is refused", "", "50", "destination: a name of at most 256 bytes is needed"),
     "connect\n", 1002},
    {"heart-beats are not answered", CONNECT "||||", "", "connect\n", 0},
    {"DISCONNECT", CONNECT "DISCONNECT|receipt:77||^SEND|destination:/app/x||^",
     "RECEIPT|receipt-id:77||\n", "connect\n", 1000},
    {"DISCONNECT without a receipt", CONNECT "DISCONNECT||^", "", "connect\n", 1000},
    {"SUBSCRIBE", CONNECT "SUBSCRIBE|id:0|destination:/topic/a|receipt:1||^",
     "RECEIPT|receipt-id:1||\n", "connect\n", 0},
    {"an id twice",
     CONNECT "SUBSCRIBE|id:0|destination:/topic/a||^SUBSCRIBE|id:0|destination:/topic/b||^",
     ERROR("SUBSCRIBE is refused", "", "50", "id: another subscription of this connection has it"),
     "connect\n", 1002},
    {"no id", CONNECT "SUBSCRIBE|destination:/topic/a||^",
     ERROR("SUBSCRIBE is refused", "", "41", "id: a name of at most 128 bytes is needed"),
     "connect\n", 1002},
    {"another destination", CONNECT "SUBSCRIBE|id:0|destination:/queue/a||^",
     ERROR("SUBSCRIBE is refused", "", "69",
           "destination: only /topic/... and /user/queue/... can be subscribed to"),
     "connect\n", 1002},
    {"an empty topic", CONNECT "SUBSCRIBE|id:0|destination:/topic/||^",
     ERROR("SUBSCRIBE is refused", "", "69",
           "destination: only /topic/... and /user/queue/... can be subscribed to"),
     "connect\n", 1002},
    {"an ack that is none", CONNECT "SUBSCRIBE|id:0|destination:/topic/a|ack:never||^",
     ERROR("SUBSCRIBE is refused", "", "43", "ack: one of auto, client, client-individual"),
     "connect\n", 1002},
    {"UNSUBSCRIBE", CONNECT "SUBSCRIBE|id:0|destination:/topic/a||^UNSUBSCRIBE|id:0|receipt:1||^",
     "RECEIPT|receipt-id:1||\n", "connect\n", 0},
    {"an id again",
     CONNECT "SUBSCRIBE|id:0|destination:/topic/a||^UNSUBSCRIBE|id:0||^"
             "SUBSCRIBE|id:0|destination:/topic/a|receipt:1||^",
     "RECEIPT|receipt-id:1||\n", "connect\n", 0},
    {"UNSUBSCRIBE of nothing", CONNECT "UNSUBSCRIBE|id:9||^",
     ERROR("UNSUBSCRIBE is refused", "", "33", "id: there is no such subscription"), "connect\n",
     1002},
    {"the user's queue",
     CONNECT "SUBSCRIBE|id:u|destination:/user/queue/own||^SEND|destination:/app/tell||hi^",
     "MESSAGE|subscription:u|destination:/user/queue/own|content-type:text/plain|message-id:1|"
     "content-length:2||hi\n",
     "connect\nsend /app/tell hi\n", 0},
    {"the user's queue comes before the receipt",
     CONNECT "SUBSCRIBE|id:u|destination:/user/queue/own||^"
             "SEND|destination:/app/tell|receipt:r||hi^",
     "MESSAGE|subscription:u|destination:/user/queue/own|content-type:text/plain|message-id:1|"
     "content-length:2||hi\nRECEIPT|receipt-id:r||\n",
     "connect\nsend /app/tell hi\n", 0},
    {"a handler that refuses", CONNECT "SEND|destination:/app/refuse|receipt:r||^",
     ERROR("refused", "", "7", "because"), "connect\nsend /app/refuse\n", 1008},
    {"a transaction that is committed",
     CONNECT "BEGIN|transaction:t|receipt:1||^SEND|destination:/app/x|transaction:t|receipt:2||a^"
             "SEND|destination:/app/y||now^SEND|destination:/app/z|transaction:t||b^"
             "COMMIT|transaction:t|receipt:3||^",
     "RECEIPT|receipt-id:1||\nRECEIPT|receipt-id:2||\nRECEIPT|receipt-id:3||\n",
     "connect\nsend /app/y now\nsend /app/x a\nsend /app/z b\n", 0},
    {"a transaction that is aborted",
     CONNECT "BEGIN|transaction:t||^SEND|destination:/app/x|transaction:t||a^"
             "ABORT|transaction:t|receipt:1||^COMMIT|transaction:t||^",
     "RECEIPT|receipt-id:1||\n" ERROR("transaction is refused", "", "40",
                                      "transaction: none of this name was begun"),
     "connect\n", 1002},
    {"a transaction twice", CONNECT "BEGIN|transaction:t||^BEGIN|transaction:t||^",
     ERROR("transaction is refused", "", "33", "transaction: it was begun already"), "connect\n",
     1002},
    {"a transaction without a name", CONNECT "BEGIN||^",
     ERROR("transaction is refused", "", "29", "transaction: a name is needed"), "connect\n", 1002},
    {"a SEND in no transaction", CONNECT "SEND|destination:/app/x|transaction:t||^",
     ERROR("transaction is refused", "", "40", "transaction: none of this name was begun"),
     "connect\n", 1002},
    {"a SEND to nowhere in a transaction", CONNECT "BEGIN|transaction:t||^SEND|transaction:t||^",
     ERROR("transaction is refused", "", "50",
           "destination: a name of at most 256 bytes is needed"),
     "connect\n", 1002},
    {"an open transaction is forgotten",
     CONNECT "BEGIN|transaction:t||^SEND|destination:/app/x|transaction:t||a^", "", "connect\n", 0},
    {"ACK of nothing", CONNECT "ACK|id:1.0||^",
     ERROR("ACK or NACK of nothing", "", "59",
           "id: this is not the `ack` header of a message that was sent"),
     "connect\n", 1002},
};

static void run(const struct script *script, size_t first, size_t step)
{
    struct session_world world;
    struct session_client client;
    bool greeted = script->hears[0] != '!';
    session_world_start(&world, NULL);
    session_client_open(&client, &world);
    session_client_says_in(&client, script->says, first, step);
    buffer_append_byte(&client.heard, '\0');
    buffer_append_byte(&world.events, '\0');
    size_t hello = greeted ? strlen(HELLO) : 0;
    if ((greeted && strncmp(client.heard.data, HELLO, hello) != 0) ||
        strcmp(client.heard.data + hello, script->hears + !greeted) != 0)
        fail_msg("%s, cut after %zu, then each %zu: heard %s", script->name, first, step,
                 client.heard.data);
    if (strcmp(world.events.data, script->events) != 0)
        fail_msg("%s: %s", script->name, world.events.data);
    if (client.closed != (script->code != 0) || client.code != script->code)
        fail_msg("%s: closed with %d", script->name, client.code);
    session_world_part(&world, &client);
}

TEST(a_client_hears_what_the_specification_promises)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        run(&scripts[i], 0, SIZE_MAX / 2);
}

TEST(where_the_bytes_are_cut_makes_no_difference)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        run(&scripts[i], 0, 1);
        for (size_t first = 1; first < strlen(scripts[i].says); first += 3)
            run(&scripts[i], first, SIZE_MAX / 2);
    }
}

/* ---- receipts */

TEST(a_receipt_waits_until_the_handler_is_done)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    session_client_says(&client, "SEND|destination:/app/later|receipt:1||a^"
                                 "SEND|destination:/app/later|receipt:2||b^"
                                 "SEND|destination:/app/x|receipt:3||c^");
    session_client_heard(&client, "RECEIPT|receipt-id:3||\n");
    session_world_finish(&world);
    session_client_heard(&client, "RECEIPT|receipt-id:1||\n");
    session_world_finish(&world);
    session_client_heard(&client, "RECEIPT|receipt-id:2||\n");
    session_world_part(&world, &client);
}

/* What a send led to stands in line to be told to many; its sender has heard it with the receipt,
 * and does not hear it again. */
TEST(a_receipt_comes_behind_what_its_send_led_to)
{
    static const char *const message = "MESSAGE|subscription:s|destination:/topic/a|"
                                       "content-type:text/plain|message-id:%d|"
                                       "content-length:3||%s\n";
    struct session_world world;
    struct session_client client;
    struct session_client other;
    char first[500];
    char both[500];
    session_world_start(&world, NULL);
    session_client_connect(&client, &world);
    session_client_connect(&other, &world);
    session_client_says(&client, "SUBSCRIBE|id:s|destination:/topic/a||^"
                                 "SUBSCRIBE|id:u|destination:/user/queue/own||^"
                                 "SEND|destination:/app/later|receipt:1||a^");
    session_client_says(&other, "SUBSCRIBE|id:s|destination:/topic/a||^");
    struct bytes topic = bytes_of("/topic/a");
    assert_int_equal(topic_publish(world.topics, topic, "text/plain", bytes_of("one")), TOCSIN_OK);
    assert_true(topics_run(world.topics, 1)); /* to the first of them */
    assert_int_equal(topic_publish(world.topics, topic, "text/plain", bytes_of("two")), TOCSIN_OK);
    (void)snprintf(first, sizeof first, message, 1, "one");
    session_client_heard(&client, first);
    session_world_finish(&world);
    int size = snprintf(both, sizeof both, message, 2, "two");
    (void)snprintf(both + size, sizeof both - (size_t)size, "RECEIPT|receipt-id:1||\n");
    session_client_heard(&client, both);
    session_client_heard(&other, "");
    session_world_run(&world);
    session_client_heard(&client, "");
    size = snprintf(both, sizeof both, message, 1, "one");
    (void)snprintf(both + size, sizeof both - (size_t)size, message, 2, "two");
    session_client_heard(&other, both);
    session_client_leave(&client);
    session_client_leave(&other);
    session_world_stop(&world);
}

TEST(a_commit_is_done_when_all_its_sends_are)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    session_client_says(&client, "BEGIN|transaction:t||^"
                                 "SEND|destination:/app/later|transaction:t||a^"
                                 "SEND|destination:/app/x|transaction:t||b^"
                                 "SEND|destination:/app/later|transaction:t||c^"
                                 "COMMIT|transaction:t|receipt:1||^");
    session_world_finish(&world);
    session_client_heard(&client, "");
    session_world_finish(&world);
    session_client_heard(&client, "RECEIPT|receipt-id:1||\n");
    session_world_part(&world, &client);
}

TEST(disconnect_waits_for_all_that_was_sent_before)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    session_client_says(&client, "SEND|destination:/app/later||a^DISCONNECT|receipt:bye||^"
                                 "SEND|destination:/app/x||ignored^");
    session_client_heard(&client, "");
    assert_false(client.closed);
    session_world_finish(&world);
    session_client_heard(&client, "RECEIPT|receipt-id:bye||\n");
    assert_true(client.closed);
    assert_int_equal(client.code, WEBSOCKET_NORMAL);
    session_world_saw(&world, "send /app/later a\n");
    session_world_part(&world, &client);
}

TEST(what_is_done_after_its_client_is_gone_is_nobodys_business)
{
    struct session_world world;
    struct session_client first;
    struct session_client second;
    session_world_start(&world, NULL);
    session_client_connect(&first, &world);
    session_client_says(&first, "SEND|destination:/app/later|receipt:1||a^");
    uint64_t id = session_id(first.session);
    session_client_leave(&first);
    assert_null(session_find(world.topics, id));
    /* In the place of the first, and another all the same. */
    session_client_connect(&second, &world);
    assert_int_not_equal(session_id(second.session), id);
    session_client_says(&second, "SEND|destination:/app/later|receipt:2||a^");
    session_world_finish(&world);
    session_client_heard(&second, "");
    session_client_leave(&second);
    session_world_stop(&world);
}

TEST(sends_under_way_are_bounded)
{
    struct session_world world;
    struct session_client client;
    struct topics_limits limits = topics_limits_default;
    limits.unanswered = 2;
    session_world_meet(&world, &limits, &client);
    for (int i = 0; i < 3; i++)
        session_client_says(&client, "SEND|destination:/app/later||a^");
    session_client_heard(&client, ERROR("too many sends under way", "", "37",
                                        "wait for receipts before sending more"));
    assert_int_equal(client.code, WEBSOCKET_POLICY);
    session_world_part(&world, &client);
}

/* ---- limits */

TEST(sessions_are_bounded_and_their_places_used_again)
{
    struct session_world world;
    struct session_client clients[2];
    struct session *one = NULL;
    struct topics_limits limits = topics_limits_default;
    limits.sessions = 2;
    session_world_start(&world, &limits);
    for (int round = 0; round < 3; round++) {
        struct session_link link = {NULL, NULL, NULL, NULL};
        session_client_open(&clients[0], &world);
        session_client_open(&clients[1], &world);
        assert_int_equal(session_create(world.topics, &link, &one), TOCSIN_FULL);
        session_client_leave(&clients[0]);
        session_client_leave(&clients[1]);
    }
    session_world_stop(&world);
}

TEST(subscriptions_and_topics_are_bounded)
{
    struct session_world world;
    struct session_client client;
    struct session_client other;
    struct topics_limits limits = topics_limits_default;
    limits.subscriptions = 2;
    limits.topics = 2;
    session_world_meet(&world, &limits, &client);
    session_client_connect(&other, &world);
    session_client_says(&client, "SUBSCRIBE|id:0|destination:/topic/a||^"
                                 "SUBSCRIBE|id:1|destination:/topic/b||^");
    session_client_says(&other, "SUBSCRIBE|id:0|destination:/topic/a||^"
                                "SUBSCRIBE|id:1|destination:/topic/c||^");
    session_client_heard(&other,
                         ERROR("SUBSCRIBE is refused", "", "57",
                               "there are as many topics as there may be; try again later"));
    session_client_says(&client, "SUBSCRIBE|id:2|destination:/topic/a||^");
    session_client_heard(&client,
                         ERROR("SUBSCRIBE is refused", "", "56",
                               "this connection has as many subscriptions as it may have"));
    session_client_leave(&client);
    session_client_leave(&other);
    session_world_stop(&world);
}

TEST(frames_that_are_not_whole_are_bounded_together)
{
    struct session_world world;
    struct session_client clients[3];
    struct topics_limits limits = topics_limits_default;
    struct topics_counters counters;
    char text[2000] = "SEND|destination:/app/x||";
    memset(text + strlen(text), 'x', 1500);
    limits.frame_bytes = 5000;
    session_world_start(&world, &limits);
    for (size_t i = 0; i < 3; i++) {
        session_client_connect(&clients[i], &world);
        session_client_says(&clients[i], text);
    }
    assert_false(clients[0].closed);
    assert_false(clients[1].closed);
    session_client_heard(&clients[2],
                         ERROR("too much is under way", "", "69",
                               "too many bytes of frames that are not whole; try again a little "
                               "later"));
    assert_int_equal(clients[2].code, WEBSOCKET_OVERLOADED);
    /* What is whole is given back, and what belongs to who is gone. */
    session_client_says(&clients[0], "^");
    session_client_leave(&clients[1]);
    topics_describe(world.topics, &counters);
    assert_int_equal(counters.frame_bytes, 0);
    session_client_leave(&clients[0]);
    session_client_leave(&clients[2]);
    session_world_stop(&world);
}

TEST(nobody_may_send_a_body_before_it_is_connected)
{
    struct session_world world;
    struct session_client client;
    session_world_start(&world, NULL);
    session_client_open(&client, &world);
    session_client_says(&client, "SEND|destination:/app/x|content-length:1000||");
    session_client_heard(&client, ERROR("malformed frame", "", "49",
                                        "content-length: the body is larger than the limit"));
    session_world_part(&world, &client);
}

TEST(transactions_are_bounded)
{
    struct session_world world;
    struct session_client client;
    struct topics_limits limits = topics_limits_default;
    limits.transaction_bytes = 300;
    session_world_meet(&world, &limits, &client);
    session_client_says(&client, "BEGIN|transaction:t||^");
    for (int i = 0; i < 3 && !client.closed; i++)
        session_client_says(&client,
                            "SEND|destination:/app/x|transaction:t||12345678901234567890^");
    assert_true(client.closed);
    assert_int_equal(client.code, WEBSOCKET_POLICY);
    session_client_leave(&client);
    limits.transaction_bytes = 100000;
    limits.transactions = 1;
    session_world_stop(&world);
    session_world_meet(&world, &limits, &client);
    session_client_says(&client, "BEGIN|transaction:t||^BEGIN|transaction:u||^");
    assert_true(client.closed);
    session_world_part(&world, &client);
}

/* ---- heart-beats */

static void pass(struct session_world *world, struct session_client *client, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i += 500) {
        world->now_ms += 500;
        session_look(client->session);
    }
}

TEST(a_client_that_wants_heart_beats_gets_them_when_nothing_else_is_said)
{
    struct session_world world;
    struct session_client client;
    session_world_start(&world, NULL);
    session_client_open(&client, &world);
    session_client_says(&client, "CONNECT|accept-version:1.2|heart-beat:0,10000||^");
    buffer_clear(&client.heard);
    pass(&world, &client, 8500);
    session_client_heard(&client, "");
    pass(&world, &client, 1500);
    session_client_heard(&client, "|\n");
    /* What is said instead counts. */
    pass(&world, &client, 7500);
    session_client_says(&client, "SEND|destination:/app/x|receipt:1||^");
    session_client_heard(&client, "RECEIPT|receipt-id:1||\n");
    pass(&world, &client, 8500);
    session_client_heard(&client, "");
    pass(&world, &client, 1000);
    session_client_heard(&client, "|\n");
    session_world_part(&world, &client);
}

TEST(the_slower_of_two_wishes_is_agreed_on)
{
    struct session_world world;
    struct session_client client;
    session_world_start(&world, NULL);
    session_client_open(&client, &world);
    session_client_says(&client, "CONNECT|accept-version:1.2|heart-beat:0,30000||^");
    buffer_clear(&client.heard);
    pass(&world, &client, 28000);
    session_client_heard(&client, "");
    pass(&world, &client, 2000);
    session_client_heard(&client, "|\n");
    session_world_part(&world, &client);
}

TEST(a_client_silent_for_twice_what_it_promised_is_cut_off)
{
    struct session_world world;
    struct session_client client;
    struct topics_counters counters;
    session_world_start(&world, NULL);
    session_client_open(&client, &world);
    session_client_says(&client, "CONNECT|accept-version:1.2|heart-beat:15000,0||^");
    pass(&world, &client, 30000);
    assert_false(client.closed);
    session_client_says(&client, "|");
    pass(&world, &client, 30000);
    assert_false(client.closed);
    pass(&world, &client, 500);
    assert_true(client.closed);
    assert_int_equal(client.code, WEBSOCKET_POLICY);
    topics_describe(world.topics, &counters);
    assert_int_equal(counters.silent, 1);
    session_world_part(&world, &client);
}

TEST(a_client_that_promised_nothing_is_pinged_and_lives_while_it_answers)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    for (unsigned i = 1; i < 5; i++) {
        pass(&world, &client, 61000);
        assert_int_equal(client.pings, i);
        session_heard(client.session);
    }
    pass(&world, &client, 120000);
    assert_false(client.closed);
    pass(&world, &client, 500);
    assert_true(client.closed);
    assert_int_equal(client.pings, 5);
    session_world_part(&world, &client);
}

TEST(a_client_that_does_not_connect_in_time_is_cut_off)
{
    struct session_world world;
    struct session_client client;
    session_world_start(&world, NULL);
    session_client_open(&client, &world);
    for (int i = 0; i < 10; i++) {
        pass(&world, &client, 1000);
        session_client_says(&client, "|"); /* which is no CONNECT */
    }
    assert_false(client.closed);
    pass(&world, &client, 500);
    assert_true(client.closed);
    session_client_leave(&client);
    session_world_saw(&world, ""); /* nobody was told of its end: it never began */
    session_world_stop(&world);
}

/* ---- users */

TEST(what_is_for_one_user_reaches_no_other)
{
    struct session_world world;
    struct session_client one;
    struct session_client other;
    struct topics_counters counters;
    session_world_start(&world, NULL);
    session_client_connect(&one, &world);
    session_client_connect(&other, &world);
    session_client_says(&one, "SUBSCRIBE|id:u|destination:/user/queue/own||^");
    session_client_says(&other, "SUBSCRIBE|id:u|destination:/user/queue/own||^");
    session_client_says(&one, "SEND|destination:/app/tell||for one^");
    session_client_heard(&one, "MESSAGE|subscription:u|destination:/user/queue/own|"
                               "content-type:text/plain|message-id:1|content-length:7||for one\n");
    session_client_heard(&other, "");
    /* Nor does what is published under that name reach anybody. */
    assert_int_equal(
        topic_publish(world.topics, bytes_of("/user/queue/own"), "text/plain", bytes_of("to all")),
        TOCSIN_OK);
    session_world_run(&world);
    session_client_heard(&one, "");
    session_client_heard(&other, "");
    session_client_says(&one, "UNSUBSCRIBE|id:u||^SEND|destination:/app/tell||gone^");
    session_client_heard(&one, "");
    topics_describe(world.topics, &counters);
    assert_int_equal(counters.untold, 1);
    session_client_leave(&one);
    session_client_leave(&other);
    session_world_stop(&world);
}

TEST(a_session_remembers_what_its_service_wants_remembered)
{
    struct session_world world;
    struct session_client client;
    session_world_meet(&world, NULL, &client);
    session_set_user(client.session, &world);
    assert_ptr_equal(session_user(client.session), &world);
    assert_ptr_equal(session_find(world.topics, session_id(client.session)), client.session);
    assert_null(session_find(world.topics, session_id(client.session) + (UINT64_C(1) << 32)));
    assert_null(session_find(world.topics, UINT32_MAX));
    session_client_leave(&client);
    session_world_saw(&world, "end\n");
    session_world_stop(&world);
}
