/* SPDX-License-Identifier: MIT */
/* When a renewal's turn comes: every so often, and sooner after a failure.
 *
 * The regular beats keep their rhythm whatever a round does: the next one is armed before the
 * round begins. A round that failed is tried again a few times before that, after a delay that
 * doubles and has jitter, so that what failed together does not come back together.
 *
 * Rhythms that begin together would stay together for ever, and every interval a crowd would stand
 * before the key store: so the second beats of a crowd come early, each by a chance of its own.
 */
#include <stdio.h>

#include "schedule/backoff.h"
#include "service/renewal/renewals_inside.h"

enum { BEATS_AT_ONCE = 128, QUICK_RETRIES = 3, QUICK_BASE_MS = 200, QUICK_CAP_MS = 5000 };
/* So many rhythms may begin within one tick before they are a crowd. */
enum { CROWD = 100 };

/* Without waking for it. */
static void arm(struct renewal *renewal, int64_t due_ms)
{
    if (beats_arm(renewal->all->beats, &renewal->beat, due_ms) != TOCSIN_OK)
        renewal_end(renewal, RENEWAL_FAILED, "there is no memory for its next beat");
}

/* ---- a rhythm begins */

int64_t renewal_spread_ms(const struct renewal *renewal)
{
    const struct renewals *all = renewal->all;
    uint64_t half = (uint64_t)renewal->spec->every_ms / 2;
    return renewal->spec->every_ms - (int64_t)(all->chance(all->chance_arg) % (half + 1));
}

static bool in_a_crowd(struct renewals *all)
{
    int64_t tick = beats_tick(all->beats, engine_now_ms(all->engine));
    if (tick != all->crowd_ms)
        all->crowd = 0;
    all->crowd_ms = tick;
    return ++all->crowd > CROWD;
}

/* Strategies of steps count their rounds, and those of a program may: with an early one they would
 * end sooner. */
int64_t renewal_second_ms(const struct renewal *renewal)
{
    enum strategy_type type = renewal->spec->strategy.type;
    bool may_be_early = type != STRATEGY_STEPS && type != STRATEGY_OWN;
    return in_a_crowd(renewal->all) && may_be_early ? renewal_spread_ms(renewal)
                                                    : renewal->spec->every_ms;
}

/* The first renewal is at once, or as soon as the round of before is over. */
void renewal_start_beats(struct renewal *renewal, int64_t second_ms)
{
    int64_t now = engine_now_ms(renewal->all->engine);
    if (renewal->ending != 0 || renewal->all->stopped)
        return;
    int64_t tick = beats_tick(renewal->all->beats, now + second_ms);
    renewal->next_ms = tick > now ? tick : now + second_ms;
    renewal->quick = 0;
    renewal->beat_failed = false;
    renewal->failures = 0;
    renewal->wanted = renewal->round != NULL;
    arm(renewal, renewal->next_ms);
    renewals_arm_wake(renewal->all);
    renewal_round(renewal, now);
    renewals_flush(renewal->all);
}

void renewal_stop_beats(struct renewal *renewal)
{
    beats_cancel(renewal->all->beats, &renewal->beat);
}

/* ---- a beat has come */

static void came_due(struct renewal *renewal, int64_t now_ms)
{
    struct renewals *all = renewal->all;
    int64_t due = renewal->next_ms;
    if (now_ms < due) { /* a quick retry */
        all->stats.retried++;
        arm(renewal, due);
        renewal_round(renewal, now_ms);
        return;
    }
    /* Beats that were missed are not made up for: the newest one counts. */
    int64_t behind = (now_ms - due) / renewal->spec->every_ms;
    renewal->next_ms = due + (behind + 1) * renewal->spec->every_ms;
    renewal->quick = 0;
    renewal->beat_failed = false;
    renewal->counters.skipped += (uint64_t)behind;
    all->stats.skipped += (uint64_t)behind;
    arm(renewal, renewal->next_ms);
    if (renewal->round != NULL) {
        renewal->counters.skipped++;
        all->stats.skipped++;
        if (now_ms - renewal_round_began_ms(renewal) >=
            strategy_least_ttl_ms(&renewal->spec->strategy))
            renewal_tell(renewal, "its round has not ended for longer than its keys live");
        return;
    }
    renewal_round(renewal, due);
    renewal_save(renewal);
}

void renewals_arm_wake(struct renewals *all)
{
    int64_t at;
    if (!beats_wake(all->beats, &at) || all->stopped)
        return;
    if (engine_timer_arm(all->engine, &all->wake, at) != TOCSIN_OK)
        all->stats.unarmed++;
}

void renewals_woken(void *arg)
{
    struct renewals *all = arg;
    int64_t now = engine_now_ms(all->engine);
    struct beat *beat;
    /* The rest in the next turn: others want to be served, too, and those of this slice to be
     * answered. */
    for (int i = 0; i < BEATS_AT_ONCE && !all->stopped; i++) {
        if ((beat = beats_take(all->beats, now)) == NULL)
            break;
        came_due((struct renewal *)beat, now);
    }
    renewals_flush(all);
    renewals_arm_wake(all);
}

/* ---- how well it does lately */

static int good_rounds(const struct renewal *renewal)
{
    return __builtin_popcount(renewal->window);
}

static bool is_unhealthy(const struct renewal *renewal)
{
    return good_rounds(renewal) * 5 < renewal->window_count * 4;
}

void renewal_count_health(const struct renewal *renewal, int by)
{
    struct renewals_stats *stats = &renewal->all->stats;
    if (renewal->window_count == 0)
        return;
    stats->sampled += (uint64_t)(int64_t)by;
    if (is_unhealthy(renewal))
        stats->unhealthy += (uint64_t)(int64_t)by;
    if (renewal->window_alive == 0)
        stats->dead += (uint64_t)(int64_t)by;
}

#define WINDOW_MASK ((1u << WINDOW_ROUNDS) - 1)

static unsigned shift_in(unsigned window, bool bit)
{
    return window << 1 | bit;
}

static void note_window(struct renewal *renewal, bool good, bool alive)
{
    renewal_count_health(renewal, -1);
    renewal->window = shift_in(renewal->window, good) & WINDOW_MASK;
    renewal->window_alive = shift_in(renewal->window_alive, alive) & WINDOW_MASK;
    if (renewal->window_count < WINDOW_ROUNDS)
        renewal->window_count++;
    renewal_count_health(renewal, 1);
}

void renewals_each_unhealthy(const struct renewals *all, size_t most,
                             void (*fn)(void *arg, struct bytes id, unsigned good_percent,
                                        const char *why),
                             void *arg)
{
    for (uint32_t i = 0; i < all->by_id.count && most > 0; i++) {
        const struct renewal *it = all->list[i];
        if (it->state != RENEWAL_ACTIVE || it->window_count == 0 || !is_unhealthy(it))
            continue;
        fn(arg, renewal_id(it), (unsigned)good_rounds(it) * 100 / it->window_count,
           trouble_why(it->trouble));
        most--;
    }
}

enum renewals_health renewals_health(const struct renewals *all)
{
    if (all->stats.sampled > 0 && all->stats.dead == all->stats.sampled)
        return RENEWALS_DOWN;
    return all->stats.unhealthy > 0 ? RENEWALS_WARNING : RENEWALS_UP;
}

/* ---- after a round */

static void retry_soon(struct renewal *renewal)
{
    static const struct backoff quick = {QUICK_BASE_MS, QUICK_CAP_MS, 2, 0.5};
    struct renewals *all = renewal->all;
    if (renewal->quick == QUICK_RETRIES)
        return;
    int64_t delay = (int64_t)backoff_delay_ms(&quick, renewal->quick, all->chance(all->chance_arg));
    int64_t at = engine_now_up_ms(all->engine) + delay;
    if (at >= renewal->next_ms)
        return;
    renewal->quick++;
    arm(renewal, at);
    renewals_arm_wake(all);
}

/* Once, until it works again: what was refused or is gone. That a key store is not reached is
 * told of the key store, not of each of its renewals. */
void renewal_tell(struct renewal *renewal, const char *why)
{
    struct renewals *all = renewal->all;
    if (renewal->told)
        return;
    renewal->told = true;
    if (all->watch.told != NULL)
        all->watch.told(all->watch.arg, renewal_id(renewal), RENEWAL_ACTIVE, why);
}

void renewal_rounded(struct renewal *renewal, bool failed, bool good, bool again)
{
    struct tally last = renewal_last(renewal);
    bool orphan = renewal->client >= CLIENTS_MAX; /* what it needs may be there at the next start */
    note_window(renewal, good, !failed);
    if (!failed)
        renewal->failures = 0;
    else if (!renewal->beat_failed)
        renewal->failures++;
    renewal->beat_failed = failed;
    if (last.of[KEY_MISSING] + last.of[KEY_REFUSED] > 0 || (failed && orphan))
        renewal_tell(renewal, trouble_why(renewal->trouble));
    else if (good)
        renewal->told = false;
    if (renewal->failures > renewal->spec->max_retries && !orphan) {
        const char *last_why = trouble_why(renewal->trouble);
        char why[WHY_BYTES];
        if (renewal->failures == 1)
            (void)snprintf(why, sizeof why, "a round has failed: %.100s", last_why);
        else
            (void)snprintf(why, sizeof why, "%u rounds in a row have failed: %.100s",
                           renewal->failures, last_why);
        renewal_end(renewal, RENEWAL_FAILED, why);
    } else if (again) {
        retry_soon(renewal);
    }
}
