/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "server/page.h"

/* The files themselves: PAGE_FOLDER is where the build has put them (cmake/page.cmake). */
#define FILE_BYTES(symbol, file)                                                                   \
    ".global page_file_" symbol "\n"                                                               \
    ".global page_file_" symbol "_size\n"                                                          \
    "page_file_" symbol ": .incbin \"" PAGE_FOLDER "/" file "\"\n"                                 \
    "page_file_" symbol "_end: .balign 8\n"                                                        \
    "page_file_" symbol "_size: .quad page_file_" symbol "_end - page_file_" symbol "\n"
#define FILES(symbol, file)                                                                        \
    FILE_BYTES(symbol, file)                                                                       \
    FILE_BYTES(symbol "_packed", file ".gz")                                                       \
    FILE_BYTES(symbol "_tag", file ".tag")

__asm__(".section .rodata\n"
        ".balign 8\n" FILES("index", "index.html") FILES("script", "app.js")
            FILES("style", "app.css") FILES("icon", "favicon.svg") ".previous\n");

#define DECLARE(symbol)                                                                            \
    extern const char page_file_##symbol[];                                                        \
    extern const uint64_t page_file_##symbol##_size;                                               \
    extern const char page_file_##symbol##_packed[];                                               \
    extern const uint64_t page_file_##symbol##_packed_size;                                        \
    extern const char page_file_##symbol##_tag[];                                                  \
    extern const uint64_t page_file_##symbol##_tag_size;

DECLARE(index)
DECLARE(script)
DECLARE(style)
DECLARE(icon)

#define THE_FILE(symbol)                                                                           \
    (struct page_file)                                                                             \
    {                                                                                              \
        .text = {page_file_##symbol, page_file_##symbol##_size},                                   \
        .packed = {page_file_##symbol##_packed, page_file_##symbol##_packed_size},                 \
        .tag = {page_file_##symbol##_tag, page_file_##symbol##_tag_size},                          \
    }

struct page_file page_file(enum page_name name)
{
    switch (name) {
    case PAGE_SCRIPT:
        return THE_FILE(script);
    case PAGE_STYLE:
        return THE_FILE(style);
    case PAGE_ICON:
        return THE_FILE(icon);
    default:
        return THE_FILE(index);
    }
}
