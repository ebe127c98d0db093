/* SPDX-License-Identifier: MIT */
/* crc32c.h - are these still the bytes that were written?
 *
 * The Castagnoli checksum (as iSCSI and ext4 have it): every change of up to 32 bits in a row
 * is noticed, others but for one in four thousand million. It protects against decay, not
 * against malice.
 *
 * Cost      about 0.1 ns a byte where the processor has SSE 4.2, 2 ns elsewhere.
 * Threads   any.
 */
#ifndef TOCSIN_BASE_CRC32C_H
#define TOCSIN_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what had the checksum `crc`, followed by these bytes; 0 to begin with. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size);

/* The same without the processor's help: what crc32c falls back on, here to be tested. */
uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size);

#endif
