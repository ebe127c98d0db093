/* SPDX-License-Identifier: MIT */
/* What became of the keys of a round, and what a renewal keeps of it. */

#include <stdio.h>
#include <stdlib.h>

#include "service/renewal/renewals_inside.h"

void trouble_release(struct trouble *trouble)
{
    for (uint32_t i = 0; trouble != NULL && i < trouble->worst_count; i++)
        free(trouble->worst[i].key);
    free(trouble);
}

const char *trouble_why(const struct trouble *trouble)
{
    return trouble != NULL ? trouble->why : "";
}

static struct trouble *trouble_of(struct tally *tally)
{
    if (tally->trouble == NULL)
        tally->trouble = calloc(1, sizeof *tally->trouble);
    return tally->trouble;
}

void tally_count(struct tally *tally, const struct key_item *item)
{
    tally->of[item->result]++;
    if (key_result_good(item->result))
        return;
    struct trouble *trouble = trouble_of(tally);
    if (trouble == NULL || trouble->worst_count == WORST_KEYS)
        return;
    struct worst *worst = &trouble->worst[trouble->worst_count];
    worst->key = malloc(item->key.size + 1);
    if (worst->key == NULL)
        return;
    memcpy(worst->key, item->key.at, item->key.size);
    worst->key_size = item->key.size;
    worst->result = item->result;
    trouble->worst_count++;
}

void tally_note(struct tally *tally, const char *why)
{
    struct trouble *trouble = trouble_of(tally);
    if (trouble != NULL && trouble->why[0] == '\0')
        (void)snprintf(trouble->why, sizeof trouble->why, "%s", why);
}

uint64_t tally_bad(const struct tally *tally)
{
    uint64_t bad = 0;
    for (int i = KEY_MISSING; i < KEY_RESULTS; i++)
        bad += tally->of[i];
    return bad;
}

/* ---- the last one, as the renewal keeps it */

/* When there is no memory for what went wrong, nothing is known of it: better than half of it. */
void renewal_keep_last(struct renewal *renewal, struct tally *tally)
{
    bool bad = tally_bad(tally) > 0;
    if (bad)
        (void)trouble_of(tally);
    trouble_release(renewal->trouble);
    renewal->trouble = tally->trouble;
    tally->trouble = NULL;
    memcpy(renewal->good, &tally->of[KEY_RENEWED], sizeof renewal->good);
    if (renewal->trouble != NULL)
        memcpy(renewal->trouble->of, &tally->of[KEY_MISSING], sizeof renewal->trouble->of);
    renewal->has_last = !bad || renewal->trouble != NULL;
}

struct tally renewal_last(const struct renewal *renewal)
{
    struct tally last = {.trouble = renewal->trouble};
    memcpy(&last.of[KEY_RENEWED], renewal->good, sizeof renewal->good);
    if (last.trouble != NULL)
        memcpy(&last.of[KEY_MISSING], last.trouble->of, sizeof last.trouble->of);
    return last;
}

static bool tells_loss(enum key_result result)
{
    return result == KEY_FOREIGN || result == KEY_MISSING;
}

/* What a person is told of a round that did not go well: that a key is lost, whatever else there
 * was; else what the key store said; else what became of the first key. */
void tally_explain(struct tally *tally, bool lost)
{
    struct trouble *trouble = tally->trouble;
    if (trouble == NULL || trouble->worst_count == 0)
        return;
    uint32_t which = 0;
    while (which < trouble->worst_count && !(lost && tells_loss(trouble->worst[which].result)))
        which++;
    if (which == trouble->worst_count && trouble->why[0] != '\0')
        return;
    const struct worst *worst = &trouble->worst[which == trouble->worst_count ? 0 : which];
    (void)snprintf(trouble->why, sizeof trouble->why, "%.*s: %s",
                   worst->key_size < 80 ? (int)worst->key_size : 80, worst->key,
                   key_result_names[worst->result]);
}
