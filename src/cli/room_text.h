/* SPDX-License-Identifier: MIT */
/* room_text.h - how does a gomoku room look to a reader? From the JSON that the server answers.
 *
 * A board of 15 by 15 with letters for columns and numbers for rows, as players name points: A1 is
 * below on the left, which is x 0 and y 14 to the server.
 */
#ifndef TOCSIN_CLI_ROOM_TEXT_H
#define TOCSIN_CLI_ROOM_TEXT_H

#include <stdint.h>

#include "base/bytes.h"
#include "cli/clock_rules.h"
#include "cli/screen.h"
#include "cli/table.h"

enum {
    ROOM_SIDE = 15,
    ROOM_ROWS = ROOM_SIDE + 2,     /* of the board, with its letters above and below */
    ROOM_COLS = 3 + 2 * ROOM_SIDE, /* and one for the mark behind the last stone */
    ROOM_FACTS = 10,
    ROOM_TEXT_BYTES = 200,
};

struct room_point {
    int x; /* -1: none */
    int y;
};

struct room_text {
    char id[ROOM_TEXT_BYTES];
    char game[ROOM_TEXT_BYTES];
    char mode[32];
    char rule[32];
    char phase[32];
    char board[ROOM_SIDE * ROOM_SIDE + 1]; /* ".XO", row by row */
    char current[8];                       /* X or O */
    char winner[8];                        /* "": none yet; X, O or DRAW */
    bool over;
    struct room_point last;
    size_t line_count;
    struct room_point line[ROOM_SIDE];
    int64_t step;
    int64_t seq;
    int64_t spectators;
    int64_t wins[2];
    int64_t draws;
    char seats[2][64]; /* "ready, connected" */
    struct clock_rules rules;
    char on_timeout[16];
    int64_t grace_ms; /* for whoever is away when the time is up; 0: none */
    char clock_side[8];
    int64_t left_ms;    /* -1: there is no clock */
    int64_t bank_ms[2]; /* -1: there are none */
    int64_t periods[2]; /* of byo-yomi: left, with the one that runs */
    bool clock_runs;
    bool overdue; /* the time is up, and the game goes on */
};

/* False: that is none. */
bool room_text_read(struct bytes json, struct room_text *ret_room);

/* "H8" of x 7, y 7; "-" of none. */
struct room_name {
    char text[4];
};
struct room_name room_text_point(struct room_point point);

/* A row of the board, from 0 to ROOM_ROWS - 1; the last stone stands in round brackets. */
void room_text_board(const struct room_text *room, const struct screen_glyphs *glyphs, int row,
                     char ret_text[ROOM_TEXT_BYTES]);
/* What stands beside it; empty when there is no more to tell. */
void room_text_fact(const struct room_text *room, const struct screen_glyphs *glyphs, int fact,
                    char ret_text[ROOM_TEXT_BYTES]);
/* "move 12: O H8, X to move, 0:23 left" */
void room_text_say(const struct room_text *room, char ret_text[ROOM_TEXT_BYTES]);

/* ROOM MODE RULE PHASE CLOCK PLAYERS WATCHING */
void room_text_row(struct bytes json, int64_t now_ms, struct table *table);

#endif
