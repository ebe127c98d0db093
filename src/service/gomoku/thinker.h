/* SPDX-License-Identifier: MIT */
/* thinker.h - where does the machine play, without anybody waiting for it?
 *
 * A few threads with an ai each, which take positions in the order in which they came. The
 * answers are fetched by the one who asked, who is posted when there are any.
 *
 * Promise   every job that was given comes back once, with a point or GOMOKU_NOWHERE; also
 *           when the thinker is stopped, which ends what is being thought about at once.
 * Effort    so many milliseconds a move; less when many wait, so that all are answered within
 *           a time from when they were given. When that cannot be, each gets THINKER_LEAST_MS,
 *           which is enough to stop a five or to make one.
 * Threads   give, take and destroy from one thread.
 */
#ifndef TOCSIN_SERVICE_GOMOKU_THINKER_H
#define TOCSIN_SERVICE_GOMOKU_THINKER_H

#include "service/gomoku/rooms.h"

struct thinker;

enum { THINKER_LEAST_MS = 1 };

struct thinker_options {
    unsigned threads;
    int64_t move_ms;         /* at most, for one */
    int64_t within_ms;       /* after it was given, it should be answered */
    void (*post)(void *arg); /* from any of its threads: there is something to take */
    void *arg;
};

enum tocsin_status thinker_create(const struct thinker_options *options,
                                  struct thinker **ret_thinker);
/* After thinker_stop, and when all has been taken. */
void thinker_destroy(struct thinker *thinker);

/* How long to think about a job that was given so long ago, when so many wait behind it: what is
 * left of its time is theirs as well, since they came later and so may end later. */
int64_t thinker_share_ms(const struct thinker_options *options, int64_t waited_ms,
                         unsigned waiting);

void thinker_give(struct thinker *thinker, struct room_job *job);
/* NULL: there is nothing now. Its point is the answer. */
struct room_job *thinker_take(struct thinker *thinker);

/* Gives up whatever is being thought about or waits, and waits for the threads: all that was
 * given can be taken then, at GOMOKU_NOWHERE. Nothing may be given after. */
void thinker_stop(struct thinker *thinker);

#endif
