/* SPDX-License-Identifier: MIT */
#include "service/gomoku/thinker.h"

#include <poll.h>
#include <stdatomic.h>

#include "runner.h"

static const struct thinker_options usual = {.threads = 1, .move_ms = 400, .within_ms = 900};

/* C-10: however many ask at once, each has its share in time, as long as there is any. */
TEST(all_who_ask_at_once_are_answered_in_time)
{
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct thinker_options options = usual;
        options.threads = threads;
        for (unsigned asked = 1; asked <= 800; asked++) {
            int64_t now_ms[4] = {0}; /* when each thread is free */
            for (unsigned i = 0; i < asked; i++) {
                unsigned first = 0;
                for (unsigned k = 1; k < threads; k++)
                    first = now_ms[k] < now_ms[first] ? k : first;
                int64_t share = thinker_share_ms(&options, now_ms[first], asked - 1 - i);
                assert_true(share >= THINKER_LEAST_MS && share <= options.move_ms);
                now_ms[first] += share;
                assert_true(now_ms[first] <= options.within_ms);
            }
        }
    }
}

TEST(one_alone_has_all_the_time_of_a_move)
{
    assert_int_equal(thinker_share_ms(&usual, 0, 0), 400);
    assert_int_equal(thinker_share_ms(&usual, 0, 1), 400);
    assert_int_equal(thinker_share_ms(&usual, 0, 49), 18);
    assert_int_equal(thinker_share_ms(&usual, 800, 0), 100);
    assert_int_equal(thinker_share_ms(&usual, 2000, 0), THINKER_LEAST_MS);
}

enum { JOBS = 50 };

static struct room_job jobs[JOBS];
static atomic_int posted;

static void post(void *arg)
{
    (void)arg;
    atomic_fetch_add(&posted, 1);
}

static struct thinker *new_thinker(void)
{
    struct thinker_options options = {2, 20, 100, post, NULL};
    struct thinker *thinker;
    atomic_store(&posted, 0);
    assert_int_equal(thinker_create(&options, &thinker), TOCSIN_OK);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct room_job){.side = GOMOKU_O, .step = i};
        gomoku_board_init(&jobs[i].board);
        jobs[i].board.at[i] = 'X';
        thinker_give(thinker, &jobs[i]);
    }
    return thinker;
}

static int take_all(struct thinker *thinker, int (*count)(const struct room_job *))
{
    int counted = 0;
    struct room_job *job;
    while ((job = thinker_take(thinker)) != NULL) {
        assert_int_equal(job->seed, 0); /* not taken before */
        job->seed = 1;
        counted += count(job);
    }
    return counted;
}

static int is_answered(const struct room_job *job)
{
    assert_true(gomoku_legal(job->rule, &job->board, job->side, job->point));
    return 1;
}

TEST(every_job_comes_back_once_with_an_answer)
{
    struct thinker *thinker = new_thinker();
    while (atomic_load(&posted) < JOBS)
        (void)poll(NULL, 0, 1);
    assert_int_equal(take_all(thinker, is_answered), JOBS);
    thinker_stop(thinker);
    thinker_destroy(thinker);
}

static int is_back(const struct room_job *job)
{
    if (job->point != GOMOKU_NOWHERE)
        (void)is_answered(job);
    return 1;
}

TEST(a_thinker_that_is_stopped_gives_all_back)
{
    struct thinker *thinker = new_thinker();
    thinker_stop(thinker);
    assert_int_equal(take_all(thinker, is_back), JOBS);
    thinker_destroy(thinker);
}
