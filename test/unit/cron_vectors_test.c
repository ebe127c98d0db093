/* SPDX-License-Identifier: MIT */
/* W-22: cron as the npm package croner understands it, over thousands of expressions, zones
 * and instants (scripts/cron-vectors made them). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "schedule/cron.h"

enum { ZONES_MAX = 64, TIMES_MAX = 3 };

struct zones {
    size_t count;
    struct zone *all[ZONES_MAX];
};

static const struct zone *zone_named(struct zones *zones, const char *name)
{
    struct tocsin_why why = {""};
    for (size_t i = 0; i < zones->count; i++) {
        if (strcmp(zone_name(zones->all[i]), name) == 0)
            return zones->all[i];
    }
    assert_true(zones->count < ZONES_MAX);
    if (zone_create(NULL, name, strlen(name), &zones->all[zones->count], &why) != TOCSIN_OK)
        fail_msg("%s", why.text);
    return zones->all[zones->count++];
}

/* True when the next times are those of the line; says so when not. */
static bool check_line(char *line, struct zones *zones)
{
    char *rest = line;
    char *text = strsep(&rest, "|");
    char *name = strsep(&rest, "|");
    char *start = strsep(&rest, "|");
    struct cron cron;
    struct tocsin_why why = {""};
    assert_non_null(start);
    int64_t at_ms = strtoll(start, NULL, 10) * 1000;
    if (cron_parse(text, strlen(text), &cron, &why) != TOCSIN_OK) {
        print_message("'%s': %s\n", text, why.text);
        return false;
    }
    for (int i = 0; i < TIMES_MAX; i++) {
        char *expected = strsep(&rest, "|");
        int64_t next_ms = 0;
        enum tocsin_status status = cron_next(&cron, zone_named(zones, name),
                                              (struct cron_policy){0}, at_ms, &next_ms, &why);
        if (expected == NULL)
            return status == TOCSIN_NONE;
        int64_t expected_ms = at_ms + strtoll(expected, NULL, 10) * 1000;
        if (status != TOCSIN_OK || next_ms != expected_ms) {
            print_message("'%s' in %s, number %d after %s: %" PRId64 " instead of %" PRId64 "\n",
                          text, name, i + 1, start, next_ms / 1000, expected_ms / 1000);
            return false;
        }
        at_ms = next_ms;
    }
    return true;
}

/* W-22 */
TEST(cron_agrees_with_croner)
{
    struct zones zones = {0};
    char line[600];
    int lines = 0;
    int wrong = 0;
    FILE *file = fopen(TEST_DATA "/cron-vectors.txt", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        wrong += !check_line(line, &zones);
        lines++;
    }
    (void)fclose(file);
    for (size_t i = 0; i < zones.count; i++)
        zone_destroy(zones.all[i]);
    assert_true(lines > 3000);
    assert_int_equal(wrong, 0);
}
