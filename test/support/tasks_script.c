/* SPDX-License-Identifier: MIT */
#include "support/tasks_script.h"

#include <string.h>

#include "support/scarce_memory.h"

enum { SECOND = 1000 };

/* ---- the world */

struct tasks_world script_world;
int64_t script_idle_ms;
static struct store_ops disk_ops;
static const struct store_ops *under_ops;
static uint64_t checked; /* refusals, when the engine was last recounted */

static enum tocsin_status commit(struct store *store, const struct store_batch *batch,
                                 struct tocsin_why *ret_why)
{
    bool was = scarce_off();
    enum tocsin_status status = under_ops->commit(store, batch, ret_why);
    scarce.on = was;
    return status;
}

void script_start(void)
{
    tasks_world_start(&script_world);
    under_ops = script_world.sim.under->ops;
    disk_ops = *under_ops;
    disk_ops.commit = commit;
    script_world.sim.under->ops = &disk_ops;
    checked = 0;
}

static void check(void)
{
    struct tocsin_why why = {""};
    bool was = scarce_off();
    if (engine_check(script_world.engine, &why) != TOCSIN_OK)
        fail_msg("the engine: %s", why.text);
    scarce.on = was;
    checked = scarce.refused;
}

void script_settle(void)
{
    enum { TURNS_MAX = 10000 };
    struct elapsed_time wake = {0};
    int turns = 0;
    do {
        sim_finish(&script_world.sim, script_world.engine);
        engine_turn(script_world.engine, &wake);
        assert_true(turns++ < TURNS_MAX);
    } while (script_world.sim.batch != NULL || script_world.sim.read_count > 0 ||
             wake.ns <= script_world.clock.elapsed.ns);
    script_idle_ms = (wake.ns - script_world.clock.elapsed.ns) / 1000000;
    if (scarce.refused != checked)
        check();
}

void script_pass(int64_t ms)
{
    clock_manual_advance(&script_world.clock, ms * 1000000);
    script_settle();
}

static uint64_t living(void)
{
    struct store_sizes sizes;
    under_ops->sizes(script_world.sim.under, &sizes);
    return sizes.living;
}

/* ---- whoever is refused asks again */

struct asked script_asked;

static void init(enum tasks_verb verb, const char *id, const char *json)
{
    bool was = scarce_off();
    asked_init(&script_asked, verb, id, json);
    scarce.on = was;
}

/* What `asked` holds is asked once. False: refused, and nothing was written. */
static bool try(enum outcome wanted)
{
    uint64_t refused = scarce.refused;
    uint64_t puts = script_world.sim.puts;
    uint64_t records = living();
    asked_begin(&script_world, &script_asked);
    script_settle();
    assert_true(script_asked.done);
    if (script_asked.call.reply.outcome != OUTCOME_OVERLOADED) {
        assert_int_equal(script_asked.call.reply.outcome, wanted);
        assert_true(wanted >= OUTCOME_INVALID ||
                    script_asked.text[strlen(script_asked.text) - 1] == '}');
        return true;
    }
    assert_true(scarce.refused > refused);
    assert_int_equal(script_world.sim.puts, puts);
    assert_int_equal(living(), records);
    return false;
}

void script_ask(enum tasks_verb verb, const char *id, const char *json, enum outcome wanted)
{
    for (int i = 0; i < SCRIPT_TRIES_MAX; i++) {
        init(verb, id, json);
        if (try(wanted))
            return;
    }
    fail_msg("%s: refused for ever", id);
}

void script_make(const char *id, const char *json)
{
    script_ask(TASKS_CREATE, id, json, OUTCOME_MADE);
}

void script_ask_with_key(const char *id, uint64_t body, enum outcome wanted)
{
    for (int i = 0; i < SCRIPT_TRIES_MAX; i++) {
        init(TASKS_CREATE, id, "{\"delay\":\"2h\"}");
        script_asked.call.idem = (struct idem_ask){bytes_of("ci\nkey"), body};
        if (try(wanted))
            return;
    }
    fail_msg("%s: refused for ever", id);
}

/* One lease call that does not wait. What is answered is whole. */
void script_lease_once(struct leased *leased, uint32_t max)
{
    uint64_t refused = scarce.refused;
    leased_begin(&script_world, leased, max, 0);
    script_settle();
    assert_true(leased->done);
    if (leased->lease.outcome == OUTCOME_OK)
        assert_string_equal(leased->text + strlen(leased->text) - 2, "]}");
    else
        assert_true(leased->lease.outcome == OUTCOME_OVERLOADED && scarce.refused > refused);
}

/* It is ready: whoever asks for long enough is given it. */
struct leased script_take(const char *id)
{
    struct leased leased;
    for (int i = 0; i < SCRIPT_TRIES_MAX; i++) {
        script_lease_once(&leased, 1);
        if (leased.count == 1) {
            assert_string_equal(leased.task_id, id);
            return leased;
        }
        if (scarce.refused == 0)
            fail_msg("%s: not ready", id);
        script_pass(SECOND);
    }
    fail_msg("%s: never given out", id);
    return leased;
}

void script_none_ready(void)
{
    struct leased leased;
    script_lease_once(&leased, 1);
    assert_int_equal(leased.count, 0);
}

void script_ack(const struct leased *leased)
{
    script_ask(TASKS_ACK, leased->run, NULL, OUTCOME_OK);
}

void script_nack(const struct leased *leased)
{
    script_ask(TASKS_NACK, leased->run, NULL, OUTCOME_OK);
}

const char *script_status_of(const char *id)
{
    bool was = scarce_off();
    const char *status = tasks_world_status(&script_world, id);
    scarce.on = was;
    return status;
}

/* Each attempt fails, until there are none left. */
void script_fail_for_good(const char *id)
{
    for (int i = 0; i < SCRIPT_TRIES_MAX && strcmp(script_status_of(id), "failed") != 0; i++) {
        struct leased run = script_take(id);
        script_nack(&run);
        script_pass(SECOND);
    }
    assert_string_equal(script_status_of(id), "failed");
}

/* ---- reading */

struct read {
    bool done;
    enum outcome outcome;
    char text[4 * ASKED_TEXT_MAX];
};

static struct read seen;

static void came(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    (void)arg;
    (void)rev;
    assert_false(seen.done);
    assert_true(json.size < sizeof seen.text);
    seen.done = true;
    seen.outcome = outcome;
    if (json.size > 0)
        memcpy(seen.text, json.at, json.size);
    seen.text[json.size] = '\0';
}

static void look_once(enum looking what, const char *id)
{
    struct tasks_filter filter = {.limit = 100};
    seen.done = false;
    if (what == LOOK_ENDED)
        filter.status = bytes_of("completed");
    if (what == LOOK_TASK)
        tasks_get(script_world.tasks, bytes_of(id), came, NULL);
    else if (what == LOOK_WHY)
        tasks_why(script_world.tasks, bytes_of(id), came, NULL);
    else if (what == LOOK_INCIDENTS)
        tasks_incidents(script_world.tasks, 0, 100, came, NULL);
    else
        tasks_list(script_world.tasks, &filter, came, NULL);
    script_settle();
    assert_true(seen.done);
}

void script_look(enum looking what, const char *id, const char *wanted)
{
    for (int i = 0; i < SCRIPT_TRIES_MAX; i++) {
        uint64_t refused = scarce.refused;
        look_once(what, id);
        if (seen.outcome == OUTCOME_OK) {
            if (strstr(seen.text, wanted) == NULL)
                fail_msg("looking (%d) at %s: no %s in %s", what, id, wanted, seen.text);
            return;
        }
        assert_true(seen.outcome == OUTCOME_OVERLOADED && scarce.refused > refused);
    }
    fail_msg("%s: refused for ever", id);
}

void script_look_at_queues(const char *wanted)
{
    struct buffer out;
    buffer_init(&out, sizeof seen.text);
    do {
        buffer_release(&out);
        tasks_queues(script_world.tasks, &out);
    } while (buffer_status(&out) == TOCSIN_NO_MEMORY);
    assert_non_null(memmem(out.data, out.size, wanted, strlen(wanted)));
    buffer_release(&out);
}
