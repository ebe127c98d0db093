/* SPDX-License-Identifier: MIT */
/* What a countdown is on the disk, and which one it is when two are started at once. */
#include "support/countdown_world.h"

#include <stdio.h>
#include <string.h>

enum { SECOND = 1000 };

static struct countdown_world world;

static void told(const char *wanted)
{
    countdown_world_told(&world, wanted);
}

static void field_is(const char *key, const char *field, const char *wanted)
{
    assert_string_equal(countdown_world_field(&world, key, field), wanted);
}

struct stored {
    size_t count;
    char key[64];
    char doc[512];
};

static bool take_stored(void *arg, const struct store_record *record)
{
    struct stored *stored = arg;
    stored->count++;
    (void)snprintf(stored->key, sizeof stored->key, "%.*s", (int)record->key.size, record->key.at);
    (void)snprintf(stored->doc, sizeof stored->doc, "%.*s", (int)record->doc.size, record->doc.at);
    return true;
}

/* The one there is, as the disk has it. */
static struct stored stored_one(void)
{
    struct stored stored = {0};
    uint64_t next;
    struct tocsin_why why;
    assert_int_equal(world.sim.under->ops->list(world.sim.under, bytes_of("countdown"), 0, 100,
                                                take_stored, &stored, &next, &why),
                     TOCSIN_OK);
    assert_int_equal(stored.count, 1);
    return stored;
}

/* Of the kind "countdown", so that it is countdown:table:room-123. */
static void stored_is(const char *version)
{
    static const char key[] = "table:room-123";
    char wanted[512];
    struct stored stored = stored_one();
    int size = snprintf(wanted, sizeof wanted,
                        "{\"key\":\"%s\",\"owner\":\"me\",\"version\":\"%s\",\"kind\":\"event\","
                        "\"deadlineEpochMs\":%s,",
                        key, version, countdown_world_field(&world, key, "deadline_ms"));
    stored.doc[size] = '\0'; /* what comes after these is its own business */
    assert_string_equal(stored.key, key);
    assert_string_equal(stored.doc, wanted);
}

TEST(C_03_its_record_is_json_with_key_owner_version_and_deadline)
{
    static const char key[] = "table:room-123";
    countdown_world_start(&world);
    assert_int_equal(countdown_world_run(&world, key, "g:1", 30 * SECOND), OUTCOME_MADE);
    stored_is("g:1");
    assert_int_equal(countdown_world_ask(&world, COUNTDOWN_GIVE, key), OUTCOME_OK);
    stored_is("g:1");
    assert_int_equal(countdown_world_run(&world, key, "g:2", SECOND), OUTCOME_OK);
    stored_is("g:2");
    countdown_world_pass(&world, SECOND);
    field_is(key, "state", "expired");
    stored_is("g:2");
    countdown_world_release(&world);
}

static struct countdown_asked start_of(const char *owner, int64_t for_ms)
{
    return (struct countdown_asked){.call = {.owner = bytes_of(owner),
                                             .version = bytes_of("v"),
                                             .kind = bytes_of("event"),
                                             .for_ms = for_ms}};
}

/* On one node: whoever is second in the same moment joins the first, or is told whose it is. */
TEST(C_15_two_starts_at_once_are_one_countdown)
{
    countdown_world_start(&world);
    struct countdown_asked first = start_of("me", 3 * SECOND);
    struct countdown_asked second = start_of("me", 9 * SECOND);
    struct countdown_asked foreign = start_of("you", 3 * SECOND);
    countdown_ask(&world, &first, COUNTDOWN_START, "a");
    countdown_ask(&world, &second, COUNTDOWN_START, "a");
    countdown_ask(&world, &foreign, COUNTDOWN_START, "a");
    countdown_world_settle(&world);
    assert_int_equal(first.call.reply.outcome, OUTCOME_MADE);
    assert_int_equal(second.call.reply.outcome, OUTCOME_OK);
    assert_int_equal(foreign.call.reply.outcome, OUTCOME_CONFLICTING);
    told("started a v\ntick a 3"); /* one tick at once, not two */
    field_is("a", "owner", "me");
    countdown_world_pass(&world, SECOND);
    told("tick a 2");
    countdown_world_pass(&world, SECOND);
    told("tick a 1");
    countdown_world_pass(&world, 20 * SECOND);
    told("timeout a v");
    countdown_world_release(&world);
}
