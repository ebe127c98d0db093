/* SPDX-License-Identifier: MIT */
/* cut_script.h - does a parser say the same, wherever its bytes are cut?
 *
 * A script is what comes, and what is to be made of it as a text; an outcome_fn is a parser that
 * gets the first so many bytes, then a step at a time (stomp_outcome.h, websocket_outcome.h).
 */
#ifndef TEST_CUT_SCRIPT_H
#define TEST_CUT_SCRIPT_H

#include <string.h>

#include "base/buffer.h"
#include "runner.h"

enum { CUT_OUTCOME_BYTES_MAX = 1 << 20, CUTS_MAX = 300 };

typedef void (*outcome_fn)(const char *bytes, size_t size, size_t first, size_t step,
                           struct buffer *out);

struct script {
    const char *name;
    const char *bytes;
    size_t size;
    const char *outcome;
};

#define SCRIPT(name, bytes, outcome)                                                               \
    {                                                                                              \
        (name), (bytes), sizeof(bytes) - 1, (outcome)                                              \
    }

static inline void script_expect(const struct script *script, outcome_fn outcome, size_t first,
                                 size_t step)
{
    struct buffer out;
    buffer_init(&out, CUT_OUTCOME_BYTES_MAX);
    outcome(script->bytes, script->size, first, step, &out);
    buffer_append_byte(&out, '\0');
    assert_int_equal(buffer_status(&out), TOCSIN_OK);
    if (strcmp(out.data, script->outcome) != 0)
        fail_msg("%s, cut after %zu, then each %zu: '%s' instead of '%s'", script->name, first,
                 step, out.data, script->outcome);
    buffer_release(&out);
}

static inline void script_expect_cut(const struct script *script, outcome_fn outcome)
{
    script_expect(script, outcome, 0, 1);
    for (size_t first = 1; first < script->size && first < CUTS_MAX; first++)
        script_expect(script, outcome, first, SIZE_MAX / 2);
}

#endif
