/* SPDX-License-Identifier: MIT */
/* Seats whose player has left before the first game: who comes next may have them, in time. */
#include "support/rooms_world.h"

#include <string.h>

static struct rooms_world world;
static struct players players;

static const char *const anything = "{}";

enum { KEPT_MS = 30000 };

static void seat_two(void)
{
    rooms_world_start(&world);
    rooms_world_seat(&world, anything, &players);
    rooms_world_pass(&world, 1000 * 1000); /* longer than a seat is kept: but they are here */
}

static void assert_side(uint64_t session, const char *key, const char *wanted)
{
    assert_string_equal(rooms_world_resume(&world, session, players.room, key), "");
    assert_string_equal(rooms_world_side(&world, session), wanted);
}

TEST(a_seat_that_was_left_before_the_first_game_is_free_after_a_while)
{
    char key[ROOM_KEY_BYTES + 1];
    seat_two();
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_READY), "");
    assert_side(3, "", "null"); /* both are here */
    rooms_gone(world.rooms, 2);
    rooms_world_pass(&world, KEPT_MS - 1);
    assert_side(3, "", "null");
    assert_string_equal(rooms_world_at(&world, &players, "seats.O.ready"), "true");
    rooms_world_pass(&world, 1);
    assert_side(3, "", "\"O\"");
    assert_string_equal(rooms_world_at(&world, &players, "seats.O.ready"), "false");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"WAITING\"");
    assert_string_equal(rooms_world_resume(&world, 4, players.room, players.key[1]), "BAD_SEAT");
    assert_string_equal(rooms_world_by(&world, &players, 2, ROOM_READY), "BAD_SEAT");
    /* The new key is as good as any, and the other seat is as it was. */
    rooms_world_key(&world, 3, key);
    rooms_gone(world.rooms, 3);
    rooms_world_crash(&world);
    rooms_world_again(&world);
    assert_side(5, key, "\"O\"");
    assert_side(6, players.key[0], "\"X\"");
    rooms_world_release(&world);
}

TEST(who_comes_back_with_the_key_has_the_seat_again)
{
    seat_two();
    for (int i = 0; i < 3; i++) {
        rooms_gone(world.rooms, 2);
        rooms_world_pass(&world, KEPT_MS - 1);
        assert_side(2, players.key[1], "\"O\"");
    }
    rooms_gone(world.rooms, 2);
    rooms_world_pass(&world, 10 * KEPT_MS);
    assert_side(2, players.key[1], "\"O\""); /* nobody else wanted it */
    assert_side(3, "", "null");
    rooms_world_release(&world);
}

TEST(after_a_restart_seats_are_kept_from_the_start_on)
{
    seat_two();
    rooms_world_crash(&world);
    clock_manual_advance(&world.clock, 10 * KEPT_MS * INT64_C(1000000));
    rooms_world_again(&world);
    assert_side(3, "", "null");
    rooms_world_pass(&world, KEPT_MS - 1);
    assert_side(1, players.key[0], "\"X\"");
    assert_side(3, "", "null");
    rooms_world_pass(&world, 1);
    assert_side(3, "", "\"O\"");
    assert_side(4, "", "null");
    rooms_world_release(&world);
}

TEST(a_seat_of_a_game_is_never_given_away)
{
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":3600}", &players);
    rooms_gone(world.rooms, 2);
    rooms_world_pass(&world, 10 * KEPT_MS);
    assert_side(3, "", "null"); /* it is on */
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESIGN), "");
    rooms_world_pass(&world, 10 * KEPT_MS);
    assert_side(3, "", "null"); /* it is over */
    assert_string_equal(rooms_world_by(&world, &players, 1, ROOM_RESTART), "");
    assert_string_equal(rooms_world_at(&world, &players, "phase"), "\"WAITING\"");
    rooms_world_pass(&world, 10 * KEPT_MS);
    assert_side(3, "", "null"); /* another waits for them */
    assert_side(2, players.key[1], "\"X\"");
    rooms_world_release(&world);
}

/* Who has taken a seat, or come back to it, is not here before that is durable. */
TEST(a_seat_is_not_taken_from_who_is_about_to_sit_down)
{
    struct said said[4];
    char room[WORLD_ID_BYTES];
    rooms_world_start(&world);
    memcpy(room, rooms_world_open(&world, anything), sizeof room);
    rooms_world_pass(&world, 2 * KEPT_MS);
    for (uint64_t session = 1; session <= 3; session++)
        rooms_world_begin(&world, &said[session],
                          &(struct room_command){
                              .verb = ROOM_RESUME, .session = session, .room_id = bytes_of(room)});
    rooms_world_settle(&world);
    assert_string_equal(rooms_world_side(&world, 1), "\"X\"");
    assert_string_equal(rooms_world_side(&world, 2), "\"O\"");
    assert_string_equal(rooms_world_side(&world, 3), "null");
    char key[ROOM_KEY_BYTES + 1];
    rooms_world_key(&world, 2, key);
    rooms_gone(world.rooms, 2);
    rooms_world_pass(&world, KEPT_MS);
    rooms_world_begin(&world, &said[0],
                      &(struct room_command){.verb = ROOM_RESUME,
                                             .session = 4,
                                             .room_id = bytes_of(room),
                                             .seat_key = bytes_of(key)});
    assert_string_equal(rooms_world_resume(&world, 5, room, ""), "");
    assert_string_equal(rooms_world_side(&world, 4), "\"O\"");
    assert_string_equal(rooms_world_side(&world, 5), "null");
    rooms_world_release(&world);
}
