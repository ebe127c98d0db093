/* SPDX-License-Identifier: MIT */
/* A Redis that does whatever it likes, from a seed, and a judge who looks at every call: done once,
 * in order, and what was called FAILED never arrived. R-12. */
#include "support/redis_world.h"

#include <unistd.h>

struct judge {
    struct redis_world world;
    struct test_random random;
    struct peer peer;
    bool has_peer;
    uint64_t away;               /* so many steps it does nothing */
    long asked[WORLD_CALLS_MAX]; /* what the peer has read and not answered */
    unsigned asked_count;
    bool arrived[WORLD_CALLS_MAX];
    long last_arrived;
    unsigned counts[4];
    unsigned last_sent; /* of those that are done */
};

static struct judge judge;

static bool chance(unsigned percent)
{
    return test_random_below(&judge.random, 100) < percent;
}

static void give_some(unsigned most)
{
    unsigned count = (unsigned)test_random_below(&judge.random, most + 1);
    for (unsigned i = 0; i < count && judge.world.given < WORLD_CALLS_MAX; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "ECHO %u", judge.world.given);
        (void)redis_world_give(&judge.world, text,
                               chance(80) ? 200 : (uint32_t)test_random_below(&judge.random, 60));
    }
}

static void look(struct kept_call *call)
{
    unsigned number = (unsigned)(call - judge.world.calls);
    char said[32];
    judge.counts[call->outcome]++;
    assert_int_equal(call->times, 1);
    (void)snprintf(said, sizeof said, "ERR %u", number);
    switch (call->outcome) {
    case REDIS_ANSWERED:
        assert_true(judge.arrived[number]);
        assert_int_equal(call->value, number);
        break;
    case REDIS_REFUSED:
        assert_true(judge.arrived[number]);
        assert_string_equal(call->text, said);
        break;
    case REDIS_FAILED:
        assert_false(judge.arrived[number]);
        return;
    case REDIS_UNKNOWN:
        break;
    }
    assert_true(number + 1 > judge.last_sent);
    judge.last_sent = number + 1;
    if (chance(10))
        give_some(2);
}

/* ---- the peer */

static void leave(void)
{
    if (chance(50))
        peer_reset(&judge.peer);
    else
        peer_close(&judge.peer);
    judge.has_peer = false;
    judge.asked_count = 0;
    if (chance(5))
        judge.away = test_random_below(&judge.random, 400);
}

static void peer_reads(void)
{
    char words[64];
    unsigned most = (unsigned)test_random_below(&judge.random, 40);
    for (unsigned i = 0; i < most && peer_try_read(&judge.peer, words, sizeof words); i++) {
        long number = -1;
        if (strcmp(words, "PING") != 0) {
            assert_int_equal(sscanf(words, "ECHO %ld", &number), 1);
            assert_true(number > judge.last_arrived); /* once, and in order */
            judge.last_arrived = number;
            judge.arrived[number] = true;
            const struct kept_call *call = &judge.world.calls[number];
            assert_false(call->times > 0 && call->outcome == REDIS_FAILED);
        }
        judge.asked[judge.asked_count++] = number;
    }
}

/* The answers to some, cut anywhere; the rest of a cut one comes in a while or never. */
static void peer_answers(void)
{
    unsigned most = (unsigned)test_random_below(&judge.random, 40);
    unsigned count = 0;
    for (; count < most && count < judge.asked_count; count++) {
        char text[64];
        long number = judge.asked[count];
        if (number < 0)
            (void)snprintf(text, sizeof text, "+PONG\r\n");
        else
            (void)snprintf(text, sizeof text, chance(90) ? ":%ld\r\n" : "-ERR %ld\r\n", number);
        size_t cut = chance(3) ? 1 + test_random_below(&judge.random, strlen(text) - 1) : 0;
        if (cut > 0) {
            char half[64];
            memcpy(half, text, cut);
            half[cut] = '\0';
            peer_send(&judge.peer, half);
            if (chance(20)) {
                leave();
                return;
            }
            redis_world_turn(&judge.world);
        }
        peer_send(&judge.peer, text + cut);
    }
    judge.asked_count -= count;
    memmove(judge.asked, judge.asked + count, judge.asked_count * sizeof judge.asked[0]);
}

static bool nothing_is_asked(void)
{
    struct redis_stats stats = redis_world_stats(&judge.world);
    return redis_connected(judge.world.redis) && stats.flying + stats.waiting == 0;
}

static void answer_too_much(void)
{
    unsigned downs = judge.world.downs;
    peer_send(&judge.peer, ":77\r\n");
    WORLD_UNTIL(&judge.world, judge.world.downs > downs);
}

static void peer_does_something(void)
{
    if (judge.away > 0) {
        judge.away--;
        redis_world_turn(&judge.world);
        return;
    }
    if (!judge.has_peer) {
        judge.has_peer = peer_try_accept(&judge.world, &judge.peer);
        return;
    }
    unsigned dice = (unsigned)test_random_below(&judge.random, 1000);
    if (dice < 10)
        leave();
    else if (dice < 13)
        peer_send(&judge.peer, "?garbage\r\n");
    else if (dice < 30 && nothing_is_asked())
        answer_too_much();
    else if (dice < 31)
        judge.away = test_random_below(&judge.random, 400);
    else if (dice < 500)
        peer_reads();
    else
        peer_answers();
}

/* The client may have given the connection up; then the next one is taken. */
static void notice_the_end(void)
{
    struct peer next;
    if (judge.away == 0 && judge.has_peer && peer_try_accept(&judge.world, &next)) {
        (void)close(judge.peer.fd);
        judge.peer = next;
        judge.asked_count = 0;
    }
}

TEST(every_call_is_done_once_in_order_and_truly)
{
    judge.random.state = test_seed();
    judge.last_arrived = -1;
    judge.world = (struct redis_world){
        .options = {.connect_ms = 40, .retry_ms = 1, .retry_cap_ms = 5, .calls_max = 500},
        .on_done = look};
    redis_world_start(&judge.world);
    uint64_t steps = test_effort(20000) + 4000;
    for (uint64_t i = 0; i < steps && judge.world.given < WORLD_CALLS_MAX; i++) {
        if (chance(30))
            give_some(chance(5) ? 100 : 5);
        peer_does_something();
        notice_the_end();
        (void)uv_run(&judge.world.uv, UV_RUN_NOWAIT);
    }
    struct redis_stats stats = redis_world_stats(&judge.world);
    assert_int_equal(stats.given, judge.world.given);
    assert_int_equal(stats.answered + stats.refused + stats.failed + stats.unknown,
                     judge.world.done);
    assert_int_equal(stats.waiting + stats.flying, judge.world.given - judge.world.done);
    judge.world.on_done = NULL;
    redis_world_stop(&judge.world);
    for (unsigned i = 0; i < 4; i++)
        assert_true(judge.counts[i] > 0);
    print_message("answered %u, refused %u, failed %u, unknown %u\n", judge.counts[0],
                  judge.counts[1], judge.counts[2], judge.counts[3]);
    if (judge.has_peer)
        (void)close(judge.peer.fd);
}
