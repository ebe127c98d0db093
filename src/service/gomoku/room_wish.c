/* SPDX-License-Identifier: MIT */
/* The body of POST /v1/rooms.
 *
 *   field         goes with                          default, limits
 *   mode          any                                "PVP"
 *   rule          any                                "STANDARD"
 *   turn_seconds  no clock, or mode turn, no bank    gomoku.turn.seconds; 1 to 3600
 *   ai_timed      PVE                                gomoku.turn.aiTimed
 *   clock.mode    any                                "turn"
 *   clock.bank    any                                turn: turn_seconds; else it must be given
 *   clock.extra   not turn                           0ms
 *   clock.periods byoyomi                            it must be given there
 */

#include <inttypes.h>

#include "base/json_read.h"
#include "schedule/duration.h"
#include "schedule/reason.h"
#include "service/gomoku/rooms_inside.h"

enum { WORD_BYTES_MAX = 64 };

struct reading {
    struct json_reader json;
    struct room_wish *wish;
    bool has_seconds;
    bool has_bank;
    bool has_timed;
    int64_t seconds;
};

/* Which of the words it is, or -1, and that is refused. */
static int read_one_of(struct reading *reading, const char *const *words, size_t count,
                       const char *complaint)
{
    if (!json_read_expect(&reading->json, JSON_READ_STRING))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (bytes_are((struct bytes){reading->json.span.at, reading->json.span.size}, words[i]))
            return (int)i;
    }
    json_read_refuse(&reading->json, complaint);
    return -1;
}

static void read_duration(struct reading *reading, int64_t *ret_ms)
{
    struct json_reader *json = &reading->json;
    struct tocsin_why why;
    char word[WORD_BYTES_MAX];
    struct json_span span;
    uint64_t ms = 0;
    enum json_token token = json_read_next(json);
    if (token == JSON_READ_NUMBER) {
        if (!json_read_uint64(json, &ms))
            return;
    } else if (token != JSON_READ_STRING) {
        json_read_refuse(json, "must be a duration, such as \"1h30m\" or a number of milliseconds");
        return;
    } else if (!json_read_borrowed(json, word, sizeof word, &span)) {
        return;
    } else if (duration_parse(span.at, span.size, &ms, &why) != TOCSIN_OK) {
        json_read_refuse(json, why.text);
        return;
    }
    *ret_ms = ms > (uint64_t)TURN_CLOCK_MAX_MS ? TURN_CLOCK_MAX_MS + 1 : (int64_t)ms;
}

static void read_clock(struct reading *reading)
{
    static const char *const modes[] = {
        [TURN_EACH] = "turn",   [TURN_FISCHER] = "fischer", [TURN_BRONSTEIN] = "bronstein",
        [TURN_DELAY] = "delay", [TURN_BYOYOMI] = "byoyomi",
    };
    static const char *const names[] = {"mode", "bank", "extra", "periods"};
    struct json_keys keys = {names, sizeof names / sizeof names[0], 0};
    struct turn_rules *rules = &reading->wish->clock;
    size_t which;
    (void)json_read_expect(&reading->json, JSON_READ_OBJECT);
    while (json_read_field(&reading->json, &keys, &which)) {
        if (which == 0) {
            int mode = read_one_of(reading, modes, sizeof modes / sizeof modes[0],
                                   "must be turn, fischer, bronstein, delay or byoyomi");
            rules->mode = mode < 0 ? TURN_EACH : (enum turn_mode)mode;
        } else if (which == 1) {
            read_duration(reading, &rules->bank_ms);
            reading->has_bank = true;
        } else if (which == 2) {
            read_duration(reading, &rules->extra_ms);
        } else if (json_read_expect(&reading->json, JSON_READ_NUMBER)) {
            (void)json_read_int64(&reading->json, &rules->periods);
        }
    }
}

static void read_bool(struct reading *reading, bool *ret_value)
{
    enum json_token token = json_read_next(&reading->json);
    if (token == JSON_READ_TRUE || token == JSON_READ_FALSE)
        *ret_value = token == JSON_READ_TRUE;
    else
        json_read_refuse(&reading->json, "must be true or false");
}

static void read_body(struct reading *reading)
{
    static const char *const modes[] = {"PVP", "PVE"};
    static const char *const rules[] = {"STANDARD", "RENJU"};
    static const char *const names[] = {"mode", "rule", "turn_seconds", "clock", "ai_timed"};
    struct json_keys keys = {names, sizeof names / sizeof names[0], 0};
    struct room_wish *wish = reading->wish;
    size_t which;
    (void)json_read_expect(&reading->json, JSON_READ_OBJECT);
    while (json_read_field(&reading->json, &keys, &which)) {
        if (which == 0) {
            wish->pve = read_one_of(reading, modes, 2, "must be PVP or PVE") == 1;
        } else if (which == 1) {
            wish->rule = read_one_of(reading, rules, 2, "must be STANDARD or RENJU") == 1
                             ? GOMOKU_RENJU
                             : GOMOKU_STANDARD;
        } else if (which == 2) {
            if (json_read_expect(&reading->json, JSON_READ_NUMBER))
                (void)json_read_int64(&reading->json, &reading->seconds);
            reading->has_seconds = true;
        } else if (which == 3) {
            read_clock(reading);
        } else {
            read_bool(reading, &wish->ai_timed);
            reading->has_timed = true;
        }
    }
}

static enum tocsin_status check(struct reading *reading, struct tocsin_why *ret_why)
{
    struct turn_rules *clock = &reading->wish->clock;
    struct tocsin_why why = {""};
    if (reading->has_seconds &&
        (reading->seconds < ROOM_TURN_SECONDS_MIN || reading->seconds > ROOM_TURN_SECONDS_MAX))
        return reason_refuse(ret_why, "turn_seconds: %" PRId64 ", allowed is %d to %d",
                             reading->seconds, ROOM_TURN_SECONDS_MIN, ROOM_TURN_SECONDS_MAX);
    if (reading->has_seconds && (reading->has_bank || clock->mode != TURN_EACH))
        return reason_refuse(ret_why, "turn_seconds: the clock says already how long a turn is");
    if (reading->has_timed && !reading->wish->pve)
        return reason_refuse(ret_why, "ai_timed: there is no AI in PVP");
    if (clock->mode != TURN_EACH && !reading->has_bank)
        return reason_refuse(ret_why, "clock.bank: is missing");
    if (!reading->has_bank)
        clock->bank_ms = reading->seconds * 1000;
    if (turn_rules_valid(clock, &why) != TOCSIN_OK)
        return reason_refuse(ret_why, "clock.%s", why.text);
    return TOCSIN_OK;
}

enum tocsin_status rooms_read_wish(const struct rooms *rooms, struct bytes json,
                                   struct room_wish *ret_wish, struct tocsin_why *ret_why)
{
    struct room_wish wish = {.ai_timed = rooms->ai_timed};
    struct reading reading = {.wish = &wish, .seconds = rooms->turn_seconds};
    json_reader_init(&reading.json, json.at, json.size, 0);
    read_body(&reading);
    enum tocsin_status status = json_read_finish(&reading.json, ret_why);
    if (status == TOCSIN_OK)
        status = check(&reading, ret_why);
    if (status == TOCSIN_OK)
        *ret_wish = wish;
    return status;
}
