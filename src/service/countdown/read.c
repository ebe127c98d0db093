/* SPDX-License-Identifier: MIT */
/* Looking at countdowns: one, many. */

#include "service/countdown/countdowns_inside.h"
#include "service/reading.h"

static enum tocsin_status write(void *service, struct json_writer *writer,
                                const struct engine_record *record)
{
    const struct countdowns *all = service;
    struct countdown_words words;
    struct countdown it;
    enum tocsin_status status = countdown_decode(record, &words, &it);
    if (status == TOCSIN_OK)
        countdown_write(writer, all->engine, &it);
    return status;
}

static struct reading_kind kind_of(struct countdowns *all)
{
    return (struct reading_kind){
        .engine = all->engine,
        .kind = all->kind,
        .name = "countdowns",
        .scan = all->limits.list_scan,
        .write = write,
        .service = all,
    };
}

void countdowns_get(struct countdowns *countdowns, struct bytes key, countdown_read_fn fn,
                    void *arg)
{
    struct reading_kind kind = kind_of(countdowns);
    reading_one(&kind, key, fn, arg);
}

void countdowns_list(struct countdowns *countdowns, uint64_t after, uint32_t limit,
                     countdown_read_fn fn, void *arg)
{
    struct reading_kind kind = kind_of(countdowns);
    reading_page(&kind, after, limit, fn, arg);
}
