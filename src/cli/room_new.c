/* SPDX-License-Identifier: MIT */
/* tocsin room new: opens a room, with all that POST /v1/rooms takes. */

#include <string.h>

#include "base/json_write.h"
#include "cli/client.h"
#include "cli/clock_rules.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/room_text.h"

enum { TURN_SECONDS_MAX = 3600 };

struct new_room {
    struct client_options client; /* first */
    /* NULL or 0: not given. Durations go as they were written. */
    const char *mode;
    const char *rule;
    const char *ai_timed;
    const char *on_timeout;
    const char *grace;
    const char *lag_credit;
    const char *lag_quota;
    uint64_t turn_seconds;
    bool has_clock;
    struct clock_rules clock;
};

/* ---- options */

static bool read_mode(const char *value, void *into)
{
    static const char *const modes[] = {"PVP", "PVE", NULL};
    return options_word(value, modes, &((struct new_room *)into)->mode);
}

static bool read_rule(const char *value, void *into)
{
    static const char *const rules[] = {"STANDARD", "RENJU", NULL};
    return options_word(value, rules, &((struct new_room *)into)->rule);
}

static bool read_turn_seconds(const char *value, void *into)
{
    return options_whole(value, 1, TURN_SECONDS_MAX, &((struct new_room *)into)->turn_seconds);
}

static bool read_clock(const char *value, void *into)
{
    struct new_room *wish = into;
    wish->has_clock = clock_rules_parse(value, &wish->clock);
    return wish->has_clock;
}

static bool read_on_timeout(const char *value, void *into)
{
    static const char *const flags[] = {"resign", "pass", "move", "event", NULL};
    return options_word(value, flags, &((struct new_room *)into)->on_timeout);
}

static bool read_ai_timed(const char *value, void *into)
{
    static const char *const answers[] = {"yes", "no", NULL};
    return options_word(value, answers, &((struct new_room *)into)->ai_timed);
}

static const struct option_row new_rows[] = {
    {"--mode", "MODE", "PVP, two players (usual), or PVE, one against the computer", "PVP or PVE",
     read_mode},
    {"--rule", "RULE", "STANDARD (usual) or RENJU", "STANDARD or RENJU", read_rule},
    {"--turn-seconds", "N", "how long each turn may take (as the server is set: 30)",
     "a whole number from 1 to 3600", read_turn_seconds},
    {"--clock", "CLOCK", "or another clock; see below", CLOCK_RULES_FORMS, read_clock},
    {"--on-timeout", "WHAT", "when the time is up: resign (usual), pass, move, event; below",
     "resign, pass, move or event", read_on_timeout},
    {"--grace", "TIME", "once a game so much more for one who is away then, up to 5m",
     "a duration such as 30s", options_read_duration, offsetof(struct new_room, grace)},
    {"--lag-credit", "TIME", "of the way to the server, so much a move is given back, up to 500ms",
     "a duration such as 200ms", options_read_duration, offsetof(struct new_room, lag_credit)},
    {"--lag-quota", "TIME", "and so much a game (5s), up to 1m", "a duration such as 5s",
     options_read_duration, offsetof(struct new_room, lag_quota)},
    {"--ai-timed", "YES|NO", "is the computer timed, too? (as the server is set: no)", "yes or no",
     read_ai_timed},
};

/* ---- asking */

static void write_int64(struct json_writer *writer, const char *name, int64_t value)
{
    json_write_key(writer, name);
    json_write_int64(writer, value);
}

static void write_clock(struct json_writer *writer, const struct new_room *wish)
{
    const struct clock_rules *clock = &wish->clock;
    json_write_key(writer, "clock");
    json_write_object(writer);
    fields_write_text(writer, "mode", clock_rules_mode(clock));
    write_int64(writer, "bank", clock->bank_ms);
    if (clock->extra_ms > 0)
        write_int64(writer, "extra", clock->extra_ms);
    if (clock->periods > 0)
        write_int64(writer, "periods", clock->periods);
    fields_write_text(writer, "lag_credit", wish->lag_credit);
    fields_write_text(writer, "lag_quota", wish->lag_quota);
    json_write_object_end(writer);
}

static void write_wish(const struct new_room *wish, struct buffer *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    fields_write_text(&writer, "mode", wish->mode);
    fields_write_text(&writer, "rule", wish->rule);
    if (wish->turn_seconds > 0)
        write_int64(&writer, "turn_seconds", (int64_t)wish->turn_seconds);
    if (wish->has_clock)
        write_clock(&writer, wish);
    if (wish->ai_timed != NULL) {
        json_write_key(&writer, "ai_timed");
        json_write_bool(&writer, strcmp(wish->ai_timed, "yes") == 0);
    }
    fields_write_text(&writer, "on_timeout", wish->on_timeout);
    fields_write_text(&writer, "reconnect_grace", wish->grace);
    json_write_object_end(&writer);
}

/* What cannot go together is said in the words of the options. NULL: all is well. */
static const char *complaint_of(const struct new_room *wish)
{
    bool bank = wish->has_clock && wish->clock.kind != CLOCK_TURN;
    if (wish->has_clock && wish->turn_seconds > 0)
        return "--turn-seconds and --clock: one of them, not both";
    if (wish->lag_credit != NULL && !bank)
        return "--lag-credit needs a --clock with a bank, such as fischer:5m+3s";
    if (wish->lag_quota != NULL && wish->lag_credit == NULL)
        return "--lag-quota needs a --lag-credit";
    if (wish->ai_timed != NULL && (wish->mode == NULL || strcmp(wish->mode, "PVE") != 0))
        return "--ai-timed needs --mode PVE";
    return NULL;
}

static int print_new(struct client *client)
{
    char id[ROOM_TEXT_BYTES];
    char clean[ROOM_TEXT_BYTES];
    char path[CLIENT_PATH_BYTES_MAX];
    if (client->json) {
        client_print(client);
        return EXIT_DONE;
    }
    if (!fields_text(call_body(client->call), "room_id", id, sizeof id))
        return command_fail(client->command, "the answer is not a room");
    if (!client_path(client, "/#/room/", id, "", path))
        return EXIT_REFUSED;
    table_clean(id, clean, sizeof clean);
    (void)printf("%s%s%s\n%s%s\n", paint_on(PAINT_BOLD), clean, paint_off(), client->url, path);
    return EXIT_DONE;
}

static int new_run(int argc, char **argv)
{
    struct new_room wish = {.turn_seconds = 0};
    struct words words = {argc, argv};
    struct client client;
    struct buffer body;
    int code;
    if (!command_begin(&room_new_command, &words, &wish, &code))
        return code;
    const char *complaint = complaint_of(&wish);
    if (complaint != NULL)
        return command_usage(&room_new_command, "%s", complaint);
    buffer_init(&body, CLIENT_PATH_BYTES_MAX);
    write_wish(&wish, &body);
    code = client_init(&client, &room_new_command, &wish.client);
    if (code == EXIT_DONE)
        code = client_ask(&client, &(struct call_request){.method = "POST",
                                                          .path = "/v1/rooms",
                                                          .body = {body.data, body.size}});
    if (code == EXIT_DONE)
        code = print_new(&client);
    client_release(&client);
    buffer_release(&body);
    return code;
}

const struct command room_new_command = {
    .name = "room new",
    .text = "open a room",
    .usage = "[OPTION...]",
    .about = "Opens a gomoku room, and prints its id and the address to open in a browser.\n",
    .after = "clocks:\n"
             "  turn:30s          30 s for each move\n"
             "  fischer:5m+3s     5 min for the game, and 3 s more with each move\n"
             "  bronstein:5m+3s   the same, but no more comes back than the move took\n"
             "  delay:5m+3s       each move is free for 3 s, then the 5 min run\n"
             "  byoyomi:1m+3x10s  1 min, then 3 periods of 10 s; one is lost when it is used up\n"
             "when the time is up:\n"
             "  resign            the game is lost\n"
             "  pass              the other side moves; two passes in a row are a draw\n"
             "  move              a stone near the centre is put in the player's place\n"
             "  event             it is told, and the clock stands until they move\n"
             "example: tocsin room new --mode PVE --turn-seconds 30\n"
             "         tocsin room new --clock fischer:5m+3s --grace 30s\n",
    COMMAND_ROWS(new_rows),
    .client = true,
    .run = new_run,
};
