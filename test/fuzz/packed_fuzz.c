/* SPDX-License-Identifier: MIT */
/* What stands in Redis, where anybody may have written it: what is taken for whole says the same
 * when it is written again. The checksum is set right first, or nothing would come behind it. */
#include "store/redis/packed.h"

#include <stdlib.h>

#include "base/crc32c.h"

enum { HEAD_CRC_AT = 36, EVENT_CRC_AT = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
    if (!holds)
        abort();
}

static void set_checksum(char *text, size_t size, size_t at)
{
    if (size < at + 4)
        return;
    uint32_t crc = crc32c(0, text, at);
    crc = crc32c(crc, text + at + 4, size - at - 4);
    for (size_t i = 0; i < 4; i++)
        text[at + i] = (char)(unsigned char)(crc >> (8 * i));
}

static void read_head(struct bytes text)
{
    struct store_record record;
    struct packed_doc doc;
    if (!packed_head_read(text, &record, &doc))
        return;
    const char *end = text.at + text.size;
    need(record.key.at + record.key.size <= end && record.tag.at + record.tag.size <= end);
    size_t size = packed_head_size(&record);
    char *again = malloc(size);
    need(again != NULL);
    packed_head_write(&record, again);
    struct store_record other;
    need(packed_head_read((struct bytes){again, size}, &other, &doc));
    need(other.rev == record.rev && other.due_ms == record.due_ms && other.mark == record.mark &&
         other.basis == record.basis && bytes_equal(other.kind, record.kind) &&
         bytes_equal(other.key, record.key) && bytes_equal(other.home, record.home) &&
         bytes_equal(other.tag, record.tag));
    free(again);
}

static void read_event(struct bytes text)
{
    struct store_event event;
    if (!packed_event_read(text, &event))
        return;
    size_t size = packed_event_size(&event);
    need(size == text.size && size > 0);
    char *again = malloc(size);
    need(again != NULL);
    packed_event_write(&event, again);
    struct store_event other;
    need(packed_event_read((struct bytes){again, size}, &other));
    need(other.seq == event.seq && other.at_ms == event.at_ms &&
         bytes_equal(other.kind, event.kind) && bytes_equal(other.key, event.key) &&
         bytes_equal(other.type, event.type) && bytes_equal(other.doc, event.doc));
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size > 0 ? size : 1); /* exactly: a read past the end is seen */
    need(text != NULL);
    for (int summed = 0; summed < 2; summed++) {
        if (size > 0)
            memcpy(text, data, size);
        if (summed)
            set_checksum(text, size, HEAD_CRC_AT);
        read_head((struct bytes){text, size});
        if (size > 0)
            memcpy(text, data, size);
        if (summed)
            set_checksum(text, size, EVENT_CRC_AT);
        read_event((struct bytes){text, size});
    }
    free(text);
    return 0;
}
