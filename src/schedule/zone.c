/* SPDX-License-Identifier: MIT */
#include "schedule/zone.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schedule/civil.h"
#include "schedule/reason.h"
#include "schedule/zone_inside.h"

/* Letters, digits, _, + and - in parts joined by one slash: nothing that could leave the
 * folder. */
static bool name_valid(const char *name, size_t length)
{
    bool part = false;
    if (length > ZONE_NAME_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (c == '/' && !part)
            return false;
        part = c != '/';
        if (part && !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '+' || c == '-'))
            return false;
    }
    return part;
}

struct zone *zone_allocate(const char *name, size_t changes)
{
    assert(strlen(name) <= ZONE_NAME_MAX && changes <= ZONE_CHANGES_MAX);
    struct zone *zone = calloc(1, sizeof *zone + changes * sizeof zone->changes[0]);
    if (zone == NULL)
        return NULL;
    memcpy(zone->name, name, strlen(name) + 1);
    zone->rule_from_s = INT64_MIN;
    return zone;
}

/* The whole file, of at most ZONE_FILE_MAX_BYTES; -1 and errno. */
static ssize_t read_file(const char *path, uint8_t *bytes)
{
    struct stat about;
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    int problem = fstat(fd, &about) != 0 ? errno : !S_ISREG(about.st_mode) ? ENOENT : 0;
    while (problem == 0) {
        ssize_t got = read(fd, bytes + size, ZONE_FILE_MAX_BYTES + 1 - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            problem = got < 0 ? errno : 0;
            break;
        }
        size += (size_t)got;
        if (size > ZONE_FILE_MAX_BYTES)
            problem = EFBIG;
    }
    (void)close(fd);
    errno = problem;
    return problem == 0 ? (ssize_t)size : -1;
}

static enum tocsin_status from_file(const char *folder, const char *name, struct zone **ret_zone,
                                    struct tocsin_why *ret_why)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return reason_refuse(ret_why, "time zone '%s': the folder's name is too long", name);
    uint8_t *bytes = malloc(ZONE_FILE_MAX_BYTES + 1);
    if (bytes == NULL)
        return reason_say(ret_why, TOCSIN_NO_MEMORY, "time zone '%s': no memory to read it", name);
    ssize_t size = read_file(path, bytes);
    int problem = errno;
    enum tocsin_status status;
    if (size >= 0)
        status = zone_create_from(name, bytes, (size_t)size, ret_zone, ret_why);
    else if (problem == ENOENT || problem == ENOTDIR)
        status = access(folder, X_OK) == 0
                     ? reason_refuse(ret_why, "time zone '%s' is not known", name)
                     : reason_refuse(ret_why,
                                     "time zone '%s': there is no folder %s; is the package tzdata "
                                     "installed?",
                                     name, folder);
    else
        status = reason_refuse(ret_why, "time zone '%s': cannot read %s: %s", name, path,
                               strerror(problem));
    free(bytes);
    return status;
}

enum tocsin_status zone_create(const char *folder, const char *name, size_t name_length,
                               struct zone **ret_zone, struct tocsin_why *ret_why)
{
    char text[ZONE_NAME_MAX + 1];
    if (!name_valid(name, name_length))
        return reason_refuse(
            ret_why,
            "time zone '%.*s' is not a name such as Europe/Berlin: 1 to %d letters, "
            "digits, _, + and -, with / between parts",
            reason_quoted(name_length), name, ZONE_NAME_MAX);
    memcpy(text, name, name_length);
    text[name_length] = '\0';
    if (strcmp(text, "UTC") != 0)
        return from_file(folder != NULL ? folder : ZONE_FOLDER, text, ret_zone, ret_why);
    struct zone *zone = zone_allocate(text, 0);
    if (zone == NULL)
        return reason_say(ret_why, TOCSIN_NO_MEMORY, "time zone 'UTC': no memory for it");
    *ret_zone = zone;
    return TOCSIN_OK;
}

void zone_destroy(struct zone *zone)
{
    free(zone);
}

const char *zone_name(const struct zone *zone)
{
    return zone->name;
}

struct zone_span zone_span_at(const struct zone *zone, int64_t at_s)
{
    if (zone->has_rule && at_s >= zone->rule_from_s) {
        struct zone_span span = zone_rule_span(&zone->rule, at_s);
        if (span.start_s < zone->rule_from_s)
            span.start_s = zone->rule_from_s;
        return span;
    }
    uint32_t low = 0;
    uint32_t high = zone->count; /* changes before low are at or before at_s */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    struct zone_span span = {INT64_MIN, INT64_MAX, zone->first_offset_s};
    if (low > 0) {
        span.start_s = zone->changes[low - 1].at_s;
        span.offset_s = zone->changes[low - 1].offset_s;
    }
    if (low < zone->count)
        span.end_s = zone->changes[low].at_s;
    else if (zone->has_rule)
        span.end_s = zone->rule_from_s;
    return span;
}

int32_t zone_offset_at(const struct zone *zone, int64_t at_s)
{
    return zone_span_at(zone, at_s).offset_s;
}

int zone_instants(const struct zone *zone, int64_t local_s, int64_t ret_at_s[2])
{
    assert(local_s >= CIVIL_FIRST_S && local_s < CIVIL_END_S);
    int64_t last_s = local_s + ZONE_OFFSET_MAX_S;
    int count = 0;
    for (int64_t at_s = local_s - ZONE_OFFSET_MAX_S; at_s <= last_s;) {
        struct zone_span span = zone_span_at(zone, at_s);
        int64_t candidate_s = local_s - span.offset_s;
        if (candidate_s >= span.start_s && candidate_s < span.end_s && count < 2)
            ret_at_s[count++] = candidate_s;
        at_s = span.end_s;
    }
    return count;
}

static bool long_enough(int64_t start_s, int64_t end_s, int32_t jump_s)
{
    int64_t length_s;
    return __builtin_sub_overflow(end_s, start_s, &length_s) ||
           length_s > (jump_s < 0 ? -jump_s : jump_s);
}

static bool spans_are_long(const struct zone *zone, int64_t from_s, int64_t until_s)
{
    struct zone_span span = zone_span_at(zone, from_s);
    while (span.end_s != INT64_MAX && span.start_s < until_s) {
        struct zone_span next = zone_span_at(zone, span.end_s);
        int32_t jump_s = next.offset_s - span.offset_s;
        if (next.start_s != span.end_s || !long_enough(span.start_s, span.end_s, jump_s) ||
            !long_enough(next.start_s, next.end_s, jump_s))
            return false;
        span = next;
    }
    return true;
}

bool zone_spans_are_long(const struct zone *zone)
{
    int64_t from_s = zone->rule_from_s;
    if (!spans_are_long(zone, INT64_MIN, from_s))
        return false;
    if (!zone->has_rule || from_s >= ZONE_END_S)
        return true;
    if (from_s < ZONE_FIRST_S)
        from_s = ZONE_FIRST_S;
    /* After 400 years a rule repeats itself. */
    return spans_are_long(zone, from_s, from_s + INT64_C(146097) * CIVIL_DAY_S);
}
