/* SPDX-License-Identifier: MIT */
/* word_distance.h - which of the known words may somebody have meant? */
#ifndef TOCSIN_BASE_WORD_DISTANCE_H
#define TOCSIN_BASE_WORD_DISTANCE_H

#include "base/bytes.h"

enum { WORD_DISTANCE_BYTES_MAX = 63 };

/* How many letters must be put in, taken out or exchanged to make one of the other; case and
 * the difference of dash and underscore do not count. Neither is longer than the maximum. */
size_t word_distance(struct bytes one, struct bytes other);

#endif
