/* SPDX-License-Identifier: MIT */
/* What a lease is on disk, and in an answer: JSON. */

#include "base/json_read.h"
#include "service/lease/leases_inside.h"

static void read_number(struct json_reader *reader, int64_t *ret_number)
{
    if (json_read_expect(reader, JSON_READ_NUMBER))
        (void)json_read_int64(reader, ret_number);
}

enum tocsin_status lease_decode(const struct engine_record *record,
                                char holder[LEASE_HOLDER_BYTES_MAX], struct lease *ret_lease)
{
    static const char *const names[] = {"holder", "fence", "ttlMs", "acquiredEpochMs"};
    struct json_keys keys = {names, sizeof names / sizeof names[0], 0};
    struct json_reader reader;
    struct json_span span = {"", 0};
    size_t which;
    int64_t fence = 0;
    struct lease it = {.name = record->key, .ends_ms = record->due_ms, .rev = record->rev};
    json_reader_init(&reader, record->doc.at, record->doc.size, 0);
    (void)json_read_expect(&reader, JSON_READ_OBJECT);
    while (json_read_field(&reader, &keys, &which)) {
        switch (which) {
        case 0:
            if (json_read_expect(&reader, JSON_READ_STRING))
                (void)json_read_borrowed(&reader, holder, LEASE_HOLDER_BYTES_MAX, &span);
            break;
        case 1:
            read_number(&reader, &fence);
            break;
        case 2:
            read_number(&reader, &it.ttl_ms);
            break;
        default:
            read_number(&reader, &it.acquired_ms);
            break;
        }
    }
    if (json_read_finish(&reader, NULL) != TOCSIN_OK)
        return TOCSIN_DAMAGED;
    it.holder = (struct bytes){span.at, span.size};
    it.fence = (uint64_t)fence;
    *ret_lease = it;
    return TOCSIN_OK;
}

enum tocsin_status lease_put(struct leases *all, struct change *change, struct lease *lease)
{
    struct json_writer writer;
    buffer_clear(&all->doc);
    json_writer_init(&writer, &all->doc);
    json_write_object(&writer);
    json_field_bytes(&writer, "holder", lease->holder);
    json_field_int64(&writer, "fence", (int64_t)lease->fence);
    json_field_int64(&writer, "ttlMs", lease->ttl_ms);
    json_field_int64(&writer, "acquiredEpochMs", lease->acquired_ms);
    json_write_object_end(&writer);
    if (buffer_status(&all->doc) != TOCSIN_OK)
        return buffer_status(&all->doc);
    struct change_put put = {
        .kind = all->kind,
        .key = lease->name,
        .home = lease->name,
        .due_ms = lease->ends_ms,
        .basis = STORE_ELAPSED,
        .mark = LEASE_HELD,
        .doc = {all->doc.data, all->doc.size},
    };
    return change_put(change, &put, &lease->rev);
}

void lease_write(struct json_writer *writer, struct leases *all, const struct lease *lease)
{
    int64_t left = lease->ends_ms - engine_now_up_ms(all->engine);
    json_write_object(writer);
    json_field_bytes(writer, "name", lease->name);
    json_field_bytes(writer, "holder", lease->holder);
    json_field_int64(writer, "fence", (int64_t)lease->fence);
    json_field_int64(writer, "ttl_ms", lease->ttl_ms);
    json_field_int64(writer, "expires_ms",
                     engine_wall_of(all->engine, lease->ends_ms, STORE_ELAPSED));
    json_field_int64(writer, "left_ms", left > 0 ? left : 0);
    json_field_int64(writer, "acquired_ms", lease->acquired_ms);
    json_field_int64(writer, "waiting", line_count(all, lease->name));
    json_field_int64(writer, "rev", (int64_t)lease->rev);
    json_write_object_end(writer);
}

void lease_write_refusal(struct buffer *out, struct leases *all, const struct lease *lease,
                         struct bytes name, const char *reason)
{
    static const char *const none[] = {"holder", "fence", "expires_ms"};
    struct json_writer writer;
    buffer_clear(out);
    json_writer_init(&writer, out);
    json_write_object(&writer);
    if (lease != NULL) {
        json_field_bytes(&writer, "holder", lease->holder);
        json_field_int64(&writer, "fence", (int64_t)lease->fence);
        json_field_int64(&writer, "expires_ms",
                         engine_wall_of(all->engine, lease->ends_ms, STORE_ELAPSED));
    }
    for (size_t i = 0; lease == NULL && i < sizeof none / sizeof none[0]; i++) {
        json_write_key(&writer, none[i]);
        json_write_null(&writer);
    }
    json_field_int64(&writer, "waiting", line_count(all, name));
    if (reason != NULL)
        json_field_text(&writer, "reason", reason);
    json_write_object_end(&writer);
}
