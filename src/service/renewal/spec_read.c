/* SPDX-License-Identifier: MIT */
/* What may be given with what.
 *
 *   field        goes with       default, limits
 *   keys, prefix, pattern,       one of them; at most RENEWAL_KEYS_MAX in all
 *     generator, any
 *   strategy     any             fixed, with the server's default TTL
 *   every        any             a third of the (least) TTL; without a strategy the server's
 *                                default; always less than the TTL
 *   max_retries  any             3 rounds in a row
 *   redis        any             "default"
 *   owner        any             none; a text, or a number (a fence), as the key's value has it
 *   shorten, persistent          false
 */
#include <stdio.h>
#include <stdlib.h>

#include "schedule/duration.h"
#include "schedule/instant.h"
#include "schedule/reason.h"
#include "service/renewal/spec.h"

enum { WORD_MAX = RENEWAL_KEY_BYTES_MAX };

/* A text among the words. */
struct word {
    size_t at;
    size_t size;
    bool given;
};

struct reading {
    struct json_reader json;
    const char *field; /* that is being read; NULL: none */
    struct buffer words;
    struct buffer sources; /* struct source_word */
    struct buffer steps;   /* struct renewal_step */
    struct renewal_strategy strategy;
    struct word name, redis, owner, test_key, test_value;
    bool test_exists;
    bool exists_given, strategy_given, every_given;
    bool may_shorten, may_limit;
    int64_t every_ms;
    int64_t max_retries;
    char room[WORD_MAX];
};
struct source_word {
    enum source_type type;
    struct word word;
};

static bool complain(struct reading *reading, const char *complaint)
{
    json_read_refuse(&reading->json, complaint);
    return false;
}

/* ---- values */

static bool keep_word(struct reading *reading, const char *at, size_t size, struct word *ret_word)
{
    *ret_word = (struct word){reading->words.size, size, true};
    buffer_append(&reading->words, at, size);
    return true;
}

/* The string that has just been read. Keys of Redis hold any bytes; names do not. */
static bool take_word(struct reading *reading, size_t least, size_t most, struct word *ret_word)
{
    struct json_span text;
    if (!json_read_borrowed(&reading->json, reading->room, most, &text))
        return false;
    if (text.size < least)
        return complain(reading, "must not be empty");
    if (text.size > most)
        return complain(reading, "is too long");
    return keep_word(reading, text.at, text.size, ret_word);
}

static bool read_word(struct reading *reading, size_t least, size_t most, struct word *ret_word)
{
    return json_read_expect(&reading->json, JSON_READ_STRING) &&
           take_word(reading, least, most, ret_word);
}

static bool read_name(struct reading *reading, size_t most, struct word *ret_word)
{
    if (!read_word(reading, 1, most, ret_word))
        return false;
    const char *at = reading->words.data + ret_word->at;
    for (size_t i = 0; reading->words.status == TOCSIN_OK && i < ret_word->size; i++) {
        if ((unsigned char)at[i] < 0x20 || at[i] == 0x7f)
            return complain(reading, "must not have control characters");
    }
    return true;
}

static bool read_duration(struct reading *reading, int64_t least_ms, int64_t *ret_ms)
{
    enum json_token token = json_read_next(&reading->json);
    struct json_span text;
    struct tocsin_why why;
    uint64_t ms = 0;
    char complaint[96];
    if (token == JSON_READ_NUMBER) {
        if (!json_read_uint64(&reading->json, &ms))
            return false;
    } else if (token == JSON_READ_STRING) {
        if (!json_read_borrowed(&reading->json, reading->room, 64, &text))
            return false;
        if (duration_parse(text.at, text.size, &ms, &why) != TOCSIN_OK)
            return complain(reading, why.text);
    } else {
        return token != JSON_READ_BAD &&
               complain(reading, "must be a duration such as \"5m\", or milliseconds");
    }
    if (ms < (uint64_t)least_ms) {
        (void)snprintf(complaint, sizeof complaint, "must be at least %lld ms",
                       (long long)least_ms);
        return complain(reading, complaint);
    }
    if (ms > (uint64_t)RENEWAL_MS_MAX)
        return complain(reading, "is more than a hundred years");
    *ret_ms = (int64_t)ms;
    return true;
}

static bool read_instant(struct reading *reading, int64_t *ret_ms)
{
    enum json_token token = json_read_next(&reading->json);
    struct json_span text;
    struct tocsin_why why;
    if (token == JSON_READ_NUMBER) {
        if (!json_read_int64(&reading->json, ret_ms))
            return false;
        return (*ret_ms >= INSTANT_FIRST_MS && *ret_ms <= INSTANT_LAST_MS) ||
               complain(reading, "is not within the years 1 to 9999");
    }
    if (token != JSON_READ_STRING)
        return token != JSON_READ_BAD &&
               complain(reading, "must be a time such as \"2026-11-15T13:00:00Z\", or epoch "
                                 "milliseconds");
    if (!json_read_borrowed(&reading->json, reading->room, 64, &text))
        return false;
    return instant_parse(text.at, text.size, ret_ms, &why) == TOCSIN_OK ||
           complain(reading, why.text);
}

static bool read_bool(struct reading *reading, bool *ret_value)
{
    enum json_token token = json_read_next(&reading->json);
    if (token != JSON_READ_TRUE && token != JSON_READ_FALSE)
        return token != JSON_READ_BAD && complain(reading, "must be true or false");
    *ret_value = token == JSON_READ_TRUE;
    return true;
}

static bool read_whole(struct reading *reading, int64_t least, int64_t most, int64_t *ret_value)
{
    char complaint[64];
    if (!json_read_expect(&reading->json, JSON_READ_NUMBER) ||
        !json_read_int64(&reading->json, ret_value))
        return false;
    if (*ret_value >= least && *ret_value <= most)
        return true;
    (void)snprintf(complaint, sizeof complaint, "must be from %lld to %lld", (long long)least,
                   (long long)most);
    return complain(reading, complaint);
}

/* A text, or a number as it is written: a fence. */
static bool read_value(struct reading *reading, struct word *ret_word)
{
    enum json_token token = json_read_next(&reading->json);
    if (token == JSON_READ_STRING)
        return take_word(reading, 0, WORD_MAX, ret_word);
    if (token == JSON_READ_NUMBER) {
        uint64_t fence;
        char text[24];
        if (!json_read_uint64(&reading->json, &fence))
            return false;
        int size = snprintf(text, sizeof text, "%llu", (unsigned long long)fence);
        return keep_word(reading, text, (size_t)size, ret_word);
    }
    return token != JSON_READ_BAD && complain(reading, "must be a text or a number");
}

/* ---- which keys */

static bool read_source(struct reading *reading, enum source_type type)
{
    struct source_word source = {.type = type};
    if (reading->sources.size / sizeof source >= RENEWAL_KEYS_MAX)
        return complain(reading,
                        "are more than 10000: use several renewals, a prefix or a pattern");
    if (!take_word(reading, 1, RENEWAL_KEY_BYTES_MAX, &source.word))
        return false;
    buffer_append(&reading->sources, &source, sizeof source);
    return true;
}

static bool read_keys(struct reading *reading)
{
    size_t before = reading->sources.size;
    if (!json_read_expect(&reading->json, JSON_READ_ARRAY))
        return false;
    for (;;) {
        enum json_token token = json_read_next(&reading->json);
        if (token == JSON_READ_ARRAY_END)
            return reading->sources.size > before || complain(reading, "must not be empty");
        if (token != JSON_READ_STRING)
            return token != JSON_READ_BAD && complain(reading, "must be a list of texts");
        if (!read_source(reading, SOURCE_KEY))
            return false;
    }
}

static bool read_which(struct reading *reading, size_t which)
{
    if (which == SOURCE_KEY)
        return read_keys(reading);
    return json_read_expect(&reading->json, JSON_READ_STRING) &&
           read_source(reading, (enum source_type)which);
}

static bool read_any(struct reading *reading)
{
    size_t before = reading->sources.size;
    if (!json_read_expect(&reading->json, JSON_READ_ARRAY))
        return false;
    for (;;) {
        enum json_token token = json_read_next(&reading->json);
        if (token == JSON_READ_ARRAY_END)
            return reading->sources.size > before || complain(reading, "must not be empty");
        if (token != JSON_READ_OBJECT)
            return token != JSON_READ_BAD &&
                   complain(reading, "must be a list of {\"keys\":…}, {\"prefix\":…} or "
                                     "{\"pattern\":…}");
        struct json_keys keys = {source_type_names, SOURCE_TYPES, 0};
        size_t which;
        size_t count = 0;
        for (; json_read_field(&reading->json, &keys, &which); count++) {
            if (!read_which(reading, which))
                return false;
        }
        if (count != 1)
            return complain(reading, "each of them needs one of keys, prefix, pattern");
    }
}

/* ---- how long */

static bool read_steps(struct reading *reading)
{
    static const char *const names[] = {"count", "ttl"};
    if (!json_read_expect(&reading->json, JSON_READ_ARRAY))
        return false;
    bool ended = false;
    for (size_t n = 0;; n++) {
        enum json_token token = json_read_next(&reading->json);
        if (token == JSON_READ_ARRAY_END)
            return n > 0 || complain(reading, "steps must not be empty");
        if (token != JSON_READ_OBJECT)
            return token != JSON_READ_BAD &&
                   complain(reading, "steps must be a list of {\"count\":…,\"ttl\":…}");
        if (ended)
            return complain(reading, "of steps only the last one may be without a count");
        if (n == RENEWAL_STEPS_MAX)
            return complain(reading, "steps are more than 100");
        struct json_keys keys = {names, 2, 0};
        struct renewal_step step = {0};
        int64_t count = 0;
        size_t which;
        while (json_read_field(&reading->json, &keys, &which)) {
            if (which == 0 ? !read_whole(reading, 1, INT64_C(1000000000), &count)
                           : !read_duration(reading, 1, &step.ttl_ms))
                return false;
        }
        if (step.ttl_ms == 0)
            return complain(reading, "each of steps needs a ttl");
        step.count = (uint64_t)count;
        ended = count == 0;
        buffer_append(&reading->steps, &step, sizeof step);
    }
}

enum { S_TYPE, S_TTL, S_STEPS, S_AT, S_KEY, S_NAME, S_EXISTS, S_EQUALS, S_COUNT };

static bool read_type(struct reading *reading)
{
    struct json_span text;
    if (!json_read_expect(&reading->json, JSON_READ_STRING) ||
        !json_read_borrowed(&reading->json, reading->room, 64, &text))
        return false;
    for (size_t i = 0; i < STRATEGY_TYPES; i++) {
        if (bytes_are((struct bytes){text.at, text.size}, strategy_type_names[i])) {
            reading->strategy.type = (enum strategy_type)i;
            return true;
        }
    }
    return complain(reading, "must be one of fixed, steps, until, while");
}

static bool read_strategy_field(struct reading *reading, size_t which)
{
    struct renewal_strategy *strategy = &reading->strategy;
    switch (which) {
    case S_TYPE:
        return read_type(reading);
    case S_TTL:
        return read_duration(reading, 1, &strategy->ttl_ms);
    case S_STEPS:
        return read_steps(reading);
    case S_AT:
        return read_instant(reading, &strategy->until_ms);
    case S_KEY:
        return read_word(reading, 1, RENEWAL_KEY_BYTES_MAX, &reading->test_key);
    case S_NAME:
        return read_name(reading, RENEWAL_NAME_BYTES_MAX, &reading->test_key);
    case S_EXISTS:
        reading->exists_given = true;
        return read_bool(reading, &reading->test_exists);
    default:
        return read_value(reading, &reading->test_value);
    }
}

/* Which fields belong to which type, and which of them it needs. */
static bool strategy_fits(struct reading *reading, uint64_t seen)
{
#define BIT(field) (UINT64_C(1) << (field))
    static const struct {
        uint64_t may;
        uint64_t must;
        const char *complaint;
    } rules[] = {
        [STRATEGY_FIXED] = {BIT(S_TTL), 0, "fixed goes with ttl, and with nothing else"},
        [STRATEGY_STEPS] = {BIT(S_STEPS), BIT(S_STEPS), "steps needs steps, and nothing else"},
        [STRATEGY_UNTIL] = {BIT(S_TTL) | BIT(S_AT), BIT(S_AT), "until needs at, and may have ttl"},
        [STRATEGY_WHILE] = {BIT(S_TTL) | BIT(S_KEY) | BIT(S_EXISTS) | BIT(S_EQUALS), 0,
                            "while goes with ttl, key, exists and equals"},
        [STRATEGY_OWN] = {BIT(S_TTL) | BIT(S_NAME), BIT(S_NAME),
                          "own needs name, and may have ttl"},
    };
    if ((seen & BIT(S_TYPE)) == 0)
        return complain(reading, "needs a type: fixed, steps, until or while");
    enum strategy_type type = reading->strategy.type;
    seen &= ~BIT(S_TYPE);
    if ((seen & ~rules[type].may) != 0 || (seen & rules[type].must) != rules[type].must)
        return complain(reading, rules[type].complaint);
    if (type == STRATEGY_WHILE && reading->exists_given == reading->test_value.given)
        return complain(reading, "while needs one of exists and equals");
    return true;
#undef BIT
}

static bool read_strategy(struct reading *reading)
{
    static const char *const names[S_COUNT] = {"type", "ttl",  "steps",  "at",
                                               "key",  "name", "exists", "equals"};
    struct json_keys keys = {names, S_COUNT, 0};
    size_t which;
    reading->strategy_given = true;
    if (!json_read_expect(&reading->json, JSON_READ_OBJECT))
        return false;
    while (json_read_field(&reading->json, &keys, &which)) {
        if (!read_strategy_field(reading, which))
            return false;
    }
    return strategy_fits(reading, keys.seen);
}

/* ---- the whole */

enum {
    F_NAME,
    F_KEYS,
    F_PREFIX,
    F_PATTERN,
    F_GENERATOR,
    F_ANY,
    F_STRATEGY,
    F_EVERY,
    F_MAX_RETRIES,
    F_REDIS,
    F_OWNER,
    F_SHORTEN,
    F_PERSISTENT,
    F_COUNT
};

static bool read_field(struct reading *reading, size_t which)
{
    switch (which) {
    case F_NAME:
        return read_name(reading, RENEWAL_NAME_BYTES_MAX, &reading->name);
    case F_KEYS:
    case F_PREFIX:
    case F_PATTERN:
    case F_GENERATOR:
        return read_which(reading, which - F_KEYS + SOURCE_KEY);
    case F_ANY:
        return read_any(reading);
    case F_STRATEGY:
        return read_strategy(reading);
    case F_EVERY:
        reading->every_given = true;
        return read_duration(reading, 1, &reading->every_ms);
    case F_MAX_RETRIES:
        return read_whole(reading, 0, RENEWAL_RETRIES_MAX, &reading->max_retries);
    case F_REDIS:
        return read_name(reading, RENEWAL_REDIS_BYTES_MAX, &reading->redis);
    case F_OWNER:
        return read_value(reading, &reading->owner);
    case F_SHORTEN:
        return read_bool(reading, &reading->may_shorten);
    default:
        return read_bool(reading, &reading->may_limit);
    }
}

static enum tocsin_status check(struct reading *reading, uint64_t seen,
                                const struct renewal_defaults *defaults, struct tocsin_why *ret_why)
{
    struct renewal_strategy *strategy = &reading->strategy;
    uint64_t which = seen >> F_KEYS & 0x1f;
    if (which == 0)
        return reason_refuse(ret_why, "keys, prefix, pattern, any: one of them is needed");
    if ((which & (which - 1)) != 0)
        return reason_refuse(ret_why, "keys, prefix, pattern, any: one of them, not several");
    if (strategy->ttl_ms == 0)
        strategy->ttl_ms = defaults->ttl_ms;
    if (strategy->type == STRATEGY_STEPS) {
        strategy->steps = (const struct renewal_step *)(const void *)reading->steps.data;
        strategy->step_count = (uint32_t)(reading->steps.size / sizeof(struct renewal_step));
    }
    int64_t ttl = strategy_least_ttl_ms(strategy);
    if (!reading->every_given) {
        bool as_configured = !reading->strategy_given && defaults->every_ms < ttl;
        reading->every_ms = as_configured ? defaults->every_ms : ttl / 3;
        if (reading->every_ms < defaults->least_every_ms)
            reading->every_ms = defaults->least_every_ms;
    }
    if (reading->every_ms < defaults->least_every_ms)
        return reason_refuse(ret_why, "every: must be at least %lld ms, a tick of the wheel",
                             (long long)defaults->least_every_ms);
    if (reading->every_ms >= ttl)
        return reason_refuse(ret_why,
                             "every: %lld ms is not less than the ttl, %lld ms: the keys would end "
                             "between two renewals",
                             (long long)reading->every_ms, (long long)ttl);
    if (strategy->type == STRATEGY_WHILE && !reading->test_key.given) {
        const struct source_word *first = (const void *)reading->sources.data;
        if (reading->sources.size != sizeof *first || first->type != SOURCE_KEY)
            return reason_refuse(ret_why,
                                 "strategy: while needs a key when more than one is renewed");
        reading->test_key = first->word;
    }
    return TOCSIN_OK;
}

static struct bytes word_in(const char *words, const struct word *word)
{
    return word->given ? (struct bytes){words + word->at, word->size} : (struct bytes){NULL, 0};
}

static const struct renewal_more plain = {
    .redis = {RENEWAL_REDIS_DEFAULT, sizeof RENEWAL_REDIS_DEFAULT - 1}};

static bool has_test(const struct renewal_strategy *strategy)
{
    return strategy->type == STRATEGY_WHILE || strategy->type == STRATEGY_OWN;
}

/* What only some have, each into a part of its own; none of them moves. */
static void pack_parts(const struct reading *reading, struct renewal_spec *spec, char *at,
                       const char *words)
{
    bool tests = has_test(&spec->strategy);
    if (reading->steps.size > 0) {
        memcpy(at, reading->steps.data, reading->steps.size);
        spec->strategy.steps = (const void *)at;
        at += reading->steps.size;
    }
    if (tests) {
        struct renewal_test *test = (void *)at;
        test->key = word_in(words, &reading->test_key);
        test->value = word_in(words, &reading->test_value);
        test->exists = reading->test_exists;
        spec->strategy.test = test;
        at += sizeof *test;
    }
    if (spec->more != &plain) {
        struct renewal_more *more = (void *)at;
        more->name = word_in(words, &reading->name);
        more->redis = reading->redis.given ? word_in(words, &reading->redis) : plain.redis;
        more->owner = word_in(words, &reading->owner);
        spec->more = more;
    }
}

/* One piece of memory: spec, sources, the parts that it has, words. */
static struct renewal_spec *pack(const struct reading *reading)
{
    size_t count = reading->sources.size / sizeof(struct source_word);
    bool is_plain = !reading->name.given && !reading->redis.given && !reading->owner.given;
    size_t parts_at = sizeof(struct renewal_spec) + count * sizeof(struct key_source);
    size_t words_at = parts_at + reading->steps.size;
    words_at += has_test(&reading->strategy) ? sizeof(struct renewal_test) : 0;
    words_at += is_plain ? 0 : sizeof(struct renewal_more);
    struct renewal_spec *spec = calloc(1, words_at + reading->words.size);
    if (spec == NULL)
        return NULL;
    char *words = (char *)spec + words_at;
    const struct source_word *from = (const void *)reading->sources.data;
    memcpy(words, reading->words.data, reading->words.size);
    spec->source_count = (uint16_t)count;
    for (size_t i = 0; i < count; i++) {
        spec->sources[i] = (struct key_source){from[i].type, word_in(words, &from[i].word)};
        spec->scans = spec->scans || from[i].type != SOURCE_KEY;
    }
    spec->strategy = reading->strategy;
    spec->more = is_plain ? &plain : NULL;
    spec->every_ms = reading->every_ms;
    spec->max_retries = (uint32_t)reading->max_retries;
    spec->may_shorten = reading->may_shorten;
    spec->may_limit = reading->may_limit;
    pack_parts(reading, spec, (char *)spec + parts_at, words);
    return spec;
}

/* The reason of the JSON reader is 'byte 17: "ttl": must be …'; ours begins with the field. */
static void explain(const struct reading *reading, struct tocsin_why *ret_why)
{
    const char *text = strstr(reading->json.why.text, ": ");
    char own[40];
    if (reading->field == NULL || ret_why == NULL || text == NULL)
        return;
    text += 2;
    int size = snprintf(own, sizeof own, "\"%s\": ", reading->field);
    if (strncmp(text, own, (size_t)size) == 0)
        text += size;
    (void)reason_refuse(ret_why, "%s: %s", reading->field, text);
}

static enum tocsin_status read_all(struct reading *reading, struct bytes json,
                                   const struct renewal_defaults *defaults, bool *ret_malformed,
                                   struct tocsin_why *ret_why)
{
    static const char *const names[F_COUNT] = {
        "name",  "keys",        "prefix", "pattern", "generator", "any",       "strategy",
        "every", "max_retries", "redis",  "owner",   "shorten",   "persistent"};
    struct json_keys keys = {names, F_COUNT, 0};
    size_t which;
    json_reader_init(&reading->json, json.at, json.size, 0);
    (void)json_read_expect(&reading->json, JSON_READ_OBJECT);
    while (json_read_field(&reading->json, &keys, &which)) {
        reading->field = names[which];
        if (read_field(reading, which))
            reading->field = NULL;
    }
    enum tocsin_status status = json_read_finish(&reading->json, ret_why);
    bool malformed = status != TOCSIN_OK && json_read_malformed(&reading->json);
    if (ret_malformed != NULL)
        *ret_malformed = malformed;
    if (status != TOCSIN_OK && !malformed)
        explain(reading, ret_why);
    if (buffer_status(&reading->words) == TOCSIN_FULL)
        return reason_refuse(ret_why, "keys: have more than %d bytes in all",
                             RENEWAL_SPEC_BYTES_MAX);
    /* First: what could not be kept looks as if it had not been given. */
    if (buffer_status(&reading->words) != TOCSIN_OK ||
        buffer_status(&reading->sources) != TOCSIN_OK ||
        buffer_status(&reading->steps) != TOCSIN_OK)
        return TOCSIN_NO_MEMORY;
    return status == TOCSIN_OK ? check(reading, keys.seen, defaults, ret_why) : status;
}

enum tocsin_status renewal_spec_read(struct bytes json, const struct renewal_defaults *defaults,
                                     struct renewal_spec **ret_spec, bool *ret_malformed,
                                     struct tocsin_why *ret_why)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL)
        return TOCSIN_NO_MEMORY;
    reading->max_retries = RENEWAL_RETRIES_DEFAULT;
    buffer_init(&reading->words, RENEWAL_SPEC_BYTES_MAX);
    buffer_init(&reading->sources, RENEWAL_KEYS_MAX * sizeof(struct source_word));
    buffer_init(&reading->steps, RENEWAL_STEPS_MAX * sizeof(struct renewal_step));
    enum tocsin_status status = read_all(reading, json, defaults, ret_malformed, ret_why);
    if (status == TOCSIN_OK) {
        *ret_spec = pack(reading);
        status = *ret_spec == NULL ? TOCSIN_NO_MEMORY : TOCSIN_OK;
    }
    buffer_release(&reading->words);
    buffer_release(&reading->sources);
    buffer_release(&reading->steps);
    free(reading);
    return status;
}
