/* SPDX-License-Identifier: MIT */
/* stomp_write.h - how is this said in STOMP 1.2?
 *
 *     stomp_write_command(&out, "RECEIPT");
 *     stomp_write_header(&out, "receipt-id", id);
 *     stomp_write_body(&out, body);
 *
 * Headers are escaped, but for CONNECTED's, which must not be and whose values are ours. Whether
 * all of it fitted is the buffer's to tell.
 */
#ifndef TOCSIN_NET_STOMP_WRITE_H
#define TOCSIN_NET_STOMP_WRITE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

void stomp_write_command(struct buffer *out, const char *command);
void stomp_write_header(struct buffer *out, const char *name, struct bytes value);
void stomp_write_number(struct buffer *out, const char *name, uint64_t value);
/* The empty line, these bytes, the NUL: the end of the frame. */
void stomp_write_body(struct buffer *out, struct bytes body);

#endif
