/* SPDX-License-Identifier: MIT */
#include "jitter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/threads.h"
#include "net/loop.h"
#include "service/countdown/countdowns.h"

enum { ASKED_AT_ONCE = 1000, LEAD_MS = 1500, LATE_US_MAX = 2000000, LATE_STEP_US = 10 };
enum { LATE_MS_MAX = 1000 }; /* what is later is missed */
enum { LATE_STEPS = LATE_US_MAX / LATE_STEP_US };

struct asked {
    struct countdown_call call; /* first */
    struct room *room;
    char key[16];
};

struct room {
    const struct jitter_wish *wish;
    struct store *store;
    struct engine_threads *threads;
    struct engine *engine;
    struct idem *idem;
    struct countdowns *countdowns;
    struct countdown_kind kind;
    struct loop *loop;
    struct engine_timer timer; /* begins the window, then ends it */
    struct asked *asked;
    unsigned begun, done;
    int64_t deadline_ms; /* of the first */
    int64_t from_ms, to_ms;
    uint64_t cpu_ns;
    uint64_t ticks;
    int64_t most_ns;
    uint32_t late[LATE_STEPS + 1]; /* how many were so late; the last one: or more */
};

static void must(enum tocsin_status status, const char *what)
{
    if (status != TOCSIN_OK)
        bench_die("%s: %s", what, tocsin_status_name(status));
}

static void on_tick(void *arg, const struct countdown *countdown, int64_t left_ms)
{
    struct room *self = arg;
    int64_t due_ms = countdown->deadline_ms - countdown_seconds(left_ms) * 1000;
    if (due_ms < self->from_ms || due_ms >= self->to_ms)
        return;
    int64_t late_ns = bench_wall_ns() - due_ms * 1000000;
    int64_t step = late_ns < 0 ? 0 : late_ns / (LATE_STEP_US * 1000);
    self->ticks++;
    self->late[step < LATE_STEPS ? step : LATE_STEPS]++;
    if (late_ns > self->most_ns)
        self->most_ns = late_ns;
}

/* ---- the loop */

static void turn(void *arg)
{
    struct room *self = arg;
    struct elapsed_time wake;
    threads_take(self->threads, self->engine);
    engine_turn(self->engine, &wake);
    loop_wake_at(self->loop, wake.ns);
}

static void post(void *arg)
{
    loop_post(((struct room *)arg)->loop);
}

static void on_fatal(void *arg, enum tocsin_status status, const char *why)
{
    (void)arg;
    bench_die("the store fails: %s, %s", tocsin_status_name(status), why);
}

/* ---- starting them */

static void window_ends(void *arg)
{
    struct room *self = arg;
    self->cpu_ns = bench_process_cpu_ns() - self->cpu_ns;
    loop_stop(self->loop);
}

static void window_begins(void *arg)
{
    struct room *self = arg;
    self->cpu_ns = bench_process_cpu_ns();
    self->timer.fn = window_ends;
    must(engine_timer_arm(self->engine, &self->timer,
                          engine_now_ms(self->engine) + self->wish->seconds * INT64_C(1000)),
         "a timer");
}

/* The last tick of the window may be late: it is waited for before the end is looked at. */
static void all_started(struct room *self)
{
    self->from_ms = bench_wall_ns() / 1000000 + LEAD_MS;
    self->to_ms = self->from_ms + self->wish->seconds * INT64_C(1000);
    self->timer = (struct engine_timer){.fn = window_begins, .arg = self};
    must(engine_timer_arm(self->engine, &self->timer,
                          engine_now_ms(self->engine) + LEAD_MS + LATE_MS_MAX),
         "a timer");
}

static void ask_next(struct room *self, struct asked *asked);

static void started(struct countdown_call *call)
{
    struct asked *asked = (struct asked *)call;
    struct room *self = asked->room;
    if (call->reply.outcome != OUTCOME_MADE)
        bench_die("a countdown is not started: %s", call->reply.why.text);
    buffer_release(&call->reply.answer);
    self->done++;
    if (self->done == self->wish->countdowns)
        all_started(self);
    else if (self->begun < self->wish->countdowns)
        ask_next(self, asked);
}

static void ask_next(struct room *self, struct asked *asked)
{
    unsigned number = self->begun++;
    *asked = (struct asked){.room = self,
                            .call = {.verb = COUNTDOWN_START,
                                     .owner = bytes_of("me"),
                                     .version = bytes_of("1"),
                                     .for_ms = -1,
                                     .at_ms = self->deadline_ms + number % 1000,
                                     .done = started}};
    snprintf(asked->key, sizeof asked->key, "c%u", number);
    asked->call.key = bytes_of(asked->key);
    buffer_init(&asked->call.reply.answer, 64 * 1024);
    countdowns_ask(self->countdowns, &asked->call);
}

static void open_room(struct room *self)
{
    struct tocsin_why why = {0};
    struct store_state state;
    struct engine_limits limits = engine_limits_default;
    struct loop_hooks hooks = {.on_wake = turn, .on_post = turn, .on_turn_end = turn, .arg = self};
    limits.records = self->wish->countdowns * 2 + 1000;
    must(store_memory_open(&self->store, &state), "a store");
    must(loop_create(&hooks, &self->loop, &why), "a loop");
    must(threads_create(self->store, post, self, &self->threads, &why), "threads");
    must(engine_create(&(struct engine_options){.limits = limits,
                                                .clock = clock_system,
                                                .backend = threads_backend(self->threads),
                                                .hash_key = {1, 2},
                                                .on_fatal = on_fatal},
                       &self->engine, &why),
         "an engine");
    must(idem_create(self->engine, &idem_limits_default, &self->idem), "idempotency");
    must(countdowns_create(&(struct countdowns_options){.engine = self->engine,
                                                        .idem = self->idem,
                                                        .limits = countdowns_limits_default,
                                                        .hash_key = {3, 4}},
                           &self->countdowns),
         "countdowns");
    self->kind = (struct countdown_kind){.on_tick = on_tick, .service = self};
    countdowns_add_kind(self->countdowns, &self->kind);
    must(engine_load(self->engine, self->store, &state, &why), "loading");
    must(countdowns_recover(self->countdowns), "recovering");
}

static double late_at(const struct room *self, uint64_t rank)
{
    uint64_t seen = 0;
    for (size_t i = 0; i <= LATE_STEPS; i++) {
        seen += self->late[i];
        if (seen > rank)
            return (double)(i + 1) * LATE_STEP_US / 1000;
    }
    return 0;
}

void jitter_measure(const void *wish, void *ret_jitter)
{
    struct room *self = bench_alloc(1, sizeof *self);
    struct jitter *jitter = ret_jitter;
    memset(self, 0, sizeof *self);
    self->wish = wish;
    self->deadline_ms = bench_wall_ns() / 1000000 + INT64_C(3600000);
    self->asked = bench_alloc(ASKED_AT_ONCE, sizeof *self->asked);
    open_room(self);
    for (unsigned i = 0; i < ASKED_AT_ONCE && i < self->wish->countdowns; i++)
        ask_next(self, &self->asked[i]);
    turn(self);
    loop_run(self->loop);
    *jitter = (struct jitter){
        .ticks = self->ticks,
        .late = {late_at(self, self->ticks / 2), late_at(self, self->ticks * 99 / 100),
                 (double)self->most_ns / 1e6},
        .cpu_percent = (double)self->cpu_ns / 1e7 / self->wish->seconds,
    };
}
