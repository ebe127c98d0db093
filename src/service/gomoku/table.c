/* SPDX-License-Identifier: MIT */
/* Who is here, and the number of the next frame: in memory only. A session may be in several
 * rooms; a player's place at a table is held by the session that came last with its key. */

#include <assert.h>
#include <stdlib.h>

#include "service/gomoku/rooms_inside.h"

enum { NOTICE_MS = 100, NOTICE_AGAIN_MS = 1000 };

/* 64 secret bits: two rooms never share them. */
static uint64_t number_of(const struct rooms *rooms, struct bytes id)
{
    return siphash(rooms->hash_key, id.at, id.size) | 1;
}

struct table *table_find(const struct rooms *rooms, struct bytes id)
{
    return roster_get(&rooms->tables, number_of(rooms, id));
}

static void notice_due(void *arg);

struct table *table_get(struct rooms *rooms, struct bytes id)
{
    assert(id.size == ROOM_ID_BYTES);
    struct table *table = table_find(rooms, id);
    if (table != NULL)
        return table;
    table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->rooms = rooms;
    table->number = number_of(rooms, id);
    memcpy(table->id, id.at, ROOM_ID_BYTES);
    table->notice = (struct engine_timer){.fn = notice_due, .arg = table};
    if (!roster_add(&rooms->tables, table->number, table)) {
        free(table);
        return NULL;
    }
    return table;
}

uint64_t table_seq(const struct rooms *rooms, const struct table *table)
{
    return (engine_epoch(rooms->engine) << 32) + (table == NULL ? 0 : table->frames);
}

uint64_t table_next_seq(const struct rooms *rooms, struct table *table)
{
    table->frames++;
    return table_seq(rooms, table);
}

/* ---- presence */

struct presence *table_player(const struct table *table, int player)
{
    struct presence *presence = table->here;
    while (presence != NULL && presence->player != player)
        presence = presence->next_here;
    return presence;
}

struct presence *table_session(const struct table *table, uint64_t session)
{
    struct presence *presence = table->here;
    while (presence != NULL && presence->session != session)
        presence = presence->next_here;
    return presence;
}

uint64_t table_spectators(const struct table *table)
{
    uint64_t count = 0;
    for (const struct presence *it = table->here; it != NULL; it = it->next_here)
        count += it->player == NO_PLAYER;
    return count;
}

void table_saw(struct table *table, int player)
{
    if (player != NO_PLAYER)
        table->seen_ms[player] = engine_now_up_ms(table->rooms->engine);
}

static void leave(struct presence *presence)
{
    struct rooms *rooms = presence->table->rooms;
    struct visitor *visitor = roster_get(&rooms->visitors, presence->session);
    struct presence **at = &presence->table->here;
    while (*at != presence)
        at = &(*at)->next_here;
    *at = presence->next_here;
    presence->table->left_ms = engine_now_up_ms(rooms->engine);
    table_saw(presence->table, presence->player);
    for (at = &visitor->first; *at != presence;)
        at = &(*at)->next_mine;
    *at = presence->next_mine;
    if (--visitor->count == 0) {
        roster_drop(&rooms->visitors, presence->session);
        free(visitor);
    }
    free(presence);
}

static struct visitor *visitor_get(struct rooms *rooms, uint64_t session)
{
    struct visitor *visitor = roster_get(&rooms->visitors, session);
    if (visitor != NULL)
        return visitor;
    visitor = calloc(1, sizeof *visitor);
    if (visitor != NULL && !roster_add(&rooms->visitors, session, visitor)) {
        free(visitor);
        visitor = NULL;
    }
    return visitor;
}

static enum tocsin_status come(struct table *table, uint64_t session,
                               struct presence **ret_presence)
{
    struct rooms *rooms = table->rooms;
    struct visitor *visitor = visitor_get(rooms, session);
    if (visitor == NULL)
        return TOCSIN_NO_MEMORY;
    if (visitor->count >= rooms->limits.session_rooms)
        return TOCSIN_FULL;
    struct presence *presence = calloc(1, sizeof *presence);
    if (presence == NULL) {
        if (visitor->count == 0) {
            roster_drop(&rooms->visitors, session);
            free(visitor);
        }
        return TOCSIN_NO_MEMORY;
    }
    *presence = (struct presence){
        .next_here = table->here,
        .next_mine = visitor->first,
        .table = table,
        .session = session,
        .player = NO_PLAYER,
    };
    table->here = presence;
    visitor->first = presence;
    visitor->count++;
    *ret_presence = presence;
    return TOCSIN_OK;
}

enum tocsin_status table_join(struct table *table, const struct room *room, uint64_t session,
                              int player, struct bytes key)
{
    struct presence *presence = table_session(table, session);
    if (presence == NULL) {
        enum tocsin_status status = come(table, session, &presence);
        if (status != TOCSIN_OK)
            return status;
    }
    table_saw(table, presence->player); /* it may be another's now */
    presence->player = NO_PLAYER;
    struct presence *older = player == NO_PLAYER ? NULL : table_player(table, player);
    if (older != NULL) {
        room_send_kicked(table->rooms, older->session, room, player);
        leave(older);
    }
    presence->player = player;
    assert(key.size <= ROOM_KEY_BYTES);
    if (key.size > 0)
        memcpy(presence->key, key.at, key.size);
    presence->key[key.size] = '\0';
    return TOCSIN_OK;
}

void rooms_gone(struct rooms *rooms, uint64_t session)
{
    room_calls_forget(rooms, session);
    struct visitor *visitor = roster_get(&rooms->visitors, session);
    for (uint32_t left = visitor == NULL ? 0 : visitor->count; left > 0; left--) {
        struct table *table = visitor->first->table;
        leave(visitor->first); /* with the last one, the visitor goes */
        table_notice(table);
    }
}

/* ---- telling who is here, some who come or go together at once */

struct look {
    struct errand errand;
    struct rooms *rooms;
    struct room room;
    char id[ROOM_ID_BYTES + 1];
};

static void arm_notice(struct table *table, int64_t delay_ms)
{
    struct engine *engine = table->rooms->engine;
    table->noticing =
        engine_timer_arm(engine, &table->notice, engine_now_ms(engine) + delay_ms) == TOCSIN_OK;
    table->rooms->unpublished += !table->noticing;
}

void table_notice(struct table *table)
{
    if (!table->noticing)
        arm_notice(table, NOTICE_MS);
}

/* As a change that changes nothing: so it is told in its turn among those that do. */
static enum tocsin_status look(void *arg, struct change *change)
{
    struct look *it = arg;
    return room_find(it->rooms, change, (struct bytes){it->id, ROOM_ID_BYTES}, &it->room);
}

static void looked(void *arg, enum tocsin_status status)
{
    struct look *it = arg;
    struct table *table = table_find(it->rooms, (struct bytes){it->id, ROOM_ID_BYTES});
    if (table != NULL) {
        table->noticing = false;
        if (status == TOCSIN_OK)
            room_frame_snapshot(table, &it->room);
        else if (tocsin_status_retryable(status))
            arm_notice(table, NOTICE_AGAIN_MS);
    }
    errand_end(&it->errand);
    free(it);
}

static void notice_due(void *arg)
{
    struct table *table = arg;
    struct look *it = calloc(1, sizeof *it);
    if (it == NULL) {
        arm_notice(table, NOTICE_AGAIN_MS);
        return;
    }
    it->rooms = table->rooms;
    memcpy(it->id, table->id, ROOM_ID_BYTES);
    errand_begin(&table->rooms->errands, &it->errand);
    engine_change(table->rooms->engine, false, look, looked, it);
}

/* ---- life */

void table_drop(struct rooms *rooms, struct bytes id)
{
    struct table *table = table_find(rooms, id);
    if (table == NULL)
        return;
    struct presence *next;
    for (struct presence *it = table->here; it != NULL; it = next) {
        next = it->next_here;
        leave(it);
    }
    engine_timer_cancel(rooms->engine, &table->notice);
    engine_timer_cancel(rooms->engine, &table->ai_timer);
    roster_drop(&rooms->tables, table->number);
    free(table);
}

/* The engine is gone, and its timers with it. */
void tables_release(struct rooms *rooms)
{
    for (uint32_t i = 0; i < rooms->tables.places.count; i++) {
        struct table *table = rooms->tables.rows[i].item;
        struct presence *next;
        for (struct presence *it = table->here; it != NULL; it = next) {
            next = it->next_here;
            free(it);
        }
        free(table);
    }
    for (uint32_t i = 0; i < rooms->visitors.places.count; i++)
        free(rooms->visitors.rows[i].item);
    roster_release(&rooms->tables);
    roster_release(&rooms->visitors);
}
