/* SPDX-License-Identifier: MIT */
#include "service/task/zones.h"

#include <stdlib.h>

void zones_release(struct zones *zones)
{
    for (size_t i = 0; i < zones->count; i++)
        zone_destroy(zones->list[i]);
    free(zones->list);
    *zones = (struct zones){0};
}

const struct zone *zones_find(const struct zones *zones, struct bytes name)
{
    for (size_t i = 0; i < zones->count; i++) {
        if (bytes_are(name, zone_name(zones->list[i])))
            return zones->list[i];
    }
    return NULL;
}

struct zone_read {
    struct engine_read read; /* first */
    struct zones *zones;
    zones_fn fn;
    void *arg;
    struct zone *zone;
    enum tocsin_status status;
    struct tocsin_why why;
    size_t name_size;
    char name[ZONE_NAME_MAX];
};

static void zone_run(struct engine_read *read, struct store *store)
{
    struct zone_read *self = (struct zone_read *)read;
    (void)store;
    self->status = zone_create(NULL, self->name, self->name_size, &self->zone, &self->why);
}

static bool zones_add(struct zones *zones, struct zone *zone)
{
    if (zones->count == zones->room) {
        size_t room = zones->room == 0 ? 16 : zones->room * 2;
        struct zone **list = realloc(zones->list, room * sizeof(struct zone *));
        if (list == NULL)
            return false;
        zones->list = list;
        zones->room = room;
    }
    zones->list[zones->count++] = zone;
    return true;
}

static void zone_done(struct engine_read *read)
{
    struct zone_read *self = (struct zone_read *)read;
    struct bytes name = {self->name, self->name_size};
    bool have = zones_find(self->zones, name) != NULL; /* two may have wanted it at once */
    if (self->status == TOCSIN_OK && (have || !zones_add(self->zones, self->zone)))
        zone_destroy(self->zone);
    if (self->status == TOCSIN_OK && zones_find(self->zones, name) == NULL)
        self->status = TOCSIN_NO_MEMORY;
    self->fn(self->arg, self->status, &self->why);
    free(self);
}

void zones_want(struct zones *zones, struct engine *engine, struct bytes name, zones_fn fn,
                void *arg)
{
    struct tocsin_why why = {"tz: no memory"};
    if (zones_find(zones, name) != NULL) {
        fn(arg, TOCSIN_OK, &why);
        return;
    }
    struct zone_read *self = calloc(1, sizeof *self);
    if (self == NULL || name.size > sizeof self->name) {
        free(self);
        fn(arg, TOCSIN_NO_MEMORY, &why);
        return;
    }
    self->read = (struct engine_read){.run = zone_run, .done = zone_done};
    self->zones = zones;
    self->fn = fn;
    self->arg = arg;
    self->name_size = name.size;
    memcpy(self->name, name.at, name.size);
    engine_read(engine, &self->read);
}
