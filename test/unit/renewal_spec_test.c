/* SPDX-License-Identifier: MIT */
/* What a renewal may be asked to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "service/renewal/spec.h"

static const struct renewal_defaults defaults = {300000, 30000, 100};

static enum tocsin_status read_text(const char *json, struct renewal_spec **ret_spec,
                                    bool *ret_malformed, struct tocsin_why *ret_why)
{
    ret_why->text[0] = '\0';
    return renewal_spec_read(bytes_of(json), &defaults, ret_spec, ret_malformed, ret_why);
}

static struct renewal_spec *read_good(const char *json)
{
    struct renewal_spec *spec = NULL;
    struct tocsin_why why;
    bool malformed;
    if (read_text(json, &spec, &malformed, &why) != TOCSIN_OK)
        fail_msg("%s: %s", json, why.text);
    return spec;
}

static void write_text(const struct renewal_spec *spec, enum spec_detail detail, struct buffer *out)
{
    struct json_writer writer;
    buffer_init(out, 1 << 22);
    json_writer_init(&writer, out);
    json_write_object(&writer);
    renewal_spec_write(&writer, spec, detail);
    json_write_object_end(&writer);
    buffer_append_byte(out, '\0');
    assert_int_equal(buffer_status(out), TOCSIN_OK);
}

/* ---- what is read, as it is written again */

#define REST ",\"max_retries\":3,\"redis\":\"default\",\"shorten\":false,\"persistent\":false}"
#define FIXED ",\"strategy\":{\"type\":\"fixed\",\"ttl\":300000}"

static const struct {
    const char *json;
    const char *written;
} good[] = {
    {"{\"keys\":[\"a\"]}", "{\"keys\":[\"a\"]" FIXED ",\"every\":30000" REST},
    {"{\"prefix\":\"x:\"}", "{\"prefix\":\"x:\"" FIXED ",\"every\":30000" REST},
    {"{\"pattern\":\"x:*\"}", "{\"pattern\":\"x:*\"" FIXED ",\"every\":30000" REST},
    {"{\"any\":[{\"keys\":[\"a\",\"b\"]}]}",
     "{\"keys\":[\"a\",\"b\"]" FIXED ",\"every\":30000" REST},
    {"{\"any\":[{\"keys\":[\"a\",\"b\"]},{\"prefix\":\"p\"},{\"pattern\":\"q*\"},{\"keys\":[\"c\"]}"
     "]}",
     "{\"any\":[{\"keys\":[\"a\",\"b\"]},{\"prefix\":\"p\"},{\"pattern\":\"q*\"},{\"keys\":[\"c\"]}"
     "]" FIXED ",\"every\":30000" REST},
    /* a third of the TTL, but never less than a tick */
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":\"90s\"}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":90000},\"every\":30000" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":200}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":200},\"every\":100" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\"}}",
     "{\"keys\":[\"a\"]" FIXED ",\"every\":100000" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[{\"count\":10,\"ttl\":\"5m\"},"
     "{\"ttl\":\"10m\"}]}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[{\"count\":10,\"ttl\":300000},"
     "{\"ttl\":600000}]},\"every\":100000" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[{\"count\":2,\"ttl\":900},"
     "{\"count\":3,\"ttl\":600}]}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[{\"count\":2,\"ttl\":900},"
     "{\"count\":3,\"ttl\":600}]},\"every\":200" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"until\",\"at\":\"2024-01-01T00:00:00Z\"}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"until\",\"ttl\":300000,\"at\":1704067200000},"
     "\"every\":100000" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"until\",\"at\":1704067200000,\"ttl\":\"1m\"}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"until\",\"ttl\":60000,\"at\":1704067200000},"
     "\"every\":20000" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"exists\":true}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"ttl\":300000,\"key\":\"a\",\"exists\":"
     "true},"
     "\"every\":100000" REST},
    {"{\"prefix\":\"x\",\"strategy\":{\"type\":\"while\",\"key\":\"k\",\"exists\":false}}",
     "{\"prefix\":\"x\",\"strategy\":{\"type\":\"while\",\"ttl\":300000,\"key\":\"k\",\"exists\":"
     "false},"
     "\"every\":100000" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"key\":\"k\",\"equals\":7}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"ttl\":300000,\"key\":\"k\","
     "\"equals\":\"7\"},\"every\":100000" REST},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"key\":\"k\",\"equals\":\"\"}}",
     "{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"ttl\":300000,\"key\":\"k\","
     "\"equals\":\"\"},\"every\":100000" REST},
    {"{\"name\":\"n\",\"keys\":[\"a\\u0000\\n\\u00e9\"],\"every\":\"2m\",\"max_retries\":1,"
     "\"redis\":\"other\",\"owner\":18446744073709551615,\"shorten\":true,\"persistent\":true}",
     "{\"name\":\"n\",\"keys\":[\"a\\u0000\\n\xc3\xa9\"]" FIXED
     ",\"every\":120000,\"max_retries\":1,\"redis\":\"other\",\"owner\":\"18446744073709551615\","
     "\"shorten\":true,\"persistent\":true}"},
    {"{\"keys\":[\"a\"],\"owner\":\"\"}",
     "{\"keys\":[\"a\"]" FIXED ",\"every\":30000,\"max_retries\":3,\"redis\":\"default\","
     "\"owner\":\"\",\"shorten\":false,\"persistent\":false}"},
};

/* From what was written of it, whole or brief, and whole again. */
static void check_read_back(const struct renewal_spec *spec, enum spec_detail detail,
                            const char *written)
{
    struct buffer once;
    struct buffer twice;
    write_text(spec, detail, &once);
    struct renewal_spec *again = read_good(once.data);
    write_text(again, SPEC_WHOLE, &twice);
    assert_string_equal(twice.data, written);
    free(again);
    buffer_release(&once);
    buffer_release(&twice);
}

TEST(what_is_written_is_read_back_the_same)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct renewal_spec *spec = read_good(good[i].json);
        check_read_back(spec, SPEC_WHOLE, good[i].written);
        check_read_back(spec, SPEC_BRIEF, good[i].written);
        free(spec);
    }
}

TEST(R_16_an_owner_may_be_empty_which_is_not_the_same_as_none)
{
    struct renewal_spec *spec = read_good("{\"keys\":[\"a\"],\"owner\":\"\"}");
    assert_non_null(spec->more->owner.at);
    assert_int_equal(spec->more->owner.size, 0);
    free(spec);
    spec = read_good("{\"keys\":[\"a\"]}");
    assert_null(spec->more->owner.at);
    assert_null(spec->strategy.test);
    assert_false(spec->scans);
    free(spec);
}

/* ---- what is refused, and which field is named */

static const struct {
    const char *json;
    const char *named;
} bad[] = {
    {"{}", "keys, prefix, pattern, any"},
    {"{\"keys\":[\"a\"],\"prefix\":\"b\"}", "not several"},
    {"{\"keys\":[]}", "keys"},
    {"{\"keys\":\"a\"}", "keys"},
    {"{\"keys\":[1]}", "keys"},
    {"{\"keys\":[\"\"]}", "keys"},
    {"{\"prefix\":\"\"}", "prefix"},
    {"{\"prefix\":1}", "prefix"},
    {"{\"pattern\":\"\"}", "pattern"},
    {"{\"pattern\":[]}", "pattern"},
    {"{\"any\":[]}", "any"},
    {"{\"any\":[{}]}", "any"},
    {"{\"any\":[1]}", "any"},
    {"{\"any\":{}}", "any"},
    {"{\"any\":[{\"keys\":[\"a\"],\"prefix\":\"b\"}]}", "any"},
    {"{\"any\":[{\"any\":[]}]}", "any"},
    {"{\"keys\":[\"a\"],\"name\":\"\"}", "name"},
    {"{\"keys\":[\"a\"],\"name\":\"a\\u0001\"}", "name"},
    {"{\"keys\":[\"a\"],\"strategy\":1}", "strategy"},
    {"{\"keys\":[\"a\"],\"strategy\":{}}", "type"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"often\"}}", "type"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":0}}", "ttl"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":\"soon\"}}", "ttl"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":-5}}", "ttl"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":99999999999999}}", "ttl"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":true}}", "ttl"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"at\":5}}", "fixed goes with ttl"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\"}}", "steps needs steps"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"ttl\":1,\"steps\":[{\"ttl\":900}]}}",
     "steps needs steps, and nothing else"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[]}}", "steps"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[7]}}", "steps"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[{\"count\":1}]}}", "ttl"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[{\"count\":0,\"ttl\":9}]}}",
     "count"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"steps\",\"steps\":[{\"ttl\":900},{\"ttl\":900}]}}",
     "only the last one"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"until\"}}", "until needs at"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"until\",\"at\":\"tomorrow\"}}", "at"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"until\",\"at\":999999999999999}}", "at"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"until\",\"at\":null}}", "at"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\"}}", "exists and equals"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"exists\":true,\"equals\":\"v\"}}",
     "exists and equals"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"exists\":1}}", "exists"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"equals\":true}}", "equals"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"while\",\"key\":\"\",\"exists\":true}}", "key"},
    {"{\"keys\":[\"a\",\"b\"],\"strategy\":{\"type\":\"while\",\"exists\":true}}",
     "while needs a key"},
    {"{\"prefix\":\"a\",\"strategy\":{\"type\":\"while\",\"exists\":true}}", "while needs a key"},
    /* the interval is less than the TTL */
    {"{\"keys\":[\"a\"],\"every\":\"5m\"}", "every"},
    {"{\"keys\":[\"a\"],\"every\":99}", "every"},
    {"{\"keys\":[\"a\"],\"every\":0}", "every"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"ttl\":100}}", "every"},
    {"{\"keys\":[\"a\"],\"every\":600,\"strategy\":{\"type\":\"steps\",\"steps\":[{\"count\":1,"
     "\"ttl\":900},{\"ttl\":600}]}}",
     "every"},
    {"{\"keys\":[\"a\"],\"max_retries\":-1}", "max_retries"},
    {"{\"keys\":[\"a\"],\"max_retries\":1000001}", "max_retries"},
    {"{\"keys\":[\"a\"],\"max_retries\":\"3\"}", "max_retries"},
    {"{\"keys\":[\"a\"],\"redis\":\"\"}", "redis"},
    {"{\"keys\":[\"a\"],\"owner\":1.5}", "owner"},
    {"{\"keys\":[\"a\"],\"owner\":-1}", "owner"},
    {"{\"keys\":[\"a\"],\"owner\":[]}", "owner"},
    {"{\"keys\":[\"a\"],\"shorten\":1}", "shorten"},
    {"{\"keys\":[\"a\"],\"persistent\":\"yes\"}", "persistent"},
    {"{\"keys\":[\"a\"],\"keys\":[\"a\"]}", "keys"},
    {"{\"keys\":[\"a\"],\"colour\":1}", "colour"},
    {"{\"keys\":[\"a\"],\"strategy\":{\"type\":\"fixed\",\"colour\":1}}", "colour"},
    {"[]", ""},
};

TEST(every_refusal_names_the_field)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct renewal_spec *spec = NULL;
        struct tocsin_why why;
        bool malformed = true;
        enum tocsin_status status = read_text(bad[i].json, &spec, &malformed, &why);
        if (status != TOCSIN_INVALID || malformed || strstr(why.text, bad[i].named) == NULL)
            fail_msg("%s: %d, \"%s\"", bad[i].json, status, why.text);
    }
}

TEST(what_is_not_json_is_malformed)
{
    static const char *const texts[] = {"", "{", "{\"keys\":[\"a\"}", "{\"keys\":[\"a\"]} x"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct renewal_spec *spec = NULL;
        struct tocsin_why why;
        bool malformed = false;
        assert_int_equal(read_text(texts[i], &spec, &malformed, &why), TOCSIN_INVALID);
        assert_true(malformed);
    }
}

/* ---- limits */

static char *many_keys(size_t count, size_t size)
{
    char *json = malloc(count * (size + 3) + 100);
    size_t at = (size_t)sprintf(json, "{\"keys\":[");
    for (size_t i = 0; i < count; i++)
        at += (size_t)sprintf(json + at, "%s\"%0*zu\"", i > 0 ? "," : "", (int)size, i);
    (void)sprintf(json + at, "]}");
    return json;
}

static enum tocsin_status read_many(size_t count, size_t size, struct tocsin_why *ret_why)
{
    char *json = many_keys(count, size);
    struct renewal_spec *spec = NULL;
    bool malformed;
    enum tocsin_status status = read_text(json, &spec, &malformed, ret_why);
    if (status == TOCSIN_OK)
        assert_int_equal(spec->source_count, count);
    free(spec);
    free(json);
    return status;
}

TEST(there_are_limits_on_keys_and_bytes)
{
    struct tocsin_why why;
    assert_int_equal(read_many(RENEWAL_KEYS_MAX, 10, &why), TOCSIN_OK);
    assert_int_equal(read_many(RENEWAL_KEYS_MAX + 1, 10, &why), TOCSIN_INVALID);
    assert_non_null(strstr(why.text, "keys"));
    assert_int_equal(read_many(1, RENEWAL_KEY_BYTES_MAX, &why), TOCSIN_OK);
    assert_int_equal(read_many(1, RENEWAL_KEY_BYTES_MAX + 1, &why), TOCSIN_INVALID);
    assert_non_null(strstr(why.text, "keys"));
    assert_int_equal(read_many(RENEWAL_SPEC_BYTES_MAX / 4000 + 1, 4000, &why), TOCSIN_INVALID);
    assert_non_null(strstr(why.text, "keys"));
}
