/* SPDX-License-Identifier: MIT */
/* svg.h - what do the pictures have in common?
 *
 * A frame of their own on white ground, so that they read the same on a dark page, with a title,
 * a line below it, and the machine at the foot.
 */
#ifndef TOCSIN_BENCH_SVG_H
#define TOCSIN_BENCH_SVG_H

#include "harness.h"

struct svg_page {
    int width, height;
    const char *label; /* for those who do not see it */
    const char *style; /* of the classes other than title and sub */
    const char *title, *sub;
    int foot; /* how far above the lower edge */
};

/* Folders on the way to path are made. */
FILE *svg_begin(const char *path, const struct svg_page *page, const struct bench_machine *machine);
void svg_end(FILE *out, const char *path);
/* Anchor: "start", "middle", "end". */
void svg_text(FILE *out, double x, double y, const char *class, const char *anchor,
              const char *words);

#endif
