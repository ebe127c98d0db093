/* SPDX-License-Identifier: MIT */
/* Renewals in a program of one's own (tocsin/renewal.h): strategies and generators are its
 * functions.. */
#include <stdio.h>
#include <string.h>

#include "support/embed_world.h"
#include "support/temp_dir.h"

/* ---- strategies */

/* A second more each time; three times. */
static int64_t longer_each_time(void *arg, const struct tocsin_renewal_context *context)
{
    (void)arg;
    assert_string_equal(context->id, "r");
    return context->count < 3 ? 10000 + (int64_t)context->count * 1000 : 0;
}

TEST(a_strategy_of_the_programs_own_says_how_long_and_when_it_is_over)
{
    struct program program;
    shelf_init(&program.shelf);
    program_prepare(&program);
    struct tocsin_strategy strategy = {.name = "longer", .ttl_ms = longer_each_time};
    assert_int_equal(tocsin_renewals_add_strategy(program.renewals, &strategy), TOCSIN_OK);
    assert_int_equal(tocsin_renewals_add_strategy(program.renewals, &strategy), TOCSIN_CONFLICT);
    assert_int_equal(
        tocsin_renewals_add_strategy(program.renewals, &(struct tocsin_strategy){.name = "empty"}),
        TOCSIN_INVALID);
    program_begin(&program, NULL);
    shelf_put(&program.shelf, "a", "", 1000);
    program_add(&program, &(struct tocsin_renewal){.id = "r",
                                                   .keys = two_keys,
                                                   .key_count = 1,
                                                   .strategy = "longer",
                                                   .ttl_ms = 10000,
                                                   .every_ms = 5,
                                                   .store = "shelf"});
    program_await(&program, "r", TOCSIN_RENEWAL_COMPLETED);
    assert_int_equal(program_describe(&program, "r").total, 3);
    tocsin_engine_close(program.engine);
    assert_int_equal(program.shelf.asked_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(program.shelf.ttls[i], 10000 + i * 1000);
}

static bool goes_on(void *arg, const struct tocsin_renewal_context *context)
{
    struct shelf *shelf = arg;
    (void)pthread_mutex_lock(&shelf->lock);
    shelf->goes_on_calls++;
    (void)pthread_cond_broadcast(&shelf->changed);
    while (shelf->goes_on_hangs)
        (void)pthread_cond_wait(&shelf->changed, &shelf->lock);
    bool on = context->count < shelf->goes_on_until;
    (void)pthread_mutex_unlock(&shelf->lock);
    return on;
}

/* the predicate may wait, and nobody waits for it. */
TEST(a_predicate_is_asked_before_each_round_by_a_thread_that_may_wait)
{
    struct program program;
    shelf_init(&program.shelf);
    program.shelf.goes_on_until = 2;
    program.shelf.goes_on_hangs = true;
    program_prepare(&program);
    assert_int_equal(tocsin_renewals_add_strategy(program.renewals,
                                                  &(struct tocsin_strategy){.name = "while-open",
                                                                            .goes_on = goes_on,
                                                                            .arg = &program.shelf}),
                     TOCSIN_OK);
    program_begin(&program, NULL);
    shelf_put(&program.shelf, "a", "", 1000);
    shelf_put(&program.shelf, "b", "", 1000);
    program_add(&program, &(struct tocsin_renewal){.id = "asks",
                                                   .keys = two_keys,
                                                   .key_count = 1,
                                                   .strategy = "while-open",
                                                   .ttl_ms = 10000,
                                                   .every_ms = 5,
                                                   .store = "shelf"});
    shelf_await(&program.shelf, &program.shelf.goes_on_calls, 1);
    program_add(&program,
                &(struct tocsin_renewal){
                    .id = "other", .keys = two_keys + 1, .key_count = 1, .store = "shelf"});
    assert_int_equal(tocsin_renewal_renew(program.renewals, "other"), TOCSIN_OK);
    assert_int_equal(program_describe(&program, "asks").total, 0);
    shelf_set(&program.shelf, &program.shelf.goes_on_hangs, false);
    program_await(&program, "asks", TOCSIN_RENEWAL_COMPLETED);
    assert_int_equal(program_describe(&program, "asks").total, 2);
    tocsin_engine_close(program.engine);
    assert_int_equal(program.shelf.goes_on_calls, 3);
}

TEST(steps_until_and_a_fixed_ttl_need_no_function)
{
    struct program program;
    struct tocsin_why why = {""};
    struct tocsin_renewal_step steps[] = {{.ttl_ms = 9000, .count = 1},
                                          {.ttl_ms = 8000, .count = 1}};
    program_start(&program);
    shelf_put(&program.shelf, "a", "", 1000);
    program_add(&program, &(struct tocsin_renewal){.id = "steps",
                                                   .keys = two_keys,
                                                   .key_count = 1,
                                                   .steps = steps,
                                                   .step_count = 2,
                                                   .every_ms = 5,
                                                   .store = "shelf"});
    program_await(&program, "steps", TOCSIN_RENEWAL_COMPLETED);
    assert_int_equal(program.shelf.ttls[0], 9000);
    assert_int_equal(program.shelf.ttls[1], 8000);
    program_add(&program, &(struct tocsin_renewal){.id = "until",
                                                   .keys = two_keys,
                                                   .key_count = 1,
                                                   .until_ms = 1000, /* long ago */
                                                   .store = "shelf"});
    program_await(&program, "until", TOCSIN_RENEWAL_COMPLETED);
    assert_int_equal(tocsin_renewal_add(program.renewals,
                                        &(struct tocsin_renewal){.id = "both",
                                                                 .keys = two_keys,
                                                                 .key_count = 1,
                                                                 .steps = steps,
                                                                 .step_count = 2,
                                                                 .until_ms = 1},
                                        &why),
                     TOCSIN_INVALID);
    assert_string_equal(why.text, "strategy, steps, until_ms: one of them, not several");
    tocsin_engine_close(program.engine);
}

/* ---- generators */

static enum tocsin_status generate(void *arg, const struct tocsin_renewal_context *context,
                                   tocsin_key_found found, void *found_arg,
                                   struct tocsin_why *ret_why)
{
    struct shelf *shelf = arg;
    assert_string_equal(context->id, "r");
    shelf->generated++;
    (void)found(found_arg, "a", 1);
    (void)found(found_arg, "g", 1);
    if (shelf->generator_fails != NULL) {
        (void)snprintf(ret_why->text, sizeof ret_why->text, "%s", shelf->generator_fails);
        return TOCSIN_UNAVAILABLE;
    }
    return TOCSIN_OK;
}

static void start_generator(struct program *program)
{
    shelf_init(&program->shelf);
    program_prepare(program);
    struct tocsin_generator generator = {.name = "mine", .keys = generate, .arg = &program->shelf};
    assert_int_equal(tocsin_renewals_add_generator(program->renewals, &generator), TOCSIN_OK);
    assert_int_equal(tocsin_renewals_add_generator(program->renewals, &generator), TOCSIN_CONFLICT);
    program_begin(program, NULL);
    shelf_put(&program->shelf, "a", "", 1000);
    shelf_put(&program->shelf, "g", "", 1000);
    shelf_put(&program->shelf, "p:1", "", 1000);
    shelf_put(&program->shelf, "p:2", "", 1000);
}

/* composite, de-duplicated. */
TEST(keys_a_prefix_and_a_generator_together_renew_each_key_once)
{
    struct program program;
    start_generator(&program);
    program_add(&program, &(struct tocsin_renewal){.id = "r",
                                                   .keys = two_keys,
                                                   .key_count = 1,
                                                   .prefix = "p:",
                                                   .generator = "mine",
                                                   .store = "shelf"});
    shelf_await(&program.shelf, &program.shelf.asked_count, 4);
    assert_int_equal(tocsin_renewal_pause(program.renewals, "r"), TOCSIN_OK);
    tocsin_engine_close(program.engine);
    assert_int_equal(program.shelf.asked_count, 4);
    assert_string_equal(program.shelf.asked[0], "a");
    unsigned seen = 0;
    for (int i = 0; i < 4; i++)
        seen |= strcmp(program.shelf.asked[i], "g") == 0     ? 1u
                : strcmp(program.shelf.asked[i], "p:1") == 0 ? 2u
                : strcmp(program.shelf.asked[i], "p:2") == 0 ? 4u
                                                             : 0u;
    assert_int_equal(seen, 7);
}

TEST(a_generator_that_fails_makes_the_round_a_failure_and_says_why)
{
    struct program program;
    start_generator(&program);
    program.shelf.generator_fails = "the list of tenants is not there";
    program_add(&program,
                &(struct tocsin_renewal){.id = "r", .generator = "mine", .store = "shelf"});
    assert_int_equal(tocsin_renewal_renew(program.renewals, "r"), TOCSIN_OK);
    struct tocsin_renewal_metrics metrics = program_describe(&program, "r");
    assert_true(metrics.task_failures > 0);
    assert_int_equal(metrics.success, 0);
    assert_string_equal(metrics.why, "generator mine: the list of tenants is not there");
    tocsin_engine_close(program.engine);
    assert_int_equal(program.shelf.asked_count, 0);
}

static enum tocsin_status generate_nonsense(void *arg, const struct tocsin_renewal_context *context,
                                            tocsin_key_found found, void *found_arg,
                                            struct tocsin_why *ret_why)
{
    (void)arg;
    (void)context;
    (void)ret_why;
    assert_false(found(found_arg, "", 0));
    return TOCSIN_OK;
}

TEST(a_generator_that_gives_an_empty_key_is_refused)
{
    struct program program;
    shelf_init(&program.shelf);
    program_prepare(&program);
    assert_int_equal(
        tocsin_renewals_add_generator(
            program.renewals, &(struct tocsin_generator){.name = "bad", .keys = generate_nonsense}),
        TOCSIN_OK);
    program_begin(&program, NULL);
    program_add(&program,
                &(struct tocsin_renewal){.id = "r", .generator = "bad", .store = "shelf"});
    assert_int_equal(tocsin_renewal_renew(program.renewals, "r"), TOCSIN_OK);
    assert_string_equal(program_describe(&program, "r").why,
                        "generator bad: a key must have 1 to 4096 bytes, not 0");
    tocsin_engine_close(program.engine);
}

/* ---- the life of one */

TEST(a_renewal_of_a_program_is_paused_resumed_listed_and_cancelled)
{
    struct program program;
    struct tocsin_why why = {""};
    program_start(&program);
    shelf_put(&program.shelf, "a", "", 1000);
    struct tocsin_renewal renewal = {
        .id = "r", .keys = two_keys, .key_count = 1, .every_ms = 5, .store = "shelf"};
    program_add(&program, &renewal);
    shelf_await(&program.shelf, &program.shelf.asked_count, 2);
    assert_int_equal(tocsin_renewal_add(program.renewals, &renewal, &why), TOCSIN_CONFLICT);
    assert_int_equal(tocsin_renewal_pause(program.renewals, "r"), TOCSIN_OK);
    unsigned asked = program.shelf.asked_count; /* nothing of it is under way any more */
    assert_int_equal(program_describe(&program, "r").status, TOCSIN_RENEWAL_PAUSED);
    assert_int_equal(tocsin_renewal_renew(program.renewals, "r"), TOCSIN_CONFLICT);
    assert_int_equal(program.shelf.asked_count, asked);
    assert_int_equal(tocsin_renewal_resume(program.renewals, "r"), TOCSIN_OK);
    shelf_await(&program.shelf, &program.shelf.asked_count, asked + 2);
    assert_int_equal(tocsin_renewal_cancel(program.renewals, "r"), TOCSIN_OK);
    assert_int_equal(program_describe(&program, "r").status, TOCSIN_RENEWAL_CANCELLED);
    assert_int_equal(tocsin_renewal_cancel(program.renewals, "r"), TOCSIN_CONFLICT);
    assert_int_equal(tocsin_renewal_cancel(program.renewals, "nobody"), TOCSIN_NONE);
    asked = program.shelf.asked_count;
    tocsin_engine_close(program.engine);
    assert_int_equal(program.shelf.asked_count, asked);
}

/* */
TEST(a_key_of_somebody_else_ends_it_with_lost_and_the_program_is_told)
{
    struct program program;
    program_start(&program);
    shelf_put(&program.shelf, "a", "theirs", 1000);
    program_add(
        &program,
        &(struct tocsin_renewal){
            .id = "r", .keys = two_keys, .key_count = 1, .owner = "mine", .store = "shelf"});
    shelf_await(&program.shelf, &program.shelf.told, 1);
    assert_int_equal(program.shelf.told_status, TOCSIN_RENEWAL_LOST);
    assert_string_equal(program.shelf.told_id, "r");
    assert_string_equal(program.shelf.told_why, "a: foreign");
    program_await(&program, "r", TOCSIN_RENEWAL_LOST);
    assert_string_equal(program_describe(&program, "r").why, "a: foreign");
    assert_int_equal(program.shelf.keys[0].ttl_ms, 1000);
    tocsin_engine_close(program.engine);
}

static bool count_one(void *arg, const char *id, const struct tocsin_renewal_metrics *metrics)
{
    assert_true(id[0] == 'r' || id[0] == 'n');
    assert_int_equal(metrics->status, TOCSIN_RENEWAL_ACTIVE);
    return ++*(unsigned *)arg > 0;
}

/* */
TEST(renewals_go_on_when_the_program_is_started_again)
{
    struct program program;
    struct temp_dir dir;
    unsigned count = 0;
    temp_dir_init(&dir);
    shelf_init(&program.shelf);
    for (int life = 0; life < 3; life++) {
        program_prepare(&program);
        if (life < 2)
            assert_int_equal(tocsin_renewals_add_strategy(
                                 program.renewals,
                                 &(struct tocsin_strategy){
                                     .name = "longer", .goes_on = goes_on, .arg = &program.shelf}),
                             TOCSIN_OK);
        program.shelf.goes_on_until = UINT64_MAX;
        program_begin(&program, dir.path);
        unsigned asked = program.shelf.asked_count;
        if (life == 0) {
            shelf_put(&program.shelf, "a", "", 1000);
            program_add(&program,
                        &(struct tocsin_renewal){
                            .id = "r", .keys = two_keys, .key_count = 1, .store = "shelf"});
            program_add(&program, &(struct tocsin_renewal){.id = "needs",
                                                           .keys = two_keys,
                                                           .key_count = 1,
                                                           .strategy = "longer",
                                                           .store = "shelf"});
        }
        shelf_await(&program.shelf, &program.shelf.asked_count, asked + (life < 2 ? 2 : 1));
        if (life == 2) { /* its strategy was left out: that is told, and it is not over */
            assert_int_equal(tocsin_renewal_renew(program.renewals, "needs"), TOCSIN_OK);
            assert_int_equal(program_describe(&program, "needs").status, TOCSIN_RENEWAL_ACTIVE);
            assert_string_equal(program_describe(&program, "needs").why,
                                "its strategy or generator is not in this program any more");
            assert_int_equal(tocsin_renewals_each(program.renewals, count_one, &count), TOCSIN_OK);
        }
        tocsin_engine_close(program.engine);
    }
    assert_int_equal(count, 2);
    temp_dir_release(&dir);
}

/* ---- what is refused */

TEST(a_renewal_that_cannot_be_is_refused_and_the_field_is_named)
{
    static const struct {
        struct tocsin_renewal renewal;
        const char *why;
    } bad[] = {
        {{.keys = two_keys, .key_count = 2},
         "id: must have 1 to 64 bytes of UTF-8, without control characters"},
        {{.id = "x", .store = "shelf"}, "keys, prefix, pattern, any: one of them is needed"},
        {{.id = "x", .prefix = "p\xff", .store = "shelf"}, "prefix: must be UTF-8"},
        {{.id = "x",
          .keys = two_keys,
          .key_count = 1,
          .ttl_ms = 1000,
          .every_ms = 1000,
          .store = "shelf"},
         "every: 1000 ms is not less than the ttl, 1000 ms: the keys would end between two "
         "renewals"},
        {{.id = "x", .keys = two_keys, .key_count = 1}, "store: there is none of this name"},
        {{.id = "x", .keys = two_keys, .key_count = 1, .store = "shelf", .strategy = "none"},
         "strategy: this program has none of its own that is called none"},
        {{.id = "x", .generator = "none", .store = "shelf"},
         "generator: this program has none of its own that is called none"},
    };
    struct program program;
    program_start(&program);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tocsin_why why = {""};
        assert_int_equal(tocsin_renewal_add(program.renewals, &bad[i].renewal, &why),
                         TOCSIN_INVALID);
        assert_string_equal(why.text, bad[i].why);
    }
    struct tocsin_why why = {""};
    tocsin_engine_close(program.engine);
    assert_int_equal(
        tocsin_renewals_create(&(struct tocsin_renewals_options){.ticks_per_wheel = 1u << 31},
                               &program.renewals, &why),
        TOCSIN_INVALID);
}
