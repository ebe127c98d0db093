/* SPDX-License-Identifier: MIT */
/* utf8.h - is the next character well formed, and how long is it?
 *
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing past U+10FFFF.
 */
#ifndef TOCSIN_BASE_UTF8_H
#define TOCSIN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_BYTES_MAX = 4 };

/* Length of the character that starts the text, 1 to 4; 0 when none does or it is cut. */
size_t utf8_length(const char *text, size_t size);

/* How many bytes from the start are printable ASCII, blanks among them. */
size_t utf8_plain(const char *text, size_t size);

/* Writes a code point, which must be one; answers how many bytes. */
size_t utf8_encode(uint32_t code, char to[UTF8_BYTES_MAX]);

#endif
