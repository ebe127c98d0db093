/* SPDX-License-Identifier: MIT */
/* What if the n-th request for memory is refused, or some in a row? The build lets malloc, calloc
 * and realloc of this binary come by here (cmake/tests.cmake), so that a script of everything the
 * task service does can be run once for each n.
 *
 * The model is the script itself and a run of it in which nothing is refused. Whoever is told
 * OVERLOADED asks again, as a client would, and is told then what the script says: so a refusal has
 * left nothing behind, and an answer is true. After the scene that was hit the memory is back: what
 * is there, and the counts, are those of the undisturbed run, before a crash or after it. */
#include "support/scarce_memory.h"
#include "support/tasks_script.h"

#include <stdio.h>
#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, CROWD = 40 };

/* ---- the scenes: each leaves behind what later ones do not touch */

#define RETRY_ONCE "\"retry\":{\"max\":1,\"base\":\"1s\",\"factor\":1,\"jitter\":0}"
#define RETRY_OFTEN "\"retry\":{\"max\":9,\"base\":\"1s\",\"factor\":1,\"jitter\":0}"

static void scene_one_shot(void)
{
    script_make("a", "{}");
    script_look(LOOK_TASK, "a", "\"status\":\"pending\"");
    script_look(LOOK_WHY, "a", "\"reason\"");
    script_look_at_queues("\"queue\":\"default\"");
    struct leased run = script_take("a");
    script_look(LOOK_WHY, "a", run.run);
    script_ask(TASKS_CREATE, "a", "{}", OUTCOME_CONFLICTING);
    script_ask(TASKS_EXTEND, run.run, NULL, OUTCOME_OK);
    script_ack(&run);
    script_ack(&run);
    script_none_ready();
    script_look(LOOK_ENDED, "", "\"tasks\":[");
}

static void scene_put_and_cancel(void)
{
    script_make("b", "{\"delay\":\"1h\",\"target\":{\"type\":\"queue\",\"queue\":\"b\"}}");
    script_ask(TASKS_PUT, "b", "{\"delay\":\"2h\"}", OUTCOME_OK);
    script_ask(TASKS_PUT, "b2", "{\"delay\":\"2h\"}", OUTCOME_MADE);
    script_look(LOOK_LIST, "", "\"id\":\"b2\"");
    script_ask(TASKS_DELETE, "b", NULL, OUTCOME_OK);
    script_ask(TASKS_DELETE, "b", NULL, OUTCOME_MISSING);
}

static void scene_ready(void)
{
    script_make("c", "{}");
    script_ask(TASKS_DELETE, "c", NULL, OUTCOME_OK);
    script_none_ready();
    script_make("c1", "{}");
    script_ask(TASKS_PAUSE, "c1", NULL, OUTCOME_OK);
    script_none_ready();
    script_ask(TASKS_RESUME, "c1", NULL, OUTCOME_OK);
    script_ask(TASKS_FIRE, "c1", NULL, OUTCOME_OK);
    struct leased run = script_take("c1");
    script_ack(&run);
    script_make("c2", "{\"delay\":\"1h\"}");
    script_ask(TASKS_PAUSE, "c2", NULL, OUTCOME_OK);
}

static void scene_running(void)
{
    script_make("d", "{" RETRY_ONCE "}");
    struct leased run = script_take("d");
    script_ask(TASKS_DELETE, "d", NULL, OUTCOME_REQUESTED);
    script_ask(TASKS_EXTEND, run.run, NULL, OUTCOME_TO_CANCEL);
    script_nack(&run);
    script_none_ready();
    script_make("e", "{}");
    run = script_take("e");
    script_ask(TASKS_PUT, "e", "{\"delay\":\"1h\"}", OUTCOME_OK);
    script_ack(&run); /* superseded */
    script_none_ready();
}

static void scene_incident(void)
{
    script_make("f", "{" RETRY_ONCE "}");
    script_fail_for_good("f");
    script_look(LOOK_INCIDENTS, "", "\"task_id\":\"f\"");
    script_ask(TASKS_RETRY, "f", NULL, OUTCOME_OK);
    script_fail_for_good("f");
    script_ask(TASKS_FORGET, "f", NULL, OUTCOME_OK);
    script_make("f2", "{\"retry\":{\"max\":0}}");
    script_fail_for_good("f2");
}

static void scene_expiry(void)
{
    script_make("g", "{" RETRY_OFTEN "}");
    struct leased lost = script_take("g");
    for (int i = 0; i < SCRIPT_TRIES_MAX && strcmp(script_status_of("g"), "pending") != 0; i++)
        script_pass(30 * SECOND);
    script_ask(TASKS_ACK, lost.run, NULL, OUTCOME_LOST);
    script_pass(SECOND);
    struct leased run = script_take("g");
    script_ack(&run);
}

static void scene_every(void)
{
    script_make("h", "{\"every\":\"1m\"," RETRY_ONCE "}");
    script_pass(MINUTE);
    struct leased run = script_take("h");
    script_nack(&run);
    script_pass(SECOND);
    run = script_take("h");
    script_ack(&run);
    script_ask(TASKS_PAUSE, "h", NULL, OUTCOME_OK);
    script_ask(TASKS_RESUME, "h", NULL, OUTCOME_OK);
    script_ask(TASKS_FIRE, "h", NULL, OUTCOME_OK);
    script_ask(TASKS_PUT, "h", "{\"every\":\"1h\"}", OUTCOME_OK);
    script_none_ready();
    script_ask(TASKS_FIRE, "h", NULL, OUTCOME_OK);
    run = script_take("h");
    script_ask(TASKS_DELETE, "h", NULL, OUTCOME_OK);
    script_ack(&run);
    script_make("h2", "{\"every\":\"3h\"}");
}

static void scene_cron(void)
{
    script_make("i", "{\"cron\":\"*/5 * * * *\",\"tz\":\"Europe/Berlin\"}");
    script_pass(5 * MINUTE);
    struct leased run = script_take("i");
    script_ack(&run);
    script_ask(TASKS_PUT, "i", "{\"cron\":\"0 3 * * *\",\"tz\":\"Asia/Shanghai\"}", OUTCOME_OK);
}

static void scene_schedule_incident(void)
{
    script_make("j", "{\"every\":\"1s\",\"repeat\":1,\"retry\":{\"max\":0}}");
    script_pass(SECOND);
    struct leased run = script_take("j");
    script_nack(&run);
    script_look(LOOK_INCIDENTS, "", "\"task_id\":\"j\"");
    script_ask(TASKS_CREATE, "j", "{}", OUTCOME_CONFLICTING);
    script_ask(TASKS_RETRY, "j", NULL, OUTCOME_OK);
    run = script_take("j");
    script_nack(&run);
    script_ask(TASKS_FORGET, "j", NULL, OUTCOME_OK);
    script_make("j", "{\"delay\":\"1h\"}");
    script_make("j2", "{\"every\":\"1s\",\"repeat\":1,\"retry\":{\"max\":0}}");
    script_pass(SECOND);
    run = script_take("j2");
    script_nack(&run);
}

static void scene_key(void)
{
    char first[sizeof script_asked.text];
    script_ask_with_key("k", 1, OUTCOME_MADE);
    memcpy(first, script_asked.text, sizeof first);
    script_ask_with_key("k", 1, OUTCOME_MADE);
    assert_string_equal(script_asked.text, first);
    assert_true(script_asked.call.reply.replayed);
    script_ask_with_key("l", 2, OUTCOME_CONFLICTING);
}

static void crowd_id(int i, char ret_id[16])
{
    (void)snprintf(ret_id, 16, "m%d", i);
}

/* Many at once, and cold: their docs are read again as they come due. */
static void scene_crowd(void)
{
    static struct leased leased;
    char id[16];
    for (int i = 0; i < CROWD; i++) {
        crowd_id(i, id);
        script_make(id, "{\"delay\":\"1m\"}");
    }
    script_pass(MINUTE);
    size_t count = 0;
    for (int i = 0; i < SCRIPT_TRIES_MAX && count < CROWD; i++) {
        script_lease_once(&leased, CROWD);
        count += leased.count;
        for (const char *at = leased.text; (at = strstr(at, "\"run\":\"")) != NULL;) {
            struct leased one = {0};
            at += strlen("\"run\":\"");
            memcpy(one.run, at, strcspn(at, "\""));
            script_ack(&one);
        }
        if (leased.count == 0)
            script_pass(SECOND);
    }
    assert_int_equal(count, CROWD);
    script_none_ready();
}

/* A worker that waits is given what comes. */
static void scene_waiting(void)
{
    struct leased leased;
    for (int i = 0; i < SCRIPT_TRIES_MAX; i++) {
        leased_begin(&script_world, &leased, 1, HOUR);
        if (!leased.done)
            break;
        assert_true(leased.lease.outcome == OUTCOME_OVERLOADED && scarce.refused > 0);
    }
    script_make("n", "{}");
    for (int i = 0; i < SCRIPT_TRIES_MAX && !leased.done; i++) {
        assert_true(script_idle_ms <= SECOND); /* nobody else may wake it up */
        script_pass(SECOND);
    }
    assert_true(leased.done);
    assert_int_equal(leased.count, 1);
    script_ack(&leased);
}

static void held(void *arg, enum tocsin_status status)
{
    *(enum tocsin_status *)arg = status;
}

static void hold(void)
{
    enum tocsin_status status = TOCSIN_BUSY;
    for (int i = 0; i < SCRIPT_TRIES_MAX && status != TOCSIN_OK; i++) {
        status = TOCSIN_BUSY;
        tasks_hold(script_world.tasks, held, &status);
        script_settle();
        assert_true(status == TOCSIN_OK || status == TOCSIN_NO_MEMORY);
    }
    assert_int_equal(status, TOCSIN_OK);
}

/* What cannot be started is started again. */
static void restart(void)
{
    tasks_world_crash(&script_world);
    for (int i = 0; i < SCRIPT_TRIES_MAX && tasks_world_try_again(&script_world) != TOCSIN_OK;
         i++) {
        assert_true(scarce.refused > 0);
        while (script_world.sim.read_count > 0)
            sim_read_done(&script_world.sim, script_world.engine, 0);
        bool was = scarce_off();
        if (script_world.sim.batch != NULL)
            sim_commit(&script_world.sim, script_world.engine, TOCSIN_UNAVAILABLE);
        tasks_world_crash(&script_world);
        scarce.on = was;
    }
    for (int i = 0; i < SCRIPT_TRIES_MAX && tasks_recovering(script_world.tasks); i++)
        script_settle();
    script_pass(SECOND);
    script_pass(SECOND);
}

static struct leased take_second(const char *id)
{
    struct leased run = script_take(id);
    script_nack(&run);
    script_pass(SECOND);
    return script_take(id);
}

static void scene_orderly_stop(void)
{
    struct tasks_stats stats = {0};
    script_make("o", "{" RETRY_OFTEN "}");
    struct leased second = take_second("o");
    script_make("p", "{}");
    struct leased first = script_take("p");
    script_make("q", "{" RETRY_OFTEN "}");
    struct leased cancelled = script_take("q");
    script_ask(TASKS_DELETE, "q", NULL, OUTCOME_REQUESTED);
    hold();
    restart();
    for (int i = 0; i < SCRIPT_TRIES_MAX && stats.leased < 3; i++) {
        script_pass(SECOND);
        tasks_describe(script_world.tasks, &stats);
    }
    script_ack(&second);
    script_ack(&first);
    script_nack(&cancelled);
    script_none_ready();
}

/* Ready, and its doc is to be read when it is wanted. */
static void scene_cold(void)
{
    script_make("u", "{}");
    restart();
    struct leased run = script_take("u");
    script_ack(&run);
    script_none_ready();
}

static void scene_crash(void)
{
    script_make("r", "{" RETRY_OFTEN "}");
    (void)take_second("r");
    script_make("s", "{\"cron\":\"*/5 * * * *\",\"tz\":\"America/New_York\"}");
    script_make("t", "{" RETRY_OFTEN "}");
    (void)script_take("t");
    script_ask(TASKS_DELETE, "t", NULL, OUTCOME_REQUESTED);
    restart();
    struct leased run = script_take("r");
    script_ack(&run);
    script_look(LOOK_INCIDENTS, "", "\"task_id\":\"f2\"");
    script_ask(TASKS_CREATE, "j2", "{}", OUTCOME_CONFLICTING);
    script_pass(5 * MINUTE);
    run = script_take("s");
    script_ack(&run);
    script_ask(TASKS_DELETE, "s", NULL, OUTCOME_OK);
    script_none_ready();
}

static void (*const scenes[])(void) = {
    scene_one_shot,     scene_put_and_cancel, scene_ready,
    scene_running,      scene_incident,       scene_expiry,
    scene_every,        scene_cron,           scene_schedule_incident,
    scene_key,          scene_crowd,          scene_waiting,
    scene_orderly_stop, scene_crash,          scene_cold,
};
enum { SCENES = sizeof scenes / sizeof scenes[0] };

/* ---- what is there after a scene */

/* Not j2, a schedule that has ended: what is left of it is an incident, and that its id is taken. */
static const char *const ids[] = {"a", "b", "b2", "c", "c1", "c2", "d", "e",  "f",   "f2",
                                  "g", "h", "h2", "i", "j",  "k",  "l", "m0", "m39", "n",
                                  "o", "p", "q",  "r", "s",  "t",  "u", "z"};
enum { IDS = sizeof ids / sizeof ids[0] };

struct snapshot {
    const char *status[IDS];
    uint64_t records;
    uint64_t events;
    struct tasks_stats tasks;
    uint64_t idem;
};

static struct snapshot undisturbed[SCENES];

/* What has ended is remembered if there is memory for it. */
static const char *alive(const char *status)
{
    static const char *const said[] = {"pending", "running", "paused", "failed"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        if (strcmp(status, said[i]) == 0)
            return said[i];
    }
    return "";
}

static void snap(struct snapshot *ret_snapshot)
{
    struct engine_stats stats;
    for (size_t i = 0; i < IDS; i++)
        ret_snapshot->status[i] = alive(tasks_world_status(&script_world, ids[i]));
    engine_describe(script_world.engine, &stats);
    ret_snapshot->records = stats.records;
    ret_snapshot->events = script_world.sim.state.high_seq;
    tasks_describe(script_world.tasks, &ret_snapshot->tasks);
    ret_snapshot->idem = idem_count(script_world.idem);
}

static void compare(const struct snapshot *wanted)
{
    struct snapshot is;
    snap(&is);
    for (size_t i = 0; i < IDS; i++) {
        if (strcmp(is.status[i], wanted->status[i]) != 0)
            fail_msg("%s is '%s', not '%s'", ids[i], is.status[i], wanted->status[i]);
    }
    assert_int_equal(is.records, wanted->records);
    assert_int_equal(is.events, wanted->events);
    assert_int_equal(is.tasks.waiting_tasks, wanted->tasks.waiting_tasks);
    assert_int_equal(is.tasks.paused, wanted->tasks.paused);
    assert_int_equal(is.tasks.incidents, wanted->tasks.incidents);
    assert_int_equal(is.idem, wanted->idem);
    assert_int_equal(is.tasks.ready, wanted->tasks.ready);
    assert_int_equal(is.tasks.leased, wanted->tasks.leased);
    assert_int_equal(is.tasks.waiting, wanted->tasks.waiting);
    assert_int_equal(is.tasks.queues, wanted->tasks.queues);
}

static void crash(void)
{
    tasks_world_crash(&script_world);
    tasks_world_again(&script_world);
}

/* Whatever waits comes, once; and new work is taken. */
static void drain(void)
{
    static const char *const due[] = {"b2", "e", "h2", "j", "k"};
    unsigned given = 0;
    script_pass(4 * HOUR);
    for (size_t i = 0; i < sizeof due / sizeof due[0]; i++) {
        struct leased run;
        script_lease_once(&run, 1);
        for (size_t k = 0; k < sizeof due / sizeof due[0]; k++) {
            if (strcmp(run.task_id, due[k]) == 0)
                given += 1u << k;
        }
        script_ack(&run);
    }
    assert_int_equal(given, (1u << sizeof due / sizeof due[0]) - 1);
    script_none_ready();
    crash();
    script_none_ready();
    script_make("z", "{}");
    struct leased run = script_take("z");
    script_ack(&run);
}

/* All scenes; memory is scarce till the end of the one that was hit. */
static void run(uint64_t first, uint64_t count, bool crashes)
{
    script_start();
    scarce = (struct scarcity){.first = first, .count = count};
    bool hit = false;
    for (size_t i = 0; i < SCENES; i++) {
        scarce.on = !hit;
        scenes[i]();
        scarce.on = false;
        if (first == 0) {
            snap(&undisturbed[i]);
        } else if (!hit && scarce.refused > 0) {
            hit = true;
            script_pass(SECOND);
            compare(&undisturbed[i]);
            if (crashes) {
                crash();
                compare(&undisturbed[i]);
            }
        }
    }
    if (first != 0)
        compare(&undisturbed[SCENES - 1]);
    drain();
    tasks_world_release(&script_world);
}

static uint64_t requests(void)
{
    run(0, 0, false);
    return scarce.asked;
}

/* ---- each request, or some of them by chance when there are too many */

static void each(uint64_t rounds, uint64_t longest)
{
    struct test_random random = {test_seed()};
    uint64_t all = requests();
    uint64_t step = all / test_effort(rounds) + 1;
    for (uint64_t n = 1 + test_random_below(&random, step); n <= all;
         n += 1 + test_random_below(&random, 2 * step - 1)) {
        uint64_t count = 1 + test_random_below(&random, longest);
        bool crashes = test_random_one_in(&random, 2);
        run(n, count, crashes);
    }
}

TEST(one_refused_request_for_memory_breaks_no_promise)
{
    each(2000, 1);
}

TEST(many_refused_requests_for_memory_break_no_promise)
{
    each(2000, 20);
}
