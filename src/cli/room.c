/* SPDX-License-Identifier: MIT */
/* tocsin room: gomoku rooms. They are played in a browser; here they are opened and looked at. */

#include <ctype.h>
#include <string.h>

#include "base/json_write.h"
#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/fields.h"
#include "cli/list.h"
#include "cli/live.h"
#include "cli/room_text.h"

enum { ASK_MS = 500, FACT_COL = ROOM_COLS + 4, TURN_SECONDS_MAX = 86400 };

static const struct command new_command;
static const struct command ls_verb;
static const struct command show_verb;
static const struct command watch_command;

static const char word_name[] = "the id of a room";

/* ---- new */

struct new_room {
    struct client_options client; /* first */
    char mode[16];
    char rule[16];
    uint64_t turn_seconds; /* 0: not given */
};

static bool take_upper(const char *value, char ret_text[16])
{
    size_t size = strlen(value);
    if (size >= 16)
        return false;
    for (size_t i = 0; i <= size; i++)
        ret_text[i] = (char)toupper((unsigned char)value[i]);
    return true;
}

static bool read_mode(const char *value, void *into)
{
    char *mode = ((struct new_room *)into)->mode;
    return take_upper(value, mode) && (strcmp(mode, "PVP") == 0 || strcmp(mode, "PVE") == 0);
}

static bool read_rule(const char *value, void *into)
{
    char *rule = ((struct new_room *)into)->rule;
    return take_upper(value, rule) && (strcmp(rule, "STANDARD") == 0 || strcmp(rule, "RENJU") == 0);
}

static bool read_turn_seconds(const char *value, void *into)
{
    return options_whole(value, 1, TURN_SECONDS_MAX, &((struct new_room *)into)->turn_seconds);
}

static const struct option_row new_rows[] = {
    {"--mode", "MODE", "PVP, two players, or PVE, one against the computer", "PVP or PVE",
     read_mode},
    {"--rule", "RULE", "STANDARD or RENJU", "STANDARD or RENJU", read_rule},
    {"--turn-seconds", "N", "how long a turn may take", "a whole number from 1 to 86400",
     read_turn_seconds},
};

static void write_wish(const struct new_room *wish, struct buffer *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    if (wish->mode[0] != '\0') {
        json_write_key(&writer, "mode");
        json_write_text(&writer, wish->mode);
    }
    if (wish->rule[0] != '\0') {
        json_write_key(&writer, "rule");
        json_write_text(&writer, wish->rule);
    }
    if (wish->turn_seconds > 0) {
        json_write_key(&writer, "turn_seconds");
        json_write_uint64(&writer, wish->turn_seconds);
    }
    json_write_object_end(&writer);
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
    if (!command_begin(&new_command, &words, &wish, &code))
        return code;
    buffer_init(&body, CLIENT_PATH_BYTES_MAX);
    write_wish(&wish, &body);
    code = client_init(&client, &new_command, &wish.client);
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

static const struct command new_command = {
    .name = "room new",
    .text = "open a room",
    .usage = "[OPTION...]",
    .about = "Opens a gomoku room, and prints its id and the address to open in a browser.\n",
    .after = "example: tocsin room new --mode PVE --turn-seconds 30\n",
    .rows = new_rows,
    .row_count = sizeof new_rows / sizeof new_rows[0],
    .client = true,
    .run = new_run,
};

/* ---- ls */

struct ls_rooms {
    struct list_options list; /* first */
    char phase[16];
    bool newest;
};

static bool read_phase(const char *value, void *into)
{
    char *phase = ((struct ls_rooms *)into)->phase;
    return take_upper(value, phase) &&
           (strcmp(phase, "WAITING") == 0 || strcmp(phase, "PLAYING") == 0 ||
            strcmp(phase, "ENDED") == 0);
}

static bool read_newest(const char *value, void *into)
{
    (void)value;
    ((struct ls_rooms *)into)->newest = true;
    return true;
}

static const struct option_row ls_rows[] = {
    {"--phase", "PHASE", "only those that are WAITING, PLAYING or ENDED",
     "WAITING, PLAYING or ENDED", read_phase},
    {"--newest", NULL, "the one that was made last comes first", "", read_newest},
    LIST_LIMIT_ROW,
    LIST_ALL_ROW,
};

static int ls_run(int argc, char **argv)
{
    static const char *const heads[] = {"ROOM",    "MODE",     "RULE",     "PHASE",
                                        ">TURN S", ">PLAYERS", ">WATCHING"};
    static const struct list rooms = {"rooms", heads, sizeof heads / sizeof heads[0],
                                      room_text_row};
    struct ls_rooms ls = {.list = {.limit = LIST_LIMIT_DEFAULT}};
    struct words words = {argc, argv};
    struct client client;
    char path[CLIENT_PATH_BYTES_MAX] = "/v1/rooms";
    int code;
    if (!command_begin(&ls_verb, &words, &ls, &code))
        return code;
    code = client_init(&client, &ls_verb, &ls.list.client);
    if (code == EXIT_DONE &&
        ((ls.phase[0] != '\0' && !client_query(&client, "phase", ls.phase, path)) ||
         (ls.newest && !client_query(&client, "order", "newest", path))))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = list_print(&client, &ls.list, &rooms, path);
    client_release(&client);
    return code;
}

static const struct command ls_verb = {
    .name = "room ls",
    .text = "which rooms are there?",
    .usage = "[OPTION...]",
    .about = "Lists the gomoku rooms. With --json: a page of the server's JSON a line.\n",
    .after = "example: tocsin room ls --phase waiting --newest\n",
    .rows = ls_rows,
    .row_count = sizeof ls_rows / sizeof ls_rows[0],
    .client = true,
    .run = ls_run,
};

/* ---- show */

static void print_room(const struct room_text *room)
{
    const struct screen_glyphs *glyphs = screen_glyphs_of_locale();
    for (int row = 0; row < ROOM_ROWS; row++) {
        char board[ROOM_TEXT_BYTES];
        char fact[ROOM_TEXT_BYTES];
        int last_edge = room->last.x == ROOM_SIDE - 1 && room->last.y == row - 1;
        room_text_board(room, glyphs, row, board);
        room_text_fact(room, glyphs, row - 1, fact);
        (void)printf("%s%*s%s\n", board,
                     fact[0] != '\0' ? FACT_COL - (ROOM_COLS - 1) - last_edge : 0, "", fact);
    }
}

static int show_run(int argc, char **argv)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    struct client client;
    struct room_text room;
    char path[CLIENT_PATH_BYTES_MAX];
    int code;
    if (!command_begin(&show_verb, &words, &options, &code))
        return code;
    code = client_init(&client, &show_verb, &options);
    if (code == EXIT_DONE && !client_path(&client, "/v1/rooms/", words.at[0], "", path))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = client_ask(&client, &(struct call_request){.method = "GET", .path = path});
    if (code == EXIT_DONE && client.json)
        client_print(&client);
    else if (code == EXIT_DONE && room_text_read(call_body(client.call), &room))
        print_room(&room);
    else if (code == EXIT_DONE)
        code = command_fail(&show_verb, "the answer is not a room");
    client_release(&client);
    return code;
}

static const struct command show_verb = {
    .name = "room show",
    .text = "the board, whose turn it is, the clocks, the series",
    .usage = "ID [OPTION...]",
    .about = "Draws the board of a room as it stands; the last stone is in brackets. Column A and\n"
             "row 15 are x 0 and y 0 to the server. X moves first.\n",
    .after = "example: tocsin room show 0198c7e2\n",
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = show_run,
};

/* ---- watch */

struct watch {
    struct client client;
    struct room_text room;
    bool met;
    bool away;
};

static void mark(struct screen *screen, const struct room_text *room, struct room_point point,
                 enum screen_style style)
{
    if (point.x < 0)
        return;
    char stone = room->board[point.y * ROOM_SIDE + point.x];
    if (stone != '.')
        (void)screen_glyph(screen, point.y + 2, 1 + 3 + 2 * point.x, style,
                           screen_glyphs(screen)->stones[stone == 'O']);
}

static void draw(const struct live *live, struct screen *screen)
{
    const struct watch *watch = live->arg;
    const struct room_text *room = &watch->room;
    const struct screen_glyphs *glyphs = screen_glyphs(screen);
    char text[ROOM_TEXT_BYTES];
    screen_begin(screen, 1 + ROOM_ROWS + 1);
    (void)screen_text(screen, 0, 1, SCREEN_TITLE, "gomoku");
    (void)screen_text_right(screen, 0, screen_cols(screen), SCREEN_DIM, " q quits");
    for (int row = 0; row < ROOM_ROWS; row++) {
        bool edge = row == 0 || row == ROOM_ROWS - 1;
        room_text_board(room, glyphs, row, text);
        (void)screen_text(screen, 1 + row, 1, edge ? SCREEN_DIM : SCREEN_PLAIN, "%s", text);
    }
    for (int fact = 0; fact < ROOM_FACTS; fact++) {
        room_text_fact(room, glyphs, fact, text);
        (void)screen_text(screen, 2 + fact, 1 + FACT_COL,
                          fact != 6    ? SCREEN_PLAIN
                          : room->over ? SCREEN_GOOD
                                       : SCREEN_BOLD,
                          "%s", text);
    }
    mark(screen, room, room->last, SCREEN_NOW);
    for (size_t i = 0; i < room->line_count; i++)
        mark(screen, room, room->line[i], SCREEN_GOOD);
    if (watch->away)
        (void)screen_text(screen, 2 + ROOM_FACTS + 1, 1 + FACT_COL, SCREEN_WARN, "reconnecting");
    screen_show(screen);
}

/* Without a screen only what is new is said. */
static void print_change(const struct watch *watch, const struct room_text *before)
{
    const struct room_text *room = &watch->room;
    char text[ROOM_TEXT_BYTES];
    bool same = before->seq == room->seq && before->step == room->step &&
                strcmp(before->game, room->game) == 0 && strcmp(before->phase, room->phase) == 0;
    if (same && watch->met)
        return;
    room_text_say(room, text);
    if (watch->client.json)
        client_print(&watch->client);
    else
        (void)puts(text);
    (void)fflush(stdout);
}

static void take(struct live *live, const struct call *call, enum call_end end)
{
    struct watch *watch = live->arg;
    struct room_text before = watch->room;
    bool was_away = watch->away;
    watch->away = live_is_away(call, end);
    if ((watch->away && !watch->met) || (!watch->away && call_status(call) >= 300)) {
        live_end(live, EXIT_REFUSED);
        live->code = client_judge(&watch->client, call, end);
        return;
    }
    if (watch->away) {
        if (!was_away && live->screen == NULL)
            error_note(watch->client.command->name, "reconnecting");
        return;
    }
    if (!room_text_read(call_body(call), &watch->room)) {
        live_end(live, EXIT_REFUSED);
        live->code = command_fail(watch->client.command, "the answer is not a room");
        return;
    }
    if (live->screen == NULL)
        print_change(watch, &before);
    watch->met = true;
}

static int watch_run(int argc, char **argv)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    struct watch watch = {.met = false};
    char path[CLIENT_PATH_BYTES_MAX];
    int code;
    if (!command_begin(&watch_command, &words, &options, &code))
        return code;
    code = client_init(&watch.client, &watch_command, &options);
    if (code == EXIT_DONE && !client_path(&watch.client, "/v1/rooms/", words.at[0], "", path))
        code = EXIT_USAGE;
    if (code == EXIT_DONE)
        code = live_run(&(struct live){.client = &watch.client,
                                       .path = path,
                                       .interval_ms = ASK_MS,
                                       .lines = watch.client.json,
                                       .take = take,
                                       .draw = draw,
                                       .arg = &watch});
    client_release(&watch.client);
    return code;
}

static const struct command watch_command = {
    .name = "room watch",
    .text = "look on live, until you leave",
    .usage = "ID [OPTION...]",
    .about = "Draws the board and the clocks as the game goes on. Without a terminal: a line for\n"
             "each change; with --json the server's JSON.\n",
    .after = "example: tocsin room watch 0198c7e2\n"
             "keys: q or Ctrl-C ends it\n"
             "environment: NO_COLOR\n",
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = watch_run,
};

/* ---- all of them */

static const struct command *const verbs[] = {&new_command, &ls_verb, &show_verb, &watch_command,
                                              NULL};

const struct command room_command = {
    .name = "room",
    .text = "gomoku rooms: open one, list them, look on",
    .usage = "VERB [OPTION...]",
    .about = "A room is where two play gomoku, or one against the computer, each turn against the\n"
             "clock. They play in a browser; this opens rooms and looks on.\n",
    .after = "example: tocsin room new --mode PVE\n"
             "exit codes: 0 done, 1 refused, 2 usage, 3 cannot reach the server\n"
             "tocsin room VERB --help tells more.\n",
    .verbs = verbs,
};
