/* SPDX-License-Identifier: MIT */
#include "service/renewal/spec.h"

const char *const source_type_names[SOURCE_TYPES] = {[SOURCE_KEY] = "keys",
                                                     [SOURCE_PREFIX] = "prefix",
                                                     [SOURCE_PATTERN] = "pattern",
                                                     [SOURCE_GENERATOR] = "generator"};
const char *const strategy_type_names[STRATEGY_TYPES] = {[STRATEGY_FIXED] = "fixed",
                                                         [STRATEGY_STEPS] = "steps",
                                                         [STRATEGY_UNTIL] = "until",
                                                         [STRATEGY_WHILE] = "while",
                                                         [STRATEGY_OWN] = "own"};

/* From this one on, while they are keys; the first that is not. */
static uint32_t write_keys(struct json_writer *writer, const struct renewal_spec *spec,
                           uint32_t from)
{
    json_write_key(writer, "keys");
    json_write_array(writer);
    for (; from < spec->source_count && spec->sources[from].type == SOURCE_KEY; from++)
        json_write_string(writer, spec->sources[from].text.at, spec->sources[from].text.size);
    json_write_array_end(writer);
    return from;
}

static void write_sources(struct json_writer *writer, const struct renewal_spec *spec)
{
    if (!spec->scans) {
        (void)write_keys(writer, spec, 0);
        return;
    }
    if (spec->source_count == 1) {
        json_field_bytes(writer, source_type_names[spec->sources[0].type], spec->sources[0].text);
        return;
    }
    json_write_key(writer, "any");
    json_write_array(writer);
    for (uint32_t i = 0; i < spec->source_count;) {
        json_write_object(writer);
        if (spec->sources[i].type == SOURCE_KEY) {
            i = write_keys(writer, spec, i);
        } else {
            json_field_bytes(writer, source_type_names[spec->sources[i].type],
                             spec->sources[i].text);
            i++;
        }
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void write_steps(struct json_writer *writer, const struct renewal_strategy *strategy)
{
    json_write_key(writer, "steps");
    json_write_array(writer);
    for (uint32_t i = 0; i < strategy->step_count; i++) {
        json_write_object(writer);
        if (strategy->steps[i].count > 0)
            json_field_int64(writer, "count", (int64_t)strategy->steps[i].count);
        json_field_int64(writer, "ttl", strategy->steps[i].ttl_ms);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void write_strategy(struct json_writer *writer, const struct renewal_strategy *strategy)
{
    json_write_key(writer, "strategy");
    json_write_object(writer);
    json_field_text(writer, "type", strategy_type_names[strategy->type]);
    if (strategy->type == STRATEGY_STEPS)
        write_steps(writer, strategy);
    else
        json_field_int64(writer, "ttl", strategy->ttl_ms);
    if (strategy->type == STRATEGY_UNTIL)
        json_field_int64(writer, "at", strategy->until_ms);
    if (strategy->type == STRATEGY_OWN)
        json_field_bytes(writer, "name", strategy->test->key);
    if (strategy->type == STRATEGY_WHILE) {
        json_field_bytes(writer, "key", strategy->test->key);
        if (strategy->test->value.at != NULL) {
            json_field_bytes(writer, "equals", strategy->test->value);
        } else {
            json_field_bool(writer, "exists", strategy->test->exists);
        }
    }
    json_write_object_end(writer);
}

void renewal_spec_write(struct json_writer *writer, const struct renewal_spec *spec,
                        enum spec_detail detail)
{
    bool whole = detail == SPEC_WHOLE;
    const struct renewal_more *more = spec->more;
    if (more->name.size > 0)
        json_field_bytes(writer, "name", more->name);
    write_sources(writer, spec);
    write_strategy(writer, &spec->strategy);
    json_field_int64(writer, "every", spec->every_ms);
    if (whole || spec->max_retries != RENEWAL_RETRIES_DEFAULT)
        json_field_int64(writer, "max_retries", spec->max_retries);
    if (whole || !bytes_are(more->redis, RENEWAL_REDIS_DEFAULT))
        json_field_bytes(writer, "redis", more->redis);
    if (more->owner.at != NULL)
        json_field_bytes(writer, "owner", more->owner);
    if (whole || spec->may_shorten)
        json_field_bool(writer, "shorten", spec->may_shorten);
    if (whole || spec->may_limit)
        json_field_bool(writer, "persistent", spec->may_limit);
}
