/* SPDX-License-Identifier: MIT */
/* The AI's turns: in memory only, found again by a restart.
 *
 *   IDLE --its turn is durable--> WAITS --1 to 1.5 s--> THINKS --answer--> (a change) --> IDLE
 *                                   ^                      |
 *                                   +-- no answer, no store, no memory: again in a second
 *
 * An answer counts for the position it was asked for, and for no other: game and step are
 * compared here, and again inside the change.
 */

#include <stdlib.h>

#include "service/gomoku/rooms_inside.h"

enum { LEAST_MS = 1000, SPREAD_MS = 500, AGAIN_MS = 1000, RECOVERING_AT_ONCE = 256 };

/* A job on its way: through the port, and then through the change. */
struct thought {
    struct errand errand;
    struct room_job job;
    struct rooms *rooms;
    int point;
};

static struct thought *thought_of(struct room_job *job)
{
    return (struct thought *)(void *)((char *)job - offsetof(struct thought, job));
}

static void timer_due(void *arg);

static void arm(struct table *table, int64_t delay_ms)
{
    struct engine *engine = table->rooms->engine;
    table->ai_timer.fn = timer_due;
    table->ai_timer.arg = table;
    table->ai = AI_WAITS;
    if (engine_timer_arm(engine, &table->ai_timer, engine_now_up_ms(engine) + delay_ms) !=
        TOCSIN_OK) {
        table->ai = AI_IDLE;
        table->rooms->unpublished++;
    }
}

static void timer_due(void *arg)
{
    struct table *table = arg;
    struct rooms *rooms = table->rooms;
    struct thought *thought = calloc(1, sizeof *thought);
    if (thought == NULL) {
        arm(table, AGAIN_MS);
        return;
    }
    thought->job = table->job;
    thought->rooms = rooms;
    table->ai = AI_THINKS;
    rooms->port.think(rooms->port.arg, &thought->job);
}

static bool is_about(const struct room_job *job, const struct room *room)
{
    return job->game == room->game && job->step == room->step;
}

void room_ai_consider(struct table *table, const struct room *room)
{
    struct rooms *rooms = table->rooms;
    if (table->ai != AI_IDLE && room_ai_moves(room) && is_about(&table->job, room))
        return;
    engine_timer_cancel(rooms->engine, &table->ai_timer);
    table->ai = AI_IDLE;
    if (!room_ai_moves(room))
        return;
    table->job = (struct room_job){
        .board = room->board,
        .side = room_to_move(room),
        .rule = room->rule,
        .seed = rooms->port.chance(rooms->port.arg),
        .game = room->game,
        .step = room->step,
    };
    memcpy(table->job.room_id, room->id, sizeof room->id);
    arm(table, LEAST_MS + (int64_t)(rooms->port.chance(rooms->port.arg) % SPREAD_MS));
}

/* ---- its answer */

/* Never needed, while the AI keeps to the rules. */
static int first_legal(const struct room *room)
{
    int point = 0;
    while (point < GOMOKU_POINTS - 1 &&
           !gomoku_legal(room->rule, &room->board, room_to_move(room), point))
        point++;
    return point;
}

static enum tocsin_status place(void *arg, struct change *change)
{
    struct thought *thought = arg;
    struct rooms *rooms = thought->rooms;
    struct room room;
    enum tocsin_status status =
        coordinator_find(rooms, change, (struct bytes){thought->job.room_id, ROOM_ID_BYTES}, &room);
    if (status != TOCSIN_OK)
        return status;
    if (!room_ai_moves(&room) || !is_about(&thought->job, &room))
        return TOCSIN_STALE;
    struct moved moved = {(int)room_to_move(&room), turn_clock_deadline(&room.clock)};
    bool legal = gomoku_legal(room.rule, &room.board, room_to_move(&room), thought->point);
    int point = legal ? thought->point : first_legal(&room);
    if (room_place(&room, moved.side, point, rooms_now(rooms)) != ROOM_DONE)
        return TOCSIN_STALE; /* its own flag has fallen */
    room_event_moved(rooms, change, &room, &moved);
    return coordinator_change(rooms, change, &room, BULLETIN_STATE);
}

static struct table *table_of(const struct thought *thought)
{
    struct table *table =
        table_find(thought->rooms, (struct bytes){thought->job.room_id, ROOM_ID_BYTES});
    bool current = table != NULL && table->ai == AI_THINKS &&
                   table->job.game == thought->job.game && table->job.step == thought->job.step;
    return current ? table : NULL;
}

static void placed(void *arg, enum tocsin_status status)
{
    struct thought *thought = arg;
    struct table *table = table_of(thought);
    thought->rooms->stale += status == TOCSIN_STALE;
    if (table != NULL) {
        table->ai = AI_IDLE;
        if (tocsin_status_retryable(status))
            arm(table, AGAIN_MS);
    }
    errand_end(&thought->errand);
    free(thought);
}

void rooms_thought(struct rooms *rooms, struct room_job *job, int point)
{
    struct thought *thought = thought_of(job);
    struct table *table = table_of(thought);
    if (table == NULL || point == GOMOKU_NOWHERE) {
        rooms->stale += table == NULL;
        if (table != NULL)
            arm(table, AGAIN_MS);
        free(thought);
        return;
    }
    thought->point = point;
    errand_begin(&rooms->errands, &thought->errand);
    engine_change(rooms->engine, false, place, placed, thought);
}

/* ---- a restart */

void room_ai_note_load(struct rooms *rooms, const struct engine_head *head)
{
    if (head->mark != MARK_AI_MOVES)
        return;
    if (rooms->recovery_count == rooms->recovery_room) {
        size_t room = rooms->recovery_room == 0 ? 64 : rooms->recovery_room * 2;
        struct engine_ref *list = realloc(rooms->recoveries, room * sizeof *list);
        rooms->load_failed = rooms->load_failed || list == NULL;
        if (list == NULL)
            return;
        rooms->recoveries = list;
        rooms->recovery_room = room;
    }
    rooms->recoveries[rooms->recovery_count++] = head->ref;
}

static void read_more(struct rooms *rooms);

static void read_one(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct rooms *rooms = arg;
    struct room room;
    rooms->recovery_open--;
    if (status == TOCSIN_OK && room_decode(record, &room) == TOCSIN_OK) {
        struct table *table = table_get(rooms, record->key);
        if (table != NULL)
            room_ai_consider(table, &room);
        else
            rooms->unpublished++;
    }
    if (!rooms->in_read_more)
        read_more(rooms);
}

static void read_more(struct rooms *rooms)
{
    rooms->in_read_more = true; /* what is in memory is read at once */
    while (rooms->recovery_next < rooms->recovery_count &&
           rooms->recovery_open < RECOVERING_AT_ONCE) {
        rooms->recovery_open++;
        engine_get_ref(rooms->engine, rooms->recoveries[rooms->recovery_next++], read_one, rooms);
    }
    rooms->in_read_more = false;
    if (rooms->recovery_open > 0)
        return;
    free(rooms->recoveries);
    rooms->recoveries = NULL;
    rooms->recovery_count = rooms->recovery_room = rooms->recovery_next = 0;
}

enum tocsin_status rooms_recover(struct rooms *rooms)
{
    if (rooms->load_failed)
        return TOCSIN_NO_MEMORY;
    rooms->started_ms = engine_now_ms(rooms->engine);
    read_more(rooms);
    return TOCSIN_OK;
}

bool rooms_recovering(const struct rooms *rooms)
{
    return rooms->recovery_count > 0;
}
