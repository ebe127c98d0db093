/* SPDX-License-Identifier: MIT */
/* What may be given with what. A field that would change nothing, and so is a mistake, is
 * refused; one that any task may carry is kept, since a client sends one shape of object for
 * all its tasks.
 *
 *   field             goes with                   default, limits
 *   id                any                         made by the server; 1 to 255 bytes
 *   name              any                         none; up to 255 bytes, "" is none
 *   delay             once, every; not with at    once: 0ms; every: one interval
 *   at                once, every; not with delay
 *   every             not with cron               at least 1ms
 *   from              every                       "start"
 *   cron              not with every, delay, at   (it has times of its own)
 *   tz, dst           cron                        "UTC"; as decision 5 has it
 *   repeat            every, cron                 -1; or at least 1
 *   misfire, overlap  any                         "once", "skip"
 *   jitter            any                         0ms; below every, or below the least distance
 *                                                 of two times of the cron (cron_spacing_ms)
 *   payload           any                         none; JSON up to 64 KiB, null is a value
 *   target            any                         {"type":"queue","queue":"default"}
 *   retry             any                         each of its fields by itself
 *   timeout           any                         5m; at least 1ms
 *
 * Durations end at TASK_DELAY_MAX_MS. Texts have no control characters. null stands for no
 * value anywhere but in payload.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "schedule/duration.h"
#include "schedule/instant.h"
#include "schedule/reason.h"
#include "service/task/task.h"
#include "service/task/task_inside.h"

enum { WORD_BYTES_MAX = 64 }; /* of a duration, a time, a name of an enum */

struct reading {
    struct json_reader json;
    struct task *task;
    struct task_scratch *scratch;
    struct bytes path_id;
    const char *group; /* "retry." inside of retry, else "" */
    const char *field; /* NULL: none yet, or not one of ours */
    bool refused;      /* by us, with this reason */
    struct tocsin_why why;
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct reading *reading,
                                                         const char *format, ...)
{
    struct tocsin_why why;
    va_list words;
    va_start(words, format);
    (void)vsnprintf(why.text, sizeof why.text, format, words);
    va_end(words);
    assert(!reading->refused && reading->field != NULL);
    reading->refused = true;
    (void)reason_refuse(&reading->why, "%s%s: %s", reading->group, reading->field, why.text);
    return false;
}

/* With the reason of a parser, which begins with what it parses: that is what the field says
 * already. */
static bool refuse_as(struct reading *reading, const struct tocsin_why *why, const char *what)
{
    const char *text = why->text;
    if (strncmp(text, what, strlen(what)) == 0)
        text += strlen(what) + strspn(text + strlen(what), ",: ");
    return refuse(reading, "%s", text);
}

/* The reason of the JSON reader is 'byte 17: "max": a number is expected'; ours is without the
 * place, since the field says where. */
static const char *complaint_of(const struct json_reader *json)
{
    const char *rest = json->why.text;
    const char *next = strstr(rest, ": ");
    for (; next != NULL; next = json->key.at != NULL ? strstr(rest, "\": ") : NULL)
        rest = next + (next[0] == '"' ? 3 : 2);
    return rest;
}

static enum tocsin_status explain(const struct reading *reading, bool *ret_malformed,
                                  struct tocsin_why *ret_why)
{
    const struct json_reader *json = &reading->json;
    bool malformed = !reading->refused && json_read_malformed(json);
    if (ret_malformed != NULL)
        *ret_malformed = malformed;
    if (reading->refused || malformed) {
        if (ret_why != NULL)
            *ret_why = reading->refused ? reading->why : json->why;
        return TOCSIN_INVALID;
    }
    if (reading->field != NULL)
        return reason_refuse(ret_why, "%s%s: %s", reading->group, reading->field,
                             complaint_of(json));
    if (json->key.at == NULL)
        return reason_refuse(ret_why, "body: %s", complaint_of(json));
    return reason_refuse(ret_why, "%s%.*s: %s", reading->group, reason_quoted(json->key.size),
                         json->key.at, complaint_of(json));
}

/* The string that has just been read. */
static bool take_text(struct reading *reading, char *room, size_t least, size_t most,
                      struct bytes *ret_text)
{
    struct json_span span;
    if (!json_read_borrowed(&reading->json, room, most, &span))
        return false;
    struct bytes text = {span.at, span.size};
    if (text.size < least)
        return refuse(reading, "must not be empty");
    if (!task_text_plain(text))
        return refuse(reading, "must not have control characters");
    *ret_text = text;
    return true;
}

static bool read_text(struct reading *reading, char *room, size_t least, size_t most,
                      struct bytes *ret_text)
{
    return json_read_expect(&reading->json, JSON_READ_STRING) &&
           take_text(reading, room, least, most, ret_text);
}

/* One of the names, some of which may be NULL. */
static bool read_name(struct reading *reading, const char *const *names, int count, int *ret_which)
{
    char room[WORD_BYTES_MAX];
    struct bytes word = {room, 0};
    char list[64] = "";
    size_t used = 0;
    if (!read_text(reading, room, 0, sizeof room, &word))
        return false;
    for (int i = 0; i < count; i++) {
        if (names[i] != NULL && bytes_are(word, names[i])) {
            *ret_which = i;
            return true;
        }
        if (names[i] != NULL)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "",
                                     names[i]);
    }
    return refuse(reading, "'%.*s': must be one of %s", (int)word.size, word.at, list);
}

static bool read_duration(struct reading *reading, int64_t least_ms, int64_t *ret_ms)
{
    char room[WORD_BYTES_MAX];
    struct bytes word = {room, 0};
    struct tocsin_why why;
    uint64_t ms = 0;
    enum json_token token = json_read_next(&reading->json);
    if (token == JSON_READ_STRING) {
        if (!take_text(reading, room, 1, sizeof room, &word))
            return false;
        if (word.at[0] == '-')
            return refuse(reading, "'%.*s': must not be negative", (int)word.size, word.at);
        if (duration_parse(word.at, word.size, &ms, &why) != TOCSIN_OK)
            return refuse_as(reading, &why, "duration");
    } else if (token == JSON_READ_NUMBER) {
        if (!json_read_uint64(&reading->json, &ms))
            return false;
    } else {
        json_read_refuse(&reading->json, "a duration is expected, such as \"1h30m\" or a number "
                                         "of milliseconds");
        return false;
    }
    if (ms > TASK_DELAY_MAX_MS)
        return refuse(reading, "%" PRIu64 " ms, at most %" PRId64 " are allowed", ms,
                      TASK_DELAY_MAX_MS);
    if (ms < (uint64_t)least_ms)
        return refuse(reading, "must be at least %" PRId64 "ms", least_ms);
    *ret_ms = (int64_t)ms;
    return true;
}

static bool read_instant(struct reading *reading, int64_t *ret_ms)
{
    char room[WORD_BYTES_MAX];
    struct bytes word = {room, 0};
    struct tocsin_why why;
    int64_t ms = 0;
    enum json_token token = json_read_next(&reading->json);
    if (token == JSON_READ_STRING) {
        if (!take_text(reading, room, 1, sizeof room, &word))
            return false;
        if (instant_parse(word.at, word.size, &ms, &why) != TOCSIN_OK)
            return refuse_as(reading, &why, "time");
    } else if (token == JSON_READ_NUMBER) {
        if (!json_read_int64(&reading->json, &ms))
            return false;
        if (ms < INSTANT_FIRST_MS || ms > INSTANT_LAST_MS)
            return refuse(reading, "%" PRId64 " is not within the years 1 to 9999", ms);
    } else {
        json_read_refuse(&reading->json, "a time is expected, RFC 3339 or milliseconds since 1970");
        return false;
    }
    *ret_ms = ms;
    return true;
}

static bool read_double(struct reading *reading, double *ret_value)
{
    double value;
    if (!json_read_expect(&reading->json, JSON_READ_NUMBER) ||
        !json_read_double(&reading->json, &value))
        return false;
    *ret_value = value == 0 ? 0 : value; /* -0 is written 0 */
    return true;
}

static bool read_id(struct reading *reading)
{
    struct tocsin_why why;
    struct json_span span;
    if (!json_read_expect(&reading->json, JSON_READ_STRING) ||
        !json_read_borrowed(&reading->json, reading->scratch->id, TASK_ID_BYTES_MAX, &span))
        return false;
    struct bytes id = {span.at, span.size};
    if (task_id_valid(id, "id", &why) != TOCSIN_OK)
        return refuse_as(reading, &why, "id");
    if (reading->path_id.at != NULL && !bytes_equal(id, reading->path_id))
        return refuse(reading, "is not the one in the path");
    reading->task->id = id;
    return true;
}

static bool read_task_name(struct reading *reading)
{
    return read_text(reading, reading->scratch->name, 0, TASK_NAME_BYTES_MAX, &reading->task->name);
}

static bool read_delay(struct reading *reading)
{
    reading->task->has_delay = true;
    return read_duration(reading, 0, &reading->task->delay_ms);
}

static bool read_at(struct reading *reading)
{
    reading->task->has_at = true;
    return read_instant(reading, &reading->task->at_ms);
}

static bool read_every(struct reading *reading)
{
    reading->task->rhythm = TASK_EVERY;
    return read_duration(reading, 1, &reading->task->every_ms);
}

static bool read_from(struct reading *reading)
{
    static const char *const names[] = {"start", "end"};
    int which = 0;
    bool ok = read_name(reading, names, 2, &which);
    reading->task->from_end = which == 1;
    return ok;
}

static bool read_cron(struct reading *reading)
{
    struct task *task = reading->task;
    struct cron cron;
    struct tocsin_why why;
    task->rhythm = TASK_CRON;
    if (!read_text(reading, reading->scratch->cron, 0, CRON_TEXT_MAX, &task->cron))
        return false;
    if (cron_parse(task->cron.at, task->cron.size, &cron, &why) != TOCSIN_OK)
        return refuse_as(reading, &why, "cron");
    return true;
}

static bool read_zone(struct reading *reading)
{
    return read_text(reading, reading->scratch->zone, 1, ZONE_NAME_MAX, &reading->task->zone);
}

static bool read_repeat(struct reading *reading)
{
    int64_t repeat = 0;
    if (!json_read_expect(&reading->json, JSON_READ_NUMBER) ||
        !json_read_int64(&reading->json, &repeat))
        return false;
    if (repeat != -1 && repeat < 1)
        return refuse(reading, "%" PRId64 ": must be -1 (for ever) or at least 1", repeat);
    reading->task->repeat = repeat;
    reading->task->left = repeat;
    return true;
}

static bool read_misfire(struct reading *reading)
{
    int which = 0;
    bool ok = read_name(reading, task_misfire_names, TASK_MISFIRE_COUNT, &which);
    reading->task->misfire = (enum task_misfire)which;
    return ok;
}

static bool read_overlap(struct reading *reading)
{
    int which = 0;
    bool ok = read_name(reading, task_overlap_names, TASK_OVERLAP_COUNT, &which);
    reading->task->overlap = (enum task_overlap)which;
    return ok;
}

static bool read_jitter(struct reading *reading)
{
    return read_duration(reading, 0, &reading->task->jitter_ms);
}

static bool read_payload(struct reading *reading)
{
    struct json_span span;
    if (!json_read_raw(&reading->json, &span))
        return false;
    if (span.size > TASK_PAYLOAD_BYTES_MAX)
        return refuse(reading, "%zu bytes, at most %d are allowed", span.size,
                      TASK_PAYLOAD_BYTES_MAX);
    reading->task->payload = (struct bytes){span.at, span.size};
    return true;
}

static bool read_timeout(struct reading *reading)
{
    return read_duration(reading, 1, &reading->task->timeout_ms);
}

/* The fields of an object: their names, and what reads each, whose value is next. */
struct fields {
    const char *const *names;
    bool (*const *read)(struct reading *reading);
    size_t count;
};

/* An object of these fields; whether it was read to its end. */
static bool read_fields(struct reading *reading, const struct fields *fields, const char *group,
                        uint64_t *ret_seen)
{
    struct json_keys keys = {fields->names, fields->count, 0};
    size_t which = 0;
    if (!json_read_expect(&reading->json, JSON_READ_OBJECT))
        return false;
    reading->group = group;
    reading->field = NULL;
    while (json_read_field(&reading->json, &keys, &which)) {
        reading->field = fields->names[which];
        if (!fields->read[which](reading))
            return false;
        reading->group = group;
        reading->field = NULL;
    }
    *ret_seen = keys.seen;
    return !reading->json.failed;
}

/* A table of rows (place, name, reader) as the three arrays that read_fields wants. */
#define PLACE_OF(place, name, read) place,
#define NAME_OF(place, name, read) [place] = (name),
#define READER_OF(place, name, read) [place] = (read),
#define FIELDS(table, list)                                                                        \
    static const char *const table##_names[] = {list(NAME_OF)};                                    \
    static bool (*const table##_readers[])(struct reading * reading) = {list(READER_OF)};          \
    static const struct fields table = {table##_names, table##_readers,                            \
                                        sizeof table##_names / sizeof table##_names[0]}

static bool read_gap(struct reading *reading)
{
    int which = 0;
    bool ok = read_name(reading, task_gap_names, TASK_GAP_COUNT, &which);
    reading->task->dst.gap = (enum cron_gap)which;
    return ok;
}

static bool read_dst_overlap(struct reading *reading)
{
    int which = 0;
    bool ok = read_name(reading, task_dst_overlap_names, TASK_DST_OVERLAP_COUNT, &which);
    reading->task->dst.overlap = (enum cron_overlap)which;
    return ok;
}

#define DST_FIELDS(ROW)                                                                            \
    ROW(0, "gap", read_gap)                                                                        \
    ROW(1, "overlap", read_dst_overlap)
FIELDS(dst_fields, DST_FIELDS);

static bool read_dst(struct reading *reading)
{
    uint64_t seen;
    return read_fields(reading, &dst_fields, "dst.", &seen);
}

static bool read_retry_max(struct reading *reading)
{
    uint64_t most = 0;
    if (!json_read_expect(&reading->json, JSON_READ_NUMBER) ||
        !json_read_uint64(&reading->json, &most))
        return false;
    if (most > TASK_RETRIES_MAX)
        return refuse(reading, "%" PRIu64 ", at most %d is allowed", most, TASK_RETRIES_MAX);
    reading->task->retries_max = (uint32_t)most;
    return true;
}

static bool read_retry_base(struct reading *reading)
{
    int64_t ms = 0;
    bool ok = read_duration(reading, 0, &ms);
    reading->task->backoff.base_ms = (uint64_t)ms;
    return ok;
}

static bool read_retry_cap(struct reading *reading)
{
    int64_t ms = 0;
    bool ok = read_duration(reading, 0, &ms);
    reading->task->backoff.cap_ms = (uint64_t)ms;
    return ok;
}

static bool read_retry_factor(struct reading *reading)
{
    return read_double(reading, &reading->task->backoff.factor);
}

static bool read_retry_jitter(struct reading *reading)
{
    return read_double(reading, &reading->task->backoff.jitter);
}

#define RETRY_FIELDS(ROW)                                                                          \
    ROW(0, "max", read_retry_max)                                                                  \
    ROW(1, "base", read_retry_base)                                                                \
    ROW(2, "cap", read_retry_cap)                                                                  \
    ROW(3, "factor", read_retry_factor)                                                            \
    ROW(4, "jitter", read_retry_jitter)
FIELDS(retry_fields, RETRY_FIELDS);

static bool read_retry(struct reading *reading)
{
    uint64_t seen;
    struct tocsin_why why;
    if (!read_fields(reading, &retry_fields, "retry.", &seen))
        return false;
    if (backoff_valid(&reading->task->backoff, &why) == TOCSIN_OK)
        return true;
    reading->refused = true;
    (void)reason_refuse(&reading->why, "retry.%s", why.text);
    return false;
}

static bool read_target_type(struct reading *reading)
{
    static const char *const names[] = {"queue", "webhook", "topic"};
    int which = 0;
    if (!read_name(reading, names, 3, &which))
        return false;
    return which == 0 || refuse(reading, "%s: not in this version", names[which]);
}

static bool read_queue(struct reading *reading)
{
    return read_text(reading, reading->scratch->queue, 1, TASK_QUEUE_BYTES_MAX,
                     &reading->task->queue);
}

/* Of a target that is not built yet. Its type says so better than its fields do, and may come
 * after them. */
static bool pass_over(struct reading *reading)
{
    return json_read_raw(&reading->json, NULL);
}

#define TARGET_FIELDS(ROW)                                                                         \
    ROW(0, "type", read_target_type)                                                               \
    ROW(1, "queue", read_queue)                                                                    \
    ROW(2, "url", pass_over)                                                                       \
    ROW(3, "headers", pass_over)                                                                   \
    ROW(4, "secret", pass_over)                                                                    \
    ROW(5, "topic", pass_over)
FIELDS(target_fields, TARGET_FIELDS);

static bool read_target(struct reading *reading)
{
    enum { TYPE = 1 };
    uint64_t seen = 0;
    if (!read_fields(reading, &target_fields, "target.", &seen))
        return false;
    reading->group = "target.";
    reading->field = "type";
    if ((seen & TYPE) == 0)
        return refuse(reading, "is missing");
    for (size_t i = 0; i < target_fields.count; i++) {
        reading->field = target_fields.names[i];
        if ((seen >> i & 1) != 0 && target_fields.read[i] == pass_over)
            return refuse(reading, "does not go with a queue");
    }
    return true;
}

/* Looked through from the first: what most tasks have comes first. */
#define TASK_FIELDS(ROW)                                                                           \
    ROW(ID, "id", read_id)                                                                         \
    ROW(AT, "at", read_at)                                                                         \
    ROW(DELAY, "delay", read_delay)                                                                \
    ROW(PAYLOAD, "payload", read_payload)                                                          \
    ROW(TARGET, "target", read_target)                                                             \
    ROW(NAME, "name", read_task_name)                                                              \
    ROW(EVERY, "every", read_every)                                                                \
    ROW(FROM, "from", read_from)                                                                   \
    ROW(CRON, "cron", read_cron)                                                                   \
    ROW(TZ, "tz", read_zone)                                                                       \
    ROW(REPEAT, "repeat", read_repeat)                                                             \
    ROW(MISFIRE, "misfire", read_misfire)                                                          \
    ROW(OVERLAP, "overlap", read_overlap)                                                          \
    ROW(JITTER, "jitter", read_jitter)                                                             \
    ROW(DST, "dst", read_dst)                                                                      \
    ROW(RETRY, "retry", read_retry)                                                                \
    ROW(TIMEOUT, "timeout", read_timeout)
enum { TASK_FIELDS(PLACE_OF) };
FIELDS(task_fields, TASK_FIELDS);

/* The second column of the table above. */
static bool check_together(struct reading *reading, uint64_t seen)
{
    static const struct {
        unsigned field;
        uint64_t with;    /* refused when one of these is there too … */
        uint64_t without; /* … or when all of these are missing; 0: never */
        const char *complaint;
    } rules[] = {
        {AT, 1 << DELAY, 0, "cannot go with delay: it is one or the other"},
        {CRON, 1 << EVERY, 0, "cannot go with every: it is one or the other"},
        {DELAY, 1 << CRON, 0, "cannot go with cron, which has times of its own"},
        {AT, 1 << CRON, 0, "cannot go with cron, which has times of its own"},
        {FROM, 0, 1 << EVERY, "goes with every only"},
        {TZ, 0, 1 << CRON, "goes with cron only"},
        {DST, 0, 1 << CRON, "goes with cron only"},
        {REPEAT, 0, 1 << EVERY | 1 << CRON, "goes with every or cron only"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        reading->field = task_fields.names[rules[i].field];
        if ((seen >> rules[i].field & 1) != 0 &&
            ((seen & rules[i].with) != 0 ||
             (rules[i].without != 0 && (seen & rules[i].without) == 0)))
            return refuse(reading, "%s", rules[i].complaint);
    }
    char text[DURATION_TEXT_BYTES];
    int64_t end_ms = reading->task->jitter_ms > 0 ? task_jitter_end_ms(reading->task) : INT64_MAX;
    reading->field = task_fields.names[JITTER];
    if (reading->task->jitter_ms < end_ms)
        return true;
    duration_format((uint64_t)end_ms, text);
    return refuse(reading, "must be below the distance of two occurrences, which is %s", text);
}

enum tocsin_status task_read(struct bytes json, const struct task_read_options *options,
                             struct task_scratch *scratch, struct task *ret_task,
                             bool *ret_malformed, struct tocsin_why *ret_why)
{
    struct reading reading; /* its reasons are only written when there are some */
    uint64_t seen = 0;
    reading.task = ret_task;
    reading.scratch = scratch;
    reading.path_id = (struct bytes){0};
    reading.group = "";
    reading.field = NULL;
    reading.refused = false;
    task_init(ret_task);
    if (options != NULL && options->path_id.at != NULL) {
        if (ret_malformed != NULL)
            *ret_malformed = false;
        if (task_id_valid(options->path_id, "id", ret_why) != TOCSIN_OK)
            return TOCSIN_INVALID;
        reading.path_id = options->path_id;
        ret_task->id = options->path_id;
    }
    json_reader_init(&reading.json, json.at, json.size, JSON_DEPTH_MAX);
    if (!read_fields(&reading, &task_fields, "", &seen) ||
        json_read_finish(&reading.json, NULL) != TOCSIN_OK || !check_together(&reading, seen))
        return explain(&reading, ret_malformed, ret_why);
    return TOCSIN_OK;
}
