/* SPDX-License-Identifier: MIT */
#include "base/word_distance.h"

#include <assert.h>
#include <ctype.h>

static int letter_of(char byte)
{
    return byte == '-' ? '_' : tolower((unsigned char)byte);
}

size_t word_distance(struct bytes one, struct bytes other)
{
    size_t costs[WORD_DISTANCE_BYTES_MAX + 1];
    assert(one.size <= WORD_DISTANCE_BYTES_MAX && other.size <= WORD_DISTANCE_BYTES_MAX);
    for (size_t i = 0; i <= other.size; i++)
        costs[i] = i;
    for (size_t i = 0; i < one.size; i++) {
        size_t corner = costs[0]++;
        for (size_t j = 0; j < other.size; j++) {
            size_t cost = corner + (letter_of(one.at[i]) != letter_of(other.at[j]));
            corner = costs[j + 1];
            if (corner + 1 < cost)
                cost = corner + 1;
            if (costs[j] + 1 < cost)
                cost = costs[j] + 1;
            costs[j + 1] = cost;
        }
    }
    return costs[other.size];
}
