/* SPDX-License-Identifier: MIT */
/* The whole engine on a clock and a disk made of a seed, with crashes between any two steps,
 * and a judge: laws 1 to 5 and 9; W-08, W-13, W-16, W-18, W-19, W-21, W-23. */
#include "support/engine_sim.h"

#include <inttypes.h>

enum { SEEDS = 1000, COMMANDS = 1000 };

static struct sim sim;

TEST(a_thousand_lives_of_a_thousand_commands_break_no_promise)
{
    struct test_random seeds = {test_seed()};
    uint64_t lives = test_effort(SEEDS);
    uint64_t commands = 0;
    uint64_t restarts = 0;
    uint64_t dues = 0;
    for (uint64_t i = 0; i < lives; i++) {
        /* TOCSIN_SEED repeats a life as the first one. */
        uint64_t seed = i == 0 ? test_seed() : test_random_next(&seeds);
        sim_live(&sim, seed, SIM_SOUND, COMMANDS);
        if (!judge_fine(&sim.judge))
            fail_msg("%s\nTOCSIN_SEED=%" PRIu64
                     " repeats this life as the first one, after %" PRIu64 " commands",
                     sim.judge.verdict, seed, sim.commands);
        commands += sim.commands;
        restarts += sim.restarts;
        dues += sim.judge.dues;
    }
    print_message("%" PRIu64 " lives, %" PRIu64 " commands, %" PRIu64 " restarts, %" PRIu64
                  " dues\n",
                  lives, commands, restarts, dues);
    assert_true(commands >= lives * COMMANDS);
    assert_true(restarts > lives && dues > lives * 10);
}

/* A control: the judge must name what a flawed world does to the sound engine. */
static void name_flaw(enum sim_flaw flaw, const char *words)
{
    struct test_random seeds = {test_seed()};
    for (int i = 0; i < 50; i++) {
        sim_live(&sim, test_random_next(&seeds), flaw, COMMANDS);
        if (!judge_fine(&sim.judge)) {
            print_message("named: %s\n", sim.judge.verdict);
            assert_non_null(strstr(sim.judge.verdict, words));
            return;
        }
    }
    fail_msg("the judge saw nothing wrong in 50 lives");
}

TEST(control_a_disk_that_acknowledges_before_it_commits_is_found_out)
{
    name_flaw(SIM_ACKNOWLEDGES_BEFORE_IT_COMMITS, "after a crash");
}

TEST(control_a_clock_that_runs_ahead_is_found_out)
{
    name_flaw(SIM_CLOCK_RUNS_AHEAD, "early");
}

TEST(control_an_epoch_that_is_not_raised_is_found_out)
{
    name_flaw(SIM_FORGETS_THE_EPOCH, "fence");
}
