/* SPDX-License-Identifier: MIT */
/* The AI's turns: in memory only, found again by a restart.
 *
 *   IDLE --its turn is durable--> THINKS --answer--> WAITS --due--> PLACES (a change) --> IDLE
 *                                   ^                  ^               |
 *                                   |                  +-- no store, no memory: again in a second
 *                                   +-- no answer, no memory: asked again in a second
 *
 * It is asked at once and thinks while it waits; an answer that comes when it is due, or later,
 * is placed at once. An answer counts for the position it was asked for, and for no other: game
 * and step are compared here, and again inside the change.
 */

#include <stdlib.h>

#include "service/gomoku/rooms_inside.h"

enum {
    /* C-10 says 1 to 1.5 s after its turn has begun. The first 25 ms are for one who is told
     * late that it has, the last 100 ms for the commit and the way to him. */
    LEAST_MS = 1025,
    SPREAD_MS = 375,
    AGAIN_MS = 1000,
};

/* A job on its way, through the port or through the change. */
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

static struct thought *thought_new(const struct table *table)
{
    struct thought *thought = calloc(1, sizeof *thought);
    if (thought == NULL)
        return NULL;
    thought->job = table->job;
    thought->rooms = table->rooms;
    thought->point = table->ai_point;
    return thought;
}

static void timer_due(void *arg);
static void play(struct table *table);

static bool arm(struct table *table, int64_t at_ms)
{
    table->ai_timer.fn = timer_due;
    table->ai_timer.arg = table;
    table->ai = AI_WAITS;
    return engine_timer_arm(table->rooms->engine, &table->ai_timer, at_ms) == TOCSIN_OK;
}

static void arm_again(struct table *table)
{
    if (arm(table, engine_now_up_ms(table->rooms->engine) + AGAIN_MS))
        return;
    table->ai = AI_IDLE;
    table->rooms->unpublished++;
}

static void ask(struct table *table)
{
    struct rooms *rooms = table->rooms;
    struct thought *thought = thought_new(table);
    if (thought == NULL) {
        arm_again(table);
        return;
    }
    table->ai = AI_THINKS;
    rooms->port.think(rooms->port.arg, &thought->job);
}

static void timer_due(void *arg)
{
    struct table *table = arg;
    if (table->ai_point == GOMOKU_NOWHERE)
        ask(table);
    else
        play(table);
}

static bool is_about(const struct room_job *job, const struct room *room)
{
    return job->game == room->game && job->step == room->step;
}

/* What it has thought of, or thinks of, is of no use any more. */
static void forget(struct table *table)
{
    struct rooms *rooms = table->rooms;
    engine_timer_cancel(rooms->engine, &table->ai_timer);
    rooms->stale += table->ai == AI_WAITS && table->ai_point != GOMOKU_NOWHERE;
    table->ai = AI_IDLE;
}

void room_ai_consider(struct table *table, const struct room *room)
{
    struct rooms *rooms = table->rooms;
    if (table->ai != AI_IDLE && room_ai_moves(room) && is_about(&table->job, room))
        return;
    forget(table);
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
    table->ai_point = GOMOKU_NOWHERE;
    table->ai_due_ms = engine_now_up_ms(rooms->engine) + LEAST_MS +
                       (int64_t)(rooms->port.chance(rooms->port.arg) % SPREAD_MS);
    ask(table);
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

/* The table that waits for this thought in this state; NULL when it is past. */
static struct table *table_of(const struct thought *thought, enum ai_state state)
{
    struct table *table =
        table_find(thought->rooms, (struct bytes){thought->job.room_id, ROOM_ID_BYTES});
    bool current = table != NULL && table->ai == state && table->job.game == thought->job.game &&
                   table->job.step == thought->job.step;
    return current ? table : NULL;
}

static void placed(void *arg, enum tocsin_status status)
{
    struct thought *thought = arg;
    struct table *table = table_of(thought, AI_PLACES);
    thought->rooms->stale += status == TOCSIN_STALE;
    if (table != NULL) {
        table->ai = AI_IDLE;
        if (tocsin_status_retryable(status))
            arm_again(table);
    }
    errand_end(&thought->errand);
    free(thought);
}

static void play(struct table *table)
{
    struct rooms *rooms = table->rooms;
    struct thought *thought = thought_new(table);
    if (thought == NULL) {
        arm_again(table);
        return;
    }
    table->ai = AI_PLACES;
    errand_begin(&rooms->errands, &thought->errand);
    engine_change(rooms->engine, false, place, placed, thought);
}

void rooms_thought(struct rooms *rooms, struct room_job *job, int point)
{
    struct thought *thought = thought_of(job);
    struct table *table = table_of(thought, AI_THINKS);
    free(thought);
    if (table == NULL) {
        rooms->stale++;
        return;
    }
    table->ai_point = point;
    bool due = engine_now_up_ms(rooms->engine) >= table->ai_due_ms;
    if (point == GOMOKU_NOWHERE)
        arm_again(table);
    else if (due || !arm(table, table->ai_due_ms)) /* too early is better than never */
        play(table);
}

/* ---- a restart */

void room_ai_note_load(struct rooms *rooms, const struct engine_head *head)
{
    if (head->mark == MARK_AI_MOVES)
        recall_note(&rooms->recall, head->ref);
}

static void read_one(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct rooms *rooms = arg;
    struct room room;
    if (status == TOCSIN_OK && room_decode(record, &room) == TOCSIN_OK) {
        struct table *table = table_get(rooms, record->key);
        if (table != NULL)
            room_ai_consider(table, &room);
        else
            rooms->unpublished++;
    }
}

enum tocsin_status rooms_recover(struct rooms *rooms)
{
    if (rooms->load_failed)
        return TOCSIN_NO_MEMORY;
    rooms->started_ms = engine_now_ms(rooms->engine);
    return recall_read(&rooms->recall, rooms->engine, read_one, rooms);
}

bool rooms_recovering(const struct rooms *rooms)
{
    return rooms->recall.count > 0;
}
