/* SPDX-License-Identifier: MIT */
/* W-22: time zones from the system's tzdata, with glibc as the judge. */
#include "schedule/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"
#include "schedule/civil.h"
#include "schedule/instant.h"
#include "schedule/zone_rule.h"

enum { FILE_MAX = 8192, YEAR_S = 31556952 };

static struct zone *zone_named(const char *name)
{
    struct tocsin_why why = {""};
    struct zone *zone = NULL;
    if (zone_create(NULL, name, strlen(name), &zone, &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
    return zone;
}

static int64_t seconds(const char *text)
{
    int64_t ms = 0;
    if (text == NULL)
        return -1;
    assert_int_equal(instant_parse(text, strlen(text), &ms, NULL), TOCSIN_OK);
    return ms / 1000;
}

static size_t file_of(const char *name, uint8_t bytes[FILE_MAX])
{
    char path[200];
    (void)snprintf(path, sizeof path, ZONE_FOLDER "/%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, FILE_MAX, file);
    (void)fclose(file);
    assert_in_range(size, 44, FILE_MAX - 1);
    return size;
}

/* Local times are written as if they were UTC. Checked by hand against the tz database. */
TEST(zone_tells_the_instants_of_a_local_time)
{
    static const struct {
        const char *zone;
        const char *local;
        const char *instants[2];
    } rows[] = {
        {"UTC", "2026-03-29T02:30:00Z", {"2026-03-29T02:30:00Z"}},
        {"Europe/Berlin", "2026-01-15T12:00:00Z", {"2026-01-15T12:00:00+01:00"}},
        {"Europe/Berlin", "2026-03-29T01:59:59Z", {"2026-03-29T00:59:59Z"}},
        {"Europe/Berlin", "2026-03-29T02:00:00Z", {NULL}},
        {"Europe/Berlin", "2026-03-29T02:59:59Z", {NULL}},
        {"Europe/Berlin", "2026-03-29T03:00:00Z", {"2026-03-29T01:00:00Z"}},
        {"Europe/Berlin", "2026-10-25T01:59:59Z", {"2026-10-24T23:59:59Z"}},
        {"Europe/Berlin",
         "2026-10-25T02:00:00Z",
         {"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"}},
        {"Europe/Berlin", "2026-10-25T03:00:00Z", {"2026-10-25T02:00:00Z"}},
        {"Europe/Berlin", "2126-07-01T12:00:00Z", {"2126-07-01T10:00:00Z"}},
        {"America/New_York", "2026-03-08T02:30:00Z", {NULL}},
        {"America/New_York",
         "2026-11-01T01:30:00Z",
         {"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"}},
        {"America/New_York", "2090-03-12T02:30:00Z", {NULL}},
        {"Australia/Lord_Howe", "2026-10-04T02:15:00Z", {NULL}},
        {"Australia/Lord_Howe", "2026-10-04T02:30:00Z", {"2026-10-04T02:30:00+11:00"}},
        {"Australia/Lord_Howe",
         "2026-04-05T01:45:00Z",
         {"2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30"}},
        {"Africa/Casablanca",
         "2026-02-15T02:30:00Z",
         {"2026-02-15T02:30:00+01:00", "2026-02-15T02:30:00Z"}},
        {"Africa/Casablanca", "2026-03-22T02:30:00Z", {NULL}},
        {"Europe/Dublin", "2026-03-29T01:30:00Z", {NULL}},
        {"Asia/Kathmandu", "2026-01-01T00:00:00Z", {"2026-01-01T00:00:00+05:45"}},
        {"Pacific/Apia", "2011-12-30T12:00:00Z", {NULL}},
        {"Pacific/Apia", "2011-12-31T00:00:00Z", {"2011-12-31T00:00:00+14:00"}},
        {"America/Scoresbysund", "2026-03-28T23:30:00Z", {NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct zone *zone = zone_named(rows[i].zone);
        assert_string_equal(zone_name(zone), rows[i].zone);
        int64_t at_s[2] = {0, 0};
        int count = zone_instants(zone, seconds(rows[i].local), at_s);
        int expected = 0;
        while (expected < 2 && rows[i].instants[expected] != NULL)
            expected++;
        if (count != expected)
            fail_msg("%s in %s: %d instants", rows[i].local, rows[i].zone, count);
        for (int k = 0; k < count; k++)
            assert_true(at_s[k] == seconds(rows[i].instants[k]));
        zone_destroy(zone);
    }
}

static int32_t glibc_offset(int64_t at_s)
{
    time_t at = (time_t)at_s;
    struct tm tm;
    assert_non_null(localtime_r(&at, &tm));
    return (int32_t)tm.tm_gmtoff;
}

/* Against every offset the C library has in use within two days around. */
static void check_instants(const struct zone *zone, int64_t local_s)
{
    int64_t found[2];
    int count = zone_instants(zone, local_s, found);
    int seen = 0;
    int32_t tried[8];
    int tries = 0;
    for (int64_t at_s = local_s + 2 * CIVIL_DAY_S; at_s >= local_s - 2 * CIVIL_DAY_S;
         at_s -= 3600) {
        int32_t offset_s = glibc_offset(at_s);
        int known = 0;
        while (known < tries && tried[known] != offset_s)
            known++;
        if (known < tries || tries == 8)
            continue;
        tried[tries++] = offset_s;
        int64_t candidate_s = local_s - offset_s;
        if (glibc_offset(candidate_s) != offset_s)
            continue;
        seen++;
        assert_true(count > 0 && (found[0] == candidate_s || found[count - 1] == candidate_s));
    }
    assert_int_equal(seen, count);
    assert_true(count < 2 || found[0] < found[1]);
}

static void check_zone(const char *name, struct test_random *random)
{
    struct zone *zone = zone_named(name);
    assert_int_equal(setenv("TZ", name, 1), 0);
    tzset();
    int64_t first_s = -INT64_C(70) * YEAR_S;
    for (uint64_t i = test_effort(400); i > 0; i--) {
        int64_t at_s = first_s + (int64_t)test_random_below(random, UINT64_C(300) * YEAR_S);
        struct zone_span span = zone_span_at(zone, at_s);
        assert_true(span.start_s <= at_s && at_s < span.end_s);
        /* The seams are where errors are. */
        if (test_random_one_in(random, 2) && span.end_s < first_s + INT64_C(300) * YEAR_S)
            at_s = span.end_s - (int64_t)test_random_below(random, 2);
        if (zone_offset_at(zone, at_s) != glibc_offset(at_s))
            fail_msg("%s at %lld: %d, but %d in glibc", name, (long long)at_s,
                     zone_offset_at(zone, at_s), glibc_offset(at_s));
        if (i % 16 == 0)
            check_instants(zone, at_s + (int64_t)test_random_below(random, 14400) - 7200 +
                                     zone_offset_at(zone, at_s));
    }
    zone_destroy(zone);
}

TEST(zone_agrees_with_glibc_in_every_zone_from_1900_to_2200)
{
    struct test_random random = {test_seed()};
    FILE *table = fopen(ZONE_FOLDER "/zone1970.tab", "r");
    char line[512];
    char name[128];
    int zones = 0;
    assert_non_null(table);
    while (fgets(line, sizeof line, table) != NULL) {
        if (line[0] == '#' || sscanf(line, "%*s %*s %127s", name) != 1)
            continue;
        check_zone(name, &random);
        zones++;
    }
    (void)fclose(table);
    (void)unsetenv("TZ");
    tzset();
    assert_true(zones > 300);
}

static void assert_no_zone(const char *folder, const char *name, size_t length, const char *part)
{
    struct tocsin_why why = {""};
    struct zone *zone = (void *)1;
    assert_int_equal(zone_create(folder, name, length, &zone, &why), TOCSIN_INVALID);
    if (strstr(why.text, part) == NULL)
        fail_msg("'%s' said: %s", name, why.text);
    assert_ptr_equal(zone, (void *)1);
}

TEST(zone_names_cannot_leave_the_folder)
{
    static const char *const names[] = {
        "",
        "/etc/localtime",
        "../etc/passwd",
        "Europe/../../etc/passwd",
        "Europe//Berlin",
        "Europe/",
        "/",
        ".",
        "Europe/Berlin\n",
        "Euro pe",
        "zone.tab",
        "Z\xc3\xbcrich",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_no_zone(NULL, names[i], strlen(names[i]), "is not a name such as Europe/Berlin");
    assert_no_zone(NULL, "Europe/Berlin\0x", 15, "is not a name");
    char longest[ZONE_NAME_MAX + 2];
    memset(longest, 'a', sizeof longest);
    assert_no_zone(NULL, longest, ZONE_NAME_MAX + 1, "is not a name");
    assert_no_zone(NULL, longest, ZONE_NAME_MAX, "is not known");
    assert_no_zone(NULL, "Europe", 6, "'Europe' is not known");
    assert_no_zone(NULL, "Europe/Berlin/x", 15, "is not known");
    assert_no_zone(NULL, "Europe/Berlim", 13, "time zone 'Europe/Berlim' is not known");
}

TEST(zone_utc_needs_no_tzdata_and_others_say_what_is_missing)
{
    struct zone *zone = NULL;
    assert_int_equal(zone_create("/nonexistent", "UTC", 3, &zone, NULL), TOCSIN_OK);
    struct zone_span span = zone_span_at(zone, 0);
    assert_true(span.start_s == INT64_MIN && span.end_s == INT64_MAX && span.offset_s == 0);
    zone_destroy(zone);
    assert_no_zone("/nonexistent", "Europe/Berlin", 13, "is the package tzdata installed?");
}

TEST(zone_file_that_is_damaged_is_refused_or_answers)
{
    struct test_random random = {test_seed()};
    uint8_t bytes[FILE_MAX];
    uint8_t changed[FILE_MAX];
    size_t size = file_of("Europe/Berlin", bytes);
    struct zone *zone = NULL;
    struct tocsin_why why;
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(zone_create_from("x", bytes, cut, &zone, NULL), TOCSIN_INVALID);
    assert_int_equal(zone_create_from("x", bytes, size + 1, &zone, NULL), TOCSIN_INVALID);
    for (uint64_t i = test_effort(5000); i > 0; i--) {
        memcpy(changed, bytes, size);
        for (uint64_t k = 1 + test_random_below(&random, 3); k > 0; k--)
            changed[test_random_below(&random, size)] = (uint8_t)test_random_next(&random);
        if (zone_create_from("x", changed, size, &zone, &why) != TOCSIN_OK)
            continue;
        int64_t at_s[2];
        for (int64_t local_s = -4000000000; local_s < 9000000000; local_s += 100000000)
            assert_in_range(zone_instants(zone, local_s, at_s), 0, 2);
        zone_destroy(zone);
    }
}

/* A file with one change, written by hand, and what may be wrong with it. */
TEST(zone_file_is_refused_with_the_reason)
{
    static const uint8_t good[] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
                                  "\0\0\0\0\0\0"
                                  "UTC\0"
                                  "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\4"
                                  "\0\0\0\0\0\1\0\0"
                                  "\1"
                                  "\0\0\0\0\0\0"
                                  "\0\0\x0e\x10\1\0"
                                  "UTC\0"
                                  "\n<+01>-1\n";
    enum { SECOND = 44 + 10, SIZE = sizeof good - 1, DATA = SECOND + 44 };
    static const struct {
        size_t at;
        uint8_t byte;
        const char *why;
    } rows[] = {
        {0, 'X', "it has no TZif header, at byte 0"},
        {4, '1', "it is of version 1"},
        {43, 5, "it has no TZif header"},
        {40, 5, "it ends too early"},
        {SECOND, 'X', "it has no TZif header, at byte 54"},
        {SECOND + 39, 0, "its count of types is not 1 to 256"},
        {SECOND + 23, 1, "its marks are not one per type"},
        {SECOND + 35, 200, "it ends too early"},
        {DATA + 8, 2, "a change to a type that is not there"},
        {DATA + 9, 1, "an offset of more than 26 hours"},
        {DATA + 13, 2, "a type that is not valid"},
        {DATA + 14, 4, "a type that is not valid"},
        {SIZE - 1, 'x', "its last line is not a rule"},
        {SIZE - 9, 'x', "its last line is not a rule"},
        {SIZE - 4, '!', "the rule '<+01!-1' is not a POSIX TZ string"},
    };
    struct zone *zone = NULL;
    struct tocsin_why why = {""};
    assert_int_equal(zone_create_from("x", good, SIZE, &zone, &why), TOCSIN_OK);
    assert_int_equal(zone_offset_at(zone, 65535), 0);
    assert_int_equal(zone_offset_at(zone, 65536), 3600);
    zone_destroy(zone);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[SIZE];
        memcpy(bytes, good, SIZE);
        bytes[rows[i].at] = rows[i].byte;
        assert_int_equal(zone_create_from("x", bytes, SIZE, &zone, &why), TOCSIN_INVALID);
        if (strstr(why.text, rows[i].why) == NULL)
            fail_msg("row %zu said: %s", i, why.text);
    }
}

TEST(zone_that_counts_leap_seconds_is_refused)
{
    static const char name[] = "right/Europe/Berlin";
    struct zone *zone = NULL;
    struct tocsin_why why = {""};
    if (access(ZONE_FOLDER "/right/Europe/Berlin", R_OK) != 0)
        return; /* not every system has them */
    assert_int_equal(zone_create(NULL, name, strlen(name), &zone, &why), TOCSIN_INVALID);
    assert_non_null(strstr(why.text, "leap seconds"));
}

TEST(zone_rule_is_read_as_posix_writes_it)
{
    static const struct {
        const char *text;
        const char *at;
        int32_t offset_s; /* from the instant on; -1 a second before is another */
    } rows[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 3600},
        {"EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", -14400},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3600},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-10-25T01:00:00Z", 0},
        {"AAA3BBB,J60/0,J300/0", "2028-03-01T03:00:00Z", -7200},
        {"AAA3BBB,J60/0,J300/0", "2027-03-01T03:00:00Z", -7200},
        {"AAA3BBB,59/0,300/0", "2028-02-29T03:00:00Z", -7200},
        {"AAA3:30BBB1:15:30,M4.1.0/2:30:15,M10.1.0", "2026-04-05T06:00:15Z", -4530},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct zone_rule rule;
        assert_int_equal(zone_rule_parse(rows[i].text, strlen(rows[i].text), &rule, NULL),
                         TOCSIN_OK);
        struct zone_span span = zone_rule_span(&rule, seconds(rows[i].at));
        if (span.start_s != seconds(rows[i].at) || span.offset_s != rows[i].offset_s)
            fail_msg("%s: starts at %lld with %d", rows[i].text, (long long)span.start_s,
                     span.offset_s);
        assert_true(zone_rule_span(&rule, span.start_s - 1).end_s == span.start_s);
        assert_true(zone_rule_span(&rule, span.end_s).start_s == span.end_s);
    }
    struct zone_rule always;
    assert_int_equal(zone_rule_parse("EST5EDT,0/0,J365/25", 19, &always, NULL), TOCSIN_OK);
    assert_int_equal(zone_rule_span(&always, 0).offset_s, -14400);
    assert_true(zone_rule_span(&always, 0).end_s == INT64_MAX);
    static const char *const wrong[] = {
        "",
        "A5",
        "CET",
        "CET-25",
        "CET-1CEST",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J5",
        "CET-1CEST,366,5",
        "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0x",
        "<CET-1",
        "C<T-1",
        "CET-1:60",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(zone_rule_parse(wrong[i], strlen(wrong[i]), &always, NULL),
                         TOCSIN_INVALID);
}
