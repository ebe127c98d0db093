/* SPDX-License-Identifier: MIT */
/* page.h - the files of the page (web/), as they are built into the binary. */
#ifndef TOCSIN_SERVER_PAGE_H
#define TOCSIN_SERVER_PAGE_H

#include "base/bytes.h"

enum page_name { PAGE_INDEX, PAGE_SCRIPT, PAGE_STYLE, PAGE_ICON, PAGE_COUNT };

struct page_file {
    struct bytes text;   /* empty: the server was built without the page */
    struct bytes packed; /* the same by gzip; empty: there is none */
    struct bytes tag;    /* of its bytes: 16 hexadecimal digits */
};

struct page_file page_file(enum page_name name);

#endif
