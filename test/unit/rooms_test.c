/* SPDX-License-Identifier: MIT */
/* Rooms as their players see them: seats, turns, refusals, frames. Clocks and crashes are in
 * rooms_clock_test.c. */
#include "support/rooms_world.h"

#include <stdio.h>
#include <string.h>

static struct rooms_world world;

TEST(a_room_is_played_from_the_first_seat_to_the_timeout)
{
    struct players players;
    rooms_world_start(&world);
    rooms_world_play(&world, "{\"turn_seconds\":30}", &players);
    rooms_world_forget(&world);
    assert_string_equal(rooms_world_place(&world, &players, 1, 7, 7), "");
    assert_string_equal(rooms_world_types(&world), "STATE SNAPSHOT TICK");
    rooms_world_pass(&world, 29999);
    assert_string_equal(at(rooms_world_room(&world, players.room), "phase"), "\"PLAYING\"");
    rooms_world_forget(&world);
    rooms_world_pass(&world, 1);
    assert_string_equal(rooms_world_types(&world), "TIMEOUT STATE SNAPSHOT");
    assert_string_equal(at(rooms_world_room(&world, players.room), "state.winner"), "\"X\"");
    rooms_world_release(&world);
}
