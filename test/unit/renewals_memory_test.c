/* SPDX-License-Identifier: MIT */
/* What if the n-th request for memory is refused, or some in a row? The lives of a few renewals are
 * run once for each n, with both engines. Who is told that it could not be done asks again, and in
 * the end all is as if nothing had been. */
#include "support/renewal_world.h"

#include <inttypes.h>
#include <stdlib.h>

#include "support/scarce_memory.h"

enum { TRIES = 10, SECOND = 1000 };

static struct renewal_world world;

static int64_t settle(void)
{
    return scarce_settle(&world.sim, world.engine, &world.clock);
}

static void pass(int64_t ms)
{
    int64_t end = world.clock.elapsed.ns + ms * INT64_C(1000000);
    while (world.clock.elapsed.ns < end) {
        int64_t wake = settle();
        clock_manual_advance(&world.clock, (wake < end ? wake : end) - world.clock.elapsed.ns);
    }
    (void)settle();
}

/* As often as it is refused for want of memory. */
static void ask(enum renewal_verb verb, const char *id, const char *json)
{
    static struct renewal_asked asked;
    for (int i = 0; i < TRIES; i++) {
        struct tocsin_why why;
        struct renewal_spec *spec = NULL;
        asked = (struct renewal_asked){.done = false};
        if (json != NULL)
            assert_int_equal(renewal_spec_read(bytes_of(json), &world.defaults, &spec, NULL, &why),
                             TOCSIN_OK);
        asked.call.spec = spec;
        scarce.on = true;
        renewal_begin(&world, &asked, verb, id, NULL);
        scarce.on = false;
        (void)settle();
        assert_true(asked.done);
        if (asked.call.reply.outcome != OUTCOME_OVERLOADED)
            break;
    }
    if (asked.call.reply.outcome >= OUTCOME_INVALID)
        fail_msg("request %" PRIu64 ": %s: %s", scarce.first, id, asked.call.reply.why.text);
}

#define FIXED "\"every\":\"1s\",\"strategy\":{\"type\":\"fixed\",\"ttl\":\"5s\"}}"

static void script(void)
{
    renewal_set_many(&world, "k", 5, 5 * SECOND);
    renewal_set_many(&world, "p:", 5, 5 * SECOND);
    renewal_set(&world, "mine", "me", 5 * SECOND);
    ask(RENEWAL_REGISTER, "named", "{\"keys\":[\"k0\",\"k1\",\"k2\",\"k3\",\"k4\"]," FIXED);
    ask(RENEWAL_REGISTER, "found", "{\"prefix\":\"p:\"," FIXED);
    ask(RENEWAL_REGISTER, "owned", "{\"keys\":[\"mine\"],\"owner\":\"me\"," FIXED);
    ask(RENEWAL_REGISTER, "ends",
        "{\"keys\":[\"k0\"],\"every\":\"1s\",\"strategy\":{\"type\":\"until\","
        "\"at\":\"2024-01-01T00:00:04Z\",\"ttl\":\"5s\"}}");
    ask(RENEWAL_PAUSE, "found", NULL);
    pass(1500);
    ask(RENEWAL_RESUME, "found", NULL);
    ask(RENEWAL_RENEW, "named", NULL);
    renewal_set(&world, "mine", "you", 60 * SECOND);
    pass(4000);
    ask(RENEWAL_REGISTER, "over", "{\"keys\":[\"k0\"]," FIXED);
    ask(RENEWAL_CANCEL, "over", NULL);
    pass(5000);
    scarce.first = 0;
    pass(5000);
}

static void check(void)
{
    static const struct {
        const char *id;
        const char *status;
    } wanted[] = {
        {"named", "ACTIVE"},   {"found", "ACTIVE"},   {"owned", "LOST"},
        {"ends", "COMPLETED"}, {"over", "CANCELLED"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_string_equal(renewal_field(&world, wanted[i].id, "status"), wanted[i].status);
    assert_string_equal(renewal_field(&world, "named", "failures"), "0");
    assert_string_equal(renewal_field(&world, "found", "failures"), "0");
    assert_in_range(renewal_ttl(&world, "k4"), 1, 5 * SECOND);
    assert_in_range(renewal_ttl(&world, "p:4"), 1, 5 * SECOND);
    assert_int_equal(renewals_under_way(world.renewals), 0);
    assert_int_equal(world.asked_count, 0);
}

TEST(a_refused_request_for_memory_loses_nothing)
{
    for (enum beats_type type = BEATS_TIME_WHEEL; type <= BEATS_SCHEDULED; type++) {
        uint64_t runs = 0;
        for (uint64_t first = 1;; first++) {
            scarce = (struct scarcity){0};
            renewal_world_init(&world, type);
            world.limits.batch = 2;
            world.limits.save_ms = 2000;
            renewal_world_again(&world);
            renewal_world_settle(&world);
            scarce = (struct scarcity){.first = first, .count = 1 + first % 3};
            script();
            check();
            renewal_world_release(&world);
            runs++;
            if (scarce.refused == 0)
                break;
            assert_true(first < 10000);
        }
        print_message("%" PRIu64 " runs\n", runs);
        assert_true(runs > 50);
    }
}

/* What a restart has no memory for is counted, and there at the next one. */
TEST(R_17_a_restart_without_memory_loses_nothing)
{
    for (uint64_t first = 1;; first++) {
        scarce = (struct scarcity){0};
        renewal_world_start(&world, first % 2 == 0 ? BEATS_TIME_WHEEL : BEATS_SCHEDULED);
        renewal_set_many(&world, "k", 3, 60 * SECOND);
        ask(RENEWAL_REGISTER, "a", "{\"keys\":[\"k0\"]," FIXED);
        ask(RENEWAL_REGISTER, "b", "{\"prefix\":\"k1\"," FIXED);
        ask(RENEWAL_REGISTER, "c", "{\"keys\":[\"k2\"]," FIXED);
        renewal_world_crash(&world);
        renewal_world_again(&world);
        scarce = (struct scarcity){.first = first, .count = 2};
        (void)settle();
        uint64_t refused = scarce.refused;
        scarce.first = 0;
        uint64_t unread = renewal_stats(&world).unread;
        uint64_t keys = world.keys;
        pass(1100);
        assert_in_range(world.keys - keys, 3 - unread, 12);
        renewal_world_crash(&world);
        renewal_world_again(&world);
        renewal_world_settle(&world);
        assert_int_equal(renewal_stats(&world).unread, 0);
        keys = world.keys;
        pass(1100);
        assert_int_equal(world.keys - keys, 3);
        renewal_world_release(&world);
        if (refused == 0)
            break;
    }
}

TEST(a_spec_that_cannot_be_kept_is_no_memory)
{
    static const char json[] =
        "{\"any\":[{\"keys\":[\"a\"]},{\"prefix\":\"b\"}],\"strategy\":{\"type\":"
        "\"steps\",\"steps\":[{\"ttl\":5000}]}}";
    static const struct renewal_defaults defaults = {300000, 30000, 100};
    uint64_t refused = 0;
    for (uint64_t first = 1;; first++) {
        struct renewal_spec *spec = NULL;
        struct tocsin_why why;
        bool malformed;
        scarce = (struct scarcity){.on = true, .first = first, .count = 1};
        enum tocsin_status status =
            renewal_spec_read(bytes_of(json), &defaults, &spec, &malformed, &why);
        (void)scarce_off();
        if (scarce.refused == 0) {
            assert_int_equal(status, TOCSIN_OK);
            free(spec);
            break;
        }
        assert_int_equal(status, TOCSIN_NO_MEMORY);
        refused++;
    }
    assert_true(refused >= 5);
}
