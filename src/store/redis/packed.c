/* SPDX-License-Identifier: MIT */
#include "store/redis/packed.h"

#include <assert.h>

#include "base/crc32c.h"

enum { VERSION = 1, HEAD_CRC_AT = 36, EVENT_CRC_AT = 12, CRC_BYTES = 4 };

static void put_number(char *at, size_t bytes, uint64_t number)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)(unsigned char)(number >> (8 * i));
}

static uint64_t number_at(const char *at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number |= (uint64_t)(unsigned char)at[i] << (8 * i);
    return number;
}

static char *put_bytes(char *at, struct bytes bytes)
{
    if (bytes.size > 0)
        memcpy(at, bytes.at, bytes.size);
    return at + bytes.size;
}

static struct bytes take_bytes(const char **at, uint64_t size)
{
    struct bytes taken = {*at, (size_t)size};
    *at += size;
    return taken;
}

/* Of all but the place of the checksum itself. */
static uint32_t checksum_around(const char *at, size_t size, size_t crc_at)
{
    uint32_t crc = crc32c(0, at, crc_at);
    return crc32c(crc, at + crc_at + CRC_BYTES, size - crc_at - CRC_BYTES);
}

static uint32_t doc_checksum(uint64_t rev, struct bytes doc)
{
    char number[8];
    put_number(number, sizeof number, rev);
    uint32_t crc = crc32c(0, number, sizeof number);
    return doc.size > 0 ? crc32c(crc, doc.at, doc.size) : crc;
}

static bool home_is_key(const struct store_record *record)
{
    return bytes_equal(record->home, record->key);
}

size_t packed_head_size(const struct store_record *record)
{
    return PACKED_HEAD_BYTES + record->kind.size + record->key.size +
           (home_is_key(record) ? 0 : record->home.size) + record->tag.size;
}

void packed_head_write(const struct store_record *record, char *at)
{
    struct bytes home = home_is_key(record) ? (struct bytes){"", 0} : record->home;
    assert(record->kind.size <= UINT8_MAX && record->tag.size <= UINT8_MAX);
    assert(record->key.size <= UINT16_MAX && home.size <= UINT16_MAX);
    assert(record->doc.size <= UINT32_MAX);
    at[0] = VERSION;
    at[1] = (char)record->basis;
    at[2] = (char)record->mark;
    put_number(at + 3, 1, record->kind.size);
    put_number(at + 4, 1, record->tag.size);
    at[5] = home_is_key(record) ? 1 : 0;
    put_number(at + 6, 2, record->key.size);
    put_number(at + 8, 2, home.size);
    put_number(at + 10, 2, 0);
    put_number(at + 12, 4, record->doc.size);
    put_number(at + 16, 8, record->rev);
    put_number(at + 24, 8, (uint64_t)record->due_ms);
    put_number(at + 32, 4, doc_checksum(record->rev, record->doc));
    char *end = put_bytes(at + PACKED_HEAD_BYTES, record->kind);
    end = put_bytes(end, record->key);
    end = put_bytes(end, home);
    end = put_bytes(end, record->tag);
    put_number(at + HEAD_CRC_AT, CRC_BYTES, checksum_around(at, (size_t)(end - at), HEAD_CRC_AT));
}

bool packed_head_read(struct bytes head, struct store_record *ret_record,
                      struct packed_doc *ret_doc)
{
    const char *at = head.at;
    if (head.size < PACKED_HEAD_BYTES || at[0] != VERSION ||
        number_at(at + HEAD_CRC_AT, CRC_BYTES) != checksum_around(at, head.size, HEAD_CRC_AT))
        return false;
    uint64_t kind = number_at(at + 3, 1);
    uint64_t tag = number_at(at + 4, 1);
    uint64_t key = number_at(at + 6, 2);
    uint64_t home = number_at(at + 8, 2);
    uint64_t basis = number_at(at + 1, 1);
    if (PACKED_HEAD_BYTES + kind + tag + key + home != head.size || basis > STORE_WALL)
        return false;
    struct store_record record = {
        .rev = number_at(at + 16, 8),
        .due_ms = (int64_t)number_at(at + 24, 8),
        .basis = basis == STORE_WALL ? STORE_WALL : STORE_ELAPSED,
        .mark = (uint8_t)number_at(at + 2, 1),
        .doc = {"", 0},
    };
    const char *text = at + PACKED_HEAD_BYTES;
    record.kind = take_bytes(&text, kind);
    record.key = take_bytes(&text, key);
    record.home = take_bytes(&text, home);
    record.tag = take_bytes(&text, tag);
    if (at[5] != 0)
        record.home = record.key;
    *ret_record = record;
    *ret_doc =
        (struct packed_doc){(uint32_t)number_at(at + 12, 4), (uint32_t)number_at(at + 32, 4)};
    return true;
}

bool packed_doc_is(uint64_t rev, struct bytes doc, const struct packed_doc *expected)
{
    return doc.size == expected->size && doc_checksum(rev, doc) == expected->crc;
}

size_t packed_event_size(const struct store_event *event)
{
    return PACKED_EVENT_BYTES + event->kind.size + event->key.size + event->type.size +
           event->doc.size;
}

void packed_event_write(const struct store_event *event, char *at)
{
    assert(event->kind.size <= UINT16_MAX && event->key.size <= UINT16_MAX);
    assert(event->type.size <= UINT16_MAX && event->doc.size <= UINT32_MAX);
    at[0] = VERSION;
    at[1] = 0;
    put_number(at + 2, 2, event->kind.size);
    put_number(at + 4, 2, event->key.size);
    put_number(at + 6, 2, event->type.size);
    put_number(at + 8, 4, event->doc.size);
    put_number(at + 16, 8, event->seq);
    put_number(at + 24, 8, (uint64_t)event->at_ms);
    char *end = put_bytes(at + PACKED_EVENT_BYTES, event->kind);
    end = put_bytes(end, event->key);
    end = put_bytes(end, event->type);
    end = put_bytes(end, event->doc);
    put_number(at + EVENT_CRC_AT, CRC_BYTES, checksum_around(at, (size_t)(end - at), EVENT_CRC_AT));
}

bool packed_event_read(struct bytes packed, struct store_event *ret_event)
{
    const char *at = packed.at;
    if (packed.size < PACKED_EVENT_BYTES || at[0] != VERSION ||
        number_at(at + EVENT_CRC_AT, CRC_BYTES) != checksum_around(at, packed.size, EVENT_CRC_AT))
        return false;
    uint64_t kind = number_at(at + 2, 2);
    uint64_t key = number_at(at + 4, 2);
    uint64_t type = number_at(at + 6, 2);
    uint64_t doc = number_at(at + 8, 4);
    if (PACKED_EVENT_BYTES + kind + key + type + doc != packed.size)
        return false;
    const char *text = at + PACKED_EVENT_BYTES;
    *ret_event = (struct store_event){
        .seq = number_at(at + 16, 8),
        .at_ms = (int64_t)number_at(at + 24, 8),
    };
    ret_event->kind = take_bytes(&text, kind);
    ret_event->key = take_bytes(&text, key);
    ret_event->type = take_bytes(&text, type);
    ret_event->doc = take_bytes(&text, doc);
    return true;
}
