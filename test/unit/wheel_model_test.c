/* SPDX-License-Identifier: MIT */
/* The wheel against a sorted array: W-01, W-02, W-04, W-13, W-14, W-16, W-21. */
#include "runner.h"

#define MODEL_FAIL(text) fail_msg("%s", text)
#include "support/wheel_model.h"

/* Sanitizers slow this down tenfold; they see enough with fewer steps. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIVES = 60, STEPS = 3000 };
#else
enum { LIVES = 600, STEPS = 5000 };
#endif

static uint64_t next_random(void *arg)
{
    return test_random_next(arg);
}

TEST(wheel_does_what_a_sorted_array_does)
{
    static struct model model;
    struct test_random random = {test_seed()};
    uint64_t fired = 0;
    for (int i = 0; i < LIVES; i++) {
        struct model_choices choices = {.next = next_random, .arg = &random};
        fired += model_run(&model, &choices, STEPS);
    }
    print_message("%d lives of %d steps, %" PRIu64 " timers fired\n", LIVES, STEPS, fired);
    assert_true(fired > (uint64_t)LIVES * STEPS / 10);
}
