/* SPDX-License-Identifier: MIT */
/* What a countdown is on disk, and in an answer: JSON (C-03). */

#include "base/json_read.h"
#include "service/countdown/countdowns_inside.h"

enum { TOLD_OFF_MAX_MS = 500 }; /* the sum of what restarts rounded; more is a clock that was set */

static void read_word(struct json_reader *reader, char *to, size_t room, struct bytes *ret_word)
{
    struct json_span span;
    if (json_read_expect(reader, JSON_READ_STRING) && json_read_borrowed(reader, to, room, &span))
        *ret_word = (struct bytes){span.at, span.size};
}

static void read_number(struct json_reader *reader, int64_t *ret_number)
{
    if (json_read_expect(reader, JSON_READ_NUMBER))
        (void)json_read_int64(reader, ret_number);
}

enum tocsin_status countdown_decode(const struct engine_record *record,
                                    struct countdown_words *words, struct countdown *ret_countdown)
{
    static const char *const names[] = {"key",    "owner",           "version",
                                        "kind",   "deadlineEpochMs", "startedEpochMs",
                                        "leftMs", "expiredEpochMs",  "fence"};
    struct json_keys keys = {names, sizeof names / sizeof names[0], 0};
    struct json_reader reader;
    size_t which;
    int64_t fence = 0;
    struct countdown *it = ret_countdown;
    *it = (struct countdown){
        .key = record->key,
        .home = record->home,
        .state = (enum countdown_state)record->mark,
        .deadline_ms = record->due_ms,
        .basis = record->basis,
        .rev = record->rev,
    };
    json_reader_init(&reader, record->doc.at, record->doc.size, 0);
    (void)json_read_expect(&reader, JSON_READ_OBJECT);
    while (json_read_field(&reader, &keys, &which)) {
        switch (which) {
        case 0:
            (void)json_read_raw(&reader, NULL);
            break;
        case 1:
            read_word(&reader, words->owner, sizeof words->owner, &it->owner);
            break;
        case 2:
            read_word(&reader, words->version, sizeof words->version, &it->version);
            break;
        case 3:
            read_word(&reader, words->kind, sizeof words->kind, &it->kind);
            break;
        case 4:
            read_number(&reader, &it->told_ms);
            break;
        case 5:
            read_number(&reader, &it->started_ms);
            break;
        case 6:
            read_number(&reader, &it->left_ms);
            break;
        case 7:
            read_number(&reader, &it->expired_ms);
            break;
        default:
            read_number(&reader, &fence);
            break;
        }
    }
    if (json_read_finish(&reader, NULL) != TOCSIN_OK)
        return TOCSIN_DAMAGED;
    it->fence = (uint64_t)fence;
    if (countdown_over(it)) { /* its record is due at once, or when it is to be forgotten */
        it->deadline_ms = it->told_ms;
        it->basis = STORE_WALL;
    }
    return TOCSIN_OK;
}

static void write_doc(struct buffer *doc, const struct countdown *it)
{
    struct json_writer writer;
    buffer_clear(doc);
    json_writer_init(&writer, doc);
    json_write_object(&writer);
    json_field_bytes(&writer, "key", it->key);
    json_field_bytes(&writer, "owner", it->owner);
    json_field_bytes(&writer, "version", it->version);
    json_field_bytes(&writer, "kind", it->kind);
    if (it->state != COUNTDOWN_PAUSED)
        json_field_int64(&writer, "deadlineEpochMs", it->told_ms);
    json_field_int64(&writer, "startedEpochMs", it->started_ms);
    if (it->state == COUNTDOWN_PAUSED)
        json_field_int64(&writer, "leftMs", it->left_ms);
    if (it->state == COUNTDOWN_EXPIRED)
        json_field_int64(&writer, "expiredEpochMs", it->expired_ms);
    if (countdown_over(it))
        json_field_int64(&writer, "fence", (int64_t)it->fence);
    json_write_object_end(&writer);
}

enum tocsin_status countdown_put(struct countdowns *all, struct change *change,
                                 struct countdown *countdown)
{
    countdown->told_ms = countdown_shown_ms(all->engine, countdown);
    enum tocsin_status status = names_before_put(all, change, countdown);
    if (status != TOCSIN_OK)
        return status;
    write_doc(&all->doc, countdown);
    if (buffer_status(&all->doc) != TOCSIN_OK)
        return buffer_status(&all->doc);
    struct change_put put = {
        .kind = all->kind,
        .key = countdown->key,
        .home = countdown->home,
        .due_ms = STORE_NEVER,
        .basis = STORE_ELAPSED,
        .mark = (uint8_t)countdown->state,
        .doc = {all->doc.data, all->doc.size},
    };
    if (countdown->state == COUNTDOWN_RUNNING) {
        put.due_ms = countdown->deadline_ms;
        put.basis = countdown->basis;
    } else if (countdown->state == COUNTDOWN_EXPIRED) {
        put.due_ms = engine_now_up_ms(all->engine) + all->limits.grace_ms;
    } else if (countdown->state == COUNTDOWN_FIRING) {
        put.due_ms = engine_now_ms(all->engine);
    }
    return change_put(change, &put, &countdown->rev);
}

void countdown_run_for(const struct engine *engine, struct countdown *countdown, int64_t left_ms)
{
    countdown->state = COUNTDOWN_RUNNING;
    countdown->deadline_ms = engine_now_up_ms(engine) + left_ms;
    countdown->basis = STORE_ELAPSED;
    countdown->told_ms = engine_wall_ms(engine) + left_ms; /* rounded down: never after it */
}

int64_t countdown_shown_ms(const struct engine *engine, const struct countdown *countdown)
{
    int64_t now_ms = engine_wall_of(engine, countdown->deadline_ms, countdown->basis);
    if (countdown->basis == STORE_WALL || countdown->told_ms == 0 || now_ms == STORE_NEVER)
        return now_ms;
    int64_t off = now_ms - countdown->told_ms;
    bool rounded = off >= -1 && off <= TOLD_OFF_MAX_MS;
    return rounded ? countdown->told_ms : now_ms; /* else the wall clock was set */
}

int64_t countdown_left_ms(const struct engine *engine, const struct countdown *countdown)
{
    if (countdown->state == COUNTDOWN_PAUSED)
        return countdown->left_ms;
    if (countdown_over(countdown))
        return 0;
    int64_t now =
        countdown->basis == STORE_WALL ? engine_wall_up_ms(engine) : engine_now_up_ms(engine);
    return countdown->deadline_ms > now ? countdown->deadline_ms - now : 0;
}

void countdown_write(struct json_writer *writer, const struct engine *engine,
                     const struct countdown *countdown)
{
    static const char *const states[] = {
        [COUNTDOWN_RUNNING] = "running",
        [COUNTDOWN_PAUSED] = "paused",
        [COUNTDOWN_EXPIRED] = "expired",
        [COUNTDOWN_FIRING] = "firing",
    };
    int64_t left = countdown_left_ms(engine, countdown);
    json_write_object(writer);
    json_field_bytes(writer, "key", countdown->key);
    json_field_bytes(writer, "owner", countdown->owner);
    json_field_bytes(writer, "version", countdown->version);
    json_field_bytes(writer, "kind", countdown->kind);
    json_field_text(writer, "state", states[countdown->state]);
    json_write_key(writer, "deadline_ms");
    if (countdown->state == COUNTDOWN_PAUSED)
        json_write_null(writer);
    else
        json_write_int64(writer, countdown_shown_ms(engine, countdown));
    json_field_int64(writer, "left_ms", left);
    json_field_int64(writer, "left", countdown_seconds(left));
    json_field_int64(writer, "started_ms", countdown->started_ms);
    json_write_key(writer, "expired_ms");
    if (countdown->state == COUNTDOWN_EXPIRED)
        json_write_int64(writer, countdown->expired_ms);
    else
        json_write_null(writer);
    json_write_key(writer, "fence");
    if (countdown_over(countdown))
        json_write_uint64(writer, countdown->fence);
    else
        json_write_null(writer);
    json_field_uint64(writer, "rev", countdown->rev);
    json_write_object_end(writer);
}
