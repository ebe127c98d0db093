/* SPDX-License-Identifier: MIT */
/* What a client sends: whatever is in it, where it is cut must make no difference. */
#include "fuzz/cut.h"

#include "support/stomp_outcome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cut_everywhere(stomp_outcome, data, size);
    return 0;
}
