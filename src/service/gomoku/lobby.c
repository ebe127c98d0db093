/* SPDX-License-Identifier: MIT */
/* Rooms from the newest to the oldest: their refs in memory, in the order in which they were made;
 * those of before this start in the order of their last change, as the store has them. So a page
 * reads the docs of its own rooms and no others, however many there are.
 *
 * A room that was dropped leaves a ref that is stale; these go when they are half of all.
 */

#include <stdlib.h>

#include "service/gomoku/rooms_inside.h"

enum { LOBBY_FIRST = 16, PAGE_BYTES_MAX = 4 * 1024 * 1024 };

struct lobby_entry {
    struct engine_ref ref;
    uint64_t rev; /* when it was noted: the cursor of a page. They rise. */
};

/* ---- which there are */

static void forget_the_dropped(struct rooms *rooms)
{
    struct lobby *lobby = &rooms->lobby;
    struct engine_head head;
    size_t count = 0;
    for (size_t i = 0; i < lobby->count; i++) {
        if (engine_head(rooms->engine, lobby->entries[i].ref, &head))
            lobby->entries[count++] = lobby->entries[i];
    }
    lobby->count = count;
    lobby->next_look = 2 * count < LOBBY_FIRST ? LOBBY_FIRST : 2 * count;
}

bool lobby_note(struct rooms *rooms, struct engine_ref ref, uint64_t rev)
{
    struct lobby *lobby = &rooms->lobby;
    if (lobby->count == lobby->room) {
        size_t room = lobby->room == 0 ? LOBBY_FIRST : 2 * lobby->room;
        struct lobby_entry *entries = realloc(lobby->entries, room * sizeof *entries);
        if (entries == NULL)
            return false;
        lobby->entries = entries;
        lobby->room = room;
    }
    lobby->entries[lobby->count++] = (struct lobby_entry){ref, rev};
    return true;
}

static void noted(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct rooms *rooms = arg;
    if (status == TOCSIN_OK && !lobby_note(rooms, record->ref, record->rev))
        rooms->unpublished++; /* it is in the other order */
    ;
    if (rooms->lobby.count >= rooms->lobby.next_look)
        forget_the_dropped(rooms);
}

void lobby_made(struct rooms *rooms, struct bytes id)
{
    engine_get(rooms->engine, rooms->kind, id, noted, rooms);
}

void lobby_release(struct rooms *rooms)
{
    free(rooms->lobby.entries);
}

/* ---- a page of them */

struct lobby_page {
    struct rooms *rooms;
    rooms_read_fn fn;
    void *arg;
    uint64_t marks;
    struct buffer out;
    struct json_writer writer;
    uint64_t next; /* cursor; 0: there are no more */
    size_t at;     /* the one that is read */
    bool in_read;
    bool read_now;
    size_t count;
    struct engine_ref refs[];
};

static bool wanted(uint64_t marks, uint8_t mark)
{
    return marks == 0 || (marks >> mark & 1) != 0;
}

static void end_page(struct lobby_page *page)
{
    json_write_array_end(&page->writer);
    json_write_key(&page->writer, "next");
    if (page->next == 0)
        json_write_null(&page->writer);
    else
        json_write_uint64(&page->writer, page->next);
    json_write_object_end(&page->writer);
    page->fn(page->arg, outcome_of_status(buffer_status(&page->out)), 0,
             (struct bytes){page->out.data, page->out.size});
    buffer_release(&page->out);
    free(page);
}

static void read_on(struct lobby_page *page);

/* It may have been dropped or have changed meanwhile: then it is no longer of this page. */
static void got(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct lobby_page *page = arg;
    struct room room;
    if (status == TOCSIN_OK && wanted(page->marks, record->mark) &&
        room_decode(record, &room) == TOCSIN_OK)
        room_view_row(&page->writer, page->rooms, &room, true);
    page->at++;
    if (page->in_read)
        page->read_now = true;
    else
        read_on(page);
}

/* One after the other; most are answered at once, and that is no deeper a call each time. */
static void read_on(struct lobby_page *page)
{
    page->read_now = true;
    page->in_read = true;
    while (page->read_now && page->at < page->count) {
        page->read_now = false;
        engine_get_ref(page->rooms->engine, page->refs[page->at], got, page);
    }
    page->in_read = false;
    if (page->read_now)
        end_page(page);
}

static void choose(struct lobby_page *page, const struct rooms_query *query)
{
    const struct lobby *lobby = &page->rooms->lobby;
    struct engine_head head;
    uint64_t last = 0;
    for (size_t i = lobby->count; i > 0; i--) {
        const struct lobby_entry *entry = &lobby->entries[i - 1];
        if ((query->after != 0 && entry->rev >= query->after) ||
            !engine_head(page->rooms->engine, entry->ref, &head) || !wanted(page->marks, head.mark))
            continue;
        if (page->count == query->limit) {
            page->next = last;
            return;
        }
        page->refs[page->count++] = entry->ref;
        last = entry->rev;
    }
}

void lobby_list(struct rooms *rooms, const struct rooms_query *query, rooms_read_fn fn, void *arg)
{
    struct lobby_page *page = calloc(1, sizeof *page + query->limit * sizeof page->refs[0]);
    if (page == NULL) {
        fn(arg, OUTCOME_OVERLOADED, 0, (struct bytes){0});
        return;
    }
    page->rooms = rooms;
    page->fn = fn;
    page->arg = arg;
    page->marks = room_marks_of(query->phase);
    buffer_init(&page->out, PAGE_BYTES_MAX);
    json_writer_init(&page->writer, &page->out);
    json_write_object(&page->writer);
    json_write_key(&page->writer, "rooms");
    json_write_array(&page->writer);
    choose(page, query);
    read_on(page);
}
