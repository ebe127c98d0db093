/* SPDX-License-Identifier: MIT */
/* rooms_judge.h - was every timeout due, once, and told in order, and nothing before it was true?
 *
 * Reads what the disk keeps (events) and what was told (frames), in the order in which it
 * happened, and knows nothing of how rooms work inside. The first violation is its verdict.
 *
 *   events   a game: started, moved one stone at a time, each before its deadline; ended once.
 *            A timeout at or after its deadline, of the turn that was on. Wins go with the
 *            player when the sides are swapped (C-08, C-17, C-32).
 *   frames   seq rises; nothing that is not on the disk; never back; TIMEOUT, STATE, SNAPSHOT in
 *            that order; one TIMEOUT a game; a turn keeps its deadline (C-02, C-09, C-18, C-19,
 *            C-22, C-24).
 */
#ifndef TEST_ROOMS_JUDGE_H
#define TEST_ROOMS_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

enum { JUDGED_ROOMS_MAX = 64, JUDGE_TEXT_MAX = 400 };

struct judged_room {
    char id[32];
    /* as the disk has it */
    uint64_t game;
    int step;
    bool ended;
    bool timed_out;
    int passes;
    int spared; /* flags that fell without an end */
    int player_of_x;
    int64_t wins[2];
    int64_t draws;
    /* as it was told */
    uint64_t seq;
    uint64_t told_game;
    int told_step;
    bool told_over;
    uint64_t timeout_game; /* TIMEOUT was told of */
    int told_spared;
    char wanted[16]; /* the type of the next frame; "": any */
    uint64_t deadline_game;
    int deadline_step;
    int64_t deadline_ms;
    int64_t graced_ms; /* as the log has it */
};

struct rooms_judge {
    struct judged_room rooms[JUDGED_ROOMS_MAX];
    int count;
    uint64_t timeouts; /* on the disk */
    uint64_t frames;
    char verdict[JUDGE_TEXT_MAX]; /* "": nothing is wrong */
};

void judge_event(struct rooms_judge *judge, const struct store_event *event);
void judge_frame(struct rooms_judge *judge, struct bytes json, int64_t wall_ms);
/* The process has died: what it was about to tell is not told. */
void judge_crash(struct rooms_judge *judge);

#endif
