/* SPDX-License-Identifier: MIT */
/* The wheel against a sorted array, with a fuzzer choosing what happens next. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MODEL_FAIL(text) (fprintf(stderr, "%s\n", text), abort())
#include "support/wheel_model.h"

struct bytes {
    const uint8_t *at;
    size_t left;
    struct model_choices *choices;
};

/* Two bytes decide: one how many bits, one which; enough to reach every choice and
 * short enough that a small change of the input is a small change of the run. */
static uint64_t next_byte(void *arg)
{
    struct bytes *bytes = arg;
    if (bytes->left < 2) {
        bytes->choices->ended = true;
        return 0;
    }
    uint64_t value = bytes->at[0];
    uint64_t shift = bytes->at[1] % 64;
    bytes->at += 2;
    bytes->left -= 2;
    return shift < 8 ? value + shift * 256 : value << shift | value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model model;
    struct model_choices choices = {.next = next_byte};
    struct bytes bytes = {data, size, &choices};
    choices.arg = &bytes;
    (void)model_run(&model, &choices, 4000);
    return 0;
}
