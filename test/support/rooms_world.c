/* SPDX-License-Identifier: MIT */
#include "support/rooms_world.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

enum { TEXT_MAX = 65536 };

/* ---- the port */

static void keep(struct rooms_world *world, uint64_t session, const char *where, struct bytes json)
{
    if (world->forgetful)
        return;
    assert_true(world->heard_count < HEARD_MAX);
    struct heard *heard = &world->heard[world->heard_count++];
    heard->session = session;
    heard->wall_ms = rooms_world_wall_ms(world);
    (void)snprintf(heard->where, sizeof heard->where, "%s", where);
    heard->text = malloc(json.size + 1);
    assert_non_null(heard->text);
    memcpy(heard->text, json.at, json.size);
    heard->text[json.size] = '\0';
}

static void publish(void *arg, const char *destination, struct bytes json)
{
    struct rooms_world *world = arg;
    judge_frame(&world->judge, json, rooms_world_wall_ms(world));
    keep(world, 0, destination, json);
}

static bool has_subscribers(void *arg, const char *destination)
{
    (void)destination;
    return !((struct rooms_world *)arg)->deaf;
}

static void send_to(void *arg, uint64_t session, const char *queue, struct bytes json)
{
    struct rooms_world *world = arg;
    if (world->on_sent != NULL)
        world->on_sent(session, queue, json);
    keep(world, session, queue, json);
}

static void think(void *arg, struct room_job *job)
{
    struct rooms_world *world = arg;
    assert_true(world->job_count < JOBS_MAX);
    world->jobs[world->job_count++] = job;
}

static uint64_t chance(void *arg)
{
    struct test_random random = {((struct rooms_world *)arg)->chance++};
    return test_random_next(&random);
}

void rooms_world_think(struct rooms_world *world, int point)
{
    assert_true(world->job_count > 0);
    struct room_job *job = world->jobs[0];
    world->job_count--;
    memmove(world->jobs, world->jobs + 1, world->job_count * sizeof(struct room_job *));
    rooms_thought(world->rooms, job, point);
}

/* ---- life */

static void on_store(void *arg, const struct store_batch *batch)
{
    struct rooms_world *world = arg;
    for (size_t i = 0; i < batch->event_count; i++)
        judge_event(&world->judge, &batch->events[i]);
}

void rooms_world_load(struct rooms_world *world)
{
    struct tocsin_why why = {""};
    assert_int_equal(
        sim_create_engine(&world->sim, &world->clock, world->shared, &world->engine, &world->idem),
        TOCSIN_OK);
    assert_int_equal(countdowns_create(
                         &(struct countdowns_options){
                             .engine = world->engine,
                             .idem = world->idem,
                             .limits = countdowns_limits_default,
                             .hash_key = {3, 4},
                             .node = "n1",
                             .holder_ttl_ms = 10000,
                         },
                         &world->countdowns),
                     TOCSIN_OK);
    struct rooms_options options = {
        .engine = world->engine,
        .idem = world->idem,
        .countdowns = world->countdowns,
        .limits = world->limits,
        .turn_seconds = ROOM_TURN_SECONDS,
        .ai_timed = world->ai_timed,
        .port = {publish, has_subscribers, send_to, think, chance, world},
        .hash_key = {5, 6},
    };
    assert_int_equal(rooms_create(&options, &world->rooms), TOCSIN_OK);
    assert_int_equal(engine_load(world->engine, &world->sim.store, &world->sim.state, &why),
                     TOCSIN_OK);
    assert_int_equal(countdowns_recover(world->countdowns), TOCSIN_OK);
    assert_int_equal(rooms_recover(world->rooms), TOCSIN_OK);
}

void rooms_world_again(struct rooms_world *world)
{
    rooms_world_load(world);
    rooms_world_settle(world);
    assert_false(rooms_recovering(world->rooms));
}

static void start(struct rooms_world *world, bool shared)
{
    memset(world, 0, sizeof *world);
    world->shared = shared;
    world->clock = (struct clock_manual)SIM_CLOCK;
    world->limits = rooms_limits_default;
    world->chance = 42;
    sim_init(&world->sim);
    world->sim.on_store = on_store;
    world->sim.arg = world;
    rooms_world_again(world);
}

void rooms_world_start(struct rooms_world *world)
{
    start(world, false);
}

void rooms_world_start_shared(struct rooms_world *world)
{
    start(world, true);
}

void rooms_world_crash(struct rooms_world *world)
{
    while (world->job_count > 0)
        rooms_world_think(world, GOMOKU_NOWHERE);
    engine_destroy(world->engine);
    rooms_destroy(world->rooms);
    countdowns_destroy(world->countdowns);
    idem_destroy(world->idem);
    world->engine = NULL;
    sim_crash(&world->sim);
    judge_crash(&world->judge);
}

void rooms_world_forget(struct rooms_world *world)
{
    for (size_t i = 0; i < world->heard_count; i++)
        free(world->heard[i].text);
    world->heard_count = 0;
}

void rooms_world_release(struct rooms_world *world)
{
    rooms_world_crash(world);
    sim_release(&world->sim);
    rooms_world_forget(world);
}

void rooms_world_settle(struct rooms_world *world)
{
    (void)sim_settle(&world->sim, world->engine, &world->clock);
    sim_check(world->engine);
    if (world->judge.verdict[0] != '\0' && !world->unjudged)
        fail_msg("the judge: %s", world->judge.verdict);
}

void rooms_world_pass(struct rooms_world *world, int64_t ms)
{
    clock_manual_advance(&world->clock, ms * MS);
    rooms_world_settle(world);
}

int64_t rooms_world_wall_ms(const struct rooms_world *world)
{
    return world->clock.wall.ns / MS;
}

/* ---- over HTTP */

struct got {
    bool done;
    enum outcome outcome;
};

static char text[TEXT_MAX];

static void got_json(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    struct got *got = arg;
    (void)rev;
    assert_false(got->done);
    assert_true(json.size < sizeof text);
    got->done = true;
    got->outcome = outcome;
    bool ok = outcome < OUTCOME_INVALID;
    if (ok)
        memcpy(text, json.at, json.size);
    text[ok ? json.size : 0] = '\0';
}

static void got_opened(void *arg, enum outcome outcome, uint64_t rev, struct bytes json,
                       const char *why, bool replayed)
{
    assert_false(replayed);
    assert_int_equal(why[0] != '\0', outcome >= OUTCOME_INVALID);
    got_json(arg, outcome, rev, json);
}

const char *rooms_world_opened(struct rooms_world *world, const char *body,
                               enum outcome *ret_outcome)
{
    struct tocsin_why why = {""};
    struct got got = {0};
    struct room_opening opening = {.fn = got_opened, .arg = &got};
    if (rooms_read_wish(world->rooms, bytes_of(body), &opening.wish, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
    rooms_open(world->rooms, &opening);
    rooms_world_settle(world);
    assert_true(got.done);
    *ret_outcome = got.outcome;
    return text;
}

const char *rooms_world_open(struct rooms_world *world, const char *body)
{
    static char id[WORLD_ID_BYTES];
    enum outcome outcome;
    const char *json = rooms_world_opened(world, body, &outcome);
    assert_int_equal(outcome, OUTCOME_MADE);
    assert_int_equal(sscanf(at(json, "room_id"), "\"%16[0-9a-f]\"", id), 1);
    return id;
}

const char *rooms_world_room(struct rooms_world *world, const char *id)
{
    struct got got = {0};
    rooms_get(world->rooms, bytes_of(id), got_json, &got);
    rooms_world_settle(world);
    assert_true(got.done);
    return text;
}

const char *rooms_world_clock(struct rooms_world *world, const char *id)
{
    char key[64];
    struct got got = {0};
    (void)snprintf(key, sizeof key, "gomoku:%s", id);
    countdowns_get(world->countdowns, bytes_of(key), got_json, &got);
    rooms_world_settle(world);
    assert_true(got.done);
    return text;
}

/* ---- from a session */

static void command_done(void *arg, enum outcome outcome, const char *code, const char *detail)
{
    struct said *said = arg;
    assert_false(said->done);
    said->done = true;
    said->outcome = outcome;
    (void)snprintf(said->code, sizeof said->code, "%s", code == NULL ? "" : code);
    (void)snprintf(said->detail, sizeof said->detail, "%s", detail);
}

void rooms_world_begin(struct rooms_world *world, struct said *said,
                       const struct room_command *command)
{
    struct room_command copy = *command;
    *said = (struct said){0};
    copy.done = command_done;
    copy.arg = said;
    rooms_command(world->rooms, &copy);
}

const char *rooms_world_do(struct rooms_world *world, const struct room_command *command)
{
    static struct said said;
    rooms_world_begin(world, &said, command);
    rooms_world_settle(world);
    assert_true(said.done);
    return said.code;
}

const char *rooms_world_last(struct rooms_world *world, uint64_t session, const char *where)
{
    for (size_t i = world->heard_count; i > 0; i--) {
        const struct heard *heard = &world->heard[i - 1];
        if (heard->session == session && strncmp(heard->where, where, strlen(where)) == 0)
            return heard->text;
    }
    return "";
}

const char *rooms_world_types(struct rooms_world *world)
{
    static char types[4096];
    types[0] = '\0';
    for (size_t i = 0; i < world->heard_count; i++) {
        char type[32] = "";
        if (world->heard[i].session != 0)
            continue;
        (void)sscanf(at(world->heard[i].text, "type"), "\"%31[A-Z]\"", type);
        if (strlen(types) + strlen(type) + 2 < sizeof types)
            (void)snprintf(types + strlen(types), sizeof types - strlen(types), "%s%s",
                           types[0] == '\0' ? "" : " ", type);
    }
    rooms_world_forget(world);
    return types;
}

void rooms_world_key(struct rooms_world *world, uint64_t session, char ret_key[ROOM_KEY_BYTES + 1])
{
    assert_int_equal(sscanf(at(rooms_world_last(world, session, "gomoku.seat"), "seatKey"),
                            "\"%32[0-9a-f]\"", ret_key),
                     1);
}

void rooms_world_seat(struct rooms_world *world, const char *body, struct players *ret_players)
{
    memcpy(ret_players->room, rooms_world_open(world, body), WORLD_ID_BYTES);
    for (uint64_t session = 1; session <= 2; session++) {
        struct room_command command = {
            .verb = ROOM_RESUME, .session = session, .room_id = bytes_of(ret_players->room)};
        assert_string_equal(rooms_world_do(world, &command), "");
        if (strcmp(at(rooms_world_last(world, session, "gomoku.seat"), "side"), "null") != 0)
            rooms_world_key(world, session, ret_players->key[session - 1]);
        else
            ret_players->key[session - 1][0] = '\0';
    }
}

const char *rooms_world_by(struct rooms_world *world, const struct players *players,
                           uint64_t session, enum room_verb verb)
{
    struct room_command command = {
        .verb = verb,
        .session = session,
        .room_id = bytes_of(players->room),
        .seat_key = bytes_of(players->key[session - 1]),
    };
    return rooms_world_do(world, &command);
}

void rooms_world_play(struct rooms_world *world, const char *body, struct players *ret_players)
{
    rooms_world_seat(world, body, ret_players);
    assert_string_equal(rooms_world_by(world, ret_players, 1, ROOM_READY), "");
    if (ret_players->key[1][0] != '\0')
        assert_string_equal(rooms_world_by(world, ret_players, 2, ROOM_READY), "");
}

const char *rooms_world_place(struct rooms_world *world, const struct players *players,
                              uint64_t session, int x, int y)
{
    char game_id[64] = "";
    (void)sscanf(at(rooms_world_room(world, players->room), "gameId"), "\"%63[^\"]\"", game_id);
    struct room_command command = {
        .verb = ROOM_PLACE,
        .session = session,
        .room_id = bytes_of(players->room),
        .seat_key = bytes_of(players->key[session - 1]),
        .game_id = bytes_of(game_id),
        .x = x,
        .y = y,
    };
    return rooms_world_do(world, &command);
}

const char *rooms_world_resume(struct rooms_world *world, uint64_t session, const char *room,
                               const char *key)
{
    return rooms_world_do(world, &(struct room_command){.verb = ROOM_RESUME,
                                                        .session = session,
                                                        .room_id = bytes_of(room),
                                                        .seat_key = bytes_of(key)});
}

void rooms_world_four_each(struct rooms_world *world, const struct players *players,
                           uint64_t x_session)
{
    for (int i = 0; i < 4; i++) {
        assert_string_equal(rooms_world_place(world, players, x_session, i, 0), "");
        assert_string_equal(rooms_world_place(world, players, 3 - x_session, i, 1), "");
    }
}

void rooms_world_win(struct rooms_world *world, const struct players *players, uint64_t x_session)
{
    rooms_world_four_each(world, players, x_session);
    assert_string_equal(rooms_world_place(world, players, x_session, 4, 0), "");
}

const char *rooms_world_at(struct rooms_world *world, const struct players *players,
                           const char *path)
{
    return at(rooms_world_room(world, players->room), path);
}

const char *rooms_world_side(struct rooms_world *world, uint64_t session)
{
    return at(rooms_world_last(world, session, "gomoku.seat"), "side");
}

const char *at(const char *json, const char *path)
{
    static char values[4][TEXT_MAX];
    static int next;
    char *value = values[next++ % 4];
    json_t *root = json_loads(json, 0, NULL);
    json_t *here = root;
    char name[64];
    (void)snprintf(value, TEXT_MAX, "-");
    while (here != NULL && path[0] != '\0') {
        size_t size = strcspn(path, ".");
        (void)snprintf(name, sizeof name, "%.*s", (int)size, path);
        here = json_is_array(here) ? json_array_get(here, strtoul(name, NULL, 10))
                                   : json_object_get(here, name);
        path += size + (path[size] == '.');
    }
    char *dumped = here == NULL ? NULL : json_dumps(here, JSON_COMPACT | JSON_ENCODE_ANY);
    if (dumped != NULL)
        (void)snprintf(value, TEXT_MAX, "%s", dumped);
    free(dumped);
    json_decref(root);
    return value;
}
