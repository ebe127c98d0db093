/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "schedule/reason.h"
#include "store/redis/redis_inside.h"
#include "store/redis/scripts.h"

enum { PAUSE_MS = 50, VERSION_MAJOR_MIN = 6, OPEN_ANSWER = 13, OPEN_WORDS = 13 };

#define MS INT64_C(1000000)

enum tocsin_status redis_load_script(struct wire *wire, const char *script, char *ret_sha,
                                     size_t size, struct tocsin_why *ret_why)
{
    struct bytes words[] = {bytes_of("SCRIPT"), bytes_of("LOAD"), bytes_of(script)};
    redisReply *reply = NULL;
    enum tocsin_status status = wire_read(wire, words, 3, &reply, ret_why);
    if (status != TOCSIN_OK)
        return status;
    struct bytes sha = wire_text(reply);
    if (sha.size > 0 && sha.size < size)
        (void)snprintf(ret_sha, size, "%s", sha.at);
    else
        status = reason_say(ret_why, TOCSIN_INVALID, "Redis does not say how it calls a script");
    freeReplyObject(reply);
    return status;
}

/* ---- what kind of Redis is it? */

struct bytes redis_info_field(struct bytes info, const char *name)
{
    size_t size = strlen(name);
    const char *end = info.at + info.size;
    for (const char *line = info.at; line < end;) {
        const char *stop = memchr(line, '\r', (size_t)(end - line));
        if (stop == NULL)
            stop = end;
        if ((size_t)(stop - line) > size && memcmp(line, name, size) == 0 && line[size] == ':')
            return (struct bytes){line + size + 1, (size_t)(stop - line) - size - 1};
        line = stop + 2;
    }
    return (struct bytes){"", 0};
}

static uint64_t info_number(struct bytes info, const char *name)
{
    return strtoull(redis_info_field(info, name).at, NULL, 10); /* a line ends with \r */
}

static enum tocsin_status check_kind(struct bytes info, struct tocsin_why *ret_why)
{
    struct bytes version = redis_info_field(info, "redis_version");
    struct bytes policy = redis_info_field(info, "maxmemory_policy");
    struct bytes master = redis_info_field(info, "master_host");
    if (strtoul(version.at, NULL, 10) < VERSION_MAJOR_MIN)
        return reason_refuse(ret_why, "this Redis is too old: it is %.*s, 6.0 is needed",
                             reason_quoted(version.size), version.at);
    if (info_number(info, "cluster_enabled") != 0)
        return reason_refuse(ret_why,
                             "this Redis is part of a Redis Cluster, which cannot be a store: "
                             "use one without cluster-enabled");
    if (bytes_are(redis_info_field(info, "role"), "slave"))
        return reason_refuse(ret_why,
                             "this Redis is a replica, which takes no writes: name its "
                             "master, %.*s port %" PRIu64,
                             reason_quoted(master.size), master.at,
                             info_number(info, "master_port"));
    if (info_number(info, "maxmemory") > 0 && !bytes_are(policy, "noeviction"))
        return reason_refuse(ret_why,
                             "Redis may throw records away: set maxmemory-policy noeviction (it is "
                             "%.*s)",
                             reason_quoted(policy.size), policy.at);
    return TOCSIN_OK;
}

/* True: the setting is this; false also when Redis does not tell. */
static bool ask_setting(struct wire *wire, const char *name, char *ret_value, size_t size)
{
    struct bytes words[] = {bytes_of("CONFIG"), bytes_of("GET"), bytes_of(name)};
    redisReply *reply = NULL;
    struct tocsin_why why;
    if (wire_read(wire, words, 3, &reply, &why) != TOCSIN_OK)
        return false;
    bool told = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    if (told)
        (void)snprintf(ret_value, size, "%s", wire_text(reply->element[1]).at);
    freeReplyObject(reply);
    return told;
}

static const char *durability_of(struct wire *wire, struct bytes info)
{
    char sync[16] = "";
    char save[64] = "";
    if (info_number(info, "aof_enabled") == 0) {
        if (!ask_setting(wire, "save", save, sizeof save))
            return "not known: no appendonly file, and whether it saves Redis does not tell";
        return save[0] != '\0' ? "what came after the last save is lost when Redis stops: no "
                                 "appendonly file"
                               : "nothing is kept when Redis stops: no appendonly file";
    }
    if (!ask_setting(wire, "appendfsync", sync, sizeof sync))
        return "not known: an appendonly file, and when it is synced Redis does not tell";
    if (strcmp(sync, "always") == 0)
        return "every commit is synced";
    if (strcmp(sync, "everysec") == 0)
        return "up to a second may be lost when Redis's machine fails";
    return "half a minute may be lost when Redis's machine fails: appendfsync no";
}

void store_redis_durability(const struct store *store, char *ret_text, size_t size)
{
    const struct redis_store *redis = (const struct redis_store *)(const void *)store;
    (void)snprintf(ret_text, size, "%s", redis->durability);
}

void store_redis_commits(const struct store *store, struct store_redis_commits *ret_commits)
{
    const struct redis_store *redis = (const struct redis_store *)(const void *)store;
    *ret_commits = (struct store_redis_commits){atomic_load(&redis->last_commit),
                                                atomic_load(&redis->lost_commits)};
}

static enum tocsin_status ask_info(struct wire *wire, const char *section, redisReply **ret_reply,
                                   struct tocsin_why *ret_why)
{
    struct bytes words[] = {bytes_of("INFO"), bytes_of(section)};
    return wire_read(wire, words, 2, ret_reply, ret_why);
}

void redis_look_at_sizes(struct redis_store *store)
{
    redisReply *reply = NULL;
    struct tocsin_why why;
    store->sized_ns = clock_elapsed(&clock_system).ns;
    if (ask_info(&store->writer, "memory", &reply, &why) != TOCSIN_OK)
        return;
    atomic_store(&store->redis_bytes, info_number(wire_text(reply), "used_memory"));
    freeReplyObject(reply);
}

static enum tocsin_status check(struct redis_store *store, struct tocsin_why *ret_why)
{
    redisReply *reply = NULL;
    enum tocsin_status status = ask_info(&store->writer, "default", &reply, ret_why);
    if (status != TOCSIN_OK)
        return status;
    struct bytes info = wire_text(reply);
    status = check_kind(info, ret_why);
    if (status == TOCSIN_OK) {
        atomic_store(&store->redis_bytes, info_number(info, "used_memory"));
        (void)snprintf(store->durability, sizeof store->durability, "%s",
                       durability_of(&store->writer, info));
    }
    freeReplyObject(reply);
    return status;
}

/* ---- taking over */

static enum tocsin_status refused(const struct store_redis_options *options,
                                  const redisReply *reply, struct tocsin_why *ret_why)
{
    const char *error = wire_text(reply->element[3]).at;
    enum tocsin_status status = wire_error_passes(error) && !wire_error_has(error, "NOPERM")
                                    ? TOCSIN_UNAVAILABLE
                                    : TOCSIN_INVALID;
    for (size_t i = 0; i < options->probe_count; i++)
        if (bytes_are(wire_text(reply->element[2]), options->probes[i].name))
            return reason_say(
                ret_why, status,
                "this Redis user may not write %s (%s), where other programs look: %s",
                options->probes[i].pattern, wire_text(reply->element[1]).at, error);
    return reason_say(ret_why, status, "Redis refuses %s on %s, which a store needs: %s",
                      wire_text(reply->element[1]).at, wire_text(reply->element[2]).at, error);
}

static enum tocsin_status understand(struct redis_store *store,
                                     const struct store_redis_options *options,
                                     const redisReply *reply, struct tocsin_why *ret_why)
{
    bool listed = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0;
    struct bytes word = wire_text(listed ? reply->element[0] : NULL);
    if (bytes_are(word, "refused") && reply->elements == 4)
        return refused(options, reply, ret_why);
    if (bytes_are(word, "headless"))
        return reason_say(ret_why, TOCSIN_DAMAGED,
                          "there are records, but " REDIS_STORE_META
                          " is gone: restore Redis's file, or delete " STORE_REDIS_PREFIX
                          "* to begin anew");
    if (bytes_are(word, "behind"))
        return reason_say(ret_why, TOCSIN_DAMAGED,
                          "the records are gone from Redis, or an older copy was put there: it has "
                          "epoch %s, and %" PRIu64 " has been; start again if that is meant",
                          wire_text(reply->element[1]).at, store->epoch_seen);
    if (bytes_are(word, "version"))
        return reason_refuse(
            ret_why,
            "the records in Redis have a form that this tocsin does not know (%s): "
            "use the one that wrote them, or a newer one",
            wire_text(reply->element[1]).at);
    if (!bytes_are(word, "open") || reply->elements != OPEN_ANSWER)
        return reason_say(ret_why, TOCSIN_UNAVAILABLE,
                          "Redis answered with something that makes no sense");
    struct bytes incarnation = wire_text(reply->element[2]);
    store->incarnation = strtoull(incarnation.at, NULL, 16);
    (void)snprintf(store->incarnation_text, sizeof store->incarnation_text, "%s", incarnation.at);
    if (!wire_number(reply->element[3], &store->epoch) ||
        !redis_books_read(&reply->element[4], store->incarnation, &store->books))
        return reason_say(ret_why, TOCSIN_DAMAGED,
                          REDIS_STORE_META
                          " is damaged: its checksum does not agree. Restore Redis's file, or "
                          "delete " STORE_REDIS_PREFIX "* to begin anew");
    return TOCSIN_OK;
}

static enum tocsin_status take_over(struct redis_store *store,
                                    const struct store_redis_options *options,
                                    struct tocsin_why *ret_why)
{
    struct redis_books_text text;
    char seen[24];
    char probes[24];
    (void)snprintf(seen, sizeof seen, "%" PRIu64, store->epoch_seen);
    (void)snprintf(probes, sizeof probes, "%zu", options->probe_count);
    assert(options->probe_count <= STORE_REDIS_PROBES_MAX);
    struct bytes words[OPEN_WORDS + REDIS_BOOKS_WORDS + STORE_REDIS_PROBES_MAX] = {
        bytes_of("EVAL"),
        bytes_of(scripts_open),
        bytes_of("5"),
        bytes_of(REDIS_STORE_META),
        bytes_of(REDIS_STORE_REVS),
        bytes_of(REDIS_STORE_DOCS),
        bytes_of(REDIS_STORE_EVENTS),
        bytes_of(REDIS_STORE_PROBE),
        bytes_of(store->incarnation_text),
        bytes_of(store->token),
        bytes_of(store->node),
        bytes_of(seen),
        bytes_of(probes),
    };
    struct redis_books empty = {.first_seq = 1};
    redis_books_write(&empty, store->incarnation, &text, words + OPEN_WORDS);
    size_t count = OPEN_WORDS + REDIS_BOOKS_WORDS;
    for (size_t i = 0; i < options->probe_count; i++)
        words[count++] = bytes_of(options->probes[i].name);
    redisReply *reply = NULL;
    enum tocsin_status status = wire_read(&store->writer, words, count, &reply, ret_why);
    if (status != TOCSIN_OK)
        return status;
    status = understand(store, options, reply, ret_why);
    freeReplyObject(reply);
    return status;
}

/* While Redis is starting or out of reach it is tried again, for as long as a commit would be. */
static enum tocsin_status open_in_time(struct redis_store *store,
                                       const struct store_redis_options *options,
                                       struct tocsin_why *ret_why)
{
    int64_t until_ns = clock_elapsed(&clock_system).ns + store->outage_ms * MS;
    for (;;) {
        enum tocsin_status status = check(store, ret_why);
        if (status == TOCSIN_OK)
            status = take_over(store, options, ret_why);
        if (status == TOCSIN_OK)
            status = redis_load_script(&store->writer, scripts_commit, store->commit_sha,
                                       sizeof store->commit_sha, ret_why);
        if (status != TOCSIN_UNAVAILABLE || clock_elapsed(&clock_system).ns > until_ns)
            return status;
        struct timespec pause = {.tv_nsec = PAUSE_MS * MS};
        (void)nanosleep(&pause, NULL);
    }
}

/* ---- the life of a store */

static void redis_sizes(struct store *handle, struct store_sizes *ret_sizes)
{
    struct redis_store *store = redis_inside(handle);
    *ret_sizes = (struct store_sizes){
        .file_bytes = atomic_load(&store->redis_bytes),
        .living = atomic_load(&store->living),
        .swept = atomic_load(&store->ended),
        .commits = atomic_load(&store->commits),
        .sync_ns_sum = atomic_load(&store->sync_ns_sum),
    };
}

static void redis_close(struct store *handle)
{
    struct redis_store *store = redis_inside(handle);
    wire_release(&store->writer);
    wire_release(&store->reader);
    buffer_release(&store->command);
    free(store->node);
    free(store);
}

static uint32_t or_else(uint32_t given, uint32_t otherwise)
{
    return given != 0 ? given : otherwise;
}

static struct redis_store *make(const struct store_redis_options *options)
{
    static const struct store_ops ops = {
        .name = "redis",
        .load = redis_load,
        .commit = redis_commit,
        .get = redis_get,
        .list = redis_list,
        .events = redis_events,
        .sizes = redis_sizes,
        .close = redis_close,
    };
    struct redis_store *store = calloc(1, sizeof *store);
    uint64_t chance[3];
    if (store == NULL)
        return NULL;
    store->store.ops = &ops;
    buffer_init(&store->command, REDIS_COMMIT_BYTES_MAX);
    store->outage_ms = or_else(options->outage_ms, STORE_REDIS_OUTAGE_MS);
    store->epoch_seen = options->epoch_seen;
    store->commit_seen = options->commit_seen;
    store->node = strdup(options->node != NULL ? options->node : "another node");
    uint32_t timeout_ms = or_else(options->timeout_ms, STORE_REDIS_TIMEOUT_MS);
    if (store->node == NULL || !wire_init(&store->writer, &options->where, timeout_ms) ||
        !wire_init(&store->reader, &options->where, timeout_ms) ||
        getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) {
        redis_close(&store->store);
        return NULL;
    }
    store->incarnation = chance[0];
    (void)snprintf(store->incarnation_text, sizeof store->incarnation_text, "%016" PRIx64,
                   chance[0]);
    (void)snprintf(store->token, sizeof store->token, "%016" PRIx64 "%016" PRIx64, chance[1],
                   chance[2]);
    return store;
}

enum tocsin_status store_redis_open(const struct store_redis_options *options,
                                    struct store **ret_store, struct store_state *ret_state,
                                    struct tocsin_why *ret_why)
{
    struct redis_store *store = make(options);
    if (store == NULL)
        return reason_say(ret_why, TOCSIN_NO_MEMORY, "no memory for a store in Redis");
    enum tocsin_status status = open_in_time(store, options, ret_why);
    if (status != TOCSIN_OK) {
        redis_close(&store->store);
        return status;
    }
    const struct redis_books *books = &store->books;
    event_room_init(&store->room, options->event_bytes_max, books->first_seq, books->high_seq,
                    books->event_bytes);
    atomic_store(&store->last_commit, books->commit);
    atomic_store(&store->living, books->living);
    atomic_store(&store->first_seq, books->first_seq);
    atomic_store(&store->high_seq, books->high_seq);
    store->sized_ns = clock_elapsed(&clock_system).ns;
    *ret_store = &store->store;
    *ret_state = (struct store_state){
        .high_rev = books->high_rev,
        .high_seq = books->high_seq,
        .epoch = store->epoch,
        .time = books->time,
        .living = books->living,
        .commits_lost = store->commit_seen > books->commit ? store->commit_seen - books->commit : 0,
    };
    return TOCSIN_OK;
}

enum tocsin_status store_redis_count(const struct store_redis_options *options,
                                     uint64_t *ret_records, struct tocsin_why *ret_why)
{
    struct bytes words[] = {bytes_of("ZCARD"), bytes_of(REDIS_STORE_REVS)};
    struct wire wire;
    redisReply *reply = NULL;
    if (!wire_init(&wire, &options->where, or_else(options->timeout_ms, STORE_REDIS_TIMEOUT_MS)))
        return reason_say(ret_why, TOCSIN_NO_MEMORY, "no memory for a connection to Redis");
    enum tocsin_status status = wire_read(&wire, words, 2, &reply, ret_why);
    if (status == TOCSIN_OK) {
        uint64_t records = 0;
        if (wire_number(reply, &records))
            *ret_records = records;
        else
            status =
                reason_say(ret_why, TOCSIN_UNAVAILABLE, "Redis does not say how many there are");
        freeReplyObject(reply);
    }
    wire_release(&wire);
    return status;
}
