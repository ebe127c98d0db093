/* SPDX-License-Identifier: MIT */
/* gomoku_cases.h - which boards stand in a file that a person can read?
 *
 * test/data/gomoku-*.txt: blocks of
 *
 *     name   what it shows
 *     rule   STANDARD or RENJU          (RENJU when left out)
 *     side   X or O, who moves          (X when left out)
 *     moves  how many moves of its own that side may need to win
 *     board
 *     ...............                   15 rows of 15, in any letters the file explains
 *
 * and lines that begin with #, which say where a board comes from.
 */
#ifndef TEST_SUPPORT_GOMOKU_CASES_H
#define TEST_SUPPORT_GOMOKU_CASES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/gomoku/rules.h"

enum { GOMOKU_CASES_MAX = 64 };

struct gomoku_case {
    char name[200];
    enum gomoku_rule rule;
    enum gomoku_side side;
    int moves;
    char art[GOMOKU_POINTS];
};

struct gomoku_cases {
    struct gomoku_case at[GOMOKU_CASES_MAX];
    size_t count;
};

/* What the art says of stones; all its other letters are empty points. */
static inline struct gomoku_board gomoku_case_board(const struct gomoku_case *one)
{
    struct gomoku_board board;
    for (int point = 0; point < GOMOKU_POINTS; point++) {
        char c = one->art[point];
        board.at[point] = c == 'X' || c == 'O' ? c : GOMOKU_EMPTY;
    }
    return board;
}

static inline bool gomoku_case_rows(FILE *file, struct gomoku_case *one)
{
    char line[64];
    for (size_t y = 0; y < GOMOKU_SIZE; y++) {
        if (fgets(line, sizeof line, file) == NULL || strcspn(line, "\n") != GOMOKU_SIZE)
            return false;
        memcpy(one->art + y * GOMOKU_SIZE, line, GOMOKU_SIZE);
    }
    return true;
}

/* False when the file is not there or not in that form. */
static inline bool gomoku_cases_load(const char *path, struct gomoku_cases *ret_cases)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    struct gomoku_case *one = NULL;
    bool is_good = true;
    char line[200];
    ret_cases->count = 0;
    while (is_good && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *value = strlen(line) > 7 ? line + 7 : "";
        if (line[0] == '\0' || line[0] == '#')
            continue;
        if (strncmp(line, "name ", 5) == 0) {
            is_good = ret_cases->count < GOMOKU_CASES_MAX;
            if (!is_good)
                break;
            one = &ret_cases->at[ret_cases->count++];
            *one = (struct gomoku_case){.rule = GOMOKU_RENJU, .side = GOMOKU_X};
            (void)snprintf(one->name, sizeof one->name, "%s", value);
        } else if (one == NULL) {
            is_good = false;
        } else if (strncmp(line, "rule ", 5) == 0) {
            one->rule = strcmp(value, "STANDARD") == 0 ? GOMOKU_STANDARD : GOMOKU_RENJU;
        } else if (strncmp(line, "side ", 5) == 0) {
            one->side = value[0] == 'O' ? GOMOKU_O : GOMOKU_X;
        } else if (strncmp(line, "moves ", 6) == 0) {
            one->moves = (int)strtol(value, NULL, 10);
        } else {
            is_good = strcmp(line, "board") == 0 && gomoku_case_rows(file, one);
        }
    }
    (void)fclose(file);
    return is_good;
}

#endif
