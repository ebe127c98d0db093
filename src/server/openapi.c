/* SPDX-License-Identifier: MIT */
#include "server/openapi.h"

#include <stdint.h>

/* The file itself: OPENAPI_FILE is its path (CMakeLists.txt). */
__asm__(".section .rodata\n"
        ".global openapi_start\n"
        ".global openapi_size\n"
        "openapi_start: .incbin \"" OPENAPI_FILE "\"\n"
        "openapi_end: .balign 8\n"
        "openapi_size: .quad openapi_end - openapi_start\n"
        ".previous\n");

extern const char openapi_start[];
extern const uint64_t openapi_size;

struct bytes openapi_text(void)
{
    return (struct bytes){openapi_start, openapi_size};
}
