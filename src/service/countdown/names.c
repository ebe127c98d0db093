/* SPDX-License-Identifier: MIT */
/* The names by which other programs find a countdown in a shared store (C-03, C-04), committed
 * with every version of it:
 *
 *   state     countdown:KEY          countdown:holder:KEY
 *   running   {"key":…,"owner":…,    (none)
 *              "version":…,
 *              "deadlineEpochMs":…}
 *   firing    as before              the node; goes by itself after holder_ttl_ms
 *   others    (none)                 (none)
 *
 * What holds a timeout and what counts down never share a name (C-16): a key that begins with
 * "holder:", after any number of colons, has one colon more in its own name. So the state of
 * "holder:x" is countdown::holder:x, and that of ":holder:x" countdown:::holder:x.
 */

#include <assert.h>
#include <string.h>

#include "service/countdown/countdowns_inside.h"

#define STATE_PREFIX "countdown:"
#define HOLDER_WORD "holder:"

enum { NAME_BYTES_MAX = sizeof STATE_PREFIX + sizeof HOLDER_WORD + COUNTDOWN_KEY_BYTES_MAX };

struct name {
    char text[NAME_BYTES_MAX];
    size_t size;
};

static void add(struct name *name, const char *at, size_t size)
{
    assert(size <= sizeof name->text - name->size);
    memcpy(name->text + name->size, at, size);
    name->size += size;
}

static bool looks_like_a_holder(struct bytes key)
{
    size_t at = 0;
    while (at < key.size && key.at[at] == ':')
        at++;
    return key.size - at >= sizeof HOLDER_WORD - 1 &&
           memcmp(key.at + at, HOLDER_WORD, sizeof HOLDER_WORD - 1) == 0;
}

static void mirror_state(struct change *change, struct bytes key, struct bytes value)
{
    struct name name = {.size = 0};
    add(&name, STATE_PREFIX, sizeof STATE_PREFIX - 1);
    if (looks_like_a_holder(key))
        add(&name, ":", 1);
    add(&name, key.at, key.size);
    change_mirror(change, (struct bytes){name.text, name.size}, value, 0);
}

static void mirror_holder(struct change *change, struct bytes key, struct bytes node,
                          int64_t ttl_ms)
{
    struct name name = {.size = 0};
    add(&name, STATE_PREFIX HOLDER_WORD, sizeof STATE_PREFIX HOLDER_WORD - 1);
    add(&name, key.at, key.size);
    change_mirror(change, (struct bytes){name.text, name.size}, node, ttl_ms);
}

static void set_state(struct countdowns *all, struct change *change, const struct countdown *it)
{
    struct json_writer writer;
    buffer_clear(&all->doc);
    json_writer_init(&writer, &all->doc);
    json_write_object(&writer);
    json_field_bytes(&writer, "key", it->key);
    json_field_bytes(&writer, "owner", it->owner);
    json_field_bytes(&writer, "version", it->version);
    json_field_int64(&writer, "deadlineEpochMs", it->told_ms);
    json_write_object_end(&writer);
    if (buffer_status(&all->doc) == TOCSIN_OK)
        mirror_state(change, it->key, (struct bytes){all->doc.data, all->doc.size});
    else
        change_event_lost(change, buffer_status(&all->doc));
}

enum tocsin_status names_before_put(struct countdowns *all, struct change *change,
                                    const struct countdown *it)
{
    static const struct bytes none = {NULL, 0};
    struct engine_record record;
    if (!engine_shared(all->engine))
        return TOCSIN_OK;
    enum tocsin_status status = change_get(change, all->kind, it->key, &record);
    bool there = status == TOCSIN_OK || status == TOCSIN_DAMAGED;
    if (!there && status != TOCSIN_NONE)
        return status;
    bool was_firing = there && record.mark == COUNTDOWN_FIRING;
    bool was_running = was_firing || (there && record.mark == COUNTDOWN_RUNNING);
    if (it->state == COUNTDOWN_RUNNING)
        set_state(all, change, it);
    else if (it->state != COUNTDOWN_FIRING && was_running)
        mirror_state(change, it->key, none);
    if (it->state == COUNTDOWN_FIRING)
        mirror_holder(change, it->key, all->node, all->holder_ttl_ms);
    else if (was_firing)
        mirror_holder(change, it->key, none, 0);
    return TOCSIN_OK;
}

void names_drop(struct countdowns *all, struct change *change, const struct countdown *it)
{
    static const struct bytes none = {NULL, 0};
    if (!engine_shared(all->engine))
        return;
    if (it->state == COUNTDOWN_RUNNING || it->state == COUNTDOWN_FIRING)
        mirror_state(change, it->key, none);
    if (it->state == COUNTDOWN_FIRING)
        mirror_holder(change, it->key, none, 0);
}
