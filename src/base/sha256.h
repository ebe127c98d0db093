/* SPDX-License-Identifier: MIT */
/* sha256.h - which 256 bits stand for this secret, so that nobody can go back from them?
 *
 * SHA-256 (FIPS 180-4) of bytes in memory. For secrets of much chance, such as a key of 128
 * random bits: what is kept of one is this.
 *
 * Cost      64 rounds for 64 bytes. Plain C: not for much data.
 * Memory    none.
 */
#ifndef TOCSIN_BASE_SHA256_H
#define TOCSIN_BASE_SHA256_H

#include <stddef.h>

enum { SHA256_BYTES = 32, SHA256_HEX_BYTES = 2 * SHA256_BYTES };

void sha256(const void *bytes, size_t size, unsigned char ret_digest[SHA256_BYTES]);
/* The same in lower case hex, terminated. */
void sha256_hex(const void *bytes, size_t size, char ret_text[SHA256_HEX_BYTES + 1]);

#endif
