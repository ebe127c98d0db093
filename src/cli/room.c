/* SPDX-License-Identifier: MIT */
/* tocsin room: gomoku rooms. They are played in a browser; here they are looked at. */

#include <string.h>

#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/fields.h"
#include "cli/list.h"
#include "cli/live.h"
#include "cli/room_text.h"

enum { ASK_MS = 500, FACT_COL = ROOM_COLS + 4 };

static const struct command ls_verb;
static const struct command show_verb;
static const struct command watch_command;

static const char word_name[] = "the id of a room";

/* ---- ls */

struct ls_rooms {
    struct list_options list; /* first */
    const char *phase;        /* NULL: any */
    bool newest;
};

static bool read_phase(const char *value, void *into)
{
    static const char *const phases[] = {"WAITING", "PLAYING", "ENDED", NULL};
    return options_word(value, phases, &((struct ls_rooms *)into)->phase);
}

static const struct option_row ls_rows[] = {
    {"--phase", "PHASE", "only those that are WAITING, PLAYING or ENDED",
     "WAITING, PLAYING or ENDED", read_phase},
    {"--newest", NULL, "the one that was made last comes first", "", options_read_flag,
     offsetof(struct ls_rooms, newest)},
    LIST_LIMIT_ROW,
    LIST_ALL_ROW,
};

static int ls_run(int argc, char **argv)
{
    static const char *const heads[] = {"ROOM",  "MODE",     "RULE",     "PHASE",
                                        "CLOCK", ">PLAYERS", ">WATCHING"};
    static const struct list rooms = {"rooms", heads, sizeof heads / sizeof heads[0],
                                      room_text_row};
    struct ls_rooms ls = {.list = {.limit = LIST_LIMIT_DEFAULT}};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&ls_verb, &words, &ls, &code))
        return code;
    return list_print(&ls_verb, &ls.list, &rooms, "/v1/rooms",
                      (struct list_filter[]){
                          {"phase", ls.phase}, {"order", ls.newest ? "newest" : NULL}, {NULL}});
}

static const struct command ls_verb = {
    .name = "room ls",
    .text = "which rooms are there?",
    .usage = "[OPTION...]",
    .about = "Lists the gomoku rooms. With --json: a page of the server's JSON a line.\n",
    .after = "example: tocsin room ls --phase waiting --newest\n",
    COMMAND_ROWS(ls_rows),
    .client = true,
    .run = ls_run,
};

/* ---- show */

static int print_room(const struct client *client)
{
    struct room_text room;
    if (!room_text_read(call_body(client->call), &room))
        return command_fail(client->command, "the answer is not a room");
    const struct screen_glyphs *glyphs = screen_glyphs_of_locale();
    for (int row = 0; row < ROOM_ROWS; row++) {
        char board[ROOM_TEXT_BYTES];
        char fact[ROOM_TEXT_BYTES];
        int last_edge = room.last.x == ROOM_SIDE - 1 && room.last.y == row - 1;
        room_text_board(&room, glyphs, row, board);
        room_text_fact(&room, glyphs, row - 1, fact);
        (void)printf("%s%*s%s\n", board,
                     fact[0] != '\0' ? FACT_COL - (ROOM_COLS - 1) - last_edge : 0, "", fact);
    }
    return EXIT_DONE;
}

static int show_run(int argc, char **argv)
{
    return client_show(&show_verb, argc, argv, "/v1/rooms/", "", print_room);
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
    struct watch watch = {.met = false};
    struct live live = {
        .client = &watch.client, .interval_ms = ASK_MS, .take = take, .draw = draw, .arg = &watch};
    return live_watch(&live, &watch_command, argc, argv, "/v1/rooms/");
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

static const struct command *const verbs[] = {&room_new_command, &ls_verb, &show_verb,
                                              &watch_command, NULL};

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
