/* SPDX-License-Identifier: MIT */
/* office_hours - a strategy of one's own.
 *
 *     office_hours
 *
 * How long a key shall live, and whether it shall live on, are two functions. Here the time to
 * live doubles with each round, and everything ends when the office closes. Prints a line each
 * time the strategy is asked, and how it ended. The key store is `mock`, which has every key;
 * with tocsin/redis.h it would be a Redis. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include <tocsin/engine.h>
#include <tocsin/renewal.h>

enum { ROUNDS = 4, FIRST_MS = 10000 };

struct office {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed;
};

/* Called by the thread that keeps the time: it computes, and waits for nothing. */
static int64_t doubled(void *arg, const struct tocsin_renewal_context *context)
{
    (void)arg;
    return (int64_t)FIRST_MS << context->count;
}

/* Called by a thread that may wait: it could ask a database whether the office is open. */
static bool is_open(void *arg, const struct tocsin_renewal_context *context)
{
    struct office *office = arg;
    bool open = context->count < ROUNDS;
    if (open)
        printf("%s: round %llu, for %lld s\n", context->id, (unsigned long long)context->count + 1,
               (long long)doubled(NULL, context) / 1000);
    (void)pthread_mutex_lock(&office->lock);
    office->closed = !open;
    (void)pthread_cond_signal(&office->changed);
    (void)pthread_mutex_unlock(&office->lock);
    return open;
}

static void wait_until_closed(struct office *office)
{
    (void)pthread_mutex_lock(&office->lock);
    while (!office->closed)
        (void)pthread_cond_wait(&office->changed, &office->lock);
    (void)pthread_mutex_unlock(&office->lock);
}

int main(void)
{
    struct office office = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    struct tocsin_renewals *renewals;
    struct tocsin_engine *engine;
    struct tocsin_renewal_metrics metrics = {.status = TOCSIN_RENEWAL_ACTIVE};
    struct tocsin_why why = {"a name is taken, or there is no memory"};
    const char *const keys[] = {"office:door", "office:light"};
    struct tocsin_strategy strategy = {
        .name = "office-hours", .ttl_ms = doubled, .goes_on = is_open, .arg = &office};
    struct tocsin_renewal renewal = {.id = "office",
                                     .keys = keys,
                                     .key_count = 2,
                                     .strategy = "office-hours",
                                     .ttl_ms = FIRST_MS,
                                     .every_ms = 100};
    if (tocsin_renewals_create(NULL, &renewals, &why) != TOCSIN_OK)
        goto failed;
    if (tocsin_renewals_add_strategy(renewals, &strategy) != TOCSIN_OK ||
        tocsin_renewals_reach(renewals, "default", "mock", NULL, &why) != TOCSIN_OK) {
        tocsin_renewals_destroy(renewals);
        goto failed;
    }
    if (tocsin_engine_open(&(struct tocsin_engine_options){.renewals = renewals}, &engine, &why) !=
        TOCSIN_OK)
        goto failed;
    enum tocsin_status status = tocsin_renewal_add(renewals, &renewal, &why);
    if (status == TOCSIN_OK) {
        wait_until_closed(&office);
        do
            status = tocsin_renewal_describe(renewals, "office", &metrics);
        while (status == TOCSIN_OK && metrics.status == TOCSIN_RENEWAL_ACTIVE);
    }
    if (status == TOCSIN_OK)
        printf("office: %s after %llu rounds, %llu keys renewed\n",
               tocsin_renewal_status_name(metrics.status), (unsigned long long)metrics.total,
               (unsigned long long)metrics.success);
    tocsin_engine_close(engine);
    if (status == TOCSIN_OK)
        return 0;
failed:
    (void)fprintf(stderr, "office_hours: %s\n", why.text);
    return 1;
}
