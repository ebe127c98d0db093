/* SPDX-License-Identifier: MIT */
/* packed.h - how is a record, or an event, one string, and is that string still whole?
 *
 * Numbers are little-endian. The head of a record is all of it but the doc, which is kept apart as
 * it is; the checksum of the doc, begun with the rev so that a doc cannot change its record
 * unnoticed, stands in the head.
 *
 *   head   0 version 1   1 basis   2 mark   3 kind size   4 tag size   5 1: home is the key
 *          6 key size (2)   8 home size (2)   10 zero (2)   12 doc size (4)   16 rev (8)
 *          24 due_ms (8)   32 checksum of the doc (4)   36 checksum of the rest (4)
 *          40 kind, key, home, tag
 *   event  0 version 1   1 zero   2 kind size (2)   4 key size (2)   6 type size (2)
 *          8 doc size (4)   12 checksum of the rest (4)   16 seq (8)   24 at_ms (8)
 *          32 kind, key, type, doc
 *
 * Memory    what is read points into the string.
 * Threads   any.
 */
#ifndef TOCSIN_STORE_REDIS_PACKED_H
#define TOCSIN_STORE_REDIS_PACKED_H

#include "store/store.h"

enum { PACKED_HEAD_BYTES = 40, PACKED_EVENT_BYTES = 32 };

size_t packed_head_size(const struct store_record *record);
void packed_head_write(const struct store_record *record, char *at);

/* All but the doc, which is left empty. False: it is not what was written. */
struct packed_doc {
    uint32_t size;
    uint32_t crc;
};
bool packed_head_read(struct bytes head, struct store_record *ret_record,
                      struct packed_doc *ret_doc);
bool packed_doc_is(uint64_t rev, struct bytes doc, const struct packed_doc *expected);

size_t packed_event_size(const struct store_event *event);
void packed_event_write(const struct store_event *event, char *at);
bool packed_event_read(struct bytes packed, struct store_event *ret_event);

#endif
