/* SPDX-License-Identifier: MIT */
/* Renewals under chance: commands, crashes, a disk that is slow and fails, a key store with moods,
 * a wall clock that jumps. The judge knows what was acknowledged, and looks at what reaches the
 * key store:
 *
 *   quiet    nothing for a renewal that is PAUSED or has ended, once that was answered
 *   single   no key is renewed twice at once
 *   alive    while all is well, keys of an active one never end
 *   true     after a crash the status is as it was acknowledged
 */
#include "support/renewal_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/renewal/renewals_inside.h"

enum { SLOTS = 6, KEYS = 5, COMMANDS = 600, CALLS = 40, TTL = 3000, EVERY = 1000 };

enum known { NOTHING, ACTIVE, PAUSED, ENDED };

struct slot {
    int generation;
    enum known known;   /* as acknowledged */
    int open;           /* calls under way: what is known may be the past */
    bool owned;         /* it is LOST with its first missing key */
    int64_t until_ms;   /* wall; 0: no end */
    int64_t healthy_ms; /* since then its keys must live; INT64_MAX: they need not */
    char id[32];
};

static struct renewal_world world;
static struct {
    struct test_random random;
    struct slot slots[SLOTS];
    struct renewal_asked calls[CALLS];
    int call_slot[CALLS];
    enum mock_mood mood;
    uint64_t done;
    uint64_t crashes;
    uint64_t ended;
    char verdict[200];
} sim;

static bool one_in(uint64_t n)
{
    return test_random_one_in(&sim.random, n);
}

static uint64_t below(uint64_t n)
{
    return test_random_below(&sim.random, n);
}

static int64_t now_ms(void)
{
    return world.clock.elapsed.ns / 1000000;
}

static int64_t wall_ms(void)
{
    return world.clock.wall.ns / 1000000;
}

/* ---- the judge */

static void name_it(const char *what, const char *id)
{
    if (sim.verdict[0] == '\0')
        (void)snprintf(sim.verdict, sizeof sim.verdict, "%s: %s", id, what);
}

static const char *key_of(int slot, int n)
{
    static char key[40];
    (void)snprintf(key, sizeof key, "s%d:%d", slot, n);
    return key;
}

static struct slot *slot_of_key(struct bytes key)
{
    assert_true(key.size == 4 && key.at[0] == 's'); /* s<slot>:<n> */
    return &sim.slots[key.at[1] - '0'];
}

static void judge_single(const struct key_job *job)
{
    for (size_t i = 0; i < world.job_count; i++) {
        const struct key_job *other = world.jobs[i].job;
        if (other == job || other->verb != KEY_EXPIRE)
            continue;
        for (uint32_t a = 0; a < job->count; a++) {
            for (uint32_t b = 0; b < other->count; b++) {
                if (bytes_equal(job->items[a].key, other->items[b].key))
                    name_it("a key is renewed twice at once", slot_of_key(job->items[a].key)->id);
            }
        }
    }
}

static void judge_expire(void *arg, const struct key_job *job)
{
    (void)arg;
    const struct slot *slot = slot_of_key(job->items[0].key);
    if (slot->open == 0 && slot->known == PAUSED)
        name_it("renewed although it is PAUSED", slot->id);
    if (slot->open == 0 && (slot->known == ENDED || slot->known == NOTHING))
        name_it("renewed although it has ended", slot->id);
    judge_single(job);
}

/* It has found an end, which is on its way to the disk; settle looks whether it is there. */
static bool is_ending(const struct slot *slot)
{
    const struct renewal *live = renewal_find(world.renewals, bytes_of(slot->id));
    return live == NULL || live->ending != 0;
}

static void judge_alive(void)
{
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *slot = &sim.slots[i];
        bool over = slot->until_ms != 0 && wall_ms() + 1 >= slot->until_ms;
        if (slot->known != ACTIVE || over || slot->healthy_ms == INT64_MAX || is_ending(slot))
            continue;
        for (int n = 0; n < KEYS; n++) {
            if (renewal_ttl(&world, key_of(i, n)) == -2)
                name_it("a key of it has ended", slot->id);
        }
    }
}

/* Its keys are there from now on; or nobody says so. */
static void healthy(struct slot *slot, bool is)
{
    slot->healthy_ms = INT64_MAX;
    if (!is)
        return;
    slot->healthy_ms = now_ms();
    for (int n = 0; n < KEYS; n++) {
        const char *key = key_of((int)(slot - sim.slots), n);
        if (renewal_ttl(&world, key) < TTL)
            renewal_set(&world, key, "me", TTL);
    }
}

static void all_healthy(bool are)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &sim.slots[i];
        healthy(slot, are && slot->known == ACTIVE && slot->open == 0);
    }
}

static enum known known_of(const char *status)
{
    if (strcmp(status, "ACTIVE") == 0)
        return ACTIVE;
    return status[0] == '\0' ? NOTHING : strcmp(status, "PAUSED") == 0 ? PAUSED : ENDED;
}

/* What has ended by itself, and what a crash has left open. */
static void look(struct slot *slot, bool was_open)
{
    enum known is = known_of(renewal_field(&world, slot->id, "status"));
    bool itself = is == ENDED && (slot->known == ACTIVE || slot->until_ms != 0);
    if (!was_open && is != slot->known && !itself)
        name_it("not as it was acknowledged", slot->id);
    sim.ended += is == ENDED && slot->known != ENDED;
    slot->known = is;
    if (is != ACTIVE)
        slot->healthy_ms = INT64_MAX;
}

/* ---- what happens */

static void call_done(struct renewal_asked *asked)
{
    struct slot *slot = &sim.slots[sim.call_slot[asked - sim.calls]];
    slot->open--;
    sim.done += asked->call.reply.outcome < OUTCOME_INVALID;
    if (slot->open > 0)
        return;
    /* Those that came later may have been answered before: the disk knows. */
    struct bytes id = bytes_of(slot->id);
    const struct renewal *live = renewal_find(world.renewals, id);
    bool made =
        asked->call.reply.outcome < OUTCOME_INVALID || live != NULL || slot->known != NOTHING;
    slot->known =
        live == NULL ? (made ? ENDED : NOTHING) : (live->state == RENEWAL_PAUSED ? PAUSED : ACTIVE);
    if (asked->call.verb == RENEWAL_PAUSE && asked->call.reply.outcome == OUTCOME_OK &&
        live != NULL && live->round != NULL && live->state == RENEWAL_PAUSED)
        name_it("PAUSED is answered while a round goes on", slot->id);
    healthy(slot, slot->known == ACTIVE && sim.mood == MOCK_WELL && !world.hold);
}

static void begin(int call, int which, enum renewal_verb verb, const char *spec)
{
    struct slot *slot = &sim.slots[which];
    sim.calls[call] = (struct renewal_asked){.on_done = call_done};
    sim.call_slot[call] = which;
    slot->open++;
    healthy(slot, false);
    renewal_begin(&world, &sim.calls[call], verb, slot->id, spec);
}

static void enroll(int call, int which)
{
    static const char *const strategies[] = {
        "{\"type\":\"fixed\",\"ttl\":3000}",
        "{\"type\":\"steps\",\"steps\":[{\"count\":5,\"ttl\":3000},{\"ttl\":4000}]}",
        "{\"type\":\"while\",\"ttl\":3000,\"key\":\"no\",\"exists\":false}",
    };
    struct slot *slot = &sim.slots[which];
    char spec[400];
    char strategy[100];
    char keys[100];
    slot->generation++;
    (void)snprintf(slot->id, sizeof slot->id, "r%d-%d", which, slot->generation);
    slot->known = NOTHING;
    slot->until_ms = one_in(4) ? wall_ms() + (int64_t)below(60000) : 0;
    slot->owned = one_in(3);
    (void)snprintf(keys, sizeof keys, "\"prefix\":\"s%d:\"", which);
    if (slot->owned || one_in(2))
        (void)snprintf(keys, sizeof keys,
                       "\"keys\":[\"s%d:0\",\"s%d:1\",\"s%d:2\",\"s%d:3\",\"s%d:4\",\"s%d:0\"]",
                       which, which, which, which, which, which);
    (void)snprintf(strategy, sizeof strategy, "%s", strategies[below(3)]);
    if (slot->until_ms != 0)
        (void)snprintf(strategy, sizeof strategy,
                       "{\"type\":\"until\",\"ttl\":3000,\"at\":%" PRId64 "}", slot->until_ms);
    (void)snprintf(spec, sizeof spec, "{%s,\"every\":%d,\"max_retries\":%d,\"strategy\":%s%s}",
                   keys, EVERY, (int)below(5) + 1, strategy,
                   slot->owned ? ",\"owner\":\"me\"" : "");
    healthy(slot, true); /* the keys are there before */
    begin(call, which, RENEWAL_REGISTER, spec);
}

static int free_call(void)
{
    for (int i = 0; i < CALLS; i++) {
        bool used = false;
        for (size_t n = 0; n < world.asked_count; n++)
            used = used || world.asked[n] == &sim.calls[i];
        if (!used)
            return i;
    }
    return -1;
}

static void any_command(void)
{
    static const enum renewal_verb verbs[] = {
        RENEWAL_PAUSE,  RENEWAL_PAUSE, RENEWAL_RESUME, RENEWAL_RESUME,
        RENEWAL_RESUME, RENEWAL_RENEW, RENEWAL_RENEW,  RENEWAL_CANCEL,
    };
    int which = (int)below(SLOTS);
    int call = free_call();
    struct slot *slot = &sim.slots[which];
    if (call < 0)
        return;
    bool over = slot->open == 0 && (slot->known == NOTHING || slot->known == ENDED);
    if (over && world.job_count > 0)
        return; /* a strategy may end during a round, whose keys the next one would share */
    if (over)
        enroll(call, which);
    else
        begin(call, which, verbs[below(sizeof verbs / sizeof verbs[0])], NULL);
}

static void disk_goes_on(void)
{
    struct elapsed_time wake;
    engine_turn(world.engine, &wake);
    if (world.sim.read_count > 0 && !one_in(4))
        sim_read_done(&world.sim, world.engine, below(world.sim.read_count));
    if (world.sim.batch != NULL && one_in(3)) {
        if (!world.sim.stored && one_in(4))
            sim_store(&world.sim);
        else
            sim_commit(&world.sim, world.engine,
                       !world.sim.stored && one_in(20) ? TOCSIN_UNAVAILABLE : TOCSIN_OK);
    }
}

/* As a process sees it that is not held up: at each moment that something is due. */
static void time_goes_on(int64_t ms)
{
    int64_t end = world.clock.elapsed.ns + ms * 1000000;
    while (world.clock.elapsed.ns < end) {
        struct elapsed_time wake;
        engine_turn(world.engine, &wake);
        int64_t next = wake.ns < end ? wake.ns : end;
        if (next <= world.clock.elapsed.ns)
            next = world.clock.elapsed.ns + 1000000;
        clock_manual_advance(&world.clock, next - world.clock.elapsed.ns);
        disk_goes_on();
        judge_alive();
    }
}

static void mood_changes(void)
{
    bool well = one_in(2);
    sim.mood = well ? MOCK_WELL : (enum mock_mood)below(MOCK_HANGS + 1);
    mock_client_mood(world.mock, sim.mood);
    renewal_world_hold(&world, !well && one_in(3));
    all_healthy(sim.mood == MOCK_WELL && !world.hold);
}

static void wall_clock_jumps(void)
{
    world.clock.wall.ns += ((int64_t)below(7200000) - 3600000) * 1000000;
    engine_clock_stepped(world.engine);
    /* What was given the little that remained may have longer to go now. */
    for (int i = 0; i < SLOTS; i++)
        healthy(&sim.slots[i], sim.slots[i].healthy_ms != INT64_MAX);
}

static void settle(void)
{
    renewal_world_settle(&world);
    for (int i = 0; i < SLOTS; i++) {
        if (sim.slots[i].open == 0 && sim.slots[i].generation > 0)
            look(&sim.slots[i], false);
    }
}

static void crash(void)
{
    sim.crashes++;
    all_healthy(false);
    renewal_world_crash(&world);
    sim.mood = MOCK_WELL;
    if (one_in(3))
        clock_manual_advance(&world.clock, (int64_t)below(20000) * 1000000);
    for (int i = 0; i < SLOTS; i++)
        sim.slots[i].open += 1000; /* until it is looked at, nothing is known for sure */
    renewal_world_again(&world);
    /* Whoever needs the keys has made them again. */
    for (int i = 0; i < SLOTS; i++)
        healthy(&sim.slots[i], true);
    renewal_world_settle(&world);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &sim.slots[i];
        bool was_open = slot->open != 1000;
        slot->open = 0;
        if (slot->generation > 0)
            look(slot, was_open);
    }
    all_healthy(true);
}

static void start(uint64_t seed)
{
    memset(&sim, 0, sizeof sim);
    sim.random.state = seed;
    renewal_world_init(&world, seed % 2 == 0 ? BEATS_TIME_WHEEL : BEATS_SCHEDULED);
    world.limits.batch = 2;
    world.limits.save_ms = 5000;
    world.limits.grace_ms = INT64_C(1000) * 86400000;
    world.chance.state = seed;
    world.on_expire = judge_expire;
    renewal_world_again(&world);
    renewal_world_settle(&world);
    for (int i = 0; i < SLOTS; i++)
        sim.slots[i].healthy_ms = INT64_MAX;
}

static void run(uint64_t seed, int commands)
{
    for (int i = 0; i < commands; i++) {
        any_command();
        for (uint64_t left = below(6); left > 0; left--)
            disk_goes_on();
        if (one_in(3))
            time_goes_on((int64_t)below(one_in(10) ? 8000 : 700));
        if (one_in(15))
            mood_changes();
        if (one_in(100))
            wall_clock_jumps();
        if (one_in(20))
            settle();
        if (one_in(80))
            crash();
        if (sim.verdict[0] != '\0')
            return;
        (void)seed;
    }
}

static void finish(void)
{
    mock_client_mood(world.mock, MOCK_WELL);
    renewal_world_hold(&world, false);
    renewal_world_settle(&world);
    renewal_world_pass(&world, 2000); /* ends that could not be written are tried again */
    renewal_world_settle(&world);
    assert_int_equal(world.asked_count, 0); /* everybody was answered */
    assert_int_equal(world.job_count, 0);
    assert_int_equal(renewals_under_way(world.renewals), 0);
}

TEST(chance_breaks_no_promise)
{
    uint64_t seed = test_seed();
    uint64_t rounds = test_effort(200);
    uint64_t done = 0;
    uint64_t crashes = 0;
    uint64_t ended = 0;
    uint64_t keys = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        start(seed + i);
        run(seed + i, COMMANDS);
        if (sim.verdict[0] != '\0')
            fail_msg("seed %" PRIu64 ": %s", seed + i, sim.verdict);
        finish();
        done += sim.done;
        crashes += sim.crashes;
        ended += sim.ended;
        keys += world.keys;
        renewal_world_release(&world);
    }
    print_message("%" PRIu64 " seeds: %" PRIu64 " commands done, %" PRIu64 " keys renewed, %" PRIu64
                  " ended, %" PRIu64 " crashes\n",
                  rounds, done, keys, ended, crashes);
    assert_true(done > 100 * rounds && keys > 1000 * rounds && ended > rounds && crashes > 0);
}

/* ---- the judge itself: with a protection off, it must name what is wrong */

static struct renewal *an_active_one(void)
{
    start(7);
    enroll(0, 0);
    sim.slots[0].until_ms = 0;
    renewal_world_settle(&world);
    time_goes_on(3000);
    assert_string_equal(sim.verdict, "");
    assert_int_equal(sim.slots[0].known, ACTIVE);
    return renewal_find(world.renewals, bytes_of(sim.slots[0].id));
}

TEST(the_judge_names_a_renewal_that_goes_on_although_it_is_paused)
{
    struct renewal *renewal = an_active_one();
    begin(1, 0, RENEWAL_PAUSE, NULL);
    renewal_world_settle(&world);
    time_goes_on(3000);
    assert_string_equal(sim.verdict, "");
    renewal->state = RENEWAL_ACTIVE; /* as if pause had forgotten the beats */
    renewal_start_beats(renewal, renewal->spec->every_ms);
    assert_non_null(strstr(sim.verdict, "renewed although it is PAUSED"));
    renewal_world_release(&world);
}

TEST(the_judge_names_two_rounds_at_once)
{
    struct renewal *renewal = an_active_one();
    renewal_world_hold(&world, true);
    all_healthy(false);
    time_goes_on(3000);
    assert_string_equal(sim.verdict, "");
    struct round *round = renewal->round;
    assert_non_null(round);
    renewal->round = NULL; /* as if nobody looked whether one is under way */
    renewal_round(renewal, engine_now_ms(world.engine));
    assert_non_null(strstr(sim.verdict, "a key is renewed twice at once"));
    renewal->round = round;
    renewal_world_release(&world);
}

TEST(the_judge_names_keys_that_end_while_all_is_well)
{
    struct renewal *renewal = an_active_one();
    renewal_stop_beats(renewal); /* as if a beat had been lost */
    time_goes_on(10000);
    assert_non_null(strstr(sim.verdict, "a key of it has ended"));
    renewal_world_release(&world);
}

TEST(the_judge_names_an_answer_that_a_crash_takes_back)
{
    struct elapsed_time wake;
    (void)an_active_one();
    begin(1, 0, RENEWAL_PAUSE, NULL);
    while (world.sim.batch == NULL) {
        engine_turn(world.engine, &wake);
        if (world.sim.read_count > 0)
            sim_read_done(&world.sim, world.engine, 0);
    }
    sim_lie(&world.sim, world.engine); /* a disk that says it has synced */
    assert_int_equal(sim.slots[0].known, PAUSED);
    crash();
    assert_non_null(strstr(sim.verdict, "not as it was acknowledged"));
    renewal_world_release(&world);
}
