/* SPDX-License-Identifier: MIT */
#include "support/rooms_judge.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Across a restart the time lines are fitted together to the millisecond. */
enum { DEADLINE_SLACK_MS = 3 };

__attribute__((format(printf, 3, 4))) static void blame(struct rooms_judge *judge,
                                                        const char *about, const char *format, ...)
{
    char text[JUDGE_TEXT_MAX / 2];
    va_list words;
    if (judge->verdict[0] != '\0')
        return;
    va_start(words, format);
    (void)vsnprintf(text, sizeof text, format, words);
    va_end(words);
    (void)snprintf(judge->verdict, sizeof judge->verdict, "%s: %.150s", text, about);
}

static struct judged_room *room_of(struct rooms_judge *judge, const char *id)
{
    for (int i = 0; i < judge->count; i++) {
        if (strcmp(judge->rooms[i].id, id) == 0)
            return &judge->rooms[i];
    }
    struct judged_room *room = &judge->rooms[judge->count % JUDGED_ROOMS_MAX];
    judge->count += judge->count < JUDGED_ROOMS_MAX;
    *room = (struct judged_room){.game = 1};
    (void)snprintf(room->id, sizeof room->id, "%s", id);
    return room;
}

static const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

static int64_t number_at(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static uint64_t game_of(const char *game_id)
{
    const char *dash = strrchr(game_id, '-');
    return dash == NULL ? 0 : strtoull(dash + 1, NULL, 10);
}

/* ---- what the disk keeps */

static void check_version(struct rooms_judge *judge, const struct judged_room *room,
                          const json_t *doc, int step, const char *about)
{
    char version[64];
    (void)snprintf(version, sizeof version, "%s-%" PRIu64 ":%d", room->id, room->game,
                   step + room->passes);
    const char *told = text_at(doc, "version");
    size_t size = strlen(version);
    bool same = strncmp(told, version, size) == 0 &&
                (told[size] == '\0' || strcmp(told + size, "+") == 0); /* made longer */
    if (!same)
        blame(judge, about, "not the turn that was on, %s", version);
}

static void moved(struct rooms_judge *judge, struct judged_room *room, const json_t *doc,
                  const char *about)
{
    const json_t *deadline = json_object_get(doc, "deadlineEpochMs");
    if (room->ended)
        blame(judge, about, "a move after the end");
    if (number_at(doc, "step") != room->step + 1)
        blame(judge, about, "not the next stone");
    check_version(judge, room, doc, room->step, about);
    if (json_is_integer(deadline) && number_at(doc, "at") > json_integer_value(deadline) &&
        !json_is_true(json_object_get(doc, "byDefault")))
        blame(judge, about, "a move after its deadline");
    room->step++;
}

static void timed_out(struct rooms_judge *judge, struct judged_room *room, const json_t *doc,
                      const char *about)
{
    if (room->ended)
        blame(judge, about, "a timeout after the end");
    if (room->timed_out)
        blame(judge, about, "a second timeout");
    check_version(judge, room, doc, room->step, about);
    if (number_at(doc, "at") < number_at(doc, "deadlineEpochMs"))
        blame(judge, about, "an early timeout");
    if (strcmp(text_at(doc, "side"), (room->step + room->passes) % 2 == 0 ? "X" : "O") != 0)
        blame(judge, about, "not the flag of the side to move");
    const char *does = text_at(doc, "onTimeout");
    bool spared = does[0] != '\0' && strcmp(does, "resign") != 0;
    room->timed_out = !spared;
    room->spared += spared;
    judge->timeouts++;
}

static void ended(struct rooms_judge *judge, struct judged_room *room, const json_t *doc,
                  const char *about)
{
    const json_t *series = json_object_get(doc, "series");
    const char *winner = text_at(doc, "winner");
    if (room->ended)
        blame(judge, about, "a second end");
    if (room->timed_out != (strcmp(text_at(doc, "reason"), "timeout") == 0))
        blame(judge, about, "another reason than a timeout");
    room->ended = true;
    if (strcmp(winner, "DRAW") == 0)
        room->draws++;
    else
        room->wins[strcmp(winner, "X") == 0 ? room->player_of_x : 1 - room->player_of_x]++;
    if (number_at(series, "X") != room->wins[room->player_of_x] ||
        number_at(series, "O") != room->wins[1 - room->player_of_x] ||
        number_at(series, "draws") != room->draws)
        blame(judge, about, "the series is not by player");
}

static void restarted(struct rooms_judge *judge, struct judged_room *room, const json_t *doc,
                      const char *about)
{
    if (!room->ended && room->step == 0)
        blame(judge, about, "a new game in place of one that has no stone");
    if (room->ended == json_is_true(json_object_get(doc, "abandoned")))
        blame(judge, about, "a new game before the end of the old one, or not told to be");
    room->game++;
    room->step = 0;
    room->ended = room->timed_out = false;
    room->passes = room->spared = room->told_spared = 0;
    room->player_of_x = 1 - room->player_of_x;
}

void judge_event(struct rooms_judge *judge, const struct store_event *event)
{
    char type[32];
    if (!bytes_are(event->kind, "room"))
        return;
    json_t *doc = json_loadb(event->doc.at, event->doc.size, 0, NULL);
    char about[JUDGE_TEXT_MAX];
    (void)snprintf(type, sizeof type, "%.*s", (int)event->type.size, event->type.at);
    (void)snprintf(about, sizeof about, "%s %.*s", type, (int)event->doc.size, event->doc.at);
    struct judged_room *room = room_of(judge, text_at(doc, "roomId"));
    if (strcmp(type, "restarted") == 0)
        restarted(judge, room, doc, about);
    if (game_of(text_at(doc, "gameId")) != room->game)
        blame(judge, about, "another game than is on, %" PRIu64, room->game);
    if (strcmp(type, "moved") == 0)
        moved(judge, room, doc, about);
    else if (strcmp(type, "timeout") == 0)
        timed_out(judge, room, doc, about);
    else if (strcmp(type, "passed") == 0)
        room->passes++;
    else if (strcmp(type, "grace") == 0)
        room->graced_ms = number_at(doc, "deadlineEpochMs");
    else if (strcmp(type, "ended") == 0)
        ended(judge, room, doc, about);
    json_decref(doc);
}

/* ---- what was told */

static void check_state(struct rooms_judge *judge, struct judged_room *room, const json_t *state,
                        const char *about)
{
    uint64_t game = game_of(text_at(state, "gameId"));
    int step = (int)number_at(state, "step");
    bool over = json_is_true(json_object_get(state, "over"));
    if (game > room->game || (game == room->game && (step > room->step || (over && !room->ended))))
        blame(judge, about, "told before it was durable");
    if (game < room->told_game || (game == room->told_game && step < room->told_step) ||
        (game == room->told_game && room->told_over && !over))
        blame(judge, about, "told what was past");
    room->told_game = game;
    room->told_step = step;
    room->told_over = over;
}

static void check_deadline(struct rooms_judge *judge, struct judged_room *room, uint64_t game,
                           int step, int64_t deadline_ms, const char *about)
{
    if (room->passes > 0 || game != room->game)
        return; /* several turns have as many stones; in a game of before there may have been */
    bool same = room->deadline_game == game && room->deadline_step == step;
    /* Grace is the only way in which a deadline may move: once, to what the log says. What was
     * changed before it in the same commit is told after that is in the log. */
    bool graced = llabs(deadline_ms - room->graced_ms) <= DEADLINE_SLACK_MS;
    if (same && !graced && llabs(deadline_ms - room->deadline_ms) > DEADLINE_SLACK_MS)
        blame(judge, about, "the turn's deadline has moved from %" PRId64, room->deadline_ms);
    if (!same || graced)
        room->deadline_ms = deadline_ms;
    room->deadline_game = game;
    room->deadline_step = step;
}

static void check_tick(struct rooms_judge *judge, struct judged_room *room, uint64_t game,
                       const json_t *payload, int64_t wall_ms, const char *about)
{
    int64_t left_ms = number_at(payload, "leftMs");
    int64_t deadline_ms = number_at(payload, "deadlineEpochMs");
    if (left_ms <= 0 || number_at(payload, "left") != (left_ms + 999) / 1000)
        blame(judge, about, "a tick of no time, or not in whole seconds up");
    if (llabs(deadline_ms - wall_ms - left_ms) > 1)
        blame(judge, about, "what is left is not up to the deadline");
    if (game != room->game || room->ended)
        return; /* durable already, and told in a moment: the clock goes with that */
    bool x_moves = room->told_step % 2 == 0;
    if (room->told_game == game && room->told_step == room->step &&
        strcmp(text_at(payload, "side"), x_moves ? "X" : "O") == 0)
        check_deadline(judge, room, game, room->told_step, deadline_ms, about);
}

static void check_order(struct rooms_judge *judge, struct judged_room *room, const char *type,
                        uint64_t game, const char *about)
{
    if (room->wanted[0] != '\0' && strcmp(room->wanted, type) != 0)
        blame(judge, about, "not %s, which comes next", room->wanted);
    room->wanted[0] = '\0';
    if (strcmp(type, "TIMEOUT") == 0) {
        bool spared = game == room->game && room->told_spared < room->spared;
        bool is_durable = game < room->game || (game == room->game && room->timed_out) || spared;
        if (!is_durable)
            blame(judge, about, "a timeout that is not on the disk");
        if (game <= room->timeout_game && !spared)
            blame(judge, about, "a timeout told twice");
        room->timeout_game = spared ? room->timeout_game : game;
        room->told_spared += spared;
        (void)snprintf(room->wanted, sizeof room->wanted, "STATE");
    } else if (strcmp(type, "STATE") == 0) {
        (void)snprintf(room->wanted, sizeof room->wanted, "SNAPSHOT");
    }
}

void judge_frame(struct rooms_judge *judge, struct bytes json, int64_t wall_ms)
{
    json_t *frame = json_loadb(json.at, json.size, 0, NULL);
    char about[JUDGE_TEXT_MAX];
    (void)snprintf(about, sizeof about, "%.*s", (int)json.size, json.at);
    const json_t *payload = json_object_get(frame, "payload");
    const char *type = text_at(frame, "type");
    uint64_t seq = (uint64_t)number_at(frame, "seq");
    uint64_t game = game_of(text_at(frame, "gameId"));
    struct judged_room *room = room_of(judge, text_at(frame, "roomId"));
    judge->frames++;
    if (payload == NULL || game == 0 || seq <= room->seq)
        blame(judge, about, "not a frame after number %" PRIu64, room->seq);
    room->seq = seq;
    check_order(judge, room, type, game, about);
    if (strcmp(type, "TICK") == 0)
        check_tick(judge, room, game, payload, wall_ms, about);
    else if (strcmp(type, "STATE") == 0 || strcmp(type, "SNAPSHOT") == 0)
        check_state(judge, room, json_object_get(payload, "state"), about);
    const json_t *deadline = json_object_get(json_object_get(payload, "clock"), "deadlineEpochMs");
    if (json_is_integer(deadline))
        check_deadline(judge, room, game, room->told_step, json_integer_value(deadline), about);
    json_decref(frame);
}

void judge_crash(struct rooms_judge *judge)
{
    for (int i = 0; i < judge->count; i++)
        judge->rooms[i].wanted[0] = '\0';
}
