/* SPDX-License-Identifier: MIT */
/* Key stores of a program's own (tocsin/keys.h): clients, providers, keys by hand.,
 * */
#include <stdio.h>
#include <string.h>

#include "support/embed_world.h"

/* ---- clients */

/* */
TEST(a_client_of_the_programs_own_renews_its_keys_and_says_what_became_of_each)
{
    struct program program;
    program_start(&program);
    shelf_put(&program.shelf, "a", "", 1000);
    program_add(
        &program,
        &(struct tocsin_renewal){
            .id = "r", .keys = two_keys, .key_count = 2, .ttl_ms = 60000, .store = "shelf"});
    assert_int_equal(tocsin_renewal_renew(program.renewals, "r"), TOCSIN_OK);
    struct tocsin_renewal_metrics metrics = program_describe(&program, "r");
    assert_int_equal(metrics.status, TOCSIN_RENEWAL_ACTIVE);
    assert_true(metrics.total >= 1);
    assert_int_equal(metrics.success, metrics.total);
    assert_int_equal(metrics.failure, metrics.total);
    assert_int_equal(metrics.task_failures, 0);
    assert_true(metrics.last_ms > 0 && metrics.created_ms > 0);
    assert_string_equal(metrics.why, "b: missing");
    tocsin_engine_close(program.engine);
    assert_int_equal(program.shelf.keys[0].ttl_ms, 60000);
    assert_int_equal(program.shelf.closed, 1);
}

/* */
TEST(a_client_that_says_nothing_of_a_key_has_told_us_nothing)
{
    struct program program;
    program_start(&program);
    program.shelf.mute = true;
    shelf_put(&program.shelf, "a", "", 1000);
    program_add(&program, &(struct tocsin_renewal){
                              .id = "r", .keys = two_keys, .key_count = 1, .store = "shelf"});
    assert_int_equal(tocsin_renewal_renew(program.renewals, "r"), TOCSIN_OK);
    struct tocsin_renewal_metrics metrics = program_describe(&program, "r");
    assert_int_equal(metrics.success, 0);
    assert_true(metrics.failure > 0);
    assert_string_equal(metrics.why, "the client gave no result");
    tocsin_engine_close(program.engine);
}

/* the thread that keeps the time waits for nobody. */
TEST(a_client_that_hangs_holds_up_nobody_but_its_own_renewals)
{
    struct program program;
    struct tocsin_why why = {""};
    shelf_init(&program.shelf);
    program_prepare(&program);
    assert_int_equal(tocsin_renewals_reach(program.renewals, "other", "mock", NULL, &why),
                     TOCSIN_OK);
    program_begin(&program, NULL);
    assert_int_equal(tocsin_engine_handle(program.engine, "work", shelf_work, &program.shelf),
                     TOCSIN_OK);
    assert_int_equal(tocsin_engine_start(program.engine), TOCSIN_OK);
    shelf_set(&program.shelf, &program.shelf.hangs, true);
    shelf_put(&program.shelf, "a", "", 1000);
    program_add(&program, &(struct tocsin_renewal){
                              .id = "hangs", .keys = two_keys, .key_count = 1, .store = "shelf"});
    program_add(&program, &(struct tocsin_renewal){
                              .id = "well", .keys = two_keys, .key_count = 2, .store = "other"});
    assert_int_equal(tocsin_renewal_renew(program.renewals, "well"), TOCSIN_OK);
    assert_int_equal(program_describe(&program, "well").failure, 0);
    assert_int_equal(tocsin_engine_add(program.engine,
                                       &(struct tocsin_task){.id = "t", .handler = "work"}, &why),
                     TOCSIN_OK);
    shelf_await(&program.shelf, &program.shelf.worked, 1);
    assert_int_equal(program_describe(&program, "hangs").total, 0);
    shelf_set(&program.shelf, &program.shelf.hangs, false);
    tocsin_engine_close(program.engine);
}

/* ---- the registry */

TEST(clients_are_made_by_the_first_provider_or_by_its_name)
{
    struct program program;
    struct tocsin_why why = {""};
    shelf_init(&program.shelf);
    shelf_put(&program.shelf, "a", "", 1000);
    assert_int_equal(tocsin_renewals_create(NULL, &program.renewals, &why), TOCSIN_OK);
    struct tocsin_key_provider provider = {
        .name = "shelf", .create = shelf_create, .arg = &program.shelf};
    assert_int_equal(tocsin_renewals_add_provider(program.renewals, &provider), TOCSIN_OK);
    assert_int_equal(tocsin_renewals_add_provider(program.renewals, &provider), TOCSIN_CONFLICT);
    provider.name = "mock";
    assert_int_equal(tocsin_renewals_add_provider(program.renewals, &provider), TOCSIN_CONFLICT);
    provider.name = "";
    assert_int_equal(tocsin_renewals_add_provider(program.renewals, &provider), TOCSIN_INVALID);
    assert_int_equal(tocsin_renewals_reach(program.renewals, "first", NULL, NULL, &why), TOCSIN_OK);
    assert_int_equal(tocsin_renewals_reach(program.renewals, "named", "shelf", "here", &why),
                     TOCSIN_OK);
    assert_int_equal(tocsin_renewals_reach(program.renewals, "trial", "mock", NULL, &why),
                     TOCSIN_OK);
    assert_int_equal(tocsin_renewals_reach(program.renewals, "named", "shelf", "here", &why),
                     TOCSIN_CONFLICT);
    assert_int_equal(tocsin_renewals_reach(program.renewals, "x", "memcached", NULL, &why),
                     TOCSIN_NONE);
    assert_string_equal(why.text, "there is no provider memcached: add it first");
    program_begin(&program, NULL);
    assert_int_equal(tocsin_renewals_add_provider(program.renewals, &provider), TOCSIN_INVALID);
    assert_int_equal(tocsin_renewals_reach(program.renewals, "late", "mock", NULL, &why),
                     TOCSIN_BUSY);
    const char *const stores[] = {"first", "named", "trial"};
    for (size_t i = 0; i < 3; i++) {
        struct tocsin_key key = {.at = "a", .size = 1};
        assert_int_equal(tocsin_keys_expire(program.renewals, stores[i],
                                            &(struct tocsin_expiry){.ttl_ms = 5000}, &key, 1, &why),
                         TOCSIN_OK);
        assert_int_equal(key.result, TOCSIN_KEY_RENEWED);
    }
    assert_int_equal(program.shelf.asked_count, 2);
    tocsin_engine_close(program.engine);
    assert_int_equal(program.shelf.closed, 2);
}

TEST(a_store_that_cannot_be_reached_for_keeps_the_engine_from_opening_and_is_named)
{
    struct program program;
    struct tocsin_why why = {""};
    shelf_init(&program.shelf);
    program_prepare(&program);
    struct tocsin_key_provider provider = {
        .name = "shelves", .create = shelf_create, .arg = &program.shelf};
    assert_int_equal(tocsin_renewals_add_provider(program.renewals, &provider), TOCSIN_OK);
    assert_int_equal(tocsin_renewals_reach(program.renewals, "far", "shelves", "nowhere", &why),
                     TOCSIN_OK);
    assert_int_equal(
        tocsin_engine_open(&(struct tocsin_engine_options){.renewals = program.renewals},
                           &program.engine, &why),
        TOCSIN_INVALID);
    assert_string_equal(why.text, "store far: there is no shelf at nowhere");
    assert_int_equal(program.shelf.closed, 1); /* the one that was there */
}

/* ---- keys by hand */

static void expired(void *arg, enum tocsin_status status, struct tocsin_key *keys, size_t count,
                    const struct tocsin_why *why)
{
    (void)why;
    assert_int_equal(status, TOCSIN_OK);
    assert_int_equal(count, 2);
    assert_int_equal(keys[1].result, TOCSIN_KEY_MISSING);
    (void)shelf_work(arg, NULL);
}

static bool note_key(void *arg, const char *key, size_t size)
{
    char *to = arg;
    (void)snprintf(to + strlen(to), 8, "%.*s ", (int)size, key);
    return strlen(to) < 8;
}

/* expire, batch expire, asynchronous forms, scan, exists, ttl. */
TEST(a_store_does_by_hand_whatever_its_client_can)
{
    struct program program;
    struct tocsin_why why = {""};
    bool holds = true;
    char found[64] = "";
    program_start(&program);
    shelf_put(&program.shelf, "k1", "one", 1000);
    shelf_put(&program.shelf, "k2", "two", -1);
    shelf_put(&program.shelf, "x", "", 1000);
    shelf_put(&program.shelf, "k3", "", 1000);
    struct tocsin_key keys[] = {{.at = "k1", .size = 2}, {.at = "no", .size = 2}};
    struct tocsin_expiry expiry = {.ttl_ms = 7000};
    assert_int_equal(tocsin_keys_expire(program.renewals, "shelf", &expiry, keys, 2, &why),
                     TOCSIN_OK);
    assert_int_equal(keys[0].result, TOCSIN_KEY_RENEWED);
    assert_int_equal(keys[1].result, TOCSIN_KEY_MISSING);
    assert_int_equal(tocsin_keys_expire_async(program.renewals, "shelf", &expiry, keys, 2, expired,
                                              &program.shelf),
                     TOCSIN_OK);
    shelf_await(&program.shelf, &program.shelf.worked, 1);
    assert_int_equal(tocsin_keys_ttl(program.renewals, "shelf", keys, 2, &why), TOCSIN_OK);
    assert_int_equal(keys[0].ttl_ms, 7000);
    assert_int_equal(keys[1].ttl_ms, -2);
    assert_int_equal(tocsin_keys_holds(program.renewals, "shelf", "no", 2, NULL, 0, &holds, &why),
                     TOCSIN_OK);
    assert_false(holds);
    assert_int_equal(tocsin_keys_holds(program.renewals, "shelf", "k2", 2, "two", 3, &holds, &why),
                     TOCSIN_OK);
    assert_true(holds);
    assert_int_equal(tocsin_keys_scan(program.renewals, "shelf", "k*", note_key, found, &why),
                     TOCSIN_OK);
    assert_string_equal(found, "k1 k2 k3 ");
    assert_int_equal(tocsin_keys_scan(program.renewals, "shelf", "broken*", note_key, found, &why),
                     TOCSIN_UNAVAILABLE);
    assert_string_equal(why.text, "the shelf fell down");
    assert_int_equal(tocsin_keys_ttl(program.renewals, "cellar", keys, 2, &why), TOCSIN_NONE);
    expiry.ttl_ms = 0; /* */
    assert_int_equal(tocsin_keys_expire(program.renewals, "shelf", &expiry, keys, 2, &why),
                     TOCSIN_INVALID);
    tocsin_engine_close(program.engine);
}

TEST(a_client_may_do_no_more_than_expire)
{
    struct program program;
    struct tocsin_why why = {""};
    struct tocsin_key key = {.at = "a", .size = 1};
    bool holds;
    shelf_init(&program.shelf);
    assert_int_equal(tocsin_renewals_create(NULL, &program.renewals, &why), TOCSIN_OK);
    struct tocsin_key_client client = {.expire = shelf_expire, .self = &program.shelf};
    assert_int_equal(tocsin_renewals_add_client(program.renewals, "default", &client), TOCSIN_OK);
    client.expire = NULL;
    assert_int_equal(tocsin_renewals_add_client(program.renewals, "none", &client), TOCSIN_INVALID);
    program_begin(&program, NULL);
    assert_int_equal(tocsin_keys_scan(program.renewals, NULL, "*", NULL, NULL, &why),
                     TOCSIN_INVALID);
    assert_string_equal(why.text, "this key store cannot be searched");
    assert_int_equal(tocsin_keys_holds(program.renewals, NULL, "a", 1, NULL, 0, &holds, &why),
                     TOCSIN_INVALID);
    assert_int_equal(tocsin_keys_ttl(program.renewals, NULL, &key, 1, &why), TOCSIN_OK);
    assert_int_equal(key.result, TOCSIN_KEY_REFUSED);
    tocsin_engine_close(program.engine);
}
