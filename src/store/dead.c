/* SPDX-License-Identifier: MIT */
#include "store/dead.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRETCH_BITS = 16,
    STRETCH_REVS = 1 << STRETCH_BITS,
    BITMAP_WORDS = STRETCH_REVS / 64,
    SPARSE_MAX = STRETCH_REVS / 16, /* as many places as a bitmap has bytes for */
    SPARSE_FIRST = 8,
    STRETCHES_FIRST = 16,
    VARINT_BYTES_MAX = 9, /* of a number below 2^63 */
};

/* 65 536 revs with the same upper bits. The few of a sparse one stand in ascending order;
 * when they would need more room than a bit for every rev, it becomes a bitmap. */
struct dead_stretch {
    uint64_t upper;
    uint32_t count;
    uint32_t room; /* of the sparse; 0: a bitmap */
    union {
        uint16_t *sparse;
        uint64_t *bitmap;
    };
};

void dead_encode(struct buffer *buffer, const uint64_t *revs, size_t count)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        assert(revs[i] > last && revs[i] <= DEAD_REV_MAX);
        uint64_t rest = revs[i] - last - 1;
        unsigned char bytes[VARINT_BYTES_MAX];
        size_t size = 0;
        for (; rest >= 0x80; rest >>= 7)
            bytes[size++] = (unsigned char)(rest | 0x80);
        bytes[size++] = (unsigned char)rest;
        buffer_append(buffer, bytes, size);
        last = revs[i];
    }
}

void dead_reader_init(struct dead_reader *reader, struct bytes list)
{
    const unsigned char *at = (const unsigned char *)list.at;
    *reader = (struct dead_reader){at, list.size == 0 ? at : at + list.size, 0};
}

enum tocsin_status dead_read(struct dead_reader *reader, uint64_t *ret_rev)
{
    if (reader->at == reader->end)
        return TOCSIN_NONE;
    uint64_t distance = 0;
    unsigned char byte;
    unsigned shift = 0;
    do {
        if (reader->at == reader->end || shift == 7 * VARINT_BYTES_MAX)
            return TOCSIN_DAMAGED;
        byte = *reader->at++;
        distance |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    bool longer_than_needed = byte == 0 && shift > 7;
    if (longer_than_needed || distance >= DEAD_REV_MAX - reader->last)
        return TOCSIN_DAMAGED;
    reader->last += distance + 1;
    *ret_rev = reader->last;
    return TOCSIN_OK;
}

void dead_set_init(struct dead_set *set)
{
    *set = (struct dead_set){0};
}

void dead_set_release(struct dead_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->stretches[i].sparse);
    free(set->stretches);
    dead_set_init(set);
}

/* The first stretch whose upper bits are not below these. */
static size_t place_of(const struct dead_set *set, uint64_t upper)
{
    if (set->last < set->count && set->stretches[set->last].upper == upper)
        return set->last;
    size_t low = 0;
    size_t high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->stretches[middle].upper < upper)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum tocsin_status insert_stretch(struct dead_set *set, size_t at, uint64_t upper)
{
    uint16_t *sparse = malloc(SPARSE_FIRST * sizeof *sparse);
    if (sparse == NULL)
        return TOCSIN_NO_MEMORY;
    if (set->count == set->room) {
        size_t room = set->room == 0 ? STRETCHES_FIRST : set->room * 2;
        struct dead_stretch *grown = realloc(set->stretches, room * sizeof *grown);
        if (grown == NULL) {
            free(sparse);
            return TOCSIN_NO_MEMORY;
        }
        set->stretches = grown;
        set->room = room;
    }
    struct dead_stretch *stretch = &set->stretches[at];
    memmove(stretch + 1, stretch, (set->count - at) * sizeof *stretch);
    *stretch = (struct dead_stretch){.upper = upper, .room = SPARSE_FIRST, .sparse = sparse};
    set->count++;
    return TOCSIN_OK;
}

static bool in_bitmap(const uint64_t *bitmap, uint32_t low)
{
    return (bitmap[low / 64] >> (low % 64)) & 1;
}

static enum tocsin_status make_bitmap(struct dead_stretch *stretch)
{
    uint64_t *bitmap = calloc(BITMAP_WORDS, sizeof *bitmap);
    if (bitmap == NULL)
        return TOCSIN_NO_MEMORY;
    for (uint32_t i = 0; i < stretch->count; i++) {
        uint32_t low = stretch->sparse[i];
        bitmap[low / 64] |= UINT64_C(1) << (low % 64);
    }
    free(stretch->sparse);
    stretch->bitmap = bitmap;
    stretch->room = 0;
    return TOCSIN_OK;
}

static enum tocsin_status make_room(struct dead_stretch *stretch)
{
    if (stretch->room == 0 || stretch->count < stretch->room)
        return TOCSIN_OK;
    if (stretch->room == SPARSE_MAX)
        return make_bitmap(stretch);
    uint32_t room = stretch->room * 2;
    uint16_t *sparse = realloc(stretch->sparse, room * sizeof *sparse);
    if (sparse == NULL)
        return TOCSIN_NO_MEMORY;
    stretch->sparse = sparse;
    stretch->room = room;
    return TOCSIN_OK;
}

/* Where it stands among the sparse, or would. */
static uint32_t sparse_place(const struct dead_stretch *stretch, uint32_t low)
{
    uint32_t from = 0;
    uint32_t to = stretch->count;
    if (to > 0 && stretch->sparse[to - 1] < low)
        return to;
    while (from < to) {
        uint32_t middle = (from + to) / 2;
        if (stretch->sparse[middle] < low)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool stretch_has(const struct dead_stretch *stretch, uint32_t low)
{
    if (stretch->room == 0)
        return in_bitmap(stretch->bitmap, low);
    uint32_t at = sparse_place(stretch, low);
    return at < stretch->count && stretch->sparse[at] == low;
}

static void stretch_insert(struct dead_stretch *stretch, uint32_t low)
{
    if (stretch->room == 0) {
        stretch->bitmap[low / 64] |= UINT64_C(1) << (low % 64);
    } else {
        uint32_t at = sparse_place(stretch, low);
        uint16_t *place = stretch->sparse + at;
        memmove(place + 1, place, (stretch->count - at) * sizeof *place);
        *place = (uint16_t)low;
    }
    stretch->count++;
}

enum tocsin_status dead_set_add(struct dead_set *set, uint64_t rev)
{
    uint64_t upper = rev >> STRETCH_BITS;
    uint32_t low = (uint32_t)(rev % STRETCH_REVS);
    size_t at = place_of(set, upper);
    enum tocsin_status status = TOCSIN_OK;
    if (at == set->count || set->stretches[at].upper != upper)
        status = insert_stretch(set, at, upper);
    if (status != TOCSIN_OK)
        return status;
    set->last = at;
    struct dead_stretch *stretch = &set->stretches[at];
    if (stretch_has(stretch, low))
        return TOCSIN_OK;
    status = make_room(stretch);
    if (status != TOCSIN_OK)
        return status;
    stretch_insert(stretch, low);
    set->size++;
    return TOCSIN_OK;
}

enum tocsin_status dead_set_add_list(struct dead_set *set, struct bytes list)
{
    struct dead_reader reader;
    dead_reader_init(&reader, list);
    for (;;) {
        uint64_t rev;
        enum tocsin_status status = dead_read(&reader, &rev);
        if (status == TOCSIN_OK)
            status = dead_set_add(set, rev);
        if (status != TOCSIN_OK)
            return status == TOCSIN_NONE ? TOCSIN_OK : status;
    }
}

void dead_cursor_init(struct dead_cursor *cursor, const struct dead_set *set)
{
    *cursor = (struct dead_cursor){.set = set};
}

/* The first set bit at or after this one; STRETCH_REVS when there is none. */
static uint32_t next_bit(const uint64_t *bitmap, uint32_t from)
{
    if (from >= STRETCH_REVS)
        return STRETCH_REVS;
    uint32_t word = from / 64;
    uint64_t bits = bitmap[word] & (~UINT64_C(0) << (from % 64));
    while (bits == 0) {
        if (++word == BITMAP_WORDS)
            return STRETCH_REVS;
        bits = bitmap[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

bool dead_cursor_next(struct dead_cursor *cursor, uint64_t *ret_rev)
{
    while (cursor->stretch < cursor->set->count) {
        const struct dead_stretch *stretch = &cursor->set->stretches[cursor->stretch];
        uint64_t base = stretch->upper << STRETCH_BITS;
        if (stretch->room > 0 && cursor->at < stretch->count) {
            *ret_rev = base + stretch->sparse[cursor->at++];
            return true;
        }
        uint32_t bit = stretch->room > 0 ? STRETCH_REVS : next_bit(stretch->bitmap, cursor->at);
        if (bit < STRETCH_REVS) {
            *ret_rev = base + bit;
            cursor->at = bit + 1;
            return true;
        }
        cursor->stretch++;
        cursor->at = 0;
    }
    return false;
}

bool dead_cursor_next_run(struct dead_cursor *cursor, uint64_t max, uint64_t *ret_first,
                          uint64_t *ret_last)
{
    assert(max > 0);
    uint64_t last;
    if (!dead_cursor_next(cursor, &last))
        return false;
    *ret_first = last;
    for (uint64_t count = 1; count < max; count++) {
        struct dead_cursor before = *cursor;
        uint64_t rev;
        if (!dead_cursor_next(cursor, &rev) || rev != last + 1) {
            *cursor = before;
            break;
        }
        last = rev;
    }
    *ret_last = last;
    return true;
}
