/* SPDX-License-Identifier: MIT */
#include "base/crc32c.h"

#include <string.h>

/* The remainders of all half bytes: small enough to be written down and to stay in the cache. */
static const uint32_t remainders[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = (crc >> 4) ^ remainders[crc & 15];
        crc = (crc >> 4) ^ remainders[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t by_processor(uint32_t crc, const void *bytes,
                                                               size_t size)
{
    const unsigned char *at = bytes;
    uint64_t wide = ~crc;
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
        at += sizeof word;
    }
    uint32_t narrow = (uint32_t)wide;
    if (size >= sizeof(uint32_t)) {
        uint32_t half;
        memcpy(&half, at, sizeof half);
        narrow = __builtin_ia32_crc32si(narrow, half);
        at += sizeof half;
        size -= sizeof half;
    }
    while (size-- > 0)
        narrow = __builtin_ia32_crc32qi(narrow, *at++);
    return ~narrow;
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t size)
{
    return __builtin_cpu_supports("sse4.2") ? by_processor(crc, bytes, size)
                                            : crc32c_by_table(crc, bytes, size);
}

#else

uint32_t crc32c(uint32_t crc, const void *bytes, size_t size)
{
    return crc32c_by_table(crc, bytes, size);
}

#endif
