/* SPDX-License-Identifier: MIT */
#include "cli/clock_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/fields.h"
#include "cli/options.h"
#include "schedule/duration.h"

enum { NUMBER_BYTES = 20 };

/* An answer's numbers are kept where counting with them is safe. */
static const int64_t ms_max = INT64_C(1) << 40;
static const int64_t periods_max = 1000000;

static const char *const modes[] = {
    [CLOCK_TURN] = "turn",   [CLOCK_FISCHER] = "fischer", [CLOCK_BRONSTEIN] = "bronstein",
    [CLOCK_DELAY] = "delay", [CLOCK_BYOYOMI] = "byoyomi", [CLOCK_OTHER] = "another clock",
};

const char *clock_rules_mode(const struct clock_rules *rules)
{
    return modes[rules->kind];
}

static enum clock_kind kind_of(const char *name, size_t size)
{
    enum clock_kind kind = CLOCK_TURN;
    while (kind != CLOCK_OTHER &&
           (strlen(modes[kind]) != size || strncasecmp(modes[kind], name, size) != 0))
        kind++;
    return kind;
}

static bool parse_ms(const char *text, size_t size, int64_t *ret_ms)
{
    struct tocsin_why why;
    uint64_t ms;
    if (duration_parse(text, size, &ms, &why) != TOCSIN_OK || ms > INT64_MAX)
        return false;
    *ret_ms = (int64_t)ms;
    return true;
}

/* "3s", and of byo-yomi "3x10s" */
static bool parse_extra(const char *text, struct clock_rules *rules)
{
    char number[NUMBER_BYTES];
    uint64_t periods;
    if (rules->kind == CLOCK_BYOYOMI) {
        size_t size = strcspn(text, "x");
        if (text[size] == '\0' || size >= sizeof number)
            return false;
        memcpy(number, text, size);
        number[size] = '\0';
        if (!options_whole(number, 1, INT64_MAX, &periods))
            return false;
        rules->periods = (int64_t)periods;
        text += size + 1;
    }
    return parse_ms(text, strlen(text), &rules->extra_ms);
}

bool clock_rules_parse(const char *text, struct clock_rules *ret_rules)
{
    size_t name = strcspn(text, ":");
    struct clock_rules rules = {.kind = kind_of(text, name)};
    if (rules.kind == CLOCK_OTHER || text[name] == '\0')
        return false;
    const char *bank = text + name + 1;
    size_t size = strcspn(bank, "+");
    bool more = bank[size] == '+';
    if (!parse_ms(bank, size, &rules.bank_ms) || (more && rules.kind == CLOCK_TURN) ||
        (!more && rules.kind == CLOCK_BYOYOMI) || (more && !parse_extra(bank + size + 1, &rules)))
        return false;
    *ret_rules = rules;
    return true;
}

static int64_t within(int64_t value, int64_t max)
{
    return value < 0 ? 0 : value > max ? max : value;
}

struct clock_rules clock_rules_read(struct bytes json, int64_t turn_seconds)
{
    struct clock_rules rules = {.kind = CLOCK_TURN,
                                .bank_ms = within(turn_seconds, ms_max / 1000) * 1000};
    char mode[32];
    if (!fields_text(json, "mode", mode, sizeof mode))
        return rules;
    rules.kind = kind_of(mode, strlen(mode));
    (void)fields_int64(json, "bankMs", &rules.bank_ms);
    (void)fields_int64(json, "extraMs", &rules.extra_ms);
    (void)fields_int64(json, "periods", &rules.periods);
    rules.bank_ms = within(rules.bank_ms, ms_max);
    rules.extra_ms = within(rules.extra_ms, ms_max);
    rules.periods = within(rules.periods, periods_max);
    return rules;
}

void clock_rules_say(const struct clock_rules *rules, const char *times,
                     char ret_text[CLOCK_RULES_TEXT_BYTES])
{
    static const char *const between[] = {
        [CLOCK_FISCHER] = " + ", [CLOCK_BRONSTEIN] = ", Bronstein ", [CLOCK_DELAY] = ", delay "};
    char bank[DURATION_TEXT_BYTES];
    char extra[DURATION_TEXT_BYTES];
    duration_format((uint64_t)rules->bank_ms, bank);
    duration_format((uint64_t)rules->extra_ms, extra);
    if (rules->kind == CLOCK_TURN)
        (void)snprintf(ret_text, CLOCK_RULES_TEXT_BYTES, "%s a move", bank);
    else if (rules->kind == CLOCK_BYOYOMI)
        (void)snprintf(ret_text, CLOCK_RULES_TEXT_BYTES, "%s + %" PRId64 " %s %s", bank,
                       rules->periods, times, extra);
    else if (rules->kind == CLOCK_OTHER)
        (void)snprintf(ret_text, CLOCK_RULES_TEXT_BYTES, "%s", modes[CLOCK_OTHER]);
    else if (rules->extra_ms == 0)
        (void)snprintf(ret_text, CLOCK_RULES_TEXT_BYTES, "%s a game", bank);
    else
        (void)snprintf(ret_text, CLOCK_RULES_TEXT_BYTES, "%s%s%s%s", bank, between[rules->kind],
                       extra, rules->kind == CLOCK_FISCHER ? " a move" : "");
}
