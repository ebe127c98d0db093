/* SPDX-License-Identifier: MIT */
/* What happens, pushed to whoever listens: the ticks of countdowns, the frames of rooms, who has a
 * lease. And what
 * players send, handed to their rooms. The services know nothing of sockets; this is what lies
 * between them. */

#include <stdio.h>
#include <stdlib.h>

#include "base/json_read.h"
#include "delivery/session.h"
#include "server/live.h"
#include "service/gomoku/thinker.h"

enum {
    FRAME_TEXT_MAX = 64 * 1024,
    DESTINATION_MAX = 300,
    TYPE_BYTES = 16,
    THINKERS = 1,
    MOVE_MS = 400,
    THINK_WITHIN_MS = 900, /* an answer is due 1 s after it was asked for at the soonest (C-10) */
};

struct live {
    struct server *server;
    struct topics *topics;
    struct rooms *rooms;
    struct thinker *thinker;
    struct countdown_kind countdowns;
    struct buffer frame;
    uint64_t told; /* frames of countdowns in this epoch */
    uint64_t lost; /* that could not be told */
};

/* ---- going out */

static void publish(struct live *live, struct bytes destination, struct bytes json)
{
    if (topic_publish(live->topics, destination, "application/json", json) != TOCSIN_OK)
        live->lost++;
}

static void upper_case(struct bytes word, char ret_type[TYPE_BYTES])
{
    size_t size = 0;
    for (; size < word.size && size + 1 < TYPE_BYTES; size++)
        ret_type[size] = (char)(word.at[size] - 'a' + 'A');
    ret_type[size] = '\0';
}

static bool is_heard(struct live *live, const struct countdown *countdown,
                     char ret_destination[DESTINATION_MAX])
{
    (void)snprintf(ret_destination, DESTINATION_MAX, "/topic/countdown.%.*s",
                   (int)countdown->key.size, countdown->key.at);
    return topic_has_subscribers(live->topics, bytes_of(ret_destination));
}

static void begin_frame(struct live *live, struct json_writer *writer, const char *type,
                        const struct countdown *countdown)
{
    buffer_clear(&live->frame);
    json_writer_init(writer, &live->frame);
    json_write_object(writer);
    json_write_key(writer, "key");
    json_write_string(writer, countdown->key.at, countdown->key.size);
    json_write_key(writer, "version");
    json_write_string(writer, countdown->version.at, countdown->version.size);
    json_write_key(writer, "type");
    json_write_text(writer, type);
    json_write_key(writer, "seq");
    json_write_uint64(writer, (engine_epoch(live->server->engine) << 32) + ++live->told);
    json_write_key(writer, "payload");
}

static void end_frame(struct live *live, struct json_writer *writer, const char *destination)
{
    json_write_object_end(writer);
    if (buffer_status(&live->frame) == TOCSIN_OK)
        publish(live, bytes_of(destination), (struct bytes){live->frame.data, live->frame.size});
    else
        live->lost++;
}

static void countdown_ticked(void *arg, const struct countdown *countdown, int64_t left_ms)
{
    struct live *live = arg;
    struct engine *engine = live->server->engine;
    struct json_writer writer;
    char destination[DESTINATION_MAX];
    if (!is_heard(live, countdown, destination))
        return;
    begin_frame(live, &writer, "TICK", countdown);
    json_write_object(&writer);
    json_write_key(&writer, "left");
    json_write_int64(&writer, countdown_seconds(left_ms));
    json_write_key(&writer, "leftMs");
    json_write_int64(&writer, left_ms);
    json_write_key(&writer, "owner");
    json_write_string(&writer, countdown->owner.at, countdown->owner.size);
    json_write_key(&writer, "deadlineEpochMs");
    json_write_int64(&writer, countdown_shown_ms(engine, countdown));
    json_write_object_end(&writer);
    end_frame(live, &writer, destination);
}

static void countdown_changed(void *arg, const struct countdown *countdown, const char *what)
{
    struct live *live = arg;
    struct json_writer writer;
    char destination[DESTINATION_MAX];
    char type[TYPE_BYTES];
    if (!is_heard(live, countdown, destination))
        return;
    upper_case(bytes_of(what), type);
    begin_frame(live, &writer, type, countdown);
    countdown_write(&writer, live->server->engine, countdown);
    end_frame(live, &writer, destination);
}

void live_tell_event(struct live *live, const struct store_event *event)
{
    struct json_writer writer;
    char destination[DESTINATION_MAX];
    char type[TYPE_BYTES];
    if (!bytes_are(event->kind, "lease"))
        return;
    (void)snprintf(destination, sizeof destination, "/topic/lease.%.*s", (int)event->key.size,
                   event->key.at);
    if (!topic_has_subscribers(live->topics, bytes_of(destination)))
        return;
    upper_case(event->type, type);
    buffer_clear(&live->frame);
    json_writer_init(&writer, &live->frame);
    json_write_object(&writer);
    json_write_key(&writer, "name");
    json_write_string(&writer, event->key.at, event->key.size);
    json_write_key(&writer, "type");
    json_write_text(&writer, type);
    json_write_key(&writer, "seq");
    json_write_uint64(&writer, event->seq);
    json_write_key(&writer, "payload");
    json_write_raw(&writer, event->doc.at, event->doc.size);
    end_frame(live, &writer, destination);
}

/* ---- the rooms' port */

static void port_publish(void *arg, const char *destination, struct bytes json)
{
    publish(arg, bytes_of(destination), json);
}

static bool port_has_subscribers(void *arg, const char *destination)
{
    return topic_has_subscribers(((struct live *)arg)->topics, bytes_of(destination));
}

static void port_send_to(void *arg, uint64_t session, const char *queue, struct bytes json)
{
    struct live *live = arg;
    char destination[DESTINATION_MAX];
    struct session *to = session_find(live->topics, session);
    if (to == NULL)
        return;
    (void)snprintf(destination, sizeof destination, "/user/queue/%s", queue);
    (void)session_tell(to, bytes_of(destination), "application/json", json);
}

static void port_think(void *arg, struct room_job *job)
{
    thinker_give(((struct live *)arg)->thinker, job);
}

static uint64_t port_chance(void *arg)
{
    return server_chance(((struct live *)arg)->server);
}

static void post(void *arg)
{
    loop_post(((struct live *)arg)->server->loop);
}

void live_take_thoughts(struct live *live)
{
    struct room_job *job;
    while ((job = thinker_take(live->thinker)) != NULL)
        rooms_thought(live->rooms, job, job->point);
}

/* ---- coming in */

/* A command whose sender waits for its end. */
struct sent {
    struct live *live;
    uint64_t session;
    uint64_t ticket;
    bool later; /* on_send has returned */
    bool done;
};

static void command_done(void *arg, enum outcome outcome, const char *code, const char *detail)
{
    struct sent *sent = arg;
    (void)outcome;
    (void)code;
    (void)detail;
    sent->done = true;
    if (!sent->later)
        return;
    session_finish(sent->live->topics, sent->session, sent->ticket);
    free(sent);
}

struct command_text {
    char room_id[ROOM_COMMAND_WORD_MAX];
    char seat_key[ROOM_COMMAND_WORD_MAX];
    char game_id[ROOM_COMMAND_WORD_MAX];
};

static void read_word(struct json_reader *reader, char *room, struct bytes *ret_word)
{
    struct json_span span;
    enum json_token token = json_read_next(reader);
    if (token == JSON_READ_NULL)
        return;
    if (token != JSON_READ_STRING) {
        json_read_refuse(reader, "must be a text");
        return;
    }
    if (json_read_borrowed(reader, room, ROOM_COMMAND_WORD_MAX, &span))
        *ret_word = (struct bytes){span.at, span.size};
}

static void read_place(struct json_reader *reader, int64_t *ret_place)
{
    if (json_read_expect(reader, JSON_READ_NUMBER))
        (void)json_read_int64(reader, ret_place);
}

static enum tocsin_status read_command(struct bytes json, struct command_text *text,
                                       struct room_command *command, struct tocsin_why *ret_why)
{
    static const char *const names[] = {"roomId", "seatKey", "gameId", "x", "y"};
    struct json_keys keys = {names, sizeof names / sizeof names[0], 0};
    struct json_reader reader;
    size_t which;
    json_reader_init(&reader, json.at, json.size, 0);
    (void)json_read_expect(&reader, JSON_READ_OBJECT);
    while (json_read_field(&reader, &keys, &which)) {
        switch (which) {
        case 0:
            read_word(&reader, text->room_id, &command->room_id);
            break;
        case 1:
            read_word(&reader, text->seat_key, &command->seat_key);
            break;
        case 2:
            read_word(&reader, text->game_id, &command->game_id);
            break;
        case 3:
            read_place(&reader, &command->x);
            break;
        default:
            read_place(&reader, &command->y);
            break;
        }
    }
    if ((keys.seen & 1) == 0)
        json_read_refuse(&reader, "\"roomId\" is missing");
    else if (command->verb == ROOM_PLACE && (keys.seen & 0x18) != 0x18)
        json_read_refuse(&reader, "\"x\" and \"y\" are needed");
    return json_read_finish(&reader, ret_why);
}

static bool verb_of(struct bytes destination, enum room_verb *ret_verb)
{
    static const char *const names[] = {
        [ROOM_RESUME] = "/app/gomoku.resume", [ROOM_READY] = "/app/gomoku.ready",
        [ROOM_START] = "/app/gomoku.start",   [ROOM_PLACE] = "/app/gomoku.place",
        [ROOM_RESIGN] = "/app/gomoku.resign", [ROOM_RESTART] = "/app/gomoku.restart",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (bytes_are(destination, names[i])) {
            *ret_verb = (enum room_verb)i;
            return true;
        }
    }
    return false;
}

enum session_when live_on_send(struct live *live, struct session *session,
                               const struct stomp_frame *frame, uint64_t ticket)
{
    struct bytes destination = stomp_frame_header(frame, "destination");
    struct room_command command = {.session = session_id(session), .x = -1, .y = -1};
    struct command_text text;
    struct tocsin_why why;
    if (!verb_of(destination, &command.verb)) {
        ws_tell_error(session, destination, "NOT_FOUND",
                      "destination: nobody takes what is sent there");
        return SESSION_DONE;
    }
    if (read_command(frame->body, &text, &command, &why) != TOCSIN_OK) {
        rooms_refuse(live->rooms, &command, why.text);
        return SESSION_DONE;
    }
    struct sent *sent = malloc(sizeof *sent);
    if (sent == NULL) {
        ws_tell_error(session, destination, "OVERLOADED", "no memory for this now: try again");
        return SESSION_DONE;
    }
    *sent = (struct sent){.live = live, .session = command.session, .ticket = ticket};
    command.lag_ms = session_round_trip_ms(session);
    command.done = command_done;
    command.arg = sent;
    rooms_command(live->rooms, &command);
    sent->later = true;
    if (!sent->done)
        return SESSION_LATER;
    free(sent);
    return SESSION_DONE;
}

void live_on_end(struct live *live, struct session *session)
{
    rooms_gone(live->rooms, session_id(session));
}

/* ---- life */

static enum tocsin_status create_rooms(struct live *live)
{
    struct server *server = live->server;
    const struct config *config = server->config;
    struct rooms_limits limits = rooms_limits_default;
    limits.rooms = config->gomoku.rooms;
    limits.waiting_idle_ms = (int64_t)config->gomoku.waiting_idle;
    return rooms_create(
        &(struct rooms_options){
            .engine = server->engine,
            .idem = server->idem,
            .countdowns = server->countdowns,
            .limits = limits,
            .turn_seconds = (int64_t)config->gomoku.turn.seconds,
            .ai_timed = config->gomoku.turn.aiTimed != 0,
            .port = {port_publish, port_has_subscribers, port_send_to, port_think, port_chance,
                     live},
            .hash_key = {server_chance(server), server_chance(server)},
        },
        &live->rooms);
}

enum tocsin_status live_create(struct server *server, struct topics *topics)
{
    struct live *live = calloc(1, sizeof *live);
    if (live == NULL)
        return TOCSIN_NO_MEMORY;
    server->live = live;
    live->server = server;
    live->topics = topics;
    buffer_init(&live->frame, FRAME_TEXT_MAX);
    live->countdowns = (struct countdown_kind){
        .on_tick = countdown_ticked, .on_changed = countdown_changed, .service = live};
    countdowns_add_kind(server->countdowns, &live->countdowns);
    enum tocsin_status status =
        thinker_create(&(struct thinker_options){.threads = THINKERS,
                                                 .move_ms = MOVE_MS,
                                                 .within_ms = THINK_WITHIN_MS,
                                                 .post = post,
                                                 .arg = live},
                       &live->thinker);
    return status == TOCSIN_OK ? create_rooms(live) : status;
}

struct rooms *live_rooms(const struct live *live)
{
    return live->rooms;
}

void live_set_metrics(struct server *server)
{
    struct metrics *metrics = &server->metrics;
    struct rooms_stats rooms;
    rooms_describe(server->live->rooms, &rooms);
    metrics_set(metrics, M_ROOMS, PHASE_WAITING, (int64_t)rooms.waiting);
    metrics_set(metrics, M_ROOMS, PHASE_PLAYING, (int64_t)rooms.playing);
    metrics_set(metrics, M_ROOMS, PHASE_ENDED, (int64_t)rooms.ended);
    metrics_set(metrics, M_ROOMS_LIMIT, 0, (int64_t)server->config->gomoku.rooms);
    metrics_set(metrics, M_ROOM_SESSIONS, 0, (int64_t)rooms.sessions);
    metrics_set(metrics, M_ROOM_FRAMES, 0, (int64_t)rooms.frames);
    metrics_set(metrics, M_ROOM_TIMEOUTS, 0, (int64_t)rooms.timeouts);
    metrics_set(metrics, M_ROOM_STALE, 0, (int64_t)rooms.stale);
    metrics_set(metrics, M_ROOM_REFUSED, 0, (int64_t)rooms.refused);
    metrics_set(metrics, M_ROOM_UNPUBLISHED, 0, (int64_t)rooms.unpublished);
    metrics_set(metrics, M_LIVE_LOST, 0, (int64_t)server->live->lost);
}

void live_stop(struct live *live)
{
    if (live == NULL || live->thinker == NULL)
        return;
    thinker_stop(live->thinker);
    live_take_thoughts(live);
}

void live_destroy(struct live *live)
{
    if (live == NULL)
        return;
    rooms_destroy(live->rooms);
    thinker_destroy(live->thinker);
    buffer_release(&live->frame);
    free(live);
}
