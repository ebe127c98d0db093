/* SPDX-License-Identifier: MIT */
/* Names for other programs that look into a shared store. They go the way of events: staged by a
 * change, taken over by the open commit when the change is, and forgotten with either. */

#include <assert.h>
#include <stdlib.h>

#include "engine/inside.h"

void mirror_rows_init(struct mirror_rows *rows, size_t bytes_max)
{
    *rows = (struct mirror_rows){0};
    buffer_init(&rows->bytes, bytes_max);
}

void mirror_rows_release(struct mirror_rows *rows)
{
    free(rows->rows);
    buffer_release(&rows->bytes);
}

enum tocsin_status mirror_rows_add(struct mirror_rows *rows, const struct store_mirror *mirror)
{
    bool gone = mirror->value.at == NULL;
    size_t value_size = gone ? 0 : mirror->value.size;
    assert(mirror->name.at != NULL);
    if (!commit_room_for((void **)&rows->rows, &rows->room, rows->count + 1, sizeof *rows->rows))
        return TOCSIN_NO_MEMORY;
    size_t at = rows->bytes.size;
    buffer_append(&rows->bytes, mirror->name.at, mirror->name.size);
    if (!gone)
        buffer_append(&rows->bytes, mirror->value.at, value_size);
    if (buffer_status(&rows->bytes) != TOCSIN_OK)
        return buffer_status(&rows->bytes) == TOCSIN_FULL ? TOCSIN_TOO_LARGE : TOCSIN_NO_MEMORY;
    rows->rows[rows->count++] = (struct mirror_row){
        at, (uint32_t)mirror->name.size, (uint32_t)value_size, gone ? 0 : mirror->expire_ms, gone};
    return TOCSIN_OK;
}

static struct store_mirror mirror_of(const struct mirror_rows *rows, size_t i)
{
    const struct mirror_row *row = &rows->rows[i];
    const char *at = rows->bytes.data + row->at;
    return (struct store_mirror){
        .name = {at, row->name_size},
        .value = {row->gone ? NULL : at + row->name_size, row->value_size},
        .expire_ms = row->expire_ms,
    };
}

bool mirror_rows_append(struct mirror_rows *rows, const struct mirror_rows *from)
{
    size_t count = rows->count;
    size_t bytes = rows->bytes.size;
    for (size_t i = 0; i < from->count; i++) {
        struct store_mirror mirror = mirror_of(from, i);
        if (mirror_rows_add(rows, &mirror) != TOCSIN_OK) {
            mirror_rows_cut(rows, count, bytes);
            return false;
        }
    }
    return true;
}

void mirror_rows_clear(struct mirror_rows *rows)
{
    rows->count = 0;
    buffer_clear(&rows->bytes);
}

void mirror_rows_cut(struct mirror_rows *rows, size_t count, size_t bytes)
{
    rows->count = count;
    rows->bytes.size = bytes;
    rows->bytes.status = TOCSIN_OK;
}

void mirror_rows_give(const struct mirror_rows *rows, struct store_mirror *ret_mirrors)
{
    for (size_t i = 0; i < rows->count; i++)
        ret_mirrors[i] = mirror_of(rows, i);
}

void change_mirror(struct change *change, struct bytes name, struct bytes value, int64_t expire_ms)
{
    struct engine *engine = change->engine;
    assert(engine->running == change && name.size > 0 && expire_ms >= 0);
    if (!engine->shared)
        return;
    enum tocsin_status status =
        mirror_rows_add(&engine->staged_mirrors, &(struct store_mirror){name, value, expire_ms});
    if (status != TOCSIN_OK)
        change_event_lost(change, status);
}
