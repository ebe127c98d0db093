/* SPDX-License-Identifier: MIT */
/* Rooms as they are opened, read and entered: seats, keys, who is here. Games are in
 * rooms_game_test.c, clocks and crashes in rooms_clock_test.c, the AI in rooms_ai_test.c, chance
 * in rooms_sim_test.c. */
#include "support/rooms_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rooms_world world;

static const char *const anything = "{}";

/* ---- opening and reading */

TEST(a_new_room_is_answered_as_the_contract_says)
{
    enum outcome outcome;
    rooms_world_start(&world);
    const char *json = rooms_world_opened(
        &world, "{\"mode\":\"PVE\",\"rule\":\"RENJU\",\"turn_seconds\":45}", &outcome);
    char wanted[300];
    char id[32];
    assert_int_equal(outcome, OUTCOME_MADE);
    assert_int_equal(sscanf(at(json, "room_id"), "\"%16[0-9a-f]\"", id), 1);
    (void)snprintf(wanted, sizeof wanted,
                   "{\"room_id\":\"%s\",\"game_id\":\"%s-1\",\"mode\":\"PVE\",\"rule\":\"RENJU\","
                   "\"turn_seconds\":45,\"phase\":\"WAITING\"}",
                   id, id);
    assert_string_equal(json, wanted);
    rooms_world_release(&world);
}

TEST(a_wish_that_makes_no_sense_is_refused_with_the_field)
{
    static const struct {
        const char *body;
        const char *wanted; /* NULL: it is fine */
    } rows[] = {
        {"{}", NULL},
        {"{\"mode\":\"PVP\",\"rule\":\"STANDARD\",\"turn_seconds\":5}", NULL},
        {"{\"turn_seconds\":3600}", NULL},
        {"{\"clock\":{\"mode\":\"fischer\",\"bank\":\"5m\",\"extra\":3000}}", NULL},
        {"{\"clock\":{\"mode\":\"byoyomi\",\"bank\":0,\"extra\":\"30s\",\"periods\":3}}", NULL},
        {"{\"clock\":{\"mode\":\"turn\"},\"turn_seconds\":7}", NULL},
        {"{\"clock\":{\"bank\":\"PT20S\"}}", NULL},
        {"{\"mode\":\"PVE\",\"ai_timed\":true}", NULL},
        {"{\"turn_seconds\":0}", "turn_seconds: 0"},
        {"{\"turn_seconds\":3601}", "turn_seconds: 3601"},
        {"{\"turn_seconds\":\"30\"}", "turn_seconds"},
        {"{\"mode\":\"pvp\"}", "mode"},
        {"{\"rule\":\"SWAP2\"}", "rule"},
        {"{\"colour\":1}", "colour"},
        {"{\"ai_timed\":true}", "ai_timed"},
        {"{\"clock\":{\"mode\":\"hourglass\"}}", "mode"},
        {"{\"clock\":{\"mode\":\"fischer\"}}", "clock.bank"},
        {"{\"clock\":{\"mode\":\"fischer\",\"bank\":\"5m\"},\"turn_seconds\":30}", "turn_seconds"},
        {"{\"clock\":{\"bank\":\"5m\"},\"turn_seconds\":30}", "turn_seconds"},
        {"{\"clock\":{\"mode\":\"byoyomi\",\"bank\":0,\"extra\":1000}}", "clock.periods"},
        {"{\"clock\":{\"mode\":\"delay\",\"bank\":0,\"extra\":0}}", "clock."},
        {"{\"clock\":{\"bank\":\"a while\"}}", "bank"},
        {"{\"clock\":{\"bank\":\"99999w\"}}", "clock.bank"},
        {"[]", "object"},
        {"{", "byte"},
    };
    rooms_world_start(&world);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct room_wish wish;
        struct tocsin_why why = {""};
        enum tocsin_status status =
            rooms_read_wish(world.rooms, bytes_of(rows[i].body), &wish, &why);
        bool as_wanted = rows[i].wanted == NULL
                             ? status == TOCSIN_OK
                             : status == TOCSIN_INVALID && strstr(why.text, rows[i].wanted) != NULL;
        if (!as_wanted)
            fail_msg("%s: %d %s", rows[i].body, status, why.text);
    }
    rooms_world_release(&world);
}

TEST(more_rooms_than_the_limit_are_too_many)
{
    enum outcome outcome;
    rooms_world_start(&world);
    rooms_world_crash(&world);
    world.limits.rooms = 2;
    rooms_world_again(&world);
    (void)rooms_world_open(&world, anything);
    (void)rooms_world_open(&world, anything);
    (void)rooms_world_opened(&world, anything, &outcome);
    assert_int_equal(outcome, OUTCOME_TOO_MANY);
    rooms_world_release(&world);
}

struct page {
    bool done;
    char text[32768];
};

static void got_page(void *arg, enum outcome outcome, uint64_t rev, struct bytes json)
{
    struct page *page = arg;
    (void)rev;
    assert_int_equal(outcome, OUTCOME_OK);
    (void)snprintf(page->text, sizeof page->text, "%.*s", (int)json.size, json.at);
    page->done = true;
}

TEST(rooms_are_listed_page_by_page)
{
    struct players players;
    struct page page = {0};
    char wanted[400];
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    assert_string_equal(rooms_world_resume(&world, 3, players.room, ""), "");
    char other[WORLD_ID_BYTES];
    memcpy(other, rooms_world_open(&world, "{\"mode\":\"PVE\"}"), sizeof other);
    struct rooms_query query = {.limit = 1};
    rooms_list(world.rooms, &query, got_page, &page);
    rooms_world_settle(&world);
    assert_true(page.done);
    (void)snprintf(wanted, sizeof wanted,
                   "[{\"room_id\":\"%s\",\"game_id\":\"%s-1\",\"mode\":\"PVP\",\"rule\":"
                   "\"STANDARD\",\"turn_seconds\":30,\"phase\":\"PLAYING\",\"clock\":{\"mode\":"
                   "\"turn\",\"bankMs\":30000,\"extraMs\":0,\"periods\":0},\"players\":2,"
                   "\"spectators\":1}]",
                   players.room, players.room);
    assert_string_equal(at(page.text, "rooms"), wanted);
    query.after = strtoull(at(page.text, "next"), NULL, 10);
    assert_true(query.after > 0);
    page.done = false;
    rooms_list(world.rooms, &query, got_page, &page);
    rooms_world_settle(&world);
    (void)snprintf(wanted, sizeof wanted, "\"%s\"", other);
    assert_string_equal(at(page.text, "rooms.0.room_id"), wanted);
    assert_string_equal(at(page.text, "rooms.0.players"), "1"); /* the AI */
    assert_string_equal(at(page.text, "next"), "null");
    rooms_world_release(&world);
}

enum { MANY = 40 };

/* Which of the many a page has, in its order: "7 5 3"; page after page. */
static const char *listed(char (*ids)[WORLD_ID_BYTES], struct rooms_query query)
{
    static char text[400];
    static struct page page;
    text[0] = '\0';
    do {
        page.done = false;
        rooms_list(world.rooms, &query, got_page, &page);
        rooms_world_settle(&world);
        assert_true(page.done);
        for (uint32_t i = 0; i < query.limit; i++) {
            char path[32];
            char id[WORLD_ID_BYTES] = "";
            int which = 0;
            (void)snprintf(path, sizeof path, "rooms.%u.room_id", i);
            if (sscanf(at(page.text, path), "\"%16[0-9a-f]\"", id) != 1)
                break;
            while (which < MANY && strcmp(ids[which], id) != 0)
                which++;
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d",
                           text[0] == '\0' ? "" : " ", which);
        }
        query.after = strtoull(at(page.text, "next"), NULL, 10);
    } while (query.after > 0);
    return text;
}

TEST(the_newest_rooms_come_first_and_by_phase)
{
    static char ids[MANY][WORLD_ID_BYTES];
    struct players players;
    rooms_world_start(&world);
    for (int i = 0; i < 6; i++)
        memcpy(ids[i], rooms_world_open(&world, anything), WORLD_ID_BYTES);
    rooms_world_play(&world, anything, &players);
    memcpy(ids[6], players.room, WORLD_ID_BYTES);
    memcpy(ids[7], rooms_world_open(&world, anything), WORLD_ID_BYTES);
    for (uint32_t limit = 1; limit <= 9; limit += 2) {
        struct rooms_query newest = {.limit = limit, .newest = true};
        assert_string_equal(listed(ids, newest), "7 6 5 4 3 2 1 0");
        newest.phase = ROOM_WAITING;
        assert_string_equal(listed(ids, newest), "7 5 4 3 2 1 0");
        newest.phase = ROOM_PLAYING;
        assert_string_equal(listed(ids, newest), "6");
        newest.phase = ROOM_ENDED;
        assert_string_equal(listed(ids, newest), "");
        struct rooms_query other = {.limit = limit, .phase = ROOM_WAITING};
        assert_string_equal(listed(ids, other), "0 1 2 3 4 5 7");
    }
    /* What it changed into meanwhile counts, and what is no more is not there. */
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    struct rooms_query ended = {.limit = 3, .newest = true, .phase = ROOM_ENDED};
    assert_string_equal(listed(ids, ended), "6");
    rooms_world_pass(&world, world.limits.waiting_idle_ms + 1);
    struct rooms_query all = {.limit = 100, .newest = true};
    assert_string_equal(listed(ids, all), "6");
    for (int i = 8; i < MANY; i++)
        memcpy(ids[i], rooms_world_open(&world, anything), WORLD_ID_BYTES);
    char before[400];
    (void)snprintf(before, sizeof before, "%s", listed(ids, all));
    assert_string_equal(before, "39 38 37 36 35 34 33 32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 "
                                "17 16 15 14 13 12 11 10 9 8 6");
    rooms_world_crash(&world);
    rooms_world_again(&world);
    all.limit = 7;
    assert_string_equal(listed(ids, all), before);
    rooms_world_release(&world);
}

TEST(the_whole_room_has_every_field_of_the_contract)
{
    struct players players;
    char wanted[2000];
    char board[GOMOKU_POINTS + 1];
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":20}", &players);
    assert_string_equal(rooms_world_place(&world, &players, 1, 2, 0), "");
    rooms_world_pass(&world, 1500);
    rooms_gone(world.rooms, 2); /* which is told in a moment */
    memset(board, '.', sizeof board);
    board[2] = 'X';
    board[GOMOKU_POINTS] = '\0';
    (void)snprintf(
        wanted, sizeof wanted,
        "{\"roomId\":\"%s\",\"gameId\":\"%s-1\",\"mode\":\"PVP\",\"rule\":\"STANDARD\","
        "\"turnSeconds\":20,\"phase\":\"PLAYING\",\"endedBy\":null,"
        "\"seats\":{\"X\":{\"taken\":true,\"ready\":true,\"connected\":true,\"ai\":false,"
        "\"wantsRestart\":false},"
        "\"O\":{\"taken\":true,\"ready\":true,\"connected\":false,\"ai\":false,"
        "\"wantsRestart\":false}},"
        "\"state\":{\"gameId\":\"%s-1\",\"step\":1,\"board\":\"%s\",\"current\":\"O\","
        "\"over\":false,\"winner\":null,\"lastMove\":{\"x\":2,\"y\":0},\"line\":null},"
        "\"series\":{\"X\":0,\"O\":0,\"draws\":0},\"spectators\":0,"
        "\"clock\":{\"side\":\"O\",\"leftMs\":18500,\"deadlineEpochMs\":1704067220000,"
        "\"running\":true,\"overdue\":false,\"onTimeout\":\"resign\",\"graceMs\":0,"
        "\"creditedMs\":0,"
        "\"mode\":\"turn\",\"rules\":{\"mode\":\"turn\",\"bankMs\":20000,\"extraMs\":0,"
        "\"periods\":0},\"banks\":null},\"seq\":%s,"
        "\"room_id\":\"%s\",\"game_id\":\"%s-1\",\"turn_seconds\":20}",
        players.room, players.room, players.room, board,
        at(rooms_world_last(&world, 0, "/topic"), "seq"), players.room, players.room);
    assert_string_equal(rooms_world_room(&world, players.room), wanted);
    rooms_world_release(&world);
}

/* ---- seats */

/* C-10. */
TEST(the_first_two_get_seats_and_the_third_watches)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_seat(&world, anything, &players);
    assert_string_equal(rooms_world_side(&world, 1), "\"X\"");
    assert_string_equal(rooms_world_side(&world, 2), "\"O\"");
    assert_string_equal(rooms_world_resume(&world, 3, players.room, ""), "");
    char wanted[200];
    (void)snprintf(wanted, sizeof wanted,
                   "{\"roomId\":\"%s\",\"gameId\":\"%s-1\",\"type\":\"SEAT\",\"seq\":%s,"
                   "\"side\":null,\"seatKey\":null}",
                   players.room, players.room, at(rooms_world_last(&world, 0, "/topic"), "seq"));
    assert_string_equal(rooms_world_last(&world, 3, "gomoku.seat"), wanted);
    assert_string_equal(at(rooms_world_last(&world, 3, "gomoku.full"), "mySide"), "null");
    assert_string_equal(at(rooms_world_last(&world, 2, "gomoku.full"), "mySide"), "\"O\"");
    assert_string_equal(at(rooms_world_last(&world, 2, "gomoku.full"), "phase"), "\"WAITING\"");
    assert_string_equal(at(rooms_world_last(&world, 2, "gomoku.full"), "type"), "\"FULL\"");
    rooms_world_forget(&world);
    rooms_world_pass(&world, 100);
    assert_string_equal(at(rooms_world_last(&world, 0, "/topic"), "payload.spectators"), "1");
    rooms_world_release(&world);
}

TEST(a_key_gives_its_seat_back_and_sends_the_older_connection_away)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    assert_string_equal(rooms_world_resume(&world, 7, players.room, players.key[0]), "");
    assert_string_equal(rooms_world_side(&world, 7), "\"X\"");
    const char *kicked = rooms_world_last(&world, 1, "gomoku.kicked");
    assert_string_equal(at(kicked, "type"), "\"KICKED\"");
    assert_string_equal(at(kicked, "seq"), at(rooms_world_last(&world, 0, "/topic"), "seq"));
    /* The older one has the key, but not the seat. */
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "FORBIDDEN");
    assert_string_equal(rooms_world_at(&world, &players, "state.step"), "0");
    /* It may come back, and then the newer is out. */
    assert_string_equal(rooms_world_resume(&world, 1, players.room, players.key[0]), "");
    assert_string_not_equal(rooms_world_last(&world, 7, "gomoku.kicked"), "");
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    rooms_world_release(&world);
}

TEST(a_key_is_good_after_a_restart_and_a_foreign_one_is_not)
{
    struct players players;
    struct players others;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    rooms_world_seat(&world, anything, &others);
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_string_equal(rooms_world_resume(&world, 11, players.room, players.key[1]), "");
    assert_string_equal(rooms_world_side(&world, 11), "\"O\"");
    assert_string_equal(rooms_world_resume(&world, 12, players.room, others.key[0]), "BAD_SEAT");
    assert_string_equal(rooms_world_resume(&world, 12, players.room, "0"), "BAD_SEAT");
    assert_string_equal(at(rooms_world_last(&world, 12, "errors"), "code"), "\"BAD_SEAT\"");
    assert_string_equal(rooms_world_last(&world, 12, "gomoku.seat"), "");
    assert_string_equal(rooms_world_resume(&world, 12, "0123456789abcdef", ""), "NOT_FOUND");
    assert_string_equal(at(rooms_world_last(&world, 12, "errors"), "gameId"), "null");
    rooms_world_release(&world);
}

TEST(who_asks_twice_without_a_key_gets_one_seat)
{
    rooms_world_start(&world);
    char room[WORLD_ID_BYTES];
    memcpy(room, rooms_world_open(&world, anything), sizeof room);
    struct said said[2];
    struct room_command command = {.verb = ROOM_RESUME, .session = 1, .room_id = bytes_of(room)};
    rooms_world_begin(&world, &said[0], &command);
    rooms_world_begin(&world, &said[1], &command); /* before the first is durable */
    rooms_world_settle(&world);
    assert_string_equal(said[1].code, "");
    assert_string_equal(rooms_world_side(&world, 1), "\"X\"");
    char key[ROOM_KEY_BYTES + 1];
    char again[ROOM_KEY_BYTES + 1];
    rooms_world_key(&world, 1, key);
    assert_string_equal(rooms_world_resume(&world, 1, room, ""), ""); /* and after it */
    rooms_world_key(&world, 1, again);
    assert_string_equal(again, key);
    assert_string_equal(at(rooms_world_room(&world, room), "seats.O.taken"), "false");
    assert_string_equal(rooms_world_resume(&world, 2, room, key), ""); /* the key is good */
    assert_string_equal(rooms_world_side(&world, 2), "\"X\"");
    /* The first is not let in again without it: somebody holds the seat. */
    assert_string_equal(rooms_world_resume(&world, 1, room, ""), "");
    assert_string_equal(rooms_world_side(&world, 1), "\"O\"");
    rooms_world_release(&world);
}

TEST(a_session_that_is_gone_is_told_nothing_and_is_seen_to_be_gone)
{
    struct players players;
    struct said said;
    rooms_world_start(&world);
    rooms_world_seat(&world, anything, &players);
    rooms_world_forget(&world);
    rooms_world_begin(&world, &said,
                      &(struct room_command){.verb = ROOM_RESUME,
                                             .session = 2,
                                             .room_id = bytes_of(players.room),
                                             .seat_key = bytes_of(players.key[1])});
    rooms_gone(world.rooms, 2);
    rooms_world_settle(&world);
    assert_true(said.done);
    rooms_world_begin(&world, &said,
                      &(struct room_command){
                          .verb = ROOM_RESUME, .session = 4, .room_id = bytes_of(players.room)});
    rooms_gone(world.rooms, 4);
    rooms_world_pass(&world, 100);
    assert_string_equal(rooms_world_last(&world, 4, ""), "");
    const char *snapshot = rooms_world_last(&world, 0, "/topic");
    assert_string_equal(at(snapshot, "type"), "\"SNAPSHOT\"");
    assert_string_equal(at(snapshot, "payload.seats.O.connected"), "false");
    assert_string_equal(at(snapshot, "payload.seats.X.connected"), "true");
    assert_string_equal(at(snapshot, "payload.spectators"), "0");
    rooms_world_release(&world);
}

TEST(many_who_come_at_once_are_told_of_once)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_seat(&world, anything, &players);
    rooms_world_pass(&world, 200);
    rooms_world_forget(&world);
    for (uint64_t session = 10; session < 40; session++)
        assert_string_equal(rooms_world_resume(&world, session, players.room, ""), "");
    rooms_world_pass(&world, 100);
    assert_string_equal(at(rooms_world_last(&world, 0, "/topic"), "payload.spectators"), "30");
    assert_string_equal(rooms_world_types(&world), "SNAPSHOT");
    rooms_world_release(&world);
}

TEST(a_session_is_in_so_many_rooms_and_no_more)
{
    rooms_world_start(&world);
    for (uint32_t i = 0; i < world.limits.session_rooms; i++)
        assert_string_equal(rooms_world_resume(&world, 1, rooms_world_open(&world, anything), ""),
                            "");
    char room[WORLD_ID_BYTES];
    memcpy(room, rooms_world_open(&world, anything), sizeof room);
    assert_string_equal(rooms_world_resume(&world, 1, room, ""), "RATE_LIMITED");
    assert_string_equal(at(rooms_world_room(&world, room), "seats.X.taken"), "false");
    rooms_gone(world.rooms, 1);
    assert_string_equal(rooms_world_resume(&world, 1, room, ""), "");
    rooms_world_release(&world);
}

static bool no_key_in(void *arg, const struct store_event *event)
{
    const char *key = arg;
    assert_null(memmem(event->doc.at, event->doc.size, key, ROOM_KEY_BYTES));
    return true;
}

static bool no_key_in_doc(void *arg, const struct store_record *record)
{
    const char *key = arg;
    assert_null(memmem(record->doc.at, record->doc.size, key, ROOM_KEY_BYTES));
    return true;
}

TEST(a_seat_key_is_in_no_frame_no_event_and_no_record)
{
    struct players players;
    uint64_t end;
    struct tocsin_why why;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    rooms_world_win(&world, &players, 1);
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_RESTART), "");
    struct store *disk = world.sim.under;
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < world.heard_count; j++) {
            const struct heard *heard = &world.heard[j];
            bool own =
                heard->session == (uint64_t)i + 1 && strcmp(heard->where, "gomoku.seat") == 0;
            assert_true(own || strstr(heard->text, players.key[i]) == NULL);
        }
        assert_null(strstr(rooms_world_room(&world, players.room), players.key[i]));
        assert_int_equal(disk->ops->events(disk, 0, 10000, no_key_in, players.key[i], &end, &why),
                         TOCSIN_OK);
        assert_int_equal(disk->ops->list(disk, bytes_of("room"), 0, 10000, no_key_in_doc,
                                         players.key[i], &end, &why),
                         TOCSIN_OK);
    }
    rooms_world_release(&world);
}

/* ---- rooms that nobody uses */

/* One in which no game has begun: ten minutes after the last has left. */
TEST(a_room_that_nobody_plays_in_is_dropped_soon)
{
    struct players players;
    rooms_world_start(&world);
    int64_t idle_ms = world.limits.waiting_idle_ms;
    assert_int_equal(idle_ms, 600000);
    rooms_world_seat(&world, anything, &players);
    char other[WORLD_ID_BYTES];
    memcpy(other, rooms_world_open(&world, anything), sizeof other);
    rooms_world_pass(&world, idle_ms - 1000);
    assert_string_equal(at(rooms_world_room(&world, other), "phase"), "\"WAITING\"");
    rooms_world_pass(&world, 2000);
    assert_string_equal(rooms_world_room(&world, other), "");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"WAITING\"");
    rooms_world_pass(&world, idle_ms / 2);
    rooms_gone(world.rooms, 1);
    rooms_gone(world.rooms, 2);
    rooms_world_pass(&world, idle_ms - 1000);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"WAITING\"");
    rooms_world_pass(&world, 2000);
    assert_string_equal(rooms_world_room(&world, players.room), "");
    rooms_world_release(&world);
}

/* Who was in it must be able to come back first. */
TEST(a_room_is_not_dropped_just_after_the_start)
{
    struct players players;
    rooms_world_start(&world);
    int64_t idle_ms = world.limits.waiting_idle_ms;
    rooms_world_seat(&world, anything, &players);
    rooms_world_crash(&world);
    clock_manual_advance(&world.clock, 2 * idle_ms * 1000000);
    rooms_world_again(&world);
    rooms_world_pass(&world, idle_ms - 1000);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"WAITING\"");
    rooms_world_pass(&world, 2000);
    assert_string_equal(rooms_world_room(&world, players.room), "");
    rooms_world_release(&world);
}

TEST(a_room_that_nobody_uses_is_dropped_and_one_with_somebody_is_not)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, anything, &players);
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    rooms_world_pass(&world, world.limits.idle_ms + 1);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"ENDED\""); /* two are here */
    rooms_gone(world.rooms, 1);
    rooms_gone(world.rooms, 2);
    rooms_world_pass(&world, world.limits.idle_ms / 2);
    assert_string_equal(rooms_world_resume(&world, 5, players.room, players.key[0]),
                        ""); /* that counts */
    rooms_gone(world.rooms, 5);
    rooms_world_pass(&world, world.limits.idle_ms / 2 + 1000);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"ENDED\"");
    rooms_world_pass(&world, world.limits.idle_ms / 2);
    assert_string_equal(rooms_world_room(&world, players.room), "");
    assert_string_equal(rooms_world_resume(&world, 5, players.room, players.key[0]), "NOT_FOUND");
    struct rooms_stats stats;
    rooms_describe(world.rooms, &stats);
    assert_int_equal(stats.waiting + stats.playing + stats.ended, 0);
    assert_int_equal(stats.sessions, 0);
    rooms_world_release(&world);
}

TEST(a_long_turn_outlasts_an_idle_room)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"clock\":{\"mode\":\"turn\",\"bank\":\"3d\"}}", &players);
    rooms_gone(world.rooms, 1);
    rooms_gone(world.rooms, 2);
    rooms_world_pass(&world, INT64_C(2) * 24 * 3600 * 1000);
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"PLAYING\"");
    rooms_world_pass(&world, INT64_C(24) * 3600 * 1000);
    assert_string_equal(rooms_world_at(&world, &players, "state.winner"), "\"O\"");
    rooms_world_pass(&world, world.limits.idle_ms + 1);
    assert_string_equal(rooms_world_room(&world, players.room), "");
    rooms_world_release(&world);
}
