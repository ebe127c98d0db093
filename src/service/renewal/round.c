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
#define NO_MEMORY_WHY "there was no memory for all keys"

struct batch {
    struct key_job job; /* first */
    struct round *round;
    char *words; /* after the items: of keys that were found */
    bool found;
    struct key_item items[];
};

struct round {
    struct renewal *renewal;
    struct renewals *all;
    struct tally tally;
    struct look *look; /* NULL: it needs none */
    bool looking;
    bool testing;
    bool tested;
    bool giving;
    bool stop;              /* nothing more is begun */
    bool cut;               /* … because the renewal was stopped */
    bool lost;              /* a key is not the owner's any more */
    bool ended;             /* the strategy: its condition does not hold any more */
    enum key_result broken; /* a scan or a test was refused or failed; 0: none */
    uint32_t open;
    uint32_t source;  /* where to go on */
    char *page_words; /* found keys, of which these wait for their batch */
    struct key_walk page;
    struct number_map seen; /* hashes of keys, when there are scans */
    int64_t due_ms;
    int64_t began_ms;
};

/* The test, or the page of a scan. Behind the round, when it has something to look for. */
struct look {
    struct key_job job;
    struct key_item tested_key;
    char pattern[];
};

static void go_on(struct round *round);

static void break_off(struct round *round, enum key_result how, const char *why)
{
    tally_note(&round->tally, why);
    round->broken = how;
    round->stop = true;
}

/* ---- the end */

static void release(struct round *round)
{
    trouble_release(round->tally.trouble);
    number_map_release(&round->seen);
    if (round->look != NULL)
        buffer_release(&round->look->job.found);
    free(round->page_words);
    free(round);
}

struct sums {
    uint64_t good; /* keys */
    uint64_t bad;
    bool failed; /* the round: no key was renewed, or nobody knows which there are */
};

static struct sums sum_up(const struct round *round)
{
    const struct tally *tally = &round->tally;
    struct sums sums = {tally->of[KEY_RENEWED] + tally->of[KEY_LONGER] + tally->of[KEY_PERSISTENT],
                        tally_bad(tally), false};
    sums.failed = round->broken != 0 || (sums.good == 0 && sums.bad > 0);
    return sums;
}

static void count_round(struct round *round, const struct sums *sums)
{
    struct renewals *all = round->all;
    struct counters *counters = &round->renewal->counters;
    round->renewal->unsaved = true;
    counters->rounds++;
    counters->success += sums->good;
    counters->failure += sums->bad;
    counters->task_failures += sums->failed;
    if (!sums->failed && !round->cut) {
        counters->count++;
        counters->last_ms = engine_wall_ms(all->engine);
    }
    all->stats.rounds++;
    all->stats.rounds_failed += sums->failed;
    all->stats.keys_renewed += sums->good;
    all->stats.keys_failed += sums->bad;
    if (all->watch.rounded != NULL)
        all->watch.rounded(all->watch.arg, sums->good, sums->bad,
                           (round->began_ms - round->due_ms) * 1000000,
                           (engine_now_ms(all->engine) - round->due_ms) * 1000000);
}

/* What follows from it. A round that was cut short says nothing, except that a key is lost. */
static void conclude(const struct round *round, const struct sums *sums)
{
    struct renewal *renewal = round->renewal;
    const struct tally *tally = &round->tally;
    if (renewal->state != RENEWAL_ACTIVE || renewal->ending != 0)
        return;
    if (round->lost) {
        renewal_end(renewal, RENEWAL_LOST, trouble_why(renewal->trouble));
    } else if (!round->cut) {
        uint64_t again = tally->of[KEY_REFUSED] + tally->of[KEY_FAILED] + tally->of[KEY_UNKNOWN];
        bool good = !sums->failed && sums->bad * 5 <= sums->good + sums->bad;
        if (round->broken == KEY_REFUSED) /* a look: that is no key's result */
            renewal_tell(renewal, trouble_why(renewal->trouble));
        renewal_rounded(renewal, sums->failed, good, sums->failed || again > 0);
    }
}

static void take_in(struct round *round)
{
    struct renewal *renewal = round->renewal;
    struct sums sums = sum_up(round);
    tally_explain(&round->tally, round->lost);
    renewal_keep_last(renewal, &round->tally);
    count_round(round, &sums);
    conclude(round, &sums);
}

static void finish(struct round *round)
{
    struct renewal *renewal = round->renewal;
    struct renewals *all = round->all;
    renewal->round = NULL;
    all->stats.under_way--;
    if (round->ended && renewal->state == RENEWAL_ACTIVE)
        renewal_end(renewal, RENEWAL_COMPLETED, "");
    else if (!round->ended && !renewal->gone)
        take_in(round);
    release(round);
    renewal_answer_waiting(renewal);
    if (all->saving && !renewal->gone)
        renewal_save_last(renewal);
    if (renewal->gone) {
        renewal_release(renewal);
    } else if (renewal->wanted) {
        renewal->wanted = false;
        renewal_round(renewal, engine_now_ms(all->engine));
    }
}

/* ---- jobs */

static void give_to(struct round *round, unsigned which, struct key_job *job)
{
    struct renewals *all = round->all;
    const struct key_client *client = all->clients[which].client;
    round->open++;
    if (which < CLIENTS_MAX)
        all->flushing |= UINT64_C(1) << which;
    client->give(client->self, job);
}

static void give(struct round *round, struct key_job *job)
{
    give_to(round, round->renewal->client, job);
}

/* The key store is not reached: the keys that are left would only fail, too. */
static void give_up(struct round *round)
{
    const struct renewal_spec *spec = round->renewal->spec;
    if (!round->stop) {
        for (uint32_t i = round->source; i < spec->source_count; i++)
            round->tally.of[KEY_FAILED] += spec->sources[i].type == SOURCE_KEY;
    }
    round->stop = true;
}

/* A key that was only found may be gone the next moment: its owner has let it go. */
static bool is_lost(const struct batch *batch, enum key_result result)
{
    bool owned = batch->round->renewal->spec->more->owner.at != NULL;
    return result == KEY_FOREIGN || (result == KEY_MISSING && owned && !batch->found);
}

static void renewed(struct key_job *job)
{
    struct batch *batch = (struct batch *)job;
    struct round *round = batch->round;
    struct renewals *all = round->all;
    for (uint32_t i = 0; i < job->count; i++) {
        tally_count(&round->tally, &job->items[i]);
        round->lost = round->lost || is_lost(batch, job->items[i].result);
    }
    if (job->why[0] != '\0')
        tally_note(&round->tally, job->why);
    if (round->tally.of[KEY_FAILED] + round->tally.of[KEY_UNKNOWN] > 0)
        give_up(round);
    if (round->tally.of[KEY_FOREIGN] > 0)
        round->stop = true;
    free(batch);
    round->open--;
    go_on(round);
    renewals_flush(all);
}

static struct renewal_context context_now(const struct renewal *renewal)
{
    return (struct renewal_context){renewal->counters.count, renewal->counters.last_ms,
                                    engine_wall_ms(renewal->all->engine)};
}

static int64_t ttl_now_ms(const struct renewal *renewal)
{
    const struct renewal_strategy *strategy = &renewal->spec->strategy;
    struct renewal_context context = context_now(renewal);
    if (strategy->type == STRATEGY_OWN)
        return own_ttl_ms(renewal->all->own, strategy, renewal_id(renewal), &context);
    return strategy_ttl_ms(strategy, &context);
}

/* For so many keys, and so many bytes of them. NULL: the round stops. */
static struct batch *batch_create(struct round *round, uint32_t count, size_t bytes)
{
    const struct renewal_spec *spec = round->renewal->spec;
    int64_t ttl = ttl_now_ms(round->renewal); /* a round takes time: what remains gets less */
    if (ttl <= 0) {
        round->cut = round->stop = true;
        return NULL;
    }
    struct batch *batch = calloc(1, sizeof *batch + count * sizeof batch->items[0] + bytes);
    if (batch == NULL) {
        break_off(round, KEY_FAILED, NO_MEMORY_WHY);
        return NULL;
    }
    batch->round = round;
    batch->words = (char *)(batch->items + count);
    batch->job = (struct key_job){
        .verb = KEY_EXPIRE,
        .items = batch->items,
        .count = 0,
        .ttl_ms = ttl,
        .may_shorten = spec->may_shorten,
        .may_limit = spec->may_limit,
        .value = spec->more->owner,
        .done = renewed,
    };
    return batch;
}

/* Whether a key comes for the first time. By 64 secret bits of it: no two share them. */
static bool is_new(struct round *round, struct bytes key)
{
    const struct renewal_spec *spec = round->renewal->spec;
    if (!spec->scans && spec->source_count == 1)
        return true;
    uint64_t most = round->all->limits.scan_keys;
    uint64_t hash = siphash(round->all->hash_key, key.at, key.size) | 1;
    uint32_t value;
    char why[WHY_BYTES];
    if (number_map_get(&round->seen, hash, &value))
        return false;
    if (spec->scans && round->seen.count >= most) {
        (void)snprintf(why, sizeof why, "more than %llu keys match (limits.renewal_keys)",
                       (unsigned long long)most);
        break_off(round, KEY_REFUSED, why);
        return false;
    }
    if (!number_map_put(&round->seen, hash, 0)) {
        break_off(round, KEY_FAILED, NO_MEMORY_WHY);
        return false;
    }
    return true;
}

/* A batch may be without keys: all of them were known already. */
static void give_batch(struct round *round, struct batch *batch)
{
    if (batch->job.count > 0)
        give(round, &batch->job);
    else
        free(batch);
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
    struct batch *batch = batch_create(round, most, 0);
    if (batch == NULL)
        return false;
    for (uint32_t n = 0; n < most && spec->sources[round->source].type == SOURCE_KEY; n++) {
        struct bytes key = spec->sources[round->source++].text;
        if (is_new(round, key))
            batch->items[batch->job.count++].key = key;
    }
    give_batch(round, batch);
    return true;
}

/* A copy: the page goes when its last key has been given. */
static void add_copy(struct batch *batch, struct bytes key)
{
    memcpy(batch->words, key.at, key.size);
    batch->items[batch->job.count++].key = (struct bytes){batch->words, key.size};
    batch->words += key.size;
}

/* The next keys that a page of a scan has found. */
static bool give_found(struct round *round)
{
    struct key_walk ahead = round->page;
    struct bytes key;
    uint32_t count = 0;
    size_t bytes = 0;
    if (round->page_words == NULL)
        return false;
    for (; count < round->all->limits.batch && key_walk_next(&ahead, &key); count++)
        bytes += key.size;
    struct batch *batch = batch_create(round, count, bytes);
    if (batch == NULL)
        return false;
    batch->found = true;
    while (count-- > 0 && key_walk_next(&round->page, &key)) {
        if (is_new(round, key))
            add_copy(batch, key);
    }
    if (round->page.at == round->page.end) {
        free(round->page_words);
        round->page_words = NULL;
    }
    give_batch(round, batch);
    return true;
}

static void take_page(struct round *round, struct key_job *job)
{
    size_t size = 0;
    if (buffer_status(&job->found) != TOCSIN_OK) {
        break_off(round, KEY_FAILED, NO_MEMORY_WHY);
        return;
    }
    round->page_words = job->found.size > 0 ? buffer_take(&job->found, &size) : NULL;
    round->page = (struct key_walk){round->page_words, round->page_words + size};
    round->source += job->cursor == 0;
}

static bool test_fails(const struct renewal_strategy *strategy, const struct key_job *job)
{
    if (strategy->type == STRATEGY_OWN || job->value.at != NULL)
        return !job->holds;
    return job->holds != strategy->test->exists;
}

static void take_look(struct round *round, struct key_job *job)
{
    const struct renewal_strategy *strategy = &round->renewal->spec->strategy;
    round->open--;
    round->looking = round->testing = false;
    if (job->whole != KEY_RENEWED) {
        break_off(round, job->whole, job->why);
    } else if (job->verb == KEY_TEST) {
        round->stop = round->ended = test_fails(strategy, job);
    } else {
        take_page(round, job);
    }
}

static void looked(struct key_job *job)
{
    struct round *round = job->arg;
    struct renewals *all = round->all;
    take_look(round, job);
    go_on(round);
    renewals_flush(all);
}

static void own_looked(struct key_job *job)
{
    struct round *round = job->arg;
    struct renewals *all = round->all;
    take_look(round, job);
    own_look_free((struct own_look *)job);
    go_on(round);
    renewals_flush(all);
}

/* The program itself is asked, by a client that is its own. */
static bool give_own(struct round *round, const struct tocsin_strategy *strategy,
                     const struct tocsin_generator *generator)
{
    const struct renewal *renewal = round->renewal;
    struct renewal_context context = context_now(renewal);
    struct own_look *look = own_look_create(renewal_id(renewal), &context);
    if (look == NULL) {
        break_off(round, KEY_FAILED, NO_MEMORY_WHY);
        return true; /* nothing else is to be given instead */
    }
    look->strategy = strategy;
    look->generator = generator;
    look->room = round->all->limits.scan_keys + 1; /* one too many is found, and told */
    look->job.verb = strategy != NULL ? KEY_TEST : KEY_SCAN;
    look->job.done = own_looked;
    look->job.arg = round;
    round->looking = true;
    round->testing = strategy != NULL;
    give_to(round, OWN_CLIENT, &look->job);
    return true;
}

static bool give_test(struct round *round)
{
    const struct renewal_strategy *strategy = &round->renewal->spec->strategy;
    bool own = strategy->type == STRATEGY_OWN;
    if (round->tested || (strategy->type != STRATEGY_WHILE && !own))
        return false;
    round->tested = true;
    if (own) {
        const struct tocsin_strategy *found = own_strategy(round->all->own, strategy->test->key);
        return found != NULL && found->goes_on != NULL && give_own(round, found, NULL);
    }
    round->looking = round->testing = true;
    struct look *look = round->look;
    look->tested_key.key = strategy->test->key;
    look->job.verb = KEY_TEST;
    look->job.items = &look->tested_key;
    look->job.count = 1;
    look->job.value = strategy->test->value;
    give(round, &look->job);
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
    const struct tocsin_generator *generator =
        source->type == SOURCE_GENERATOR ? own_generator(round->all->own, source->text) : NULL;
    if (generator != NULL)
        return give_own(round, NULL, generator);
    struct look *look = round->look;
    if (look->job.cursor == 0) {
        size_t size = source->text.size;
        if (source->type == SOURCE_PREFIX)
            size = prefix_to_pattern(source->text, look->pattern);
        else
            memcpy(look->pattern, source->text.at, size);
        look->job.pattern = (struct bytes){look->pattern, size};
    }
    look->job.verb = KEY_SCAN;
    round->looking = true;
    give(round, &look->job);
    return true;
}

static bool give_more(struct round *round)
{
    return give_test(round) || give_found(round) || (!round->looking && give_named(round)) ||
           give_scan(round);
}

static bool may_give(const struct round *round)
{
    /* A test comes first, alone. */
    return !round->stop && !round->testing && round->open < JOBS_AT_ONCE;
}

static void go_on(struct round *round)
{
    const struct renewal *renewal = round->renewal;
    if (round->giving)
        return; /* a client that answers at once: the loop below goes on */
    round->giving = true;
    do {
        if (renewal->state != RENEWAL_ACTIVE || round->all->stopped)
            round->cut = round->stop = true;
    } while (may_give(round) && give_more(round));
    round->giving = false;
    if (round->open == 0)
        finish(round);
}

/* What is to be looked for needs so much; 0: there is nothing, but for keys that are named. */
static size_t look_bytes(const struct renewal_spec *spec)
{
    size_t longest = 0;
    if (!spec->scans && spec->strategy.type != STRATEGY_WHILE)
        return 0;
    for (uint32_t i = 0; i < spec->source_count; i++) {
        if (spec->sources[i].type != SOURCE_KEY && spec->sources[i].text.size > longest)
            longest = spec->sources[i].text.size;
    }
    return sizeof(struct look) + longest * 2 + 1;
}

int64_t renewal_round_began_ms(const struct renewal *renewal)
{
    return renewal->round->began_ms;
}

void renewal_round(struct renewal *renewal, int64_t due_ms)
{
    struct renewals *all = renewal->all;
    bool may = renewal->state == RENEWAL_ACTIVE && renewal->ending == 0 && !all->stopped;
    if (!may || renewal->round != NULL)
        return;
    if (ttl_now_ms(renewal) <= 0) {
        renewal_end(renewal, RENEWAL_COMPLETED, "");
        return;
    }
    size_t look = look_bytes(renewal->spec);
    struct round *round = calloc(1, sizeof *round + look);
    if (round == NULL) {
        renewal->counters.rounds++;
        renewal->counters.task_failures++;
        renewal_rounded(renewal, true, false, true);
        return;
    }
    round->renewal = renewal;
    round->all = all;
    round->due_ms = due_ms;
    round->began_ms = engine_now_ms(all->engine);
    if (look > 0) {
        round->look = (struct look *)(round + 1);
        round->look->job = (struct key_job){.page = SCAN_PAGE, .done = looked, .arg = round};
        buffer_init(&round->look->job.found, FOUND_BYTES_MAX);
    }
    renewal->round = round;
    all->stats.under_way++;
    go_on(round);
}
