/* SPDX-License-Identifier: MIT */
/* guests - a generator of one's own.
 *
 *     guests <<< 'ada
 *     grace
 *     ada'
 *
 * Which keys are kept alive is a function, asked anew for each round: here one key for each guest
 * in the book, and the key of the house besides. A guest who comes twice is renewed once. Each line
 * of the input is a guest who arrives; after each a round is asked for, and how many keys it has
 * renewed is printed. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <tocsin/engine.h>
#include <tocsin/renewal.h>

enum { GUESTS_MAX = 100, LINE_BYTES = 62 };

struct book {
    pthread_mutex_t lock;
    char names[GUESTS_MAX][LINE_BYTES];
    size_t count;
};

/* Called by a thread that may wait. When found answers false there are more keys than may be. */
static enum tocsin_status keys_of_guests(void *arg, const struct tocsin_renewal_context *context,
                                         tocsin_key_found found, void *found_arg,
                                         struct tocsin_why *ret_why)
{
    struct book *book = arg;
    char key[LINE_BYTES + 16];
    bool more = true;
    (void)context;
    (void)ret_why;
    (void)pthread_mutex_lock(&book->lock);
    for (size_t i = 0; more && i < book->count; i++) {
        int size = snprintf(key, sizeof key, "room:%s", book->names[i]);
        more = found(found_arg, key, (size_t)size);
    }
    (void)pthread_mutex_unlock(&book->lock);
    return TOCSIN_OK;
}

static void arrive(struct book *book, const char *name)
{
    (void)pthread_mutex_lock(&book->lock);
    if (book->count < GUESTS_MAX)
        (void)snprintf(book->names[book->count++], sizeof book->names[0], "%s", name);
    (void)pthread_mutex_unlock(&book->lock);
}

static enum tocsin_status receive(struct tocsin_renewals *renewals, struct book *book)
{
    char line[LINE_BYTES];
    struct tocsin_renewal_metrics before;
    struct tocsin_renewal_metrics after;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        arrive(book, line);
        enum tocsin_status status = tocsin_renewal_describe(renewals, "house", &before);
        if (status == TOCSIN_OK)
            status = tocsin_renewal_renew(renewals, "house");
        if (status == TOCSIN_OK)
            status = tocsin_renewal_describe(renewals, "house", &after);
        if (status != TOCSIN_OK)
            return status;
        printf("%s arrives: %llu keys\n", line,
               (unsigned long long)(after.success - before.success));
    }
    return TOCSIN_OK;
}

int main(void)
{
    struct book book = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct tocsin_renewals *renewals;
    struct tocsin_engine *engine;
    struct tocsin_why why = {"a name is taken, or there is no memory"};
    const char *const house[] = {"house"};
    struct tocsin_generator generator = {.name = "guests", .keys = keys_of_guests, .arg = &book};
    struct tocsin_renewal renewal = {
        .id = "house", .keys = house, .key_count = 1, .generator = "guests", .ttl_ms = 600000};
    if (tocsin_renewals_create(NULL, &renewals, &why) != TOCSIN_OK)
        goto failed;
    if (tocsin_renewals_add_generator(renewals, &generator) != TOCSIN_OK ||
        tocsin_renewals_reach(renewals, "default", "mock", NULL, &why) != TOCSIN_OK) {
        tocsin_renewals_destroy(renewals);
        goto failed;
    }
    if (tocsin_engine_open(&(struct tocsin_engine_options){.renewals = renewals}, &engine, &why) !=
        TOCSIN_OK)
        goto failed;
    enum tocsin_status status = tocsin_renewal_add(renewals, &renewal, &why);
    if (status == TOCSIN_OK)
        status = tocsin_renewal_renew(renewals, "house"); /* the first one is over then */
    if (status == TOCSIN_OK)
        status = receive(renewals, &book);
    tocsin_engine_close(engine);
    if (status == TOCSIN_OK)
        return 0;
failed:
    (void)fprintf(stderr, "guests: %s\n", why.text);
    return 1;
}
