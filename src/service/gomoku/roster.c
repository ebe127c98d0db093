/* SPDX-License-Identifier: MIT */
#include "service/gomoku/roster.h"

#include <assert.h>
#include <stdlib.h>

void roster_release(struct roster *roster)
{
    number_map_release(&roster->places);
    free(roster->rows);
    *roster = (struct roster){0};
}

void *roster_get(const struct roster *roster, uint64_t number)
{
    uint32_t place;
    return number_map_get(&roster->places, number, &place) ? roster->rows[place].item : NULL;
}

bool roster_add(struct roster *roster, uint64_t number, void *item)
{
    uint32_t place = roster->places.count;
    assert(number != 0 && roster_get(roster, number) == NULL);
    if (place == roster->room) {
        uint32_t room = roster->room == 0 ? 16 : roster->room * 2;
        struct roster_row *rows = realloc(roster->rows, room * sizeof *rows);
        if (rows == NULL)
            return false;
        roster->rows = rows;
        roster->room = room;
    }
    if (!number_map_put(&roster->places, number, place))
        return false;
    roster->rows[place] = (struct roster_row){number, item};
    return true;
}

void roster_drop(struct roster *roster, uint64_t number)
{
    uint32_t place;
    if (!number_map_get(&roster->places, number, &place))
        return;
    number_map_drop(&roster->places, number);
    uint32_t last = roster->places.count;
    if (place == last)
        return;
    roster->rows[place] = roster->rows[last];
    (void)number_map_put(&roster->places, roster->rows[place].number, place);
}
