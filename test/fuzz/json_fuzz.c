/* SPDX-License-Identifier: MIT */
/* Our JSON reader and writer against jansson; json_oracle.h says what is compared. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ORACLE_FAIL(text) (fprintf(stderr, "%s\n", text), abort())
#include "support/json_oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly this size, so that a read past the end is seen. */
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    (void)oracle_compare(text, size);
    free(text);
    return 0;
}
