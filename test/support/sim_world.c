/* SPDX-License-Identifier: MIT */
#include "support/sim_world.h"

#include <stdio.h>
#include <string.h>

static void on_fatal(void *arg, enum tocsin_status status, const char *why)
{
    (void)arg;
    fail_msg("fatal: %d %s", status, why);
}

enum tocsin_status sim_create_engine(struct sim_backend *sim, struct clock_manual *clock,
                                     bool shared, struct engine **ret_engine,
                                     struct idem **ret_idem)
{
    struct tocsin_why why;
    struct engine_options options = {
        .limits = engine_limits_default,
        .clock = clock_of_manual(clock),
        .backend = &sim->backend,
        .hash_key = {1, 2},
        .shared = shared,
        .on_fatal = on_fatal,
    };
    options.limits.records = 100000;
    enum tocsin_status status = engine_create(&options, ret_engine, &why);
    return status == TOCSIN_OK ? idem_create(*ret_engine, &idem_limits_default, ret_idem) : status;
}

int64_t sim_settle(struct sim_backend *sim, struct engine *engine, const struct clock_manual *clock)
{
    struct elapsed_time wake;
    do {
        sim_finish(sim, engine);
        engine_turn(engine, &wake);
    } while (sim->batch != NULL || sim->read_count > 0 || wake.ns <= clock->elapsed.ns);
    return wake.ns;
}

void sim_check(const struct engine *engine)
{
    struct tocsin_why why = {""};
    if (engine_check(engine, &why) != TOCSIN_OK)
        fail_msg("the engine: %s", why.text);
}

void sim_pass(struct sim_backend *sim, struct engine *engine, struct clock_manual *clock,
              int64_t ms)
{
    int64_t end = clock->elapsed.ns + ms * 1000000;
    while (clock->elapsed.ns < end) {
        int64_t wake = sim_settle(sim, engine, clock);
        clock_manual_advance(clock, (wake < end ? wake : end) - clock->elapsed.ns);
    }
    (void)sim_settle(sim, engine, clock);
}

void sim_told(char *log, size_t *log_size, const char *wanted)
{
    log[*log_size > 0 ? *log_size - 1 : 0] = '\0';
    assert_string_equal(log, wanted);
    *log_size = 0;
}

void sim_copy(char *to, size_t room, struct bytes from)
{
    assert_true(from.size < room);
    if (from.size > 0)
        memcpy(to, from.at, from.size);
    to[from.size] = '\0';
}

void sim_take_answer(struct reply *reply, char *to, size_t room)
{
    sim_copy(to, room, (struct bytes){reply->answer.data, reply->answer.size});
    buffer_release(&reply->answer);
}

const char *sim_field(const char *json, const char *field)
{
    static char value[300];
    char name[64];
    (void)snprintf(name, sizeof name, "\"%s\":", field);
    const char *at = strstr(json, name);
    if (at == NULL)
        return "";
    at += strlen(name);
    bool text = *at == '"';
    size_t size = strcspn(at + text, text ? "\"" : ",}");
    (void)snprintf(value, sizeof value, "%.*s", (int)size, at + text);
    return value;
}
