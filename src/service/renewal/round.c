/* SPDX-License-Identifier: MIT */
/* A round: all keys of a renewal, once.
 *
 *   test (strategies of the kind "while") -> named keys, in batches -> one scan after another:
 *   while a page's keys are renewed the next page is looked for
 *
 * At most two jobs are under way at once, so that the key store always has something to do and
 * never more than it was meant to. Nothing is begun any more when the renewal has been stopped.
 */
#include <stdio.h>
#include <stdlib.h>

#include "service/renewal/renewals_inside.h"

enum { JOBS_AT_ONCE = 2, SCAN_PAGE = 1000, FOUND_BYTES_MAX = 64 * 1024 * 1024 };

struct batch {
    struct key_job job; /* first */
    struct round *round;
    char *words; /* of keys that were found */
    struct key_item items[];
};

struct round {
    struct renewal *renewal;
    struct renewals *all;
    const struct key_client *client;
    struct tally *tally;
    struct key_job look; /* the test, or the page of a scan */
    struct key_item tested_key;
    bool looking;
    bool tested;
    bool giving;
    bool stop;              /* nothing more is begun */
    bool ended;             /* the strategy: its condition does not hold any more */
    enum key_result broken; /* a scan or a test was refused or failed; 0: none */
    uint32_t open;
    uint32_t source;   /* where to go on */
    struct bytes page; /* found keys that wait for their batch */
    char *page_words;
    struct number_map seen; /* hashes of keys, when there are scans */
    int64_t ttl_ms;
    int64_t due_ms;
    int64_t began_ms;
    char pattern[];
};

static void go_on(struct round *round);

/* ---- what became of a key */

void tally_free(struct tally *tally)
{
    if (tally == NULL)
        return;
    for (uint32_t i = 0; i < tally->worst_count; i++)
        free(tally->worst[i].key);
    free(tally);
}

static void count_key(struct tally *tally, const struct key_item *item)
{
    tally->of[item->result]++;
    if (key_result_good(item->result) || tally->worst_count == WORST_KEYS)
        return;
    char *copy = malloc(item->key.size + 1);
    if (copy == NULL)
        return;
    memcpy(copy, item->key.at, item->key.size);
    tally->worst[tally->worst_count++] = (struct worst){copy, item->key.size, item->result};
}

static void note_why(struct round *round, const char *why)
{
    if (round->tally->why[0] == '\0')
        (void)snprintf(round->tally->why, sizeof round->tally->why, "%s", why);
}

static uint64_t sum_bad(const struct tally *tally)
{
    uint64_t bad = 0;
    for (int i = KEY_MISSING; i < KEY_RESULTS; i++)
        bad += tally->of[i];
    return bad;
}

/* ---- the end */

/* What a person is told of a round that did not go well. */
static void explain(struct round *round)
{
    struct tally *tally = round->tally;
    char text[WHY_BYTES];
    if (tally->worst_count == 0 || tally->why[0] != '\0')
        return;
    const struct worst *worst = &tally->worst[0];
    (void)snprintf(text, sizeof text, "%.*s: %s", worst->size < 80 ? (int)worst->size : 80,
                   worst->key, key_result_names[worst->result]);
    note_why(round, text);
}

static void release(struct round *round)
{
    number_map_release(&round->seen);
    buffer_release(&round->look.found);
    free(round->page_words);
    free(round);
}

static void take_in(struct round *round)
{
    struct renewal *renewal = round->renewal;
    struct renewals *all = round->all;
    struct tally *tally = round->tally;
    struct counters *counters = &renewal->counters;
    uint64_t bad = sum_bad(tally);
    uint64_t good = tally->of[KEY_RENEWED] + tally->of[KEY_LONGER] + tally->of[KEY_PERSISTENT];
    bool failed = round->broken != 0 || (good == 0 && bad > 0);
    counters->rounds++;
    counters->success += good;
    counters->failure += bad;
    counters->task_failures += failed;
    counters->count += !failed;
    if (!failed)
        counters->last_ms = engine_wall_ms(all->engine);
    all->stats.rounds++;
    all->stats.rounds_failed += failed;
    all->stats.keys_renewed += good;
    all->stats.keys_failed += bad;
    tally_free(renewal->last);
    renewal->last = tally;
    round->tally = NULL;
    if (all->watch.rounded != NULL)
        all->watch.rounded(all->watch.arg, good, bad, (round->began_ms - round->due_ms) * 1000000,
                           (engine_now_ms(all->engine) - round->due_ms) * 1000000);
    if (renewal->state != RENEWAL_ACTIVE || renewal->ending != 0)
        return;
    bool lost = tally->of[KEY_FOREIGN] > 0 ||
                (renewal->spec->owner.at != NULL && tally->of[KEY_MISSING] > 0);
    if (lost) {
        renewal_end(renewal, RENEWAL_LOST, tally->why);
    } else {
        bool again =
            failed || tally->of[KEY_REFUSED] + tally->of[KEY_FAILED] + tally->of[KEY_UNKNOWN] > 0;
        renewal_rounded(renewal, failed, !failed && bad * 5 <= good + bad, again);
    }
}

static void finish(struct round *round)
{
    struct renewal *renewal = round->renewal;
    bool completed = round->ended;
    explain(round);
    renewal->round = NULL;
    round->all->stats.under_way--;
    if (completed && renewal->state == RENEWAL_ACTIVE && renewal->ending == 0 && !renewal->gone)
        renewal_end(renewal, RENEWAL_COMPLETED, "");
    else if (!renewal->gone && !completed)
        take_in(round);
    tally_free(round->tally);
    release(round);
    renewal_answer_waiting(renewal);
    if (renewal->gone)
        renewal_release(renewal);
}

/* ---- jobs */

static void give(struct round *round, struct key_job *job)
{
    struct renewals *all = round->all;
    round->open++;
    for (size_t i = 0; i < all->client_count; i++) {
        if (all->clients[i].client == round->client)
            all->flushing |= 1u << i;
    }
    round->client->give(round->client->self, job);
}

static void renewed(struct key_job *job)
{
    struct batch *batch = (struct batch *)job;
    struct round *round = batch->round;
    for (uint32_t i = 0; i < job->count; i++)
        count_key(round->tally, &job->items[i]);
    if (job->why[0] != '\0')
        note_why(round, job->why);
    /* Not reached at all: what is left would only fail, too. */
    if (round->tally->of[KEY_FAILED] + round->tally->of[KEY_UNKNOWN] > 0)
        round->stop = true;
    if (round->tally->of[KEY_FOREIGN] > 0)
        round->stop = true;
    struct renewals *all = round->all;
    free(batch->words);
    free(batch);
    round->open--;
    go_on(round);
    renewals_flush(all);
}

static struct batch *batch_create(struct round *round, uint32_t count)
{
    const struct renewal_spec *spec = round->renewal->spec;
    struct batch *batch = calloc(1, sizeof *batch + count * sizeof batch->items[0]);
    if (batch == NULL) {
        note_why(round, "there was no memory for all keys");
        round->broken = KEY_FAILED;
        round->stop = true;
        return NULL;
    }
    batch->round = round;
    batch->job = (struct key_job){
        .verb = KEY_EXPIRE,
        .items = batch->items,
        .count = 0,
        .ttl_ms = round->ttl_ms,
        .may_shorten = spec->may_shorten,
        .may_limit = spec->may_limit,
        .value = spec->owner,
        .done = renewed,
    };
    return batch;
}

/* Whether a key comes for the first time; only where a scan could bring it twice. */
static bool is_new(struct round *round, struct bytes key)
{
    if (!round->renewal->spec->scans)
        return true;
    uint64_t hash = siphash(round->all->hash_key, key.at, key.size) | 1;
    uint32_t value;
    if (number_map_get(&round->seen, hash, &value))
        return false;
    if (round->seen.count >= round->all->limits.scan_keys ||
        !number_map_put(&round->seen, hash, 0)) {
        (void)snprintf(round->tally->why, sizeof round->tally->why,
                       "more than %llu keys match (limits.renewal_keys)",
                       (unsigned long long)round->all->limits.scan_keys);
        round->broken = KEY_REFUSED;
        round->stop = true;
        return false;
    }
    return true;
}

/* The next named keys. */
static bool give_named(struct round *round)
{
    const struct renewal_spec *spec = round->renewal->spec;
    if (round->source >= spec->source_count || spec->sources[round->source].type != SOURCE_KEY)
        return false;
    uint32_t most = round->all->limits.batch;
    if (most > spec->source_count - round->source)
        most = spec->source_count - round->source;
    struct batch *batch = batch_create(round, most);
    if (batch == NULL)
        return false;
    for (; batch->job.count < most && spec->sources[round->source].type == SOURCE_KEY;
         round->source++) {
        if (is_new(round, spec->sources[round->source].text))
            batch->items[batch->job.count++].key = spec->sources[round->source].text;
        if (round->source + 1 == spec->source_count) {
            round->source++;
            break;
        }
    }
    if (batch->job.count == 0) {
        free(batch);
        return true;
    }
    give(round, &batch->job);
    return true;
}

/* What a page of a scan has found. */
static bool give_found(struct round *round)
{
    struct key_walk walk = {round->page.at, round->page.at + round->page.size};
    struct bytes key;
    uint32_t count = 0;
    if (round->page_words == NULL)
        return false;
    while (key_walk_next(&walk, &key))
        count++;
    struct batch *batch = batch_create(round, count);
    if (batch == NULL)
        return false;
    walk = (struct key_walk){round->page.at, round->page.at + round->page.size};
    while (key_walk_next(&walk, &key)) {
        if (is_new(round, key))
            batch->items[batch->job.count++].key = key;
    }
    batch->words = round->page_words;
    round->page_words = NULL;
    if (batch->job.count > 0) {
        give(round, &batch->job);
    } else {
        free(batch->words);
        free(batch);
    }
    return true;
}

static void looked(struct key_job *job)
{
    struct round *round = job->arg;
    const struct renewal_strategy *strategy = &round->renewal->spec->strategy;
    round->open--;
    round->looking = false;
    if (job->whole != KEY_RENEWED) {
        note_why(round, job->why);
        round->broken = job->whole;
        round->stop = true;
    } else if (job->verb == KEY_TEST) {
        round->ended = job->value.at != NULL ? !job->holds : job->holds != strategy->test_exists;
        round->stop = round->ended;
    } else {
        size_t size = 0;
        round->page_words = job->found.size > 0 ? buffer_take(&job->found, &size) : NULL;
        round->page = (struct bytes){round->page_words, size};
        round->source += job->cursor == 0;
    }
    struct renewals *all = round->all;
    go_on(round);
    renewals_flush(all);
}

static bool give_test(struct round *round)
{
    const struct renewal_strategy *strategy = &round->renewal->spec->strategy;
    if (round->tested || strategy->type != STRATEGY_WHILE)
        return false;
    round->tested = true;
    round->looking = true;
    round->tested_key.key = strategy->test_key;
    round->look.verb = KEY_TEST;
    round->look.items = &round->tested_key;
    round->look.count = 1;
    round->look.value = strategy->test_value;
    give(round, &round->look);
    return true;
}

static bool give_scan(struct round *round)
{
    const struct renewal_spec *spec = round->renewal->spec;
    if (round->looking || round->page_words != NULL || round->source >= spec->source_count)
        return false;
    const struct key_source *source = &spec->sources[round->source];
    if (source->type == SOURCE_KEY)
        return false;
    if (round->look.cursor == 0) {
        size_t size = source->text.size;
        if (source->type == SOURCE_PREFIX)
            size = prefix_to_pattern(source->text, round->pattern);
        else
            memcpy(round->pattern, source->text.at, size);
        round->look.pattern = (struct bytes){round->pattern, size};
    }
    round->look.verb = KEY_SCAN;
    round->looking = true;
    give(round, &round->look);
    return true;
}

static bool give_more(struct round *round)
{
    return give_test(round) || give_found(round) || (!round->looking && give_named(round)) ||
           give_scan(round);
}

static bool may_give(const struct round *round)
{
    bool testing = round->looking && round->look.verb == KEY_TEST; /* that comes first, alone */
    return !round->stop && !testing && round->open < JOBS_AT_ONCE;
}

static void go_on(struct round *round)
{
    const struct renewal *renewal = round->renewal;
    if (round->giving)
        return; /* a client that answers at once: the loop below goes on */
    round->giving = true;
    do {
        if (renewal->gone || renewal->state != RENEWAL_ACTIVE || round->all->stopped)
            round->stop = true;
    } while (may_give(round) && give_more(round));
    round->giving = false;
    if (round->open == 0)
        finish(round);
}

static size_t longest_pattern(const struct renewal_spec *spec)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < spec->source_count; i++) {
        if (spec->sources[i].type != SOURCE_KEY && spec->sources[i].text.size > longest)
            longest = spec->sources[i].text.size;
    }
    return longest * 2 + 1;
}

void renewal_round(struct renewal *renewal, int64_t due_ms)
{
    struct renewals *all = renewal->all;
    struct renewal_context context = {renewal->counters.count, renewal->counters.last_ms,
                                      engine_wall_ms(all->engine)};
    int64_t ttl = strategy_ttl_ms(&renewal->spec->strategy, &context);
    if (renewal->round != NULL || ttl <= 0) {
        if (ttl <= 0)
            renewal_end(renewal, RENEWAL_COMPLETED, "");
        return;
    }
    struct tally *tally = calloc(1, sizeof *tally);
    struct round *round = calloc(1, sizeof *round + longest_pattern(renewal->spec));
    if (tally == NULL || round == NULL) {
        free(tally);
        free(round);
        renewal_rounded(renewal, true, false, true);
        return;
    }
    round->renewal = renewal;
    round->all = all;
    round->client = renewal->client;
    round->tally = tally;
    round->ttl_ms = ttl;
    round->due_ms = due_ms;
    round->began_ms = engine_now_ms(all->engine);
    round->look = (struct key_job){.page = SCAN_PAGE, .done = looked, .arg = round};
    buffer_init(&round->look.found, FOUND_BYTES_MAX);
    renewal->round = round;
    all->stats.under_way++;
    go_on(round);
}
