/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>
#include <strings.h>

#include "schedule/cron.h"
#include "schedule/reason.h"

enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };

static const struct field {
    const char *name;
    int32_t min;
    int32_t max;      /* for numbers */
    int32_t star_max; /* for *, and the largest step is this less min plus 1 */
    const char *names;
} fields[] = {
    [SECOND] = {"second", 0, 59, 59, ""},
    [MINUTE] = {"minute", 0, 59, 59, ""},
    [HOUR] = {"hour", 0, 23, 23, ""},
    [DAY] = {"day of month", 1, 31, 31, ""},
    [MONTH] = {"month", 1, 12, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    [WEEKDAY] = {"day of week", 0, 7, 6, "SUNMONTUEWEDTHUFRISAT"},
};

static const struct {
    const char *name;
    const char *text;
} nicknames[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

/* One item of a list, "1-5/2#3", on its way through the parser. */
struct item {
    const char *text;
    size_t length;
    size_t at;
    int field;
    struct tocsin_why *why;

    bool star;
    bool stepped;
    int32_t first;
    int32_t last;
    int32_t step;
};

static enum tocsin_status refuse(const struct item *item, const char *problem)
{
    return reason_refuse(item->why, "cron, %s '%.*s': %s", fields[item->field].name,
                         reason_quoted(item->length), item->text, problem);
}

static bool take(struct item *item, char c)
{
    char here = item->at < item->length ? item->text[item->at] : '\0';
    if (here >= 'a' && here <= 'z')
        here = (char)(here - 'a' + 'A');
    if (here != c)
        return false;
    item->at++;
    return true;
}

static bool at_end(const struct item *item)
{
    return item->at == item->length;
}

/* Digits; a number too large to matter stays so. */
static bool digits(struct item *item, int32_t *ret_number)
{
    int32_t number = 0;
    size_t start = item->at;
    for (; !at_end(item) && item->text[item->at] >= '0' && item->text[item->at] <= '9';
         item->at++) {
        if (number < 100000)
            number = number * 10 + (item->text[item->at] - '0');
    }
    if (item->at == start)
        return false;
    *ret_number = number;
    return true;
}

/* A number or a name. */
static bool value(struct item *item, int32_t *ret_value)
{
    const struct field *field = &fields[item->field];
    if (digits(item, ret_value))
        return true;
    size_t names = strlen(field->names) / 3;
    for (size_t i = 0; i < names && item->length - item->at >= 3; i++) {
        if (strncasecmp(field->names + i * 3, item->text + item->at, 3) == 0) {
            item->at += 3;
            *ret_value = field->min + (int32_t)i;
            return true;
        }
    }
    return false;
}

static enum tocsin_status read_step(struct item *item, bool range)
{
    const struct field *field = &fields[item->field];
    item->stepped = true;
    if (!range)
        return refuse(item, "a step needs a range or a star before it, such as */5 or 10-59/5");
    if (!digits(item, &item->step))
        return refuse(item, "a number is missing after the /");
    if (item->step < 1 || item->step > field->star_max - field->min + 1)
        return refuse(item, "the step is 0 or larger than the field");
    return TOCSIN_OK;
}

/* Everything but L, W and #. */
static enum tocsin_status read_range(struct item *item)
{
    const struct field *field = &fields[item->field];
    bool range = true;
    item->step = 1;
    item->star = take(item, '*') || take(item, '?');
    if (item->star) {
        item->first = field->min;
        item->last = field->star_max;
    } else {
        if (!value(item, &item->first))
            return refuse(item, "a number or a name is missing");
        item->last = item->first;
        range = take(item, '-');
        if (range && !value(item, &item->last))
            return refuse(item, "a number or a name is missing after the -");
        /* SAT-SUN ends with the 7 that also is Sunday. */
        if (range && item->field == WEEKDAY && item->last == 0 && item->text[item->at - 1] != '0')
            item->last = 7;
    }
    if (item->first < field->min || item->first > field->max || item->last < field->min ||
        item->last > field->max)
        return reason_refuse(item->why, "cron, %s '%.*s': allowed is %d to %d", field->name,
                             reason_quoted(item->length), item->text, field->min, field->max);
    if (item->first > item->last)
        return refuse(item, "the range ends before it begins; write it as two, such as 22-23,0-2");
    return take(item, '/') ? read_step(item, range) : TOCSIN_OK;
}

static uint64_t bits(const struct item *item)
{
    uint64_t mask = 0;
    for (int32_t i = item->first; i <= item->last; i += item->step)
        mask |= UINT64_C(1) << i;
    return mask;
}

/* L, LW and 15W; others are plain. */
static enum tocsin_status read_day(struct item *item, struct cron *cron)
{
    if (take(item, 'L')) {
        bool weekday = take(item, 'W');
        if (!at_end(item))
            return refuse(item, "after L only W may follow here");
        cron->last_day |= !weekday;
        cron->last_weekday |= weekday;
        return TOCSIN_OK;
    }
    enum tocsin_status status = read_range(item);
    if (status != TOCSIN_OK)
        return status;
    if (take(item, 'W')) {
        if (item->star || item->stepped || item->first != item->last ||
            memchr(item->text, '-', item->length) != NULL)
            return refuse(item, "W goes with one day, such as 15W");
        cron->nearest_days |= (uint32_t)bits(item);
    } else {
        cron->days |= (uint32_t)bits(item);
    }
    return TOCSIN_OK;
}

/* 5L, 5#2 and MON-FRI#L; others are every such weekday. */
static enum tocsin_status read_weekday(struct item *item, struct cron *cron)
{
    int32_t nth = 0;
    uint8_t which = CRON_EVERY;
    enum tocsin_status status = read_range(item);
    if (status != TOCSIN_OK)
        return status;
    bool counted = take(item, '#');
    if (take(item, 'L')) {
        which = CRON_LAST;
    } else if (counted) {
        if (!digits(item, &nth) || nth < 1 || nth > 5)
            return refuse(item, "after # comes 1 to 5 or L");
        which = (uint8_t)(1 << (nth - 1));
    }
    if (item->star && which != CRON_EVERY)
        return refuse(item, "# and L need a weekday before them, such as 5L");
    uint64_t mask = bits(item);
    for (int32_t weekday = 0; weekday <= 7; weekday++) {
        if (mask >> weekday & 1)
            cron->weekdays[weekday % 7] |= which;
    }
    return TOCSIN_OK;
}

static enum tocsin_status read_item(struct item *item, struct cron *cron)
{
    enum tocsin_status status;
    if (item->length == 0)
        return refuse(item, "an item of the list is empty");
    if (item->field == DAY)
        status = read_day(item, cron);
    else if (item->field == WEEKDAY)
        status = read_weekday(item, cron);
    else
        status = read_range(item);
    if (status != TOCSIN_OK)
        return status;
    if (!at_end(item))
        return reason_refuse(item->why, "cron, %s '%.*s': '%c' is not expected at character %zu",
                             fields[item->field].name, reason_quoted(item->length), item->text,
                             item->text[item->at], item->at + 1);
    switch (item->field) {
    case SECOND:
        cron->seconds |= bits(item);
        break;
    case MINUTE:
        cron->minutes |= bits(item);
        break;
    case HOUR:
        cron->hours |= (uint32_t)bits(item);
        break;
    case MONTH:
        cron->months |= (uint32_t)bits(item);
        break;
    default:
        break;
    }
    return TOCSIN_OK;
}

static enum tocsin_status read_field(int field, const char *text, size_t length, struct cron *cron,
                                     struct tocsin_why *why)
{
    size_t start = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && text[i] != ',')
            continue;
        struct item item = {.text = text + start, .length = i - start, .field = field, .why = why};
        enum tocsin_status status = read_item(&item, cron);
        if (status != TOCSIN_OK)
            return status;
        if (field <= HOUR && (item.star || item.stepped))
            cron->one_time = false;
        start = i + 1;
    }
    bool bare = length == 1 && (text[0] == '*' || text[0] == '?');
    if (field == DAY)
        cron->any_day = bare;
    if (field == WEEKDAY)
        cron->any_weekday = bare;
    return TOCSIN_OK;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Where the fields stand; the count may be larger than what is told of. */
static size_t split(const char *text, size_t length, size_t starts[FIELD_COUNT],
                    size_t ends[FIELD_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < length;) {
        if (blank(text[i])) {
            i++;
            continue;
        }
        size_t start = i;
        while (i < length && !blank(text[i]))
            i++;
        if (count < FIELD_COUNT) {
            starts[count] = start;
            ends[count] = i;
        }
        count++;
    }
    return count;
}

static bool one(uint64_t mask)
{
    return mask != 0 && (mask & (mask - 1)) == 0;
}

static enum tocsin_status parse_fields(const char *text, size_t length, struct cron *ret_cron,
                                       struct tocsin_why *ret_why)
{
    size_t starts[FIELD_COUNT] = {0};
    size_t ends[FIELD_COUNT] = {0};
    size_t count = split(text, length, starts, ends);
    if (count != 5 && count != 6)
        return reason_refuse(ret_why, "cron '%.*s': it has %zu fields, 5 or 6 are needed",
                             reason_quoted(length), text, count);
    struct cron cron = {.one_time = true, .seconds = count == 5};
    for (size_t i = 0; i < count; i++) {
        enum tocsin_status status =
            read_field((int)(i + 6 - count), text + starts[i], ends[i] - starts[i], &cron, ret_why);
        if (status != TOCSIN_OK)
            return status;
    }
    cron.one_time = cron.one_time && one(cron.seconds) && one(cron.minutes) && one(cron.hours);
    *ret_cron = cron;
    return TOCSIN_OK;
}

enum tocsin_status cron_parse(const char *text, size_t length, struct cron *ret_cron,
                              struct tocsin_why *ret_why)
{
    size_t starts[FIELD_COUNT] = {0};
    size_t ends[FIELD_COUNT] = {0};
    if (length > CRON_TEXT_MAX)
        return reason_refuse(ret_why, "cron: %zu characters, at most %d are allowed", length,
                             CRON_TEXT_MAX);
    size_t count = split(text, length, starts, ends);
    if (count == 0 || text[starts[0]] != '@')
        return parse_fields(text, length, ret_cron, ret_why);
    const char *word = text + starts[0];
    size_t word_length = ends[0] - starts[0];
    for (size_t i = 0; count == 1 && i < sizeof nicknames / sizeof nicknames[0]; i++) {
        if (strlen(nicknames[i].name) == word_length &&
            strncasecmp(nicknames[i].name, word, word_length) == 0)
            return parse_fields(nicknames[i].text, strlen(nicknames[i].text), ret_cron, ret_why);
    }
    return reason_refuse(ret_why,
                         "cron '%.*s': known are @yearly, @annually, @monthly, @weekly, @daily, "
                         "@midnight and @hourly",
                         reason_quoted(length), text);
}
